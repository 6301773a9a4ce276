"""What further ideas would bring the default ranking: each is tried on the candidates that real searches ranked.

    python bench/ideas.py DIR [DIR ...] [--queries 100] [--tokens]

Each DIR is a set as ``ricordo eval`` takes it. Every query is searched once with the default profile, and the values of
its candidates are kept. Each idea then makes new values of them. Printed are nDCG@10 per set, the mean, how far it lies
from the present one, and the standard error of that difference (of the same queries, ranked in two ways).

``--tokens`` also tries late interaction: the best 20 passages are read again by the model in the package, and every
token of the query is compared with the nearest token of each passage. This needs the package ``onnx``.
"""

from __future__ import annotations

import argparse
import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ricordo.config.loading import Config, load_config
from ricordo.engine import Ricordo
from ricordo.evaluate import Question, read_dataset
from ricordo.evaluate.metrics import ndcg
from ricordo.evaluate.stores import cached_store, make_vectors, position_of
from ricordo.models.local_onnx import SHIPPED, LocalEmbedder
from ricordo.search import pipeline
from ricordo.search.fusion import steady_spreads
from ricordo.search.pool import Pool
from ricordo.search.refine import FEEDBACK, FEEDBACK_ITEMS, RELATED, lend
from ricordo.store.asking import Aim, Shown
from ricordo.store.found import NO_CHUNK
from ricordo.store.parts import SearchIndex
from ricordo.values.hits import Filters

Array = npt.NDArray[Any]
LOOKED_AT = 20
"""How many hits late interaction looks at, as a second look does."""
LAYERS = {"words alone": "word_vectors", "layer 3": "layer2.rows", "last layer": "layer5.rows"}
"""The outputs of the model's graph that hold a vector for every token."""


@dataclass
class Asked:
    """One query and the refined values of its candidates, as the default profile ranked them."""

    text: str
    judged: Mapping[str, float]
    documents: list[str]
    refs: list[str]
    lexical: Array
    cosines: Array
    belief: float
    share: float
    starts: Array
    by_passage: Array
    """The cosine of each passage with the moved query."""
    vectors: Array
    """Of each candidate's nearest passage; zeros where it has none."""
    query: Array
    aimed: Callable[[Array], Array]
    """The candidates' cosines with another vector in place of the moved query."""
    texts: list[str]
    similarities: dict[str, Array] = field(default_factory=dict)
    """By layer: how near each token of the query has a token in each of the best passages, weighted by rarity."""

    def value(self, lexical: Array | None = None, cosines: Array | None = None, part: float = 1.0) -> Array:
        """What candidates are sorted by; ``part`` is how much the keyword side counts beside what it does now."""
        words, meaning = self.standing(lexical, cosines)
        return meaning + part * words

    def standing(self, lexical: Array | None = None, cosines: Array | None = None) -> tuple[Array, Array]:
        """How far each candidate stands out among the others, by words and by meaning."""
        lexical = self.lexical if lexical is None else lexical
        cosines = self.cosines if cosines is None else cosines
        spread_lexical, spread_vector = steady_spreads(lexical, cosines)
        words = self.share * self.belief * (lexical - lexical.mean()) / spread_lexical
        return words, (cosines - cosines.mean()) / spread_vector

    def figure(self, values: Array) -> float:
        order = sorted(range(len(values)), key=lambda place: (-values[place], self.refs[place]))[:10]
        return ndcg([self.documents[place] for place in order], self.judged)


def best_passages_mean(asked: Asked, part: float) -> Array:
    """The mean of the two best passages has a part of an item's cosine."""
    found = asked.cosines.copy()
    for place in np.flatnonzero(np.diff(asked.starts) > 1).tolist():
        two = np.sort(asked.by_passage[asked.starts[place] : asked.starts[place + 1]])[-2:]
        found[place] = (1 - part) * found[place] + part * float(two.mean())
    return asked.value(cosines=found)


def smoothed(asked: Asked, part: float, count: int) -> Array:
    """The mean value of the nearest candidates has a part of each value."""
    values = asked.value()
    count = min(count, len(values) - 1)
    if count < 1:
        return values
    near = asked.vectors @ asked.vectors.T
    np.fill_diagonal(near, -1.0)
    places = np.argpartition(-near, count - 1, axis=1)[:, :count]
    weights = np.maximum(np.take_along_axis(near, places, 1), 1e-9)
    return (1 - part) * values + part * (weights * values[places]).sum(axis=1) / weights.sum(axis=1)


