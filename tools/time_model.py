"""Times a shipped model: cold start, one query, documents per second, counting tokens.

    python tools/time_model.py [--seconds 3] [--model fast]

Prints wall time and CPU time; on a busy machine only the latter means much. Needs nothing but Ricordo itself. It does
not judge quality: ``build_model.py --measure`` and ``ricordo eval`` do.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pydoc_data.topics import topics

from ricordo.models.local_onnx import LocalEmbedder, WordPieceCounter, folder_of

QUESTION = "what did we decide about retrying failed uploads?"
COLD = f"""
import sys
import time
marks = [(time.perf_counter(), time.process_time())]
def mark(): marks.append((time.perf_counter(), time.process_time()))
import numpy; mark()
import onnxruntime; mark()
import tokenizers; mark()
from ricordo.models.local_onnx import LocalEmbedder, folder_of
model = LocalEmbedder(folder_of(sys.argv[1])); mark()
model.tokenizer.load(); mark()
model.load(); mark()
model.embed_query({QUESTION!r}); mark()
print(*[1000 * (b[kind] - a[kind]) for kind in (0, 1) for a, b in zip(marks, marks[1:])])
"""
STEPS = (
    "import numpy",
    "import onnxruntime",
    "import tokenizers",
    "import ricordo",
    "tokenizer",
    "model",
    "first query",
)


def passages(tokens: int) -> list[str]:
    """Real English of about that many tokens each, from Python's language reference."""
    words = " ".join(" ".join(topics.values()).split())
    size = int(tokens * 3.6)
    return [words[at : at + size] for at in range(0, min(len(words), 400 * size), size)]


def cold_start(model: str, runs: int = 7) -> None:
    command = [sys.executable, "-c", COLD, model]
    found = [[float(part) for part in subprocess.check_output(command, text=True).split()] for _ in range(runs)]
    best = [min(column) for column in zip(*found, strict=True)]
    print(f"cold start, best of {runs} (ms: wall, CPU)")
    for name, wall, cpu in zip(STEPS, best[: len(STEPS)], best[len(STEPS) :], strict=True):
        print(f"  {name:22} {wall:7.1f} {cpu:7.1f}")
    print(f"  {'together':22} {sum(best[: len(STEPS)]):7.1f} {sum(best[len(STEPS) :]):7.1f}")


def repeated(work: Callable[[], object], seconds: float) -> Iterator[tuple[float, float]]:
    """Wall and CPU seconds of each call, for about that long."""
    work()
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        wall, cpu = time.perf_counter(), time.process_time()
        work()
        yield time.perf_counter() - wall, time.process_time() - cpu


def main() -> None:
    """Parse the command line and print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=3, help="time for each figure")
    parser.add_argument("--model", default="", help="fast, or the usual one")
    options = parser.parse_args()
    seconds, folder = options.seconds, folder_of(options.model)
    cold_start(options.model)
    embedder = LocalEmbedder(folder)
    times = list(repeated(lambda: embedder.embed_query(QUESTION), seconds))
    wall, cpu = (1000 * statistics.median(column) for column in zip(*times, strict=True))
    print(f"one query of {embedder.count_tokens([QUESTION])[0]} tokens: {wall:.1f} ms wall, {cpu:.1f} ms CPU (median)")
    texts = passages(150)
    mean = statistics.mean(embedder.count_tokens(texts))
    for threads in (1, 2, 4, 8):
        several = LocalEmbedder(folder, threads=threads)
        at_once = texts[: 12 * threads]
        times = list(repeated(partial(several.embed_documents, at_once), seconds))
        wall, cpu = (len(at_once) / min(column) for column in zip(*times, strict=True))
        print(f"documents of {mean:.0f} tokens, {threads} threads: {wall:.1f}/s, {cpu:.1f} per CPU second (best)")
    counter = WordPieceCounter()
    times = list(repeated(lambda: counter.count_tokens(texts), seconds))
    wall, cpu = (len(texts) / min(column) for column in zip(*times, strict=True))
    print(f"counting tokens of the same: {wall:.0f} texts/s, {cpu:.0f} per CPU second (best)")


if __name__ == "__main__":
    main()
