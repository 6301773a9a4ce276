"""How long a person waits for the page: first paint, from the last key to hits, from a hit to its passage.

``python bench/page.py --corpus DIR`` fills a store of 50,000 passages, starts ``ricordo serve`` on it and uses it in a
headless Chromium, which must be there. Beside each figure of the browser stands what the server needs for the same:
so much of the wait is the search, and the rest is the page. ``plain search`` is the API's answer to the same questions.
``paint after the answer`` counts from the last byte of the page that the server sent to the first paint of words;
``layout shift`` is the browser's own measure of what jumps, until all that comes later is there (0 is the target).
Below stand the bytes of style and scripts. ``--store FILE`` keeps the store there, and takes it if it is there already.
"""

from __future__ import annotations

import argparse
import html
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx

from corpus import add_corpus_options, questions_for, read_corpus
from ricordo.engine.ricordo import Ricordo
from ricordo.hosting.running import RunningServer, read_running
from server import fill
from timing import aligned, summary

STATIC = Path(__file__).parents[1] / "src" / "ricordo" / "plugins" / "page" / "static"
PAINT = "performance.getEntriesByName('first-contentful-paint')[0]"
ANSWERED = "performance.getEntriesByType('navigation')[0].responseEnd"
SHIFTS = """window.shift = 0; new PerformanceObserver(all => {
    for (const one of all.getEntries()) if (!one.hadRecentInput) window.shift += one.value;
}).observe({ type: "layout-shift", buffered: true });"""


def of_server(running: RunningServer, questions: list[str]) -> dict[str, Any]:
    """How long the server takes for each part of a page."""
    headers = {"Authorization": f"Bearer {running.token}"}
    figures = {}
    with httpx.Client(base_url=running.address, headers=headers, timeout=120) as client:

        def timed(name: str, path: str, part: bool = False, **more: Any) -> None:
            times = []
            for turn, question in enumerate([questions[0], *questions]):
                marked = {"X-Ricordo-Part": "yes"} if part else {}
                began = time.perf_counter()
                client.get(path, params={"q": question, **more}, headers=marked).raise_for_status()
                if turn:
                    times.append((time.perf_counter() - began) * 1000)
            figures[f"server: {name}"] = summary(times)

        timed("plain search", "/api/v1/search", track=False, limit=20)
        timed("hits", "/hits", part=True)
        timed("facets", "/facets", part=True)
        timed("whole page with its hits", "/")
        _of_hits(client, questions, figures)
    return figures


def _of_hits(client: httpx.Client, questions: list[str], figures: dict[str, Any]) -> None:
    """How long the server takes for the first hit of each question: its preview, and its own page."""
    times: dict[str, list[float]] = {}
    for turn, question in enumerate([questions[0], *questions]):
        hits = client.get("/hits", params={"q": question}, headers={"X-Ricordo-Part": "yes"}).text
        for name, address, part in (
            ("preview of a hit", r'data-look="([^"]+)"', {"X-Ricordo-Part": "yes"}),
            ("the item's page", r'href="(/item[^"]+)"', {}),
        ):
            found = re.search(address, hits)
            assert found is not None
            began = time.perf_counter()
            client.get(html.unescape(found[1]), headers=part).raise_for_status()
            if turn:
                times.setdefault(name, []).append((time.perf_counter() - began) * 1000)
    figures.update({f"server: {name}": summary(some) for name, some in times.items()})


