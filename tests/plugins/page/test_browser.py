"""The page in a real browser: every page, by mouse and keys, narrow and wide, light and dark, and under attack."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.server.http_sites import Listening, listen

from ricordo import Ricordo, Unavailable
from ricordo.speaking import speaking
from ricordo.values.provenance import Provenance
from ricordo.values.reports import Progress

from .browsers import Access, Tab

HOSTILE = "<script>window.stolen=1</script><img src=x onerror='window.stolen=1'>"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Listening]:
    folder = tmp_path_factory.mktemp("site")
    served, end = listen(folder)
    engine = served.engine
    engine.save(
        "note:/keys",
        "# Keys\n\nRotate the signing **keys** every quarter. See [[tokens]].",
        fields={"tags": ["security"]},
    )
    engine.edit("note:/keys", "# Keys\n\nRotate the signing **keys** every month. See [[tokens]].")
    engine.save("note:/tokens", "A token is signed with one of the keys.")
    engine.save("note:/hostile", HOSTILE + "\n\n[click](javascript:alert(1)) ![x](http://evil.example/x.png)",
                fields={"title": HOSTILE, "tags": [HOSTILE], "description": HOSTILE})  # fmt: skip
    _write_session(folder / "plan.jsonl")
    engine.sessions_add(folder / "plan.jsonl")
    engine.search("keys")
    engine.search("something that is nowhere zzzzqqqq", by="words")
    yield served
    end()


def _write_session(file: Path) -> None:
    file.write_text(
        '{"role": "user", "content": "How do we rotate keys?", "timestamp": "2026-11-01T10:00:00Z"}\n'
        '{"role": "assistant", "content": "Every quarter.", "timestamp": "2026-11-01T10:00:05Z"}\n',
        encoding="utf-8",
    )


@pytest.fixture(scope="module")
def opened(running: Any, site: Listening) -> Iterator[Tab]:
    """The tab of all tests, which signed in."""
    context = running.new_context(viewport={"width": 1280, "height": 900}, service_workers="block")
    context.set_default_timeout(120_000)
    tab = Tab(context, site)
    tab.page.goto(site.link())
    yield tab
    context.close()


@pytest.fixture
def tab(opened: Tab) -> Iterator[Tab]:
    yield opened
    opened.end_of_test()


def test_a_browser_that_has_not_signed_in_is_told_how(running: Any, site: Listening) -> None:
    page = running.new_page()
    page.goto(site.address + "/?q=keys")
    assert "ricordo serve link" in page.inner_text("main")
    assert "quarter" not in page.content()
    assert Access().findings(page) == []
    page.close()


def test_hits_come_while_one_types_with_words_marked_and_reasons(tab: Tab) -> None:
    page = tab.go("/")
    page.locator("#q").press_sequentially("rotating key")
    hit = page.locator(".hit", has=page.locator("[href*='note%3A%2Fkeys']")).first
    hit.locator("mark", has_text="Rotate").wait_for()
    assert {"Rotate", "keys"} <= set(hit.locator("mark").all_inner_texts())
    page.wait_for_url("**/?q=rotating+key")
    hit.locator(".why summary").click()
    assert "words" in hit.locator(".why").inner_text()


def test_undoing_takes_back_the_last_decision_and_then_the_one_before_it(tab: Tab) -> None:
    engine = tab.site.engine
    for name in ("one", "two"):
        engine.save(f"note:/{name}", "My rule.", fields={"loading": "always"})
        with speaking(Provenance("agent", name="pi", via="mcp")):
            engine.edit(f"note:/{name}", "Another rule.")

    def one_undo_is_offered() -> None:
        page.locator("#done [data-undo]").wait_for()
        assert page.locator("#done [data-undo]").count() == 1

    page = tab.go("/review")
    refs = [page.locator(".queue [data-ref]").nth(n).get_attribute("data-ref") for n in range(2)]
    for ref in refs:
        assert page.locator(".queue [aria-current]").get_attribute("data-ref") == ref
        with page.expect_navigation():
            page.keyboard.press("n")
        one_undo_is_offered()
        assert engine.get(ref, track=False).content == "My rule."
    for undone, before in zip(reversed(refs), (refs[0], None), strict=True):
        with page.expect_navigation():
            page.keyboard.press("u")
        assert engine.get(undone, track=False).content == "Another rule."
        if before:
            one_undo_is_offered()
            assert engine.get(before, track=False).content == "My rule."
    page.locator("#done", has_text="Undone").wait_for()
    for ref in refs:
        engine.rm(ref)


def test_facets_narrow_down_and_stay_while_one_types_on(tab: Tab) -> None:
    page = tab.go("/?q=keys")
    page.locator("#facets select[name=tag]").select_option("security")
    page.wait_for_url("**tag=security**")
    page.locator("#facets .chip[aria-current]", has_text="security 1").wait_for()
    assert page.locator(".hit").count() == 1
    page.locator("#q").press("End")
    page.locator("#q").press_sequentially(" token")
    page.wait_for_url("**keys+token**")
    assert "tag=security" in page.url


def test_a_menu_that_is_open_stays_when_counts_arrive(tab: Tab) -> None:
    held: list[Any] = []
    tab.page.route("**/facets?**", lambda route: held.append(route))
    with tab.page.expect_request("**/facets?**"):
        page = tab.go("/?q=keys")
    page.click("[aria-label='More about these results']")
    held[0].continue_()
    page.locator("#facets .found b").wait_for()
    assert page.locator("text=Export as Markdown").is_visible()


def test_the_keyboard_is_enough(tab: Tab) -> None:
    page = tab.go("/?q=keys")
    page.locator(".hit").first.wait_for()
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "q"
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    assert page.locator("#keys").is_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.keyboard.press("j")
    second = page.locator(".hit .open").nth(1)
    assert second.evaluate("one => one === document.activeElement")
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    page.wait_for_url("**/item?**")
    page.keyboard.press("e")
    page.wait_for_url("**/edit?**")


def test_k_goes_back_to_the_hit_before_and_stays_at_the_first(tab: Tab) -> None:
    page = tab.go("/?q=keys")
    hits = page.locator(".hit .open")
    hits.nth(1).wait_for()

    def at() -> Any:
        return page.evaluate("Array.from(document.querySelectorAll('.hit .open')).indexOf(document.activeElement)")

    seen = []
    for key in ("j", "j", "k", "k", "j"):
        page.keyboard.press(key)
        seen.append(at())
    assert seen == [0, 1, 0, 0, 1]


def test_an_edit_that_comes_too_late_shows_both_before_one_wins(tab: Tab) -> None:
    tab.site.engine.save("note:/shared", "First line.", on_conflict="overwrite")
    page = tab.go("/edit?ref=note:/shared")
    tab.site.engine.edit("note:/shared", "Changed by another.")
    page.fill("textarea", "Mine.")
    page.click("[data-save]")
    page.locator("text=changed it meanwhile").wait_for()
    assert page.inner_text(".diff del") == "Changed by another"
    assert page.input_value("textarea") == "Mine."
    assert tab.site.engine.get("note:/shared").content == "Changed by another."
    page.click("text=Save mine on top")
    page.wait_for_url("**/item?**")
    assert tab.site.engine.get("note:/shared").content == "Mine."
    assert len(tab.site.engine.history("note:/shared")) == 3
    tab.complaints.clear()  # the browser notes the 409


def test_any_two_versions_are_compared(tab: Tab) -> None:
    page = tab.go("/item?ref=note:/keys&view=versions")
    assert (page.inner_text(".diff del"), page.inner_text(".diff ins")) == ("quarter", "month")
    page.select_option("[name=old]", "2")
    page.select_option("[name=new]", "1")
    page.click("text=Compare")
    page.wait_for_url("**old=2**")
    assert (page.inner_text(".diff del"), page.inner_text(".diff ins")) == ("month", "quarter")


def test_a_verdict_is_noted_from_the_item(tab: Tab) -> None:
    page = tab.go("/item?ref=note:/keys&q=keys")
    page.click("text=Yes")
    page.locator("text=Noted: accepted").wait_for()
    assert tab.site.engine.learn.status().verdicts["accepted"] == 1


def test_dropped_files_and_pasted_texts_are_added_with_live_progress(tab: Tab) -> None:
    page = tab.go("/add")
    page.set_input_files(
        "#files", [{"name": "bridge.md", "mimeType": "text/markdown", "buffer": b"# Bridge\n\nSteel."}]
    )
    page.click("text=Add files")
    page.locator(".task[data-state=done]", has_text="bridge.md").wait_for()
    assert tab.site.engine.get("agent:/uploads/bridge.md").title == "Bridge"
    page.fill("#write [name=title]", "Ferry")
    page.fill("#write textarea", "The ferry leaves at nine.")
    page.click("#write >> text=Save")
    page.locator("#saved a").click()
    assert page.inner_text("h1") == "Ferry"


def test_a_task_that_fails_says_so_on_the_page_that_follows_it(tab: Tab) -> None:
    is_watched = threading.Event()

    def fail(engine: Ricordo, tell: Any) -> None:
        tell(Progress(1, 2, "bridge.md", "reading"))
        is_watched.wait(60)
        raise Unavailable("the disk is gone")

    task = tab.site.serving.start("add", fail, about="a folder")
    try:
        page = tab.go("/add")
        page.locator(f"[data-task='{task.id}'] .task-words", has_text="reading 1 of 2, bridge.md").wait_for()
    finally:
        is_watched.set()
    page.locator(".task[data-state=failed]", has_text="the disk is gone").wait_for()


def test_a_browser_that_is_signed_out_meanwhile_is_told_how_to_sign_in(running: Any, site: Listening) -> None:
    before = site.serving.credentials.all("session")
    context = running.new_context()
    page = context.new_page()
    page.goto(site.link())
    page.wait_for_load_state("networkidle")  # else what the page asks for by itself is refused before a key is pressed
    (mine,) = [one for one in site.serving.credentials.all("session") if one not in before]
    site.serving.credentials.remove(mine.id)
    page.locator("#q").press_sequentially("keys")
    page.get_by_text("ricordo serve link").wait_for()
    context.close()


def test_health_checks_the_store_and_shows_the_result(tab: Tab) -> None:
    page = tab.go("/jobs")
    page.click("text=Check the store")
    page.locator(".task[data-state=done] .checks li").first.wait_for()
    assert "integrity" in page.inner_text(".checks")


def test_weights_are_tried_on_ones_own_questions_and_saved(tab: Tab) -> None:
    page = tab.go("/profiles?name=brain")
    with page.expect_response("**/profiles/preview**") as asked:
        page.locator("input[name='w.recency']").fill("0.9")
    assert asked.value.status == 200
    assert "keys" in page.inner_text("#preview")


def test_settings_say_what_is_wrong_with_a_value(tab: Tab) -> None:
    page = tab.go("/settings")
    form = page.locator("form", has=page.locator("input[value='search.limit']"))
    form.locator("[id='set-search.limit']").fill("many")
    page.keyboard.press("Tab")
    form.locator(".banner.bad").wait_for()


def test_a_setting_is_saved_at_once_and_put_back(tab: Tab) -> None:
    page = tab.go("/settings")
    form = page.locator("form", has=page.locator("input[value='search.limit']"))
    form.locator("[id='set-search.limit']").fill("7")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    with page.expect_response(lambda answer: answer.request.method == "GET" and answer.url.endswith("/settings")):
        page.keyboard.press("Tab")
    form.locator(".answer", has_text="Saved").wait_for()
    assert not [one for one in asked if one.endswith("/undo")], "a setting is no step, and another one is not offered"
    with Ricordo.open(tab.site.engine.location) as engine:
        assert engine.config.search.limit == 7
    page.locator("#find-setting").fill("hits are returned")
    page.wait_for_url("**/settings?q=hits**")
    page.locator("#settings h2", has_text="search").wait_for()
    assert page.locator("#settings form").count() == 1


def test_light_and_dark_are_switched_and_kept(tab: Tab) -> None:
    page = tab.go("/")
    before = page.evaluate("getComputedStyle(document.body).color")
    page.click("[data-theme-switch]")
    after = page.evaluate("getComputedStyle(document.body).color")
    assert before != after
    page.reload()
    assert page.evaluate("getComputedStyle(document.body).color") == after


def test_a_file_whose_name_is_hostile_is_added_and_nothing_runs(tab: Tab) -> None:
    page = tab.go("/add")
    page.set_input_files("#files", [{"name": "<img src=x onerror=window.stolen=1>.md", "mimeType": "text/markdown",
                                     "buffer": HOSTILE.encode()}])  # fmt: skip
    page.click("text=Add files")
    page.locator(".task[data-state=done]").first.wait_for()
    assert page.evaluate("window.stolen") is None


def test_a_page_elsewhere_reaches_nothing(tab: Tab, site: Listening, tmp_path: Path) -> None:
    other, end = listen(tmp_path)
    page = tab.page
    page.goto(other.address + "/healthz")
    before = site.engine.count()
    message = page.evaluate(
        """async address => {
            const form = new FormData(); form.append("text", "forged");
            const tries = [
                fetch(address + "/add/text", {method: "POST", body: form, credentials: "include", mode: "no-cors"}),
                fetch(address + "/api/v1/search?q=keys", {credentials: "include"}),
            ];
            return (await Promise.allSettled(tries)).map(one => one.status === "fulfilled" && one.value.status === 200);
        }""",
        site.address,
    )
    page.goto(site.address)
    end()
    tab.complaints.clear()
    assert message == [False, False]
    assert site.engine.count() == before
