"""What a ranking needs to know of the pool besides scores, as parts of the answer of one statement."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ricordo.frozen import frozen
from ricordo.store.asking import Ask
from ricordo.store.index.matching import KeywordSide
from ricordo.store.postgres import asking_sql as sql
from ricordo.store.postgres import linked, packed
from ricordo.store.sql.arrays import Array
from ricordo.store.sql.jobs import STRAYS
from ricordo.store.sql.languages import DISTINCT
from ricordo.store.sql.matches import Matches
from ricordo.store.sql.times import micros

MOST_MAYBE = 20_000
"""Of more chunks that the meaning side may bring, the texts are asked for once it is known which it brought."""
_NONE = np.zeros(0, np.int64)


@frozen
class WantedTexts:
    """The chunks whose texts are looked at: some in any case, others if the meaning side brings their items."""

    surely: Array
    maybe: Array
    items: Array
    """The items of those that are wanted maybe."""

    @classmethod
    def of(cls, ask: Ask, keywords: KeywordSide, rough: Matches) -> WantedTexts:
        """Those in which excluded phrases, and other words with the stem of one that is asked for, are looked for."""
        surely = [keywords.holding(phrase.terms).chunks for phrase in ask.excluded_phrases if phrase.terms]
        spelled = [word.term for word in ask.words if word.spelled]
        if keywords.reads_texts or ask.needs.tfidf or spelled:
            surely.append(rough.chunks)
        held = [keywords.holding((term,)) for term in spelled]
        return cls(
            np.concatenate([_NONE, *surely]),
            np.concatenate([_NONE, *(one.chunks for one in held)]),
            np.concatenate([_NONE, *(one.items for one in held)]),
        )

    def among(self, items: Array) -> WantedTexts:
        """The same, if the meaning side brings none but some items."""
        inside = np.isin(self.items, items)
        return replace(self, maybe=self.maybe[inside], items=self.items[inside])

    def add_to(self, answers: dict[str, str], after: list[Any], more: str) -> None:
        """Add the texts to an answer, those by another condition, too."""
        maybe = self.maybe if len(self.maybe) <= MOST_MAYBE else _NONE
        if len(self.surely) or len(maybe) or more:
            answers["texts"] = (sql.TEXTS_OR_NEAR if len(maybe) else sql.TEXTS) + more
            after.append(packed.bigints(self.surely))
            after += [packed.bigints(maybe)] if len(maybe) else []


NO_TEXTS = WantedTexts(_NONE, _NONE, _NONE)


def add_needs(ask: Ask, answers: dict[str, str], after: list[Any]) -> None:
    """Add the parts of an answer that an ask needs, and their values."""
    needs = ask.needs
    answers["neighbours"] = "SELECT json_agg(json_build_array(n, other, away)) FROM neighbours"
    answers["joined"] = "SELECT json_agg(item) FROM joined"
    if needs.items or needs.tfidf or ask.phrases or ask.excluded_phrases or (ask.prefixes and not ask.words):
        answers["items"] = sql.ITEMS
    if needs.link_seeds and needs.link_depth <= linked.DEPTH_AT_HAND:
        answers["edges"] = linked.EDGES
    answers["refs"] = sql.REFS.format(version=sql.NO_VERSION if ask.as_of is None else sql.VERSION_AT)
    after += [] if ask.as_of is None else [micros(ask.as_of)]
    if needs.feedback:
        answers["feedback"] = sql.FEEDBACK
    if needs.learned_by:
        answers["learned"] = "SELECT shift FROM learned WHERE profile = ?"
        after.append(needs.learned_by)
    answers["active"] = "SELECT name FROM fingerprints WHERE active"
    answers["languages"] = f"SELECT json_agg(code) FROM ({DISTINCT}) found"
    answers["models"] = sql.MODELS
    if ask.model:
        answers["waiting"] = (
            "SELECT count(*) FROM jobs j JOIN fingerprints f ON f.id = j.fingerprint WHERE f.name IN (?, ?)"
        )
        answers["strays"] = STRAYS
        after += [ask.model, ask.second, ask.model, ask.second]
