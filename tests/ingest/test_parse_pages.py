"""HTML pages, mails and notebooks: which text is taken, in which order, under which title."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ricordo.ingest.formats.read import parse_bytes
from ricordo.ingest.formats.source import meaningful
from ricordo.values.items import Parsed

PARAGRAPHS = [
    "The ferry across the strait ran twice a day in summer and once a week in winter, ice permitting.",
    "Its captain kept a goat on the upper deck, which ate the timetables and two hats.",
    "When the bridge was built, the goat was given to the school, and the captain to retirement.",
]


def page(html: str) -> str:
    return parse_bytes(html.encode(), "page.html").text


def test_a_marked_main_part_is_taken_whole_without_navigation() -> None:
    text = page(
        "<html><body><nav>Menu words</nav><main><nav>On this page</nav><h1>Ferry</h1>"
        + "".join(f"<p>{words}</p>" for words in PARAGRAPHS)
        + "<figure><pre><code class='language-sh'>ferry --now\n  # twice</code></pre><figcaption>A listing</figcaption>"
        + "</figure></main><footer>Imprint words</footer></body></html>"
    )
    assert text == "\n\n".join(
        ["# Ferry", *PARAGRAPHS, "```sh\nferry --now\n  # twice\n```", "A listing"],
    )


def test_without_a_marked_main_part_the_text_is_found_among_the_rest() -> None:
    text = page(
        "<html><body><div class='nav'><a href='/'>Menu words</a><a href='/x'>Other words</a></div>"
        "<div><h1>Ferry</h1>" + "".join(f"<p>{words}</p>" for words in PARAGRAPHS * 3) + "</div>"
        "<div class='footer'><a href='/imprint'>Imprint words</a></div></body></html>"
    )
    assert "# Ferry" in text
    assert all(words in text for words in PARAGRAPHS)
    assert "Menu words" not in text


def test_a_page_that_holds_little_is_kept_whole() -> None:
    assert page("<p>Only this.") == "Only this."
    assert page("<html><body><h2>Two</h2>words<br>more</body></html>") == "## Two\n\nwords\nmore"


@pytest.mark.parametrize(
    "html", ["<html></html>", "<!-- nothing -->", "<script>alert(1)</script>", "<title>Only</title>"]
)
def test_a_page_without_text_is_empty(html: str) -> None:
    assert page(html) == ""


@pytest.mark.parametrize(
    ("html", "markdown"),
    [
        ("<ul><li>a<ul><li>b</li></ul></li><li>c</li></ul><p>d", "- a\n  - b\n- c\n\nd"),
        ("<ol><li>a<li>b</ol><ol><li>c</ol>", "1. a\n2. b\n1. c"),
        ("<table><tr><th>a|b<th>c<tr><td>1<td>2</table>", "| a\\|b | c |\n|---|---|\n| 1 | 2 |"),
        ("<table><tr><td><p>laid out</p></td></tr></table>", "laid out"),
        ("<blockquote><p>wise</p></blockquote>", "> wise"),
        ("<h2>Parts<a href='#parts'>¶</a></h2>", "## Parts"),
        ("a <code>b</code> <em>c</em><span hidden>no</span>", "a `b` c"),
        ("<pre>x\n  y</pre>", "```\nx\n  y\n```"),
        ("one&nbsp;two&amp;three &#8212; four", "one two&three — four"),
        ("<dl><dt>term<dd>meaning</dl>", "term\n\nmeaning"),
        ("<img src=x alt='a red kite'> flies", "a red kite flies"),
    ],
)
def test_structure_becomes_markdown(html: str, markdown: str) -> None:
    assert page(f"<html><body>{html}</body></html>") == markdown


@pytest.mark.parametrize(
    ("html", "title"),
    [
        ("<title> Two\n words </title><h1>Other</h1><p>x", "Two words"),
        ("<h1>Heading <i>only</i></h1><p>x", "Heading only"),
        ("<title></title><p>x", ""),
        ("<svg><title>Icon</title></svg><h1>Real</h1>", "Real"),
    ],
)
def test_the_title_of_a_page(html: str, title: str) -> None:
    assert parse_bytes(html.encode(), "page.html").title == title


def mail(text: str) -> Parsed:
    return parse_bytes(text.encode(), "mail.eml")


def test_the_plain_alternative_is_preferred_to_the_html_one() -> None:
    parsed = mail(
        "Subject: Two forms\nContent-Type: multipart/alternative; boundary=x\n\n"
        "--x\nContent-Type: text/plain\n\nplain words\n--x\nContent-Type: text/html\n\n<p>html words</p>\n--x--\n"
    )
    assert "plain words" in parsed.text
    assert "html words" not in parsed.text


def test_an_html_part_beside_a_plain_one_is_text_too() -> None:
    parsed = mail(
        "Subject: Mixed\nContent-Type: multipart/mixed; boundary=x\n\n"
        "--x\nContent-Type: text/plain\n\nplain words\n--x\nContent-Type: text/html\n\n<p>html words</p>\n--x--\n"
    )
    assert parsed.text.index("plain words") < parsed.text.index("html words")


def test_headers_are_decoded_and_kept_as_metadata() -> None:
    parsed = mail(
        "Subject: =?iso-8859-1?q?Caf=E9_am_See?=\nFrom: =?utf-8?b?SsO2cmc=?= <j@example.org>\nTo: a@example.org\n"
        "Date: Fri, 1 Mar 2024 10:00:00 +0100\nContent-Type: text/plain; charset=iso-8859-1\n"
        "Content-Transfer-Encoding: quoted-printable\n\nGr=FC=DFe"
    )
    assert parsed.title == "Café am See"
    assert parsed.text.endswith("Grüße")
    assert parsed.fields["metadata"] == {
        "from": "Jörg <j@example.org>",
        "to": "a@example.org",
        "date": "2024-03-01T10:00:00+01:00",
    }


def notebook(cells: list[dict[str, Any]], **more: object) -> bytes:
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5} | more).encode()


def test_cells_without_text_keep_their_number() -> None:
    cells = [{"cell_type": "markdown", "source": ["# A\n", "b"]}, {"cell_type": "code", "source": "", "outputs": []}]
    parsed = parse_bytes(notebook([*cells, {"cell_type": "raw", "source": "last"}]), "n.ipynb")
    assert parsed.text == "# A\nb\n\nlast"
    assert [(mark.offset, mark.label) for mark in parsed.marks] == [(0, "cell 1"), (7, "cell 3")]


def test_pictures_are_left_out_of_outputs() -> None:
    output = {
        "output_type": "display_data",
        "data": {"image/png": "iVBORw0KGgo", "text/plain": "<Figure size 640x480>"},
    }
    parsed = parse_bytes(notebook([{"cell_type": "code", "source": "plot()", "outputs": [output]}]), "n.ipynb")
    assert parsed.text == "```python\nplot()\n```"


def test_the_language_of_a_notebook_is_that_of_its_kernel() -> None:
    cells = [{"cell_type": "code", "source": "x <- 1"}]
    parsed = parse_bytes(notebook(cells, metadata={"kernelspec": {"language": "R"}, "title": "Named"}), "n.ipynb")
    assert parsed.text == "```R\nx <- 1\n```"
    assert parsed.title == "Named"


def test_an_old_notebook_is_read() -> None:
    old = {
        "worksheets": [
            {"cells": [{"cell_type": "heading", "level": 2, "source": "Old"}, {"cell_type": "code", "input": "1+1"}]}
        ]
    }
    parsed = parse_bytes(json.dumps(old).encode(), "n.ipynb")
    assert (parsed.title, parsed.text) == ("Old", "## Old\n\n```python\n1+1\n```")


@pytest.mark.parametrize(
    "title",
    ["", "Untitled", "untitled 3", "Microsoft Word - plan.doc", "PowerPoint Presentation", "report_final.docx",
     "Slide 1", "Document1", "paper.dvi", "2024-01-02", None],
)  # fmt: skip
def test_titles_that_programs_leave_behind_are_no_titles(title: str) -> None:
    assert meaningful(title) == ""


@pytest.mark.parametrize("title", ["Annual Report", "Untitled Goose Game", "Word by word", "年報", "Slide rules"])
def test_titles_that_people_chose_are_kept(title: str) -> None:
    assert meaningful(title) == title
