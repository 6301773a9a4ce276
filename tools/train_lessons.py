"""Trains what says of a sentence of a user whether it is worth keeping: ``src/ricordo/plugins/lessons/weights.txt``.

``python tools/train_lessons.py`` reads the sentences and sessions in ``tools/lessons/``, prints how well each author's
are judged by weights that the others' trained, and with ``--write`` trains on all and writes the weights.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ricordo.models.local_onnx import LocalEmbedder
from ricordo.plugins.lessons.features import features
from ricordo.plugins.lessons.judge import KINDS, SCALE, read_text
from ricordo.plugins.lessons.messages import Sentence, sentences

DATA = Path(__file__).parent / "lessons"
WEIGHTS = Path(__file__).resolve().parents[1] / "src" / "ricordo" / "plugins" / "lessons" / "weights.txt"
PRECISION, PLAIN_PRECISION = 0.93, 0.93
"""What the thresholds are chosen for, with and without vectors, on the sessions of authors that were left out."""
FEATURE_PENALTY, VECTOR_PENALTY = 3.0, 20.0
SESSION_WEIGHT = 3.0
"""A sentence of a session counts so much more than one that was written alone: it is as people talk."""

Numbers = npt.NDArray[np.float64]


class Row(NamedTuple):
    """A sentence, who wrote it, and whether it is worth keeping."""

    sentence: Sentence
    author: str
    lasting: bool
    kind: str
    language: str
    in_session: bool


def rows() -> list[Row]:
    """All sentences: those that were written alone, and those of the sessions."""
    return [*_alone(), *_of_sessions()]


def _alone() -> Iterator[Row]:
    for path in sorted(DATA.glob("*.jsonl")):
        lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        before = [line["before"] for line in lines if line["before"]]
        chance = random.Random(path.stem)
        for line in lines:
            # What was said before must not tell by its absence: authors gave it for what is worth keeping more often.
            said = line["before"] or chance.choice(before)
            parts = list(sentences(line["text"], said))
            bare = " ".join(part.bare for part in parts)
            text = " ".join(part.text for part in parts)
            if parts:
                sentence = Sentence(text, bare, parts[0].before, parts[0].message)
                yield Row(sentence, path.stem, line["lasting"], line["kind"], line["lang"], False)


def _of_sessions() -> Iterator[Row]:
    for path in sorted(DATA.glob("*_sessions.json")):
        for turns in json.loads(path.read_text("utf-8")):
            before = ""
            for role, text, *_ in turns:
                if role == "u":
                    for sentence, lasting in marked_sentences(text, before):
                        yield Row(sentence, path.stem.partition("_")[0], lasting, "", "", True)
                before = text if role == "a" else before


def marked_sentences(text: str, before: str) -> Iterator[tuple[Sentence, bool]]:
    """The sentences of a turn, each with whether most of what it says is marked."""
    marks = [" ".join(part.partition("}}")[0].split()) for part in text.split("{{")[1:]]
    for sentence in sentences(text.replace("{{", "").replace("}}", ""), before):
        yield sentence, any(overlaps(sentence.text, mark) for mark in marks)


def overlaps(text: str, mark: str) -> bool:
    """Whether a text says at least half of what is marked, or lies within it."""
    words, marked = _words(text), _words(mark)
    shared = sum((words & marked).values())
    return shared >= 0.5 * sum(marked.values()) or (shared >= 3 and shared >= 0.8 * sum(words.values()))


def _words(text: str) -> Counter[str]:
    plain = "".join(sign if sign.isalnum() else " " for sign in text.casefold())
    return Counter(part for word in plain.split() for part in (word if any(ord(c) > 0x3000 for c in word) else [word]))


def fit(matrix: Numbers, wanted: Numbers, penalty: Numbers, weight: Numbers) -> Numbers:
    """Logistic regression by Newton's method; the last weight is the constant."""
    columns = np.hstack([matrix, np.ones((len(matrix), 1))])
    penalties = np.append(penalty, 1e-4)
    weights = np.zeros(columns.shape[1])
    for _ in range(30):
        chance = 1 / (1 + np.exp(-np.clip(columns @ weights, -30, 30)))
        gradient = columns.T @ (weight * (chance - wanted)) + penalties * weights
        curvature = (columns * (weight * chance * (1 - chance))[:, None]).T @ columns + np.diag(penalties)
        step = np.linalg.solve(curvature, gradient)
        weights -= step
        if np.abs(step).max() < 1e-6:
            break
    return weights


class Training(NamedTuple):
    """All sentences as numbers."""

    every: Sequence[Row]
    names: Sequence[str]
    matrix: Numbers
    vectors: Numbers

    def columns(self, *, by_meaning: bool) -> tuple[Numbers, Numbers]:
        """The columns, and how much each weight is held down."""
        penalty = np.full(len(self.names), FEATURE_PENALTY)
        if not by_meaning:
            return self.matrix, penalty
        vectors = self.vectors * SCALE
        return np.hstack([self.matrix, vectors]), np.append(penalty, np.full(vectors.shape[1], VECTOR_PENALTY))


