"""The verb undo: takes back what one call of a verb changed, in every store that it changed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ricordo.engine.checks import check_type
from ricordo.engine.opening import OpenEngine
from ricordo.errors import Conflict, Error, NotFound
from ricordo.permissions import refuse_agents
from ricordo.speaking import known_as, speaker
from ricordo.steps import undoable
from ricordo.store.values import PreparedItem
from ricordo.values.items import Saved
from ricordo.values.log import UNDO, Step, StepItem, UndoReport
from ricordo.values.reports import AddReport
from ricordo.verbs.declare import verb

if TYPE_CHECKING:
    from typing import Annotated

    from ricordo.verbs.declare import Say
    from ricordo.verbs.parameters import NAME_TEXT, ManyLimit

_LOOKED_AT = 200
"""Among how many steps the last one of the caller is looked for."""


class UndoVerbs(OpenEngine):
    """Lists steps, and undoes them."""

    @verb(
        "write",
        "remember",
        "Undo the last change, or an earlier one.",
        examples=("ricordo undo", "ricordo undo --list", "ricordo undo 5f0c2a91"),
        looking={"list": True, "step": None},
    )
    @undoable
    def undo(
        self,
        step: Annotated[
            str, Say("The id of a step, as the list shows it; without one, your last.", longest=NAME_TEXT, shown="STEP")
        ]
        | None = None,
        *,
        list: Annotated[bool, Say("Only list the steps, newest first.")] = False,  # noqa: A002 - the word for it
        limit: ManyLimit = 20,
    ) -> UndoReport:
        """All that one call changed is taken back together: new items go to the bin, others get back their text,
        fields, name and state, and links are as they were. Nothing is lost: what was undone stays in the history, and
        undoing the undo brings it back. Items that were changed since stay as they are, with a word. Steps are kept for
        30 days. What was erased (``rm --purge``) cannot be brought back. What came from files, pages, imports and
        sessions is no step: rm takes it out.
        """
        if list:
            return UndoReport(steps=tuple(self._steps(limit)))
        chosen = self._step_named(step) if step is not None else self._last_step()
        items: tuple[Saved, ...] = self._undo_here(chosen) if self._context.store.steps.get(chosen.id) else ()
        for engine in self._others():
            if any(one.id == chosen.id for one in _steps_of(engine, _LOOKED_AT)):
                items += engine.undo(chosen.id).items
        skipped = sum(one.status == "skipped" for one in items)
        if items and skipped == len(items) == chosen.changes:
            raise Conflict(f"nothing was undone: {items[0].ref}: {items[0].reason}", hint="‹:history REF› shows more.")
        notes = (f"{skipped} of {len(items)} items stay as they are",) if skipped else ()
        return UndoReport(replace(chosen, is_undone=True), items, notes=notes)

    def _others(self) -> Iterator[Any]:
        """Engines on the other tiers' stores, as far as they can be opened now."""
        tiers = self._context.tiers
        if tiers.is_alone:
            return
        for tier in tiers.federation.tiers:
            if not tier.is_own:
                with suppress(Error):
                    yield tiers.engine_of(tier.name)

    def _steps(self, limit: int) -> list[Step]:
        """The newest steps of all stores; one that changed several of them comes once."""
        found: dict[str, Step] = {}
        everywhere = [self._context.store.steps.newest(limit)]
        everywhere += [_steps_of(engine, limit) for engine in self._others()]
        for one in (step for steps in everywhere for step in steps):
            known = found.get(one.id)
            found[one.id] = one if known is None else replace(known, changes=known.changes + one.changes)
        return sorted(found.values(), key=lambda one: one.at, reverse=True)[:limit]

    def _step_named(self, identity: str) -> Step:
        check_type("step", identity, str)
        found = self._context.store.steps.get(identity)
        found = found or next((one for one in self._steps(_LOOKED_AT) if one.id == identity), None)
        if found is None:
            raise NotFound(f"there is no step {identity}", hint="‹:undo --list› shows the steps that can be undone.")
        return self._checked(found)

    def _last_step(self) -> Step:
        """The last step of the caller that is not undone."""
        me, names = speaker(), self._names()
        for one in self._steps(_LOOKED_AT):
            said = one.provenance
            is_mine = said.name in names and (said.author, said.session, said.token) == (
                me.author,
                me.session,
                me.token,
            )
            if is_mine and not one.is_undone and one.verb != UNDO and (one.changes or one.erased):
                return self._checked(one)
        raise NotFound("there is nothing of yours to undo", hint="‹:undo --list› shows the steps of everybody.")

    def _names(self) -> set[str]:
        """The names of the caller: in a team's store, the one by which its server knows them."""
        teams = [self._context.store.team]
        for engine in self._others():
            with suppress(Error):  # one that does not answer has no steps either
                teams.append(engine.store.team)
        names = set()
        for team in teams:
            with known_as(team.person if team is not None else ""):
                names.add(speaker().name)
        return names

    def _checked(self, step: Step) -> Step:
        if step.is_undone:
            raise Conflict(
                f"that step is undone already: it {step.words}",
                hint="‹:undo --list› shows the step that undid it; undoing that one brings it back.",
            )
        if not step.can_be_undone:
            if step.erased:
                raise Conflict(
                    f"that step {step.words}, and nothing brings that back",
                    hint="‹:undo --list› shows earlier steps; ‹:undo STEP› undoes one of them.",
                )
            raise NotFound("all that this step changed was erased since", hint="‹:undo --list› shows the others.")
        return step

    def _undo_here(self, step: Step) -> tuple[Saved, ...]:
        context = self._context
        items = context.store.steps.items(step.id)
        if any(one.provenance is not None for one in items):
            refuse_agents("take back a decision of yours")
        backlog = context.models.backlog()
        saved = context.store.steps.put_back(step.id, items, self._earlier(items), backlog=backlog)
        context.embed_after(AddReport((Saved("", "updated"),)), wait=True, is_small=True)
        return tuple(saved)

    def _earlier(self, items: list[StepItem]) -> dict[int, PreparedItem]:
        """The versions that items had before, ready to be written again; without those that are no longer kept."""
        found: dict[int, PreparedItem] = {}
        for one in items:
            if one.version and one.state != "deleted":
                with suppress(NotFound):
                    draft = self._context.store.items.draft(one.n, one.version)
                    found[one.n] = self._context.pipeline.prepare_draft(draft)
        return found


def _steps_of(engine: Any, limit: int) -> list[Step]:
    """The steps of another tier; none if it does not answer."""
    with suppress(Error):
        return [*engine.undo(list=True, limit=limit).steps]
    return []
