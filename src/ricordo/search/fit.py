"""How sure we are that a hit has to do with the question: its *fit*, from 0 to 1.

A score orders the hits of one query and says nothing across queries: nonsense may score higher than a right answer. A
fit compares between queries and between stores of any size. It adds up what both sides know of an item, as evidence in
the logarithm of odds:

- meaning: the cosine of its nearest passage with the query, above or below the one that is as often right as wrong;
- words: the share of the query's words in its best passage, weighted by how rare they are, to a power. A word that
  occurs nowhere counts as one that is missing. Few words say nothing against an item, because it may use others; many
  speak for it. If its meaning is known, it takes more of them: a passage that shares half of the words and is not near
  by meaning is mostly about something else.

Sides that agree are surer than each alone. The cosine is taken as it is, and not compared with those of the other
passages: where all of them are about one thing, the right one differs little from the rest. The constants were chosen
on judged sets, with questions of their own and of other sets (docs/ranking.md has the figures).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ricordo.store.query import NO_CHUNK
from ricordo.values.hits import FitPart, Hit
from ricordo.values.kinds import RECORD_DRIVES

if TYPE_CHECKING:
    from ricordo.search.candidates import Member
    from ricordo.search.ranking import Ranked

FITS = 0.5
"""From here on a hit counts as having to do with the question."""
ALMOST = 0.45
"""So well must a source fit that is told to somebody who asked when no hit fits."""
NOTHING_FITS = "nothing fits well: these are the nearest, and they may have nothing to do with the question"
EVEN = 0.33
"""The cosine that is as often that of a right answer as that of a wrong one."""
STEEP = 20.0
"""What a cosine of 1 more adds: from a tenth below ``EVEN`` to a tenth above it, the odds rise from 1:7 to 7:1."""
WORDS = 8.0
"""What all words of the query add: enough without any meaning."""
POWER, POWER_ALONE = 3, 2
"""The power of the share of words that an item contains: beside its meaning, and if only words are known of it."""
REPEATS = -30.0
"""What a turn of a session gets that says nothing but what was asked: it has to do with the question, and answers
nothing.
"""
NO_VECTOR = -1.0
"""What an item gets that has no vector yet, while others have: it fits if it contains a third of the query's words."""


def fit_parts(member: Member) -> tuple[FitPart, ...]:
    """What each side knows of a candidate."""
    pool, words = member.pool, member.coverage
    alone = FitPart("words", words, WORDS * words**POWER_ALONE)
    if not pool.has_vectors:
        return (alone,)  # FITS at least: words alone cannot tell that nothing fits
    if pool.found.vector_chunks[member.place] == NO_CHUNK:
        return (FitPart("meaning", 0.0, NO_VECTOR), alone)
    cosine = float(pool.found.cosines[member.place])
    return (FitPart("meaning", cosine, STEEP * (cosine - EVEN)), FitPart("words", words, WORDS * words**POWER))


def fit_from(parts: Sequence[FitPart]) -> float:
    """The fit that some evidence amounts to.

    >>> fit_from([FitPart("meaning", EVEN, 0.0)]), round(fit_from([FitPart("words", 0.5, 2.0)]), 2)
    (0.5, 0.88)
    """
    return 1.0 / (1.0 + math.exp(-sum(part.contribution for part in parts)))


def with_fits(page: Sequence[Ranked]) -> tuple[list[Ranked], list[float]]:
    """The entries of a page, with what their fits consist of where that is explained, and their fits."""
    entries, fits = [], []
    for entry in page:
        parts = fit_parts(entry.member)
        if entry.repeats:
            parts = (*parts, FitPart("repeats", 1.0, REPEATS))
        fits.append(fit_from(parts))
        explain = replace(entry.explain, fit=parts) if entry.explain is not None else None
        entries.append(replace(entry, explain=explain) if explain is not None else entry)
    return entries, fits


def best_fit(hits: Sequence[Hit]) -> float:
    """How well the best of some hits fits; 0 if there are none."""
    return max((hit.fit or 0.0 for hit in hits), default=0.0)


def fitting(hits: Sequence[Hit], least: float = FITS) -> tuple[Hit, ...]:
    """The hits that have to do with the question; where nothing was asked, all of them."""
    return tuple(hit for hit in hits if hit.fit is None or hit.fit >= least)


def nearest_source(hits: Iterable[Hit], least: float) -> tuple[Hit, ...]:
    """The first source if it only just misses the usual bound: whoever asked can judge it better than we. For somebody
    who wants surer hits, nothing.
    """
    first = next((hit for hit in hits if hit.ref.partition(":")[0] not in RECORD_DRIVES), None)
    return (first,) if first is not None and least <= FITS and (first.fit or 0.0) >= ALMOST else ()


def note_of(hits: Sequence[Hit]) -> tuple[str, ...]:
    """What a reader should know if none of the hits fits."""
    return (NOTHING_FITS,) if hits and not fitting(hits) else ()
