"""Verbs that give agents what they need: context for a task, and skills."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from ricordo import registry
from ricordo.engine.context import EngineContext
from ricordo.engine.finding import FindVerbs
from ricordo.engine.sessions import SessionVerbs
from ricordo.errors import Error, NotFound, StoreError, Unavailable, UsageError
from ricordo.values.hits import Answer, Filters, Hit
from ricordo.values.items import Item, Ref
from ricordo.values.kinds import KINDS
from ricordo.values.reports import AddReport, Progress

if TYPE_CHECKING:
    from ricordo.context.build import Event
    from ricordo.context.build_passages import ContextPassage
    from ricordo.context.echo import EchoFilter
    from ricordo.context.skills import Collector
    from ricordo.models.base import TokenCounter
    from ricordo.store.base import Store
    from ricordo.values.context import ContextReport, LeftOut, Skill
    from ricordo.values.tools import ToolEntry

HITS = 40
LOOK_SECONDS = 1.0
CONTEXTUAL_HITS = 20
MOST_SKILLS = 8
EVENTS = 20
SHOWN_AS_PASSAGES = tuple(kind for kind in KINDS if kind not in ("skill", "tool"))
HAPPENINGS = tuple(kind for kind in KINDS if kind not in ("skill", "document", "tool"))
"""The kinds of happenings shown: what was said and saved. Files that were added are not, because there are too many."""
_SKILLS = Filters(kinds=("skill",))
_TOOLS = Filters(kinds=("tool",))


class AgentVerbs:
    """Puts together what an agent should know; what it shows is not counted as use."""

    def __init__(self, context: EngineContext, finding: FindVerbs, sessions: SessionVerbs) -> None:
        self._context = context
        self._finding = finding
        self._sessions = sessions
        self._next_look = 0.0

    def context(
        self,
        task: str,
        *,
        budget: int = 2000,
        recent: bool = False,
        skills: bool = True,
        always: bool = True,
        session: str = "",
    ) -> ContextReport:
        from ricordo.context.build import Builder, Material
        from ricordo.context.echo import EchoFilter

        if budget < 1:
            raise UsageError(
                f"a budget of {budget} tokens is too small for anything", hint="Give at least 1; 2000 is usual."
            )
        warnings: list[str] = []
        left_out: list[LeftOut] = []
        if skills and task.strip():
            self._take_in_skill_edits()
        stores = self._stores(warnings)
        asks = bool(task.strip())
        echoes = EchoFilter(task, session)
        shown_always = self._always(stores, left_out)
        known = {str(item.ref) for item in shown_always}
        material = Material(
            always=shown_always if always else (),
            contextual=[one for one in self._contextual(task, stores, left_out) if one.ref not in known]
            if asks
            else (),
            passages=self._for_task(task, stores, known, echoes, warnings, left_out) if asks else (),
            skills=self._offered(task) if asks and skills else (),
            tools=self._tools(task) if asks and skills else (),
            events=self._events(echoes) if recent else (),
            left_out=left_out,
            warnings=warnings,
        )
        return Builder(material, budget, self._counter).build()

    @cached_property
    def _counter(self) -> TokenCounter:
        return registry.token_counter()

    def _stores(self, warnings: list[str]) -> dict[str, Store]:
        """The stores that can be reached, by tier, the highest first."""
        found: dict[str, Store] = {}
        for tier in self._context.tiers.federation.tiers:
            try:
                found[tier.name] = tier.store
            except (Error, OSError) as error:
                warnings.append(f"tier {tier.name}: {getattr(error, 'message', error)}")
        return found

    def _always(self, stores: Mapping[str, Store], left_out: list[LeftOut]) -> list[Item]:
        """The items that every agent gets, whatever the task; of a ref in several tiers, the highest tier's."""
        from ricordo.context.build_passages import may_be_shown, out_of_time
        from ricordo.values.context import LeftOut

        found: dict[Ref, Item] = {}
        now = datetime.now(UTC)
        for store in stores.values():
            for n, item in store.items.listing(Filters(loadings=("always",)), 1 << 30, 0):
                if item.ref in found or not may_be_shown(item):
                    continue
                if reason := out_of_time(item, now):
                    left_out.append(LeftOut(str(item.ref), reason))
                else:
                    found[item.ref] = store.items.get(n)
        return sorted(found.values(), key=lambda item: item.ref)

    def _contextual(self, task: str, stores: Mapping[str, Store], left_out: list[LeftOut]) -> list[ContextPassage]:
        """Passages of the items that are loaded when they share words with the task."""
        from ricordo.context.build_passages import passages_of

        filters = Filters(loadings=("contextual",), kinds=SHOWN_AS_PASSAGES)
        if not _any(stores, filters):
            return []
        answer = self._asked(task, filters, CONTEXTUAL_HITS, profile="bm25", backend="lexical")
        left_out += _expired(answer.hits)
        return passages_of(answer.hits, stores)

    def _for_task(
        self,
        task: str,
        stores: Mapping[str, Store],
        known: set[str],
        echoes: EchoFilter,
        warnings: list[str],
        left_out: list[LeftOut],
    ) -> list[ContextPassage]:
        """The best passages for a task. If most of them only echo it, the search is repeated with more hits."""
        from ricordo.context.build_passages import fitting, passages_of

        passages: list[ContextPassage] = []
        for limit in (HITS, 5 * HITS):
            answer = self._asked(task, Filters(kinds=SHOWN_AS_PASSAGES), limit)
            found = passages_of([hit for hit in fitting(answer) if hit.ref not in known], stores)
            passages = echoes.without_echoes(found)
            if len(answer.hits) < limit or 2 * len(passages) >= len(found):
                break
        warnings += answer.meta.degraded
        left_out += _expired(fitting(answer))
        return passages

    def _asked(
        self, task: str, filters: Filters, limit: int, *, profile: str | None = None, backend: str | None = None
    ) -> Answer:
        return self._finding.search(
            task, limit=limit, filters=filters, literal=True, track=False, profile=profile, backend=backend,
            snippets=False,
        )  # fmt: skip

    def _offered(self, task: str) -> tuple[Skill, ...]:
        """The skills worth a line: those whose score comes near the best one's."""
        from ricordo.context.build_passages import WEAK, fitting

        stores = self._stores([])
        if not _any(stores, _SKILLS):
            return ()
        hits = fitting(self._asked(task, _SKILLS, MOST_SKILLS))
        best = max((hit.score for hit in hits), default=0.0)
        return self._as_skills([hit for hit in hits if hit.score >= WEAK * best], stores)

    def _tools(self, task: str) -> tuple[ToolEntry, ...]:
        """The tools of other servers worth a line: those that can be called and come near the best one."""
        from ricordo.context.build_passages import WEAK, fitting
        from ricordo.tools.finding import MORE, in_general, tools_first
        from ricordo.tools.rules import entry_from

        settings = self._context.config.tools
        if not settings.suggested or not _any(self._stores([]), _TOOLS):
            return ()
        answer = self._finding.search(
            in_general(task), limit=settings.suggested * MORE, filters=_TOOLS, literal=True, track=False, mode="full"
        )
        found = [entry_from(hit.item, settings.allow, hit.score) for hit in fitting(answer) if hit.item is not None]
        best = max((one.score or 0.0 for one in found), default=0.0)
        near = [one for one in found if one.callable and (one.score or 0.0) >= WEAK * best]
        return tools_first(near, settings.suggested)

    def _events(self, echoes: EchoFilter) -> list[Event]:
        """What happened lately, newest first, a line each; not in the session that asks."""
        from ricordo.context.build import Event
        from ricordo.values.kinds import OUTSIDE_DRIVES

        events = []
        for event in self._sessions.recent(10 * EVENTS, kinds=HAPPENINGS).events:
            if echoes.is_own(Ref.parse(event.ref)):
                continue
            drive = event.ref.partition(":")[0]
            line = f"{event.at:%Y-%m-%d %H:%M} {event.role or event.what} {event.ref} {event.title}"
            events.append(Event(event.ref, line, drive in OUTSIDE_DRIVES))
            if len(events) == EVENTS:
                break
        return events

    def skills_add(
        self,
        *roots: str | Path,
        prune: bool = False,
        wait: bool = True,
        progress: Callable[[Progress], None] | None = None,
    ) -> AddReport:
        from ricordo.sources.skills import default_roots, listed_by, named_roots

        settings = self._context.config.skills
        places = named_roots(roots, self._context.start) if roots else default_roots(settings, self._context.start)
        collector = self._collector()
        listed = None
        if settings.command and not roots:
            try:
                listed = listed_by(settings.command, settings.command_seconds)
            except Error as error:
                collector.fail("skills.command", error)
        collector.collect(places, listed or ())
        report = collector.report(prune=prune, listed=listed is not None)
        if ignored := [name for name in self._context.config.untrusted if name.startswith("skills.") and not roots]:
            untold = f"not trusted, so ignored: {', '.join(ignored)} of the project's settings (ricordo config trust)"
            report = replace(report, notes=(*report.notes, untold))
        return self._context.embed_after(report, wait, progress)

    def _collector(self) -> Collector:
        from ricordo.context.skills import Collector

        context = self._context
        files = context.files(follow_links=True)
        return Collector(context.store, context.pipeline, files, context.models.backlog())

    def _take_in_skill_edits(self) -> None:
        """Read the SKILL.md files that changed since they were read; looked at once a second at most."""
        now = time.monotonic()
        if now < self._next_look or not self._context.is_open:
            return
        self._next_look = now + LOOK_SECONDS
        store = self._context.store
        if not store.usage.can_record() or not _any({"": store}, _SKILLS):
            return
        from ricordo.context.skills import edited

        if places := edited(store):
            with suppress(StoreError, Unavailable):  # the store is busy; the next call tries again
                self._collector().collect(places)
                self._context.took_in_edits = True

    def skills(self) -> tuple[Skill, ...]:
        self._take_in_skill_edits()
        found: dict[str, Skill] = {}
        for tier, store in self._stores([]).items():
            for _, item in store.items.listing(_SKILLS, 1 << 30, 0):
                skill = _skill_of(item, tier=tier)
                found.setdefault(skill.name, skill)
        return tuple(sorted(found.values(), key=lambda skill: (skill.name.casefold(), skill.name)))

    def skills_search(
        self,
        task: str,
        limit: int = 5,
        *,
        min_score: float | None = None,
        profile: str | None = None,
        track: bool | None = None,
    ) -> tuple[Skill, ...]:
        if not task.strip():
            raise UsageError("there is no task", hint="Say what is to be done; 'ricordo skills list' shows them all.")
        self._take_in_skill_edits()
        stores = self._stores([])
        if not _any(stores, _SKILLS):
            return ()
        answer = self._finding.search(
            task, limit=limit, filters=_SKILLS, literal=True, min_score=min_score, profile=profile, track=track,
            tool="skills",
        )  # fmt: skip
        return self._as_skills(answer.hits, stores)

    def _as_skills(self, hits: Sequence[Hit], stores: Mapping[str, Store]) -> tuple[Skill, ...]:
        found = []
        for hit in hits:
            store = stores[hit.tier]
            n = store.items.require(Ref.parse(hit.ref))
            found.append(_skill_of(store.items.get_many([n])[n], tier=hit.tier, score=hit.score))
        return tuple(found)

    def skill(self, name: str) -> Item:
        self._take_in_skill_edits()
        wanted = name.strip()
        try:
            item = self._finding.get(
                Ref.parse(wanted) if Ref.looks_like(wanted) else Ref("skill", f"/{wanted.lstrip('/')}")
            )
        except NotFound:
            raise self._no_skill(wanted) from None
        if item.kind != "skill":
            raise NotFound(f"{item.ref} is a {item.kind}, not a skill", hint="'ricordo skills list' shows them.")
        return item

    def _no_skill(self, name: str) -> NotFound:
        from difflib import get_close_matches

        names = [skill.name for skill in self.skills()]
        folded = {known.casefold(): known for known in names}
        near = [folded[one] for one in get_close_matches(name.casefold(), list(folded), n=3, cutoff=0.5)]
        hint = f"Did you mean {', '.join(near)}?" if near else "'ricordo skills list' shows what there is."
        if not names:
            hint = "There are none yet: ricordo skills add"
        return NotFound(f"there is no skill '{name}'", hint=hint)


def _any(stores: Mapping[str, Store], filters: Filters) -> bool:
    """Whether a search is worth it: most stores have no items of some kinds."""
    return any(store.items.listing(filters, 1, 0) for store in stores.values())


def _skill_of(item: Item, *, tier: str = "", score: float | None = None) -> Skill:
    """The skill that an item holds, as it is listed."""
    from ricordo.values.context import Skill

    metadata = item.fields.metadata
    location, scope = (str(metadata.get(key) or "") for key in ("location", "scope"))
    name = item.ref.path.lstrip("/") if item.ref.drive == "skill" else item.title
    description = " ".join(item.fields.description.split())
    return Skill(name, description, str(item.ref), location, scope, tier, score)


def _expired(hits: Sequence[Hit]) -> list[LeftOut]:
    """The hits that would be shown if they were valid now: those whose score is near the best."""
    from ricordo.context.build_passages import if_valid
    from ricordo.values.context import LeftOut

    floor = max(map(if_valid, hits), default=0.0) / 2
    return [LeftOut(hit.ref, hit.validity) for hit in hits if hit.validity and if_valid(hit) >= floor]
