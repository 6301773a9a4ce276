"""What is done with proposals: they are listed, become memories, or are refused."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ricordo.engine.context import EngineContext
from ricordo.engine.memories import MemoryVerbs
from ricordo.errors import Error, NotFound, UsageError
from ricordo.permissions import refuse_agents
from ricordo.values.items import Ref
from ricordo.values.review import ACCEPTED, DRIVE, KINDS, REFUSED, WAITING, WAYS, Proposal, ProposalRule

if TYPE_CHECKING:
    from ricordo.store.base import Store

OWN = "agent"
"""The tier of the user's own store."""
ALWAYS, NEVER, ASK = "always", "never", "ask"


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

    def listed_rules(self) -> tuple[ProposalRule, ...]:
        """The same, each under the name that ``review`` takes."""
        rules = sorted((*name.partition(" "), rule) for name, rule in self.rules().items())
        return tuple(ProposalRule(way, kind, rule) for way, _, kind, rule in rules)

    def has(self, ref: str) -> bool:
        """Whether this store keeps the proposal, or the rule about a kind."""
        if is_kind(ref):
            return any(one.ref == ref for one in self.listed_rules())
        return self._store.proposals.get(ref.removeprefix(DRIVE)) is not None

    def decide(self, ref: str, decision: str, text: str | None) -> str:
        """Do what was decided, and say it; ``always`` and ``never`` also hold for what comes of the same kind."""
        if decision in (ALWAYS, NEVER, ASK):
            refuse_agents("decide on whole kinds of proposals" if decision != ASK else "take back what you decided")
        if is_kind(ref):
            return self._decide_on_kind(ref, decision)
        proposal = self._store.proposals.get(ref.removeprefix(DRIVE))
        if proposal is None or self._store.foreign:
            raise NotFound(f"there is no {ref}", hint="‹:review› lists what waits.")
        if decision == ASK:
            return self._ask_again(proposal)
        if proposal.state != WAITING:
            raise UsageError(f"{ref} was {proposal.state} before", hint=f"‹:review {ref} ask› lets it wait again.")
        if decision in (NEVER, "refuse"):
            self._store.proposals.decide(proposal.id, REFUSED)
            said = f"{ref} is refused, and will not be proposed again (‘ask’ takes that back)"
        else:
            said = f"{ref} is kept as {self.accept(proposal, text, by_itself=False)}"
        if decision in (ALWAYS, NEVER):
            said += f"; {self._set_rule(ProposalRule(proposal.way, proposal.kind, decision))}"
        return said

    def _decide_on_kind(self, ref: str, decision: str) -> str:
        """Say what holds for a whole kind, or that nothing holds any more."""
        way, _, kind = ref.removeprefix(DRIVE).partition("/")
        if way not in WAYS or kind not in KINDS:
            names = f"one of {', '.join(WAYS)}, a slash, and one of {', '.join(KINDS)}"
            raise NotFound(f"there is no kind {ref}", hint=f"A kind of proposals is {DRIVE}, then {names}.")
        if decision not in (ALWAYS, NEVER, ASK):
            raise UsageError(
                f"'{decision}' is for one proposal, and {ref} is a kind of them",
                hint="For kinds there are always, never and ask.",
            )
        return self._set_rule(ProposalRule(way, kind, decision))

    def _set_rule(self, rule: ProposalRule) -> str:
        self._store.proposals.set_rule(f"{rule.way} {rule.kind}", "" if rule.rule == ASK else rule.rule)
        how = {ALWAYS: "kept by themselves", NEVER: "not proposed any more", ASK: "proposed, and wait for you"}
        back = "" if rule.rule == ASK else f" (‘ask’ for {rule.ref} takes that back)"
        return f"from now on, those of the kind '{rule.kind}' by {rule.way} are {how[rule.rule]}{back}"

    def _ask_again(self, proposal: Proposal) -> str:
        """Let a proposal wait again that was refused, or whose memory is gone."""
        if proposal.state == ACCEPTED and self._keeps(proposal):
            raise UsageError(
                f"{proposal.ref} was accepted as {proposal.became}", hint=f"‹:forget {proposal.became}› puts that away."
            )
        if not self._store.proposals.ask_again(proposal.id):
            raise UsageError(f"{proposal.ref} waits already", hint="‹:review› lists what waits.")
        return f"{proposal.ref} waits again"

    def _keeps(self, proposal: Proposal) -> bool:
        """Whether the memory that a proposal became is still there."""
        own = self._own_for(proposal)
        items = (self._store if own is None else own.store).items
        n = items.number(Ref.parse(proposal.became))
        return n is not None and items.get(n).state == "live"

    def accept(self, proposal: Proposal, text: str | None = None, *, by_itself: bool) -> str:
        """Make a memory of a proposal; what concerns the user goes to the user's own store. Returns its ref."""
        origin = {name: getattr(proposal, name) for name in ("kind", "way", "session", "turn", "quote", "scope")}
        optional = {name: value for name in ("file", "branch") if (value := getattr(proposal, name))}
        about = {**origin, **optional, "accepted": "by itself" if by_itself else "by review"}
        keeper: MemoryVerbs = self._own_for(proposal) or self._memories
        saved = keeper.remember(
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

    def _own_for(self, proposal: Proposal) -> Any:
        """The engine of the user's own store, if a proposal belongs there; a project's store makes it at need."""
        if proposal.scope != "user":
            return None
        context = self._context
        is_beside_project = context.located.location.origin == "project" and context.config.tiers.automatic
        return _opened(context) if is_beside_project else own_engine(context)


def own_engine(context: EngineContext) -> Any:
    """The engine of the user's own store, if it is searched together with the one in use."""
    tiers = context.tiers
    is_beside = not tiers.is_alone and any(tier.name == OWN and not tier.is_own for tier in tiers.federation.tiers)
    return _opened(context) if is_beside else None


def _opened(context: EngineContext) -> Any:
    with suppress(Error):  # a store that cannot be opened now is named by ``tiers``
        return context.tiers.engine_of(OWN)
    return None


def is_kind(ref: str) -> bool:
    """Whether a name means a whole kind of proposals, not one of them."""
    return "/" in ref.removeprefix(DRIVE)


def rule_name(proposal: Proposal) -> str:
    """Under which name a rule about such proposals is kept."""
    return f"{proposal.way} {proposal.kind}"


class ProposalVerbs(MemoryVerbs):
    """The base of what proposes and decides."""

    @cached_property
    def _desk(self) -> ProposalDesk:
        return ProposalDesk(self._context, self)
