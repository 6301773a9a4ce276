"""What the pages show and what their forms do, asked over HTTP as a browser would, without one."""

from __future__ import annotations

import html
import re
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.server.http_sites import LOCAL, Site

from ricordo import ConfigProvider, Ricordo, told_log
from ricordo.config.loading import SETTINGS
from ricordo.engine.setting_changes import change_setting
from ricordo.hosting.credentials import Credentials
from ricordo.http_api.server import app_for
from ricordo.http_api.state import Serving
from ricordo.mcp_server.http import McpOverHttp
from ricordo.mcp_server.service import ToolService
from ricordo.plugins.page.layout import by_day
from ricordo.values.provenance import Provenance, stored

AGENT = Provenance("agent", "claude-code", via="mcp")


def shown(site: Site, path: str, **query: str) -> str:
    answer = site.client.get(path, params=query)
    assert answer.status_code == 200, answer.text
    return html.unescape(answer.text)


def sent(site: Site, path: str, status: int = 200, **fields: str) -> Any:
    """The answer to a form."""
    answer = site.client.post(path, data=fields, follow_redirects=False)
    assert answer.status_code == status, answer.text
    return answer


@pytest.fixture
def ranked(site: Site) -> Site:
    """Two notes: one has the word more often, the other is more important, and the profile brain goes by that, too."""
    site.engine.save("note:/often", "Keys, keys and keys: rotate all keys.", fields={"title": "Often", "importance": 1})
    site.engine.save("note:/heavy", "The door has a lock and keys.", fields={"title": "Heavy", "importance": 5})
    return site


def moves(part: str) -> list[str]:
    """The titles of a ranked list, each with how it moved."""
    rows = re.findall(r'<li class="\w*">(.*?)</li>', part, re.DOTALL)
    plain = [re.search(r">([^<]+)</a>.*?<span class=\"soft\">([^<]*)</span>", row, re.DOTALL) for row in rows]
    return [f"{one[1]} {one[2]}".strip() for one in plain if one is not None]


def test_two_profiles_are_shown_side_by_side_with_what_moved(ranked: Site) -> None:
    page = shown(ranked, "/compare", q="keys", left="bm25", right="brain")
    columns = re.findall(r'<section aria-label="(\w+)">(.*?)</section>', page, re.DOTALL)
    assert [(name, moves(part)) for name, part in columns] == [
        ("bm25", ["Often up 1", "Heavy down 1"]),
        ("brain", ["Heavy up 1", "Often down 1"]),
    ]


def test_a_profile_is_shown_with_its_weights_and_what_they_do_to_recent_questions(ranked: Site) -> None:
    ranked.engine.search("keys")
    page = shown(ranked, "/profiles", name="brain")
    assert re.search(r'name="w.importance"[^>]* value="0.1667"', page)
    assert re.search(r'<h3>Now</h3><ol><li class="">[^O]*Often<.*<h3>With these weights</h3>.*Heavy<', page, re.DOTALL)
    part = shown(ranked, "/profiles/preview", base="bm25", **{"w.lexical": "1"})
    assert part.index("Often") < part.index("Heavy")


def test_weights_are_saved_as_a_profile_of_the_users_own(site: Site) -> None:
    person = site.stranger({"Origin": "http://127.0.0.1"})
    person.get("/sign-in", params={"code": site.serving.codes.new()})
    site = Site(site.serving, site.app, person)
    saved = sent(site, "/profiles", 303, base="brain", name="mine", **{"w.importance": "0.5"})
    assert saved.headers["location"] == "/profiles?name=mine&said=saved"
    with Ricordo.open(site.engine.location) as engine:
        assert engine.config.profiles["mine"]["base"] == "brain"
        assert engine.profiles()["mine"].signals["importance"].weight == 0.5
    refused = sent(site, "/profiles", 400, base="brain", name="bm25")
    assert "is built in" in html.unescape(refused.text)


def test_a_memory_says_to_whom_it_is_told_and_which_words_changed(site: Site) -> None:
    rule = site.engine.remember("We use npm: run `make install`.", loading="always").ref
    site.engine.edit(rule, "We use pnpm: run `make install`.")
    told_log.note("session-start", site.engine.location, [rule], asker=stored(AGENT), tokens=20)
    page = shown(site, "/item", ref=rule)
    assert '<h1 class="words">We use pnpm: run <code>make install</code>.</h1>' in page
    assert re.search(r"Told to: every agent.*?\d+ tokens\. Told 1 time since .* to Claude Code\.", page, re.DOTALL)
    assert "We use <del>npm</del><ins>pnpm</ins>: run" in page


