"""Reading on the page: texts are shown as what they are, and a hit opens at its passage."""

from __future__ import annotations

import html
import json
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

pytest.importorskip("fastapi", reason="the extra 'server' is not installed")
from fastapi import Request
from tests.git.conftest import Checkout
from tests.server.http_sites import Site

from ricordo.plugins.page import item_pages, search_pages
from ricordo.plugins.page.formats import MOST_ROWS, MOST_SHOWN, inline_html, rendered_rst, rendered_table, window
from ricordo.plugins.page.markdown import render, rendered
from ricordo.plugins.page.markup import with_passage
from ricordo.speaking import speaking
from ricordo.values.provenance import Provenance

LONG = "# The harbour\n\n" + "\n\n".join(
    f"## Part {number}\n\n" + f"Sentence {number} about the harbour and its tides and cranes. " * 30
    for number in range(1, 13)
)
PART = {"X-Ricordo-Part": "yes"}


def item(site: Site, ref: str, **parameters: str) -> str:
    answer = site.client.get("/item", params={"ref": ref, **parameters})
    assert answer.status_code == 200, answer.text
    return str(answer.text)


def added(site: Site, file: Path, content: str) -> str:
    file.write_text(content, encoding="utf-8")
    (saved,) = site.engine.add(file).items
    return saved.ref


def test_wiki_links_lead_to_their_items_and_missing_ones_to_writing_them(site: Site) -> None:
    site.engine.save("note:/keys", "See [[Tokens|the tokens]], [[tokens#How long?]] and [[nowhere]].")
    site.engine.save("note:/tokens", "# Tokens\n\n## How long?\n\nAn hour.")
    page = item(site, "note:/keys")
    assert '<a class="wiki" href="/item?ref=note%3A%2Ftokens" data-peek="note:/tokens"' in page
    assert 'href="/item?ref=note%3A%2Ftokens#h-how-long"' in page
    assert re.search(r'class="wiki missing" href="/add\?title=nowhere"', page)
    assert 'id="h-how-long"' in item(site, "note:/tokens")
    assert 'data-peek="note:/keys"' in site.client.get("/around", params={"ref": "note:/tokens"}).text


def test_the_title_stands_once_and_levels_of_headings_have_no_gaps(site: Site) -> None:
    site.engine.save("note:/plan", "# The plan\n\n#### Deep\n\nText.\n\n## Next\n\n[up](#deep)")
    page = item(site, "note:/plan")
    assert page.count(">The plan</h") == 1
    assert re.findall(r"<h(\d) id=\"(h-[^\"]+)\"", page) == [("2", "h-deep"), ("2", "h-next")]
    assert 'href="#h-deep"' in page
    levels = [found.level for found in rendered("# A\n\n#### B\n\n# C\n\n## D").outline]
    assert levels == [1, 2, 1, 2]


def test_harmless_html_stays_without_attributes_and_comments_go() -> None:
    html = render('Press <kbd class="x" id="q">K</kbd><!-- not for readers --> <b onclick="x()">now</b>.')
    assert html == '<p data-at="1-1">Press <kbd>K</kbd> <b>now</b>.</p>\n'
    assert "not for readers" not in render("<!-- not for readers\n\nstill not -->\n\nText")
    assert "<summary>More</summary>" in render("<details><summary>More</summary>\n\ninside\n\n</details>")


def test_tasks_are_shown_as_done_and_to_do() -> None:
    html = render("- [ ] one\n- [x] two\n- [y] three")
    assert re.findall(r'aria-label="([^"]+)"', html) == ["to do", "done"]
    assert "[y] three" in html


def test_code_is_coloured_line_by_line_and_unknown_languages_are_plain() -> None:
    html = render("```python\ndef f():\n    return 1\n```\n\n```nosuch\n<b>\n```")
    assert '<span class="line" data-at="2"><span class="c-k">def</span>' in html
    assert '<span class="line" data-at="7">&lt;b&gt;' in html
    assert html.count('tabindex="0"') == 2