def of_browser(running: RunningServer, link: str, questions: list[str]) -> tuple[dict[str, Any], float]:
    """How long a person waits, and the most that a page of hits jumped."""
    from playwright.sync_api import sync_playwright

    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    times: dict[str, list[float]] = {}
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=program, args=["--no-sandbox"])
        tab = browser.new_page(bypass_csp=True, viewport={"width": 1400, "height": 900})
        tab.set_default_timeout(120_000)
        tab.add_init_script(SHIFTS)
        tab.goto(link)
        shift = 0.0

        def timed(name: str, do: Callable[[], Any]) -> None:
            began = time.perf_counter()
            do()
            times.setdefault(name, []).append((time.perf_counter() - began) * 1000)

        for question in questions:
            tab.goto(running.address)
            tab.wait_for_function(PAINT)
            times.setdefault("first paint of the home", []).append(tab.evaluate(f"{PAINT}.startTime"))
            tab.fill("#q", question[:-1])
            tab.locator(".hit").first.wait_for()
            tab.locator("#q").press("End")
            with tab.expect_response(lambda answer: "/hits?" in answer.url):
                began = time.perf_counter()
                tab.keyboard.type(question[-1])
            tab.wait_for_function("asked => document.title.startsWith(asked)", arg=question.strip())
            times.setdefault("last key to hits", []).append((time.perf_counter() - began) * 1000)
            tab.keyboard.press("Escape")
            tab.wait_for_load_state("networkidle")  # facets come behind the hits; a person reads meanwhile
            timed("a hit to its preview", lambda: _press(tab, "j", "#reader:not([aria-busy]) .peek"))
            timed("a hit to its passage", lambda: _press(tab, "Enter", "article.item .view"))
            tab.goto(f"{running.address}/?q={question}")
            tab.wait_for_function(PAINT)
            painted = tab.evaluate(f"{PAINT}.startTime")
            times.setdefault("first paint of a question's address", []).append(painted)
            times.setdefault("paint after the answer", []).append(painted - tab.evaluate(ANSWERED))
            tab.wait_for_load_state("networkidle")
            shift = max(shift, tab.evaluate("window.shift"))
        browser.close()
    return {f"browser: {name}": summary(some) for name, some in times.items()}, shift


def _press(tab: Any, key: str, until: str) -> None:
    tab.keyboard.press(key)
    tab.locator(until).first.wait_for()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    add_corpus_options(parser)
    parser.add_argument("--chunks", type=int, default=50_000, metavar="N", help="size of the store (50000)")
    parser.add_argument("--real", type=int, default=500, metavar="N", help="how many vectors are true (500)")
    parser.add_argument("--rounds", type=int, default=10, metavar="N", help="how many questions (10)")
    parser.add_argument("--store", type=Path, metavar="FILE", help="a store that is kept, or taken if it is there")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ricordo-bench-") as folder:
        os.environ |= dict.fromkeys(("RICORDO_CONFIG_HOME", "RICORDO_DATA_HOME", "RICORDO_STATE_HOME"), folder)
        file = options.store or Path(folder) / "store.db"
        if file.exists():
            questions = list(questions_for(read_corpus(options.corpus), options.queries, seed=options.seed))
            with Ricordo.open(file) as engine:
                chunks = engine.status()["chunks"]
        else:
            chunks, questions = fill(options, file)
        command = [sys.executable, "-m", "ricordo", "serve"]
        start = [*command, "start", "--port", "0", "--json", "--store", str(file)]
        said = subprocess.run(start, check=True, capture_output=True).stdout
        running = read_running()
        assert running is not None
        asked = questions[: options.rounds]
        try:
            figures = of_server(running, asked)
            of_page, shift = of_browser(running, json.loads(said)["data"]["link"], asked)
        finally:
            subprocess.run([*command, "stop"], check=True, capture_output=True)
    rows = [[name, f"{row['p50_ms']:.0f}", f"{row['p95_ms']:.0f}"] for name, row in (figures | of_page).items()]
    print(aligned((f"{chunks:,} passages", "p50 ms", "p95 ms"), rows))
    style, scripts = (sum(one.stat().st_size for one in STATIC.glob(f"*.{kind}")) for kind in ("css", "js"))
    print(f"layout shift of a page of hits: {shift:.4f}; style: {style:,} bytes; scripts: {scripts:,} bytes")


if __name__ == "__main__":
    main()
