"""Markdown on the page: hostile texts are rendered with few steps, ordinary ones as they should be."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("markdown_it", reason="the extra 'server' is not installed")
from ricordo.plugins.page.markdown import leads_to, render


class Steps:
    """How often the Markdown library looks at a place of a text."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from markdown_it.parser_inline import ParserInline

        self.count = 0
        look = ParserInline.skipToken

        def counted(parser: Any, state: Any) -> None:
            self.count += 1
            look(parser, state)

        monkeypatch.setattr(ParserInline, "skipToken", counted)

    def of(self, text: str) -> int:
        self.count = 0
        render(text)
        return self.count


@pytest.mark.parametrize("unit", ["[", "![", "[\n", "[[a]", "[a]["])
def test_brackets_that_never_close_are_looked_at_a_few_times_each(unit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = Steps(monkeypatch)
    assert steps.of(unit * 3000) <= 3000
    assert steps.of("[" * 3000 + "]" * 3000) <= 10 * 6000


def test_links_in_brackets_stay_links() -> None:
    assert 'href="x"' in render("see [a [b [c]] d](x)")
    assert 'href="y"' in render("a list [[[[[1], 2], 3], 4], 5] and [`[`](y)")
    assert "[[wiki]]" in render("see [[wiki]]")


def test_a_link_within_a_text_leads_to_its_heading() -> None:
    assert leads_to("#Keys and doors", "note:/a") == "#h-keys-and-doors"
    assert leads_to("#", "note:/a") == "#"


def test_a_link_to_a_neighbour_leads_to_its_page_and_heading() -> None:
    assert (
        leads_to("doors.md#Keys and%20locks", "disk:/house/a.md")
        == "/item?ref=disk%3A%2Fhouse%2Fdoors.md#h-keys-and-locks"
    )
    assert leads_to("../doors.md?plain=1", "disk:/house/a.md") == "/item?ref=disk%3A%2Fdoors.md"
    assert leads_to("?plain=1", "disk:/house/a.md") == "?plain=1"
