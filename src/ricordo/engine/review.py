"""The verb review: decides on what sessions taught, on what agents wrote over the user's words, and on what should be
done about memories: duplicates, contradictions, what is out of date.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ricordo import registry
from ricordo.engine.checks import check_choice, texts
from ricordo.engine.context import EngineContext
from ricordo.engine.memories import MemoryFields, MemoryVerbs
from ricordo.engine.reading import lines_for_diff
from ricordo.engine.tiers import USERS_TIER
from ricordo.errors import Error, NotFound, UsageError
from ricordo.permissions import refuse_agents
from ricordo.plugin import ask, names_of
from ricordo.speaking import speaker
from ricordo.steps import undoable
from ricordo.trust.level import told_versions
from ricordo.values.items import Parsed, Ref, Saved
from ricordo.values.log import (
    ACCEPTED,
    CORRECTION,
    DRIVE,
    IN_FORCE,
    KINDS,
    REFUSED,
    WAITING,
    WAYS,
    Finding,
    Proposal,
    ProposalRule,
    ReviewReport,
    SessionStart,
    Waiting,
)
from ricordo.values.provenance import PERSON
from ricordo.verbs.declare import verb

if TYPE_CHECKING:
    from typing import Annotated

    from ricordo.memory.compare import Likeness
    from ricordo.store.base import Store
    from ricordo.values.kinds import ReviewDecision
    from ricordo.verbs.declare import Say
    from ricordo.verbs.parameters import NAME_TEXT, ItemName, ManyLimit

ALWAYS, NEVER, ASK = "always", "never", "ask"
DECISIONS = ("accept", "refuse", ALWAYS, NEVER, ASK)
LONGEST_DIFF = 60
OWN_KINDS = ("proposals", "versions")
"""What waits for a decision in every store: what sessions teach, and versions that others wrote."""


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
        return () if self._store.foreign else tuple(map(self._with_corrected, self._store.proposals.listing(WAITING)))

    def _with_corrected(self, proposal: Proposal) -> Proposal:
        """The proposal; a correction with the memory that it contradicts."""
        if proposal.kind != CORRECTION:
            return proposal
        return replace(proposal, corrects=contradicted_memory(self._context, proposal.text))

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
            return any(rule.ref == ref for rule in self.listed_rules())
        return self._store.proposals.get(ref.removeprefix(DRIVE)) is not None

    def decide(self, ref: str, decision: str, text: str | None) -> str:
        """Do what was decided, and say it; ``always`` and ``never`` also hold for what comes of the same kind."""
        if decision in (ALWAYS, NEVER, ASK):
            refuse_agents(
                "decide on whole kinds of proposals" if decision != ASK else "take back what the user decided"
            )
        if is_kind(ref):
            return self._decide_on_kind(ref, decision)
        proposal = self._store.proposals.get(ref.removeprefix(DRIVE))
        if proposal is None or self._store.foreign:
            raise NotFound(f"there is no {ref}", hint="‹:review› lists what waits.")
        if decision == ASK:
            if proposal.state == ACCEPTED:
                own = self._own_for(proposal)
                items = (self._store if own is None else own.store).items
                n = items.number(Ref.parse(proposal.became))
                if n is not None and items.get(n).state == "live":
                    raise UsageError(
                        f"{proposal.ref} was accepted as {proposal.became}",
                        hint=f"‹:forget {proposal.became}› puts that away.",
                    )
            if not self._store.proposals.ask_again(proposal.id):
                raise UsageError(f"{proposal.ref} waits already", hint="‹:review› lists what waits.")
            return f"{proposal.ref} waits again"
        if proposal.state != WAITING:
            raise UsageError(f"{ref} was {proposal.state} before", hint=f"‹:review {ref} ask› lets it wait again.")
        if decision in (NEVER, "refuse"):
            self._store.proposals.decide(proposal.id, REFUSED)
            answer = f"{ref} is refused, and will not be proposed again (‘ask’ takes that back)"
        else:
            proposal = self._with_corrected(proposal)
            answer = f"{ref} is kept as {self.accept(proposal, text, by_itself=False)}"
            answer += f", instead of {proposal.corrects}" if proposal.corrects else ""
            is_told = is_in_force(proposal) and speaker().author == PERSON
            answer += ", and told whenever a session starts" if is_told else ""
        if decision in (ALWAYS, NEVER):
            answer += f"; {self._set_rule(ProposalRule(proposal.way, proposal.kind, decision))}"
        return answer

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

    def accept(self, proposal: Proposal, text: str | None = None, *, by_itself: bool) -> str:
        """Make a memory of a proposal; what concerns the user goes to the user's own store. Returns its ref.

        What a session should do is told at every start from then on.
        """
        origin = {name: getattr(proposal, name) for name in ("kind", "way", "session", "turn", "quote", "scope")}
        optional = {name: value for name in ("file", "branch", "corrects") if (value := getattr(proposal, name))}
        about = {**origin, **optional, "accepted": "by itself" if by_itself else "by review"}
        text = text or proposal.text
        fields: MemoryFields = {"metadata": {"proposal": about}}
        if is_in_force(proposal) and not by_itself:
            fields["loading"] = "always"
        if not by_itself and proposal.corrects:
            saved = self._memories.correct(proposal.corrects, text, **fields)
        else:
            keeper: MemoryVerbs = self._own_for(proposal) or self._memories
            saved = keeper.remember(text, on_duplicate="save", wait=not by_itself, **fields)
        self._store.proposals.decide(proposal.id, ACCEPTED, saved.ref)
        return saved.ref

    def accept_by_rule(self, added: Sequence[Proposal], *, everything: bool) -> int:
        """Keep those that the user wants kept by themselves; returns how many."""
        rules = self.rules()
        wanted = [proposal for proposal in added if everything or rules.get(rule_name(proposal)) == ALWAYS]
        for proposal in wanted:
            self.accept(replace(proposal, state=WAITING), by_itself=True)
        return len(wanted)

    def _own_for(self, proposal: Proposal) -> Any:
        """The engine of the user's own store, if a proposal belongs there; a project's store makes it at need."""
        if proposal.scope != "user":
            return None
        context = self._context
        is_beside_project = context.located.location.origin == "project" and context.config.tiers.automatic
        return _opened(context) if is_beside_project else own_engine(context)


def contradicted_memory(context: EngineContext, text: str) -> str:
    """The memory of this store that a text contradicts; "" if there is none."""
    return next((ref for ref, found in compared_memories(context, context.unsynced_store, text) if found.why), "")


def compared_memories(context: EngineContext, store: Store, text: str) -> list[tuple[str, Likeness]]:
    """What a text is to the memories of a store that are nearest to it."""
    from ricordo.ingest.pipeline import Incoming
    from ricordo.memory.duplicates import DuplicateFinder
    from ricordo.memory.remember import Keeper

    models = context.models
    item = context.pipeline.prepare(Incoming(Ref("memory", "/proposal"), Parsed(text), "memory", {}))
    vector = Keeper(store, context.pipeline, models.backlog(), models.embedder).vector(item)
    finder = DuplicateFinder(store)
    compared = finder.compared(item, finder.alike(text, "memory"), vector)
    refs = store.items.get_many(list(compared))
    return [(str(refs[n].ref), found) for n, (found, _) in compared.items()]


def own_engine(context: EngineContext) -> Any:
    """The engine of the user's own store, if it is searched together with the one in use."""
    tiers = context.tiers
    is_beside = not tiers.is_alone and any(
        tier.name == USERS_TIER and not tier.is_own for tier in tiers.federation.tiers
    )
    return _opened(context) if is_beside else None


