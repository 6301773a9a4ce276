"""HTML pages: which text is taken, in which order, under which title."""

from __future__ import annotations

import pytest

from ricordo.ingest.formats.read import parse_bytes
from ricordo.ingest.formats.source import meaningful

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
