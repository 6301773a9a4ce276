"""Home, what was asked, the palette, several items at once, the bin, tags, corrections and reviews, over HTTP."""

from __future__ import annotations

import html
import re
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from tests.server.http_sites import Site

from ricordo import told_log
from ricordo.plugins.page import review_pages
from ricordo.plugins.page.search_pages import RecentQueries
from ricordo.speaking import speaking
from ricordo.values.log import Proposal
from ricordo.values.provenance import Provenance, stored

from .test_page_actions import sent, shown

AGENT = Provenance("agent", "claude-code", session="s-7", via="mcp")


@pytest.fixture
def kept(site: Site) -> Site:
    site.engine.save("note:/keys", "Rotate the signing keys.", fields={"title": "Keys", "tags": ["safety"]})
    site.engine.save("note:/doors", "The doors have keys.", fields={"title": "Doors"})
    return site


def test_an_empty_store_says_what_to_do_first(site: Site) -> None:
    page = shown(site, "/")
    assert "Begin with one of these" in page
    assert 'id="drop"' in page
    assert len(re.findall(r'<a class="chip" href="/\?q=', page)) == 3


def test_home_shows_where_one_was_what_waits_and_what_was_not_answered(kept: Site) -> None:
    kept.engine.save("note:/rule", "My rule.", fields={"title": "The rule", "loading": "always"})
    with speaking(AGENT):
        kept.engine.edit("note:/rule", "Another rule.")
        kept.engine.search("zzqq deploy window")
    kept.engine.search("keys")
    told_log.note("user-prompt", kept.engine.location, ["note:/keys"], asker=stored(AGENT), tokens=120)
    page = shown(kept, "/")
    assert 'href="/?q=keys"' in page
    assert "Doors" in page
    assert re.search(r"Waits for you .*Review it</a>.*The rule", shown(kept, "/review/waiting"), re.DOTALL)
    assert shown(kept, "/review/count") == "1"
    assert 'href="/add?title=zzqq%20deploy%20window#write"' in shown(kept, "/log/open")
    assert re.search(r"1 time, 120 tokens.*Keys</a>.*1 time<", page, re.DOTALL)
    assert re.search(r"3 items, \d passages: all well", page)


def test_questions_are_listed_with_asker_and_what_became_of_them(kept: Site) -> None:
    with speaking(AGENT):
        kept.engine.search("signing keys")
        kept.engine.get("note:/keys")
    kept.engine.search("doors")
    page = shown(kept, "/log")
    row = r"signing keys</a>.*Claude Code.*session s-7.*Keys</a> opened"
    assert re.search(row, page, re.DOTALL)
    assert len(re.findall(r"fitted \d+%", page)) == 2
    with speaking(AGENT):
        kept.engine.save("note:/tide", "The tide turns at nine.")
    changed = shown(kept, "/log", view="changed", by="claude-code")
    assert re.search(r"The tide turns.*<span>remembered</span><span>note</span><span>Claude Code</span>", changed)
    assert "note%3A%2Fkeys" not in changed
    mine = shown(kept, "/log", view="asked", by="claude-code")
    assert ("signing keys" in mine, ">doors<" in mine) == (True, False)
    assert "Nothing was asked in this time" in shown(kept, "/log", view="asked", day="2020-01-01")
    assert "is not a day" in html.unescape(kept.client.get("/log", params={"day": "soon"}).text)


def test_what_hooks_told_is_listed_with_tokens_and_what_other_stores_told_is_only_counted(kept: Site) -> None:
    told_log.note("session-start", kept.engine.location, ["note:/keys", "note:/gone"], asker=stored(AGENT), tokens=431)
    told_log.note("session-start", "/another/store.db", ["note:/theirs"], asker=stored(AGENT), tokens=7)
    page = shown(kept, "/log", view="told")
    row = r"Told at session start.*431 tokens.*Keys</a>.*note:/gone \(gone\)"
    assert re.search(row, page, re.DOTALL)
    assert "note:/theirs" not in page
    assert "1 answers of hooks came from other stores" in page
    told_log.note(
        "user-prompt", kept.engine.location, ["note:/doors"], asker=stored(Provenance("agent", "codex")), tokens=5
    )
    of_one = shown(kept, "/log", view="told", by="codex")
    assert ("5 tokens" in of_one, "431 tokens" in of_one) == (True, False)