def test_what_contradicts_a_memory_is_shown_beside_it_and_both_can_be_kept(site: Site) -> None:
    one = site.engine.remember("Deploys are on Tuesday.").ref
    other = site.engine.remember("Deploys are never on Tuesday.", on_duplicate="save").ref
    site.engine.link(one, other, "contradicts")
    page = shown(site, "/item", ref=one)
    assert "Another memory says the contrary" in page
    assert "Deploys are<mark> never</mark> on Tuesday." in page
    person = site.stranger({"Origin": "http://127.0.0.1"})  # only a person who signed in decides
    person.get("/sign-in", params={"code": site.serving.codes.new()})
    answer = person.post("/both-true", data={"ref": one, "other": other}, follow_redirects=False)
    assert answer.headers["location"].endswith("said=both")
    assert "Another memory says the contrary" not in shown(site, "/item", ref=one)
    assert site.engine.get(other).state == "live"


def test_an_edit_is_previewed_as_it_reads_with_what_changes_and_what_agents_are_told(site: Site) -> None:
    ref = site.engine.remember("We use npm.", loading="always").ref
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    part = sent(site, "/edit/preview", ref=ref, content=f"We use **pnpm**. <script>x</script> {token}").text
    assert "We use <strong>pnpm</strong>." in part
    assert "<script>" not in part
    assert "<ins>" in part
    assert re.search(r"\d+ tokens, \d+ before", part)
    assert "Secrets in the text" in part
    assert 'class="state fresh">none' not in part
    assert site.engine.get(ref).content == "We use npm.", "nothing is written"
    assert site.as_scope("read").post("/edit/preview", data={"ref": ref, "content": "x"}).status_code == 403


def test_the_source_of_an_item_has_numbered_lines(site: Site) -> None:
    site.engine.save("note:/keys", "one\ntwo")
    page = shown(site, "/item", ref="note:/keys", view="source")
    assert re.findall(r'<td class="line">(\d+)</td><td><code>(\w+)</code>', page) == [("1", "one"), ("2", "two")]


def test_an_earlier_version_is_brought_back_by_its_button(site: Site) -> None:
    site.engine.save("note:/keys", "the first text")
    site.engine.save("note:/keys", "another text", on_conflict="overwrite")
    answer = sent(site, "/restore", 303, ref="note:/keys", version="1")
    assert "said=restored" in answer.headers["location"]
    assert site.engine.get("note:/keys").content == "the first text"


def test_a_setting_that_was_changed_says_what_it_was_and_is_put_back(tmp_path: Path) -> None:
    change_setting("search.limit", "7")
    service = ToolService((), store=str(tmp_path / "own.db"), config=ConfigProvider())
    serving = Serving(service, credentials=Credentials(tmp_path / "credentials.json"), local_token=LOCAL)
    app = app_for(serving, McpOverHttp(service, serving.threads), port=0)
    site = Site(serving, app, TestClient(app, base_url="http://127.0.0.1", headers={"Origin": "http://127.0.0.1"}))
    site.client.get("/sign-in", params={"code": serving.codes.new()})
    was = r'was 10 <button class="link" name="reset" value="true" data-reloads>Put back</button>'
    assert was in shown(site, "/settings")
    assert "Put back." in sent(site, "/settings", name="search.limit", reset="true").text
    assert was not in shown(site, "/settings")
    serving.close()


def test_the_fifteen_settings_that_people_change_come_first_and_the_others_are_found(site: Site) -> None:
    assert shown(site, "/settings").count('<form class="set"') == 15
    assert shown(site, "/settings", all="true").count('<form class="set"') == len(SETTINGS)
    assert re.findall(r'name="name" value="([^"]+)"', shown(site, "/settings", q="bin_days")) == ["store.bin_days"]
    assert site.as_scope("read").get("/settings", params={"tokens": "true"}).status_code == 403


def test_only_known_work_is_started_from_the_page(site: Site) -> None:
    assert "Check the store" in sent(site, "/jobs/start", name="doctor").text
    assert "no operation" in html.unescape(sent(site, "/jobs/start", 400, name="nonsense").text)
    writer = site.as_scope("write")
    assert writer.post("/jobs/start", data={"name": "repair"}).status_code == 403


def test_the_page_of_the_api_groups_verbs_by_what_they_are_for(site: Site) -> None:
    page = shown(site, "/api")
    groups = re.findall(r"<h2>([^<]+)</h2>", page)
    assert {"Probes", "Find"} <= set(groups), groups
    assert len(groups) > 5
    assert re.search(r"<code>/api/v1/search</code>.*?<code>q</code>", page, re.DOTALL)


