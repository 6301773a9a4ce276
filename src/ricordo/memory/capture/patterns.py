"""Says of a sentence that a user wrote whether it is worth keeping, and as what. The patterns are data."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ricordo.frozen import frozen

MOST_CHARACTERS = 4_000
"""Only so much of a message is looked at; the rest is mostly pasted."""
LONGEST = 45
"""How many words a sentence has at most that can stand for itself."""

_FENCE = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|<([a-z_-]{2,30})>.*?</\1>", re.DOTALL)
_CODE_LINE = re.compile(
    r"^(?:\t|\ {4,}\S)|^\s*(?:>|//|/\*|\*/|#include|\$\ |%\ |\|)|[;{}]\s*$|^\s*(?:Traceback|File \"|at \w+[.(])"
    r"|^\s*[\w.]+\([^)]*\)\s*$|^\s*(?:def|class|import|from\ \S+\ import|const|let|var|return|function)\b.*[:;({=]"
    r"|\s=\s.*[\[({\"']"
)
_BULLET = re.compile(r"^\s*(?:[-*+•]|\d{1,2}[.)])\s+|^\s*#{1,6}\s+|[*_]{2,}")
_ENDS = re.compile(r"(?<=[.!?…])[\"”’)]?\s+(?=[\"“‘(]?[A-ZÄÖÜÀÂÇÉÈÊÎÔÛÁÍÓÚÑ¿¡a-z`'])|\n+|(?<=[a-z0-9)])\s*;\s+")
_ABBREVIATIONS = re.compile(r"\b(?:e\.g|i\.e|etc|vs|cf|approx|ca|z\.B|d\.h|p\.ex|resp)\.$", re.IGNORECASE)
_QUOTED = re.compile(
    r"\"[^\"\n]{2,}\"|“[^”\n]{2,}”|«[^»\n]{2,}»|„[^“”\n]{2,}[“”]|(?<![\w])'[^'\n]{2,}'(?![\w])|`[^`\n]+`"
)
HIDDEN = "·"
"""Stands for each character of a quotation, in which nothing is looked for."""


@frozen
class Sentence:
    """A sentence as it was written, and the same with its quotations hidden."""

    text: str
    bare: str

    @property
    def asks(self) -> bool:
        return self.text.rstrip(" \"”')").endswith("?")


def sentences(message: str) -> Iterator[Sentence]:
    """The sentences of a message that are neither code nor quoted lines.

    >>> [one.text for one in sentences("Use tabs. ```x = 1```\\n> never do that\\nIs it late?")]
    ['Use tabs.', 'Is it late?']
    """
    if message.startswith(("/", "! ", "[Request interrupted", "[image")):
        return
    text = _FENCE.sub("\n", message[:MOST_CHARACTERS])
    lines = [_BULLET.sub("", line) for line in text.splitlines() if not _CODE_LINE.search(line)]
    for text in _whole("\n".join(lines)):
        if text and len(text.split()) <= LONGEST * 2:
            yield Sentence(text, _QUOTED.sub(lambda found: HIDDEN * len(found.group()), text))


def _whole(text: str) -> Iterator[str]:
    """The parts of a text between the ends of sentences; an abbreviation is no end."""
    begun = ""
    for part in _ENDS.split(text):
        joined = f"{begun} {part.strip()}".strip()
        if _ABBREVIATIONS.search(joined):
            begun = joined
            continue
        begun = ""
        yield " ".join(joined.split())
    if begun:
        yield begun


_LOWER = re.compile(r"[a-zäöüßàâçéèêîôûáíóúñ]")
_LEAD = re.compile(
    r"^(?:(?:and|but|so|also|ok(?:ay)?|yes|yeah|great|thanks?(?: you)?|alright|hey|well|btw|please|bitte|por favor)"
    r"[,.!:]*\s+)+",
    re.IGNORECASE,
)
_REMEMBER = re.compile(
    r"^(?:please |bitte )?(?:remember|keep in mind|bear in mind|note|don'?t forget|do not forget|make a note"
    r"|for (?:future )?reference|merke? dir|denke? daran|vergiss nicht|beachte|souviens-toi"
    r"|rappelle-toi|retiens|recuerda|ten en cuenta)"
    r"(?:[:,]?\s+(?:that|que|this:?)\s+|:\s+|,\s+(?!dass\b)|\s+(?=(?:we|our|the|i|my|you|all|not|never|always)\b))",
    re.IGNORECASE,
)
_REASON = re.compile(r"\b(?:because|since|so that|due to|as it|weil|denn|parce que|car|porque|ya que)\b", re.IGNORECASE)
_OPEN_END = re.compile(r"(?:,?\s+(?:and|but|or|so|since|because|especially|which|then|now that))+$", re.IGNORECASE)
_POINTS_BACK = re.compile(r"\b(?:it|its|them|they|these|those|this (?:path|purpose|one|way|option))\b", re.IGNORECASE)
FEWEST_WORDS = 4
FEWEST_DECIDING = 7
"""How many words a decision has that is clear without its reason."""


@frozen
class Lesson:
    """A sentence that is worth proposing; of two that say it, the one with the higher weight is proposed."""

    text: str
    kind: str
    scope: str
    weight: float


@cache
def _table() -> Mapping[str, Any]:
    import tomllib

    return tomllib.loads(Path(__file__).with_name("patterns.toml").read_text("utf-8"))


@cache
def _pattern(kind: str) -> re.Pattern[str]:
    """All languages of a kind in one: messages mix them."""
    start = _table()["start"]
    languages = [text.replace("START", start) for name, text in _table()[kind].items() if name != "lead"]
    return re.compile("|".join(f"(?:{one})" for one in languages), re.VERBOSE | re.IGNORECASE)


@cache
def _words(name: str, group: str = "words") -> re.Pattern[str]:
    return re.compile(_table()[group][name], re.VERBOSE | re.IGNORECASE)


def lesson_in(sentence: Sentence, *, corrects: bool) -> Lesson | None:
    """What a sentence teaches; ``corrects`` says whether it, or the one before, begins by contradicting the agent.

    >>> from ricordo.memory.capture.patterns import sentences
    >>> [lesson_in(one, corrects=False).text for one in sentences("Please always run make lint first.")]
    ['Always run make lint first.']
    >>> [lesson_in(one, corrects=False) for one in sentences("If you always run it, is it slow?")]
    [None]
    """
    for text, bare in _clauses(sentence):
        if FEWEST_WORDS <= len(text.split()) <= LONGEST and not _words("passing").search(bare):
            lesson = _in_clause(text, bare)
            if lesson is None and corrects and _pattern("correction").search(bare):
                lesson = _lesson(text, "correction", 0.9) if not _words("symptom").search(bare) else None
            if lesson is not None:
                return lesson
    return None


def _in_clause(text: str, bare: str) -> Lesson | None:
    for kind, weight in (("rule", 1.0), ("decision", 0.7), ("preference", 0.6)):
        found = _pattern(kind).search(bare)
        if found is None or _words("hypothetical").search(bare[: found.start()]) or HIDDEN * 3 in found.group()[:12]:
            continue
        if kind != "rule":  # it may stand in the middle of a sentence
            text = text[found.start() :]
        reason = 0.2 if _REASON.search(text) else 0.0
        if kind == "decision" and not _stands_alone(text):
            return None
        return _lesson(text, "rule" if kind == "preference" else kind, weight + reason)
    return None


def _stands_alone(decision: str) -> bool:
    """Whether a decision is clear without what was said before: it says enough, and not "it" or "them"."""
    reason = _REASON.search(decision)
    decided = decision[: reason.start()] if reason is not None else decision
    return not _POINTS_BACK.search(decided) and (reason is not None or len(decision.split()) >= FEWEST_DECIDING)


def begins_correction(sentence: Sentence) -> bool:
    """Whether a sentence begins by contradicting."""
    return _words("lead", "correction").match(f"{sentence.bare.rstrip('.!')}, ") is not None


def _clauses(sentence: Sentence) -> Iterator[tuple[str, str]]:
    """A sentence without its lead-in ("No, ", "Please "), cut where a request or doubt begins; not what asks."""
    text, bare = sentence.text, sentence.bare
    for pattern in (_words("lead", "correction"), _LEAD):
        found = pattern.match(bare)
        if found is not None:
            text, bare = text[found.end() :], bare[found.end() :]
    cuts = [found.span() for found in _words("turn").finditer(bare) if found.start() > 0]
    starts = [0, *(end for _, end in cuts)]
    ends = [*(start for start, _ in cuts), len(bare)]
    for start, end in zip(starts, ends, strict=True):
        is_last = end == len(bare)
        if not (is_last and sentence.asks) and not _words("asks").match(bare[start:end]):
            yield text[start:end].strip(), bare[start:end].strip()


def _lesson(text: str, kind: str, weight: float) -> Lesson | None:
    """The lesson as a sentence of its own."""
    remembered = _REMEMBER.match(text)
    if remembered is not None:
        text, weight = text[remembered.end() :], weight + 0.5
    text = _OPEN_END.sub("", text.strip(" ,;:–—-").rstrip(".! "))
    if len(text.split()) < FEWEST_WORDS or not _LOWER.search(text):
        return None
    scope = "user" if _words("about_user").search(text) else "project"
    return Lesson(f"{text[0].upper()}{text[1:]}.", kind, scope, weight)
