"""Finds out whether the same text is stored, or nearly the same: it picks candidates by rare words and by meaning, and
compares whole texts. Plugins may say of the candidates that the text contradicts them.

Only live items of the same kind count. Nothing is written here; the caller decides what to do about a duplicate.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ricordo.plugin import ask
from ricordo.store.base import Store
from ricordo.store.query import Ask, AskedWord, Passages, QueryVector, Shown
from ricordo.store.values import PreparedItem
from ricordo.text.alike import NEAR, plain_text, ratio
from ricordo.text.words import fold
from ricordo.values.hits import Filters
from ricordo.values.items import Duplicate, Fields, Item

if TYPE_CHECKING:
    from ricordo.models.base import Vectors

_SENTENCE = re.compile(r"(?<=[.!?…])[\"'”’)\]*_]*\s+(?![a-z])|(?<=[。！？])\s*")
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_MARKER = re.compile(r"^\s*(?:[-*+]|\d{1,3}[.)])\s+")
_FILLERS = frozenset({"a", "an", "the", "that", "also", "just"})
_QUALIFIERS = frozenset(
    (
        "no", "not", "never", "nor", "none", "neither", "without", "unless", "except", "but", "only", "if", "hardly",
        "rarely", "nicht", "kein", "nie", "ohne", "pas", "ne", "sans", "jamais", "sin", "nunca", "non", "senza", "mai",
    )
)  # fmt: skip
"""Words that change the meaning of a statement."""
_SHORTEST = 4
"""In statements with fewer words, every word counts."""
_SLIP_LENGTH = 6
"""Shorter words that differ in one letter are mostly different words, not typing errors."""


def merged_text(old: str, new: str) -> str:
    """The old text, followed by what only the new one says; the old text alone if there is nothing new.

    >>> merged_text("Keys rotate quarterly.", "The keys rotate quarterly. Ask Ada.")
    'Keys rotate quarterly. Ask Ada.'
    """
    existing = [(statement, _words(statement)) for line in _lines(old) for statement in _statements(line)]
    added: list[str] = []
    for line in _lines(new):
        fresh = []
        for statement in _statements(line):
            words = _words(statement)
            if not words or any(_same(words, other) or _says_all(other, words) for _, other in existing):
                continue
            lesser = next((before for before, other in existing if _says_all(words, other)), None)
            existing.append((statement, words))
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
    pairs = zip(words, other, strict=True)
    return len(words) == len(other) and all(fold(a) == fold(b) or _is_slip(a, b) for a, b in pairs)


def _says_all(more: list[str], less: list[str]) -> bool:
    """Whether a statement has every word of a shorter one in order, and few others that do not change its meaning."""
    if len(less) < _SHORTEST or not 0 < len(more) - len(less) <= max(1, len(more) // 5):
        return False
    rest = iter(enumerate(map(fold, more)))
    places = set()
    for word in map(fold, less):
        at = next((place for place, other in rest if other == word), None)
        if at is None:
            return False
        places.add(at)
    extra = {fold(word) for place, word in enumerate(more) if place not in places}
    return extra.isdisjoint(_QUALIFIERS) and not any(word.endswith(("n't", "n’t")) for word in extra)


def _is_slip(word: str, other: str) -> bool:
    """Whether two words differ only by a typing error; names and numbers never do."""
    is_plain = all(part.isalpha() and part.islower() for part in (word, other))
    if min(len(word), len(other)) < _SLIP_LENGTH or not is_plain:
        return False
    from rapidfuzz.distance import OSA

    return OSA.distance(word, other, score_cutoff=1) <= 1


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
"""How many candidates by words, and how many by meaning, are compared."""

RELATED = 0.4
"""Of texts whose meanings are at least as near as this, it is looked whether they say the contrary."""

CLAIMING = ("memory",)
"""Kinds of items that claim something; what differs in two entries of a log is no contradiction."""

MOST_SHOWN = 5
_RARE_TERMS = 16
_MOST_TERMS = 400
_MOST_CHARACTERS = 20_000
"""Of longer texts only the beginnings are compared, because the time grows with the square of the length."""
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
        cosines = self._by_meaning(item, vector) if vector is not None else {}
        numbers = dict.fromkeys((*alike, *cosines))
        # The first passage of a memory is nearly always all of it.
        passages = self.store.index.passages([Shown(n) for n in numbers]) if numbers else Passages()
        # A passage is not the text: the cosine of an item of several passages says nothing about the whole.
        cosines = {n: cosine for n, cosine in cosines.items() if [part.of for part in passages.texts[n]] == [1]}
        answers = ask("contradicted", item, passages) if passages.items else []
        against = {n: why for reasons in answers for n, why in reasons.items()}
        text = plain_text(item.draft.content)[:_MOST_CHARACTERS]
        duplicates = []
        for n in passages.items:
            cosine = cosines.get(n)
            if n not in alike and n not in against and (cosine or 0.0) < NEAR:
                continue
            other = self._item(n)
            if other.ref == item.draft.ref or other.state != "live":
                continue
            letters = ratio(text, plain_text(other.content)[:_MOST_CHARACTERS])
            if n in against or max(letters, cosine or 0.0) >= NEAR:
                line = " ".join(other.content.split())
                snippet = line if len(line) <= _SNIPPET else line[: _SNIPPET - 1].rstrip() + "…"
                why = against.get(n, "")
                duplicates.append(
                    Duplicate(str(other.ref), other.title, letters, cosine, snippet=snippet, contradiction=why)
                )
        duplicates.sort(key=lambda same: (not same.contradiction, -max(same.ratio, same.cosine or 0.0), same.ref))
        return tuple(duplicates[:MOST_SHOWN])

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
        lowest = RELATED if item.draft.kind in CLAIMING else NEAR
        candidates = self.store.index.candidates(question).found
        pairs = zip(candidates.numbers, candidates.cosines.tolist(), strict=True)
        return {n: min(1.0, cosine) for n, cosine in pairs if cosine >= lowest}
