"""Reading in a real browser: the preview beside the hits, a hit at its passage and back, hostile texts."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from tests.server.http_sites import Listening, listen

from ricordo import Ricordo

from .browsers import Tab

LONG = "# The harbour\n\n" + "\n\n".join(
    f"## Part {number}\n\n" + f"Sentence {number} about the harbour and its tides. " * 40 for number in range(1, 13)
)
LONG = LONG.replace("Sentence 9", "The lighthouse and sentence 9")
HOSTILE = (
    "<script>window.stolen=1</script><img src=x onerror='window.stolen=1'>"
    '<svg onload="window.stolen=1"></svg><a href="javascript:window.stolen=1">go</a>'
    '<div id="reader" class="banner" style="position:fixed" onclick="window.stolen=1">trap</div>'
    "<iframe src='http://evil.example/'></iframe><style>body{display:none}</style>"
    "<details open ontoggle=window.stolen=1><summary>s</summary></details>"
    "<!-- <b> --><form action=x><input id=q></form>"
)
HOSTILE_MARKDOWN = (
    f'# {HOSTILE}\n\n{HOSTILE}\n\nInline {HOSTILE} [[x" onmouseover="window.stolen=1|{HOSTILE}]]'
    f" [[note:/a]] [c](javascript:window.stolen=1) ![x](http://evil.example/x.png)\n\n- [ ] {HOSTILE}\n\n"
    f'```html\n{HOSTILE}\n```\n\n```"><script>window.stolen=1</script>\nx\n```\n\n'
    f"| {HOSTILE} |\n|---|\n| {HOSTILE} |\n"
)
BUDGET = 300_000
"""Bytes that the first visit may load; what a browser has kept is not loaded again."""
REQUESTS = 22
"""How many answers it may take."""


def until(page: Any, condition: str) -> None:
    """Wait for a condition in the page. The page's own policy forbids the browser driver's way to wait for one."""
    deadline = time.monotonic() + 60
    while not page.evaluate(condition):
        assert time.monotonic() < deadline, condition
        page.wait_for_timeout(20)


def hostile_files(folder: Path) -> list[Path]:
    outputs = [{"output_type": "stream", "text": HOSTILE}, {"data": {"text/html": HOSTILE, "text/plain": HOSTILE}}]
    code = {"cell_type": "code", "source": HOSTILE, "outputs": outputs}
    cells = [{"cell_type": "markdown", "source": HOSTILE_MARKDOWN}, code]
    mail = f'From: {HOSTILE} <a@x.org>\nSubject: {HOSTILE}\n\nHi {HOSTILE} https://x.org/"onclick=1\n\n> {HOSTILE}\n'
    texts = {
        "a.md": HOSTILE_MARKDOWN,
        "b.rst": f"T\n=\n\n{HOSTILE}\n\n.. raw:: html\n\n   {HOSTILE}\n\n.. image:: javascript:window.stolen=1\n\n"
                 f".. code-block:: html\n\n   {HOSTILE}\n\n`x <javascript:window.stolen=1>`_\n",
        "c.eml": mail,
        "d.csv": f'name,"{HOSTILE.replace(chr(34), chr(34) * 2)}"\n1,"{HOSTILE.replace(chr(34), chr(34) * 2)}"\n',
        "e.ipynb": json.dumps({"cells": cells, "nbformat": 4}),
        "f.html": f"<title>x</title><main><p>Words {HOSTILE} and more words.</p></main>",
        "g.js": HOSTILE,
        "h.txt": HOSTILE,
        "i.json": json.dumps({"title": HOSTILE, "x": HOSTILE}),
    }  # fmt: skip
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return [folder / name for name in texts]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Listening]:
    folder = tmp_path_factory.mktemp("reader")
    served, end = listen(folder)
    engine = served.engine
    engine.save("note:/harbour", LONG)
    for number in range(30):
        engine.save(f"note:/pier-{number:02}", f"Pier {number} has a crane. See [[harbour]].")
    yield served
    end()


@pytest.fixture(scope="module")
def opened(running: Any, site: Listening) -> Iterator[Tab]:
    """The tab of all tests, which signed in."""
    # A test that answers in place of the server must not have the page's own worker between them.
    context = running.new_context(viewport={"width": 1400, "height": 900}, service_workers="block")
    context.set_default_timeout(120_000)
    tab = Tab(context, site)
    tab.page.goto(site.link())
    yield tab
    context.close()


@pytest.fixture
def tab(opened: Tab) -> Iterator[Tab]:
    yield opened
    opened.end_of_test()


def test_j_and_k_read_hits_beside_the_list_and_enter_opens_at_the_passage(tab: Tab) -> None:
    page = tab.go("/?q=lighthouse")
    page.locator("#reader .peek", has_text="The harbour").wait_for()  # the best hit is there to be read at once
    page.keyboard.press("j")
    assert page.url.endswith("lighthouse")
    assert page.locator("#reader .in-passage").count() > 0
    at = page.locator("#reader .steps").inner_text()
    page.keyboard.press("n")
    page.locator("#reader .steps", has_not_text=at.split("lines")[0]).wait_for()
    assert page.url.endswith("lighthouse"), "passages are stepped through in the reader"
    page.keyboard.press("Enter")
    page.wait_for_url("**lines=**#passage")
    page.wait_for_load_state("load")  # keys are heard from then on
    until(page, "scrollY > 200")
    assert 0 <= page.evaluate("document.querySelector('.in-passage').getBoundingClientRect().top") < 900
    before = page.url
    page.keyboard.press("n")
    page.wait_for_url(lambda url: url != before)
    page.locator(".in-passage").first.wait_for()
    page.wait_for_load_state("load")
    page.go_back()
    page.locator(".hit .open:focus").wait_for()
    assert page.url.endswith("lighthouse")


def test_a_click_reads_a_hit_beside_the_list_and_another_one_opens_it(tab: Tab) -> None:
    page = tab.go("/?q=crane")
    hit = page.locator(".hit").nth(2)
    hit.locator(".open").click()
    page.locator(f"#reader:not([aria-busy]) .peek[data-item='{hit.get_attribute('data-ref')}']").wait_for()
    assert page.url.endswith("crane")
    assert page.locator(".hit[aria-current]").count() == 1
    hit.locator(".open").click()
    page.wait_for_url("**/item?**")


def test_on_a_phone_a_hit_opens_as_a_page_that_leads_back_to_the_results(tab: Tab) -> None:
    tab.page.set_viewport_size({"width": 390, "height": 844})
    page = tab.go("/?q=crane")
    ref = page.locator(".hit").first.get_attribute("data-ref")
    assert not page.locator("#reader").is_visible()
    seen = "[...document.querySelectorAll('.btn, .chip, .nav a')].filter(one => one.offsetParent)"
    assert page.evaluate(f"{seen}.filter(one => one.offsetHeight < 36).map(one => one.outerHTML)") == []
    page.locator(".hit .open").first.click()
    page.wait_for_url("**/item?**")
    page.click("text=‹ Results")
    page.wait_for_url("**/?q=crane")
    page.locator(f".hit[data-ref='{ref}']").wait_for()


def test_on_a_phone_no_word_of_a_hit_stands_over_another(tab: Tab) -> None:
    tags = [f"a-tag-of-some-length-{number}" for number in range(4)]
    tab.site.engine.save("note:/tagged", "A lifeboat.", fields={"tags": tags})
    tab.page.set_viewport_size({"width": 390, "height": 844})
    page = tab.go("/?q=lifeboat")
    page.locator(".hit .why").first.wait_for()
    over = page.evaluate("""() => {
        const at = document.querySelector(".hit .why summary").getBoundingClientRect();
        const words = Array.from(document.querySelectorAll(".hit .meta .dots > span, .hit .meta .tag"));
        return words.flatMap(one => Array.from(one.getClientRects())).filter(
            one => one.right > at.left && one.left < at.right && one.bottom > at.top && one.top < at.bottom).length;
    }""")
    tab.site.engine.rm("note:/tagged")
    assert over == 0


def test_without_scripts_forms_and_links_work(opened: Tab, running: Any, site: Listening) -> None:
    context = running.new_context(storage_state=opened.page.context.storage_state(), java_script_enabled=False)
    page = context.new_page()
    page.goto(site.address)
    page.fill("#q", "crane")
    page.keyboard.press("Enter")
    page.locator(".hit .open").first.click()
    page.wait_for_url("**/item?**")
    page.goto(f"{site.address}/add#write")
    page.fill("#write textarea", "Written without a script.")
    page.click("#write >> text=Save")
    page.locator(".banner.good a").click()
    assert "Written without a script." in page.inner_text("main")
    page.goto(f"{site.address}/settings")
    page.fill("[id='set-search.limit']", "12")
    page.click("[aria-label='Save search.limit']")
    page.locator("text=Saved").wait_for()
    with Ricordo.open(site.engine.location) as engine:
        assert engine.config.search.limit == 12
    context.close()


def test_a_question_whose_hit_is_opened_at_once_is_recorded(tab: Tab) -> None:
    page = tab.go("/")
    page.locator("#q").press_sequentially("pier 7")
    page.wait_for_url("**/?q=pier+7")
    page.locator(".hit .open").first.press("Enter")
    page.locator("article.item").wait_for()
    deadline = time.monotonic() + 60
    while "pier 7" not in [one.text for one in tab.site.engine.log().questions]:
        assert time.monotonic() < deadline
        page.wait_for_timeout(50)


def test_back_leads_to_the_hit_from_which_an_item_was_opened_on_a_later_page_too(tab: Tab) -> None:
    page = tab.go("/?q=crane")
    page.locator(".more a").click()
    page.locator(".hit >> nth=25").wait_for()
    hit = page.locator(".hit >> nth=25")
    ref = hit.get_attribute("data-ref")
    hit.locator(".open").press("Enter")
    page.wait_for_url("**/item?**")
    page.go_back()
    page.locator(f".hit[data-ref='{ref}'] .open:focus").wait_for()


def test_the_reader_takes_in_nothing_but_the_preview_of_the_last_hit(tab: Tab) -> None:
    held: list[Any] = []
    tab.page.route("**/peek**", lambda route: held.append(route))
    page = tab.go("/?q=crane")

    def asked(count: int) -> Any:
        deadline = time.monotonic() + 60
        while len(held) < count:
            assert time.monotonic() < deadline
            page.wait_for_timeout(20)
        return held[-1]

    first = asked(1)  # the best hit is asked for at once
    page.keyboard.press("j")
    page.keyboard.press("j")
    asked(2).continue_()
    name = page.locator(".hit >> nth=1").get_attribute("data-ref")
    page.locator(f"#reader .peek[data-item='{name}']").wait_for()
    first.abort() if first.request.failure else first.fulfill(status=200, body="<html><nav>late</nav></html>")
    page.keyboard.press("j")
    asked(3).fulfill(status=200, body="<html><body><nav>a page</nav></body></html>")
    page.locator("#reader", has_text="cannot be shown here").wait_for()
    assert page.locator("#reader nav").count() == 0
    tab.complaints.clear()  # the browser notes the request that was given up


def test_a_link_shows_what_it_leads_to_while_the_mouse_is_over_it(tab: Tab) -> None:
    page = tab.go("/item?ref=note:/pier-01")
    page.hover("a.wiki")
    page.locator(".hover-peek", has_text="The harbour").wait_for()
    page.keyboard.press("Escape")
    page.locator(".hover-peek").wait_for(state="detached")


def test_the_title_of_the_tab_follows_the_question(tab: Tab) -> None:
    page = tab.go("/")
    page.locator("#q").press_sequentially("crane")
    until(page, "document.title.startsWith('crane')")


@pytest.mark.parametrize("begin", ["/", "/?q=tides"])
def test_whoever_types_on_before_the_hits_are_there_gets_those_of_the_whole_question(tab: Tab, begin: str) -> None:
    held: list[Any] = []
    page = tab.go(begin)
    page.wait_for_load_state("networkidle")
    first = "**/?q=crane" if begin == "/" else "**/hits?**"
    tab.page.route(first, lambda route: held.append(route) if not held else route.continue_())
    page.locator("#q").fill("")
    page.locator("#q").press_sequentially("crane")
    deadline = time.monotonic() + 60
    while not held:
        assert time.monotonic() < deadline
        page.wait_for_timeout(20)
    page.locator("#q").press_sequentially(" pier")
    until(page, "document.title.startsWith('crane pier')")
    assert page.locator("#q").input_value() == "crane pier"


def test_hostile_texts_do_nothing_in_any_rendering(tab: Tab, tmp_path: Path) -> None:
    engine = tab.site.engine
    refs = [saved.ref for file in hostile_files(tmp_path) for saved in engine.add(file).items]
    engine.save("note:/hostile", HOSTILE_MARKDOWN, fields={"title": HOSTILE})
    engine.save("note:/leads", "To [[hostile]].")
    turns = [{"role": role, "content": HOSTILE_MARKDOWN} for role in ("user", "assistant", "tool")]
    (tmp_path / "bad.jsonl").write_text("\n".join(map(json.dumps, turns)), encoding="utf-8")
    engine.sessions_add(tmp_path / "bad.jsonl")
    session = next(one.id for one in engine.sessions() if "bad" in one.id)
    paths = [f"/item?ref={quote(ref, safe='')}&q=words{more}" for ref in (*refs, "note:/hostile")
             for more in ("&lines=1-3", "&view=passages")]  # fmt: skip
    for path in (*paths, f"/session?id={session}&turn=2", f"/?q={quote('stolen trap')}"):
        page = tab.go(path)
        harmful = (
            "main script, main img, main svg[onload], main iframe, main style, main form[action='x'], main [onclick],"
            " main [onload], main [ontoggle], main [onmouseover], a[href^='javascript:'], main .view [style],"
            " main .prose #q, main .prose #reader, main .turn #q"
        )
        assert page.locator(harmful).count() == 0, path
        assert page.evaluate("window.stolen") is None, path
        assert page.locator("body").is_visible(), path
    for number in range(3):
        page.keyboard.press("j")
        page.locator(f".hit >> nth={number}").locator("xpath=self::*[@aria-current]").wait_for()
        page.locator("#reader:not([aria-busy]) .peek").wait_for()
    assert page.locator("#reader script, #reader img, #reader iframe, #reader style, #reader form").count() == 0
    page = tab.go(f"/?q={quote('stolen trap')}&kind=note")
    page.locator(".hit[data-ref='note:/hostile'] .open").press("Enter")
    page.locator("article.item .view").wait_for()
    assert page.locator(harmful).count() == 0
    assert page.evaluate("window.stolen") is None
    page = tab.go("/item?ref=note:/leads")
    page.hover("a.wiki")
    page.locator(".hover-peek").wait_for()
    assert page.evaluate("window.stolen") is None


@pytest.mark.parametrize("path", ["/", "/?q=crane", "/item?ref=note:/harbour&q=tides", "/graph"])
def test_a_first_visit_loads_little_and_nothing_from_elsewhere(
    path: str, opened: Tab, running: Any, site: Listening
) -> None:
    context = running.new_context(storage_state=opened.page.context.storage_state(), service_workers="block")
    tab = Tab(context, site)
    sizes: dict[str, int] = {}
    tab.page.on("response", lambda answer: sizes.update({answer.url: len(answer.body())}))
    page = tab.go(path)
    page.wait_for_load_state("networkidle")
    painted = page.evaluate("performance.getEntriesByName('first-contentful-paint').length")
    blocking = page.evaluate("[...document.scripts].filter(one => one.src && !one.defer).length")
    context.close()
    assert painted == 1
    assert tab.complaints == []
    assert blocking <= 1, "only the choice of light or dark may hold up the first paint"
    assert len(sizes) <= REQUESTS, sizes
    assert sum(sizes.values()) <= BUDGET, sizes
