"""Ranks the best hits again with a slower, better judge, within a time limit.

The judge's score is blended with the first score by position: the higher a hit was, the more its first score counts, so
that a good first hit is not lost. If the judge is too slow or fails, the first order is kept and the reason is
reported.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ricordo.bounded import BoundedCall
from ricordo.errors import Error
from ricordo.log import report
from ricordo.search.present import HitReader
from ricordo.search.ranking import Ranked

if TYPE_CHECKING:
    from ricordo.models.base import Reranker


DIVERSE_WINDOW = 60
"""How many of the best hits are reordered so that they differ."""
LAMBDA = 0.7
"""How much relevance counts; the rest is how unlike the hits already chosen a hit is."""


def diverse_order(
    values: Sequence[float], similarity: npt.NDArray[Any], count: int, trade: float = LAMBDA
) -> list[int]:
    """Positions in the order of maximal marginal relevance; ``similarity`` is symmetric, in [0, 1]."""
    relevance = np.asarray(values, float)
    left = list(range(len(relevance)))
    chosen: list[int] = []
    while left and len(chosen) < count:
        if chosen:
            closeness = similarity[np.ix_(left, chosen)].max(axis=1)
            gains = trade * relevance[left] - (1.0 - trade) * closeness
        else:
            gains = relevance[left]
        chosen.append(left.pop(int(gains.argmax())))
    return chosen


def similarity_of(vectors: Sequence[npt.NDArray[Any] | None], words: Sequence[frozenset[str]]) -> npt.NDArray[Any]:
    """Cosine where both have a vector, else the overlap of their words."""
    size = len(vectors)
    matrix = np.zeros((size, size))
    for i in range(size):
        for j in range(i):
            first, second = vectors[i], vectors[j]
            if first is not None and second is not None:
                value = max(0.0, float(first @ second))
            else:
                union = len(words[i] | words[j])
                value = len(words[i] & words[j]) / union if union else 0.0
            matrix[i, j] = matrix[j, i] = value
    return matrix


TOP = 20
"""How many hits are ranked again: what is further down is hardly looked at."""
SECONDS = 0.5
"""How long a reranker may take that has no ``seconds`` of its own; after that, the first order is kept."""
OWN_SHARE = ((3, 0.75), (10, 0.60), (math.inf, 0.40))
"""Up to each position, the weight of the first score; the judge has the rest."""
MAX_CHARACTERS = 2_000


def own_share(position: int) -> float:
    """How much a hit's own score counts at a position, from 1."""
    return next(share for last, share in OWN_SHARE if position <= last)


def blend(scores: Sequence[float], opinions: Sequence[float]) -> list[float]:
    """Scores in their order, blended with opinions in [0, 1] by position."""
    return [
        own_share(position) * score + (1.0 - own_share(position)) * opinion
        for position, (score, opinion) in enumerate(zip(scores, opinions, strict=True), start=1)
    ]


def rerank(
    reader: HitReader, reranker: Reranker, query: str, page: Sequence[Ranked], *, seconds: float
) -> tuple[Sequence[Ranked], str]:
    """The hits after a look at the first ones, within some seconds; or as they were, and why."""
    head = page[:TOP]
    if not head:
        return page, ""
    reader.read(head)
    texts = [f"{reader.item(entry).title}\n{reader.best_text(entry)}"[:MAX_CHARACTERS] for entry in head]
    opinions = _within(reranker, query, texts, seconds)
    if isinstance(opinions, str):
        return page, opinions
    blended = blend([entry.score for entry in head], opinions)
    judged = [
        replace(entry.scored(opinion, "rerank opinion").scored(value, "rerank blend"), value=value)
        for entry, opinion, value in zip(head, opinions, blended, strict=True)
    ]
    judged.sort(key=lambda entry: (-entry.score, str(reader.item(entry).ref)))
    return [*judged, *page[TOP:]], ""


def _within(reranker: Reranker, query: str, texts: Sequence[str], seconds: float) -> list[float] | str:
    """The judge's scores in [0, 1], or why there are none. A judge that is too slow is not waited for."""
    call = BoundedCall(lambda: [float(opinion) for opinion in reranker.score(query, texts)], "ricordo-rerank")
    if not call.wait(seconds):
        return f"rerank: no answer within {seconds * 1000:.0f} ms; the first order is kept"
    if isinstance(call.error, Error):
        return f"rerank: {call.error.message}; the first order is kept"
    if call.error is not None:
        # A plugin's judge may raise anything, and that must not cost the hits.
        report("the reranker failed", call.error)
        return f"rerank: the judge failed ({type(call.error).__name__}: {call.error}); the first order is kept"
    opinions = call.result()
    if len(opinions) != len(texts) or not all(math.isfinite(opinion) for opinion in opinions):
        return "rerank: the judge gave an unusable answer; the first order is kept"
    return [min(1.0, max(0.0, opinion)) for opinion in opinions]
