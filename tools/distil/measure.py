"""How well a student's weights retrieve, before anything is built of them: by meaning alone, and beside keywords.

    python tools/distil/measure.py STUDENT.npz SET_FOLDER ... [--begin MINILM.npz --part 0.5]

Prints nDCG@10 of the vectors alone and of a plain hybrid (z-scores of cosine and BM25, added up). These compare
students with each other; what counts in the end is ``ricordo eval`` with the built model. ``--part`` measures weights
between the beginning's (0) and the student's (1), which often do better than either.
"""

from __future__ import annotations

import argparse
import json
import math
import re
from collections import Counter
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from encoder import Texts, encode, from_tensors
from target import tokens_of
from weights import unpacked

_WORD = re.compile(r"[a-z0-9]+")
Floats = npt.NDArray[np.float32]


def between(begin: dict[str, Floats], student: dict[str, Floats], part: float) -> dict[str, Floats]:
    """Weights on the way from the beginning to the student; the head is the student's."""
    types = begin["embeddings.token_type_embeddings.weight"][0]
    positions = begin["embeddings.position_embeddings.weight"][: len(student["embeddings.position_embeddings.weight"])]
    begin = {**begin, "embeddings.position_embeddings.weight": positions + types}
    return {
        name: value if name == "head.weight" else (1 - part) * begin[name] + part * value
        for name, value in student.items()
    }


def bm25(documents: list[str], queries: list[str], k1: float = 1.2, b: float = 0.75) -> Floats:
    """A plain keyword score of every query with every document."""
    counts = [Counter(_WORD.findall(text.lower())) for text in documents]
    lengths = np.array([sum(count.values()) for count in counts], np.float32)
    norm = k1 * (1 - b + b * lengths / max(1.0, float(lengths.mean())))
    holders: dict[str, list[tuple[int, int]]] = {}
    for at, count in enumerate(counts):
        for word, times in count.items():
            holders.setdefault(word, []).append((at, times))
    scores = np.zeros((len(queries), len(documents)), np.float32)
    for row, query in enumerate(queries):
        for word in set(_WORD.findall(query.lower())):
            held = holders.get(word, [])
            idf = math.log(1 + (len(documents) - len(held) + 0.5) / (len(held) + 0.5))
            for at, times in held:
                scores[row, at] += idf * times * (k1 + 1) / (times + norm[at])
    return scores


def ndcg(scores: Floats, judged: dict[int, float]) -> float:
    """nDCG@10 with linear gain."""
    best = np.argsort(-scores, kind="stable")[:10]
    found = sum(judged.get(int(at), 0.0) / math.log2(place + 2) for place, at in enumerate(best))
    ideal = sum(grade / math.log2(place + 2) for place, grade in enumerate(sorted(judged.values(), reverse=True)[:10]))
    return found / ideal if ideal else 0.0


def measure(folder: Path, vectors_of: object) -> tuple[float, float]:
    """Vector alone and plain hybrid on one set; a thread's questions are asked of its own documents."""
    corpus = [json.loads(line) for line in (folder / "corpus.jsonl").read_text("utf-8").splitlines()]
    asked = {row["_id"]: row for row in map(json.loads, (folder / "queries.jsonl").read_text("utf-8").splitlines())}
    place = {row["_id"]: at for at, row in enumerate(corpus)}
    judged: dict[str, dict[int, float]] = {}
    for line in (folder / "qrels.tsv").read_text("utf-8").splitlines():
        query, document, grade = line.split("\t")[:3]
        if query in asked and document in place and float(grade) > 0:
            judged.setdefault(query, {})[place[document]] = float(grade)
    texts = [f"{row.get('title') or ''} | {row['text']}".removeprefix(" | ") for row in corpus]
    names = list(judged)
    queries = [asked[name]["text"] for name in names]
    vectors = vectors_of([*texts, *queries])  # type: ignore[operator]
    cosines = vectors[len(texts) :] @ vectors[: len(texts)].T
    words = bm25(texts, queries)
    threads = np.array([(row.get("metadata") or {}).get("conversation", "") for row in corpus])
    figures = []
    for row, name in enumerate(names):
        thread = (asked[name].get("metadata") or {}).get("conversation")
        outside = (
            (threads != thread) if thread is not None and (threads == thread).any() else np.zeros(len(corpus), bool)
        )
        parts = [np.where(outside, -np.inf, part[row]) for part in (cosines, words)]
        inside = [part[~outside] for part in parts]
        hybrid = sum((part - held.mean()) / (held.std() + 1e-6) for part, held in zip(parts, inside, strict=True))
        figures.append((ndcg(parts[0], judged[name]), ndcg(np.asarray(hybrid), judged[name])))
    alone, both = np.mean(figures, axis=0)
    return float(alone), float(both)


def main() -> None:
    """One line per set."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("student", type=Path)
    parser.add_argument("sets", type=Path, nargs="+")
    parser.add_argument("--begin", type=Path, help="the packed weights that the student began with")
    parser.add_argument("--part", type=float, default=1.0, help="of the way from the beginning to the student (1.0)")
    parser.add_argument("--tokenizer", type=Path, required=True)
    options = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    tensors = unpacked(options.student)
    if options.begin is not None:
        tensors = between(unpacked(options.begin), tensors, options.part)
    head = tensors.pop("head.weight")
    model = from_tensors(tensors, head=len(head))
    assert model.head is not None
    model.head.weight.data = torch.from_numpy(head)
    model = model.to(device).eval()

    def vectors_of(texts: list[str]) -> Floats:
        found: Floats = encode(model, Texts(tokens_of(options.tokenizer, texts), device)).float().cpu().numpy()
        return found

    rows = []
    for folder in options.sets:
        rows.append(measure(folder, vectors_of))
        print(f"{folder.name}: vector {rows[-1][0]:.4f}, hybrid {rows[-1][1]:.4f}", flush=True)
    print(f"mean: vector {np.mean([row[0] for row in rows]):.4f}, hybrid {np.mean([row[1] for row in rows]):.4f}")


if __name__ == "__main__":
    main()
