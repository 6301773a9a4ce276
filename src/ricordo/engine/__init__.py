"""``Ricordo``, the one object that the command line, the MCP server and programs call.

Its verbs are methods of the classes in this folder, declared there with ``@verb``; a class inherits from those whose
verbs it calls. Each has the open context (``context``) and does the work. The engine holds no SQL, no scoring and
no parsing. What a verb needs is imported when it is called, because every hook and every command pays for its imports.
"""

from __future__ import annotations

from ricordo.engine.agents import AgentVerbs
from ricordo.engine.health import HealthVerbs
from ricordo.engine.ingest import AddVerbs
from ricordo.engine.log import LogVerbs
from ricordo.engine.models import ModelVerbs
from ricordo.engine.search_index import IndexVerbs
from ricordo.engine.sync import SyncVerbs
from ricordo.engine.team import TeamVerbs
from ricordo.engine.transfer import TransferVerbs
from ricordo.engine.trust import TrustVerbs


class Ricordo(
    AddVerbs, AgentVerbs, HealthVerbs, IndexVerbs, LogVerbs, ModelVerbs, SyncVerbs, TeamVerbs,
    TransferVerbs, TrustVerbs,
):  # fmt: skip
    """A store, open. Use it as a context manager, or call ``close``.

    >>> with Ricordo.open("/tmp/doc-example.db") as memory:                    # doctest: +SKIP
    ...     memory.save("note:/keys", "Rotate the signing keys every quarter.")
    ...     memory.search("when are keys rotated").hits[0].ref
    'note:/keys'
    """
