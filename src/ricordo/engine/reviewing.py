"""Verbs about who said what: audit, and the review of what others wrote in the user's name, or sessions propose."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ricordo import told_log
from ricordo.engine.checks import check_choice
from ricordo.engine.following import follows
from ricordo.engine.proposals import ProposalVerbs, is_kind, own_engine
from ricordo.engine.reading import lines_for_diff
from ricordo.errors import UsageError
from ricordo.permissions import refuse_agents
from ricordo.steps import undoable
from ricordo.trust.level import told_versions
from ricordo.values import provenance
from ricordo.values.log import AuditEntry, AuditReport, ReviewReport, Waiting
from ricordo.values.review import DRIVE
from ricordo.verbs.declare import verb

if TYPE_CHECKING:
    from typing import Annotated

    from ricordo.values.kinds import ReviewDecision
    from ricordo.verbs.declare import Say
    from ricordo.verbs.parameters import NAME_TEXT, ItemName, ManyLimit, Since, Until

DECISIONS = ("accept", "refuse", "always", "never", "ask")
LONGEST_DIFF = 60


class ReviewVerbs(ProposalVerbs):
    """Says who did what, and lets the user decide on what agents wrote over the user's words."""

    @verb(
        "admin",
        "look after",
        "Show who changed what, when, and through which door.",
        examples=("ricordo audit", "ricordo audit memory:/office", "ricordo audit --told --by claude --since 7d"),
        looking={},
    )
    @follows("ref")
    def audit(
        self,
        ref: ItemName | None = None,
        *,
        since: Since | None = None,
        until: Until | None = None,
        by: Annotated[
            str, Say("Only what this author, program, session, token, door or machine did.", longest=NAME_TEXT)
        ] = "",
        told: Annotated[bool, Say("What was found, opened and told, instead of what was changed.")] = False,
        limit: ManyLimit = 50,
    ) -> AuditReport:
        """Each entry says what was done to which version, by a person, an agent, an import or a loader, through which
        door and on which machine. Versions that were written before this was recorded say "unknown".
        """
        from ricordo.values.times import moment_since

        context = self._context
        context.flush_use()
        item = context.store.items.get_many([n])[n].id if (n := self._number(ref)) is not None else None
        start = moment_since(since) if since is not None else None
        end = moment_since(until) if until is not None else None
        found = context.store.audit.entries(item=item, since=start, until=end, by=by, told=told, limit=limit + 1)
        if told:
            found = sorted((*found, *self._told_by_hooks(ref, start, end, by)), key=lambda one: one.at, reverse=True)
        return AuditReport(tuple(found[:limit]), more=len(found) > limit)

    def _told_by_hooks(
        self, ref: ItemName | None, start: datetime | None, end: datetime | None, by: str
    ) -> Iterator[AuditEntry]:
        """What hooks told agents; only the refs of it are known."""
        wanted = str(self._context.resolve(ref)) if ref is not None else None
        for line in told_log.lines(start.timestamp() if start is not None else 0.0):
            at, asker = datetime.fromtimestamp(line["at"], UTC), line.get("asker") or ""
            if line["store"] != self._context.location or (end is not None and at >= end):
                continue
            for told in line["refs"]:
                if wanted in (None, told) and by.lower() in asker.lower():
                    yield AuditEntry(at, "told", told, 0, provenance.read(asker), line["event"])

    def _number(self, ref: ItemName | None) -> int | None:
        return self._context.number(ref) if ref is not None else None

    @verb(
        "admin",
        "look after",
        "Decide on what sessions taught, and on what agents wrote over your own words.",
        examples=(
            "ricordo review",
            "ricordo review proposal:/3f2a91c0 accept",
            "ricordo review proposal:/3f2a91c0 accept --text 'Deploy on Tuesdays.'",
            "ricordo review proposal:/3f2a91c0 never",
            "ricordo review proposal:/pattern/rule ask",
            "ricordo review memory:/office refuse",
        ),
        looking={"decision": None, "text": None},
    )
    @undoable
    def review(
        self,
        ref: ItemName | None = None,
        decision: Annotated[
            ReviewDecision,
            Say(
                "Take it, or not (of a changed item: go back to yours); always or never from this kind of proposal;"
                " ask takes a decision on a proposal or a kind back."
            ),
        ]
        | None = None,
        *,
        text: Annotated[str, Say("Keep this sentence instead of the proposed one.", longest=NAME_TEXT)] | None = None,
    ) -> ReviewReport:
        """Without a decision, lists what waits: sentences that sessions seem to teach (proposals), versions of your
        items that somebody else wrote, and items by others that every agent would get. A proposal becomes a memory when
        it is accepted; one that is refused does not come back, unless you ask for it. What you said about a whole kind
        is listed, too. Until you decide on a version, every agent gets your own
        version of what is always told; of other items, agents find the new version, as the agent's words. Refusing
        restores yours; the other version stays in the history. Items that were saved on a branch which was deleted
        before it was merged wait, too: accepting makes them everybody's, refusing archives them.
        """
        if decision is not None:
            check_choice("decision", decision, DECISIONS)
            if ref is None:
                raise UsageError("which item or proposal is meant?", hint="‹:review› lists what waits.")
        if isinstance(ref, str) and re.fullmatch("[0-9a-f]{8}", ref):  # the id that is listed, without its drive
            ref = f"{DRIVE}{ref}"
        is_proposal = ref is not None and str(ref).startswith(DRIVE)
        if text is not None and not (is_proposal and decision in ("accept", "always")):
            raise UsageError("a text takes the place of a proposal that is accepted", hint="‹:review› lists them.")
        if is_proposal:
            return self._on_proposal(str(ref), decision, text)
        if decision in ("always", "never", "ask"):
            raise UsageError(
                f"'{decision}' is for proposals, and {ref} is an item", hint="For items there are accept and refuse."
            )
        return self._on_item(ref, decision)

    def _on_proposal(self, ref: str, decision: str | None, text: str | None) -> ReviewReport:
        other = self._own_with(ref)
        if other is not None:
            decided: ReviewReport = other.review(ref, decision, text=text)
            return replace(self._listed(None), decided=decided.decided) if decision else decided
        if decision is not None:
            said = self._desk.decide(ref, decision, text)
            return replace(self._listed(None), decided=said)
        return ReviewReport((), proposals=tuple(one for one in self._desk.waiting() if one.ref == ref))

    def _own_with(self, ref: str) -> Any:
        """The user's own store, if the proposal is there and not here; a rule about a kind is made here otherwise."""
        other = own_engine(self._context) if not self._desk.has(ref) else None
        if other is not None and is_kind(ref) and all(one.ref != ref for one in other.review().rules):
            return None
        return other

    def _on_item(self, ref: ItemName | None, decision: str | None) -> ReviewReport:
        tiers = self._context.tiers
        other = tiers.holding([ref], "present") if ref is not None and not tiers.is_alone else None
        if other is not None:
            found: ReviewReport = tiers.engine_of(other).review(ref, decision)
            return found
        if decision is not None and ref is not None:
            said = self._decide(ref, decision)
            return replace(self._listed(None), decided=said)
        return self._listed(self._number(ref))

    def _listed(self, n: int | None) -> ReviewReport:
        """What waits, or only what waits in one item."""
        waiting = [one for one in self._context.store.audit.waiting() if n is None or one == n]
        found = (self._waiting(one) for one in waiting)
        elsewhere = self._in_own_store() if n is None else ReviewReport(())
        return ReviewReport(
            (*(one for one in found if one is not None), *elsewhere.waiting),
            proposals=(*(self._desk.waiting() if n is None else ()), *elsewhere.proposals),
            rules=(*(self._desk.listed_rules() if n is None else ()), *elsewhere.rules),
        )

    def _in_own_store(self) -> ReviewReport:
        other = own_engine(self._context)
        report: ReviewReport = other.review() if other is not None else ReviewReport(())
        return report

    def _waiting(self, n: int) -> Waiting | None:
        """What waits in an item; None if it is a file or page that was read again, which is never the user's words."""
        store = self._context.store
        item = store.items.get(n)
        ours, is_asked = told_versions(item)
        if not is_asked:
            return None
        mine = store.items.get(n, version=ours) if ours is not None else None
        is_always = "always" in (item.fields.loading, mine.fields.loading if mine is not None else None)
        if mine is None:
            lines = difflib.unified_diff([], item.content.splitlines(), "yours", "new", lineterm="")
        else:  # with the fields: one that is no longer valid is not told any more
            before, after = lines_for_diff(mine), lines_for_diff(item)
            lines = (line.rstrip("\n") for line in difflib.unified_diff(before, after, "yours", "new"))
        diff = "\n".join(list(lines)[:LONGEST_DIFF])
        return Waiting(str(item.ref), item.title, item.version, item.provenance, ours, is_always, diff=diff)

    def _decide(self, ref: ItemName, decision: str) -> str:
        refuse_agents("decide what counts as your words")
        store = self._context.store
        n = self._context.number(ref)
        item = store.items.get(n)
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
