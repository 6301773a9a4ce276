"""Where sessions and commits stand in an answer: after the sources that fit, each session as one hit, and last those
that only ask.

A question that was asked in many sessions is nearest to itself. Without this, it would find these sessions in place of
the page that answers it, the more often it is asked the surer. So sources are ranked as if there were no sessions, and
sessions follow. If the search asks for sessions, or for what was done, they are ranked with everything else. It is the
same with the commits of a repository, of which there are many more than files; questions for reasons ask for them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from ricordo.frozen import frozen
from ricordo.patterns import late
from ricordo.search.candidates import Pool
from ricordo.search.fit import FITS, fit_from, fit_parts
from ricordo.search.ranking import Ranked
from ricordo.search.request import PluginStep, Request
from ricordo.search.rerank import DIVERSE_WINDOW
from ricordo.store.query import Ask
from ricordo.text.asking import about, knows_nothing, only_asks, repeats, states
from ricordo.values.hits import Filters, Hit
from ricordo.values.kinds import KINDS, SESSION
from ricordo.values.provenance import is_own_tool

if TYPE_CHECKING:
    from ricordo.search.pipeline import Search

CROWDED = 0.25
"""If more than this share of a full pool are turns of sessions, the sources are asked for again, without them."""
JUDGED = 32
"""So many of the best turns are read to see what they add."""
REPLY = 2
"""So many turns after one that asks its answer may come, and its echo after one that rules."""
ECHOED = 0.5
"""An agent's turn that has this share of the words of what the person ruled says it again."""
_LIST_ITEM = late(r"^[ \t]*(?:[-*•]|\d{1,2}[.)])[ \t]+\S", re.MULTILINE)
_OF_SESSIONS = f"{SESSION}:/"
_COMMITS = "git"
_REASONS = late(
    r"\b(?:why|commits?|committed|who\s+(?:wrote|changed|added|removed|made)|when\s+(?:was|were)|since\s+when|warum|wieso"
    r"|pourquoi|por\s?qu[eé]|perch[eé]|waarom)\b",
    re.IGNORECASE,
)
_PAST = late(
    r"""\b(?:
    (?:did|have|had|were|was)\s+(?:i|we|you)
    | (?:i|we|you)(?:'ve|\s+have|\s+had|\s+already)?\s+(?:did|done|made|decided|agreed|discussed|talked|said|asked|
        tried|fixed|changed|added|removed|solved|found|wrote|built|chose|were|was|worked)
    | (?:why|how|when|where|what|who)\s+did
    | what\s+(?:happened|was\s+(?:done|said|decided|changed|tried))
    | yesterday | last\s+(?:time|night|week|month|session|monday|tuesday|wednesday|thursday|friday|saturday|sunday)
    | (?:previous|earlier|past)\s+(?:session|conversation|chat)s?
    | (?:haben|hatten|habe|hatte)\s+(?:wir|ich) | (?:wir|ich)\s+(?:haben|hatten|habe|hatte) | gestern
    | letzte[sn]?\s+(?:mal|woche|sitzung)
    | (?:avons|avions)[\s-]nous | (?:nous\s+avons|j'ai) | la\s+dernière\s+fois
    | (?:hemos|habíamos|hicimos|decidimos|hablamos) | ayer | la\s+última\s+vez
    | (?:abbiamo|avevamo) | ieri | l'ultima\s+volta
    | (?:fizemos|decidimos|falamos) | ontem | da\s+última\s+vez
    | (?:hebben|hadden)\s+(?:we|wij) | gisteren | vorige\s+(?:keer|week|sessie)
    | вчера | в\s+прошлый\s+раз | на\s+прошлой\s+неделе | мы\s+(?:решили|обсуждали|говорили|делали)
    )\b
    | 昨天 | 上(?:周|週|次|个?星期) | 之前我们 | 我们(?:之前|决定|讨论|说|做) | 昨日 | 先週 | 前回 | 決め(?:た|ました)
    | (?:話|相談)し(?:た|ました)""",
    re.VERBOSE | re.IGNORECASE,
)


