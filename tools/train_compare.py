"""Trains what says of two sentences whether they are the same, parallel, opposite or unrelated: ``compare.tsv`` in
``src/ricordo/memory``.

``python tools/train_compare.py`` reads the pairs in ``tools/data/pairs``, prints how well those of each voice are
judged by weights that the other voices trained, and with ``--write`` trains on all and writes the weights. ``--wrong
VOICE`` lists what is judged wrongly of one voice. ``--pairs FILE`` writes the pairs for ``train_reader.py``; ``--read
FOLDER`` takes in what that made: what the reader said of pairs of voices that it was not trained on, and what it
learned.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ricordo.memory.compare import MEANING, READ, RELATIONS, WEIGHED, WORDS, features, joined, pairing, readings
from ricordo.models.local_onnx import SHIPPED, LocalEmbedder
from ricordo.models.pairs import PairReader

DATA = Path(__file__).parent / "data" / "pairs"
CASES = DATA.with_name("cases")
READINGS = DATA / "readings.npz"
"""What the reader says of the pairs, each judged by a reader that was trained on other voices."""
WEIGHTS = Path(__file__).resolve().parents[1] / "src" / "ricordo" / "memory" / "compare.tsv"
SIGNS = "=/!~"
"""How a line of a group begins: what it is to the first line, in the order of ``RELATIONS``."""
DERIVED, FAR, VARIED = 0.6, 0.35, 0.3
"""How much a pair counts that follows from two others, that was drawn by lot, that is the same but for a slip."""
SLIGHT = 0.05
"""How much the last kind counts beside a reading; more changed nothing for the cases."""
DRAWN = 2.0
"""The weights of what is seen are trained on some of the pairs that were not written: so many times fewer."""
PENALTY = 0.006
STEPS = 120
FOLDS = 6
SAME_WRONG, OPPOSITE_WRONG, NEAR_WRONG = 0.02, 0.025, 0.06
"""What the thresholds are chosen for, on the cases: of others the share called the same, and called opposite; of
parallel pairs the share that is held up for a decision.
"""

Numbers = npt.NDArray[np.float32]


class Pair(NamedTuple):
    """Two texts, what they are to each other, whose voice it is, and how much the pair counts."""

    older: str
    newer: str
    relation: int
    voice: str
    weight: float


def groups() -> Iterator[tuple[str, str, list[tuple[int, str]]]]:
    """Each voice with a first line and those beside it."""
    voice, first, others = "", "", list[tuple[int, str]]()
    texts = [file.read_text("utf-8") for file in sorted(DATA.glob("*.txt"))]
    for line in [*"\n\n".join(texts).splitlines(), ""]:
        if line[:2] in [f"{sign} " for sign in SIGNS]:
            others.append((SIGNS.index(line[0]), line[2:]))
            continue
        if first:
            yield voice, first, others
        voice = line.removeprefix("# voice:").strip() if line.startswith("# voice:") else voice
        first, others = ("" if line.startswith("#") else line), []


def pairs(vectors: dict[str, npt.NDArray[np.float32]]) -> list[Pair]:
    """The pairs that were written, both ways round; those that follow from them; and some of different groups."""
    found: list[Pair] = []
    by_voice: dict[str, list[list[str]]] = {}
    chance = random.Random(1)
    for voice, first, others in groups():
        by_voice.setdefault(voice, []).append([first, *(text for _, text in others)])
        for relation, text in others:
            found += [Pair(first, text, relation, voice, 1.0), Pair(text, first, relation, voice, 0.5)]
        varied = _varied(first, chance)
        found.append(Pair(*chance.sample((first, varied), 2), 0, voice, VARIED))
        same = [text for relation, text in others if not relation]
        found += [Pair(one, text, relation, voice, DERIVED) for one in same for relation, text in others if relation]
        found += [Pair(one, other, 0, voice, DERIVED) for one, other in combinations(same, 2)]
    unrelated = RELATIONS.index("unrelated")
    for voice, lines in by_voice.items():
        for place, group in enumerate(lines):
            for other in [*chance.sample(lines, 3), *_nearest(lines, place, vectors)]:
                if other is not group:
                    found.append(Pair(chance.choice(group), chance.choice(other), unrelated, voice, FAR))
    return found


def _varied(text: str, chance: random.Random) -> str:
    """The same text as it is also written: with a slip, in small letters, shortened, marked, with a word that says
    nothing new.
    """
    ways = [
        *(text.replace(one, other) for one, other in WRITTEN_ALSO if one in text),
        *(text.replace(other, one) for one, other in WRITTEN_ALSO if other in text),
        text.rstrip(".").lower(),
        text.replace(" the ", " "),
        f"{text.rstrip('.')} now.",
        chance.choice(("Remember: ", "Please note: ", "Note: ", "FYI: ", "As said, ")) + text,
        _with_word(text, lambda word: f"`{word}`", chance),
        _with_word(text, lambda word: f"**{word}**", chance),
        _with_word(text, lambda word: _slipped(word, chance), chance, least=7),
    ]
    return chance.choice([way for way in ways if way != text] or [text])


WRITTEN_ALSO = (
    ("do not", "don't"), ("does not", "doesn't"), ("is not", "isn't"), ("are not", "aren't"), ("will not", "won't"),
    ("cannot", "can't"), ("must not", "mustn't"), ("It is", "It's"), ("We are", "We're"), ("I am", "I'm"),
    (" two ", " 2 "), (" three ", " 3 "), (" four ", " 4 "), (" five ", " 5 "), (" six ", " 6 "), (" ten ", " 10 "),
    ("every day", "daily"), ("every hour", "hourly"), ("every week", "weekly"), ("every month", "monthly"),
    ("every ", "every single "), ("each ", "every "), (" percent", "%"), (" minutes", " min"), (" all ", " all the "),
    ("We ", "We always "), (" is ", " is really "), (" and ", " & "), (" until ", " till "),
)  # fmt: skip


def _with_word(text: str, change: Callable[[str], str], chance: random.Random, least: int = 3) -> str:
    words = text.split()
    long = [place for place, word in enumerate(words) if len(word) >= least and word.isalpha()]
    if long:
        place = chance.choice(long)
        words[place] = change(words[place])
    return " ".join(words)


def _slipped(word: str, chance: random.Random) -> str:
    cut = chance.randrange(2, len(word) - 2)
    return word[:cut] + chance.choice((word[cut + 1] + word[cut] + word[cut + 2 :], word[cut + 1 :]))


def _nearest(lines: list[list[str]], place: int, vectors: dict[str, npt.NDArray[np.float32]]) -> list[list[str]]:
    """The two groups of a voice whose first lines are nearest."""
    nearness = np.array([vectors[group[0]] @ vectors[lines[place][0]] for group in lines])
    nearness[place] = -1
    return [lines[n] for n in np.argsort(-nearness)[:2]]


def embedded(texts: Iterable[str]) -> dict[str, npt.NDArray[np.float32]]:
    wanted = sorted(set(texts))
    return dict(zip(wanted, LocalEmbedder().embed_documents(wanted), strict=True))


class Training(NamedTuple):
    """All pairs as numbers, for one of the sets of weights."""

    every: Sequence[Pair]
    names: tuple[str, ...]
    matrix: Numbers

    @property
    def relations(self) -> npt.NDArray[np.int64]:
        return np.array([pair.relation for pair in self.every])

    @property
    def weights(self) -> Numbers:
        return np.array([pair.weight for pair in self.every], np.float32)

    @property
    def written(self) -> npt.NDArray[np.bool_]:
        return self.weights == 1.0


def is_read(pair: Pair) -> bool:
    """Whether the weights beside a reading are trained on the pair: one that was written, or varied."""
    return pair.weight in (1.0, VARIED)


def seen_of(every: Sequence[Pair], vectors: dict[str, npt.NDArray[np.float32]]) -> Training:
    """What is seen of pairs, and their cosines."""
    rows = []
    for pair in every:
        one, other = joined(pair.older), joined(pair.newer)
        seen = features(one, other, pairing(one, other), float(vectors[pair.older] @ vectors[pair.newer]))
        rows.append(np.fromiter(seen.values(), np.float32, len(seen)))
    return Training(every, tuple(seen), np.array(rows))


def without_cosines(data: Training) -> Training:
    kept = [place for place, name in enumerate(data.names) if not name.startswith("cosine")]
    return Training(data.every, tuple(data.names[place] for place in kept), data.matrix[:, kept])


def with_readings(data: Training, sums: Numbers) -> Training:
    """Pairs with what the reader says of them."""
    kept = np.array([is_read(pair) for pair in data.every])
    if len(sums) != kept.sum():
        raise SystemExit("the readings are of other pairs: train the reader again (train_reader.py)")
    rows = [readings(row) for row in sums.astype(np.float64).tolist()]
    names = tuple(rows[0])
    columns = np.array([[row[name] for name in names] for row in rows], np.float32)
    read = [pair for pair in data.every if is_read(pair)]
    every = [pair._replace(weight=SLIGHT) if pair.weight == VARIED else pair for pair in read]
    return Training(every, (*data.names, *names), np.hstack([data.matrix[kept], columns]))


def fit(matrix: Numbers, relations: npt.NDArray[np.int64], weight: Numbers) -> tuple[Numbers, Numbers]:
    """Softmax regression by Adam's steps, on columns of about the same spread; returns weights and constants."""
    centre, spread = matrix.mean(axis=0), matrix.std(axis=0) + 1e-2
    columns = (matrix - centre) / spread
    wanted, weight = np.eye(len(RELATIONS), dtype=np.float32)[relations], weight / weight.sum()
    parts = [np.zeros((matrix.shape[1], len(RELATIONS)), np.float32), np.zeros(len(RELATIONS), np.float32)]
    speed, size = [np.zeros_like(part) for part in parts], [np.zeros_like(part) for part in parts]
    for step in range(1, STEPS + 1):
        off = (chances(columns, *parts) - wanted) * weight[:, None]
        for n, gradient in enumerate((columns.T @ off + PENALTY * parts[0], off.sum(axis=0))):
            speed[n] = 0.9 * speed[n] + 0.1 * gradient
            size[n] = 0.999 * size[n] + 0.001 * gradient**2
            rate = 0.05 if step < 0.7 * STEPS else 0.015
            parts[n] = parts[n] - rate * speed[n] / (1 - 0.9**step) / (np.sqrt(size[n] / (1 - 0.999**step)) + 1e-8)
    table = parts[0] / spread[:, None]
    return table, parts[1] - centre @ table