def second_round(asked: Asked) -> Array:
    """The query moves once more, towards the best hits after it has moved."""
    values = asked.value()
    if len(values) < 60:
        return values
    best = np.argsort(-values, kind="stable")[:FEEDBACK_ITEMS]
    weights = np.exp(values[best] - values[best[0]])
    towards = dict(enumerate(asked.vectors[best]))
    aim = Aim(asked.query, tuple(enumerate(weights.tolist())), FEEDBACK, RELATED).moved(towards)
    return values if aim is None else asked.value(cosines=asked.aimed(aim))


def away_from_the_last(asked: Asked, part: float) -> Array:
    """Nearness to the candidates from the 30th to the 60th counts against one."""
    values = asked.value()
    last = np.argsort(-values, kind="stable")[30:60]
    if len(last) < 30:
        return values
    return asked.value(cosines=asked.cosines - part * (asked.vectors @ asked.vectors[last].mean(axis=0)))


def apart(asked: Asked, part: float) -> Array:
    """Nearness to all candidates on average counts against one."""
    return asked.value(cosines=asked.cosines - part * (asked.vectors @ asked.vectors.mean(axis=0)))


def by_agreement(asked: Asked, part: float) -> Array:
    """Words count more (or less) if the ten best of both sides are the same."""
    both = set(np.argsort(-asked.lexical)[:10].tolist()) & set(np.argsort(-asked.cosines)[:10].tolist())
    return asked.value(part=1 + part * (len(both) / 10 - 0.3))


def better_side(asked: Asked, part: float) -> Array:
    """The side on which a candidate stands out more counts more."""
    words, meaning = asked.standing()
    return words + meaning + part * np.maximum(words, meaning)


def raised(asked: Asked, power: float) -> Array:
    """Keyword values to a power: what lies far below the best counts less (or more)."""
    best = asked.lexical.max(initial=0.0)
    return asked.value(best * (asked.lexical / best) ** power if best > 0 else None)


def with_ranks(asked: Asked, part: float) -> Array:
    """Ranks on both sides beside the values."""
    places = [np.argsort(np.argsort(-side)) for side in (asked.lexical, asked.cosines)]
    return asked.value() + part * (1 / (5 + places[0]) + 1 / (5 + places[1]))


def longer(asked: Asked, part: float) -> Array:
    """Longer passages before shorter ones."""
    sizes = np.log([1 + len(text) for text in asked.texts])
    return asked.value() + part * (sizes - sizes.mean()) / max(float(sizes.std()), 1e-6)


def by_tokens(asked: Asked, layer: str, part: float) -> Array:
    """Late interaction on the best hits; the others stay behind them."""
    values = asked.value()
    near = asked.similarities[layer]
    best = np.argsort(-values, kind="stable")[: len(near)]
    spread = math.sqrt((len(near) * float(near.var()) + 5 * 0.05**2) / (len(near) + 5))
    after = values - 1000.0
    after[best] = values[best] + part * near / spread
    return after


IDEAS: dict[str, Callable[[Asked], Array]] = {
    "as it is": lambda asked: asked.value(),
    "mean of the two best passages .3": lambda asked: best_passages_mean(asked, 0.3),
    "smoothed over 3 similar hits .05": lambda asked: smoothed(asked, 0.05, 3),
    "smoothed over 3 similar hits .1": lambda asked: smoothed(asked, 0.1, 3),
    "smoothed over 3 similar hits .2": lambda asked: smoothed(asked, 0.2, 3),
    "feedback twice": second_round,
    "away from the last .1": lambda asked: away_from_the_last(asked, 0.1),
    "away from the last .4": lambda asked: away_from_the_last(asked, 0.4),
    "less the mean cosine .2": lambda asked: apart(asked, 0.2),
    "less the mean cosine .5": lambda asked: apart(asked, 0.5),
    "words by agreement +.5": lambda asked: by_agreement(asked, 0.5),
    "words by agreement -.5": lambda asked: by_agreement(asked, -0.5),
    "better side .1": lambda asked: better_side(asked, 0.1),
    "better side .2": lambda asked: better_side(asked, 0.2),
    "worse side .2": lambda asked: -better_side(replace(asked, lexical=-asked.lexical, cosines=-asked.cosines), 0.2),
    "keyword values ^1.2": lambda asked: raised(asked, 1.2),
    "keyword values ^.85": lambda asked: raised(asked, 0.85),
    "ranks as well": lambda asked: with_ranks(asked, 2.0),
    "longer passages .05": lambda asked: longer(asked, 0.05),
    "better side .1, smoothed .05, longer .05": lambda asked: (
        better_side(asked, 0.1) + smoothed(asked, 0.05, 3) + longer(asked, 0.05) - 2 * asked.value()
    ),
}


