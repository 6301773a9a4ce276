"""Twelve tasks on the page in a real browser, and what a browser alone can show of hands and graph."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.server.http_sites import Listening, listen

from .twelve_tasks import Hand, do_all, fill

TASKS = [
    ("Find a passage in a long text and read it", 0, 1),
    ("Correct a wrong memory", 5, 1),
    ("Tag three hits at once", 8, 1),
    ("Export all that a search finds", 2, 0),
    ("See what an agent asked, and what it opened", 1, 0),
    ("Find a question that was never answered, and write the answer down", 2, 1),
    ("Bring a removed item back", 2, 0),
    ("Find a setting by its name", 2, 1),
    ("Link two items without knowing a ref", 4, 1),
    ("Ask why something is not found", 4, 1),
    ("Decide on what an agent wrote over one's own words", 2, 0),
    ("See what an item is linked with in the graph", 2, 0),
]
"""What a person wants to do, how many keys or clicks it takes, and how many texts are typed."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Listening]:
    served, end = listen(tmp_path_factory.mktemp("tasks"))
    fill(served)
    yield served
    end()


@pytest.fixture(scope="module")
def page(running: Any, site: Listening) -> Iterator[Any]:
    context = running.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(120_000)
    opened = context.new_page()
    opened.goto(site.link())
    yield opened
    context.close()


def test_twelve_tasks_take_few_keys_and_clicks(page: Any, site: Listening) -> None:
    assert [(words, keys, texts) for words, _, keys, texts in do_all(Hand(page, site))] == TASKS


def test_the_graph_finds_an_item_hides_a_kind_and_goes_back_in_time(page: Any, site: Listening) -> None:
    site.engine.save("entity:/plan", "See [[keys]].", fields={"title": "Plan"})
    page.goto(f"{site.address}/graph")
    page.wait_for_selector("#graph-canvas[data-settled]")
    page.fill("#graph-find", "plan")
    page.keyboard.press("Enter")
    assert page.locator("#graph-chosen h2").inner_text() == "Plan"
    assert "→ mentions" in page.inner_text("#graph-chosen")
    before = page.inner_text("#graph-status")
    page.locator("#graph-kinds label", has_text="entity").locator("input").uncheck()
    assert page.inner_text("#graph-status") != before
    page.locator("#graph-time").fill("0")
    assert page.inner_text("#graph-status").startswith("1 items")


def test_n_at_a_question_that_was_asked_writes_its_answer_down(page: Any, site: Listening) -> None:
    site.engine.search("who waters the plants in August")
    page.goto(f"{site.address}/log?view=asked")
    page.locator(".log .row-asked").first.wait_for()
    page.keyboard.press("j")
    asked = page.locator(".log li:has(:focus) .open").inner_text()
    page.keyboard.press("n")
    page.wait_for_url("**/add?title=*")
    assert page.locator("#write [name=title]").input_value() == asked
    page.locator("#write textarea:focus").wait_for()


def test_tab_leads_from_the_link_to_the_content_through_the_head_to_the_hits(page: Any, site: Listening) -> None:
    page.goto(f"{site.address}/?q=keys")
    page.locator(".hit .open").first.wait_for()
    page.wait_for_load_state("networkidle")
    page.evaluate("document.activeElement.blur()")
    seen = []
    for _ in range(80):
        page.keyboard.press("Tab")
        seen.append(
            page.evaluate("""() => {
            const one = document.activeElement;
            if (one.matches(".hit .open")) return "hit";
            return one.id === "q" ? "box" : one.closest("header, nav") ? "head" : "";
        }""")
        )
        if seen[-1] == "hit":
            break
    places = [one for one in dict.fromkeys(seen) if one]
    assert places[-1] == "hit", seen
    assert places.index("head") < places.index("box")


def test_an_edit_that_is_not_saved_asks_before_it_is_lost(page: Any, site: Listening) -> None:
    asked: list[str] = []

    def answer(dialog: Any) -> None:
        asked.append(dialog.type)
        dialog.accept()

    page.on("dialog", answer)
    page.goto(f"{site.address}/edit?ref=note:/keys")
    page.locator("textarea").press("x")
    page.goto(f"{site.address}/browse")
    assert asked == ["beforeunload"]
    page.goto(f"{site.address}/edit?ref=note:/keys")
    page.goto(f"{site.address}/browse")
    assert asked == ["beforeunload"]
    page.remove_listener("dialog", answer)
