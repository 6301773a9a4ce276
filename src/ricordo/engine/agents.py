"""Verbs that put together what an agent should know: context."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from ricordo import registry
from ricordo.engine.checks import check_type, texts
from ricordo.engine.context import NOT_TRUSTED, with_settings_of_its_start
from ricordo.engine.items import cited_now
from ricordo.engine.log import LogVerbs
from ricordo.engine.program_notes import asking_program
from ricordo.engine.tiers import any_item
from ricordo.errors import UsageError
from ricordo.plugin import ask, revise
from ricordo.secrets.private import without_private
from ricordo.text.stopwords import has_content
from ricordo.values.hits import Answer, Filters, Hit
from ricordo.values.items import Item, Ref
from ricordo.values.kinds import KINDS, SESSION
from ricordo.values.times import moment_since
from ricordo.verbs.declare import verb

if TYPE_CHECKING:
    from typing import Annotated

    from ricordo.config.loading import Config
    from ricordo.context.passages import ContextPassage, EchoFilter
    from ricordo.engine.context import EngineContext
    from ricordo.store.base import Store
    from ricordo.values.context import ContextReport, LeftOut, LineSection
    from ricordo.values.kinds import By
    from ricordo.values.log import Happening
    from ricordo.verbs.declare import Say
    from ricordo.verbs.parameters import NAME_TEXT, QUERY_TEXT, OnlyKinds, Since, Until


CANDIDATES = 100
"""How many hits are looked at: nearly all evidence is among them, where the first ten hold a quarter to a half."""
FAR = 20
"""Nothing is gathered if not even the best hit fits. Otherwise hits are left out that fit less than a twentieth of what
``search.min_fit`` asks for: evidence often shares few words with its topic.
"""
NAMED_IF = 0.1
"""The nearest hit is named if nothing is told, unless it fits less than this."""
WEAK_EVIDENCE = 0.3
"""Passages are left out whose value is below this share of the best one's. It is lower than in a context: one message
that repeats the topic word for word is far ahead of all the others, which are the evidence.
"""
HITS = 40
CONTEXTUAL_HITS = 20
EVENTS = 20
MEMORY = 0.75
"""The share of the fit asked of texts that is enough for a memory, but no less than what counts as fitting."""
RULES_LOOKED_AT = 40
MOST_RULES = 4
"""How many memories are told because of an act that the task asks for."""
SHOWN_AS_PASSAGES = tuple(kind for kind in KINDS if kind not in ("skill", "tool"))
HAPPENINGS = tuple(kind for kind in KINDS if kind not in ("skill", "document", "tool"))
"""The kinds of happenings shown: what was said and saved. Files that were added are not, because there are too many."""
LETTERS_OF_LABEL = 10
"""What stands around each part of a label has no more letters."""
UNREVIEWED = "every agent gets it once you agree: ricordo review"
UNTRUSTED = "it came with a project that you do not trust: ricordo trust"


class AgentVerbs(LogVerbs):
    """Puts together what an agent should know; what it shows is not counted as use."""

    @verb(
        "read",
        "agents",
        "Tell an agent what it needs for a task, within a budget.",
        examples=(
            "ricordo context fix the login timeout --budget 1500",
            "ricordo context write the release notes --recent --json",
            "ricordo context what happened with the login --gather",
            "ricordo context - --no-skills < task.txt",
        ),
        needs_model=True,
    )
    @with_settings_of_its_start
    def context(
        self,
        task: Annotated[
            str, Say("What is to be done.", longest=QUERY_TEXT, shown="TASK", example="rotate the keys")
        ] = "",
        *,
        budget: Annotated[
            int, Say("The most tokens to spend, labels included.", 1, most=100_000, shown="TOKENS")
        ] = 2000,
        recent: Annotated[bool, Say("Also tell what happened lately, or not (default).")] = False,
        gather: Annotated[
            bool, Say("Tell all that is known about it in order of time, not only the best passages.")
        ] = False,
        skills: Annotated[bool, Say("Also name the skills that fit (default), or not.")] = True,
        always: Annotated[bool, Say("Also tell what every agent gets (default), or not.")] = True,
        since: Since | None = None,
        until: Until | None = None,
        kinds: OnlyKinds = (),
        session: Annotated[
            str, Say("The id of the session that asks; what was said in it is left out.", longest=NAME_TEXT)
        ] = "",
    ) -> ContextReport:
        """What an agent should know for a task, in at most ``budget`` tokens of the shipped tokenizer.

        The same store and the same task give the same text; nothing is remembered of the call. Without ``always``,
        items that every agent gets are left out, for an agent that has them already. With ``gather``, the passages are
        evidence of ``kinds``, ``since`` and ``until`` a time, oldest first, each once and in a few words.
        """
        from ricordo.context.build import Builder, Material
        from ricordo.context.passages import EchoFilter

        check_type("task", task, str)
        if budget < 1:
            raise UsageError(f"a budget of {budget} tokens is too small", hint="Give at least 1; 2000 is usual.")
        warnings = [NOT_TRUSTED] if self._context.projects.untrusted() else []
        left_out: list[LeftOut] = []
        asks = has_content(task := without_private(task))
        # Plugins may first take in what was edited, so they are asked before anything is read.
        sections = [section for section in ask("context_lines", self, task) if section] if asks and skills else []
        lines = sorted(sections, key=lambda section: section.name)
        stores = self._context.tiers.reachable(warnings)
        echoes = EchoFilter(task, session, asking_program())
        shown_always, doubts = every_agents(stores, left_out)
        told_always = {str(item.ref) for item in shown_always}
        told_always -= set() if always else _left_out_at_start(shown_always, doubts, self._context.config)
        events = self._lately(echoes) if recent else []
        material = Material(
            always=shown_always if always else (),
            contextual=self._contextual(task, stores, told_always, left_out),
            rules=self._rules("" if gather else task, stores, told_always if always else ()),
            passages=self._for_task(
                "" if gather else task, stores, told_always, echoes, warnings=warnings, left_out=left_out
            ),
            gathered=self._gathered(
                task if gather else "", stores, warnings, session=session, kinds=kinds, since=since, until=until
            ),
            task=task, words_of=_words_of(stores), lines=lines, events=events, left_out=left_out,
            warnings=warnings, doubts=doubts, own=_own(lines, (*events, *left_out), stores),
        )  # fmt: skip
        return Builder(material, budget, registry.token_counter()).build()

    def _lately(self, echoes: EchoFilter) -> list[Happening]:
        """What happened last, without the session that asks; of each session, what was decided in it, or else done."""
        if not self._context.is_open:  # other tiers answer without it
            return []
        latest = self.timeline(limit=10 * EVENTS, kinds=HAPPENINGS, newest_first=True).events
        sessions: dict[str, list[Happening]] = {}
        for event in latest:
            if not echoes.is_own(Ref.parse(event.ref)):
                key = event.thread if event.kind == SESSION and event.thread else event.ref
                sessions.setdefault(key, []).append(event)
        return [_summed_up(events) for events in islice(sessions.values(), EVENTS)]

    def _gathered(
        self, topic: str, stores: Mapping[str, Store], warnings: list[str], *, session: str, kinds: Sequence[str],
        since: str | datetime | None, until: str | datetime | None,
    ) -> Sequence[ContextPassage]:  # fmt: skip
        """The passages that have to do with a topic, best first; each turn of a session counts for itself."""
        if not topic.strip():
            if since or until or kinds:
                raise UsageError("a span and kinds are for what is gathered", hint="Add ‹gather›.")
            return ()
        if not has_content(topic):
            return ()
        from ricordo.context.passages import EchoFilter, passages_of, strong
        from ricordo.search.fit import fitting

        wanted = Filters(
            texts("kinds", kinds) or SHOWN_AS_PASSAGES, after=moment_since(since), before=moment_since(until)
        )
        answer = self.search(topic, limit=CANDIDATES, filters=wanted, literal=True, track=False, turns=True)
        warnings += answer.meta.degraded
        least = self._context.config.search.min_fit
        hits = fitting(answer.hits, least / FAR) if fitting(answer.hits, least) else ()
        echoes = EchoFilter(topic, session, asking_program(), answers=False)
        passages = echoes.without_echoes(passages_of(hits, stores))
        # The item of a session lists what was asked in it, which its turns say themselves.
        turns = [passage for passage in passages if passage.item.kind != SESSION or passage.item.fields.seq is not None]
        warnings += [] if turns else _nearest(answer.hits)
        return strong(turns, WEAK_EVIDENCE)

    def _contextual(
        self, task: str, stores: Mapping[str, Store], told_always: set[str], left_out: list[LeftOut]
    ) -> list[ContextPassage]:
        """Passages of the items that are loaded when they share words with the task."""
        from ricordo.context.passages import passages_of

        filters = Filters(loadings=("contextual",), kinds=SHOWN_AS_PASSAGES)
        if not has_content(task) or not any_item(stores, filters):
            return []
        answer = self._asked(task, filters, CONTEXTUAL_HITS, profile="bm25", by="words")
        left_out += _expired(answer.hits)
        passages = [passage for passage in passages_of(answer.hits, stores) if passage.ref not in told_always]
        return revise("contextual", passages, self, task, stores)

    def _rules(self, task: str, stores: Mapping[str, Store], told: Collection[str]) -> list[ContextPassage]:
        """The user's short memories about the acts that a task asks for, those about most of them first; also
        those that a session was told when it started, now that it is about to do what they are about.
        """
        from ricordo.context.acts import asked_for, ruled_acts, ruling_words
        from ricordo.context.passages import passages_of

        acts = asked_for(task)
        filters = Filters(kinds=("memory",))
        if not acts or not any_item(stores, filters):
            return []
        answer = self._asked(ruling_words(acts), filters, RULES_LOOKED_AT, profile="bm25", by="words")
        ruled = [(ruled_acts(passage.text, acts), passage) for passage in passages_of(answer.hits, stores)]
        applicable = [
            (count, passage) for count, passage in ruled if count and not passage.outside and passage.ref not in told
        ]
        return [passage for _, passage in sorted(applicable, key=lambda pair: -pair[0])][:MOST_RULES]

    def _for_task(
        self,
        task: str,
        stores: Mapping[str, Store],
        told_always: set[str],
        echoes: EchoFilter,
        *,
        warnings: list[str],
        left_out: list[LeftOut],
    ) -> list[ContextPassage]:
        """The best passages for a task. If most of them only echo it, the search is repeated with more hits; if nothing
        fits, the nearest source is told with a warning if it almost does.
        """
        if not has_content(task):
            return []
        from ricordo.context.passages import passages_of
        from ricordo.search.fit import NOTHING_FITS, nearest_source

        passages: list[ContextPassage] = []
        for limit in (HITS, 5 * HITS):
            answer = self._asked(task, Filters(kinds=SHOWN_AS_PASSAGES), limit)
            hits = self._telling(answer.hits)
            candidates = passages_of([hit for hit in hits if hit.ref not in told_always], stores)
            passages = [one for one in echoes.without_echoes(candidates) if not self._is_copy(one.item, stores)]
            if len(answer.hits) < limit or 2 * len(passages) >= len(candidates):
                break
        if not passages:
            nearest = nearest_source(answer.hits, self._context.config.search.min_fit)
            passages = passages_of([hit for hit in nearest if hit.ref not in told_always], stores)
            warnings += [NOTHING_FITS] if passages else _nearest(answer.hits) if not hits else []
            hits = hits or nearest
        warnings += answer.meta.degraded
        left_out += _expired(hits)
        return passages

    def _is_copy(self, item: Item, stores: Mapping[str, Store]) -> bool:
        """Whether it is what a tool returned of a file that is stored itself."""
        metadata = item.fields.metadata
        if item.kind != SESSION or metadata.get("role") != "tool" or metadata.get("direction") != "received":
            return False
        refs = [self._context.resolve(file) for file in metadata.get("files") or () if Path(file).is_absolute()]
        return any(store.items.numbers(refs) for store in stores.values() if refs)

    def _telling(self, hits: Sequence[Hit]) -> tuple[Hit, ...]:
        """The hits that fit well enough to be told. Of memories, less is asked than of texts: they are short."""
        from ricordo.search.fit import FITS, fitting

        least = self._context.config.search.min_fit
        enough = {hit.ref for hit in fitting(hits, least)}
        enough |= {hit.ref for hit in fitting(hits, min(least, max(FITS, MEMORY * least))) if hit.kind == "memory"}
        return tuple(hit for hit in hits if hit.ref in enough)

    def _asked(
        self, task: str, filters: Filters, limit: int, *, profile: str | None = None, by: By | None = None
    ) -> Answer:
        return self.search(
            task, limit=limit, filters=filters, literal=True, track=False, profile=profile, by=by,
            snippets=False,
        )  # fmt: skip


def every_agents(stores: Mapping[str, Store], left_out: list[LeftOut]) -> tuple[list[Item], dict[str, str]]:
    """The items that every agent gets, whatever the task; of a ref in several tiers, the highest tier's. With why
    some of them should be doubted, by ref.
    """
    from ricordo.context.passages import contradicted_by, may_be_shown, no_longer_sure
    from ricordo.store.query import Shown
    from ricordo.trust.level import is_vouched
    from ricordo.values.context import LeftOut

    items: dict[Ref, Item] = {}
    doubts: dict[str, str] = {}
    now = datetime.now(UTC)
    for store in stores.values():
        with store.index.snapshot():
            listed = dict(store.items.listing(Filters(loadings=("always",)), 1 << 30, 0))
            pairs = store.index.passages([Shown(n) for n in listed]).contradicted if listed else {}
            newer = store.items.get_many([other for other, _ in pairs.values()])
            for n, item in (listed | store.items.get_many(store.audit.waiting())).items():
                if item.ref in items or not may_be_shown(item):
                    continue
                # As the user wrote it last, or agreed to it; None if the user never did.
                word = None if is_vouched(item) else item.vouched
                users = store.items.get(n, version=word) if word is not None or is_vouched(item) else None
                if item.foreign:
                    if "always" in (item.fields.loading, users and users.fields.loading):
                        left_out.append(LeftOut(str(item.ref), UNTRUSTED))
                elif users is None or users.fields.loading != "always":
                    if item.fields.loading == "always":
                        left_out.append(LeftOut(str(item.ref), UNREVIEWED))
                elif reason := users.validity(now):
                    left_out.append(LeftOut(str(item.ref), reason))
                else:
                    items[item.ref] = users
                    states = tuple(map(str, cited_now(store, users)))
                    other = newer.get(pairs[n][0]) if n in pairs else None
                    reasons = (contradicted_by(other), no_longer_sure(users.content, states))
                    if any(reasons):
                        doubts[str(users.ref)] = ", ".join(filter(None, reasons))
    return sorted(items.values(), key=lambda item: item.ref), doubts


def told_at_start(context: EngineContext) -> ContextReport:
    """What of the items that every agent gets is told when a session starts, and what has no room."""
    from ricordo.context.build import Builder, Material

    left_out: list[LeftOut] = []
    always, doubts = every_agents(context.tiers.reachable(), left_out)
    material = Material(always=always, doubts=doubts, left_out=left_out)
    return Builder(material, max(1, context.config.hooks.start_budget), registry.token_counter()).build()


def _left_out_at_start(always: Sequence[Item], doubts: Mapping[str, str], config: Config) -> set[str]:
    """The refs of those items that have no room when a session starts, where the others were told already."""
    from ricordo.context.build import Builder, Material

    budget = max(1, config.hooks.start_budget)
    texts = ((str(item.ref), item.fields.title, item.fields.description, item.content) for item in always)
    if sum(LETTERS_OF_LABEL + len(text or "") for parts in texts for text in parts) <= budget:
        return set()  # a token has a letter at least
    told = Builder(Material(always=always, doubts=doubts), budget, registry.token_counter()).build()
    return {str(item.ref) for item in always} - {part.ref for part in told.parts if not part.cut}


def _words_of(stores: Mapping[str, Store]) -> Callable[[str], AbstractSet[str]]:
    """What gives the words of a text, as the highest of the stores reads it."""
    from ricordo.text.alike import content_words

    analyzer = next((store.analyzer for store in stores.values()), None)
    return content_words if analyzer is None else lambda text: analyzer.content_counts(text).keys()


def _summed_up(events: Sequence[Happening]) -> Happening:
    """One of the events of a session, which come newest first: what the user stated last, what the agent said last, or
    any.
    """
    from ricordo.text.asking import states

    decided = (event for event in events if event.role == "user" and states(event.title))
    done = (event for event in events if event.role == "assistant")
    for what, some in (("decided", decided), ("done", done)):
        if (event := next(some, None)) is not None:
            return replace(event, what=what, role="")
    return next((event for event in events if has_content(event.title)), events[0])


def _nearest(hits: Sequence[Hit]) -> list[str]:
    """What is said of the nearest hit where none fits well enough to be told."""
    nearest = max(hits, key=lambda hit: hit.fit or 0.0, default=None)
    if nearest is None or not nearest.fit or nearest.fit < NAMED_IF:
        return []
    return [
        f"nothing fits well enough to be told; the nearest is {nearest.ref} (fit {nearest.fit:.2f}): search finds it"
    ]


def _own(lines: Sequence[LineSection], entries: Sequence[Happening | LeftOut], stores: Mapping[str, Store]) -> set[str]:
    """Those of the refs that are the user's own words in every store that has them. What is gone is nobody's."""
    from ricordo.trust.level import is_outside

    offered = (part for section in lines if not section.outside for part, _ in section.rows)
    refs = {one.ref for one in (*offered, *entries)}
    own: set[str] = set()
    foreign: set[str] = set()
    for store in stores.values() if refs else ():
        numbers = store.items.numbers([Ref.parse(ref) for ref in refs])
        for item in store.items.get_many(list(numbers.values())).values():
            (foreign if is_outside(item) else own).add(str(item.ref))
    return own - foreign


def _expired(hits: Sequence[Hit]) -> list[LeftOut]:
    """The hits that would be shown if they were valid now: those whose score is near the best."""
    from ricordo.context.passages import if_valid
    from ricordo.values.context import LeftOut

    floor = max(map(if_valid, hits), default=0.0) / 2
    return [LeftOut(hit.ref, hit.validity) for hit in hits if hit.validity and if_valid(hit) >= floor]