def is_about_the_past(text: str) -> bool:
    """Whether a question is about what was done or said, and so about sessions as much as about sources.

    >>> is_about_the_past("上周我们决定了什么"), is_about_the_past("前回の会議"), is_about_the_past("会議の議事録")
    (True, True, False)
    >>> is_about_the_past("what did we decide about the cache"), is_about_the_past("how is the cache cleared")
    (True, False)
    """
    return _PAST.search(text) is not None


@frozen
class Later:
    """What comes after the sources that fit in an answer: sessions, commits, both or neither."""

    sessions: bool = False
    commits: bool = False

    def has(self, ref: str) -> bool:
        return (self.sessions and is_turn(ref)) or (self.commits and is_commit(ref))


def later_than_sources(request: Request, filters: Filters, text: str) -> Later:
    """What a search does not ask for, in words or by its filters, so that it comes after the sources."""
    asks_for_sessions = filters.kinds == (SESSION,) or filters.drives == (SESSION,)
    asks_for_commits = _COMMITS in filters.drives or is_about_turns(filters) or _REASONS.search(text) is not None
    return Later(
        sessions=not (request.sessions or request.turns or asks_for_sessions or is_about_the_past(text)),
        commits=not (asks_for_commits or is_about_the_past(text)),
    )


def is_about_turns(filters: Filters) -> bool:
    """Whether filters ask for single turns or checkpoints, so that a session may have several hits."""
    return bool(filters.threads or filters.facets or filters.categories or filters.metadata)


def is_turn(ref: str) -> bool:
    """Whether a ref is that of a session or of a part of one."""
    return ref.startswith(_OF_SESSIONS)


def is_list_of_requests(ref: str) -> bool:
    """Whether a ref is that of a session itself, whose text is a list of what was asked in it.

    >>> is_list_of_requests("session:/talk"), is_list_of_requests("session:/talk/3"), is_list_of_requests("note:/talk")
    (True, False, False)
    """
    return is_turn(ref) and "/" not in ref.removeprefix(_OF_SESSIONS)


def is_commit(ref: str) -> bool:
    """Whether a ref is that of a commit."""
    return ref.startswith(f"{_COMMITS}:/")


