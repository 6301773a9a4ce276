"""Finds out whether the same text is stored, or nearly the same: it picks candidates by rare words and by meaning, and
compares them (``compare``).

Only live items of the same kind count. Nothing is written here; the caller decides what to do about a duplicate.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ricordo.memory.compare import (
    FAR,
    PARALLEL,
    RELATED,
    SAME,
    Likeness,
    compare,
    joined,
    pairing,
)
from ricordo.store.base import Store
from ricordo.store.query import Ask, AskedWord, Passages, QueryVector, Shown
from ricordo.store.values import PreparedItem
from ricordo.text.alike import plain_text
from ricordo.text.words import fold
from ricordo.values.hits import Filters
from ricordo.values.items import Duplicate, Fields, Item
from ricordo.values.times import parse_time

if TYPE_CHECKING:
    from ricordo.models.base import Vectors

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

    def _item(self, n: int) -> Item:
        if n not in self._items:
            self._items[n] = self.store.items.get(n)
        return self._items[n]

    def identical(self, item: PreparedItem, alike: Sequence[int]) -> Item | None:
        """A live item of the same kind that has the same text, or into which that text was merged. In another series,
        or at another place of one, the same text is another entry.
        """
        draft = item.draft
        wanted, place = plain_text(draft.content), (draft.fields.thread, draft.fields.seq)
        for n in (*self.store.items.same_text(item.text_hash, draft.kind), *alike):
            candidate = self._item(n)
            if draft.kind == "entry" and place not in ((None, None), (candidate.fields.thread, candidate.fields.seq)):
                continue
            if plain_text(candidate.content) == wanted:
                return candidate
            if candidate.fields.metadata.get("merged_from") and holds_all(candidate.content, draft.content):
                return candidate
        return None

    def near(
        self, item: PreparedItem, alike: Sequence[int], vector: tuple[str, Vectors] | None = None
    ) -> tuple[Duplicate, ...]:
        """Live items of the same kind that the text contradicts, then those that say nearly the same; ``vector`` is the
        text's, with its fingerprint.
        """
        duplicates = []
        for n, (found, cosine) in self.compared(item, alike, vector).items():
            if not found.is_near:
                continue
            other = self._item(n)
            line = " ".join(other.content.split())
            snippet = line if len(line) <= _SNIPPET else line[: _SNIPPET - 1].rstrip() + "…"
            duplicates.append(
                Duplicate(str(other.ref), other.title, found.same, cosine, snippet=snippet, contradiction=found.why)
            )
        duplicates.sort(key=lambda same: (not same.contradiction, -same.same, same.ref))
        return tuple(duplicates[:MOST_SHOWN])

    def compared(
        self, item: PreparedItem, alike: Sequence[int], vector: tuple[str, Vectors] | None = None
    ) -> dict[int, tuple[Likeness, float | None]]:
        """What a text is to the live items of the same kind that are nearest to it, and their cosines."""
        cosines = self._by_meaning(item, vector) if vector is not None else {}
        numbers = sorted({*alike, *cosines}, key=lambda n: -cosines.get(n, 0.0))
        # The first passage of a memory is nearly always all of it.
        passages = self.store.index.passages([Shown(n) for n in numbers]) if numbers else Passages()
        found: dict[int, tuple[Likeness, float | None]] = {}
        is_ours = vector is not None and vector[0].startswith(OUR_MODEL)
        for n in filter(passages.items.__contains__, numbers):
            other, parts = passages.items[n], passages.texts[n]
            if len(found) == MOST_COMPARED or other.ref == item.draft.ref or other.state != "live" or not parts:
                continue
            # A passage is not the text: the cosine of an item of several passages says nothing about the whole.
            cosine = cosines.get(n) if is_ours and parts[0].of == 1 else None
            if cosine is None and parts[0].of > 1:
                comparison = compare(self._item(n).content, item.draft.content)
            else:
                comparison = compare(parts[0].text, item.draft.content, cosine)
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

    def alike(self, item: PreparedItem) -> list[int]:
        """The live items of the same kind that share the rarest words of a text."""
        self._items.clear()
        terms = list(self.store.analyzer.content_counts(item.draft.content))[:_MOST_TERMS]
        question = Ask(
            words=tuple(map(AskedWord, terms)),
            rarest=_RARE_TERMS,
            filters=Filters(kinds=(item.draft.kind,)),
            per_side=COMPARED,
        )
        if not terms:
            return []
        candidates = self.store.index.candidates(question).found
        return [n for _, n in sorted(zip((-candidates.lexical).tolist(), candidates.numbers, strict=True))[:COMPARED]]

    def _by_meaning(self, item: PreparedItem, vector: tuple[str, Vectors]) -> dict[int, float]:
        """The nearest items with their cosines. The new text has a vector only if it is of one passage."""
        filters = Filters(kinds=(item.draft.kind,))
        question = Ask(vector=QueryVector(*vector), by_word=False, filters=filters, per_side=COMPARED)
        candidates = self.store.index.candidates(question).found
        pairs = zip(candidates.numbers, candidates.cosines.tolist(), strict=True)
        return {n: min(1.0, cosine) for n, cosine in pairs if cosine >= RELATED}


def overlap(fields: Fields, other: Fields) -> bool:
    """Whether there is a time at which both hold; a text without times holds from now on."""

    def moment(text: str | None, default: datetime) -> datetime:
        return parse_time(text) if text else default

    now, never = datetime.now(UTC), datetime.max.replace(tzinfo=UTC)
    begin = max(moment(fields.valid_from, now), moment(other.valid_from, now))
    return begin < min(moment(fields.valid_until, never), moment(other.valid_until, never))
