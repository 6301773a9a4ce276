"""``Ricordo``, the one object that the command line, the MCP server and programs call.

Its verbs are methods of the classes in this folder, declared there with ``@verb``. Each class has the open context
(``context``) and does the work. The engine holds no SQL, no scoring and no parsing. What a verb needs is imported when
it is called, because every hook and every command pays for its imports.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ricordo.engine.opening import PARTS, OpenEngine
from ricordo.verbs.declare import offered_by

if TYPE_CHECKING:
    from ricordo.engine.adding import AddVerbs
    from ricordo.engine.agents import AgentVerbs
    from ricordo.engine.finding import FindVerbs
    from ricordo.engine.gathering import GatherVerbs
    from ricordo.engine.health import HealthVerbs
    from ricordo.engine.indexing import IndexVerbs
    from ricordo.engine.items import ItemVerbs
    from ricordo.engine.knowledge import KnowledgeVerbs
    from ricordo.engine.links import LinkVerbs
    from ricordo.engine.memories import MemoryVerbs
    from ricordo.engine.migrating import MigrateVerbs
    from ricordo.engine.models import ModelVerbs
    from ricordo.engine.moving import MoveVerbs
    from ricordo.engine.overview import OverviewVerbs
    from ricordo.engine.reading import ReadVerbs
    from ricordo.engine.removing import RemoveVerbs
    from ricordo.engine.reviewing import ReviewVerbs
    from ricordo.engine.roots import RootVerbs
    from ricordo.engine.selecting import SelectVerbs
    from ricordo.engine.sessions import SessionVerbs
    from ricordo.engine.skills import SkillVerbs
    from ricordo.engine.syncing import SyncVerbs
    from ricordo.engine.team import TeamVerbs
    from ricordo.engine.tidying import TidyVerbs
    from ricordo.engine.trusting import TrustVerbs
    from ricordo.engine.undoing import UndoVerbs
    from ricordo.engine.use import UseVerbs
    from ricordo.engine.vectors import VectorVerbs

    class _Verbs(
        FindVerbs, ReadVerbs, ItemVerbs, RemoveVerbs, MemoryVerbs, RootVerbs, AddVerbs, KnowledgeVerbs, LinkVerbs,
        UseVerbs, SessionVerbs, AgentVerbs, GatherVerbs, SkillVerbs, VectorVerbs, HealthVerbs, ModelVerbs, MoveVerbs,
        MigrateVerbs, ReviewVerbs, TrustVerbs, OverviewVerbs, SelectVerbs, UndoVerbs, TidyVerbs, SyncVerbs,
        TeamVerbs, IndexVerbs,
    ):  # fmt: skip
        """What editors and type checkers see: the verbs of all parts, with their signatures."""
else:
    _Verbs = type("_Verbs", (), {name: verb for part in PARTS for name, verb in offered_by(part).items()})


class Ricordo(OpenEngine, _Verbs):
    """A store, open. Use it as a context manager, or call ``close``.

    >>> with Ricordo.open("/tmp/doc-example.db") as memory:                    # doctest: +SKIP
    ...     memory.save("note:/keys", "Rotate the signing keys every quarter.")
    ...     memory.search("when are keys rotated").hits[0].ref
    'note:/keys'
    """
