"""How long a prompt waits for ``ricordo hook user-prompt``, from starting the process to its end.

``python bench/hook.py --corpus DIR`` builds a store of 50,000 chunks and asks it questions as an agent's program would:
a new process each, a JSON payload on standard input. ``--store FILE`` asks a store there is. First on the machine as
it is, then beside ``--load`` processes that only compute (twice the cores): then the figure to look at is the longest,
which the limit ``hooks.seconds`` (2) bounds, and how often there was still an answer. With a limit of ``--tight``
seconds, the answer by words has to do.

``--beside-mcp`` lets ``ricordo mcp`` run meanwhile, as an agent's program starts it, and no ``ricordo serve``: then it
answers hooks. Hooks take turns with ``python -c pass``, and with hooks that find nobody; of all of them the time until
they end and the time of the processor are taken (target: a prompt waits at most 0.2 s).
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
from timing import aligned, keep_byte_code, percentile, print_json

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


def spent(command: Sequence[str], payload: bytes, env: dict[str, str]) -> tuple[float, float]:
    """Milliseconds until a process ended, and those that it and its own processes computed."""
    before, started = os.times(), time.perf_counter()
    subprocess.run(command, input=payload, capture_output=True, check=True, env=env)
    after = os.times()
    computed = after.children_user + after.children_system - before.children_user - before.children_system
    return (time.perf_counter() - started) * 1000, computed * 1000


@contextmanager
def mcp_server(command: Sequence[str], env: dict[str, str]) -> Iterator[None]:
    """An MCP server that a client has greeted, and that has answered a search."""
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
    asked: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "search", "arguments": {"query": QUESTIONS[0]}}},
    ]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        for message in asked:
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
            process.stdin.flush()
        while json.loads(process.stdout.readline()).get("id") != 2:
            pass
        yield
    finally:
        process.stdin.close()
        process.wait()


def beside_mcp(ricordo: Sequence[str], store: Path, rounds: int, folder: str) -> dict[str, dict[str, Any]]:
    """Hooks that a running MCP server answers, in turns with hooks alone and with an interpreter that does nothing."""
    hook = [*ricordo, "hook", "user-prompt", "--store", str(store)]
    env = {**os.environ, "RICORDO_STATE_HOME": folder}
    alone = {**os.environ, "RICORDO_STATE_HOME": str(Path(folder) / "alone")}
    taken: dict[str, list[tuple[float, float]]] = {"python -c pass": [], "hook, answered by mcp": [], "hook alone": []}
    with mcp_server([*ricordo, "mcp", "--store", str(store)], env):
        for turn in range(rounds + 2):
            prompt = QUESTIONS[turn % len(QUESTIONS)]
            payload = json.dumps(
                {"hook_event_name": "UserPromptSubmit", "session_id": f"bench {turn}", "prompt": prompt}
            ).encode()
            for name, command, variables in (
                ("python -c pass", [sys.executable, "-c", "pass"], env),
                ("hook, answered by mcp", hook, env),
                ("hook alone", hook, alone),
            ):
                figures = spent(command, payload, variables)
                if turn > 1:  # the first ones open the store, there and here
                    taken[name].append(figures)
    return {
        name: {
            "p50_ms": round(percentile([wall for wall, _ in found], 0.5)),
            "least_ms": round(min(wall for wall, _ in found)),
            "max_ms": round(max(wall for wall, _ in found)),
            "processor_ms": round(percentile([computed for _, computed in found], 0.5)),
        }
        for name, found in taken.items()
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


def program() -> list[str]:
    """The installed command, or the module."""
    script = Path(sys.executable).with_name("ricordo")
    return [str(script)] if script.exists() else [sys.executable, "-m", "ricordo"]


def figures(store: Path, options: argparse.Namespace, folder: str) -> dict[str, dict[str, Any]]:
    command = [*program(), "hook", "user-prompt", "--store", str(store)]
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
    parser.add_argument("--beside-mcp", action="store_true", help="let an MCP server run, which answers hooks")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args()
    keep_byte_code()
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
        if options.beside_mcp:
            beside = beside_mcp(program(), store, options.rounds, folder)
            if options.json:
                print_json({"hook": beside})
                return
            columns = ("p50_ms", "least_ms", "max_ms", "processor_ms")
            rows = [[name, *(str(one[column]) for column in columns)] for name, one in beside.items()]
            print(aligned(["", "p50 ms", "least ms", "max ms", "processor ms"], rows))
            return
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
