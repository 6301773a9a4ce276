"""Which acts a prompt asks for, and which memories rule them: "install lodash" is ruled by "we use pnpm".

A rule seldom shares words with the prompt that it applies to, and says something else, so neither words nor meaning
find it. ``acts.toml`` names acts, with the words that ask for each and the words of rules about it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from ricordo.frozen import frozen
from ricordo.text.words import fold

LONGEST_PROMPT = 80
"""Of a prompt with more words, the first half of these and the last are looked at: the rest is what is worked on."""
LONGEST_RULE = 60
"""A text with more words is no rule."""
MOST_BETWEEN = 2
"""How many words may stand between two words of a phrase."""
_WORD = re.compile(r"\w+")
_ASKS_TO_KNOW = re.compile(
    r"\W*(?:what|who|whose|whom|which|where|when|why|how (?!do (?:i|we)\b|can\b|should\b))", re.IGNORECASE
)
"""How a question begins that asks for no act; "can we use npm?" does."""


@frozen
class Act:
    """The phrases that ask for an act, and those of rules about it, as stems."""

    name: str
    asked: tuple[tuple[str, ...], ...]
    ruled: tuple[tuple[str, ...], ...]


def asked_for(prompt: str) -> tuple[Act, ...]:
    """The acts that a prompt asks for.

    >>> [act.name for act in asked_for("Commit the change and push it")], asked_for("thanks, that works")
    (['commit'], ())
    """
    if _ASKS_TO_KNOW.match(prompt):
        return ()
    words = _stems(prompt)
    if len(words) > LONGEST_PROMPT:
        words = (*words[: LONGEST_PROMPT // 2], *words[-LONGEST_PROMPT // 2 :])
    return tuple(act for act in _acts() if any(_has(words, phrase) for phrase in act.asked))


def ruling_words(acts: Sequence[Act]) -> str:
    """The words of rules about some acts, to search for them."""
    return " ".join(dict.fromkeys(word for act in acts for phrase in act.ruled for word in phrase if len(word) > 1))


def ruled_acts(text: str, acts: Sequence[Act]) -> int:
    """About how many of the acts a text is a rule; none if it is too long for one.

    >>> ruled_acts("We use pnpm here, never npm.", asked_for("install lodash"))
    1
    """
    words = _stems(text)
    if len(words) > LONGEST_RULE:
        return 0
    return sum(any(_has(words, phrase) for phrase in act.ruled) for act in acts)


def _has(words: Sequence[str], phrase: Sequence[str]) -> bool:
    """Whether the words of a phrase stand in this order, near each other."""
    first, *rest = phrase
    return any(_follows(words, place, rest) for place, word in enumerate(words) if word == first)


def _follows(words: Sequence[str], place: int, rest: Sequence[str]) -> bool:
    for word in rest:
        near = words[place + 1 : place + 2 + MOST_BETWEEN]
        if word not in near:
            return False
        place += 1 + near.index(word)
    return True


def _stems(text: str) -> tuple[str, ...]:
    stem = _stemmer()
    return tuple(map(stem, _WORD.findall(fold(text))))


@cache
def _stemmer() -> Callable[[str], str]:
    from Stemmer import Stemmer

    stemmer: Callable[[str], str] = Stemmer("english").stemWord
    return stemmer


@cache
def _acts() -> tuple[Act, ...]:
    import tomllib

    tables = tomllib.loads(Path(__file__).with_name("acts.toml").read_text("utf-8"))
    return tuple(
        Act(name, *(tuple(map(_stems, table[side])) for side in ("asked", "ruled"))) for name, table in tables.items()
    )