def chances(matrix: Numbers, table: Numbers, constant: Numbers) -> Numbers:
    return chances_of(matrix @ table + constant)


def chances_of(sums: Numbers) -> Numbers:
    odds = np.exp(sums - sums.max(axis=1, keepdims=True))
    share: Numbers = odds / odds.sum(axis=1, keepdims=True)
    return share


def folds_of(every: Sequence[Pair]) -> npt.NDArray[np.int64]:
    """In which part of the voices each pair is."""
    voices = sorted({pair.voice for pair in every})
    random.Random(3).shuffle(voices)
    fold = {voice: place % FOLDS for place, voice in enumerate(voices)}
    return np.array([fold[pair.voice] for pair in every])


def left_out(data: Training) -> Numbers:
    """How each pair is judged by weights that other voices trained."""
    folds = folds_of(data.every)
    judged = np.zeros((len(data.every), len(RELATIONS)), np.float32)
    for n in range(FOLDS):
        table, constant = fit(data.matrix[folds != n], data.relations[folds != n], data.weights[folds != n])
        judged[folds == n] = chances(data.matrix[folds == n], table, constant)
    return judged


def cases() -> list[Pair]:
    """Pairs that nothing is trained on, written as people write notes: by them the thresholds are chosen."""
    found = []
    for file in sorted(CASES.glob("contradictions*.json")):
        found += [Pair(one["old"], one["new"], 2 if one["contradicts"] else 1, "", 1.0) for one in _read(file)]
    for file in sorted(CASES.glob("duplicates*.json")):
        found += [Pair(one["a"], one["b"], 0 if one["same"] else 1, "", 1.0) for one in _read(file)]
    return found