def test_a_day_of_questions_ends_with_it(kept: Site) -> None:
    kept.engine.search("signing keys")
    today = datetime.now().astimezone().date()
    asked = [
        ">signing keys<" in shown(kept, "/log", view="asked", day=str(today + timedelta(days=days)))
        for days in (-1, 0, 1)
    ]
    if datetime.now().astimezone().date() == today:  # or midnight came between
        assert asked == [False, True, False]


def test_home_repeats_the_latest_searches_of_persons_each_once(kept: Site) -> None:
    with speaking(Provenance("person", "ann")):
        for text in ("Signing Keys", "doors", "signing keys"):
            kept.engine.search(text)
    with speaking(AGENT):
        kept.engine.search("windows")
    searches = re.findall(r'href="/\?q=([^"&]+)"', shown(kept, "/"))
    assert searches == ["signing%20keys", "doors"]


def test_a_question_that_is_gone_back_to_is_recorded_once(kept: Site) -> None:
    for path in ("/settled", "/", "/"):
        kept.client.get(path, params={"q": "signing keys"})
    kept.client.get("/", params={"q": "doors"})
    assert [one.text for one in kept.engine.log().questions] == ["doors", "signing keys"]
    recent = RecentQueries(seconds=0)
    assert [recent.is_new("me", "a"), recent.is_new("me", "A ")] == [True, True]  # its hour has passed


def test_the_palette_names_first_what_is_called_so(kept: Site) -> None:
    for name, address in (("search.limit", "/settings?q=search.limit#set-search.limit"), ("log", "/log"),
                          ("safety", "/?tag=safety"), ("doors", "/item?ref=note%3A%2Fdoors")):  # fmt: skip
        first = re.search(r'data-href="([^"]+)"', shown(kept, "/palette", q=name))
        assert first is not None
        assert first[1] == address
    assert 'id="set-search.limit"' in shown(kept, "/settings", q="search.limit")


def test_the_palette_finds_places_tags_and_items_and_offers_what_the_item_takes(kept: Site) -> None:
    def found(**asked: str) -> set[str]:
        return set(re.findall(r'href="([^"]+)"', shown(kept, "/palette", **asked)))

    assert {"/bin", "/log?view=unanswered"} <= found()
    assert "/log?view=changed" in found(q="time")
    assert {"/?tag=safety"} <= found(q="#saf")
    assert "/item?ref=note%3A%2Fdoors" in found(q="doors")
    assert "/item?ref=note%3A%2Fdoors" not in found(q="drive:note")  # letters are looked for as they are
    assert "/edit?ref=note%3A%2Fkeys&how=correct" in found(ref="note:/keys")
    assert kept.engine.log().questions == ()
    reader = kept.as_scope("read").get("/palette", params={"ref": "note:/keys"}).text
    assert "how=correct" not in reader


def test_items_are_tagged_archived_removed_and_brought_back_together(kept: Site) -> None:
    def chosen(what: str, **more: Any) -> str:
        answer = kept.client.post(f"/selection/{what}", data={"ref": ["note:/keys", "note:/doors"], **more})
        assert answer.status_code == 200, answer.text
        return html.unescape(answer.text)

    assert "2 items tagged" in chosen("tag", tags="house, safety")
    assert set(kept.engine.get("note:/doors").fields.tags) == {"house", "safety"}
    assert re.findall(r"#(\w+) <b>(\d)<", shown(kept, "/tags")) == [("house", "2"), ("safety", "2")]
    assert "2 items untagged" in chosen("tag", tags="house", how="remove")
    assert kept.engine.get("note:/doors").fields.tags == ("safety",)
    assert "2 items archived" in chosen("archive")
    assert kept.engine.count() == 0
    assert "Keys" in shown(kept, "/bin", state="archived")
    assert "2 items back" in chosen("restore")
    assert "2 items in the bin" in chosen("remove")
    assert "Doors" in shown(kept, "/bin")
    sent(kept, "/restore", 303, ref="note:/doors")
    assert kept.engine.count() == 1
    assert kept.as_scope("read").post("/selection/remove", data={"ref": "note:/doors"}).status_code == 403


