"""The server on a large store: how fast the page shows hits, 50 clients at once, and hooks through it and alone.

``python bench/server.py --corpus DIR`` fills a store of 50,000 chunks, starts ``ricordo serve`` on it as a process of
its own, and measures in this order:

- ``page``: in a headless Chromium (skipped where there is none), from opening the page until its first paint, and from
  the last key of a question until its hits are shown;
- ``one client``: ``GET /api/v1/search``, one after the other;
- ``clients``: ``--clients`` of them at once for ``--seconds``, and how many answers were not 200;
- ``hook``: ``ricordo hook user-prompt`` through the server and alone, by turns (target: a fifth of the time).

Most chunks get vectors made from pairs of true ones, because the time of a search does not depend on what they mean.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx

from corpus import QUESTIONS, add_corpus_options, questions_for, read_corpus
from embeddings import give_vectors, real_vectors, shipped_embedder, spread
from hook import ask as ask_hook
from ricordo.engine.ricordo import Ricordo
from ricordo.hosting.running import RunningServer, read_running, state_path
from stores import GrowingStore
from timing import aligned, keep_byte_code, machine, print_json, summary


def fill(options: argparse.Namespace, file: Path) -> tuple[int, list[str]]:
    """A store of so many chunks with vectors, and questions for it."""
    documents = read_corpus(options.corpus)
    questions = questions_for(documents, options.queries, file=options.questions, seed=options.seed)
    embedder = shipped_embedder()
    growth = GrowingStore(file, documents, most=options.chunks, seed=options.seed).grow(options.chunks)
    vectors = spread(real_vectors(documents, options.real, embedder), growth.chunks, seed=options.seed)
    with Ricordo.open(file) as engine:
        give_vectors(engine, embedder, vectors)
    return growth.chunks, list(questions)


def one_client(running: RunningServer, questions: list[str]) -> dict[str, Any]:
    with httpx.Client(base_url=running.address, headers=_token(running), timeout=60) as client:
        client.get("/api/v1/search", params={"q": questions[0]})
        times = []
        for question in questions:
            started = time.perf_counter()
            client.get("/api/v1/search", params={"q": question, "track": False}).raise_for_status()
            times.append((time.perf_counter() - started) * 1000)
    return summary(times)


def many_clients(running: RunningServer, questions: list[str], clients: int, seconds: float) -> dict[str, Any]:
    times: list[float] = []
    bad: list[str] = []

    async def client(number: int, until: float) -> None:
        async with httpx.AsyncClient(base_url=running.address, headers=_token(running), timeout=60) as web:
            turn = number
            while time.monotonic() < until:
                started = time.perf_counter()
                try:
                    answer = await web.get("/api/v1/search", params={"q": questions[turn % len(questions)]})
                    if answer.status_code != 200:
                        bad.append(str(answer.status_code))
                except httpx.HTTPError as error:
                    bad.append(type(error).__name__)
                times.append((time.perf_counter() - started) * 1000)
                turn += 1

    async def all_of_them() -> None:
        until = time.monotonic() + seconds
        await asyncio.gather(*(client(number, until) for number in range(clients)))

    asyncio.run(all_of_them())
    figures: dict[str, Any] = {"clients": clients, "seconds": seconds, "answers": len(times), "errors": len(bad)}
    return figures | {"per_second": round(len(times) / seconds, 1)} | summary(times)


def page(running: RunningServer, link: str, questions: list[str]) -> dict[str, Any] | None:
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if program is None:
        return None
    from playwright.sync_api import sync_playwright

    paints, hits = [], []
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=program, args=["--no-sandbox"])
        tab = browser.new_page(bypass_csp=True)  # for the questions of this program alone
        tab.goto(link)
        for question in questions[:10]:
            tab.goto(running.address)
            entry = "performance.getEntriesByName('first-contentful-paint')[0]"
            tab.wait_for_function(entry)
            paints.append(float(tab.evaluate(f"{entry}.startTime")))
            tab.fill("#q", question[:-1])
            tab.locator(".hit").first.wait_for()
            with tab.expect_response(lambda answer: "/hits?" in answer.url):
                started = time.perf_counter()
                tab.locator("#q").press("End")
                tab.locator("#q").press_sequentially(question[-1])
            tab.wait_for_function("asked => document.title.startsWith(asked)", arg=question.strip())
            hits.append((time.perf_counter() - started) * 1000)
        browser.close()
    return {"first paint": summary(paints), "last key to hits": summary(hits)}


def hooks(running: RunningServer, store: Path, questions: list[str], rounds: int) -> dict[str, Any]:
    """By turns through the server and alone, in one run; ``cpu_ms`` counts the server's share too."""
    place = Path(state_path())
    aside = place.with_name("aside.json")
    command = [sys.executable, "-P", "-m", "ricordo", "hook", "user-prompt", "--store", str(store), "--within", "60"]
    times: dict[str, list[float]] = {"server": [], "alone": []}
    answered = dict.fromkeys(times, 0)
    cpu = dict.fromkeys(times, 0.0)
    for turn in range(rounds):
        for way in times:
            if way == "alone":
                place.rename(aside)
            before = _children_cpu(), _cpu(running.pid)
            taken, said = ask_hook(command, questions[turn % len(questions)], dict(os.environ))
            cpu[way] += _children_cpu() - before[0] + (_cpu(running.pid) - before[1] if way == "server" else 0)
            if way == "alone":
                aside.rename(place)
            times[way].append(taken)
            answered[way] += said
    figures: dict[str, Any] = {
        way: summary(found) | {"answered": answered[way], "asked": rounds, "cpu_ms": round(cpu[way] / rounds * 1000)}
        for way, found in times.items()
    }
    ratios = {name: figures["alone"][name] / figures["server"][name] for name in ("p50_ms", "cpu_ms")}
    return figures | {"times_faster": round(ratios["p50_ms"], 1), "times_less_cpu": round(ratios["cpu_ms"], 1)}


