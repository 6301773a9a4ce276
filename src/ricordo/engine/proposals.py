"""What is done with proposals: they are listed, become memories, or are refused."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ricordo.engine.context import EngineContext
from ricordo.engine.memories import MemoryVerbs
from ricordo.errors import Error, NotFound, UsageError
from ricordo.permissions import refuse_agents
from ricordo.values.proposals import ACCEPTED, DRIVE, REFUSED, WAITING, Proposal

if TYPE_CHECKING:
    from ricordo.store.base import Store

OWN = "agent"
"""The tier of the user's own store."""
ALWAYS, NEVER = "always", "never"


class ProposalDesk:
    """Decides on the proposals of one store."""

    def __init__(self, context: EngineContext, memories: MemoryVerbs) -> None:
        self._context = context
        self._memories = memories

    @property
    def _store(self) -> Store:
        return self._context.store

    def waiting(self) -> tuple[Proposal, ...]:
        """Those that wait; not those that a project brings which the user does not trust."""
        return () if self._store.foreign else tuple(self._store.proposals.listing(WAITING))

    def rules(self) -> dict[str, str]:
        """What the user said about whole kinds, by way and kind."""
        return {} if self._store.foreign else dict(self._store.proposals.rules())

    def has(self, ref: str) -> bool:
        return self._store.proposals.get(ref.removeprefix(DRIVE)) is not None

    def decide(self, ref: str, decision: str, text: str | None) -> str:
        """Do what was decided, and say it; ``always`` and ``never`` also hold for what comes of the same kind."""
        proposal = self._store.proposals.get(ref.removeprefix(DRIVE))
        if proposal is None or self._store.foreign:
            raise NotFound(f"there is no {ref}", hint="‹:review› lists what waits.")
        if proposal.state != WAITING:
            raise UsageError(f"{ref} was {proposal.state} before", hint="‹:review› lists what waits.")
        name = rule_name(proposal)
        if decision in (ALWAYS, NEVER):
            refuse_agents("decide on whole kinds of proposals")
        if decision in (NEVER, "refuse"):
            self._store.proposals.decide(proposal.id, REFUSED)
            said = f"{ref} is refused, and will not be proposed again"
        else:
            said = f"{ref} is kept as {self.accept(proposal, text, by_itself=False)}"
        if decision in (ALWAYS, NEVER):
            self._store.proposals.set_rule(name, decision)
            how = "kept by themselves" if decision == ALWAYS else "not proposed any more"
            said += f"; from now on, those of the kind '{proposal.kind}' by {proposal.way} are {how}"
        return said

    def accept(self, proposal: Proposal, text: str | None = None, *, by_itself: bool) -> str:
        """Make a memory of a proposal; what concerns the user goes to the user's own store. Returns its ref."""
        origin = {name: getattr(proposal, name) for name in ("kind", "way", "session", "turn", "quote", "scope")}
        optional = {name: value for name in ("file", "branch") if (value := getattr(proposal, name))}
        about = {**origin, **optional, "accepted": "by itself" if by_itself else "by review"}
        saved = self._keeper(proposal).remember(
            text or proposal.text, on_duplicate="save", metadata={"proposal": about}, wait=not by_itself
        )
        self._store.proposals.decide(proposal.id, ACCEPTED, saved.ref)
        return saved.ref

    def accept_by_rule(self, added: Sequence[Proposal], *, everything: bool) -> int:
        """Keep those that the user wants kept by themselves; returns how many."""
        rules = self.rules()
        wanted = [one for one in added if everything or rules.get(rule_name(one)) == ALWAYS]
        for one in wanted:
            self.accept(replace(one, state=WAITING), by_itself=True)
        return len(wanted)

    def _keeper(self, proposal: Proposal) -> MemoryVerbs:
        """The verbs of the store that a proposal belongs to."""
        own: MemoryVerbs | None = own_engine(self._context) if proposal.scope == "user" else None
        return self._memories if own is None else own


def own_engine(context: EngineContext) -> Any:
    """The engine of the user's own store, if it is searched together with the one in use."""
    tiers = context.tiers
    if not tiers.is_alone and any(tier.name == OWN and not tier.is_own for tier in tiers.federation.tiers):
        with suppress(Error):  # a store that cannot be opened now is named by ``tiers``
            return tiers.engine_of(OWN)
    return None


def rule_name(proposal: Proposal) -> str:
    """Under which name a rule about such proposals is kept."""
    return f"{proposal.way} {proposal.kind}"
