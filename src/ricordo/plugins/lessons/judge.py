"""Says of the sentences of a user which are worth keeping beyond the session, and as what.

A linear classifier over the vector of the sentence model that ships in the package and what is seen of a sentence
(``features``). ``weights.txt`` holds its weights, which ``tools/train_lessons.py`` writes. Without the model, and for
languages that it does not read, what is seen decides alone, with a higher threshold.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ricordo.frozen import frozen
from ricordo.plugins.lessons.features import features, language
from ricordo.plugins.lessons.messages import HIDDEN, Sentence

if TYPE_CHECKING:
    from ricordo.models.base import Embedder

KINDS = ("rule", "preference", "decision", "fact")
"""As what a sentence may be worth keeping, in the order of the columns of the weights."""
SCALE = 3.0
"""By how much vectors are multiplied, so that they weigh about as much as what is seen."""
MOST_EMBEDDED = 200
"""Of how many sentences at a time the meaning is looked at: of the likeliest by what is seen."""
HOPELESS = -4.0
"""What is seen of a sentence can speak so much against it that its meaning is not looked at."""
_WEIGHTS = Path(__file__).with_name("weights.txt")
_LONG_QUOTATION = re.compile(rf"{HIDDEN}{{30,}}")


@frozen
class Verdict:
    """Whether a sentence is worth keeping, how surely, and as what."""

    is_lasting: bool
    margin: float
    """By how much it is above the threshold; about a logarithm of the odds."""
    kind: str


@frozen
class Weights:
    """Of each feature, what it says for keeping beside a vector and without one, and for each kind."""

    seen: Mapping[str, tuple[float, ...]]
    vector: Sequence[float]
    thresholds: tuple[float, float]
    """With a vector, and without one."""


@cache
def _weights() -> Weights:
    seen: dict[str, tuple[float, ...]] = {}
    vector: tuple[float, ...] = ()
    for line in _WEIGHTS.read_text("utf-8").splitlines():
        name, *numbers = line.split("\t")
        if not name.startswith("#"):
            values = tuple(map(float, numbers))
            if name == "vector":
                vector += values
            else:
                seen[name] = values
    with_vector, without, *_ = seen.pop("threshold")
    return Weights(seen, vector, (with_vector, without))


def verdicts(sentences: Sequence[Sentence], embedder: Embedder | None) -> list[Verdict]:
    """What each sentence is worth; ``embedder`` is the model in the package, None if vectors are switched off."""
    if not sentences:
        return []
    weights = _weights()
    seen = [features(sentence) for sentence in sentences]
    plain = [_sum(one, weights, 1) for one in seen]
    margins = [score - weights.thresholds[1] for score in plain]
    if embedder is not None:
        unread = getattr(embedder, "unread", ())
        hopeful = [n for n in range(len(seen)) if plain[n] > HOPELESS and language(sentences[n]) not in unread]
        hopeful = sorted(sorted(hopeful, key=lambda n: -plain[n])[:MOST_EMBEDDED])
        vectors = embedder.embed_documents([read_text(sentences[n]) for n in hopeful]) if hopeful else ()
        for n, vector in zip(hopeful, vectors, strict=True):
            meaning = sum(value * weight for value, weight in zip(vector.tolist(), weights.vector, strict=True))
            margins[n] = _sum(seen[n], weights, 0) + SCALE * meaning - weights.thresholds[0]
    return [Verdict(margin > 0, margin, _kind(one, weights)) for margin, one in zip(margins, seen, strict=True)]


def _sum(seen: Mapping[str, float], weights: Weights, column: int) -> float:
    return weights.seen["constant"][column] + sum(
        value * weights.seen[name][column] for name, value in seen.items() if value
    )


def _kind(seen: Mapping[str, float], weights: Weights) -> str:
    return max(KINDS, key=lambda kind: _sum(seen, weights, 2 + KINDS.index(kind)))


def read_text(sentence: Sentence) -> str:
    """What is embedded of a sentence: long quotations are left out."""
    if not _LONG_QUOTATION.search(sentence.bare):
        return sentence.text
    return _LONG_QUOTATION.sub("…", sentence.bare)
