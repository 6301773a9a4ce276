"""Every page for everybody: axe-core finds nothing, light and dark, on a desktop and on a phone; nothing overflows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.server.http_sites import Listening, listen

from .browsers import Tab, browser, findings, loaded
from .full_sites import fill

DESKTOP, PHONE = 1280, 390
COLOURS = ("color-contrast", "link-in-text-block")
WAYS: tuple[tuple[int, str, tuple[str, ...]], ...] = (
    (DESKTOP, "light", ()),
    (PHONE, "dark", COLOURS),
)
"""Light and dark differ in their colours alone: all rules are asked once, those of colours twice."""
MISSING = "/item?ref=note:/none"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Listening, list[str]]]:
    folder = tmp_path_factory.mktemp("site")
    served, end = listen(folder)
    yield served, fill(served.engine, folder)
    end()


@pytest.fixture(scope="module")
def tab(site: tuple[Listening, list[str]]) -> Iterator[Tab]:
    with browser() as running:
        context = running.new_context()
        context.set_default_timeout(120_000)
        opened = Tab(context, site[0])
        opened.page.goto(site[0].link())
        yield opened
        context.close()


def turned(page: Any, width: int, scheme: str) -> None:
    """The same page on a screen of another width, with other colours."""
    page.set_viewport_size({"width": width, "height": 844})
    page.emulate_media(color_scheme=scheme)


def wrong(page: Any, where: str) -> list[str]:
    """What is wrong with a page in any of the four ways to look at it."""
    found = []
    for width, scheme, rules in WAYS:
        turned(page, width, scheme)
        if page.evaluate("document.documentElement.scrollWidth") > width:
            found.append(f"{where} is wider than {width}")
        found += [f"{where}, {width} {scheme}: {one}" for one in findings(page, *rules)]
    return found


def test_axe_finds_nothing_on_any_page_light_and_dark_on_a_desktop_and_on_a_phone(
    tab: Tab, site: tuple[Listening, list[str]]
) -> None:
    found = []
    for path in site[1]:
        turned(tab.page, DESKTOP, "light")
        page = tab.go(path)
        loaded(page)
        if page.locator("h1").count() != 1:
            found.append(f"{path} has not one h1")
        found += wrong(page, path)
    assert found == []
    assert [one for one in tab.complaints if "404" not in one] == []
    tab.complaints.clear()  # of the page of an item that is not there, the browser notes the 404


def test_axe_finds_nothing_in_what_is_opened_over_a_page(tab: Tab, site: tuple[Listening, list[str]]) -> None:
    found = []
    turned(tab.page, DESKTOP, "light")
    page = tab.go("/?q=keys")
    page.locator(".pick").first.wait_for()
    page.keyboard.press("j")
    page.locator("#reader:not([aria-busy]) .peek").wait_for()
    page.keyboard.press("x")
    page.keyboard.press("w")
    page.keyboard.press("t")
    page.locator(".selection-bar input").wait_for()
    found += wrong(page, "preview, choice, tags to give")
    turned(page, DESKTOP, "light")
    page.keyboard.type("tried")
    page.keyboard.press("Enter")
    page.locator("[data-undo]").wait_for()
    found += wrong(page, "undo bar")
    page.keyboard.press("Control+k")
    page.keyboard.type("keys")
    page.locator("#palette .choice >> text=Keys").first.wait_for()
    found += wrong(page, "palette")
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    found += wrong(page, "list of keys")
    page = tab.go("/item?ref=note:/keys")
    page.click("text=Link to another item")
    page.locator("[data-picks]").press_sequentially("harbour")
    page.locator(".picks .choice").first.wait_for()
    found += wrong(page, "items to choose from")
    turned(page, DESKTOP, "light")
    page = tab.go("/item?ref=note:/keys")
    page.locator("a.wiki").first.hover()
    page.locator(".hover-peek").wait_for()
    found += wrong(page, "preview of a link")
    turned(page, PHONE, "light")
    page = tab.go("/item?ref=note:/keys")
    page.click("[aria-label='More to do with this item']")
    found += wrong(page, "what to do with an item")
    assert found == []
    assert tab.complaints == []
