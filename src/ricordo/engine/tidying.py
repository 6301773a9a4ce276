"""The verb tidy: what should be done about the memory, and doing it, as one step that can be undone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ricordo.engine.checks import texts
from ricordo.engine.last_looks import note_look
from ricordo.engine.proposals import ProposalVerbs
from ricordo.errors import Error, Forbidden, UsageError
from ricordo.permissions import is_admin, refuse_agents
from ricordo.steps import undoable
from ricordo.values.items import Saved
from ricordo.values.review import TIDY_KINDS, Finding, TidyReport
from ricordo.verbs.declare import verb

if TYPE_CHECKING:
    from typing import Annotated

    from ricordo.memory.upkeep import Look
    from ricordo.verbs.declare import Say
    from ricordo.verbs.parameters import NAME_TEXT, ManyLimit

_FOR_ONE = ("proposals",)
"""Kinds of which each finding needs a decision of its own."""


class TidyVerbs(ProposalVerbs):
    """Finds what should be tidied, and tidies it."""

    @verb(
        "write",
        "look after",
        "Show what should be done about your memory, and do it.",
        examples=(
            "ricordo tidy",
            "ricordo tidy --kind expired",
            "ricordo tidy --do expired",
            "ricordo tidy --do 3f2a91c0",
        ),
        looking={"do": None},
    )
    @undoable
    def tidy(
        self,
        *,
        kinds: Annotated[
            Sequence[str],
            Say("Look only for this kind; may be repeated.", name="kind", longest=NAME_TEXT, shown="KIND"),
        ] = (),
        do: Annotated[
            Sequence[str],
            Say(
                "Do what is suggested about all of a kind, or about one finding by its id.",
                longest=NAME_TEXT,
                shown="KIND|ID",
            ),
        ] = (),
        limit: ManyLimit = 100,
    ) -> TidyReport:
        """Looks for duplicates, contradictions, gone and changed (what memories cite), expired, unused (for a
        year), proposals and secrets, and suggests what to do about each
        finding. Nothing is changed without ``do``. All that one call does is one step: undo takes it back. What changed
        since it was looked at is skipped, with a word.
        """
        kinds, do = texts("kinds", kinds), texts("do", do)
        wanted = self._kinds_of(kinds)
        chosen = [one for one in do if one in TIDY_KINDS]
        ids = [one for one in do if one not in TIDY_KINDS]
        self._refuse_unknown(ids)
        look = self._look()
        if not do:
            found = [one for kind in wanted for one in look.findings(kind)]
            if not kinds:
                note_look(self._context.location, len(found))
            return TidyReport(tuple(found[:limit]), _counts(found))
        if many := next((kind for kind in chosen if kind in _FOR_ONE), None):
            raise UsageError(f"{many} are decided one by one", hint="‹:review› lists them; so does tidy, with ids.")
        among = wanted if ids else tuple(chosen)
        found = [one for kind in TIDY_KINDS if kind in (*among, *chosen) for one in look.findings(kind)]
        picked = [one for one in found if one.kind in chosen or one.id in ids]
        done = [self._do(one) for one in picked]
        missing = [one for one in ids if all(one != other.id for other in found)]
        done += [
            Saved(one, "skipped", reason="there is no such finding now: it was dealt with, or changed")
            for one in missing
        ]
        left = [one for one in found if one not in picked]
        return TidyReport(tuple(left[:limit]), _counts(left), tuple(done))

    def _look(self) -> Look:
        from ricordo.memory.upkeep import Look

        self._context.flush_use()
        return Look(self._context.store)

    def _kinds_of(self, kinds: Sequence[str]) -> tuple[str, ...]:
        unknown = next((kind for kind in kinds if kind not in TIDY_KINDS), None)
        if unknown is not None:
            raise UsageError(f"there is no kind '{unknown}'", hint=f"One of: {', '.join(TIDY_KINDS)}.")
        if is_admin():
            return tuple(kinds) or tuple(TIDY_KINDS)
        if "proposals" in kinds:
            raise Forbidden("only administrators see proposals", hint="Look for another kind.")
        return tuple(kinds) or tuple(kind for kind in TIDY_KINDS if kind != "proposals")

    def _refuse_unknown(self, ids: Sequence[str]) -> None:
        for one in ids:
            if len(one) != 8 or set(one) - set("0123456789abcdef"):
                raise UsageError(
                    f"'{one}' is neither a kind nor the id of a finding",
                    hint=f"A kind is one of: {', '.join(TIDY_KINDS)}; ‹:tidy› shows ids.",
                )

    def _do(self, one: Finding) -> Saved:
        """Do what a finding suggests; what changed since the look stays as it is."""
        try:
            if (changed := self._changed_since(one)) is not None:
                return Saved(one.refs[0], "skipped", reason=changed)
            return replace(self._act(one), reason=one.why)
        except Error as error:
            return Saved(one.refs[0], "skipped", reason=str(error))

    def _changed_since(self, one: Finding) -> str | None:
        """Why a finding no longer holds; None if its items are as they were."""
        now = self._context.unsynced_store.items.get_many([n for n, _ in one.versions])
        for n, version in one.versions:
            item = now.get(n)
            if item is None or item.state != "live":
                return f"{item.ref if item is not None else one.refs[0]} was put away meanwhile"
            if item.version != version:
                return f"{item.ref} was changed meanwhile"
        return None

    def _act(self, one: Finding) -> Saved:
        store = self._context.unsynced_store
        if one.kind == "proposals":
            refuse_agents("accept what sessions propose")
            return Saved(one.refs[0], "accepted", reason=self._desk.decide(one.refs[0], "accept", None))
        n = one.versions[0][0]
        if one.kind in ("duplicates", "contradictions"):
            return store.changes.archive([n], successor=one.versions[1][0])[0]
        if one.kind == "secrets":
            return self.edit(one.refs[0], content=store.items.get(n).content)
        if one.kind == "changed":
            return self._cite_again(n, one.refs[0])
        return store.changes.archive([n])[0]

    def _cite_again(self, n: int, ref: str) -> Saved:
        """Note what a memory cites as it is now."""
        from ricordo.memory.citations.check import CitationCheck
        from ricordo.memory.citations.find import NAME

        store = self._context.unsynced_store
        item = store.items.get(n)
        metadata: dict[str, Any] = {
            **item.fields.metadata,
            NAME: CitationCheck(store).renewed(item.fields.metadata.get(NAME) or []),
        }
        return self.edit(ref, fields={"metadata": metadata})


def _counts(found: Sequence[Finding]) -> dict[str, int]:
    return {kind: n for kind in TIDY_KINDS if (n := sum(one.kind == kind for one in found))}
