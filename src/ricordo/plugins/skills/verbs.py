"""Verbs for skills: take them in, list them, find the one for a task."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from ricordo.engine.finding import FindVerbs
from ricordo.engine.reading import ReadVerbs
from ricordo.engine.tiers import any_item
from ricordo.errors import Error, NotFound, StoreError, Unavailable, UsageError
from ricordo.plugins.skills.values import Skill
from ricordo.search.fit import fitting
from ricordo.trust.fence import any_of
from ricordo.values.context import HOW_TO_READ, ContextPart, LineSection
from ricordo.values.hits import Filters, Hit
from ricordo.values.items import Item, Ref
from ricordo.values.reports import AddReport, Progress
from ricordo.verbs.declare import verb

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Annotated

    from ricordo.plugins.skills.intake import Collector
    from ricordo.store.base import Store
    from ricordo.verbs.declare import Say
    from ricordo.verbs.parameters import NAME_TEXT, REF_TEXT, LimitFlag, ProfileName, TaskText, Track, Wait

LOOK_SECONDS = 1.0
SKILLS = Filters(kinds=("skill",))
SUGGESTED = 8
"""How many fitting skills a context names."""
MOST_FOR_SKILLS = 600
HEADING = f"## Skills that may help {HOW_TO_READ['skill'][0]}"


class SkillVerbs(FindVerbs, ReadVerbs):
    """Takes in skills, and finds them."""

    _next_look = 0.0

    @verb(
        "files",
        "agents",
        "Index the skills of a folder, or of the usual folders.",
        path="skills add",
        is_long=True,
        examples=("ricordo skills add", "ricordo skills add ~/team/skills --prune"),
        creates=True,
    )
    def skills_add(
        self,
        *roots: Annotated[str | Path, Say("A file or folder.", longest=REF_TEXT, http="paths")],
        prune: Annotated[bool, Say("Remove skills whose file is gone.")] = False,
        wait: Wait = True,
        progress: Callable[[Progress], None] | None = None,
    ) -> AddReport:
        """Take in every SKILL.md below the roots; without any, below the usual folders and from ``skills.command``.

        The first of a name wins, the workspace's before the user's before the machine's. Run again, it takes in what
        changed and reports what is gone; ``prune`` removes that.
        """
        from ricordo.plugins.skills.intake import default_roots, listed_by, named_roots

        settings = self._context.config.skills
        places = named_roots(roots, self._context.start) if roots else default_roots(self._context.start)
        collector = self._collector()
        listed = None
        if settings.command and not roots:
            try:
                listed = listed_by(settings.command)
            except Error as error:
                collector.fail("skills.command", error)
        collector.collect(places, listed or ())
        report = collector.report(prune=prune, listed=listed is not None)
        if ignored := [name for name in self._context.config.untrusted if name.startswith("skills.") and not roots]:
            note = f"not trusted, so ignored: {', '.join(ignored)} of the project's settings (ricordo config trust)"
            report = replace(report, notes=(*report.notes, note))
        return self._context.embed_after(report, wait, progress)

    def _collector(self) -> Collector:
        from ricordo.plugins.skills.intake import Collector

        context = self._context
        files = context.files(follow_links=True)
        return Collector(context.store, context.pipeline, files, context.models.backlog())

    def _take_in_edits(self) -> None:
        """Read the SKILL.md files that changed since they were read; looked at once a second at most."""
        now = time.monotonic()
        if now < self._next_look or not self._context.is_open:
            return
        self._next_look = now + LOOK_SECONDS
        store = self._context.store
        if not store.usage.can_record() or not any_item({"": store}, SKILLS):
            return
        from ricordo.plugins.skills.intake import edited

        if places := edited(store):
            with suppress(StoreError, Unavailable):  # the store is busy; the next call tries again
                self._collector().collect(places)
                self._context.took_in_edits = True

    @verb(
        "read",
        "agents",
        "Find the skills that fit a task.",
        path="skills search",
        answers="skills",
        examples=("ricordo skills search fill in a PDF form", "ricordo skills search deploy to Fly -n 3 --json"),
    )
    def skills_search(
        self,
        task: TaskText,
        limit: LimitFlag = 5,
        *,
        min_score: Annotated[float, Say("Leave out skills that score less.", 0, 1, shown="SCORE")] | None = None,
        profile: ProfileName | None = None,
        track: Track | None = None,
    ) -> tuple[Skill, ...]:
        """Skills are judged by name, description and text."""
        if not task.strip():
            raise UsageError("there is no task", hint="Say what is to be done; ‹:list --kind skill› shows them all.")
        self._take_in_edits()
        stores = self._context.tiers.reachable()
        if not any_item(stores, SKILLS):
            return ()
        least = self._context.config.search.min_fit if min_score is None else 0.0
        answer = self.search(
            task, limit=limit, filters=SKILLS, literal=True, min_score=min_score, profile=profile, track=track,
            tool="skills", shown=lambda hits: fitting(hits, least),
        )  # fmt: skip
        return self._as_skills(answer.hits, stores)

    def _as_skills(self, hits: Sequence[Hit], stores: Mapping[str, Store]) -> tuple[Skill, ...]:
        skills = []
        for hit in hits:
            store = stores[hit.tier]
            n = store.items.require(Ref.parse(hit.ref))
            skills.append(_skill_of(store.items.get_many([n])[n], tier=hit.tier, score=hit.score))
        return tuple(skills)

    @verb(
        "read",
        "agents",
        "Print one skill.",
        path="skills show",
        examples=("ricordo skills show pdf", "ricordo skills show pdf --json"),
    )
    def skill(
        self, name: Annotated[str, Say("The name of the skill, or its ref.", longest=NAME_TEXT, shown="NAME")]
    ) -> Item:
        """A skill by its name or ref, with its text; this counts as opening it."""
        from difflib import get_close_matches

        self._take_in_edits()
        wanted = name.strip()
        try:
            item = self.get(Ref.parse(wanted) if Ref.looks_like(wanted) else Ref("skill", f"/{wanted.lstrip('/')}"))
        except NotFound:
            stores = self._context.tiers.reachable().values()
            names = {_skill_of(item).name for store in stores for _, item in store.items.listing(SKILLS, 1 << 30, 0)}
            folded = {name.casefold(): name for name in sorted(names)}
            near = [folded[match] for match in get_close_matches(wanted.casefold(), list(folded), n=3, cutoff=0.5)]
            hint = f"Did you mean {any_of(near)}?" if near else "‹:list --kind skill› shows what there is."
            if not names:
                hint = "There are none yet; ‹:skills add› takes some in."
            raise NotFound(f"there is no skill '{wanted}'", hint=hint) from None
        if item.kind != "skill":
            raise NotFound(f"{item.ref} is a {item.kind}, not a skill", hint="‹:list --kind skill› shows them.")
        return item


def suggested(engine: SkillVerbs, task: str) -> LineSection | None:
    """The skills that a context names: those whose score comes near the best one's."""
    from ricordo.context.passages import WEAK

    engine._take_in_edits()
    stores = engine._context.tiers.reachable()
    if not any_item(stores, SKILLS):
        return None
    answer = engine.search(task, limit=SUGGESTED, filters=SKILLS, literal=True, track=False, snippets=False)
    hits = fitting(answer.hits, engine._context.config.search.min_fit)
    best = max((hit.score for hit in hits), default=0.0)
    return section_of(engine._as_skills([hit for hit in hits if hit.score >= WEAK * best], stores))


def section_of(skills: Sequence[Skill]) -> LineSection:
    """The section of a context that names skills."""
    rows = [
        (ContextPart("skill", skill.ref, skill.name, score=skill.score), (skill.name, skill.description))
        for skill in skills
    ]
    return LineSection("skill", HEADING, MOST_FOR_SKILLS, rows)


def _skill_of(item: Item, *, tier: str = "", score: float | None = None) -> Skill:
    """The skill that an item holds, as it is listed."""
    metadata = item.fields.metadata
    location, scope = (str(metadata.get(key) or "") for key in ("location", "scope"))
    name = item.ref.path.lstrip("/") if item.ref.drive == "skill" else item.title
    description = " ".join(item.fields.description.split())
    return Skill(name, description, str(item.ref), location, scope, tier, score)
