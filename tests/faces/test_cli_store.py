"""The verbs on real stores, as people and scripts use them."""

from __future__ import annotations

import json
import os
import select
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

KEYS = """---
title: Rotating keys
tags: [ops, security]
---
# Rotating keys

Rotate the signing keys every quarter with the script in the vault.

Then tell the on-call person.
"""
LUNCH = "# Lunch\n\nThe canteen serves soup on Tuesdays.\n"


@pytest.fixture
def notes(house: Any) -> Any:
    """A house with three files in its store."""
    house.write("notes/keys.md", KEYS)
    house.write("notes/lunch.md", LUNCH)
    house.write("plan.txt", "Ship the search page.\nThen rest.\n")
    house.run("add", "notes", "plan.txt")
    return house


def disk(house: Any, name: str) -> str:
    return f"disk:{house.folder / name}"


def test_ricordo_alone_says_what_to_do_first(house: Any) -> None:
    printed = house.run()
    assert printed.stdout.startswith("There is no store yet")
    assert "ricordo add notes/" in printed.stdout
    assert house.json()["items"] == 0
    assert not Path(house.env["RICORDO_DATA_HOME"], "ricordo.db").exists()


def test_ricordo_alone_says_how_the_store_is(notes: Any) -> None:
    assert "holds 3 items" in notes.run().stdout
    assert notes.json()["items"] == 3