def training() -> Training:
    every = rows()
    seen = [features(row.sentence) for row in every]
    names = sorted(seen[0])
    matrix = np.array([[one[name] for name in names] for one in seen])
    vectors = LocalEmbedder().embed_documents([read_text(row.sentence) for row in every])
    return Training(every, names, matrix, vectors.astype(float))


def left_out(data: Training, *, by_meaning: bool) -> Numbers:
    """How each sentence is judged by weights that the other authors' sentences trained."""
    columns, penalty = data.columns(by_meaning=by_meaning)
    authors = np.array([row.author for row in data.every])
    wanted = np.array([row.lasting for row in data.every], float)
    weight = np.array([SESSION_WEIGHT if row.in_session else 1.0 for row in data.every])
    judged = np.zeros(len(data.every))
    for author in sorted(set(authors)):
        others = authors != author
        weights = fit(columns[others], wanted[others], penalty, weight[others])
        judged[~others] = columns[~others] @ weights[:-1] + weights[-1]
    return judged


def threshold_for(judged: Numbers, wanted: Numbers, precision: float) -> float:
    """The lowest threshold at which, and above which, precision is reached."""
    order = np.argsort(-judged)
    right = np.cumsum(wanted[order])
    share = right / np.arange(1, len(order) + 1)
    reached = np.flatnonzero(share >= precision)
    return float(judged[order][reached[-1]]) if len(reached) else float(judged.max())


def kinds(data: Training, leave_out: str = "") -> Numbers:
    """For each kind the weights of the features, fitted on what is worth keeping and has a kind."""
    chosen = [n for n, row in enumerate(data.every) if row.kind in KINDS and row.author != leave_out]
    columns, penalty = data.columns(by_meaning=False)
    weight = np.ones(len(chosen))
    return np.array(
        [
            fit(columns[chosen], np.array([float(data.every[n].kind == kind) for n in chosen]), penalty, weight)
            for kind in KINDS
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    data = training()
    wanted = np.array([row.lasting for row in data.every], float)
    in_session = np.array([row.in_session for row in data.every])
    authors = np.array([row.author for row in data.every])
    print(f"{len(data.every)} sentences, {int(in_session.sum())} of them in sessions; {len(data.names)} features")
    print("| judged by | sentences | author left out | precision | recall |\n|---|---|---|---|---|")
    thresholds = []
    ways = (("meaning and features", True, PRECISION), ("features", False, PLAIN_PRECISION))
    for name, by_meaning, precision in ways:
        judged = left_out(data, by_meaning=by_meaning)
        thresholds.append(threshold_for(judged[in_session], wanted[in_session], precision))
        for title, which in (("alone", ~in_session), ("in sessions", in_session)):
            for author in (*sorted(set(authors[which])), "each in turn"):
                some = which & (authors == author) if author in authors else which
                chosen = judged[some] > thresholds[-1]
                right = float((chosen & (wanted[some] > 0)).sum())
                figures = f"{right / max(1, chosen.sum()):.2f} | {right / wanted[some].sum():.2f}"
                print(f"| {name} | {title} | {author} | {figures} |")
    print(f"kinds told rightly: {_right_kinds(data):.2f}")
    if given.write:
        write(data, wanted, in_session, thresholds)


def _right_kinds(data: Training) -> float:
    """The share of sentences whose kind is told rightly by weights that the others' sentences trained."""
    right = []
    columns = np.hstack([data.matrix, np.ones((len(data.every), 1))])
    for author in sorted({row.author for row in data.every}):
        told = (columns @ kinds(data, author).T).argmax(axis=1)
        right += [
            KINDS[told[n]] == row.kind for n, row in enumerate(data.every) if row.author == author and row.kind in KINDS
        ]
    return sum(right) / len(right)


def write(data: Training, wanted: Numbers, in_session: npt.NDArray[np.bool_], thresholds: Sequence[float]) -> None:
    """Train on everything, and write the weights."""
    weight = np.where(in_session, SESSION_WEIGHT, 1.0)
    full, plain = (fit(*_given(data, wanted, by_meaning), weight) for by_meaning in (True, False))
    count = len(data.names)
    table = np.vstack([np.append(full[:count], full[-1]), plain, kinds(data)]).T
    lines = [
        "# What each feature says for keeping a sentence, beside its vector and alone, then for each kind:",
        f"# {', '.join(KINDS)}. Written by tools/train_lessons.py.",
        "\t".join(("threshold", *(f"{value:.2f}" for value in thresholds))),
    ]
    vector = full[count:-1]
    named = [*zip((*data.names, "constant"), table, strict=True)]
    named += [("vector", vector[start : start + 16]) for start in range(0, len(vector), 16)]
    lines += ["\t".join((name, *(f"{value:.2f}" for value in row))) for name, row in named]
    WEIGHTS.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{WEIGHTS.stat().st_size:,} bytes, {table.size + len(vector)} numbers: {WEIGHTS}")


def _given(data: Training, wanted: Numbers, by_meaning: bool) -> tuple[Numbers, Numbers, Numbers]:
    columns, penalty = data.columns(by_meaning=by_meaning)
    return columns, wanted, penalty


if __name__ == "__main__":
    main()
