"""Ricordo: the one object behind every face. Short methods that call the packages below.

It resolves names, opens the store, and composes ingest, search and memory; it holds no SQL, no scoring, no parsing.
What a verb needs is imported when it is called: every hook and command pays for its imports.
"""

from __future__ import annotations

from ricordo.engine.finding import Finding
from ricordo.engine.knowing import Knowing
from ricordo.engine.looking_after import LookingAfter
from ricordo.engine.memories import Memories
from ricordo.engine.modelling import Modelling
from ricordo.engine.moving import Moving
from ricordo.engine.remembering import Remembering
from ricordo.engine.sessions import Sessions
from ricordo.engine.telling import Telling


class Ricordo(Telling, Sessions, Moving, Memories, Knowing, Finding, Remembering, LookingAfter, Modelling):
    """A store, open. Use it as a context manager, or call ``close``.

    >>> with Ricordo.open("/tmp/doc-example.db") as memory:                    # doctest: +SKIP
    ...     memory.save("note:/keys", "Rotate the signing keys every quarter.")
    ...     memory.search("when are keys rotated").hits[0].ref
    'note:/keys'
    """
