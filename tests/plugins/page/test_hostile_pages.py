"""A trap in every text, title, tag, name, question, commit and turn: whatever the page shows of it, nothing runs."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from tests.server.http_sites import Listening, listen

from .browsers import Tab, browser, loaded
from .full_sites import fill

TRAP = (
    "<script>window.stolen=1</script><img src=x onerror='window.stolen=1'>"
    '"><svg onload="window.stolen=1"></svg><a href="javascript:window.stolen=1">go</a>'
    "<iframe src='http://evil.example/'></iframe><b onclick='window.stolen=1' id='done'>trap</b>"
)
HARMFUL = (
    "main script, main img, main iframe, main svg[onload], a[href^='javascript:'], [onclick], [onload], [onerror],"
    " #palette script, #palette img, #done script, #done img, .selection-bar img, b#done"
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Listening, list[str]]]:
    folder = tmp_path_factory.mktemp("hostile")
    served, end = listen(folder)
    yield served, fill(served.engine, folder, TRAP)
    end()


@pytest.fixture(scope="module")
def tab(site: tuple[Listening, list[str]]) -> Iterator[Tab]:
    with browser() as running:
        context = running.new_context(viewport={"width": 1400, "height": 900})
        context.set_default_timeout(120_000)
        opened = Tab(context, site[0])
        opened.page.goto(site[0].link())
        yield opened
        context.close()


def harmless(page: Any, where: str) -> None:
    assert page.locator(HARMFUL).count() == 0, where
    assert page.evaluate("window.stolen") is None, where


def until(page: Any, condition: str) -> None:
    deadline = time.monotonic() + 60
    while not page.evaluate(condition):
        assert time.monotonic() < deadline, condition
        page.wait_for_timeout(20)


def test_no_page_runs_what_a_text_says(tab: Tab, site: tuple[Listening, list[str]]) -> None:
    for path in site[1]:
        page = tab.go(path)
        loaded(page)
        harmless(page, path)
    for path in (
        f"/?q={quote(TRAP)}",
        f"/?tag={quote(TRAP)}",
        f"/log?by={quote(TRAP[:200])}",
        f"/add?title={quote(TRAP)}",
    ):
        harmless(tab.go(path), path)
    assert [one for one in tab.complaints if "404" not in one] == []
    tab.complaints.clear()


def test_the_trap_is_where_it_is_looked_for(tab: Tab) -> None:
    """Else a page without it would pass for harmless."""
    paths = (
        *("/", "/?q=keys", "/log", "/log?view=told", "/bin", "/bin?state=archived", "/tags", "/review"),
        *("/log?view=changed", "/browse?prefix=note:/", "/session?id=talk", "/item?ref=note:/keys"),
    )
    for path in paths:
        page = tab.go(path)
        until(page, "document.body.innerText.includes('window.stolen=1')")


def test_nothing_runs_in_what_is_opened_over_a_page(tab: Tab) -> None:
    page = tab.go("/?q=keys")
    page.locator(".pick").first.wait_for()
    page.keyboard.press("j")
    page.locator("#reader:not([aria-busy]) .peek", has_text="stolen").wait_for()
    harmless(page, "preview")
    page.keyboard.press("x")
    page.keyboard.press("t")
    page.locator(".selection-bar input").fill(TRAP.replace(",", " ") + " too")
    page.keyboard.press("Enter")
    page.locator("[data-undo]").wait_for()
    harmless(page, "undo bar")
    page.keyboard.press("Control+k")
    page.locator("#palette-words").fill("window.stolen")
    page.locator("#palette .choice", has_text="stolen").first.wait_for()
    harmless(page, "palette")
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    page.keyboard.press("u")
    page.locator("#done", has_text="Undone").wait_for()
    harmless(page, "undone")
    page = tab.go("/item?ref=note:/pier-00")
    page.locator("a.wiki").first.hover()
    page.locator(".hover-peek").wait_for()
    harmless(page, "preview of a link")
    page = tab.go("/why")
    page.locator("[data-picks]").press_sequentially("signing")
    page.locator(".picks .choice", has_text="stolen").first.wait_for()
    harmless(page, "items to choose from")
    assert tab.complaints == []


def test_nothing_runs_in_the_graph_and_what_is_chosen_there(tab: Tab) -> None:
    page = tab.go("/graph")
    page.wait_for_selector("#graph-canvas[data-settled]")
    page.fill("#graph-find", "stolen")
    page.keyboard.press("Enter")
    page.locator("#graph-chosen h2", has_text="stolen").wait_for()
    harmless(page, "graph")
    assert tab.complaints == []


def test_what_is_exported_is_a_file_and_no_page(tab: Tab) -> None:
    request = tab.page.context.request
    for name, kind in (("markdown", "text/markdown"), ("json", "application/json")):
        answer = request.get(f"{tab.site.address}/export", params={"q": "keys", "format": name})
        assert "attachment" in answer.headers["content-disposition"]
        assert answer.headers["content-type"].startswith(kind)
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "window.stolen" in answer.text()
    assert isinstance(json.loads(answer.text()), list)