def test_restructured_text_is_rendered_and_can_neither_read_files_nor_pass_on_html(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("the secret", encoding="utf-8")
    text = (
        "Title\n=====\n\nA **bold** word.\n\nPart\n----\n\n::\n\n    code\n\n"
        f".. include:: {secret}\n\n.. raw:: html\n\n   <script>stolen()</script>\n\n"
        f".. csv-table::\n   :file: {secret}\n\n`x <javascript:stolen()>`_\n"
    )
    shown = rendered_rst(text, title="Title")
    assert shown is not None
    assert "<strong>bold</strong>" in shown.html
    assert [one.text for one in shown.outline] == ["Part"]
    assert "the secret" not in shown.html
    assert "<script" not in shown.html
    assert 'href="javascript' not in shown.html


def test_each_format_is_shown_as_what_it_is(site: Site, tmp_path: Path) -> None:
    rst = added(site, tmp_path / "guide.rst", "Guide\n=====\n\nA *word*.\n")
    assert "<em>word</em>" in item(site, rst)
    mail = added(
        site, tmp_path / "m.eml", "From: Ann <a@x.org>\nTo: Bob\nSubject: Tides\n\nHi,\nsee it.\n\n> old words\n"
    )
    page = item(site, mail)
    assert "<dt>From</dt><dd" in page
    assert "Subject" not in page.partition("mail-head")[2].partition("</dl>")[0]  # it heads the page
    assert re.search(r"<blockquote><p[^>]*>old words", page)
    table = item(site, added(site, tmp_path / "t.csv", 'port,depth\nOslo,"12\n13"\nBergen,<i>9</i>\n'))
    assert '<th scope="col">port</th>' in table
    assert "<td>&lt;i&gt;9&lt;/i&gt;</td>" in table
    assert '<tr data-at="4"><td>Bergen</td>' in table
    cells = [
        {"cell_type": "markdown", "source": "# Study\n\nWords."},
        {"cell_type": "code", "source": "x = 1", "outputs": [{"output_type": "stream", "text": "one"}]},
    ]
    notebook = item(site, added(site, tmp_path / "n.ipynb", json.dumps({"cells": cells, "nbformat": 4})))
    assert '<span class="c-n">x</span>' in notebook
    assert re.search(
        r'<pre class="code-block output" tabindex="0"><code><span class="line" data-at="\d+">one', notebook
    )
    code = item(site, added(site, tmp_path / "c.py", "import os\n\nx = 1\n"))
    assert '<span class="line" data-at="3"><span class="c-n">x</span>' in code


def test_a_hit_opens_at_its_passage_with_neighbours_and_outline(site: Site) -> None:
    site.engine.save("note:/harbour", LONG)
    passages = site.engine.get("note:/harbour", passages=True, track=False).passages
    middle = next(one for one in passages if "Part 7" in one.heading or "Part 7" in one.text)
    at = passages.index(middle)
    page = item(site, "note:/harbour", lines=f"{middle.lines[0]}-{middle.lines[1]}", q="tides")
    assert page.count('id="passage"') == 1
    marked = [int(found) for found in re.findall(r'in-passage" data-at="(\d+)"', page)]
    assert marked == [middle.lines[0]]
    assert f"Passage {at + 1} of {len(passages)}" in page
    for step, other in (("before", passages[at - 1]), ("after", passages[at + 1])):
        assert re.search(rf'data-step="{step}" href="[^"]*lines={other.lines[0]}-{other.lines[1]}#passage"', page)
    assert page.count('aria-current="location"') == 1
    assert "<mark>tides</mark>" in page
    assert "in-passage" not in item(site, "note:/harbour")


@pytest.mark.parametrize("lines", ["0-3", "9-2", "x", "99999999-99999999", "1"])
def test_lines_that_are_not_there_open_the_item_nevertheless(site: Site, lines: str) -> None:
    site.engine.save("note:/harbour", LONG)
    assert "Sentence 1 about" in item(site, "note:/harbour", lines=lines)


def test_the_block_in_which_a_passage_begins_is_marked_if_no_block_begins_in_it() -> None:
    html = str(rendered("one\ntwo\nthree\nfour\n\nlast").html)
    shown = with_passage(html, (2, 3))
    assert re.findall(r"<p[^>]*in-passage[^>]*>", shown) == ['<p class="in-passage" data-at="1">']


def test_of_a_very_long_text_the_part_around_the_passage_is_shown(site: Site) -> None:
    rows = [f"line {number} of a long text" for number in range(1, 30_001)]
    text, first = window("\n".join(rows), 1, (20_000, 20_010))
    assert len(text) <= MOST_SHOWN
    assert text.split("\n")[20_000 - first] == rows[19_999]
    assert window("a\nb", 5, (6, 6)) == ("a\nb", 5)
    long = "x" * (MOST_SHOWN + 1)
    assert window(f"{long}\nend", 5, (5, 5)) == (long, 5)
    site.engine.save("agent:/long.txt", "\n".join(rows), fields={"mime_type": "text/plain"})
    page = item(site, "agent:/long.txt", lines="20000-20010")
    assert "line 20005 of a long text" in page
    assert "of a long text. All of it is in the source" in page
    assert "line 3 of a long text" not in page


def test_of_a_long_table_the_rows_around_the_passage_are_shown() -> None:
    text = "a,b\n" + "".join(f"{number},x\n" for number in range(1, 3001))
    shown = rendered_table(text, at=2000)
    assert shown is not None
    assert '<tr data-at="2000">' in shown.html
    assert shown.html.count("<tr ") == MOST_ROWS + 1
    assert "of 3,000" in shown.html
    assert rendered_table("no table at all") is None


def test_a_transcript_hit_opens_its_session_at_its_turn(site: Site, tmp_path: Path) -> None:
    turns = [{"role": "user", "content": f"Question **{n}**", "timestamp": f"2026-11-01T10:{n // 60:02}:{n % 60:02}Z"}
             for n in range(1, 151)]  # fmt: skip
    file = tmp_path / "plan.jsonl"
    file.write_text("\n".join(map(json.dumps, turns)), encoding="utf-8")
    site.engine.sessions_add(file)
    (session,) = site.engine.sessions()
    answer = site.client.get("/item", params={"ref": f"session:/{session.id}/120", "q": "x"}, follow_redirects=False)
    assert answer.status_code == 303
    assert answer.headers["location"] == f"/session?id={quote(session.id)}&turn=120&q=x#turn-120"
    page = site.client.get(answer.headers["location"]).text
    assert re.search(r'<li class="turn user in-passage" id="turn-120">', page)
    assert "<strong>100</strong>" in page
    assert 'id="turn-99"' not in page
    assert "Versions" in item(site, f"session:/{session.id}/120", view="versions")


def test_a_preview_is_a_part_of_a_page_and_does_not_count_as_opening(site: Site) -> None:
    site.engine.save("note:/harbour", LONG)
    lines = "-".join(map(str, site.engine.get("note:/harbour", passages=True, track=False).passages[5].lines))
    looked = {"ref": "note:/harbour", "lines": lines, "q": "tides"}
    part = site.client.get("/peek", params=looked, headers=PART)
    assert part.headers["x-ricordo-part"] == "peek"
    assert "<html" not in part.text
    assert part.text.count('id="passage"') == 1
    assert len(part.text) < len(LONG) / 2
    whole = site.client.get("/peek", params=looked, follow_redirects=False)
    assert whole.headers["location"].startswith("/item?ref=note%3A%2Fharbour")
    lost = site.client.get("/peek", params={"ref": "note:/nowhere"}, headers=PART)
    assert "x-ricordo-part" not in lost.headers
    assert "<html" not in lost.text
    site.engine._context.flush_use()
    assert site.engine.get("note:/harbour", track=False).access_count == 0


def test_a_chip_counts_what_it_would_give_with_the_other_filters_as_they_are(site: Site, tmp_path: Path) -> None:
    for number in range(60):
        tags = ["safe"] if number < 7 else []
        site.engine.save(f"note:/keys-{number}", f"Keys of house {number}.", fields={"tags": tags})
    added(site, tmp_path / "keys.md", "Keys in a file.")
    for headers in ({}, PART):  # hits do not wait for what they can be narrowed to, on a whole page neither
        assert 'data-loads="/facets?q=keys"' in site.client.get("/", params={"q": "keys"}, headers=headers).text

    def chips(**asked: str) -> dict[str, str]:
        page = site.client.get("/facets", params={"q": "keys", **asked}, headers=PART).text
        return dict(re.findall(r'<a class="chip[^>]*>(#?[\w ]+) <b>(\d+\+?)</b>', page))

    assert chips() == {"Notes": "60", "Files": "1"}
    assert chips(tag="safe") == {"Notes": "7", "Files": "0", "#safe": "7"}, "what would give nothing stays to be seen"
    assert chips(kind="note", tag="safe") == {"Notes": "7", "Files": "0", "#safe": "7"}
    for kind, count in (("note", 20), ("", 1)):
        asked = {"kind": kind} if kind else {"drive": "disk"}
        hits = site.client.get("/", params={"q": "keys", **asked}).text
        assert hits.count('<li class="hit"') == count


def test_what_one_author_wrote_is_picked_in_a_search_and_in_a_folder(site: Site) -> None:
    site.engine.save("note:/mine", "Keys of mine.", fields={"tags": ["safe"]})
    for name, count in (("codex", 2), ("claude-code", 3)):
        with speaking(Provenance("agent", name, via="mcp")):
            for number in range(count):
                site.engine.save(f"memory:/{name}/{number}", f"Keys number {number} of the agent.")

    def authors(path: str, **asked: str) -> list[tuple[str, str]]:
        page = site.client.get(path, params=asked, headers=PART).text
        found = re.findall(r'<option value="([\w-]+)"(?: selected)?>[^<]*? (\d+)</option>', page.split("Anybody")[1])
        return sorted(found)

    agents = [("claude-code", "3"), ("codex", "2")]
    assert authors("/facets", q="keys")[:2] == agents
    assert authors("/facets", q="keys", author="codex")[:2] == agents, "each counts what it would give"
    assert authors("/facets", q="keys", tag="safe")[:2] == [("claude-code", "0"), ("codex", "0")]
    assert authors("/browse", prefix="memory:/") == agents
    hits = site.client.get("/", params={"q": "keys", "author": "codex"}).text
    assert re.findall(r'<li class="hit" data-ref="memory:/(\w+)', hits) == ["codex", "codex"]
    rows = site.client.get("/browse", params={"prefix": "memory:/", "author": "codex"}).text
    assert re.findall(r'<li class="file" data-ref="memory:/(\w+)', rows) == ["codex", "codex"]


def test_the_lines_that_changed_in_what_a_memory_cites_are_shown(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = Checkout(tmp_path / "shop")
    shop.top.mkdir()
    shop.git("init", "-q", "-b", "main")
    shop.commit("Begin", package__json='{\n "pnpm": "9"\n}\n')
    monkeypatch.chdir(shop.top)
    ref = site.engine.remember("The version of pnpm is in package.json.", ref="memory:/pnpm").ref
    assert "Which lines changed" not in site.client.get("/item", params={"ref": ref}).text
    (shop.top / "package.json").write_text('{\n "name": "shop",\n "pnpm": "10"\n}\n')
    assert "Which lines changed" in site.client.get("/item", params={"ref": ref}).text
    lines = html.unescape(site.client.get("/cited", params={"ref": ref}, headers=PART).text)
    assert re.findall(r'<span class="(\w+)">(.*?)</span>', lines) == [
        ("faint", "line 2 → lines 2–3"), ("removed", '−  "pnpm": "9"'),
        ("added", '+  "name": "shop",'), ("added", '+  "pnpm": "10"'),
    ]  # fmt: skip


def test_facets_wait_until_a_page_that_somebody_asked_for_is_there(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.engine.save("note:/keys", "Keys.")
    reading, waiting, go_on = threading.Event(), threading.Event(), threading.Event()
    done: list[str] = []
    view, when_free = item_pages._VIEWS["fields"], site.serving.threads.when_free

    def slowly(*given: Any, **options: Any) -> Any:
        reading.set()
        assert go_on.wait(120)
        done.append("page")
        return view(*given, **options)

    async def noted(seconds: float) -> None:
        waiting.set()
        await when_free(seconds)

    def asked_for_facets() -> None:
        site.client.get("/facets", params={"q": "keys"}, headers=PART)
        done.append("facets")

    monkeypatch.setitem(item_pages._VIEWS, "fields", slowly)
    monkeypatch.setattr(search_pages, "LONGEST_PAUSE", 120.0)
    monkeypatch.setattr(site.serving.threads, "when_free", noted)
    looked = {"ref": "note:/keys", "view": "fields"}
    page = threading.Thread(target=lambda: site.client.get("/item", params=looked))
    page.start()
    assert reading.wait(120)
    facets = threading.Thread(target=asked_for_facets)
    facets.start()
    while not waiting.wait(0.02) and facets.is_alive():
        pass
    go_on.set()
    page.join(120)
    facets.join(120)
    assert done == ["page", "facets"]


def test_facets_of_a_page_that_was_left_are_not_counted(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    async def gone(_: Request) -> bool:
        return True

    site.engine.save("note:/keys", "Keys.")
    assert "note" in site.client.get("/facets", params={"q": "keys"}, headers=PART).text
    monkeypatch.setattr(Request, "is_disconnected", gone)
    left = site.client.get("/facets", params={"q": "keys"}, headers=PART)
    assert (left.status_code, left.text) == (204, "")


def test_a_hit_shows_its_text_as_it_reads_and_never_whole_in_bold(site: Site) -> None:
    site.engine.save("note:/list", "# Harbour\n\n- first **tide**\n\n- second `tide`\n```\ncode\n```")
    page = site.client.get("/", params={"q": "tide"}).text
    snippet = re.search(r'<div class="snippet">(.*?)</div>', page, re.DOTALL)
    assert snippet is not None
    assert snippet[1] == "first <strong><mark>tide</mark></strong> second <code><mark>tide</mark></code> code"
    site.engine.save("note:/one", "Only one line about cranes, see [[two|the other]].")
    page = site.client.get("/", params={"q": "cranes"}).text
    assert ">line 1</span>" in page
    assert "</mark>, see the other." in page
    assert inline_html("__init__.py") == "__init__.py"
    site.engine.save("note:/two", "A lamp is lit. The lamp burns oil. It is <b onclick=x>old</b><script>x</script>.")
    page = site.client.get("/", params={"q": "lamp oil"}).text
    assert "A <mark>lamp</mark> is lit. The <mark>lamp</mark> burns <mark>oil</mark>. It is <b>old</b>" in page
    assert "<script>x" not in page


def test_weak_hits_are_folded_and_where_nothing_fits_the_page_says_so(new_site: Callable[..., Site]) -> None:
    site = new_site(**{"search.min_fit": 1.0})
    site.engine.save("note:/keys", "Rotate the signing keys.", fields={"tags": ["safe"]})
    page = site.client.get("/", params={"q": "signing lamps"}).text
    assert "Nothing stored answers this." in page
    assert 'href="/add?title=signing%20lamps#write">Write the answer</a>' in page
    site = new_site(**{"search.min_fit": 0.0})
    site.engine.save("note:/keys", "Rotate the signing keys.", on_conflict="overwrite")
    narrowed = site.client.get("/", params={"q": "signing", "tag": "nowhere"}).text
    assert "Nothing with #nowhere." in narrowed
    assert "1 without it." in narrowed