def _opened(context: EngineContext) -> Any:
    with suppress(Error):  # a store that cannot be opened now is named by ``tiers``
        return context.tiers.engine_of(USERS_TIER)
    return None


def is_in_force(proposal: Proposal) -> bool:
    """Whether a proposal, once accepted, is told whenever a session starts."""
    return proposal.kind in IN_FORCE


def is_kind(ref: str) -> bool:
    """Whether a name means a whole kind of proposals, not one of them."""
    return "/" in ref.removeprefix(DRIVE)


def rule_name(proposal: Proposal) -> str:
    """Under which name a rule about such proposals is kept."""
    return f"{proposal.way} {proposal.kind}"


class ReviewVerbs(MemoryVerbs):
    """Lists what waits for the user's decision, and does what was decided."""

    @cached_property
    def _desk(self) -> ProposalDesk:
        return ProposalDesk(self._context, self)

    @verb(
        "admin",
        "look after",
        "Decide on what sessions taught, what agents changed, and what should be tidied.",
        examples=(
            "ricordo review",
            "ricordo review --kind duplicates",
            "ricordo review expired accept",
            "ricordo review 3f2a91c0 accept",
            "ricordo review proposal:/3f2a91c0 accept --text 'Deploy on Tuesdays.'",
            "ricordo review proposal:/pattern/rule never",
            "ricordo review memory:/office refuse",
        ),
        looking={"decision": None, "text": None},
    )
    @undoable
    def review(
        self,
        ref: Annotated[
            str | Ref, Say("A proposal, an item, the id of a finding, or a kind of findings.", longest=NAME_TEXT)
        ]
        | None = None,
        decision: Annotated[
            ReviewDecision,
            Say(
                "Take it, or not (of a changed item: go back to yours; of a finding: do what is suggested); always or"
                " never from this kind of proposal; ask takes a decision on a proposal or a kind back."
            ),
        ]
        | None = None,
        *,
        text: Annotated[str, Say("Keep this sentence instead of the proposed one.", longest=NAME_TEXT)] | None = None,
        kinds: Annotated[
            Sequence[str],
            Say("List only this kind; may be repeated.", name="kind", shown="KIND", choices=OWN_KINDS, seam="findings"),
        ] = (),
        limit: ManyLimit = 100,
    ) -> ReviewReport:
        """Without a decision, lists what waits: sentences that sessions seem to teach (proposals), versions of your
        items that somebody else wrote, items by others that every agent would get, and findings: duplicates,
        contradictions, gone and changed (what memories cite), expired, unused (for a year), secrets.

        A proposal becomes a memory when it is accepted; one that is refused does not come back, unless you ask for it.
        Until you decide on a version, every agent gets your own version of what is always told; of other items, agents
        find the new version, as the agent's words. Refusing restores yours; the other version stays in the history.
        Accepting a finding, or a kind of findings, does what it suggests; what changed meanwhile is skipped, with a
        word. Of memories with other texts, one is only archived by the finding's id; refusing keeps both for good. All
        that one call does is one step: undo takes it back.
        """
        kinds = texts("kinds", kinds)
        for kind in kinds:
            check_choice("kinds", kind, (*OWN_KINDS, *names_of("findings")))
        if decision is not None:
            check_choice("decision", decision, DECISIONS)
            if ref is None:
                raise UsageError("which item or proposal is meant?", hint="‹:review› lists what waits.")
        if ref in names_of("findings"):
            return self._on_finding(str(ref), decision, limit)
        if isinstance(ref, str) and re.fullmatch("[0-9a-f]{8}", ref):  # the id that is listed, without its drive
            if self._own_with(f"{DRIVE}{ref}") is None and not self._desk.has(f"{DRIVE}{ref}"):
                return self._on_finding(ref, decision, limit)
            ref = f"{DRIVE}{ref}"
        is_proposal = ref is not None and str(ref).startswith(DRIVE)
        if text is not None and not (is_proposal and decision in ("accept", "always")):
            raise UsageError("a text takes the place of a proposal that is accepted", hint="‹:review› lists them.")
        if is_proposal:
            return self._on_proposal(str(ref), decision, text)
        if decision in (ALWAYS, NEVER, ASK):
            raise UsageError(
                f"'{decision}' is for proposals, and {ref} is an item", hint="For items there are accept and refuse."
            )
        if ref is not None or decision is not None:
            return self._on_item(ref, decision)
        return self._of_kinds(kinds, limit)

    def _of_kinds(self, kinds: Sequence[str], limit: int) -> ReviewReport:
        """All that waits, or what waits of some kinds."""
        report = self._listed(None) if not kinds or set(OWN_KINDS) & set(kinds) else ReviewReport(())
        if kinds and "proposals" not in kinds:
            report = replace(report, proposals=(), rules=())
        if kinds and "versions" not in kinds:
            report = replace(report, waiting=())
        findings = self._findings([kind for kind in names_of("findings") if not kinds or kind in kinds])
        report = replace(report, findings=_of_each_kind(findings, limit), counts=_counts(findings))
        return report if kinds and "proposals" not in kinds else replace(report, start=self._start(report.proposals))

    def _start(self, proposals: Sequence[Proposal]) -> SessionStart | None:
        """What a session is told when it starts, and what the proposals would add to it."""
        from ricordo.engine.agents import told_at_start
        from ricordo.memory.remember import slug
        from ricordo.trust.fence import told_item

        if not self._context.config.hooks.enabled:
            return None
        report = told_at_start(self._context)
        blocks = [
            told_item(f"memory:/{slug(one.text)}", "", "", one.text, outside=False)
            for one in proposals
            if is_in_force(one)
        ]
        added = registry.token_counter().count_tokens(blocks) if blocks else ()
        told, left_out = (tuple(one.ref for one in parts) for parts in (report.parts, report.no_room()))
        if not (told or left_out or blocks):
            return None
        return SessionStart(report.tokens, report.budget, told, left_out, sum(added))

    def _findings(self, kinds: Sequence[str]) -> list[Finding]:
        self._context.flush_use()
        return [finding for findings in ask("findings", self._context.store, kinds) for finding in findings]

    def _on_finding(self, name: str, decision: str | None, limit: int) -> ReviewReport:
        """What is suggested about one finding or all of a kind: shown, or done."""
        if decision not in (None, "accept", "refuse"):
            raise UsageError("a finding is accepted, or refused", hint="‹:review expired accept›")
        kinds = names_of("findings")
        findings = self._findings([name] if name in kinds else kinds)
        picked = [finding for finding in findings if name in (finding.kind, finding.id)]
        if decision is None:
            return ReviewReport((), findings=_of_each_kind(picked, limit), counts=_counts(picked))
        if decision == "refuse":
            done = [self._refuse(finding) for finding in picked]
        else:
            done = [self._accept(finding, by_id=finding.id == name) for finding in picked]
        if not picked and name not in kinds:
            why = "there is no such finding now: it was dealt with, or changed"
            done.append(Saved(name, "skipped", reason=why))
        left = [finding for finding in findings if finding not in picked]
        return ReviewReport((), findings=_of_each_kind(left, limit), counts=_counts(left), done=tuple(done))

    def _refuse(self, finding: Finding) -> Saved:
        """Remember that nothing is to be done, such as that both of a pair are kept; findings of most kinds stay."""
        refuse_agents("decide on findings for good")
        refused = next(filter(None, ask("refuse_finding", self, finding)), None)
        return refused or Saved(finding.refs[0], "skipped", reason="this kind is not refused, it stays as it is")

    def _accept(self, finding: Finding, *, by_id: bool) -> Saved:
        """Do what a finding suggests; what changed since the look stays as it is."""
        if finding.alone and not by_id:
            return Saved(
                finding.refs[0], "skipped", reason=f"look at it first, then: ricordo review {finding.id} accept"
            )
        try:
            if (changed := self._changed_since(finding)) is not None:
                return Saved(finding.refs[0], "skipped", reason=changed)
            saved: Saved = next(filter(None, ask("accept_finding", self, finding)))
            return replace(saved, reason=finding.why)
        except Error as error:
            return Saved(finding.refs[0], "skipped", reason=str(error))

    def _changed_since(self, finding: Finding) -> str | None:
        """Why a finding no longer holds; None if its items are as they were."""
        now = self._context.unsynced_store.items.get_many([n for n, _ in finding.versions])
        for n, version in finding.versions:
            item = now.get(n)
            if item is None or item.state != "live":
                return f"{item.ref if item is not None else finding.refs[0]} was put away meanwhile"
            if item.version != version:
                return f"{item.ref} was changed meanwhile"
        return None

    def _on_proposal(self, ref: str, decision: str | None, text: str | None) -> ReviewReport:
        other = self._own_with(ref)
        if other is not None:
            decided: ReviewReport = other.review(ref, decision, text=text)
            return replace(self._listed(None), decided=decided.decided) if decision else decided
        if decision is not None:
            answer = self._desk.decide(ref, decision, text)
            return replace(self._listed(None), decided=answer)
        return ReviewReport((), proposals=tuple(proposal for proposal in self._desk.waiting() if proposal.ref == ref))

    def _own_with(self, ref: str) -> Any:
        """The user's own store, if the proposal is there and not here; a rule about a kind is made here otherwise."""
        other = own_engine(self._context) if not self._desk.has(ref) else None
        if other is not None and is_kind(ref) and all(rule.ref != ref for rule in other._listed(None).rules):
            return None
        return other

    def _on_item(self, ref: ItemName | None, decision: str | None) -> ReviewReport:
        tiers = self._context.tiers
        other = tiers.holding([ref], "present") if ref is not None and not tiers.is_alone else None
        if other is not None:
            report: ReviewReport = tiers.engine_of(other).review(ref, decision)
            return report
        if decision is not None and ref is not None:
            answer = self._decide(ref, decision)
            return replace(self._listed(None), decided=answer)
        return self._listed(self._context.number(ref) if ref is not None else None)

    def _listed(self, n: int | None) -> ReviewReport:
        """What waits, or only what waits in one item."""
        numbers = [number for number in self._context.store.audit.waiting() if n is None or number == n]
        waiting = [entry for entry in map(self._waiting, numbers) if entry is not None]
        waiting += [self._gone(number, name) for number, name in self._gone_files().items() if n in (None, number)]
        own = own_engine(self._context) if n is None else None
        elsewhere: ReviewReport = own._listed(None) if own is not None else ReviewReport(())
        return ReviewReport(
            (*waiting, *elsewhere.waiting),
            proposals=(*(self._desk.waiting() if n is None else ()), *elsewhere.proposals),
            rules=(*(self._desk.listed_rules() if n is None else ()), *elsewhere.rules),
        )

    def _waiting(self, n: int) -> Waiting | None:
        """What waits in an item; None if it is a file or page that was read again, which is never the user's words."""
        store = self._context.store
        item = store.items.get(n)
        ours, is_asked = told_versions(item)
        if not is_asked:
            return None
        mine = store.items.get(n, version=ours) if ours is not None else None
        import difflib

        is_always = "always" in (item.fields.loading, mine.fields.loading if mine is not None else None)
        if mine is None:
            lines = difflib.unified_diff([], item.content.splitlines(), "yours", "new", lineterm="")
        else:  # with the fields: one that is no longer valid is not told any more
            before, after = lines_for_diff(mine), lines_for_diff(item)
            lines = (line.rstrip("\n") for line in difflib.unified_diff(before, after, "yours", "new"))
        diff = "\n".join(list(lines)[:LONGEST_DIFF])
        who = item.provenance
        if who.author == PERSON:  # who changed only the fields; the text is of somebody else
            since = (one.provenance for one in store.items.history(n) if one.number > (ours or 0))
            who = next((one for one in since if one.author != PERSON), who)
        return Waiting(str(item.ref), item.title, item.version, who, ours, is_always, diff=diff)

    def _gone_files(self) -> dict[int, str]:
        """The items whose files went, with the names of these; the user still tells them to every agent."""
        store, known = self._context.store, self._context.knowledge
        files = store.knowledge.files().values() if known is not None else ()
        return {row.item: row.name for row in files if row.is_gone and row.item is not None}

    def _gone(self, n: int, name: str) -> Waiting:
        item = self._context.store.items.get(n)
        return Waiting(
            str(item.ref), item.title, item.version, item.provenance, item.vouched, is_always=True, gone=name
        )

    def _decide(self, ref: ItemName, decision: str) -> str:
        refuse_agents("decide what counts as the user's words")
        store = self._context.store
        n = self._context.number(ref)
        item = store.items.get(n)
        if n in (gone := self._gone_files()):
            if decision == "accept":
                store.changes.remove(n)
                return f"{item.ref} is in the bin, as its file is gone"
            store.changes.touch([n])
            return f"{item.ref} is told as before, and {gone[n]} is there again"
        if n not in store.audit.waiting():
            raise UsageError(f"{item.ref} waits for no decision", hint="‹:review› lists what waits.")
        if decision == "accept":
            store.audit.decide(n, "accepted")
            return f"{item.ref} version {item.version} counts as yours"
        store.audit.decide(n, "refused")
        ours = item.vouched
        draft = store.items.draft(n, ours or item.version)
        if ours is None:
            draft = replace(draft, fields=draft.fields.with_changes({"loading": None}))
        prepared = self._context.pipeline.prepare_draft(draft)
        saved = store.changes.rewrite(n, prepared, durable=True, backlog=self._context.models.backlog())
        return f"{saved.ref} is your version {ours} again" if ours else f"{saved.ref} is told only where it fits"


def _counts(findings: Sequence[Finding]) -> dict[str, int]:
    count = Counter(finding.kind for finding in findings)
    return {kind: count[kind] for kind in names_of("findings") if count[kind]}


def _of_each_kind(findings: Sequence[Finding], limit: int) -> tuple[Finding, ...]:
    """The first of each kind, so that many of one kind do not hide the others; in the order in which they came."""
    seen: Counter[str] = Counter()
    places = []
    for place, finding in enumerate(findings):
        places.append((seen[finding.kind], place))
        seen[finding.kind] += 1
    return tuple(findings[place] for place in sorted(place for _, place in sorted(places)[:limit]))
