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
AXE = Path(__file__).parent / "axe"


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
        # One process for the pages of a context: new ones for each site and in advance cost more than the tests.
        args = ["--no-sandbox", "--disable-dev-shm-usage", "--renderer-process-limit=1"]
        running = play.chromium.launch(executable_path=program, args=args)
        yield running
        running.close()


class Access:
    """What axe-core finds wrong with pages, however little it matters.

    Whether words can be told from their ground depends on a few values of their style alone: of the words of all
    pages that have the same, one is asked about.
    """

    def __init__(self) -> None:
        self._seen: list[str] = []

    def findings(self, page: Any) -> list[str]:
        """What all rules find but those of colours, and then what these find."""
        return [*self._run(page, None)[0], *self.colours(page)]

    def colours(self, page: Any) -> list[str]:
        """What the rules of colours find."""
        told, fresh = self._run(page, self._seen)
        self._seen += fresh
        return told

    def _run(self, page: Any, seen: list[str] | None) -> Any:
        if not page.evaluate("'axe' in window"):
            page.evaluate((AXE / "axe.min.js").read_text(encoding="utf-8"))
        return page.evaluate((AXE / "findings.js").read_text(encoding="utf-8"), seen)


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
        self._size = self.page.viewport_size
        self.complaints: list[str] = []
        self.page.on("console", self._said)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", self._asked)

    def end_of_test(self) -> None:
        """Make the tab as it was for the next test: opening another one costs more than most of them."""
        self.page.unroute_all()
        self.page.mouse.move(0, 0)
        self.page.set_viewport_size(self._size)
        self.go("/healthz")  # which has no scripts, so that nothing goes on
        self.page.evaluate("localStorage.clear(); sessionStorage.clear()")
        complaints, self.complaints = self.complaints, []
        assert complaints == []

    def _said(self, message: Any) -> None:
        if message.type == "error":
            self.complaints.append(message.text)

    def _asked(self, request: Any) -> None:
        if not request.url.startswith((self.site.address, "data:")):
            self.complaints.append(f"asked for {request.url}")

    def go(self, path: str) -> Any:
        self.page.goto(self.site.address + path)
        return self.page
