"""Verbs that put together what an agent should know: context."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ricordo import registry
from ricordo.engine.checks import check_type, texts
from ricordo.engine.context import NOT_TRUSTED
from ricordo.engine.items import cited_now
from ricordo.engine.program_notes import asking_program
from ricordo.engine.sessions import SessionVerbs
from ricordo.engine.skills import SKILLS, SkillVerbs, any_item
from ricordo.errors import UsageError
from ricordo.values.hits import Answer, Filters, Hit
from ricordo.values.items import Item, Ref
from ricordo.values.kinds import KINDS, SESSION
from ricordo.values.times import moment_since
from ricordo.verbs.declare import verb

if TYPE_CHECKING:
    from typing import Annotated

    from ricordo.context.passages import ContextPassage, EchoFilter
    from ricordo.store.base import Store
    from ricordo.values.context import ContextReport, LeftOut, Skill
    from ricordo.values.kinds import By
    from ricordo.values.tools import ToolEntry
    from ricordo.verbs.declare import Say
    from ricordo.verbs.parameters import NAME_TEXT, QUERY_TEXT, OnlyKinds, Since, Until


CANDIDATES = 100
"""How many hits are looked at: nearly all evidence is among them, where the first ten hold a quarter to a half."""
NEAR = 2
FAR = 20
"""Nothing is told if not even the best hit fits a half (``NEAR``) of what ``search.min_fit`` asks for. Otherwise hits
are left out that fit less than a twentieth (``FAR``) of it: evidence often shares few words with its topic.
"""
WEAK_EVIDENCE = 0.3
"""Passages are left out whose value is below this share of the best one's. It is lower than in a context: one message
that repeats the topic word for word is far ahead of all the others, which are the evidence.
"""
SUGGESTED_TOOLS = 3
"""How many fitting tools of other servers are named: each costs a line of every context."""
HITS = 40
CONTEXTUAL_HITS = 20
MOST_SKILLS = 8
EVENTS = 20
SHOWN_AS_PASSAGES = tuple(kind for kind in KINDS if kind not in ("skill", "tool"))
HAPPENINGS = tuple(kind for kind in KINDS if kind not in ("skill", "document", "tool"))
"""The kinds of happenings shown: what was said and saved. Files that were added are not, because there are too many."""
_TOOLS = Filters(kinds=("tool",))
UNREVIEWED = "every agent gets it once you agree: ricordo review"
UNTRUSTED = "it came with a project that you do not trust: ricordo trust"


class AgentVerbs(SkillVerbs, SessionVerbs):
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
        asks = bool(task.strip())
        if skills and asks:
            self._take_in_edits()
        stores = self._reachable_stores(warnings)
        echoes = EchoFilter(task, session, asking_program())
        shown_always, doubts = self._always(stores, left_out)
        known = {str(item.ref) for item in shown_always}
        offered = self._offered(task) if asks and skills else ()
        latest = self.timeline(limit=10 * EVENTS, kinds=HAPPENINGS, newest_first=True).events if recent else ()
        events = [event for event in latest if not echoes.is_own(Ref.parse(event.ref))][:EVENTS]
        material = Material(
            always=shown_always if always else (),
            contextual=[one for one in self._contextual(task, stores, left_out) if one.ref not in known],
            passages=self._for_task(task, stores, known, echoes, warnings, left_out) if asks and not gather else (),
            gathered=self._gathered(task if gather else "", stores, warnings, session, kinds, since, until),
            skills=offered,
            tools=self._tools(task) if asks and skills else (),
            events=events,
            left_out=left_out,
            warnings=warnings,
            doubts=doubts,
            own=_own({one.ref for some in (offered, events, left_out) for one in some}, stores),
        )
        return Builder(material, budget, registry.token_counter()).build()

    def _gathered(
        self, topic: str, stores: Mapping[str, Store], warnings: list[str], session: str, kinds: Sequence[str],
        since: str | datetime | None, until: str | datetime | None,
    ) -> Sequence[ContextPassage]:  # fmt: skip
        """The passages that have to do with a topic, best first; each turn of a session counts for itself."""
        if not topic.strip():
            if since or until or kinds:
                raise UsageError("a span and kinds are for what is gathered", hint="Add ‹gather›.")
            return ()
        from ricordo.context.passages import EchoFilter, passages_of, strong
        from ricordo.search.fit import fitting

        wanted = Filters(
            texts("kinds", kinds) or SHOWN_AS_PASSAGES, after=moment_since(since), before=moment_since(until)
        )
        answer = self.search(topic, limit=CANDIDATES, filters=wanted, literal=True, track=False, turns=True)
        warnings += answer.meta.degraded
        least = self._context.config.search.min_fit
        hits = fitting(answer.hits, least / FAR) if fitting(answer.hits, least / NEAR) else ()
        passages = EchoFilter(topic, session, asking_program()).without_echoes(passages_of(hits, stores))
        # The item of a session lists what was asked in it, which its turns say themselves.
        said = [one for one in passages if one.item.kind != SESSION or one.item.fields.seq is not None]
        return strong(said, WEAK_EVIDENCE)

    def _always(self, stores: Mapping[str, Store], left_out: list[LeftOut]) -> tuple[list[Item], dict[str, str]]:
        """The items that every agent gets, whatever the task; of a ref in several tiers, the highest tier's. With why
        some of them should be doubted, by ref.
        """
        from ricordo.context.passages import contradicted_by, may_be_shown, no_longer_sure
        from ricordo.store.query import Shown
        from ricordo.trust.level import is_vouched
        from ricordo.values.context import LeftOut

        found: dict[Ref, Item] = {}
        doubts: dict[str, str] = {}
        now = datetime.now(UTC)
        for store in stores.values():
            listed = dict(store.items.listing(Filters(loadings=("always",)), 1 << 30, 0))
            newer = store.index.passages([Shown(n) for n in listed]).contradicted if listed else {}
            for n, item in (listed | store.items.get_many(store.audit.waiting())).items():
                if item.ref in found or not may_be_shown(item):
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
                    found[item.ref] = users
                    states = tuple(map(str, cited_now(store, users)))
                    reasons = (contradicted_by(newer[n][1] if n in newer else ""), no_longer_sure(states))
                    if any(reasons):
                        doubts[str(item.ref)] = ", ".join(filter(None, reasons))
        return sorted(found.values(), key=lambda item: item.ref), doubts

    def _contextual(self, task: str, stores: Mapping[str, Store], left_out: list[LeftOut]) -> list[ContextPassage]:
        """Passages of the items that are loaded when they share words with the task."""
        from ricordo.context.passages import passages_of

        filters = Filters(loadings=("contextual",), kinds=SHOWN_AS_PASSAGES)
        if not task.strip() or not any_item(stores, filters):
            return []
        answer = self._asked(task, filters, CONTEXTUAL_HITS, profile="bm25", by="words")
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
        """The best passages for a task. If most of them only echo it, the search is repeated with more hits; if nothing
        fits, the nearest source is told with a warning if it almost does.
        """
        from ricordo.context.passages import passages_of
        from ricordo.search.fit import NOTHING_FITS
        from ricordo.search.session_ranking import nearest_source

        passages: list[ContextPassage] = []
        for limit in (HITS, 5 * HITS):
            answer = self._asked(task, Filters(kinds=SHOWN_AS_PASSAGES), limit)
            hits = self._fitting(answer)
            found = passages_of([hit for hit in hits if hit.ref not in known], stores)
            passages = echoes.without_echoes(found)
            if len(answer.hits) < limit or 2 * len(passages) >= len(found):
                break
        if not passages:
            nearest = nearest_source(answer.hits, self._context.config.search.min_fit)
            passages = passages_of([hit for hit in nearest if hit.ref not in known], stores)
            warnings += [NOTHING_FITS] if passages else []
            hits = hits or nearest
        warnings += answer.meta.degraded
        left_out += _expired(hits)
        return passages

    def _fitting(self, answer: Answer) -> tuple[Hit, ...]:
        """The hits that have to do with the task."""
        from ricordo.search.fit import fitting

        return fitting(answer.hits, self._context.config.search.min_fit)

    def _asked(
        self, task: str, filters: Filters, limit: int, *, profile: str | None = None, by: By | None = None
    ) -> Answer:
        return self.search(
            task, limit=limit, filters=filters, literal=True, track=False, profile=profile, by=by,
            snippets=False,
        )  # fmt: skip

    def _offered(self, task: str) -> tuple[Skill, ...]:
        """The skills worth a line: those whose score comes near the best one's."""
        from ricordo.context.passages import WEAK

        stores = self._reachable_stores([])
        if not any_item(stores, SKILLS):
            return ()
        hits = self._fitting(self._asked(task, SKILLS, MOST_SKILLS))
        best = max((hit.score for hit in hits), default=0.0)
        return self._as_skills([hit for hit in hits if hit.score >= WEAK * best], stores)

    def _tools(self, task: str) -> tuple[ToolEntry, ...]:
        """The tools of other servers worth a line: those that can be called and come near the best one."""
        from ricordo.context.passages import WEAK
        from ricordo.tools.index import MORE, entry_from, in_general, tools_first

        settings = self._context.config.tools
        if not any_item(self._reachable_stores([]), _TOOLS):
            return ()
        answer = self.search(
            in_general(task), limit=SUGGESTED_TOOLS * MORE, filters=_TOOLS, literal=True, track=False, mode="full"
        )
        hits = self._fitting(answer)
        if self._context.located.location.origin == "project":
            hits = tuple(hit for hit in hits if hit.tier == "agent")  # the store that tools are called from
        found = [entry_from(hit.item, settings.allow, hit.score) for hit in hits if hit.item is not None]
        best = max((one.score or 0.0 for one in found), default=0.0)
        near = [one for one in found if one.callable and (one.score or 0.0) >= WEAK * best]
        return tools_first(near, SUGGESTED_TOOLS)


def _own(refs: Collection[str], stores: Mapping[str, Store]) -> set[str]:
    """Those of the refs that are the user's own words in every store that has them. What is gone is nobody's."""
    from ricordo.trust.level import is_outside

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
