"""Every page, with a trap in every text, title, tag, name, question, commit and turn: whatever a page shows of it,
nothing runs; axe-core finds nothing, light and dark, on a desktop and on a phone; and nothing overflows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from tests.server.http_sites import Listening, listen

from .browsers import AXE, Access, Tab, loaded
from .full_sites import fill

DESKTOP, PHONE = 1280, 390
TRAP = (
    "<script>window.stolen=1</script><img src=x onerror='window.stolen=1'>"
    '"><svg onload="window.stolen=1"></svg><a href="javascript:window.stolen=1">go</a>'
    "<iframe src='http://evil.example/'></iframe><b onclick='window.stolen=1' id='done'>trap</b>"
)
HARMFUL = (
    "main script, main img, main iframe, main svg[onload], a[href^='javascript:'], [onclick], [onload], [onerror],"
    " #palette script, #palette img, #done script, #done img, .selection-bar img, b#done"
)
ASKED = tuple(
    f"{path}{quote(TRAP[:200])}" for path in ("/?q=", "/?tag=", "/log?by=", "/add?title=", "/compare?q=", "/why?q=")
)
SHOWN = (
    *("/", "/?q=keys", "/log", "/log?view=told", "/bin", "/bin?state=archived", "/tags", "/review"),
    *("/log?view=changed", "/browse?prefix=note:/", "/session?id=talk&turn=2"),
)
"""Pages that show the trap; else one without it would pass for harmless."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Listening, list[str]]]:
    folder = tmp_path_factory.mktemp("site")
    served, end = listen(folder)
    yield served, fill(served.engine, folder, TRAP)
    end()


@pytest.fixture(scope="module")
def tab(running: Any, site: tuple[Listening, list[str]]) -> Iterator[Tab]:
    context = running.new_context(service_workers="block")
    context.add_init_script(path=AXE / "axe.min.js")
    context.set_default_timeout(120_000)
    opened = Tab(context, site[0])
    opened.page.goto(site[0].link())
    yield opened
    context.close()


class Look:
    """Looks at what a tab shows, and keeps what is wrong with it."""

    def __init__(self, page: Any) -> None:
        self.page, self.wrong, self.access = page, list[str](), Access()

    def turn(self, width: int, scheme: str) -> None:
        """The same page on a screen of another width, with other colours."""
        self.page.set_viewport_size({"width": width, "height": 844})
        self.page.emulate_media(color_scheme=scheme)

    def at(self, where: str) -> None:
        """Light and dark differ in their colours alone: all rules are asked once, those of colours twice."""
        if self.page.locator(HARMFUL).count() or self.page.evaluate("window.stolen") is not None:
            self.wrong.append(f"{where} runs the trap, or could")
        self._overflows(DESKTOP, where)
        self.wrong += [f"{where}: {one}" for one in self.access.findings(self.page)]
        self.turn(PHONE, "dark")
        self._overflows(PHONE, where)
        self.wrong += [f"{where}, dark on a phone: {one}" for one in self.access.colours(self.page)]

    def _overflows(self, width: int, where: str) -> None:
        if self.page.evaluate("document.documentElement.scrollWidth") > width:
            self.wrong.append(f"{where} is wider than {width}")


@pytest.fixture
def look(tab: Tab) -> Look:
    made = Look(tab.page)
    made.turn(DESKTOP, "light")
    return made


def test_every_page_is_harmless_and_for_everybody(tab: Tab, look: Look, site: tuple[Listening, list[str]]) -> None:
    for path in (*site[1], *ASKED):
        look.turn(DESKTOP, "light")
        page = tab.go(path)
        loaded(page)
        if page.locator("h1").count() != 1:
            look.wrong.append(f"{path} has not one h1")
        if path in SHOWN and "window.stolen=1" not in page.inner_text("body"):
            look.wrong.append(f"{path} does not show the trap")
        look.at(path)
    look.wrong += [one for one in tab.complaints if "404" not in one]  # the page of an item that is not there has one
    tab.complaints.clear()
    assert not look.wrong, "\n".join(look.wrong)


def test_what_is_opened_over_a_page_is_harmless_and_for_everybody(tab: Tab, look: Look) -> None:
    page = tab.go("/?q=keys")
    page.locator(".pick").first.wait_for()
    page.keyboard.press("j")
    page.locator("#reader:not([aria-busy]) .peek", has_text="stolen").wait_for()
    page.keyboard.press("x")
    page.keyboard.press("w")
    page.keyboard.press("t")
    page.locator(".selection-bar input").wait_for()
    look.at("preview, choice, tags to give")
    look.turn(DESKTOP, "light")
    page.locator(".selection-bar input").fill(TRAP.replace(",", " ") + " too")
    page.keyboard.press("Enter")
    page.locator("[data-undo]").wait_for()
    look.at("undo bar")
    look.turn(DESKTOP, "light")
    page.keyboard.press("Control+k")
    page.keyboard.type("window.stolen")
    page.locator("#palette .choice", has_text="stolen").first.wait_for()
    look.at("palette")
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    look.at("list of keys")
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    page.keyboard.press("u")
    page.locator("#done", has_text="Undone").wait_for()
    look.at("undone")
    look.turn(DESKTOP, "light")
    page = tab.go("/item?ref=note:/keys")
    page.click("text=Link to another item")
    page.locator("[data-picks]").press_sequentially("harbour")
    page.locator(".picks .choice", has_text="stolen").first.wait_for()
    look.at("items to choose from")
    look.turn(DESKTOP, "light")
    page = tab.go("/item?ref=note:/keys")
    page.locator("a.wiki").first.hover()
    page.locator(".hover-peek").wait_for()
    look.at("preview of a link")
    page = tab.go("/item?ref=note:/keys")
    page.click("[aria-label='More to do with this item']")
    look.at("what to do with an item")
    assert not look.wrong, "\n".join(look.wrong)
    assert tab.complaints == []


def test_nothing_runs_in_the_graph_and_what_is_chosen_there(tab: Tab, look: Look) -> None:
    page = tab.go("/graph")
    page.wait_for_selector("#graph-canvas[data-settled]")
    page.fill("#graph-find", "stolen")
    page.keyboard.press("Enter")
    page.locator("#graph-chosen h2", has_text="stolen").wait_for()
    look.at("graph")
    assert not look.wrong, "\n".join(look.wrong)
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
