"""Finds out whether the same text is stored, or nearly the same: it picks candidates by rare words and by meaning, and
compares them (``compare``).

Only live items of the same kind count. Nothing is written here; the caller decides what to do about a duplicate.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from ricordo.memory.compare import (
    FAR,
    PARALLEL,
    RELATED,
    SAME,
    Likeness,
    compare,
    compare_closely,
    joined,
    pairing,
)
from ricordo.store.base import Store
from ricordo.store.query import Ask, AskedWord, QueryVector, Shown
from ricordo.store.values import MadeVector, PreparedItem
from ricordo.text.alike import plain_text
from ricordo.text.words import fold
from ricordo.values.hits import Filters
from ricordo.values.items import Duplicate, Fields, Item
from ricordo.values.times import parse_time

_SENTENCE = re.compile(r"(?<=[.!?…])[\"'”’)\]*_]*\s+(?![a-z])|(?<=[。！？])\s*")
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_MARKER = re.compile(r"^\s*(?:[-*+]|\d{1,3}[.)])\s+")
_FILLERS = frozenset({"a", "an", "the", "that", "also", "just"})


def merged_text(old: str, new: str) -> str:
    """The old text, followed by what only the new one says; the old text alone if there is nothing new.

    >>> merged_text("Keys rotate quarterly.", "The keys rotate quarterly. Ask Ada.")
    'Keys rotate quarterly. Ask Ada.'
    """
    existing = [statement for line in _lines(old) for statement in _statements(line)]
    added: list[str] = []
    for line in _lines(new):
        fresh = []
        for statement in _statements(line):
            if _words(statement) and not any(_says_the_same(before, statement) for before in existing):
                existing.append(statement)
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
    existing, wanted = (
        [_words(statement) for line in _lines(part) for statement in _statements(line)] for part in (text, other)
    )
    return all(any(_same(words, statement) for statement in existing) for words in wanted)


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
    words = [word for word in _WORD.findall(statement) if word == "A" or word.casefold() not in _FILLERS]
    return words or statement.split()


def _same(words: list[str], other: list[str]) -> bool:
    return [fold(word) for word in words] == [fold(word) for word in other]


def _says_the_same(one: str, other: str) -> bool:
    """Whether another statement says the same, and no more."""
    if _same(_words(one), _words(other)):
        return True
    if "\n" in one + other or compare(one, other).relation != SAME:
        return False
    return not pairing(joined(one), joined(other)).second


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


COMPARED = 12
"""How many candidates there are by words, and how many by meaning."""
MOST_COMPARED = 8
"""How many of them are compared at most, the nearest first."""

READ_FROM = (RELATED, 0.5)
"""How near in meaning the nearest of them must be, and the next, to be read together with the text."""

MERGED = 0.5
"""Texts are merged, and nearly the same of any kind, only if it is at least so likely that they say the same."""

OUR_MODEL = "local/"
"""How the fingerprint of the model in the package begins; cosines of other models are on other scales."""

CLAIMING = ("memory",)
"""Kinds of items that claim something; what differs in two entries of a log is no contradiction."""

MOST_SHOWN = 5
_RARE_TERMS = 16
_MOST_TERMS = 400
_SNIPPET = 160


class DuplicateFinder:
    """Looks for duplicates in one store."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._items: dict[int, Item] = {}
        """The items that were read since candidates were last looked for."""
        self._short: set[int] = set()
        """Those of them that are one passage, so that its vector is that of the whole text."""
        self._chunks: dict[int, int] = {}
        """A passage of each candidate."""

    def _read(self, numbers: Sequence[int]) -> Mapping[int, Item]:
        """Items with their texts; those that were not read yet are read together."""
        unread = [n for n in numbers if n not in self._items]
        if unread:
            entries = [Shown(n, (self._chunks[n],) if n in self._chunks else ()) for n in unread]
            found = self.store.index.passages(entries)
            for n, item in found.items.items():
                if len(parts := found.texts[n]) == 1 and parts[0].of == 1:
                    self._items[n] = replace(item, content=parts[0].text)
                    self._short.add(n)
            long = [n for n in found.items if n not in self._items]
            whole = self.store.index.together(*(partial(self.store.items.get, n) for n in long))
            self._items |= zip(long, whole, strict=True)
        return self._items

    def seen(self, duplicate: Duplicate) -> Item:
        """The item of a duplicate, as it was compared."""
        return self._items[self.number(duplicate)]

    def number(self, duplicate: Duplicate) -> int:
        return next(n for n, item in self._items.items() if str(item.ref) == duplicate.ref)

    def identical(self, item: PreparedItem, alike: Sequence[int]) -> Item | None:
        """A live item of the same kind that has the same text, or into which that text was merged, among those that are
        ``alike``. In another series, or at another place of one, the same text is another entry.
        """
        draft = item.draft
        wanted, place = plain_text(draft.content), (draft.fields.thread, draft.fields.seq)
        items = self._read(alike)
        for candidate in (items[n] for n in alike if n in items):
            if draft.kind == "entry" and place not in ((None, None), (candidate.fields.thread, candidate.fields.seq)):
                continue
            if plain_text(candidate.content) == wanted:
                return candidate
            if candidate.fields.metadata.get("merged_from") and holds_all(candidate.content, draft.content):
                return candidate
        return None

    def near(self, item: PreparedItem, alike: Sequence[int], vector: MadeVector | None = None) -> tuple[Duplicate, ...]:
        """Live items of the same kind that the text contradicts, then those that say nearly the same; ``vector`` is the
        text's.
        """
        duplicates = []
        for n, (found, cosine) in self.compared(item, alike, vector).items():
            if not found.is_near:
                continue
            other = self._items[n]
            line = " ".join(other.content.split())
            snippet = line if len(line) <= _SNIPPET else line[: _SNIPPET - 1].rstrip() + "…"
            duplicates.append(
                Duplicate(str(other.ref), other.title, found.same, cosine, snippet=snippet, contradiction=found.why)
            )
        duplicates.sort(key=lambda same: (not same.contradiction, -same.same, same.ref))
        return tuple(duplicates[:MOST_SHOWN])

    def compared(
        self, item: PreparedItem, alike: Sequence[int], vector: MadeVector | None = None
    ) -> dict[int, tuple[Likeness, float | None]]:
        """What a text is to the live items of the same kind that are nearest to it, and their cosines."""
        cosines = self._by_meaning(item, vector) if vector is not None else {}
        numbers = sorted({*alike, *cosines}, key=lambda n: -cosines.get(n, 0.0))
        items = self._read(numbers)
        found: dict[int, tuple[Likeness, float | None]] = {}
        is_ours = vector is not None and vector.fingerprint.startswith(OUR_MODEL)
        for n in filter(items.__contains__, numbers):
            other = items[n]
            if len(found) == MOST_COMPARED or other.ref == item.draft.ref or other.state != "live" or not other.content:
                continue
            # A passage is not the text: the cosine of an item of several passages says nothing about the whole.
            cosine = cosines.get(n) if is_ours and n in self._short else None
            least = READ_FROM[len(found)] if len(found) < len(READ_FROM) else math.inf
            comparison = compare_closely(other.content, item.draft.content, cosine, least)
            if comparison is not FAR:
                found[n] = self._as_claimed(item, other, comparison), cosine
        return found

    @staticmethod
    def _as_claimed(item: PreparedItem, other: Item, found: Likeness) -> Likeness:
        """The comparison, for two items of this kind: not all claim something, or something of one time."""
        draft = item.draft
        if draft.kind in CLAIMING and (found.relation == SAME or overlap(draft.fields, other.fields)):
            return found
        is_near = found.is_near and found.same >= MERGED
        return replace(found, relation=SAME if found.relation == SAME else PARALLEL, why="", is_near=is_near)

    def alike(self, text: str, kind: str) -> list[int]:
        """The live items of a kind that share the rarest words of a text."""
        for known in (self._items, self._short, self._chunks):
            known.clear()
        terms = list(self.store.analyzer.content_counts(text))[:_MOST_TERMS]
        question = Ask(
            words=tuple(map(AskedWord, terms)),
            rarest=_RARE_TERMS,
            filters=Filters(kinds=(kind,)),
            per_side=COMPARED,
        )
        if not terms:
            return []
        candidates = self.store.index.candidates(question).found
        self._chunks |= zip(candidates.numbers, candidates.lexical_chunks.tolist(), strict=True)
        return [n for _, n in sorted(zip((-candidates.lexical).tolist(), candidates.numbers, strict=True))[:COMPARED]]

    def _by_meaning(self, item: PreparedItem, vector: MadeVector) -> dict[int, float]:
        """The nearest items with their cosines. The new text has a vector only if it is of one passage."""
        filters = Filters(kinds=(item.draft.kind,))
        question = Ask(
            vector=QueryVector(vector.fingerprint, vector.values), by_word=False, filters=filters, per_side=COMPARED
        )
        candidates = self.store.index.candidates(question).found
        self._chunks |= zip(candidates.numbers, candidates.vector_chunks.tolist(), strict=True)
        pairs = zip(candidates.numbers, candidates.cosines.tolist(), strict=True)
        return {n: min(1.0, cosine) for n, cosine in pairs if cosine >= RELATED}


def overlap(fields: Fields, other: Fields) -> bool:
    """Whether there is a time at which both hold; a text without times holds from now on."""

    def moment(text: str | None, default: datetime) -> datetime:
        return parse_time(text) if text else default

    now, never = datetime.now(UTC), datetime.max.replace(tzinfo=UTC)
    begin = max(moment(fields.valid_from, now), moment(other.valid_from, now))
    return begin < min(moment(fields.valid_until, never), moment(other.valid_until, never))
