"""The verbs of the core in one class."""

from __future__ import annotations

from ricordo.engine.agents import AgentVerbs
from ricordo.engine.copies import CopyVerbs
from ricordo.engine.health import HealthVerbs
from ricordo.engine.ingest import AddVerbs
from ricordo.engine.models import ModelVerbs
from ricordo.engine.review import ReviewVerbs
from ricordo.engine.trust import TrustVerbs


class CoreVerbs(AddVerbs, AgentVerbs, CopyVerbs, HealthVerbs, ModelVerbs, ReviewVerbs, TrustVerbs):
    """The verbs that are there without any plugin."""
