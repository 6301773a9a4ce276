"""Tasks on the page in a real browser, and what a browser alone can show of hands and graph."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.server.http_sites import Listening, listen

from .tasks import Hand, do_all, fill

TASKS = [
    ("Find a passage in a long text", 0, 1),
    ("Open a hit at its passage", 1, 0),
    ("Come back to the hit that was opened", 4, 0),
    ("Narrow hits down to one kind, and widen them again", 2, 0),
    ("Edit a text, see what changes, and save it", 3, 1),
    ("Take the edit back, on the page to which it led", 1, 0),
    ("Tag three hits at once", 8, 1),
    ("Remove an item, and bring it back from the bin", 6, 0),
    ("Decide on ten proposals, and on what an agent wrote over one's own words", 12, 0),
    ("See who wrote what, and only what one agent wrote", 2, 0),
    ("See what an item is linked with in the graph", 2, 0),
    ("Look whether the store is well", 2, 0),
    ("Find a setting, change it and put it back", 5, 2),
    ("Add a file, and open what was made of it", 5, 1),
    ("Give a setting a value that it cannot take, read why, and mend it", 4, 2),
    ("Search and read as a guest, who is offered nothing that changes anything", 2, 1),
    ("Correct a wrong memory", 5, 1),
    ("Export all that a search finds", 2, 0),
    ("See what an agent asked, and what it opened", 1, 0),
    ("Find a question that was never answered, and write the answer down", 2, 1),
    ("Link two items without knowing a ref", 4, 1),
    ("Ask why something is not found", 4, 1),
]
"""What a person wants to do, how many keys or clicks it takes, and how many texts are typed."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Listening]:
    served, end = listen(tmp_path_factory.mktemp("tasks"))
    fill(served)
    yield served
    end()


def _page(running: Any, site: Listening) -> Any:
    context = running.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(120_000)
    opened = context.new_page()
    opened.goto(site.link())
    return opened


@pytest.fixture(scope="module")
def page(running: Any, site: Listening) -> Iterator[Any]:
    opened = _page(running, site)
    yield opened
    opened.context.close()


def test_what_people_do_on_the_page_takes_few_keys_and_clicks(running: Any, tmp_path: Path) -> None:
    served, end = listen(tmp_path, env=os.environ)  # settings are changed, in the files of this test
    fill(served)
    page = _page(running, served)
    assert [(words, keys, texts) for words, keys, texts, _ in do_all(Hand(page, served))] == TASKS
    page.context.close()
    end()


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
