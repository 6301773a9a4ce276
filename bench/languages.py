"""Measures questions and paragraphs in several languages: ``python bench/languages.py FOLDER`` prints a table.

FOLDER holds XQuAD as sets that ``ricordo eval`` takes: ``xquad_de`` (questions and paragraphs in German), and
``xquad_de_to_en`` (questions in German, paragraphs in English), each with corpus.jsonl, queries.jsonl and qrels.tsv.
``--cost`` prints the processor time that both models take for a question and a paragraph in German, and to load.
``--background`` prints how the cosines of unrelated texts are spread, by which the two models are made comparable.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np

from ricordo.models.local_onnx import LocalEmbedder
from ricordo.plugins.evaluate.run import evaluate
from ricordo.plugins.multilingual.embedder import MultilingualEmbedder

PROFILES = ("bm25", "vector", "default")


def table(folder: Path, queries: int | None, profiles: tuple[str, ...]) -> None:
    """One row per set: nDCG@10 by words, by meaning, and as the product answers."""
    print(f"{'set':24}" + "".join(f"{name:>10}" for name in profiles))
    for place in sorted(folder.glob("xquad_*")):
        report = evaluate(place, profiles=profiles, limit_queries=queries)
        found = {name: [one.metrics["ndcg@10"] for one in report.results if one.profile == name] for name in profiles}
        print(f"{place.name:24}" + "".join(f"{np.mean(found[name]):10.3f}" for name in profiles), flush=True)


def background(folder: Path) -> None:
    """Mean and spread of the cosines of questions with paragraphs that do not answer them."""
    for name, embedder in (("xquad_en", LocalEmbedder()), ("xquad_de", MultilingualEmbedder())):
        texts = {part: _texts(folder / name / f"{part}.jsonl")[::4] for part in ("queries", "corpus")}
        cosines = embedder.embed_documents(texts["queries"]) @ embedder.embed_documents(texts["corpus"]).T
        unrelated = np.sort(cosines, axis=1)[:, :-3]  # without those that may answer it
        print(f"{name} {embedder.fingerprint}: mean {unrelated.mean():.3f}, spread {unrelated.std():.3f}")


def cost(folder: Path) -> None:
    """Processor time per question and per paragraph of both models, in one run, and to load them."""
    questions, paragraphs = (_texts(folder / "xquad_de" / f"{part}.jsonl")[:60] for part in ("queries", "corpus"))
    for embedder in (LocalEmbedder(threads=1), MultilingualEmbedder()):
        times = [time.process_time()]
        embedder.load()
        times.append(time.process_time())
        for question in questions:
            embedder.embed_query(question)
        times.append(time.process_time())
        embedder.embed_documents(paragraphs)
        times.append(time.process_time())
        load, asking, reading = np.diff(times)
        print(
            f"{embedder.fingerprint}: load {load:.2f} s, {1000 * asking / len(questions):.1f} ms a question,"
            f" {1000 * reading / len(paragraphs):.1f} ms a paragraph"
        )


def _texts(file: Path) -> list[str]:
    return [json.loads(line)["text"] for line in file.read_text("utf-8").splitlines()]


def main() -> None:
    """Read the arguments, and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--queries", type=int, help="ask only that many of each set, spread evenly")
    parser.add_argument("--profiles", default=",".join(PROFILES))
    parser.add_argument("--background", action="store_true")
    parser.add_argument("--cost", action="store_true")
    given = parser.parse_args()
    if given.cost:
        cost(given.folder)
        return
    if given.background:
        background(given.folder)
    else:
        table(given.folder, given.queries, tuple(given.profiles.split(",")))


if __name__ == "__main__":
    main()