def _read(file: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(file.read_text("utf-8"))
    return rows


def thresholds(judged: Numbers, relations: npt.NDArray[np.int64]) -> tuple[float, float, float]:
    """From which chances on two texts are called the same, opposite and held up for a decision."""
    same, opposite = judged[:, 0], judged[:, 2]
    return (
        _exceeded(same[relations != 0], SAME_WRONG),
        _exceeded(opposite[relations != 2], OPPOSITE_WRONG),
        _exceeded((same + opposite)[relations == 1], NEAR_WRONG),
    )


def _exceeded(values: Numbers, share: float) -> float:
    return float(np.quantile(values, 1 - share))


def told(judged: Numbers, limits: tuple[float, float, float]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Which relation is told of each pair, and whether it is held up for a decision."""
    same, parallel, opposite, unrelated = judged.T
    relation = np.where(parallel >= unrelated, 1, 3)
    relation = np.where((same >= limits[0]) & (same > opposite), 0, relation)
    relation = np.where((opposite >= limits[1]) & (opposite > same), 2, relation)
    return relation, (same + opposite >= limits[2]) | (relation == 0) | (relation == 2)


def export(every: Sequence[Pair], file: Path) -> None:
    """Write the pairs for ``train_reader.py``, each with its part of the voices."""
    rows = [
        (pair.older, pair.newer, pair.relation, int(fold), pair.weight)
        for pair, fold in zip(every, folds_of(every), strict=True)
    ]
    with gzip.open(file, "wt", encoding="utf-8") as out:
        json.dump(rows, out, ensure_ascii=False)


def take_in(every: Sequence[Pair], folder: Path) -> None:
    """Keep what ``train_reader.py`` made: the readings of the pairs that are read, and the graph."""
    from reader_graph import build

    sums = np.zeros((len(every), len(RELATIONS)), np.float16)
    for file in sorted(folder.glob("readings-*.npz")):
        part = np.load(file)
        sums[part["rows"]] = part["sums"]
    np.savez_compressed(READINGS, sums=sums[[is_read(pair) for pair in every]])
    graph = build(SHIPPED / "model.onnx", dict(np.load(folder / "learned.npz")), len(RELATIONS))
    (SHIPPED / "pairs.onnx").write_bytes(graph.SerializeToString())
    control, reader = np.load(folder / "control.npz"), PairReader()
    ours = [reader.read(every[row].older, every[row].newer) for row in control["rows"]]
    off = np.abs(chances_of(np.array(ours)) - chances_of(control["sums"])).max(axis=1)
    print(f"{len(off)} pairs: chances by the graph and in training differ by {off.mean():.3f}, at most {off.max():.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=Path, metavar="FILE")
    parser.add_argument("--read", type=Path, metavar="FOLDER")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--wrong", metavar="VOICE", default="")
    given = parser.parse_args()
    every = pairs(embedded(first for _, first, _ in groups()))
    if given.pairs:
        export(every, given.pairs)
        return
    if given.read:
        take_in(every, given.read)
    chance = random.Random(2)
    some = [pair for pair in every if is_read(pair) or chance.random() < pair.weight / DRAWN]
    every = [pair if is_read(pair) else pair._replace(weight=DRAWN) for pair in some]
    vectors = embedded(text for pair in (*every, *cases()) for text in (pair.older, pair.newer))
    meaning, judged_by = seen_of(every, vectors), seen_of(cases(), vectors)
    voices = {pair.voice for pair in every}
    print(f"{meaning.written.sum()} pairs written in {len(voices)} voices; thresholds by {len(judged_by.every)} cases")
    print("| judged by | same | opposite | parallel: same | others: opposite | held up: same, opposite, parallel |")
    print("|---|---|---|---|---|---|")
    reader = PairReader()
    sums = np.array([reader.read(pair.older, pair.newer) for pair in judged_by.every])
    sets = []
    for name, data, tried in (
        (WORDS, without_cosines(meaning), without_cosines(judged_by)),
        (MEANING, meaning, judged_by),
        (READ, with_readings(meaning, np.load(READINGS)["sums"]), with_readings(judged_by, sums)),
    ):
        table, constant = fit(data.matrix, data.relations, data.weights)
        limits = thresholds(chances(tried.matrix, table, constant), tried.relations)
        sets.append((data, table, constant, limits))
        judged, relations, written = left_out(data), data.relations, data.written
        relation, held = told(judged, limits)
        print(f"| {name} | {' | '.join(_figures(relation[written], held[written], relations[written]))} |")
        if given.wrong and name == READ:
            for n, pair in enumerate(data.every):
                if given.wrong in pair.voice and relation[n] != pair.relation:
                    print(f"{RELATIONS[pair.relation]} → {RELATIONS[relation[n]]}: {pair.older} | {pair.newer}")
    if given.write:
        write(sets)


def _figures(
    relation: npt.NDArray[np.int64], held: npt.NDArray[np.bool_], wanted: npt.NDArray[np.int64]
) -> Iterator[str]:
    for told_as, of in ((0, wanted == 0), (2, wanted == 2), (0, wanted == 1), (2, wanted != 2)):
        yield f"{(relation == told_as)[of].mean():.2f}"
    yield ", ".join(f"{held[wanted == n].mean():.2f}" for n in (0, 2, 1))


def write(sets: Sequence[tuple[Training, Numbers, Numbers, tuple[float, ...]]]) -> None:
    lines = [
        f"# For each relation, what each thing seen says for it: by {', '.join(WEIGHED)}.",
        f"# {', '.join(RELATIONS)}. Thresholds: same, opposite, held up. Written by tools/train_compare.py.",
    ]
    rows = [("thresholds", [value for *_, limits in sets for value in limits])]
    rows.append(("constant", [value for _, _, constant, _ in sets for value in constant]))
    nothing = np.zeros(len(RELATIONS))
    by_name = [dict(zip(data.names, table, strict=True)) for data, table, _, _ in sets]
    names = sets[-1][0].names
    rows += [(name, [value for table in by_name for value in table.get(name, nothing)]) for name in names]
    lines += ["\t".join((name, *(f"{value:.3f}" for value in row))) for name, row in rows]
    WEIGHTS.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{WEIGHTS.stat().st_size:,} bytes, {sum(len(row) for _, row in rows)} numbers: {WEIGHTS}")


if __name__ == "__main__":
    main()
