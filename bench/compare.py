"""Ricordo beside what people would use instead: the same passages, vectors and questions, in one run.

``python bench/compare.py --corpus DIR --sizes 10000 100000 --judged SET --out results.json`` makes a collection per
size (and one per judged set), lets every engine that is installed index it, and asks all of them the same questions.
``--page docs/performance.md`` writes the tables and plots of a result file into the page.

Each step runs in a process of its own, so that memory is that of the engine alone and nothing is warm that should be
cold; engines take turns, so that a slow minute of the machine does not hit one of them only. Threads are limited to
``--threads``. Embedding the questions is left out everywhere: it costs the same for all.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from compared.base import Collection, ComparedEngine, slice_of
from compared.collections import make_collection, make_judged
from compared.lance_peer import LanceDb
from compared.ours import RicordoEngine, RicordoOnPostgres
from compared.page import write_page
from compared.plain_peers import Bm25s, Tantivy
from compared.sqlite_peer import SqliteFtsVec
from compared.vector_peers import Chroma, DuckDb, MilvusLite, Txtai
from corpus import add_corpus_options, read_corpus
from ricordo.plugins.evaluate.report import mean, ndcg
from timing import machine, percentile, timed

ENGINES: dict[str, type[ComparedEngine]] = {
    engine.name: engine
    for engine in (
        RicordoEngine, RicordoOnPostgres, LanceDb, SqliteFtsVec, Bm25s, Tantivy, Chroma, MilvusLite, Txtai, DuckDb,
    )
}  # fmt: skip
Figures = dict[str, dict[str, Any]]
"""By engine: what was measured of it."""
LIMIT = 10
NEAREST = 50
WRITING_SECONDS = 8.0


# --- what one process does -------------------------------------------------------------------------------------------


def step_load(engine: ComparedEngine) -> dict[str, Any]:
    """Index everything; seconds and bytes on disk."""
    started = time.perf_counter()
    engine.load()
    return {"seconds": round(time.perf_counter() - started, 2), "bytes": _size(engine.folder)}


def step_cold(engine: ComparedEngine) -> dict[str, Any]:
    """One search in a fresh process; the caller takes the time."""
    engine.open()
    kind = "hybrid" if "hybrid" in engine.kinds else "vector"
    engine.ask(kind, 0, LIMIT)
    return {}


def step_search(engine: ComparedEngine, repeat: int) -> dict[str, Any]:
    """Warm searches of every kind, by milliseconds, and the memory of the process after them."""
    engine.open()
    engine.check()
    questions = range(len(engine.collection.questions))
    times: dict[str, list[float]] = {}
    for kind in engine.kinds:
        for question in questions:
            engine.ask(kind, question, LIMIT)
        times[kind] = [
            timed(lambda q=question, k=kind: engine.ask(k, q, LIMIT))  # type: ignore[misc]
            for _ in range(repeat)
            for question in questions
        ]
    return {"times": times, "memory": _memory()}


def step_hybrid(engine: ComparedEngine, repeat: int) -> dict[str, Any]:
    """Warm hybrid searches alone, for the runs beside busy processes and writers."""
    engine.open()
    questions = range(len(engine.collection.questions))
    kind = "hybrid" if "hybrid" in engine.kinds else "vector"
    for question in questions:
        engine.ask(kind, question, LIMIT)
    return {"times": [timed(lambda q=q: engine.ask(kind, q, LIMIT)) for _ in range(repeat) for q in questions]}  # type: ignore[misc]


def step_write(engine: ComparedEngine, seconds: float) -> dict[str, Any]:
    """Write passage after passage for a while."""
    engine.open()
    until, written = time.monotonic() + seconds, 0
    while time.monotonic() < until:
        engine.write(written)
        written += 1
    return {"written": written, "per_second": round(written / seconds, 1)}


def step_quality(engine: ComparedEngine) -> dict[str, Any]:
    """nDCG@10 of the hybrid search where judgements exist; recall of the nearest documents, and within a slice."""
    engine.open()
    collection = engine.collection
    answer: dict[str, Any] = {}
    if collection.judgements:
        kind = "hybrid" if "hybrid" in engine.kinds else "vector"
        ranked = [engine.ask(kind, question, LIMIT) for question in range(len(collection.questions))]
        answer["ndcg@10"] = round(mean([ndcg(r, j) for r, j in zip(ranked, collection.judgements, strict=True)]), 4)
        return answer
    for name, file in (("recall@50", "nearest.json"), ("filtered recall@50", "nearest_filtered.json")):
        truth = json.loads((collection.folder / file).read_text(encoding="utf-8"))
        shares = []
        for question, right in enumerate(truth):
            found = engine.nearest(question, NEAREST, slice_of(question) if "filtered" in name else "")
            if found is None:
                return answer
            shares.append(len(set(found) & set(right)) / max(len(right), 1))
        answer[name] = round(mean(shares), 4)
    return answer


def _memory() -> int:
    """Resident bytes of this process now (its highest, where the system does not tell)."""
    try:
        status = Path("/proc/self/status").read_text(encoding="utf-8")
    except OSError:
        import resource

        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    held = {line.partition(":")[0]: line.partition(":")[2] for line in status.splitlines()}
    return int(held["RssAnon"].split()[0]) * 1024 + int(held["RssFile"].split()[0]) * 1024


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


# --- what the whole run does -----------------------------------------------------------------------------------------


class Run:
    """All engines over one collection."""

    def __init__(
        self, collection: Path, names: Sequence[str], options: argparse.Namespace, report: Callable[[Figures], None]
    ) -> None:
        self.collection, self.options, self.report = collection, options, report
        self.names = list(names)
        self.results: Figures = {name: {} for name in names}

    def command(self, name: str, step: str) -> list[str]:
        return [
            sys.executable, __file__, "--step", step, "--engine", name, "--collection", str(self.collection),
            "--repeat", str(self.options.repeat),
        ]  # fmt: skip

    def step(self, name: str, step: str) -> dict[str, Any] | None:
        """Run one step in a process; an engine that fails is left out from then on, with its reason."""
        environment = {**os.environ, **_thread_limits(self.options.threads)}
        try:
            done = subprocess.run(
                self.command(name, step), capture_output=True, text=True, env=environment, check=False,
                timeout=self.options.timeout,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return self._drop(name, f"{step} took more than {self.options.timeout:.0f} s")
        if done.returncode:
            return self._drop(name, f"{step} failed: {done.stderr.strip().splitlines()[-1:] or 'no reason given'}")
        return dict(json.loads(done.stdout.strip().splitlines()[-1]))

    def _drop(self, name: str, reason: str) -> None:
        print(f"  {name}: {reason}", file=sys.stderr)
        self.results[name]["left out"] = reason
        self.names.remove(name)

    def measure(self) -> None:
        """Every step for every engine."""
        for name in list(self.names):
            self._load(name)
        for name in list(self.names):
            if (quality := self.step(name, "quality")) is not None:
                self.results[name] |= quality
            self._tell()
        if self.options.turns and not Collection(self.collection).judgements:
            self._times()
        self._tell()

    def _load(self, name: str) -> None:
        """Let an engine index the collection, unless it did so in an earlier run that was kept."""
        folder = self.collection / "engines" / name
        figures = self.collection / "engines" / f"{name}.json"
        if not figures.exists():
            print(f"  {name}: loading", file=sys.stderr)
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            loaded = self.step(name, "load")
            if loaded is None:
                return
            figures.write_text(json.dumps(loaded), encoding="utf-8")
        self.results[name] |= json.loads(figures.read_text(encoding="utf-8"))
        self._tell()

    def _tell(self) -> None:
        """Report what is known so far, so that a run that is stopped has not been for nothing."""
        known = {name: dict(figures) for name, figures in self.results.items()}
        known.get(RicordoEngine.name, {}).update(Collection(self.collection).about["ricordo"])
        self.report(known)

    def _times(self) -> None:
        for turn in range(self.options.turns):
            for name in list(self.names):
                print(f"  {name}: searching, turn {turn + 1}", file=sys.stderr)
                started = time.perf_counter()
                if self.step(name, "cold") is None:
                    continue
                self.results[name].setdefault("cold_ms", []).append((time.perf_counter() - started) * 1000)
                if (found := self.step(name, "search")) is None:
                    continue
                self.results[name]["memory"] = found["memory"]
                for kind, times in found["times"].items():
                    self.results[name].setdefault("times", {}).setdefault(kind, []).extend(times)
                self._tell()
        for name in list(self.names):
            self._beside(name, "busy_ms", [[sys.executable, "-c", "while True: pass"]] * 2)
            if ENGINES[name].shares_folder:
                self._beside(name, "writing_ms", [self.command(name, "write")])
                # What was written slows down later searches, so that a kept index must be made again.
                (self.collection / "engines" / f"{name}.json").unlink(missing_ok=True)
            self._tell()

    def _beside(self, name: str, figure: str, others: Sequence[Sequence[str]]) -> None:
        """Hybrid searches while other processes work."""
        running = [subprocess.Popen(other, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) for other in others]
        try:
            found = self.step(name, "hybrid")
        finally:
            for process in running:
                process.kill()
                process.wait()
        if found is not None:
            self.results[name][figure] = found["times"]


def _thread_limits(threads: int) -> dict[str, str]:
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS", "LANCE_CPU_THREADS")
    return {name: str(threads) for name in names} | {"TOKENIZERS_PARALLELISM": "false", "LANCE_LOG": "error"}


def summarised(result: dict[str, Any]) -> dict[str, Any]:
    """A result with percentiles in the place of single times."""
    answer = dict(result)
    for kind, times in answer.pop("times", {}).items():
        answer[kind] = _percentiles(times)
    for name in ("busy_ms", "writing_ms", "cold_ms"):
        if name in answer:
            answer[name.removesuffix("_ms")] = _percentiles(answer.pop(name))
    return answer


def _percentiles(times: Sequence[float]) -> dict[str, float]:
    return {name: round(percentile(times, share), 3) for name, share in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99))}


def run_all(options: argparse.Namespace) -> dict[str, Any]:
    """Every collection that was asked for."""
    asked = {name: engine for name, engine in ENGINES.items() if name in (options.engines or ENGINES)}
    reasons = {name: engine.missing() for name, engine in asked.items()}
    chosen = [name for name in asked if not reasons[name]]
    results: dict[str, Any] = {
        "command": _command(options), "machine": machine(), "threads": options.threads,
        "engines": {name: (engine.__doc__ or "").rstrip(".") for name, engine in asked.items()},
        "missing": {name: reason for name, reason in reasons.items() if reason}, "sizes": {}, "judged": {},
    }  # fmt: skip

    def measure(made: Path, names: Sequence[str], kind: str, label: str) -> None:
        def report(figures: Figures) -> None:
            results[kind][label] = {name: summarised(one) for name, one in figures.items()}
            if limits := Collection(made).about["limits"]:
                results[kind][label]["limits"] = limits
            if options.out:
                options.out.parent.mkdir(parents=True, exist_ok=True)
                options.out.write_text(json.dumps(results, indent=1), encoding="utf-8")

        Run(made, names, options, report).measure()
        if not options.keep:
            shutil.rmtree(made)

    documents = read_corpus(options.corpus) if options.sizes else []
    with tempfile.TemporaryDirectory(prefix="ricordo-compare-") as temporary:
        folder = options.keep or Path(temporary)
        for size in options.sizes:
            print(f"{size:,} passages", file=sys.stderr)
            made = folder / f"n{size}"
            if not (made / "about.json").exists():
                make_collection(made, documents, size, options)
            names = [name for name in chosen if size <= options.most or name in options.large]
            measure(made, names, "sizes", str(size))
        for judged in options.judged:
            print(f"judged set {judged.name}", file=sys.stderr)
            made = folder / judged.name
            if not (made / "about.json").exists():
                make_judged(made, judged)
            measure(made, chosen, "judged", judged.name)
    return results


def _command(options: argparse.Namespace) -> str:
    """How to run the same again, without the paths of this machine."""
    names = ("sizes", "queries", "repeat", "turns", "timeout", "real")
    given = [f"--{name} {' '.join(map(str, _several(getattr(options, name))))}" for name in names]
    given += [f"--engines {shlex.join(options.engines)}"] if options.engines else []
    judged = [f"--judged {' '.join(folder.name for folder in options.judged)}"] if options.judged else []
    return " ".join(["python bench/compare.py --corpus DIR", *given, *judged])


def _several(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else [value]


def run_step(options: argparse.Namespace) -> None:
    """What a process of its own does: one step of one engine, printed as one line of JSON."""
    collection = Collection(options.collection)
    engine = ENGINES[options.engine](collection, options.collection / "engines" / options.engine)
    steps = {
        "load": lambda: step_load(engine),
        "cold": lambda: step_cold(engine),
        "search": lambda: step_search(engine, options.repeat),
        "hybrid": lambda: step_hybrid(engine, options.repeat),
        "write": lambda: step_write(engine, 3600.0),
        "quality": lambda: step_quality(engine),
    }
    answer = steps[options.step]()
    print(json.dumps(answer), flush=True)
    os._exit(0)  # some engines' threads do not end by themselves


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    add_corpus_options(parser)
    parser.set_defaults(corpus=None)
    parser.add_argument("--sizes", type=int, nargs="*", default=[10_000], metavar="N", help="passages (10000)")
    parser.add_argument("--judged", type=Path, nargs="*", default=[], metavar="SET", help="judged sets, for nDCG@10")
    parser.add_argument("--engines", nargs="*", metavar="NAME", help="only these engines")
    parser.add_argument("--most", type=int, default=100_000, help="above this size only --large engines run (100000)")
    parser.add_argument("--large", nargs="*", default=["Ricordo", "LanceDB"], help="engines for large sizes")
    parser.add_argument("--real", type=int, default=5_000, metavar="N", help="how many vectors are true (5000)")
    parser.add_argument("--repeat", type=int, default=2, help="how often each question is asked in a turn (2)")
    parser.add_argument(
        "--turns", type=int, default=2, help="how often engines take turns (2); with 0 nothing is timed but loading"
    )
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, help="threads per engine (all cores)")
    parser.add_argument("--timeout", type=float, default=3600.0, help="seconds that one step may take (3600)")
    parser.add_argument(
        "--keep", type=Path, metavar="DIR", help="keep collections and indexes in this folder, and use those it holds"
    )
    parser.add_argument("--out", type=Path, help="write all figures to this file, as soon as they are known")
    parser.add_argument("--page", type=Path, help="write tables and plots into this page, from --out or a fresh run")
    parser.add_argument("--step", help=argparse.SUPPRESS)
    parser.add_argument("--engine", help=argparse.SUPPRESS)
    parser.add_argument("--collection", type=Path, help=argparse.SUPPRESS)
    for action in parser._actions:
        action.required = False
    options = parser.parse_args()
    if options.step:
        run_step(options)
        return
    if options.corpus is None and not options.judged:
        results = json.loads(options.out.read_text(encoding="utf-8"))
    else:
        results = run_all(options)
    if options.page:
        write_page(results, options.page)
    elif not options.out:
        print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
