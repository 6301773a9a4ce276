"""Finds out whether the same or nearly the same text is stored: it picks candidates by rare words and by meaning, and
compares whole texts.

Only live items of the same kind count. Nothing is written here; the caller decides what to do about a duplicate.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ricordo.memory.merging import holds_all
from ricordo.store.asking import Ask, AskedWord, QueryVector, Shown
from ricordo.store.base import Store
from ricordo.store.values import PreparedItem
from ricordo.values.hits import Filters
from ricordo.values.items import Duplicate, Item

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

NEAR = 0.9
"""Texts at least as alike as this, by words or by meaning, are near duplicates: a person or agent must decide."""

COMPARED = 12
"""How many candidates by words, and how many by meaning, are compared."""

MOST_SHOWN = 5
_RARE_TERMS = 16
_MOST_TERMS = 400
_MOST_CHARACTERS = 20_000
"""Of longer texts only the beginnings are compared, because the time grows with the square of the length."""
_SNIPPET = 160


def plain_text(text: str) -> str:
    """The text in the form in which it is compared: Unicode, case and white space make no difference."""
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())


class DuplicateFinder:
    """Looks for duplicates in one store."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def identical(self, item: PreparedItem, alike: Sequence[int]) -> Item | None:
        """A live item of the same kind that has the same text, or into which that text was merged."""
        draft = item.draft
        wanted = plain_text(draft.content)
        for n in (*self.store.items.same_text(item.text_hash, draft.kind), *alike):
            found = self.store.items.get(n)
            if plain_text(found.content) == wanted:
                return found
            if found.fields.metadata.get("merged_from") and holds_all(found.content, draft.content):
                return found
        return None

    def near(
        self, item: PreparedItem, alike: Sequence[int], vector: tuple[str, Array] | None = None
    ) -> tuple[Duplicate, ...]:
        """Live items of the same kind that say nearly the same; ``vector`` is the text's, with its fingerprint."""
        cosines = self._by_meaning(item, vector) if vector is not None else {}
        numbers = dict.fromkeys((*alike, *cosines))
        text = plain_text(item.draft.content)[:_MOST_CHARACTERS]
        found = []
        for n in numbers:
            other = self.store.items.get(n)
            if other.ref == item.draft.ref or other.state != "live":
                continue
            ratio = _ratio(text, plain_text(other.content)[:_MOST_CHARACTERS])
            cosine = cosines.get(n)
            if max(ratio, cosine or 0.0) >= NEAR:
                found.append(Duplicate(str(other.ref), other.title, ratio, cosine, _snippet(other.content)))
        found.sort(key=lambda one: (-max(one.ratio, one.cosine or 0.0), one.ref))
        return tuple(found[:MOST_SHOWN])

    def alike(self, item: PreparedItem) -> list[int]:
        """The live items of the same kind that share the rarest words of a text."""
        terms = list(self.store.analyzer.content_counts(item.draft.content))[:_MOST_TERMS]
        ask = Ask(
            words=tuple(map(AskedWord, terms)),
            rarest=_RARE_TERMS,
            filters=Filters(kinds=(item.draft.kind,)),
            per_side=COMPARED,
        )
        found = self.store.index.candidates(ask).found if terms else ()
        return [one.n for one in sorted(found, key=lambda one: (-one.lexical, one.n))[:COMPARED]]

    def _by_meaning(self, item: PreparedItem, vector: tuple[str, Array]) -> dict[int, float]:
        """The nearest items with their cosines. Only items of one passage count, because a passage is not the text.

        The new text has a vector only if it is of one passage, too.
        """
        filters = Filters(kinds=(item.draft.kind,))
        ask = Ask(vector=QueryVector(*vector), by_word=False, filters=filters, per_side=COMPARED)
        near = {one.n: one.cosine for one in self.store.index.candidates(ask).found if one.cosine >= NEAR}
        texts = self.store.index.passages([Shown(n) for n in near]).texts if near else {}
        return {n: min(1.0, cosine) for n, cosine in near.items() if [part.of for part in texts[n]] == [1]}


def _ratio(one: str, other: str) -> float:
    from rapidfuzz import fuzz

    return float(fuzz.ratio(one, other)) / 100.0


def _snippet(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SNIPPET else line[: _SNIPPET - 1].rstrip() + "…"