class Recorder:
    """Stands in for ``refine`` while queries are searched, and keeps what it made of the candidates."""

    def __init__(self) -> None:
        self.refine = pipeline.refine
        self.kept: tuple[SearchIndex, Pool, float] | None = None

    def __call__(self, index: SearchIndex, pool: Pool, steps: Any, lexical_share: float) -> None:
        self.refine(index, pool, steps, lexical_share)
        self.kept = index, pool, lexical_share

    def asked(self, question: Question, judged: Mapping[str, float], names: Sequence[str]) -> Asked | None:
        """The last query's candidates."""
        assert self.kept is not None
        index, pool, share = self.kept
        vector, found = pool.vector, pool.found
        if not len(pool) or vector is None or not pool.has_vectors:
            return None
        near = pool.answer.neighbours
        chunks = found.passages.chunks.tolist()
        shown = [
            Shown(n, (int(chunk),) if chunk != NO_CHUNK else ())
            for n, chunk in zip(found.numbers, found.vector_chunks, strict=True)
        ]
        passages = index.passages(shown, vectors=vector.fingerprint)
        nothing = np.zeros(len(vector.values), np.float32)

        def aimed(query: Array) -> Array:
            # A query that is its own only part has its own cosines; without any part there would be no answer.
            cosines = index.cosines(vector.fingerprint, Aim(query, parts=vector.parts or (query,)), chunks)
            best = np.zeros(len(pool))
            np.maximum.at(best, found.passages.owners, np.asarray(cosines, np.float64))
            return lend(found.numbers, near, best)

        texts = [passages.texts[n][0].text if passages.texts.get(n) else "" for n in found.numbers]
        titles = [passages.items[n].title if n in passages.items else "" for n in found.numbers]
        return Asked(
            question.text,
            judged,
            [names[position_of(ref)] for ref in found.refs],
            list(found.refs),
            pool.lexical,
            pool.cosines,
            pool.belief,
            share,
            found.passages.starts,
            found.passages.cosines if pool.moved is None else pool.moved,
            np.array([passages.vectors.get(int(chunk), nothing) for chunk in found.vector_chunks]),
            vector.values,
            aimed,
            [f"{title} | {text}".removeprefix(" | ") for title, text in zip(titles, texts, strict=True)],
        )


