"""What a new user meets in the first hour: names, lines, hints and counts that say what is so."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from ricordo.cli.cmd_search import editor_command
from ricordo.config.settings import LANGUAGES
from ricordo.text.words import languages

PAGE = "---\ntitle: Keys\n---\n# Keys\n\nRotate them every quarter.\nThe script lies in the vault.\n"


@pytest.fixture
def page(house: Any) -> Any:
    house.write("notes/keys.md", PAGE)
    house.run("add", "notes", "--no-wait")
    return house


def test_get_takes_lines_as_search_prints_them(page: Any) -> None:
    hit = page.json("search", "vault script", "--by", "words")["hits"][0]
    first, last = hit["lines"]
    where = f"notes/keys.md:{first}-{last}"
    assert where in page.run("search", "vault script", "--by", "words").stdout
    assert page.run("get", where).stdout == "".join(PAGE.splitlines(keepends=True)[first - 1 : last])
    assert page.run("get", "notes/keys.md:6").stdout == "Rotate them every quarter.\n"
    assert page.run("get", "notes/keys.md", "--lines", "6-7").stdout.count("\n") == 2
    item = page.json("get", "notes/keys.md:7")
    assert (item["content"], item["first_line"]) == ("The script lies in the vault.\n", 7)


def test_lines_that_are_not_there_are_named_with_those_that_are(page: Any) -> None:
    assert "the lines 4-7" in page.json("get", "notes/keys.md:40", code=3)["hint"]
    assert page.json("get", "notes/keys.md", "--lines", "7-6", code=2)["code"] == "usage"
    assert page.json("get", "notes/keys.md", "--lines", "six", code=2)["code"] == "usage"


def test_a_name_that_ends_like_lines_is_still_a_name(house: Any) -> None:
    house.run("remember", "--kind", "note", "Meet at noon.", "--as", "note:/at:12", "--no-wait")
    assert house.run("get", "note:/at:12").stdout.strip() == "Meet at noon."


@pytest.mark.skipif(sys.platform == "win32", reason="a shell as the editor")
def test_open_starts_the_editor_at_the_line(page: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    log = page.folder / "opened"
    script = page.write("editor.sh", f'#!/bin/sh\nprintf "%s\\n" "$@" > {log}\n')
    script.chmod(0o755)
    monkeypatch.setenv("VISUAL", str(script))
    page.run("open", "notes/keys.md:6")
    assert log.read_text().splitlines() == ["+6", str(page.folder / "notes/keys.md")]
    page.run("remember", "The vault is blue.", "--as", "memory:/vault", "--no-wait")
    page.run("open", "memory:/vault")
    opened = Path(log.read_text().strip())
    assert opened.name == "vault.md"
    assert "The vault is blue." in opened.read_text()
    monkeypatch.setenv("VISUAL", str(page.folder / "no-such-editor"))
    assert page.json("open", "notes/keys.md", code=5)["hint"].startswith("Set VISUAL")


@pytest.mark.parametrize(
    ("editor", "command"),
    [
        ("nano", ["nano", "+3", "a.md"]),
        ("code --wait", ["code", "--wait", "-g", "a.md:3"]),
        ("/usr/bin/hx", ["/usr/bin/hx", "a.md:3"]),
    ],
)
@pytest.mark.skipif(os.name == "nt", reason="paths of POSIX")
def test_each_editor_is_told_the_line_its_own_way(
    editor: str, command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VISUAL", editor)
    assert editor_command("a.md", 3) == command


def test_save_with_a_name_and_a_text_makes_an_item_of_that_name(house: Any) -> None:
    assert house.json("save", "keys", "Rotate them.", "--no-wait")["items"][0]["ref"] == "memory:/keys"
    assert house.json("save", "-k", "note", "plan", "Ship it.", "--no-wait")["items"][0]["ref"] == "note:/plan"
    assert house.json("save", "Two words", "--no-wait")["items"][0]["ref"] == "memory:/two-words"


def test_a_memory_without_a_title_is_called_by_its_first_words(house: Any) -> None:
    text = "Ask Ada about the rollout before Friday, because she knows the customers and their many wishes."
    house.run("remember", text, "--as", "memory:/0f3a", "--no-wait")
    titles = {
        "list": house.json("list")["items"][0]["title"],
        "search": house.json("search", "rollout", "--by", "words")["hits"][0]["title"],
        "get": house.json("get", "memory:/0f3a")["title"],
        "context": house.json("context", "rollout")["parts"][0]["title"],
    }
    assert set(titles.values()) == {"Ask Ada about the rollout before Friday, because she knows the…"}


def test_importance_loading_and_severity_are_edited_by_their_own_options(house: Any) -> None:
    house.run("save", "note:/plan", "Ship on Monday.", "--no-wait")
    house.run("edit", "note:/plan", "--importance", "5", "--loading", "always", "--severity", "critical")
    item = house.json("get", "note:/plan")
    assert (item["importance"], item["loading"], item["severity"]) == (5, "always", "critical")


def test_a_known_text_with_a_new_importance_is_updated(house: Any) -> None:
    house.run("remember", "The keys rotate monthly.", "--importance", "2", "--tag", "ops", "--no-wait")
    again = house.json("remember", "The keys rotate monthly.", "--importance", "5", "--tag", "keys", "--no-wait")
    assert (again["items"][0]["status"], again["items"][0]["version"]) == ("updated", 2)
    item = house.json("get", again["items"][0]["ref"])
    assert (item["importance"], item["tags"]) == (5, ["ops", "keys"])
    same = house.json("remember", "The keys rotate monthly.", "--importance", "5", "--no-wait")
    assert same["items"][0]["status"] == "skipped"


def test_a_heading_inside_a_comment_is_no_title(house: Any) -> None:
    house.write("a.md", "<!-- # Licence\n# Draft -->\n\n# Real title <!-- # not this -->\n")
    house.run("add", "a.md", "--no-wait")
    assert house.json("get", "a.md")["title"] == "Real title"


def test_doctor_and_status_say_what_waits_for_vectors(page: Any) -> None:
    page.run("embed")
    page.write("notes/more.md", "# More\n\nA second page.\n")
    page.run("add", "notes/more.md", "--no-wait")
    vectors = next(check for check in page.json("doctor")["checks"] if check["name"] == "vectors")
    assert "1 of 2 passages have theirs, 1 wait: 'ricordo embed' makes them" in vectors["detail"]
    status = page.json("status")["vectors"]
    assert (status["model"], status["made"], status["pending"]) == ("local", 1, 1)
    assert "pending" in page.run("status").stdout


def test_the_backlog_is_a_table_and_no_python(page: Any) -> None:
    shown = page.run("embed", "--status").stdout
    assert "{" not in shown
    assert [line.split() for line in shown.splitlines()[-2:]] == [
        ["state", "kind", "passages", "why"], ["pending", "document", "1"],
    ]  # fmt: skip


def test_unknown_languages_are_refused_and_a_new_one_is_explained(page: Any) -> None:
    assert set(languages()) <= set(LANGUAGES)
    assert page.json("config", "set", "lexical.language", "klingon", code=2)["code"] == "usage"
    printed = page.run("config", "set", "lexical.language", "german").stderr
    assert "stay indexed as english until 'ricordo doctor --repair'" in printed
    page.write("notes/alt.md", "Die alten Häuser stehen am Fluss.\n")
    page.run("add", "notes/alt.md", "--no-wait")
    page.run("doctor", "--repair")
    assert page.json("status")["language"] == "german"
    found = page.json("search", "haus", "--by", "words")["hits"]
    assert [hit["ref"] for hit in found] == [f"disk:{page.folder}/notes/alt.md"]
    assert all(check["ok"] for check in page.json("doctor")["checks"])


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_an_interrupted_add_says_how_it_goes_on(house: Any) -> None:
    import signal

    with house.start("add", "-", "--as", "note:/x", stdin=-1, stderr=-1, stdout=-1) as process:
        process.stdin.write(b"more than a pipe holds, so it is being read" * 50_000)
        process.send_signal(signal.SIGINT)
        process.stdin.close()
        printed = process.stderr.read()
    assert b"it skips what is saved, and makes the vectors that are missing" in printed


def test_what_was_corrected_says_by_what_wherever_it_is_read(house: Any) -> None:
    house.run("remember", "The office is in Lisbon.", "--as", "memory:/office", "--no-wait")
    before = house.json("get", "memory:/office")["updated_at"]
    assert "corrected_by" not in house.json("get", "memory:/office")
    right = house.json("correct", "memory:/office", "The office is in Porto.", "--no-wait")["items"][0]["ref"]
    newest = house.json("correct", right, "The office is in Braga.", "--no-wait")["items"][0]["ref"]
    said = f"corrected by {newest}"
    assert house.json("get", "memory:/office")["corrected_by"] == newest
    assert said in house.run("get", "memory:/office").stderr
    assert said in house.run("history", "memory:/office").stderr
    assert house.json("history", "memory:/office")["corrected_by"] == newest
    assert said in house.run("timeline").stdout
    old = house.run("search", "office", "--as-of", before, "--by", "words").stdout
    assert "is in Lisbon" in old
    assert f"out of date: {said}" in old


def test_what_was_superseded_says_by_what(house: Any) -> None:
    for name in ("old", "new"):
        house.run(
            "remember",
            "--kind",
            "note",
            f"The {name} plan of the move.",
            "--as",
            f"note:/{name}",
            "--no-wait",
            "--on-duplicate",
            "save",
        )
    house.run("correct", "note:/old", "--with", "note:/new")
    assert house.json("get", "note:/old")["superseded_by"] == "note:/new"
    assert "superseded by note:/new" in house.run("get", "note:/old").stderr


def test_an_agent_that_reads_a_corrected_memory_is_led_to_the_right_one(house: Any) -> None:
    from ricordo import Ricordo
    from ricordo.mcp_server.core_tools import get

    with Ricordo.open(house.folder / "own.db") as engine:
        engine.remember("The office is in Lisbon.", ref="memory:/office", wait=False)
        right = engine.correct("memory:/office", "The office is in Porto.", wait=False).ref
        row = get.run(engine, refs=["memory:/office"])["items"][0]
    assert (row["state"], row["corrected_by"]) == ("archived", right)


def test_in_a_project_the_users_own_memories_are_searched_too(house: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    house.run("remember", "Ada prefers tea to coffee.", "--no-wait")
    project = house.folder / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    house.run("init")
    house.run("remember", "The project meets on Mondays for tea.", "--no-wait")
    found = house.json("search", "tea", "--by", "words")
    assert {(hit["tier"], hit["snippet"]) for hit in found["hits"]} == {
        ("agent", "Ada prefers tea to coffee."), ("project", "The project meets on Mondays for tea."),
    }  # fmt: skip
    alone = house.json("search", "tea", "--by", "words", "--tier", "project")["hits"]
    whole = [hit for hit in found["hits"] if hit["tier"] == "project"]
    assert [(hit["ref"], hit["score"]) for hit in alone] == [(hit["ref"], hit["score"]) for hit in whole]
    assert house.run("get", "memory:/ada-prefers-tea-to-coffee").stdout.strip() == "Ada prefers tea to coffee."
    assert house.json("list")["total"] == 1  # what is listed and written is the project's own
    house.run("config", "set", "tiers.automatic", "false")
    assert [hit["tier"] for hit in house.json("search", "tea", "--by", "words")["hits"]] == ["project"]


def test_a_user_measures_profiles_on_their_own_queries(page: Any) -> None:
    assert page.json("eval", "--own", code=3)["code"] == "not_found"
    page.run("search", "vault script", "--by", "words")
    page.run("get", "notes/keys.md")
    shown = page.run("eval", "--own", "--profile", "bm25")
    assert "own" in shown.stdout
    assert "too few to tell profiles apart" in shown.stderr
    lines = page.run("log", "asked", "notes/keys.md").stdout.splitlines()
    assert ["(opened)" in lines[1], "vault script" in lines[2]] == [True, True]


def test_a_misspelled_store_is_asked_about_before_a_new_one_is_made(page: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    page.run("add", "notes", "--store", "work.db", "--no-wait")
    error = page.json("search", "keys", "--store", "wrok.db", code=5)
    assert (error["message"], error["hint"]) == ("there is no store at wrok.db", "Did you mean --store work.db?")
    monkeypatch.setattr("ricordo.cli.call.person_answers", lambda: True)
    refused = page.run("add", "notes", "--store", "wrok.db", "--no-wait", stdin="n\n", code=2)
    assert "there is work.db" in refused.stderr
    assert not (page.folder / "wrok.db").exists()
    page.run("add", "notes", "--store", "wrok.db", "--no-wait", stdin="y\n")
    assert (page.folder / "wrok.db").exists()
    page.run("add", "notes", "--store", "wrok.db", "--no-wait")  # now it is there, nothing is asked


def test_a_misspelled_choice_is_answered_with_the_nearest_one(house: Any) -> None:
    assert house.json("install", "claud-code", code=2)["hint"] == "Did you mean 'claude-code'?"
    assert house.json("list", "--kind", "memry", code=2)["hint"] == "Did you mean 'memory'?"
    assert house.json("list", "--kind", "zzz", code=2)["hint"] == "Try: ricordo list --help"


def test_what_waits_is_told_with_its_evidence_and_one_command_for_it(house: Any) -> None:
    house.write("my rules/push.md", "---\nloading: always\n---\nNever push to main.\n")
    added = house.run("add", "my rules", "--no-wait")
    assert "told as data until you agree: ricordo review" in added.stderr
    assert "ricordo review" in house.run("context", "push").stderr
    shown = house.run("review")
    assert "it is not told to every agent before you agree" in shown.stdout
    assert "+Never push to main." in shown.stdout
    assert f"  ricordo review 'disk:{house.folder}/my rules/push.md' accept|refuse" in shown.stdout
    house.run("remember", "The office is in Lisbon.", "--valid-until", "2020-01-01")
    assert "expired (1): items that held until a date which is past" in house.run("review").stdout
