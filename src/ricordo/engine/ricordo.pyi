# Written by tools/make_verbs.py, for type checkers.
from ricordo.engine.core import CoreVerbs
from ricordo.plugins.deps.verbs import DepsVerbs
from ricordo.plugins.gateway.engine import GatewayVerbs
from ricordo.plugins.history.verbs import HistoryVerbs
from ricordo.plugins.llm.use import LanguageModelUse
from ricordo.plugins.postgres.verbs import TeamVerbs
from ricordo.plugins.qdrant.verbs import IndexVerbs
from ricordo.plugins.sessions.verbs import SessionVerbs
from ricordo.plugins.skills.verbs import SkillVerbs
from ricordo.plugins.sync.verbs import SyncVerbs
from ricordo.plugins.transfer.verbs import TransferVerbs

class Ricordo(
    DepsVerbs,
    GatewayVerbs,
    HistoryVerbs,
    LanguageModelUse,
    TeamVerbs,
    IndexVerbs,
    SessionVerbs,
    SkillVerbs,
    SyncVerbs,
    TransferVerbs,
    CoreVerbs,
): ...
