"""Finds what a session teaches, by patterns alone: at most five sentences, each once, within a bounded time."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from ricordo.memory.capture.deeds import answers, fixes
from ricordo.memory.capture.patterns import Lesson, begins_correction, lesson_in
from ricordo.memory.capture.sentences import sentences
from ricordo.memory.capture.turns import SaidTurn
from ricordo.memory.contradictions import first_conflict
from ricordo.memory.duplicates import plain_text
from ricordo.memory.statements import statements, stem
from ricordo.secrets.find import find_secrets
from ricordo.values.proposals import Proposal

MOST = 5
"""How many proposals one session makes."""
SECONDS = 5.0
"""How long a session is looked at; what was found by then is proposed."""
LIKE = 0.7
"""Two sentences at least as alike as this, letter by letter, …"""
OTHER_WORDS = 0.2
"""… and with at most this share of words that only one of them has, say the same, unless they contradict each other."""
LONGEST_QUOTE = 240
_FILE = re.compile(
    r"(?<![\w/.:-])(?:[\w.-]+/)*[\w-]{2,}\.(?:py|[cm]?[jt]sx?|go|rs|java|kt|rb|php|cs?|h|cc|cpp|hpp|swift|sh|sql|md|rst|txt"
    r"|html?|css|scss|toml|ya?ml|json|lock|cfg|ini|proto|vue)(?![\w/])|(?<![\w/])(?:[a-z_.][\w.-]*/)+[a-z_.][\w.-]*\w"
)
_REDACTED = "[redacted"
_WORD = re.compile(r"\w+")


def found_in(
    turns: Sequence[SaidTurn], *, session: str, branch: str = "", now: Callable[[], float] = time.monotonic
) -> list[Proposal]:
    """What a session teaches, the weightiest first; secrets are in none."""
    until = now() + SECONDS
    every: list[tuple[SaidTurn, Lesson]] = []
    for source in (_spoken(turns), fixes(turns), answers(turns)):
        for one in source:
            every.append(one)
            if now() > until:
                break
    every.sort(key=lambda pair: (-pair[1].weight, pair[0].seq))
    proposals = [_proposal(turn, lesson, session, branch) for turn, lesson in every]
    return [one for one in proposals if is_clean(one)]


def fresh(
    found: Iterable[Proposal], known: Collection[str], is_stored: Callable[[str], bool], room: int
) -> list[Proposal]:
    """Those that say something that is neither known nor stored, at most so many, in the order of their turns."""
    texts = list(known)
    chosen: list[Proposal] = []
    for one in found:
        if len(chosen) >= room:
            break
        if not any(says_the_same(one.text, text) for text in texts) and not is_stored(one.text):
            chosen.append(one)
            texts.append(one.text)
    return sorted(chosen, key=lambda one: one.turn)


def says_the_same(one: str, other: str) -> bool:
    """Whether two sentences say nearly the same, and not the contrary.

    >>> says_the_same("Always run make lint.", "always run `make lint`"), says_the_same("Use npm.", "Use pnpm.")
    (True, False)
    """
    from rapidfuzz import fuzz

    mine, theirs = plain_text(one), plain_text(other)
    if mine == theirs:
        return True
    some, others = _stems(mine), _stems(theirs)
    if fuzz.ratio(mine, theirs) / 100 < LIKE or len(some ^ others) > OTHER_WORDS * len(some | others):
        return False
    return not first_conflict(statements(one), statements(other))


def _stems(text: str) -> set[str]:
    return {stem(word) for word in _WORD.findall(text)}


def _spoken(turns: Sequence[SaidTurn]) -> Iterator[tuple[SaidTurn, Lesson]]:
    """What the user said."""
    has_answered = False
    for turn in turns:
        if not turn.is_users:
            has_answered = has_answered or turn.role != "system"
            continue
        corrects = False
        for place, sentence in enumerate(sentences(turn.text)):
            corrects = has_answered and ((place == 0 and begins_correction(sentence)) or (corrects and place < 3))
            lesson = lesson_in(sentence, corrects=corrects)
            if lesson is not None:
                is_corrected = corrects and lesson.kind == "rule"
                yield turn, replace(lesson, kind="correction") if is_corrected else lesson


def _proposal(turn: SaidTurn, lesson: Lesson, session: str, branch: str) -> Proposal:
    named = _FILE.search(lesson.text) if lesson.kind != "fix" else None
    file = named.group() if named is not None and "://" not in lesson.text else ""
    scope = "file" if file else lesson.scope if lesson.scope != "file" else "project"
    quote = _quote(" ".join(turn.text.split()), lesson.text)
    return Proposal(lesson.text, lesson.kind, scope, quote, session, turn.seq, turn.at, file=file, branch=branch)


def _quote(said: str, sentence: str) -> str:
    """What was said around the sentence; of what was said beside a secret, the sentence alone."""
    place = said.find(sentence[1:-1][:40])
    start = max(0, place - 40)
    around = said[start : start + LONGEST_QUOTE]
    if _has_secret(around) and sentence[1:-1] in said:
        return sentence[:LONGEST_QUOTE]
    return around


def is_clean(one: Proposal) -> bool:
    """Whether neither the sentence nor its quotation holds a secret, or a place where one was."""
    return not _has_secret(one.text) and not _has_secret(one.quote)


def _has_secret(text: str) -> bool:
    return _REDACTED in text or bool(find_secrets(text))
