"""A real Chromium for the tests, where there is one."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.server.http_sites import Listening

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
AXE = Path(__file__).parent / "axe" / "axe.min.js"


def chromium() -> str:
    """The browser's program; the test is skipped where there is none."""
    found = os.environ.get("RICORDO_TEST_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.skip("there is no Chromium here; on Debian: apt-get install chromium")
    return found


@contextmanager
def browser() -> Iterator[Any]:
    """A headless browser."""
    driver = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    program = chromium()
    with driver.sync_playwright() as play:
        running = play.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield running
        running.close()


def findings(page: Any, *rules: str) -> list[str]:
    """What axe-core finds wrong with a page, however little it matters; by some of its rules, or by all."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text(encoding="utf-8"))
    options = {"resultTypes": ["violations"], **({"runOnly": list(rules)} if rules else {})}
    found = page.evaluate("options => axe.run(document, options)", options)
    return [f"{one['id']}: {node['html'][:160]}" for one in found["violations"] for node in one["nodes"]]


def loaded(page: Any) -> None:
    """Wait for the parts of a page that come after it, and for a graph."""
    waiting = (
        "document.querySelector('main [data-loads]:not([data-settles])') !== null"
        " || /Asking again|Looking…/.test(document.querySelector('main').innerText)"
        " || document.querySelector('#reader[aria-busy], #graph-canvas:not([data-settled])') !== null"
        " || (document.querySelector('#results .hit') && document.querySelector('#facets .found').innerText === '')"
    )
    deadline = time.monotonic() + 120
    while page.evaluate(waiting):
        assert time.monotonic() < deadline, page.url
        page.wait_for_timeout(20)


class Tab:
    """A tab of a browser that signed in, which notices every complaint and every request to elsewhere."""

    def __init__(self, context: Any, site: Listening) -> None:
        self.site = site
        self.page = context.new_page()
        self.complaints: list[str] = []
        self.page.on("console", self._said)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", self._asked)

    def _said(self, message: Any) -> None:
        if message.type == "error":
            self.complaints.append(message.text)

    def _asked(self, request: Any) -> None:
        if not request.url.startswith((self.site.address, "data:")):
            self.complaints.append(f"asked for {request.url}")

    def go(self, path: str) -> Any:
        self.page.goto(self.site.address + path)
        return self.page
