"""The words that are embedded in front of a passage: the item's title, heading, description and context.

A passage alone often does not say what it is about; the words in front of it do. The prefix takes at most
``PREFIX_TOKENS`` of the window, and never the room of the passage. Nothing here is shown to people or indexed by word.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache, partial
from math import ceil

from ricordo.ingest.cut.structure import CRUMB
from ricordo.models.base import TokenCounter

WINDOW_TOKENS = 254
"""Tokens that the shipped model reads, besides [CLS] and [SEP], which it adds."""
PREFIX_TOKENS = 48
_SEPARATOR_TOKENS = 3
PASSAGE_TOKENS = WINDOW_TOKENS - PREFIX_TOKENS - _SEPARATOR_TOKENS
"""Tokens that a passage may have so that any prefix fits beside it."""

_TITLE_SHARE = 0.5  # of the room, when not everything fits
_HEADING_SHARE = 0.35
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_UNDERSCORES = re.compile(r"(?<=\w)_+(?=\w)")
_UNIT = re.compile(r"\s*(?:[!-~]{1,24}|[^\s!-~]{1,2})")


class Estimate:
    """Counts tokens without a tokenizer: one token for every three bytes, which is more than prose needs."""

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [ceil(len(text.encode("utf-8", "surrogatepass")) / 3) for text in texts]


def prefix_room(passage: str, counter: TokenCounter | None) -> int:
    """Count the tokens that a passage leaves to its prefix: a memory may fill the window alone."""
    text = passage.strip()
    if len(text) <= PASSAGE_TOKENS and text.isascii():
        return PREFIX_TOKENS
    return max(0, min(PREFIX_TOKENS, WINDOW_TOKENS - _SEPARATOR_TOKENS - _counts([text], counter)[0]))


def humanised(title: str) -> str:
    """A title as words: ``ResearchHelper`` and ``research_helper`` read as what they mean.

    >>> humanised("parseHttpHeader and snake_case")
    'parse Http Header and snake case'
    """
    return _UNDERSCORES.sub(" ", _CAMEL.sub(" ", title))


def prefix_texts(
    title: str,
    description: str,
    context: str,
    headings: Sequence[str],
    *,
    counter: TokenCounter | None = None,
    room: int = PREFIX_TOKENS,
) -> list[str]:
    """The prefixes of an item's passages, one per heading, of ``room`` tokens at most, in few calls to the counter.

    >>> prefix_texts("Guide", "How to start", "", ["Guide › Install"])
    ['Guide\\nInstall\\nHow to start']
    """
    distinct = list(dict.fromkeys(headings))
    title, description, context = (" ".join(part.split()) for part in (humanised(title), description, context))
    wholes = {heading: [title, _below(heading, title), description, context] for heading in distinct}
    prefixes = {heading: _joined(parts) for heading, parts in wholes.items()}
    over = _too_long(prefixes, counter, room)
    first_words = cache(partial(_first_words, counter))  # many passages share a title and a description
    for heading in over:
        prefixes[heading] = _joined(_shortened(wholes[heading], counter, room, first_words))
    # With some tokenizers the counts of parts do not add up to the count of the whole: count again and cut the end.
    while over := _too_long({heading: prefixes[heading] for heading in over}, counter, room):
        for heading in over:
            prefixes[heading] = prefixes[heading][: int(len(prefixes[heading]) * 0.8)].rstrip()
    return [prefixes[heading] for heading in headings]


def _below(heading: str, title: str) -> str:
    """The breadcrumb without the title it would repeat."""
    first, _, rest = heading.partition(CRUMB)
    return rest if first.casefold() == title.casefold() else heading


def _joined(parts: Sequence[str]) -> str:
    return "\n".join(part for part in parts if part)


def _counts(texts: Sequence[str], counter: TokenCounter | None) -> list[int]:
    return (counter or Estimate()).count_tokens(texts)


def _too_long(prefixes: dict[str, str], counter: TokenCounter | None, room: int) -> list[str]:
    uncertain = [heading for heading, text in prefixes.items() if text and not (len(text) <= room and text.isascii())]
    if not uncertain:
        return []
    counts = _counts([prefixes[heading] for heading in uncertain], counter)
    return [heading for heading, tokens in zip(uncertain, counts, strict=True) if tokens > room]


def _shortened(
    parts: Sequence[str],
    counter: TokenCounter | None,
    room: int,
    first_words: Callable[[str, int], tuple[str, int]],
) -> list[str]:
    """The parts cut to share the room: the title first, then the nearest headings, then the rest in order."""
    title, heading, description, context = parts
    title, used = first_words(title, int(room * _TITLE_SHARE) if heading or description else room)
    room -= used
    names = heading.split(CRUMB)
    while len(names) > 1 and sum(_counts([CRUMB.join(names)], counter)) > room * 2 * _HEADING_SHARE:
        names.pop(0)
    heading, used = first_words(CRUMB.join(names), int(room * 2 * _HEADING_SHARE))
    room -= used
    description, used = first_words(description, room)
    context, _ = first_words(context, room - used)
    return [title, heading, description, context]


def _first_words(counter: TokenCounter | None, text: str, room: int) -> tuple[str, int]:
    """As many words from the start as fit, and the tokens they take."""
    units = _UNIT.findall(text[: 24 * max(room, 0)])
    if not units:
        return "", 0
    used, words = 0, []
    for unit, tokens in zip(units, _counts([unit.strip() for unit in units], counter), strict=True):
        if used + tokens > room:
            break
        used += tokens
        words.append(unit)
    return "".join(words).strip(), used
