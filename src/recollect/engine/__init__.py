"""Recollect: the one object behind every face. Short methods that call the packages below.

It resolves names, opens the store, and composes ingest, search and memory; it holds no SQL, no scoring, no parsing.
What a verb needs is imported when it is called: every hook and command pays for its imports.
"""

from __future__ import annotations

from recollect.engine.finding import Finding
from recollect.engine.knowing import Knowing
from recollect.engine.looking_after import LookingAfter
from recollect.engine.memories import Memories
from recollect.engine.modelling import Modelling
from recollect.engine.moving import Moving
from recollect.engine.remembering import Remembering
from recollect.engine.sessions import Sessions
from recollect.engine.telling import Telling


class Recollect(Telling, Sessions, Moving, Memories, Knowing, Finding, Remembering, LookingAfter, Modelling):
    """A store, open. Use it as a context manager, or call ``close``.

    >>> with Recollect.open("/tmp/doc-example.db") as memory:                    # doctest: +SKIP
    ...     memory.save("note:/keys", "Rotate the signing keys every quarter.")
    ...     memory.search("when are keys rotated").hits[0].ref
    'note:/keys'
    """
