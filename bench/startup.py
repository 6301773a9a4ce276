"""What a command costs before it does anything, against the imports that nobody can avoid.

``python bench/startup.py --corpus DIR`` builds a store of 50,000 chunks and measures, in fresh processes that take
turns:

- ``ricordo --help``, against ``python -c "import click"`` (target: at most 1.1 times);
- a cold keyword search of that store, against ``python -c "import numpy, apsw"`` (at most 2 times);
- a cold search by word and meaning, against importing numpy and onnxruntime and loading the model (at most 1.25
  times).

Medians over ``--rounds``. Byte code and the file cache are warm; the processes are not. The vectors of the store are
made from ``--real`` true ones, because the time of a search does not depend on what a vector means.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import ricordo as ricordo_package
from corpus import SourceDocument, add_corpus_options, questions_for, read_corpus
from embeddings import give_vectors, real_vectors, shipped_embedder, spread
from ricordo.config.loading import Config
from ricordo.engine.ricordo import Ricordo
from stores import GrowingStore
from timing import aligned, percentile, print_json, timed

TARGETS = {
    "help": ("click", 1.1),
    "keyword search": ("numpy and apsw", 2.0),
    "hybrid search": ("numpy, onnxruntime, model", 1.25),
}
READS = """
import sys
from ricordo.config.loading import Config
from ricordo.engine.ricordo import Ricordo
from ricordo import registry
model = registry.embedder(Config())
model.embed_query("load the model")
registry.embedder = lambda config: model
def taken():
    mapped = next(line for line in open("/proc/self/status") if line.startswith("RssFile"))
    read = next(line for line in open("/proc/self/io") if line.startswith("rchar"))
    return int(mapped.split()[1]) * 1024 + int(read.split()[1])
with Ricordo.open(sys.argv[1]) as engine:
    before = taken()
    engine.search(sys.argv[2], track=False)
    print(taken() - before)
"""
"""What the first search of a process reads: bytes read from files and bytes of mapped files that it touched (Linux)."""
LOAD_MODEL = "import numpy, onnxruntime, sys; onnxruntime.InferenceSession(sys.argv[1])"


def commands(store: Path, question: str) -> dict[str, list[str]]:
    """The processes to measure, by name."""
    python = sys.executable
    script = Path(python).with_name("ricordo")
    ricordo = [str(script)] if script.exists() else [python, "-m", "ricordo"]
    search = [*ricordo, "search", "--store", str(store), "--no-track", "--json"]
    model = Path(ricordo_package.__file__).parent / "models" / "minilm" / "model.onnx"
    return {
        "python": [python, "-c", "pass"],
        "click": [python, "-c", "import click"],
        "help": [*ricordo, "--help"],
        "numpy and apsw": [python, "-c", "import numpy, apsw"],
        "keyword search": [*search, "--by", "words", question],
        "numpy, onnxruntime, model": [python, "-c", LOAD_MODEL, str(model)],
        "hybrid search": [*search, question],
    }


def build_store(file: Path, documents: Sequence[SourceDocument], options: argparse.Namespace) -> None:
    """A store with a vector for every chunk."""
    embedder = shipped_embedder()
    growth = GrowingStore(file, documents, most=options.chunks, seed=options.seed).grow(options.chunks)
    real = real_vectors(documents, options.real, embedder)
    with Ricordo.open(file, config=Config()) as engine:
        give_vectors(engine, embedder, spread(real, growth.chunks, seed=options.seed))


def measure(processes: dict[str, list[str]], rounds: int) -> dict[str, list[float]]:
    """Milliseconds of each process; they take turns, so that a slow moment of the machine hits all alike."""
    taken: dict[str, list[float]] = {name: [] for name in processes}
    for turn in range(rounds + 1):
        for name, command in processes.items():
            milliseconds = timed(lambda command=command: run(command))  # type: ignore[misc]
            if turn > 0:  # the first turn writes byte code and warms the file cache
                taken[name].append(milliseconds)
    return taken


def read_by_first_search(store: Path, question: str) -> int | None:
    """How many bytes the first search reads; None where the system does not count them."""
    if not Path("/proc/self/io").exists():
        return None
    done = subprocess.run([sys.executable, "-c", READS, str(store), question], capture_output=True, check=True)
    return int(done.stdout)


def run(command: Sequence[str]) -> None:
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(command, capture_output=True, check=False, env={**env, "NO_COLOR": "1"})
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr.decode()}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    add_corpus_options(parser)
    parser.add_argument("--chunks", type=int, default=50_000, metavar="N", help="size of the store (50000)")
    parser.add_argument("--real", type=int, default=500, metavar="N", help="how many vectors are true (500)")
    parser.add_argument("--store", type=Path, metavar="FILE", help="measure this store instead of building one")
    parser.add_argument("--rounds", type=int, default=15, help="processes of each kind (15)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args()
    documents = read_corpus(options.corpus)
    question = questions_for(documents, 1, file=options.questions, seed=options.seed)[0]
    with tempfile.TemporaryDirectory(prefix="ricordo-bench-") as folder:
        store = options.store or Path(folder) / "store.db"
        if options.store is None:
            build_store(store, documents, options)
        taken = measure(commands(store, question), options.rounds)
        read = read_by_first_search(store, question)
    medians = {name: percentile(values, 0.5) for name, values in taken.items()}
    ratios = {name: medians[name] / medians[base] for name, (base, _) in TARGETS.items()}
    if options.json:
        print_json({"chunks": options.chunks, "median_ms": medians, "ratios": ratios, "bytes_read": read})
        return
    rows = [[name, f"{value:.0f}"] for name, value in medians.items()]
    print(aligned(("process", "median ms"), rows))
    print()
    rows = [
        [
            f"{name} / {base}",
            f"{ratios[name]:.2f}",
            f"{target:.2f}",
            "met" if ratios[name] <= target else "MISSED",
        ]
        for name, (base, target) in TARGETS.items()
    ]
    print(aligned(("ratio", "here", "target", ""), rows))
    if read is not None:
        print(f"\nThe first search of a process reads {read / 1e6:.1f} MB of the store, imports and model not counted.")


if __name__ == "__main__":
    main()
