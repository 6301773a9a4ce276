"""The verbs of the core in one class."""

from __future__ import annotations

from ricordo.engine.agents import AgentVerbs
from ricordo.engine.health import HealthVerbs
from ricordo.engine.ingest import AddVerbs
from ricordo.engine.log import LogVerbs
from ricordo.engine.models import ModelVerbs
from ricordo.engine.search_index import IndexVerbs
from ricordo.engine.team import TeamVerbs
from ricordo.engine.transfer import TransferVerbs
from ricordo.engine.trust import TrustVerbs


class CoreVerbs(
    AddVerbs, AgentVerbs, HealthVerbs, IndexVerbs, LogVerbs, ModelVerbs, TeamVerbs,
    TransferVerbs, TrustVerbs,
):  # fmt: skip
    """The verbs that are there without any plugin."""