class TokenModel:
    """The model in the package, asked for the vectors of single tokens."""

    def __init__(self) -> None:
        import onnx
        import onnxruntime

        model = onnx.load(str(SHIPPED / "model.onnx"))
        for name in LAYERS.values():
            model.graph.output.append(onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None))
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.enable_mem_pattern = options.enable_mem_reuse = False
        self.session = onnxruntime.InferenceSession(model.SerializeToString(), options)
        self.embedder = LocalEmbedder()
        self.read: dict[str, tuple[list[int], dict[str, Array]]] = {}
        self.seconds = 0.0
        self.passages = 0

    def tokens(self, text: str) -> tuple[list[int], dict[str, Array]]:
        """The tokens of a text and, by layer, their vectors, of length 1."""
        if text not in self.read:
            started = time.perf_counter()
            [ids] = self.embedder._tokens([text])
            found = self.session.run(list(LAYERS.values()), {"input_ids": np.array([ids], np.int64)})
            rows = [one.reshape(len(ids), -1) for one in found]
            unit = [one / np.maximum(np.linalg.norm(one, axis=1, keepdims=True), 1e-9) for one in rows]
            self.read[text] = ids, dict(zip(LAYERS, [one.astype(np.float16) for one in unit], strict=True))
            self.seconds += time.perf_counter() - started
            self.passages += 1
        return self.read[text]

    def compare(self, queries: Sequence[Asked]) -> None:
        """Fill in ``similarities``. How rare a token is, is counted over all texts that were read."""
        tops = [np.argsort(-asked.value(), kind="stable")[:LOOKED_AT].tolist() for asked in queries]
        counts = Counter(
            token
            for text in {asked.texts[place] for asked, top in zip(queries, tops, strict=True) for place in top}
            for token in set(self.tokens(text)[0])
        )
        size = len(self.read)
        for asked, top in zip(queries, tops, strict=True):
            ids, wanted = self.tokens(asked.text)
            rarity = np.array([math.log(1 + (size - counts[one] + 0.5) / (counts[one] + 0.5)) for one in ids])
            rarity[[0, -1]] = 0.0  # the marks of the beginning and the end
            rarity /= max(float(rarity.sum()), 1e-9)
            for layer in LAYERS:
                query = wanted[layer].astype(np.float32)
                held = (self.tokens(asked.texts[place])[1][layer].astype(np.float32) for place in top)
                asked.similarities[layer] = np.array([(query @ one.T).max(axis=1) @ rarity for one in held])
        self.read.clear()


@contextmanager
def searched(folder: Path, config: Config, queries: int | None) -> Iterator[list[Asked]]:
    """Every query of a set, searched with the default profile; the store stays open, as ideas may ask it again."""
    dataset = read_dataset(folder)
    names = [document.id for document in dataset.documents]
    recorder = Recorder()
    pipeline.refine = recorder
    try:
        with Ricordo.open(cached_store(dataset, config), config=config, create=False) as engine:
            make_vectors(engine, dataset)
            step = max(1, len(dataset.questions) // queries) if queries else 1
            kept = []
            for question in dataset.questions[::step]:
                filters = Filters(threads=(question.thread,)) if question.thread is not None else None
                engine.search(question.text, filters=filters, track=False, literal=True, profile="default")
                asked = recorder.asked(question, dataset.judgements[question.id], names)
                if asked is not None:
                    kept.append(asked)
            yield kept
    finally:
        pipeline.refine = recorder.refine


def main() -> None:
    """Try every idea on every set."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--queries", type=int, help="about so many of each set, evenly spread (all)")
    parser.add_argument("--tokens", action="store_true", help="try late interaction, too; takes minutes")
    options = parser.parse_args()
    loaded = load_config()
    config = replace(loaded, usage=replace(loaded.usage, log=False), knowledge=replace(loaded.knowledge, enabled=False))
    ideas, model = dict(IDEAS), None
    if options.tokens:
        model = TokenModel()
        for layer in LAYERS:
            for part in (0.15, 0.3, 0.6):
                ideas[f"tokens, {layer}, {part}"] = lambda asked, layer=layer, part=part: by_tokens(asked, layer, part)  # type: ignore[misc]
    figures: dict[str, list[Array]] = {idea: [] for idea in ideas}
    for folder in options.folders:
        with searched(folder, config, options.queries) as queries:
            if model is not None:
                model.compare(queries)
            for idea, values in ideas.items():
                figures[idea].append(np.array([asked.figure(values(asked)) for asked in queries]))
            print(f"{folder.name}: {len(queries)} queries", flush=True)
    print("| nDCG@10 | " + " | ".join(folder.name for folder in options.folders) + " | mean | difference |")
    print("|---" * (len(options.folders) + 3) + "|")
    for idea, sets in figures.items():
        apart_from = [one - now for one, now in zip(sets, figures["as it is"], strict=True)]
        gain = float(np.mean([one.mean() for one in apart_from]))
        error = math.sqrt(sum(float(one.var()) / len(one) for one in apart_from)) / len(sets)
        cells = " | ".join(f"{one.mean():.4f}" for one in sets)
        print(f"| {idea} | {cells} | {np.mean([one.mean() for one in sets]):.4f} | {gain:+.4f} ± {error:.4f} |")
    if model is not None:
        print(f"reading a text again took {1000 * model.seconds / max(1, model.passages):.1f} ms")


if __name__ == "__main__":
    main()
