"""Merges two texts about the same thing: the result has every statement of both, and none twice.

Statements count as the same if they differ only in case, punctuation, articles or a typing error. If one of two similar
statements says all that the other says, it is kept alone. If they differ in a number, a name or any other word, both
are kept, because both may be facts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ricordo.text.words import fold
from ricordo.values.items import Fields

_SENTENCE = re.compile(r"(?<=[.!?…])[\"'”’)\]*_]*\s+(?![a-z])|(?<=[。！？])\s*")
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_MARKER = re.compile(r"^\s*(?:[-*+]|\d{1,3}[.)])\s+")
_HARMLESS = frozenset({"a", "an", "the", "that", "also", "just"})
_TURNING = frozenset(
    (
        "no", "not", "never", "nor", "none", "neither", "without", "unless", "except", "but", "only", "if", "hardly",
        "rarely", "nicht", "kein", "nie", "ohne", "pas", "ne", "sans", "jamais", "sin", "nunca", "non", "senza", "mai",
    )
)  # fmt: skip
"""Words that change the meaning of a statement."""
_TELLING_LENGTH = 4
"""In statements with fewer words, every word counts."""
_SLIP_LENGTH = 6
"""Shorter words that differ in one letter are mostly different words, not typing errors."""


def merged_text(old: str, new: str) -> str:
    """The old text, followed by what only the new one says; the old text alone if there is nothing new.

    >>> merged_text("Keys rotate quarterly.", "The keys rotate quarterly. Ask Ada.")
    'Keys rotate quarterly. Ask Ada.'
    """
    known = [(statement, _words(statement)) for line in _lines(old) for statement in _statements(line)]
    added: list[str] = []
    for line in _lines(new):
        fresh = []
        for statement in _statements(line):
            words = _words(statement)
            if not words or any(_same(words, other) or _says_all(other, words) for _, other in known):
                continue
            lesser = next((before for before, other in known if _says_all(words, other)), None)
            known.append((statement, words))
            if lesser is not None:
                old = old.replace(lesser, statement.strip(), 1)
            else:
                fresh.append(statement.strip())
        marker = _MARKER.match(line)
        if fresh:
            added.append((marker.group() if marker else "") + " ".join(fresh))
    if not added:
        return old
    is_prose = "\n" not in old.strip() and len(added) == 1 and re.search(r"[.!?…。！？]\W*$", old) is not None
    end = "\n" if old.endswith("\n") else ""
    return old.rstrip() + (" " if is_prose else "\n") + "\n".join(added) + end


def holds_all(text: str, other: str) -> bool:
    """Whether this text contains every statement of another."""
    known = [_words(statement) for line in _lines(text) for statement in _statements(line)]
    asked = [_words(statement) for line in _lines(other) for statement in _statements(line)]
    return all(any(_same(words, one) for one in known) for words in asked)


def _lines(text: str) -> Iterator[str]:
    """The lines that are not empty; a fenced block counts as one line."""
    fence: list[str] = []
    for line in text.splitlines():
        is_mark = line.lstrip().startswith(("```", "~~~"))
        if fence:
            fence.append(line)
            if is_mark:
                yield "\n".join(fence)
                fence = []
        elif is_mark:
            fence = [line]
        elif line.strip():
            yield line
    if fence:
        yield "\n".join(fence)


def _statements(line: str) -> list[str]:
    if "\n" in line:
        return [line]
    return [part for part in _SENTENCE.split(_MARKER.sub("", line)) if part.strip()]


def _words(statement: str) -> list[str]:
    if "\n" in statement:
        return [" ".join(statement.split())]
    words = [word for word in _WORD.findall(statement) if word == "A" or word.casefold() not in _HARMLESS]
    return words or statement.split()


def _same(one: list[str], other: list[str]) -> bool:
    return len(one) == len(other) and all(fold(a) == fold(b) or _is_slip(a, b) for a, b in zip(one, other, strict=True))


def _says_all(more: list[str], less: list[str]) -> bool:
    """Whether a statement has every word of a shorter one in order, and few others that do not change its meaning."""
    if len(less) < _TELLING_LENGTH or not 0 < len(more) - len(less) <= max(1, len(more) // 5):
        return False
    rest = iter(enumerate(map(fold, more)))
    places = set()
    for word in map(fold, less):
        at = next((place for place, other in rest if other == word), None)
        if at is None:
            return False
        places.add(at)
    extra = {fold(word) for place, word in enumerate(more) if place not in places}
    return extra.isdisjoint(_TURNING) and not any(word.endswith(("n't", "n’t")) for word in extra)


def _is_slip(one: str, other: str) -> bool:
    """Whether two words differ only by a typing error; names and numbers never do."""
    if min(len(one), len(other)) < _SLIP_LENGTH or not all(word.isalpha() and word.islower() for word in (one, other)):
        return False
    from rapidfuzz.distance import OSA

    return OSA.distance(one, other, score_cutoff=1) <= 1


def merged_fields(old: Fields, new: Mapping[str, Any], origin: Mapping[str, Any]) -> Fields:
    """The old item's fields with those of the new text: all tags, the higher importance, and values for empty fields.

    ``origin`` is added to ``merged_from`` in the metadata: where the new text came from.
    """
    changes: dict[str, Any] = {
        name: value
        for name, value in new.items()
        if name not in ("tags", "importance", "metadata", "source", "immutable") and not getattr(old, name)
    }
    changes["tags"] = tuple(dict.fromkeys((*old.tags, *new.get("tags", ()))))
    changes["importance"] = max(old.importance or 0, new.get("importance") or 0) or None
    merged_from = [*old.metadata.get("merged_from", ()), dict(origin)]
    changes["metadata"] = {**dict(new.get("metadata") or {}), **old.metadata, "merged_from": merged_from}
    return old.with_changes(changes)