def test_the_last_change_is_undone_by_its_button_and_an_undo_is_not_offered_again(kept: Site) -> None:
    person = kept.stranger({"Origin": "http://127.0.0.1", "X-Ricordo-Part": "yes"})
    person.get("/sign-in", params={"code": kept.serving.codes.new()})
    person.post("/selection/tag", data={"ref": ["note:/keys", "note:/doors"], "tags": "house"})
    offered = re.search(r"Tagged note:/doors, note:/keys|Tagged note:/keys, note:/doors", person.get("/undo").text)
    assert offered is not None
    step = re.search(r'data-undo="(\w+)"', person.get("/undo").text)
    assert step is not None
    assert "Undone" in person.post("/undo", data={"step": step[1]}).text
    assert kept.engine.get("note:/doors").fields.tags == ()
    assert person.get("/undo").text.strip() == ""
    person.post("/selection/remove", data={"ref": ["note:/keys", "note:/doors"]})
    person.post("/selection/restore", data={"ref": ["note:/keys", "note:/doors"]})
    step = re.search(r'data-undo="(\w+)"', person.get("/undo").text)
    assert step is not None
    person.post("/undo", data={"step": step[1]})
    assert kept.engine.count() == 0  # both went back to the bin together


def test_a_change_is_offered_to_be_undone_for_ten_minutes(kept: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    def minutes_later(minutes: float) -> None:
        later = datetime.now(UTC) + timedelta(minutes=minutes)
        monkeypatch.setattr(review_pages, "datetime", SimpleNamespace(now=lambda zone: later))

    person = kept.stranger({"Origin": "http://127.0.0.1", "X-Ricordo-Part": "yes"})
    person.get("/sign-in", params={"code": kept.serving.codes.new()})
    person.post("/selection/tag", data={"ref": "note:/keys", "tags": "house"})
    minutes_later(5)
    assert "data-undo" in person.get("/undo").text
    minutes_later(10.1)
    assert "data-undo" not in person.get("/undo").text


def test_what_should_be_tidied_is_listed_and_done_on_the_page(site: Site) -> None:
    badge = site.engine.remember("The old badge opens the gate.", valid_until="2020-01-01")
    page = shown(site, "/review")
    assert "Items that held until a date which is past" in page
    assert badge.ref in page
    assert "The old badge opens the gate." in shown(site, "/review/waiting"), "the home says which memory it is"
    finding = re.search(r'name="ref" value="(\w+)"', page)
    assert finding is not None
    sent(site, "/review", 303, ref=finding[1], decision="accept")
    assert "Nothing waits for you" in shown(site, "/review")


def test_items_are_moved_to_another_tier(new_site: Any, tmp_path: Any) -> None:
    site: Site = new_site(**{"tiers.team": str(tmp_path / "team.db")})
    site.engine.save("note:/keys", "Rotate the keys.")
    answer = site.client.post("/selection/move", data={"ref": "note:/keys", "tier": "team"})
    assert "1 item moved to team" in answer.text
    assert site.engine.get("note:/keys", track=False).tier == "team"
    assert [str(one.ref) for one in site.engine.tier("agent").list()] == []
    site.engine.save("note:/doors", "The doors have keys.")
    answer = site.client.post("/selection/move", data={"ref": "note:/doors", "tier": "team", "keep": "yes"})
    assert "1 item copied to team" in answer.text
    for tier in ("agent", "team"):
        assert "note:/doors" in [str(one.ref) for one in site.engine.tier(tier).list()]


def test_of_several_items_that_cannot_be_changed_the_first_problem_is_told(kept: Site) -> None:
    def restored(*refs: str) -> Any:
        return kept.client.post("/selection/restore", data={"ref": list(refs)})

    kept.engine.rm("note:/keys")
    assert "1 item back" in restored("note:/nowhere", "note:/keys").text
    lost = restored("note:/nowhere", "note:/neither")
    assert lost.status_code == 404
    assert "note:/nowhere" in lost.text
    assert "note:/neither" not in lost.text


def test_pieces_of_sessions_in_the_archive_are_listed_apart(kept: Site) -> None:
    turn = kept.engine.save("session:/talk/1", "We spoke of keys.", kind="session").ref
    kept.engine.forget("note:/keys", str(turn))
    page = shown(kept, "/bin", state="archived")
    assert "note:/keys" in page
    assert str(turn) not in page
    apart = shown(kept, "/bin", state="archived", sessions="true")
    assert str(turn) in apart
    assert "note:/keys" not in apart


def test_what_an_agent_changed_is_not_offered_to_be_undone(kept: Site) -> None:
    person = kept.stranger({"Origin": "http://127.0.0.1", "X-Ricordo-Part": "yes"})
    person.get("/sign-in", params={"code": kept.serving.codes.new()})
    person.post("/selection/tag", data={"ref": "note:/doors", "tags": "house"})
    with speaking(AGENT):
        kept.engine.edit("note:/keys", "Another text.")
    assert "note:/doors" in person.get("/undo").text


def test_a_selection_and_a_search_result_are_exported(kept: Site) -> None:
    found = kept.client.get("/export", params={"q": "signing", "format": "markdown"})
    assert 'filename="ricordo.md"' in found.headers["content-disposition"]
    assert found.text.startswith("# Keys")
    both = kept.client.post("/export", data={"ref": ["note:/doors", "note:/keys"], "format": "json"}).json()
    assert [one["ref"] for one in both] == ["note:/doors", "note:/keys"]
    assert kept.client.get("/export", params={"q": "zzqq"}).status_code == 404


def test_a_wrong_memory_is_corrected_and_says_by_what(site: Site) -> None:
    wrong = site.engine.remember("Deploys are on Monday.").ref
    assert "Deploys are on Monday." in shown(site, "/correct", ref=wrong), "its old address leads to the form"
    answer = sent(site, "/edit", 303, ref=wrong, base="1", how="correct", content="Deploys are on Tuesday.")
    right = site.engine.search("deploys").hits[0]
    assert right.snippet == "Deploys are on Tuesday."
    assert answer.headers["location"].endswith("said=corrected")
    assert f">{right.ref}</a>" in shown(site, "/item", ref=wrong)


def test_the_page_says_why_something_is_not_found(kept: Site) -> None:
    kept.engine.forget("note:/doors")
    assert "It is not found: " in shown(kept, "/why", q="keys", ref="note:/doors")
    assert "It is hit number 1" in shown(kept, "/why", q="signing keys", ref="note:/keys")
    assert "there is no item" in shown(kept, "/why", q="keys", ref="note:/none")
    assert 'data-value="note:/keys"' in shown(kept, "/pick", q="signing")


def test_what_waits_is_decided_on_the_page(site: Site) -> None:
    site.engine.save("note:/rule", "My rule.", fields={"loading": "always"})
    with speaking(AGENT):
        site.engine.edit("note:/rule", "Another rule.")
    page = shown(site, "/review")
    assert re.search(r"<del>My</del>.*<ins>Another</ins> rule", page)
    assert "Written over your words</h2>" in page
    assert "Go back to yours" in page
    person = site.stranger({"Origin": "http://127.0.0.1"})  # a program's token decides nothing
    person.get("/sign-in", params={"code": site.serving.codes.new()})
    person.post("/review", data={"ref": "note:/rule", "decision": "refuse"})
    assert site.engine.get("note:/rule").content == "My rule."
    assert "Nothing waits for you" in shown(site, "/review")
    assert site.as_scope("write").get("/review").status_code == 403


def test_a_proposal_says_when_it_will_be_told_and_what_that_costs(site: Site) -> None:
    rule = Proposal("Always run make lint.", "rule", "project", "always run make lint", "s1", 3, datetime.now(UTC))
    site.engine.store.proposals.add([rule])
    page = shown(site, "/review")
    assert re.search(r"Told at every session start to every agent in .*: <b>\d+ tokens</b>", page)
    assert re.search(r"\d+ of [\d,]+ tokens are taken, \d+ then", page)
    assert "Nothing that is stored says the contrary" in page
    site.engine.remember("Never run make lint.", ref="memory:/never", on_duplicate="save")
    assert re.search(r"memory:/never</a> says the contrary", shown(site, "/review"))


def test_what_holds_for_a_kind_of_proposals_is_taken_back_on_the_page(site: Site) -> None:
    site.engine.review("proposal:/pattern/rule", "never")
    assert "Never proposed: rule by pattern" in shown(site, "/review")
    person = site.stranger({"Origin": "http://127.0.0.1"})
    person.get("/sign-in", params={"code": site.serving.codes.new()})
    person.post("/review", data={"ref": "proposal:/pattern/rule", "decision": "ask"})
    assert "Kinds of proposals" not in shown(site, "/review")


def test_the_page_can_be_installed_and_says_when_the_server_is_away(site: Site) -> None:
    stranger = site.stranger()
    manifest = stranger.get("/static/ricordo.webmanifest").json()
    assert manifest["start_url"] == "/"
    for icon in manifest["icons"]:
        assert stranger.get(icon["src"]).status_code == 200
    worker = stranger.get("/static/away.js")
    assert worker.headers["service-worker-allowed"] == "/"
    assert "The server is away" in stranger.get("/static/away.html").text
    assert "manifest-src 'self'" in worker.headers["content-security-policy"]