def test_folders_that_hold_one_folder_alone_are_skipped(site: Site) -> None:
    site.engine.save("note:/a/b/one", "one")
    site.engine.save("note:/a/b/two", "two")
    page = shown(site, "/browse")
    assert re.findall(r'<span class="name">([^<]+)</span>', page) == ["one", "two"]
    site.engine.save("agent:/c", "three")
    assert re.findall(r'<span class="name">([^<]+)</span>', shown(site, "/browse")) == ["agent:", "note:"]


def test_a_chosen_facet_is_marked_and_leads_back(site: Site) -> None:
    site.engine.save("note:/keys", "Rotate the keys.", fields={"tags": ["safe"]})
    site.engine.save("note:/doors", "The keys of the doors.", fields={"tags": ["house"]})
    page = shown(site, "/facets", q="keys", tag="safe")
    facets = {
        name: (mark.strip(), address)
        for address, mark, name in re.findall(r'<a class="chip" href="([^"]+)"([^>]*)>#?(\w+) <b>', page)
    }
    assert facets["safe"][0] == 'aria-current="true"'
    assert "tag=safe" not in facets["safe"][1]
    assert facets["Notes"][0] == ""
    assert "<b>1 hit</b> with #safe · 2 without filters" in page


def test_the_graph_names_items_by_title_and_leads_to_them(site: Site) -> None:
    site.engine.save("note:/a", "See [[b]].", fields={"title": "The first"})
    site.engine.save("note:/b", "The other one.", fields={"title": "The second"})
    page = shown(site, "/graph", ref="note:/a")
    assert re.findall(r'">([^<]+)</a><span class="m">note, (1 link)<', page) == [
        ("The first", "1 link"),
        ("The second", "1 link"),
    ]
    assert 'href="/graph?ref=note%3A/b"' in page or 'href="/graph?ref=note:/b"' in page
    drawn = re.search(r'data-source="([^"]+)"', page)
    assert drawn is not None
    assert [one["title"] for one in site.get(html.unescape(drawn[1]))["nodes"]] == ["The first", "The second"]


def test_a_fault_of_the_server_is_told_without_its_details(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: Any, **options: Any) -> Any:
        raise RuntimeError("a secret detail")

    monkeypatch.setattr(Ricordo, "status", broken)
    client = TestClient(
        site.app, "http://127.0.0.1", raise_server_exceptions=False, headers={"Authorization": f"Bearer {LOCAL}"}
    )
    answer = client.get("/api/v1/status")
    assert answer.status_code == 500
    assert answer.json()["error"]["code"] == "unexpected"
    assert "secret detail" not in answer.text


def test_a_browser_is_listed_by_its_name_and_a_token_by_one_letter(site: Site) -> None:
    agent = {"user-agent": "Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0"}
    browser = site.stranger()
    browser.get("/sign-in", params={"code": site.serving.codes.new()}, headers=agent)
    [session] = site.serving.credentials.all("session")
    assert "Firefox" in session.name
    secret = re.search(r"ricordo_[\w-]{20,}", sent(site, "/tokens", name="x", scope="read").text)
    assert secret is not None
    [token] = site.serving.credentials.all("token")
    assert (token.name, token.scope) == ("x", "read")
    assert "may not ask any more" in sent(site, "/tokens/remove", id=token.id).text
    assert site.serving.credentials.all("token") == []


def test_a_text_that_was_written_is_saved_and_what_is_nearly_the_same_is_asked_about(site: Site) -> None:
    text = "Rotate the signing keys every quarter, and tell the team about it."
    answer = sent(site, "/add/text", text=text, title="Keys", tags="safety, keys", kind="memory")
    [item] = site.engine.list()
    assert str(item.ref) in html.unescape(answer.text)
    assert (item.title, set(item.fields.tags)) == ("Keys", {"safety", "keys"})
    again = sent(site, "/add/text", text=text.replace("every", "each"), title="Keys", kind="memory")
    assert "Something nearly the same is known" in again.text
    assert len(site.engine.list()) == 1


def test_columns_are_as_high_as_their_share_of_the_highest_and_empty_without_a_value() -> None:
    chart = by_day({"2026-01-02": 0.5, "2026-01-03": 0.25}, 3, date(2026, 1, 3))
    assert (chart.top, [column.height for column in chart.columns]) == (0.5, [0.0, 120.0, 60.0])
    assert by_day({}, 3, date(2026, 1, 3)).top == 0