class RecordsLast(PluginStep):
    """Puts sessions and commits after the sources that fit, in profiles that ask for it."""

    @cached_property
    def later(self) -> Later:
        """What comes after the sources that fit."""
        if not self.profile.sessions_last:
            return Later()
        return later_than_sources(self.request, self.filters, self.text)

    def apart(self, pool: Pool, ask: Ask, again: Callable[[Ask], Pool]) -> tuple[Pool, Pool | None]:
        """The sources of a pool, and what comes later; None if it does not hold both.

        If what comes later crowds the pool, the store is asked again for sources alone, so that none of them is lost.
        """
        later = self.later
        turns = self._later_in(pool)
        if not turns:
            return pool, None
        sources = pool.without(turns)
        if len(pool) >= ask.per_side and len(turns) > CROWDED * len(pool):
            kinds = tuple(kind for kind in ask.filters.kinds or KINDS if kind != SESSION or not later.sessions)
            if kinds:
                drives = (_COMMITS,) if later.commits else ()
                pool_again = again(replace(ask, filters=replace(ask.filters, kinds=kinds, not_drives=drives)))
                sources = pool_again.without(self._later_in(pool_again))
        if not len(sources):
            return pool, None
        sources.total, sources.notes, sources.degraded = pool.total, pool.notes, pool.degraded
        return sources, pool.without(set(pool.found.numbers) - turns)

    def _later_in(self, pool: Pool) -> set[int]:
        """The numbers of a pool's members that come later."""
        if self.later == Later():
            return set()
        return {n for n, ref in zip(pool.found.numbers, pool.found.refs, strict=True) if self.later.has(ref)}

    def order(self, search: Search, entries: Iterable[Ranked]) -> Iterable[Ranked]:
        """Sources that fit before sessions and commits, and each session once."""
        each_turn = self.request.turns or is_about_turns(self.filters)
        if not self.profile.sessions_last or not self.text or each_turn:
            return entries
        asked = set(search.analyzer.content_counts(self.text))
        ranked = list(entries)
        last = DIVERSE_WINDOW if self.request.diverse else search.last
        turns = [entry for entry in ranked if is_turn(entry.member.ref)]
        commits = [entry for entry in ranked if self.later.commits and is_commit(entry.member.ref)]
        sources = [entry for entry in ranked if not (is_turn(entry.member.ref) or self.later.has(entry.member.ref))]
        lowest = lowest_fitting((entry.score, fit_from(fit_parts(entry.member))) for entry in sources)
        may_end = self.later.sessions or not turns
        if may_end and lowest is not None and sum(entry.score >= lowest for entry in sources) >= last:
            return sources  # a page that sessions and commits do not reach
        search.reader.read([*sources[:last], *turns[:JUDGED]])
        judged = [self._judged(entry, search, asked) for entry in turns[:JUDGED]]
        tell, ask = _one_each([*judged, *(_Turn(entry) for entry in turns[JUDGED:])], asked)
        if lowest is not None:
            commits = below(commits, lowest, "sources that fit come before commits")
            if self.later.sessions:
                tell = below(tell, lowest, "sources that fit come before sessions")
        rest = [*sources, *tell, *commits]
        ask = below(ask, min(entry.score for entry in rest), "it only asks") if rest else ask
        return sorted([*rest, *ask], key=lambda entry: -entry.score)

    def _judged(self, entry: Ranked, search: Search, asked: set[str]) -> _Turn:
        """A turn, and whether it only asks. What a program summed up of a session is not said there."""

        def words_of(text: str) -> set[str]:
            return set(search.analyzer.content_counts(text))

        metadata, text = search.reader.item(entry).fields.metadata, search.reader.best_text(entry)
        role = metadata.get("role", "user")
        persons = role == "user"
        is_list = is_list_of_requests(entry.member.ref) or (persons and len(_LIST_ITEM.findall(text)) > 1)
        if is_list:
            text = about(text, asked, words_of)
        words = words_of(text)
        if (
            role == "system"
            or is_own_tool(str(metadata.get("tool") or ""))
            or repeats(words, asked, is_persons=persons)
            or (role == "assistant" and knows_nothing(text))
        ):
            return _Turn(
                replace(entry, repeats=True) if self.later.sessions else entry, only_asks=True, is_list=is_list
            )
        if is_list_of_requests(entry.member.ref):
            return _Turn(entry, only_asks=not states(text), is_list=True)
        is_asking = persons and only_asks(text, words, asked)
        said = words if role != "tool" else set()
        return _Turn(entry, only_asks=is_asking, is_list=is_list, is_persons=persons, words=said)

    def merged(self, hits: Sequence[Hit]) -> Sequence[Hit]:
        """What comes later stays below the sources that fit of every tier, as it does in each."""
        scores = [hit.score for hit in hits if self.later.has(hit.ref)]
        sources = [hit for hit in hits if not self.later.has(hit.ref) and hit.kind != SESSION]
        lowest = lowest_fitting((hit.score, hit.fit) for hit in sources)
        factor = factor_below(max(scores), lowest) if scores and lowest is not None else 1.0
        if lowest is None or factor == 1.0:
            return hits
        return [replace(hit, score=min(lowest, hit.score * factor)) if self.later.has(hit.ref) else hit for hit in hits]

    def why_missing(self, ref: str, hits: Sequence[Hit]) -> str:
        """Another turn may stand for its session."""
        is_shown = is_turn(ref) and session_of(ref) in [session_of(hit.ref) for hit in hits if is_turn(hit.ref)]
        return "another turn of its session is shown; a filter by thread shows all" if is_shown else ""


def lowest_fitting(sources: Iterable[tuple[float, float | None]]) -> float | None:
    """The lowest score of the sources that fit, given their scores and fits; None if none fits."""
    return min((score for score, fit in sources if fit is None or fit >= FITS), default=None)