def test_init_makes_a_project_whose_store_is_used_below_it(house: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = house.json("init")
    assert plain["store"] == str(house.folder / ".ricordo" / "ricordo.db")
    assert house.run("init").stdout == f"the store of this project is {plain['store']}\n"
    house.write("sub/a.md", "alpha")
    monkeypatch.chdir(house.folder / "sub")
    house.run("add", "a.md")
    assert house.json("status")["store"] == plain["store"]
    assert house.json("init", "nowhere", code=3)["code"] == "not_found"


def test_a_project_in_one_that_is_bound_to_another_store_has_its_own(
    house: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    bound = house.json("--store", "team.db", "init")
    assert (bound["store"], house.json("init")["store"]) == (str(house.folder / "team.db"),) * 2
    assert not (house.folder / ".ricordo" / "ricordo.db").exists(), "a second run makes no store that is not used"
    inner = house.folder / "inner"
    (inner / "deep").mkdir(parents=True)
    monkeypatch.chdir(inner)
    made = house.json("init")
    assert (made["store"], "used" in made) == (str(inner / ".ricordo" / "ricordo.db"), False)
    monkeypatch.chdir(inner / "deep")
    house.run("remember", "The safe code is in the drawer.", "--no-wait")
    assert house.json("status")["store"] == made["store"]
    assert "drawer" not in house.run("--store", str(house.folder / "team.db"), "export").stdout
    house.run("config", "set", "store.location", "elsewhere.db", "--project")
    assert house.json("config", "path")["store"] == str(inner / "deep" / "elsewhere.db")
    monkeypatch.chdir(house.folder)
    assert house.json("config", "path")["store"] == bound["store"]


def test_a_project_in_one_whose_tiers_are_set_has_its_own(house: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    house.run("init")
    house.run("config", "set", "tiers.project", "shared.db", "--project")
    (house.folder / "inner").mkdir()
    monkeypatch.chdir(house.folder / "inner")
    made = house.json("init")
    house.run("remember", "The safe code is in the drawer.", "--no-wait")
    assert house.json("status")["store"] == made["store"] == str(house.folder / "inner" / ".ricordo" / "ricordo.db")
    assert house.json("--tier", "project", "status")["store"] == made["store"]


def test_init_says_which_store_commands_use(house: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RICORDO_TIERS_PROJECT", str(house.folder / "other.db"))
    said = house.run("init").stdout
    assert f"commands in this folder use {house.folder / 'other.db'}: RICORDO_TIERS_PROJECT names that one" in said
    house.run("remember", "The safe code is in the drawer.", "--no-wait")
    assert house.json("init")["used"] == house.json("status")["store"] == str(house.folder / "other.db")


def test_an_encrypted_project_that_cannot_be_made_leaves_nothing_that_would_get_a_plain_store(
    house: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RICORDO_PASSPHRASE", "short")
    house.run("init", "--encrypt", "--key", "passphrase", code=2)
    assert not (house.folder / ".ricordo").exists()
    house.run("init")
    house.run("init", "--encrypt", "--key", "passphrase", code=2)
    assert (house.folder / ".ricordo" / "ricordo.db").exists(), "a project that was there stays"


def test_a_project_whose_store_cannot_be_opened_is_not_bound_to_it(house: Any) -> None:
    broken = house.folder / "broken.db"
    broken.write_bytes(b"no store at all, but long enough to be looked at" * 40)
    house.run("--store", str(broken), "init", code=5)
    assert not (house.folder / ".ricordo").exists()
    house.run("init")
    house.run("--store", str(broken), "init", code=5)
    assert "ricordo.db" in house.json("status")["store"], "a project that was there keeps its own"


def test_reading_without_a_store_says_how_to_make_one_and_makes_none(house: Any) -> None:
    for args in (("search", "x"), ("list",), ("get", "note:/x"), ("status",), ("grep", "x"), ("tree",)):
        error = house.json(*args, code=5)
        assert error["code"] == "store"
        assert "ricordo init" in error["hint"]
    assert not Path(house.env["RICORDO_DATA_HOME"], "ricordo.db").exists()


def test_a_file_that_cannot_be_read_fails_alone(house: Any) -> None:
    house.write("good.md", "fine")
    printed = house.run("add", "good.md", "missing.md", code=1)
    assert "created good.md" in printed.stdout
    assert "1 created, 1 failed" in printed.stdout
    assert "missing.md" in printed.stderr
    envelope = house.envelope("add", "good.md", "missing.md", code=1)
    assert envelope["data"]["failed"] == 1
    assert envelope["error"]["code"] == "some_failed"
    failed = [item for item in envelope["data"]["items"] if item["status"] == "failed"]
    assert failed[0]["error"]["message"]


def test_bytes_that_are_not_utf_8_never_crash_standard_input(house: Any) -> None:
    house.run("add", "-", "--as", "note:/x", stdin=b"caf\xe9 \x00 \xff\xfe latin")
    assert house.run("get", "note:/x").exit_code == 0


def test_on_conflict_error_is_a_conflict_and_overwrite_makes_a_version(notes: Any) -> None:
    notes.write("plan.txt", "Another plan.\n")
    notes.run("add", "plan.txt", "--on-conflict", "error", code=4)
    assert notes.json("add", "plan.txt", "--on-conflict", "error", code=4)["code"] == "path_conflict"
    assert notes.run("add", "plan.txt", "--on-conflict", "overwrite").stdout == "updated plan.txt (version 2)\n"


def test_fields_are_set_while_adding(house: Any) -> None:
    house.write("a.md", "text")
    house.run("add", "a.md", "--set", "severity=warning", "--set", "importance=4", "--set", 'metadata={"k": [1]}')
    plain = house.json("get", "a.md", "--meta")
    assert (plain["severity"], plain["importance"], plain["metadata"]) == ("warning", 4, {"k": [1]})
    assert "content" not in plain
    house.run("add", "a.md", "--set", "severity=huge", code=2)
    house.run("add", "a.md", "--set", "colour=red", code=2)


def test_only_files_that_match_the_glob_are_added(house: Any) -> None:
    house.write("src/a.py", "x = 1")
    house.write("src/b.txt", "b")
    assert [item["ref"] for item in house.json("add", "src", "--glob", "*.py")["items"]] == [disk(house, "src/a.py")]


def test_search_takes_several_words_and_shows_where(notes: Any) -> None:
    printed = notes.run("search", "how", "do", "I", "rotate", "keys")
    lines = printed.stdout.splitlines()
    assert lines[0].endswith("document #ops #security")
    assert "Rotating keys" in lines[0]
    assert lines[1].strip().startswith("notes/keys.md:")
    assert "candidates" in printed.stderr
    assert notes.run("search", "rotate", "-q").stderr == ""


def test_search_answers_the_shape_that_scripts_rely_on(notes: Any) -> None:
    plain = notes.json("search", "rotate keys")
    hit = plain["hits"][0]
    assert hit["ref"] == disk(notes, "notes/keys.md")
    for name in (
        "id", "title", "description", "kind", "domain", "severity", "tags", "tier", "score", "snippet", "lines",
        "token_estimate",
    ):  # fmt: skip
        assert name in hit
    assert 0 <= hit["score"] <= 1
    assert "item" not in hit
    assert "explain" not in hit
    for name in ("candidates", "returned", "milliseconds", "profile", "weights", "tiers", "degraded"):
        assert name in plain["meta"]
    full = notes.json("search", "rotate keys", "--mode", "full")["hits"][0]
    assert "quarter" in full["item"]["content"]


def test_a_query_may_come_from_standard_input(notes: Any) -> None:
    assert notes.json("search", "-", stdin="rotate keys\n")["hits"] == notes.json("search", "rotate keys")["hits"]


@pytest.mark.parametrize(
    "args", [["soup", "-keys", "signing"], ["-keys soup signing"], ["--", "-keys", "soup", "signing"]]
)
def test_a_word_with_a_dash_leaves_out_wherever_it_stands(notes: Any, args: list[str]) -> None:
    found = [
        hit["ref"] for hit in json.loads(notes.run("--json", "search", "--by", "words", *args).stdout)["data"]["hits"]
    ]
    assert found == [disk(notes, "notes/lunch.md")]


def test_filters_limit_and_offset_narrow_the_answer(notes: Any) -> None:
    everything = notes.json("search", "the")["hits"]
    assert len(everything) == 3
    assert notes.json("search", "the", "--limit", "1", "--offset", "1")["hits"] == everything[1:2]
    assert len(notes.json("search", "the", "-n1")["hits"]) == 1
    assert len(notes.json("search", "the", "--tag", "ops")["hits"]) == 1
    assert len(notes.json("search", "the tag:ops tag:none")["hits"]) == 0
    assert len(notes.json("search", "the", "--path", str(notes.folder / "notes"))["hits"]) == 2
    assert notes.json("search", "the", "--kind", "memory")["hits"] == []
    assert notes.json("search", "the", "--drive", "url")["hits"] == []
    assert notes.json("search", "the", "--before", "2001-01-01")["hits"] == []
    assert len(notes.json("search", "the", "--after", "2001-01-01")["hits"]) == 3


def test_tags_and_domains_can_be_preferred_without_leaving_others_out(notes: Any) -> None:
    assert len(notes.json("search", "the", "--boost-tags", "ops,x", "--boost-domain", "d", "--diverse")["hits"]) == 3


def test_what_is_compared_is_said_by_option_and_by_setting(notes: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    by_words = notes.json("search", "rotate keys", "--by", "words", "--no-track")["hits"]
    monkeypatch.setenv("CO_KNOWLEDGE_SEARCH_BACKEND", "fts5")
    assert notes.json("search", "rotate keys")["hits"] == by_words
    assert [hit["ref"] for hit in notes.json("search", "quarter", "--by", "text")["hits"]] == [
        disk(notes, "notes/keys.md")
    ]


def test_ranks_go_on_where_the_offset_starts(notes: Any) -> None:
    assert notes.run("search", "the", "--offset", "2").stdout.startswith(" 3  ")


def test_explain_says_why_an_item_is_found_or_not(notes: Any) -> None:
    found = notes.json("explain", "rotate", "keys", "notes/keys.md")
    assert (found["found"], found["rank"]) == (True, 1)
    missing = notes.json("explain", "rotate", "notes/lunch.md", "--by", "words")
    assert missing["found"] is False
    assert missing["reason"]
    assert missing["reason"] in notes.run("explain", "rotate", "notes/lunch.md", "--by", "words").stdout
    assert notes.json("explain", "rotate", "nowhere.md", code=3)["code"] == "not_found"


@pytest.mark.parametrize(
    "flags",
    [
        ["--weights", "lexical=nan"],
        ["--weights", "lexical=-1"],
        ["--weights", "nonsense=1"],
        ["--profile", "nobody"],
        ["--by", "magic"],
        ["--as-of", "tomorrowish"],
    ],
)
def test_a_search_that_makes_no_sense_is_a_usage_error(notes: Any, flags: list[str]) -> None:
    error = notes.json("search", "rotate", *flags, code=2)
    assert error["code"] == "usage"
    assert error["hint"]


def test_grep_finds_lines_with_their_neighbours(notes: Any) -> None:
    assert notes.run("grep", "SIGNING", "-i").stdout.startswith("notes/keys.md:7:Rotate the signing")
    match = notes.json("grep", "soup.on", "-C", "1", "--glob", "*.md")["matches"][0]
    assert (match["ref"], match["line"]) == (disk(notes, "notes/lunch.md"), 3)
    assert notes.run("grep", "soup.on", "-F").stdout == ""
    assert notes.run("grep", "zebra").stdout == ""
    assert notes.json("grep", "(", code=2)["code"] == "usage"


def test_get_prints_the_text_exactly(notes: Any) -> None:
    assert notes.run("get", "notes/lunch.md").stdout == LUNCH
    assert notes.run("get", disk(notes, "notes/lunch.md")).stdout == LUNCH
    identity = notes.json("get", "notes/lunch.md")["id"]
    assert notes.run("get", identity).stdout == LUNCH


def test_get_of_several_prints_each_under_its_ref_and_fails_in_part(notes: Any) -> None:
    printed = notes.run("get", "plan.txt", "nowhere.md", "notes/lunch.md", code=1)
    assert printed.stdout.startswith(f"==> {disk(notes, 'plan.txt')} <==\nShip")
    assert printed.stdout.endswith(LUNCH)
    assert "nowhere.md" in printed.stderr
    envelope = notes.envelope("get", "plan.txt", "nowhere.md", code=1)
    assert [item["title"] for item in envelope["data"]["items"]] == ["plan.txt"]
    assert envelope["data"]["failed"][0]["error"]["code"] == "not_found"
    notes.run("get", "nowhere.md", code=3)
    notes.run("get", "nowhere.md", "nowhere.txt", code=3)


def test_meta_shows_fields_without_the_text(notes: Any) -> None:
    shown = notes.run("get", "notes/keys.md", "--meta").stdout
    assert "ops, security" in shown
    assert "quarter" not in shown


def test_list_and_tree_show_what_is_kept(notes: Any) -> None:
    plain = notes.json("list")
    assert plain["total"] == 3
    assert {item["title"] for item in plain["items"]} >= {"Rotating keys"}
    assert "content" not in plain["items"][0]
    assert notes.run("list", "--tag", "ops").stdout.count("\n") == 2
    assert "1-1 of 3" in notes.run("list", "--limit", "1").stderr
    tree = notes.run("tree").stdout
    assert "notes" in tree
    assert "keys.md" in tree
    assert notes.json("tree", "--depth", "1")["items"] == 3


def test_an_edit_is_a_version_that_history_diff_and_restore_know(notes: Any) -> None:
    ref = "plan.txt"
    assert notes.run("edit", ref, "--title", "The plan").stdout == "updated plan.txt (version 2)\n"
    notes.run("edit", ref, "--content", "-", stdin="Ship the search page.\nThen party.\n")
    versions = notes.json("history", ref)["versions"]
    assert [version["version"] for version in versions] == [3, 2, 1]
    assert notes.run("history", ref).stdout.splitlines()[1].startswith("3 *")
    diff = notes.run("diff", ref).stdout
    assert "-Then rest." in diff
    assert "+Then party." in diff
    assert "The plan" in notes.json("diff", ref, "1", "2")["diff"]
    assert notes.run("get", ref, "--version", "1").stdout.endswith("rest.\n")
    notes.run("restore", ref, "--version", "1")
    assert notes.run("get", ref).stdout.endswith("rest.\n")
    assert notes.json("history", ref)["versions"][0]["version"] == 4
    notes.run("get", ref, "--version", "99", code=3)
    notes.run("edit", ref, code=2)


def test_rm_keeps_a_bin_and_purge_does_not(notes: Any) -> None:
    assert "plan.txt" in notes.run("rm", "plan.txt", "--dry-run").stdout
    assert notes.json("list")["total"] == 3
    assert notes.run("rm", "plan.txt").stdout == "removed plan.txt\n"
    notes.run("get", "plan.txt", code=3)
    notes.run("rm", "plan.txt", code=3)
    notes.run("restore", "plan.txt")
    assert notes.run("get", "plan.txt").stdout.startswith("Ship")
    assert notes.json("rm", "plan.txt", "--purge")["removed"] == 1
    notes.run("restore", "plan.txt", code=3)
    assert (notes.folder / "plan.txt").exists()


def test_the_bin_is_listed_and_a_folder_comes_back_from_it_whole(notes: Any) -> None:
    notes.run("rm", "notes/", "-y")
    notes.run("forget", "plan.txt")
    listed = notes.json("list", "state:deleted")
    assert listed["total"] == 2
    assert {item["state"] for item in listed["items"]} == {"deleted"}
    assert notes.json("list", "state:deleted", "state:archived")["total"] == 3
    assert "keys.md" in notes.run("list", "state:deleted").stdout
    assert "2 items" in notes.run("restore", "notes/").stdout
    assert notes.json("list", "state:deleted")["items"] == []
    assert notes.run("list", "state:deleted").stderr == "nothing found\n"
    assert "'ricordo list state:deleted' shows" in notes.run("restore", "notes/", code=3).stderr


def test_a_list_by_filters_alone_shows_first_words_as_titles_and_no_scores(house: Any) -> None:
    house.run("remember", "The bridge of the old mill is twenty metres long.", "--as", "memory:/m1")
    shown = house.run("search", "kind:memory")
    assert shown.stdout.splitlines()[0] == " 1  The bridge of the old mill is twenty metres long.  memory"
    assert "nothing to search for" not in shown.stderr
    assert house.run("search", "kind:memory", "--brief").stdout.startswith(" 1  memory:/m1")
    answer = house.json("search", "kind:memory")
    assert answer["meta"]["notes"] == []
    assert [(hit["title"], hit["score"]) for hit in answer["hits"]] == [
        ("The bridge of the old mill is twenty metres long.", None)
    ]
    assert house.json("search", "bridge")["hits"][0]["score"] > 0
    assert "nothing to search for; these are the newest" in house.run("search", "").stderr
    (part,) = house.json("context", "how long is the bridge of the old mill")["parts"]
    assert part["title"] == "The bridge of the old mill is twenty metres long."


def test_rm_of_a_folder_removes_what_is_below_it(notes: Any) -> None:
    assert notes.json("rm", "notes/", "--dry-run")["removed"] == 0
    assert notes.json("rm", "notes/")["removed"] == 2
    assert notes.json("list")["total"] == 1


def test_mv_gives_another_ref_and_keeps_the_history(notes: Any) -> None:
    notes.run("mv", "plan.txt", "note:/plan")
    assert notes.run("get", "note:/plan").stdout.startswith("Ship")
    assert len(notes.json("history", "note:/plan")["versions"]) == 2
    notes.run("get", "plan.txt", code=3)
    assert notes.json("mv", "note:/plan", disk(notes, "notes/keys.md"), code=4)["hint"]


def test_an_immutable_item_refuses_with_a_conflict(notes: Any) -> None:
    notes.run("edit", "plan.txt", "--set", "immutable=true")
    assert notes.json("edit", "plan.txt", "--title", "x", code=4)["hint"]
    notes.run("rm", "plan.txt", code=4)


def test_status_and_doctor_speak_of_the_store(notes: Any) -> None:
    plain = notes.json("status")
    assert plain["items"] == 3
    assert plain["store"] in notes.run("status").stdout
    report = notes.json("doctor")
    assert report["ok"] is True
    assert "✓" in notes.run("doctor").stdout


def test_doctor_exits_1_on_a_file_that_is_no_store(house: Any) -> None:
    house.write("bad.db", b"this is no database" * 100)
    error = house.json("--store", "bad.db", "doctor", code=5)
    assert error["code"] == "corrupt"
    assert "Traceback" not in house.run("--store", "bad.db", "search", "x", code=5).stderr


def test_json_is_utf_8_whatever_the_locale_says(notes: Any) -> None:
    notes.run("add", "-", "--as", "note:/greek", stdin="Ελληνικά 你好 \U0001f600")
    notes.env.update(LC_ALL="C", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    with notes.start("get", "note:/greek", "--json", stdout=-1) as process:
        shown = process.communicate()[0]
    assert "Ελληνικά 你好 \U0001f600" in shown.decode("utf-8")
    assert json.loads(shown)["data"]["content"] == "Ελληνικά 你好 \U0001f600"


def test_a_lone_surrogate_on_the_command_line_never_crashes(notes: Any) -> None:
    with notes.start("search", b"caf\xe9", "--json", stdout=-1) as process:
        shown = process.communicate()[0]
    assert json.loads(shown)["ok"]
    with notes.start("get", b"caf\xe9.md", "--json", stdout=-1) as process:
        shown = process.communicate()[0]
    assert process.returncode == 2
    assert json.loads(shown)["error"]["code"] == "usage"


@pytest.mark.skipif(sys.platform == "win32", reason="signals and pipes of POSIX")
def test_a_reader_that_goes_away_is_no_error(notes: Any) -> None:
    notes.run("add", "-", "--as", "note:/long", stdin="word " * 100_000)
    for args in (("get", "note:/long"), ("get", "note:/long", "--json")):
        with notes.start(*args, stdout=-1, stderr=-1) as process:
            process.stdout.close()
            printed = process.stderr.read()
        assert (process.returncode, printed) == (0, b"")


@pytest.mark.skipif(sys.platform == "win32", reason="signals and pipes of POSIX")
def test_an_interrupt_ends_cleanly(house: Any) -> None:
    with house.start("add", "-", "--as", "note:/x", stdin=-1, stderr=-1, stdout=-1) as process:
        process.stdin.write(b"more than a pipe holds, so it is being read" * 50_000)
        process.send_signal(signal.SIGINT)
        process.stdin.close()
        printed = process.stderr.read()
    assert process.returncode == 130
    assert b"Nothing that was saved is lost" in printed
    assert b"Traceback" not in printed


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals of POSIX")
def test_a_terminal_gets_colours_and_a_pipe_does_not(notes: Any) -> None:
    import pty

    shown = {}
    for flags in ((), ("--no-color",)):
        lead, follow = pty.openpty()
        notes.env["TERM"] = "xterm-256color"
        with notes.start("search", "rotate", *flags, stdout=follow, stderr=-1) as process:
            process.communicate()
        os.close(follow)
        shown[flags] = os.read(lead, 65536)
        os.close(lead)
    assert b"\x1b[33m\x1b[1mRotat" in shown[()]
    assert b"\x1b[" not in shown[("--no-color",)]
    assert "\x1b[" not in notes.run("search", "rotate").stdout


HEAVY = {
    "onnxruntime", "tokenizers", "trafilatura", "mcp", "httpx", "yaml", "rich", "fastapi", "pydantic", "watchfiles",
    "rapidfuzz", "semantic_text_splitter", "charset_normalizer", "tomlkit",
}  # fmt: skip


@pytest.mark.parametrize(
    "args",
    [
        ("search", "rotate", "--by", "words"),
        ("search", "rotate", "--by", "text"),
        ("get", "notes/lunch.md"),
        ("list",),
        ("tree",),
        ("history", "plan.txt"),
        ("grep", "soup"),
        ("status",),
    ],
)
def test_reading_verbs_import_nothing_heavy(notes: Any, imported: Any, args: tuple[str, ...]) -> None:
    packages = {name.split(".")[0] for name in imported(*args)}
    assert packages & HEAVY == set()


def test_semantic_finds_by_meaning_and_similar_leaves_the_item_itself_out(notes: Any) -> None:
    assert notes.json("search", "--by", "meaning", "a", "meal", "at", "the", "cafeteria")["hits"][0]["ref"] == disk(
        notes, "notes/lunch.md"
    )
    near = [hit["ref"] for hit in notes.json("similar", "plan.txt", "--limit", "5")["hits"]]
    assert disk(notes, "plan.txt") not in near
    assert notes.json("similar", "plan.txt", "--kind", "memory")["hits"] == []
    notes.run("similar", "nowhere.md", code=3)


def test_what_is_added_without_waiting_is_worked_off_later(house: Any) -> None:
    house.write("a.md", "alpha beta")
    house.run("add", "a.md", "--no-wait")
    assert house.json("embed", "--status")["pending"] == house.json("embed", "--status")["pending"] == 1
    assert "pending" in house.run("embed", "--status").stdout
    assert house.json("embed", "--limit", "5")["embedded"] == 1
    assert house.json("embed", "--status")["pending"] == 0
    assert house.json("embed", "--retry")["failed"] == 0
    assert house.json("embed")["failed"] == 0


def test_without_vectors_embed_says_so(house: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RICORDO_EMBEDDING_PROVIDER", "none")
    house.write("a.md", "alpha beta")
    house.run("add", "a.md")
    assert "switched off" in house.json("embed", code=5)["message"]


@pytest.mark.parametrize("args", [("search", "--by", "meaning", "alpha"), ("similar", "a.md")])
def test_a_search_by_meaning_says_that_meaning_is_switched_off(
    house: Any, monkeypatch: pytest.MonkeyPatch, args: tuple[str, str]
) -> None:
    monkeypatch.setenv("RICORDO_EMBEDDING_PROVIDER", "none")
    house.write("a.md", "alpha beta")
    house.run("add", "a.md")
    assert "embedding.provider" in house.run(*args).stderr
    assert house.json("search", "alpha")["meta"]["degraded"] == []


def test_refreshing_a_file_that_nobody_knows_says_so(notes: Any) -> None:
    error = notes.json("refresh", "notes/lunhc.md", code=3)
    assert "notes/lunch.md" in error["hint"]


@pytest.mark.skipif(sys.platform == "win32", reason="signals and pipes of POSIX")
def test_watch_follows_a_folder_until_it_is_interrupted(notes: Any) -> None:
    with notes.start("watch", "notes", "--json", stdout=-1, stderr=-1) as process:
        assert json.loads(process.stdout.readline())["command"] == "watch"
        for number in range(20):
            notes.write(f"notes/late{number}.md", "A late note.")
            if select.select([process.stdout], [], [], 2)[0]:
                break
        event = json.loads(process.stdout.readline())["data"]
        process.send_signal(signal.SIGINT)
        printed = process.stderr.read()
    assert disk(notes, "notes/late") in event["items"][0]["ref"]
    assert event["items"][0]["status"] == "created"
    assert process.returncode == 0
    assert b"Traceback" not in printed


def test_a_title_that_is_no_utf_8_is_mended(house: Any) -> None:
    house.write("a.md", "text")
    with house.start("add", "a.md", "--title", b"caf\xe9") as process:
        process.communicate()
    assert process.returncode == 0
    assert house.json("get", "a.md")["title"] == "caf?"


def test_a_backup_is_a_store(notes: Any) -> None:
    shown = notes.json("backup", "copy.db")
    assert shown["bytes"] == Path("copy.db").stat().st_size
    assert notes.json("--store", "copy.db", "search", "signing")["hits"]
    assert notes.json("backup", "copy.db", code=4)["hint"]
    assert "copy.db" in notes.run("backup", "copy.db", "--force").stdout
    assert notes.json("backup", "no/such/copy.db", code=5)["message"]


@pytest.mark.parametrize(
    "words",
    ["backup", "mv", "mv note:/a", "restore", "link", "history", "roots rm", "sync-folder add", "sync-folder accept",
     "sync-folder rm"],
)  # fmt: skip
def test_an_argument_that_is_missing_is_named(house: Any, words: str) -> None:
    answer = house.run(*words.split(), code=2)
    assert "missing argument" in answer.stderr
