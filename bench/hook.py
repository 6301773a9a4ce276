"""How long a prompt waits for ``ricordo hook user-prompt``, from starting the process to its end.

``python bench/hook.py --corpus DIR`` builds a store of 50,000 chunks and asks it questions as an agent's program would:
a new process each, a JSON payload on standard input. ``--store FILE`` asks a store there is. First on the machine as
it is, then beside ``--load`` processes that only compute (twice the cores): then the figure to look at is the longest,
which the limit ``hooks.seconds`` (2) bounds, and how often there was still an answer. With a limit of ``--tight``
seconds, the answer by words has to do.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from corpus import QUESTIONS, read_corpus
from startup import build_store
from stores import GrowingStore
from timing import aligned, percentile, print_json

BUSY = "while True: pass"


def ask(command: Sequence[str], question: str, env: dict[str, str]) -> tuple[float, bool]:
    """Milliseconds until the hook ended, and whether it told anything."""
    payload = json.dumps({"hook_event_name": "UserPromptSubmit", "session_id": "bench", "prompt": question})
    started = time.perf_counter()
    done = subprocess.run(command, input=payload.encode(), capture_output=True, check=False, env=env)
    taken = (time.perf_counter() - started) * 1000
    if done.returncode != 0 or done.stderr:
        raise SystemExit(f"the hook failed: {done.returncode} {done.stderr.decode()}")
    return taken, "hookSpecificOutput" in json.loads(done.stdout)


def measure(command: Sequence[str], rounds: int, env: dict[str, str]) -> dict[str, Any]:
    asked = [ask(command, QUESTIONS[turn % len(QUESTIONS)], env) for turn in range(rounds)]
    times = [taken for taken, _ in asked]
    return {
        "p50_ms": round(percentile(times, 0.5)),
        "p95_ms": round(percentile(times, 0.95)),
        "max_ms": round(max(times)),
        "answered": sum(answered for _, answered in asked),
        "asked": len(asked),
    }


@contextmanager
def busy(processes: int) -> Iterator[None]:
    """So many processes that only compute."""
    running = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(processes)]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


def figures(store: Path, options: argparse.Namespace, folder: str) -> dict[str, dict[str, Any]]:
    script = Path(sys.executable).with_name("ricordo")
    command = [*([str(script)] if script.exists() else [sys.executable, "-m", "ricordo"]), "hook", "user-prompt"]
    command += ["--store", str(store)]
    env = {**os.environ, "RICORDO_STATE_HOME": folder}
    tight = {**env, "RICORDO_HOOKS_SECONDS": str(options.tight)}
    ask(command, QUESTIONS[0], env)  # writes byte code and warms the file cache
    found = {"as it is": measure(command, options.rounds, env)}
    with busy(options.load):
        found[f"beside {options.load} busy processes"] = measure(command, options.rounds, env)
        found[f"the same, {options.tight:g} s"] = measure(command, options.rounds, tight)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--corpus", type=Path, metavar="DIR", help="a folder of text files to build the store from")
    parser.add_argument("--store", type=Path, metavar="FILE", help="ask this store instead of building one")
    parser.add_argument("--chunks", type=int, default=50_000, metavar="N", help="size of the store (50000)")
    parser.add_argument("--real", type=int, default=500, metavar="N", help="how many vectors are true (500)")
    parser.add_argument("--words", action="store_true", help="build the store without vectors")
    parser.add_argument("--rounds", type=int, default=20, help="prompts each time (20)")
    parser.add_argument("--load", type=int, default=2 * (os.cpu_count() or 1), metavar="N", help="busy processes")
    parser.add_argument("--tight", type=float, default=1.0, metavar="SECONDS", help="a shorter limit to try (1)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args()
    if options.store is None and options.corpus is None:
        parser.error("give --corpus or --store")
    with tempfile.TemporaryDirectory(prefix="ricordo-bench-") as folder:
        store = options.store or Path(folder) / "store.db"
        if options.store is None:
            documents = read_corpus(options.corpus)
            if options.words:
                GrowingStore(store, documents, most=options.chunks, seed=options.seed).grow(options.chunks)
            else:
                build_store(store, documents, options)
        found = figures(store, options, folder)
    if options.json:
        print_json({"chunks": options.chunks if options.store is None else None, "hook": found})
        return
    rows = [
        [name, str(one["p50_ms"]), str(one["p95_ms"]), str(one["max_ms"]), f"{one['answered']}/{one['asked']}"]
        for name, one in found.items()
    ]
    print(aligned(["hook user-prompt", "p50 ms", "p95 ms", "max ms", "answered"], rows))


if __name__ == "__main__":
    main()