def factor_below(best: float, ceiling: float) -> float:
    """What scores are multiplied by so that the best of them does not exceed a ceiling."""
    return ceiling / best if best > ceiling else 1.0


def below(entries: Sequence[Ranked], ceiling: float, why: str) -> list[Ranked]:
    """The entries with scores that do not exceed a ceiling and keep their order."""
    factor = factor_below(max((entry.score for entry in entries), default=0.0), ceiling)
    if factor == 1.0:
        return list(entries)
    return [entry.scored(min(ceiling, entry.score * factor), f"{why} ×{factor:.3f}") for entry in entries]


@frozen
class _Turn:
    """A turn of a session that was found, and what it is for an answer."""

    entry: Ranked
    only_asks: bool = False
    is_list: bool = False
    """Whether it is a list of requests: what comes right after it need not be about the one that was found."""
    is_persons: bool = False
    words: AbstractSet[str] = frozenset()
    """Those of what was said; none of a tool's output."""


def _one_each(turns: Sequence[_Turn], asked: AbstractSet[str]) -> tuple[list[Ranked], list[Ranked]]:
    """The best turn of each session that tells something; of sessions in which none does, the best that asks.

    Where a turn that asks is nearest, what was said right after it answers it, whatever words it uses; a list of
    requests is not answered by what comes right after it. Where the agent
    says again what the person ruled right before, it is the person who said it; and a turn comes before the list of
    requests that names it.
    """
    tell: dict[str, Ranked] = {}
    ask: dict[str, Ranked] = {}
    asking: dict[str, int] = {}
    replies: dict[str, tuple[int, Ranked]] = {}
    for turn in turns:
        entry, name = turn.entry, session_of(turn.entry.member.ref)
        if turn.only_asks:
            if name not in tell:
                ask.setdefault(name, entry)
                if not turn.is_list:
                    asking.setdefault(name, turn_number(entry.member.ref))
            continue
        tell.setdefault(name, entry)
        if name in asking:
            after = turn_number(entry.member.ref) - asking[name]
            if 0 < after <= REPLY and after < replies.get(name, (REPLY + 1, entry))[0]:
                replies[name] = (after, entry)
    tell |= {name: entry for name, (_, entry) in replies.items()}
    by_session: dict[str, list[_Turn]] = {}
    for turn in turns:
        if turn.words and not turn.only_asks:
            by_session.setdefault(session_of(turn.entry.member.ref), []).append(turn)
    for name, entry in tell.items():
        said = by_session.get(name, ())
        chosen = next((turn for turn in said if turn.entry is entry), None)
        if is_list_of_requests(entry.member.ref):
            chosen = next((turn for turn in said if turn.words & asked), None)
        if chosen is not None:
            first = next((turn for turn in said if _is_echo(chosen, turn)), chosen)
            if first.entry is not entry:
                tell[name] = first.entry.scored(entry.score, "it is where that was said first")
    return list(tell.values()), [entry for name, entry in ask.items() if name not in tell]


def _is_echo(turn: _Turn, before: _Turn) -> bool:
    """Whether the agent only says again what the person said right before."""
    after = turn_number(turn.entry.member.ref) - turn_number(before.entry.member.ref)
    is_reply = before.is_persons and not turn.is_persons and 0 < after <= REPLY
    return is_reply and len(before.words & turn.words) >= ECHOED * len(before.words)


def turn_number(ref: str) -> int:
    """The place of a turn in its session; 0 for the session itself.

    >>> turn_number("session:/talk/3"), turn_number("session:/talk"), turn_number("session:/talk/checkpoints/9")
    (3, 0, 0)
    """
    last = ref.removeprefix(_OF_SESSIONS).partition("/")[2]
    return int(last) if last.isdecimal() else 0


def session_of(ref: str) -> str:
    """The id of the session that a ref belongs to."""
    return ref.removeprefix(_OF_SESSIONS).partition("/")[0]