def _children_cpu() -> float:
    """Seconds of the processor that processes started here took, and ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _cpu(pid: int) -> float:
    """Seconds of the processor that a running process took."""
    fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def bench(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    os.environ |= dict.fromkeys(("RICORDO_CONFIG_HOME", "RICORDO_DATA_HOME", "RICORDO_STATE_HOME"), str(folder))
    file = folder / "store.db"
    if options.store:
        file, questions = options.store, list(QUESTIONS)
        with Ricordo.open(file) as engine:
            chunks = engine.status()["chunks"]
    else:
        chunks, questions = fill(options, file)
    command = [sys.executable, "-m", "ricordo", "serve", "start", "--port", "0", "--store", str(file), "--json"]
    command += ["--workers", str(options.workers)]
    started = time.perf_counter()
    link = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["data"]["link"]
    figures: dict[str, Any] = {"chunks": chunks, "start_seconds": round(time.perf_counter() - started, 1)}
    running = read_running()
    assert running is not None
    try:
        figures["one client"] = one_client(running, questions)
        figures["page"] = page(running, link, questions)
        before = _cpu(running.pid)
        figures["clients"] = many_clients(running, questions, options.clients, options.seconds)
        taken = (_cpu(running.pid) - before) / max(1, figures["clients"]["answers"])
        figures["clients"]["cpu_ms_each"] = round(taken * 1000, 1)
        figures["hook"] = hooks(running, file, questions, options.rounds)
    finally:
        subprocess.run([sys.executable, "-m", "ricordo", "serve", "stop"], check=True, capture_output=True)
    return figures | {"machine": machine()}


def _token(running: RunningServer) -> dict[str, str]:
    return {"Authorization": f"Bearer {running.token}"}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    add_corpus_options(parser)
    parser.add_argument("--chunks", type=int, default=50_000, metavar="N", help="size of the store (50000)")
    parser.add_argument("--real", type=int, default=500, metavar="N", help="how many vectors are true (500)")
    parser.add_argument("--store", type=Path, metavar="FILE", help="ask a store there is instead of filling one")
    parser.add_argument("--clients", type=int, default=50, metavar="N", help="how many ask at once (50)")
    parser.add_argument("--workers", type=int, default=0, metavar="N", help="processes that answer searches (0)")
    parser.add_argument("--seconds", type=float, default=60, help="for how long (60)")
    parser.add_argument("--rounds", type=int, default=10, metavar="N", help="hooks of each way (10)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args()
    keep_byte_code()
    with tempfile.TemporaryDirectory(prefix="ricordo-bench-") as folder:
        figures = bench(options, Path(folder))
    if options.json:
        print_json(figures)
        return
    rows = [["one client", *_times(figures["one client"])]]
    rows += [[f"page: {name}", *_times(row)] for name, row in (figures["page"] or {}).items()]
    many = figures["clients"]
    said = f"{many['per_second']:.0f} answers a second, {many['errors']} errors"
    rows.append([f"{many['clients']} clients: {said}", *_times(many)])
    rows += [[f"hook: {way}", *_times(figures["hook"][way])] for way in ("server", "alone")]
    rows.append(["hook: alone / server", f"{figures['hook']['times_faster']}x", ""])
    rows.append(["hook: the same, processor time", f"{figures['hook']['times_less_cpu']}x", ""])
    print(aligned((f"{figures['chunks']:,} chunks", "p50 ms", "p95 ms"), rows))


def _times(row: dict[str, Any]) -> tuple[str, str]:
    return f"{row['p50_ms']:.1f}", f"{row['p95_ms']:.1f}"


if __name__ == "__main__":
    main()
