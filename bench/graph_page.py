"""How smooth the graph of the page is: time to the first picture, to the final one, and frames while it is moved.

``python bench/graph_page.py --items 5000`` fills a store with linked notes, serves it, and opens the graph in Chromium,
which must be there. Figures of "layout" are taken while a worker still seeks places.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tests.server.browsers import browser
from tests.server.http_sites import Listening, listen

from ricordo.values.items import Entry

FRAMES = """([frames, way]) => new Promise(done => {
    const canvas = document.getElementById("graph-canvas"), box = canvas.getBoundingClientRect(), times = [];
    const at = {bubbles: true, pointerId: 1, clientX: box.x + 200, clientY: box.y + 200};
    let last = performance.now(), step = 0;
    canvas.setPointerCapture = () => {};  // there is no such pointer
    if (way === "pan") canvas.dispatchEvent(new PointerEvent("pointerdown", at));
    function next(now) {
        times.push(now - last);
        last = now;
        if (++step > frames) {
            canvas.dispatchEvent(new PointerEvent("pointercancel", at));
            return done(times.slice(1));
        }
        if (way === "zoom") {
            canvas.dispatchEvent(new WheelEvent("wheel", {...at, deltaY: step % 40 < 20 ? -40 : 40, cancelable: true}));
        } else {
            const dx = 250 * Math.sin(step / 25), dy = 60 * Math.sin(step / 40);
            const there = {...at, clientX: at.clientX + dx, clientY: at.clientY + dy};
            canvas.dispatchEvent(new PointerEvent("pointermove", there));
        }
        requestAnimationFrame(next);
    }
    requestAnimationFrame(next);
})"""


def fill(site: Listening, count: int) -> None:
    """Notes that link to some earlier ones, a few of them to many: as in a wiki."""
    chance = random.Random(7)
    kinds = ("note", "note", "note", "article", "resource")
    entries = []
    for number in range(count):
        ends = {int(number * chance.random() ** 2) for _ in range(chance.randint(1, 3))} if number else set()
        links = " ".join(f"[[n{end}]]" for end in sorted(ends))
        entries.append(Entry(f"note:/n{number}", f"About {number}. {links}", chance.choice(kinds)))
    site.engine.save_many(entries, wait=False)


def measure(page: Any, site: Listening, frames: int) -> dict[str, float]:
    began = time.perf_counter()
    page.goto(f"{site.address}/graph")
    page.wait_for_selector("#graph-kinds label")
    found = {"until the data are there, ms": (time.perf_counter() - began) * 1000}
    found |= _frames("layout, zoom", page.evaluate(FRAMES, [frames // 2, "zoom"]))
    page.wait_for_selector("#graph-canvas[data-settled]", timeout=600_000)
    found["until the last place is found, ms"] = (time.perf_counter() - began) * 1000
    for way in ("pan", "zoom"):
        found |= _frames(f"settled, {way}", page.evaluate(FRAMES, [frames, way]))
    return found


def _frames(name: str, times: list[float]) -> dict[str, float]:
    ordered = sorted(times)
    return {
        f"{name}: a frame, median ms": statistics.median(ordered),
        f"{name}: a frame, 95 of 100 within ms": ordered[int(len(ordered) * 0.95)],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=5000)
    parser.add_argument("--frames", type=int, default=120)
    parser.add_argument("--picture", type=Path, help="Write a picture of the graph to this file.")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, browser() as running:
        site, end = listen(Path(folder))
        fill(site, asked.items)
        context = running.new_context(viewport={"width": 1400, "height": 1000})
        page = context.new_page()
        page.set_default_timeout(600_000)
        page.goto(site.link())
        figures = measure(page, site, asked.frames)
        sys.stdout.write(page.locator("#graph-status").inner_text() + "\n")
        for name, value in figures.items():
            sys.stdout.write(f"{name}: {value:,.1f}\n")
        if asked.picture:
            page.screenshot(path=str(asked.picture))
        context.close()
        end()


if __name__ == "__main__":
    main()
