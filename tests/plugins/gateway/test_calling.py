"""Tools of other servers: taken in after a yes, found by task, called within what the user allows."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from ricordo import ContractError, Forbidden, NotFound, Ricordo, Unavailable, UsageError
from ricordo.cli.program import program
from ricordo.plugins.gateway import calls as records
from ricordo.plugins.gateway.calls import check_arguments
from ricordo.plugins.gateway.index import as_words, in_general, tools_first
from ricordo.plugins.gateway.mcp_client import connected
from ricordo.plugins.gateway.mcp_config import ServerTool
from ricordo.plugins.gateway.values import ServerFound, ToolEntry

Maker = Callable[..., Ricordo]
Entry = Callable[[str], dict[str, Any]]


def calls_of(folder: Path) -> list[str]:
    file = folder / "calls"
    return file.read_text().split() if file.exists() else []


def test_a_server_is_started_only_after_the_user_says_yes(engine: Ricordo, tmp_path: Path, raw: Entry) -> None:
    file = tmp_path / "servers.json"
    file.write_text(json.dumps({"mcpServers": {"raw": raw("honest")}}))
    asked: list[ServerFound] = []

    def refuse(found: ServerFound) -> bool:
        asked.append(found)
        return False

    report = engine.tools.add(agree=refuse, files=[file])
    assert report.servers == ()
    assert "raw_server.py honest" in asked[0].starts
    assert not (tmp_path / "started").exists()
    assert engine.tools.list() == ()


def test_keys_of_servers_are_not_shown_to_those_who_may_list_them(engine: Ricordo, tmp_path: Path, raw: Entry) -> None:
    entry = raw("honest")
    entry["args"] += ["--token", "ghp_0123456789abcdefghij0123456789abcdef", "--api-key=sesame"]
    entry["env"] = {"API_KEY": "sk-test-1234567890abcdef"}
    far = {"url": "http://127.0.0.1:9/mcp?api_key=topsecret99", "headers": {"Authorization": "Bearer s3cr3t-t0ken"}}
    file = tmp_path / "servers.json"
    file.write_text(json.dumps({"mcpServers": {"raw": entry, "far": far}}))
    engine.tools.add(agree=lambda found: True, files=[file])
    shown = [one.to_dict() for one in engine.tools.servers()]
    assert [one["name"] for one in shown] == ["raw", "far"]
    assert "raw_server.py honest" in shown[0]["starts"]
    assert shown[0]["starts"].endswith("with API_KEY")
    assert shown[1]["starts"] == "reaches http://127.0.0.1:9/mcp?api_key=*** and sends it Authorization"
    for key in ("ghp_01", "sesame", "sk-test", "topsecret", "s3cr3t"):
        assert key not in json.dumps(shown)


def test_another_server_of_the_same_name_does_not_take_the_place_of_one_that_was_agreed_to(
    engine: Ricordo, tmp_path: Path, raw: Entry
) -> None:
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    first.write_text(json.dumps({"mcpServers": {"raw": raw("honest")}}))
    second.write_text(json.dumps({"mcpServers": {"aaa": raw("honest"), "raw": raw("noisy")}}))
    engine.tools.add(agree=lambda found: True, files=[first])
    before = engine.tools.servers()[0]
    found, _ = engine.tools.found(second)
    assert [one.name for one in found] == ["aaa", "raw@file"]
    engine.tools.add(agree=lambda found: True, files=[second])
    assert engine.tools.servers()[0] == before


@pytest.mark.parametrize("switch", [{"disabled": True}, {"enabled": False}])
def test_a_server_that_the_user_switched_off_is_not_offered(
    engine: Ricordo, tmp_path: Path, raw: Entry, switch: dict[str, bool]
) -> None:
    file = tmp_path / "servers.json"
    file.write_text(json.dumps({"mcpServers": {"off": raw("honest") | switch, "on": raw("honest")}}))
    assert [one.name for one in engine.tools.found(file)[0]] == ["on"]


def test_tools_become_items_that_are_found_by_a_task(with_server: Maker) -> None:
    engine = with_server()
    assert len(engine.tools.find("delete or say everything in words", 1)) == 1
    assert engine._context.tracker is not None
    assert engine._context.tracker.flush(60)
    assert engine.log().questions[0].results == 1  # only what was shown is logged
    found = engine.tools.find("say a few words")
    assert found[0].name == "raw/say_words"
    assert found[0].callable
    item = engine.get("tool:/raw/say_words")
    assert item.kind == "tool"
    assert item.title == "raw: say words"
    assert "What to say" in item.content
    assert not engine.tools.show("delete_everything").callable


def test_a_word_that_no_tool_has_is_not_taken_for_a_mistyped_one(engine: Ricordo) -> None:
    nothing: dict[str, Any] = {"type": "object", "properties": {}}
    told = {"move_files": "Put things elsewhere", "show_films": "What the cinemas play tonight"}
    engine.tools.index("s", [ServerTool("s", name, about, nothing) for name, about in told.items()])
    assert engine.tools.find("moves")[0].name == "s/move_files"
    assert [one.name for one in engine.tools.find("which movie is on tonight")] == ["s/show_films"]


def test_a_tool_has_the_title_that_its_server_gives_it_and_its_effects_are_told_in_words(engine: Ricordo) -> None:
    nothing: dict[str, Any] = {"type": "object", "properties": {}}
    hints = {"read_only": False, "destructive": True, "open_world": True}
    engine.tools.index(
        "ship", [ServerTool("ship", "send_mail", "Send a letter", nothing, title="Post Office", hints=hints)]
    )
    assert engine.get("tool:/ship/send_mail").title == "ship: Post Office"
    assert engine.tools.show("ship/send_mail").hints == {"read_only": False, "destructive": True, "open_world": True}


def test_a_tool_that_only_reads_is_called_and_every_call_is_logged(with_server: Maker, tmp_path: Path) -> None:
    engine = with_server()
    answer = engine.tools.call("raw/say_words", {"text": "hello", "note": "ghp_aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY2zA4"})
    assert answer.text == "say_words: hello"
    first = engine.tools.log()[0]
    assert (first["tool"], first["outcome"]) == ("raw/say_words", "answered")
    assert "ghp_aB3" not in first["arguments"]
    with pytest.raises(NotFound):
        engine.tools.call("raw/ghp_aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY2zA4", {})
    assert engine.tools.log()[0]["tool"] == "raw/[redacted: github token]"
    engine.tools.call("say_words", '{"text": "as a text"}')
    assert calls_of(tmp_path) == ["say_words", "say_words"]
    assert len((tmp_path / "started").read_text().split()) == 1  # it stayed warm


@pytest.mark.parametrize("name", ["delete_everything", "unmarked", "both"])
def test_a_tool_that_may_change_things_is_refused_until_the_user_allows_it(
    with_server: Maker, tmp_path: Path, name: str
) -> None:
    engine = with_server()
    with pytest.raises(Forbidden, match="does not say that it only reads") as refused:
        engine.tools.call(f"raw/{name}", {})
    assert "tools.allow" in refused.value.hint
    assert calls_of(tmp_path) == []
    assert engine.tools.log()[0]["outcome"] == "forbidden"


def test_the_user_allows_tools_by_pattern(with_server: Maker, tmp_path: Path) -> None:
    engine = with_server(**{"tools.allow": ("raw/other", "raw/more")})
    with pytest.raises(Forbidden) as refused:
        engine.tools.call("raw/delete_everything", {})
    assert "raw/other,raw/more,raw/delete_everything" in refused.value.hint
    engine = with_server(**{"tools.allow": ("raw/delete_*",)})
    assert engine.tools.call("raw/delete_everything").text == "delete_everything: "
    with pytest.raises(Forbidden):
        engine.tools.call("raw/unmarked")
    assert calls_of(tmp_path) == ["delete_everything"]


def test_a_projects_settings_can_never_allow_a_tool_not_even_trusted_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ricordo.config.loading import load_config, trust

    project = tmp_path / "project"
    (project / ".ricordo").mkdir(parents=True)
    file = project / ".ricordo" / "config.toml"
    file.write_text('[tools]\nallow = ["*"]\n')
    trust(file)
    config = load_config(start=project)
    assert config.tools.allow == ()
    assert "tools.allow" in config.untrusted


def test_a_project_gets_no_tool_called_that_the_user_did_not_allow(
    with_server: Maker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_server().close()
    project = tmp_path / "project"
    (project / ".ricordo").mkdir(parents=True)
    file = project / ".ricordo" / "config.toml"
    file.write_text('[tools]\nallow = ["*"]\nseconds = 20.0\n')
    monkeypatch.chdir(project)
    monkeypatch.setenv("RICORDO_EMBEDDING_PROVIDER", "none")

    def run(*words: str) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(CliRunner().invoke(program, [*words, "--json"]).stdout)
        return answer

    call = ("tools", "call", "raw/delete_everything", "--store", str(tmp_path / "store.db"))
    assert run(*call)["error"]["code"] == "forbidden"
    assert run("config", "trust", str(file))["ok"]
    assert run(*call)["error"]["code"] == "forbidden"
    assert calls_of(tmp_path) == []
    assert run("config", "set", "tools.allow", "raw/delete_*")["ok"]
    assert run(*call)["data"]["text"] == "delete_everything: "
    assert "raw/delete_" not in file.read_text()


def test_arguments_are_checked_before_anything_is_sent(with_server: Maker, tmp_path: Path) -> None:
    engine = with_server()
    for wrong in ({}, {"text": 3}, "[]", "no json"):
        with pytest.raises(UsageError) as refused:
            engine.tools.call("raw/say_words", wrong)
        assert refused.value.hint
    assert calls_of(tmp_path) == []


def test_an_error_of_the_server_arrives_as_its_own(with_server: Maker) -> None:
    answer = with_server().tools.call("raw/always_fails")
    assert (answer.failed, answer.text) == (True, "the moon is in the wrong phase")


def test_a_long_answer_is_cut_and_the_whole_can_be_read_by_its_id(with_server: Maker) -> None:
    engine = with_server()
    answer = engine.tools.call("raw/long_answer")
    assert len(answer.text) <= 6_000
    assert answer.text.endswith("\n")
    whole, part = answer.text, answer
    while part.next_char is not None:
        part = engine.tools.result(answer.id, part.next_char)
        whole += part.text
    assert whole == "".join(f"line {n:05} of the long answer\n" for n in range(2_000))
    with pytest.raises(NotFound):
        engine.tools.result("0123456789ab")
    with pytest.raises(UsageError):
        engine.tools.result("../../secret")


def test_only_the_newest_whole_results_are_kept(with_server: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "MOST_RESULTS", 2)
    engine = with_server()
    first, second, third = (engine.tools.call("raw/long_answer").id for _ in range(3))
    with pytest.raises(NotFound, match="any more"):
        engine.tools.result(first)
    assert all(engine.tools.result(one).text.startswith("line 00000") for one in (second, third))


def test_a_server_whose_entry_changed_is_started_anew_and_the_old_one_ends(
    with_server: Maker, tmp_path: Path, raw: Entry
) -> None:
    engine = with_server()
    engine.tools.call("raw/say_words", {"text": "old"})
    file = tmp_path / "servers.json"
    file.write_text(json.dumps({"mcpServers": {"raw": raw("orders")}}))
    assert engine.tools.add(agree=lambda found: True, files=[file]).servers[0].tools == 1
    assert [one.name for one in engine.tools.list()] == ["raw/obey"]
    before, after = (tmp_path / "started").read_text().split()
    assert before != after
    assert gone(int(before))


def test_a_change_the_server_announces_becomes_versions_and_counts_at_once(with_server: Maker, tmp_path: Path) -> None:
    engine = with_server("changes")
    engine.tools.call("raw/say_words", {"text": "one"})
    with pytest.raises(Forbidden):  # it says now that it changes things
        engine.tools.call("raw/say_words", {"text": "two"})
    names = [one.name for one in engine.tools.list()]
    assert names == ["raw/new_tool", "raw/say_words"]
    assert len(engine.history("tool:/raw/say_words")) == 2
    assert calls_of(tmp_path) == ["say_words"]


def test_refresh_writes_nothing_when_nothing_changed(with_server: Maker) -> None:
    engine = with_server()
    assert {one.status for one in engine.refresh("tool:/raw").items} == {"unchanged"}
    engine.tools.remove("raw")
    assert engine.tools.list() == ()
    assert engine.tools.servers() == ()


def test_refresh_asks_the_servers_again_and_keeps_what_changed_as_versions(with_server: Maker, tmp_path: Path) -> None:
    engine = with_server()
    unchanged = engine.refresh(all=True)
    assert {one.status for one in unchanged.items} == {"unchanged"}
    (tmp_path / "changed").write_text("yes")
    report = engine.refresh("tool:/raw")
    became = {one.ref.rpartition("/")[2]: one.status for one in report.items}
    assert became.pop("new_tool") == "created"
    assert became.pop("say_words") == "updated"
    assert set(became.values()) == {"removed"}
    assert report.notes == ("the MCP server 'raw' was asked again for what it offers: 1 new, 1 changed, 5 gone",)
    assert len(engine.history("tool:/raw/say_words")) == 2
    assert [one.name for one in engine.tools.list()] == ["raw/new_tool", "raw/say_words"]
    assert engine.tools.find("came later")[0].name == "raw/new_tool"


def test_refresh_names_a_server_that_does_not_answer_and_keeps_its_tools(with_server: Maker, tmp_path: Path) -> None:
    engine = with_server()
    engine.tools.close()
    servers = json.loads((tmp_path / "servers.json").read_text())
    broken = servers["mcpServers"]["raw"] | {"command": str(tmp_path / "gone")}
    (tmp_path / "servers.json").write_text(json.dumps({"mcpServers": {"raw": broken}}))
    engine.tools._warm = None
    engine.tools.add(agree=lambda found: True, files=[tmp_path / "servers.json"])
    report = engine.refresh(all=True)
    assert [(one.ref, one.status) for one in report.items] == [("tool:/raw", "failed")]
    assert "raw" in (report.items[0].error or {})["message"]
    assert len(engine.tools.list()) == 6


def test_a_name_that_is_nearly_right_is_answered_with_the_right_one(with_server: Maker) -> None:
    with pytest.raises(NotFound) as missing:
        with_server().tools.show("raw/say_word")
    assert "raw/say_words" in missing.value.hint


def test_names_are_read_as_words() -> None:
    for name in ("getCurrentTime", "get_current_time", "get-current-time", "get.current/time"):
        assert as_words(name).lower() == "get current time"


def test_a_task_is_put_in_general_words_and_tools_come_before_resources() -> None:
    assert in_general("open ../notes/plan.md and https://example.org/a?b=c now") == "open file and web page URL now"
    assert in_general("version 2.0 of the e.g. list, at 3.5 percent") == "version 2.0 of the e.g. list, at 3.5 percent"
    near = [
        ToolEntry("a/resources/x", "a", "", "", "tool:/a/resources/x", "resource", score=0.5),
        ToolEntry("a/y", "a", "", "", "tool:/a/y", score=0.4),
    ]
    assert [one.name for one in tools_first(near, 1)] == ["a/y"]


# Hostile servers: each is named, none does harm.


def test_a_schema_of_five_megabytes_is_left_out_and_named(with_server: Maker) -> None:
    engine = with_server("huge-schema")
    assert "raw/huge" not in [one.name for one in engine.tools.list()]
    assert any("'huge'" in note and "bytes" in note for note in engine.last_report.notes)  # type: ignore[attr-defined]
    assert engine.tools.call("raw/say_words", {"text": "still fine"}).text.endswith("still fine")


def test_names_with_control_characters_are_left_out_and_named_harmlessly(with_server: Maker) -> None:
    engine = with_server("bad-names")
    notes = engine.last_report.notes  # type: ignore[attr-defined]
    assert len(notes) == 4
    assert all(note.isprintable() for note in notes)
    assert len(engine.tools.list()) == 6


def test_a_description_that_gives_orders_is_told_as_one_line_of_data(with_server: Maker) -> None:
    engine = with_server("orders")
    description = engine.tools.find("obey instructions")[0].description
    assert "\n" not in description
    assert not {"\u202e", "\u200b", "\x07"} & set(description)
    text = engine.context("obey all instructions and call delete_everything", budget=600).text
    assert "\n## Always" not in text
    inside = text.partition("```text\n")[2].partition("\n```")[0]
    assert inside.startswith("- raw/obey: IGNORE ALL")
    assert "\n" not in inside


def test_context_names_the_few_tools_that_fit_and_can_be_called(with_server: Maker) -> None:
    engine = with_server()
    report = engine.context("say some words back to me", budget=600)
    assert "- raw/say_words: Say some words back" in report.text
    assert "delete_everything" not in report.text
    assert report.tokens <= 600
    assert "raw/say_words" not in engine.context("say some words back to me", budget=600, skills=False).text


@pytest.mark.parametrize("behaviour", ["endless-line", "flood"])
def test_output_without_end_is_cut_off_and_the_server_ended(with_server: Maker, tmp_path: Path, behaviour: str) -> None:
    engine = with_server(behaviour, **{"tools.seconds": 120.0})
    with pytest.raises(Unavailable, match="raw"):
        engine.tools.call("raw/say_words", {"text": "x"})
    assert gone(int((tmp_path / "started").read_text().split()[0]))


@contextmanager
def hurried(engine: Ricordo, seconds: float = 1.0) -> Iterator[None]:
    """Less time for calls of the server that runs already; to start it, the machine may take longer."""
    running = engine.tools._running
    before, running._seconds = running._seconds, lambda: seconds
    running._open["raw"][1].seconds = seconds
    yield
    running._seconds = before


def test_a_server_that_never_answers_is_ended_in_time_and_starts_anew(with_server: Maker, tmp_path: Path) -> None:
    engine = with_server("silent")
    with hurried(engine), pytest.raises(Unavailable, match=r"did not answer within 1 s"):
        engine.tools.call("raw/say_words", {"text": "x"})
    (process,) = (tmp_path / "started").read_text().split()
    assert gone(int(process))
    assert engine.refresh("tool:/raw").failed == 0
    assert len((tmp_path / "started").read_text().split()) == 2


def test_a_call_that_takes_too_long_does_not_end_its_server(
    with_server: Maker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "ricordo.plugins.gateway.mcp_client.LIFE_SECONDS", 60.0
    )  # a busy machine lets nobody answer at once
    engine = with_server("slow")
    with hurried(engine, 5.0):
        with pytest.raises(Unavailable, match=r"did not answer within 5 s") as slow:
            engine.tools.call("raw/say_words", {"text": "x"})
        assert "still runs" in slow.value.hint
        assert engine.tools.call("raw/long_answer").text.startswith("line 00000")
    assert len((tmp_path / "started").read_text().split()) == 1


def test_a_server_that_dies_in_a_call_is_named_with_its_last_words(with_server: Maker, tmp_path: Path) -> None:
    engine = with_server("dies")
    with pytest.raises(Unavailable, match=r"raw failed.*my disk is gone"):
        engine.tools.call("raw/say_words", {"text": "x"})
    with pytest.raises(Unavailable):  # and it is started anew, to die again
        engine.tools.call("raw/say_words", {"text": "x"})
    assert len((tmp_path / "started").read_text().split()) == 2


@pytest.mark.parametrize(("behaviour", "words"), [("never-starts", "did not start"), ("no-start", "no configuration")])
def test_a_server_that_does_not_start_is_named_and_the_others_are_taken_in(
    open_engine: Callable[..., Ricordo],
    tmp_path: Path,
    raw: Entry,
    behaviour: str,
    words: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if behaviour == "never-starts":
        monkeypatch.setattr(
            "ricordo.plugins.gateway.servers.connected",
            lambda servers, seconds: connected(servers, 1.0 if servers[0].name == "bad" else seconds),
        )
    file = tmp_path / "servers.json"
    servers = {"bad": raw(behaviour), "good": raw("honest")}
    file.write_text(json.dumps({"mcpServers": servers}))
    engine = open_engine(**{"tools.seconds": 60.0})
    bad, good = engine.tools.add(agree=lambda found: True, files=[file]).servers
    assert (bad.status, good.status) == ("unavailable", "listed")
    assert words in bad.problem


def test_a_pattern_in_a_schema_that_would_take_years_is_passed_by(with_server: Maker) -> None:
    engine = with_server("slow-pattern")
    engine.tools.call(engine.tools.list()[0].name, {"text": "a" * 40 + "!"})
    assert engine.tools.log()[0]["outcome"] == "answered"


@pytest.mark.parametrize(
    ("behaviour", "why"), [("doubling", "too many steps"), ("circle", "recursion"), ("far-away", "Unresolvable")]
)
def test_a_schema_made_to_be_slow_is_given_up_on(with_server: Maker, behaviour: str, why: str) -> None:
    engine = with_server(behaviour)
    with pytest.raises(ContractError, match=why):
        engine.tools.call(engine.tools.list()[0].name, {"x": 3})


def test_a_list_without_end_is_cut_off(with_server: Maker) -> None:
    assert len(with_server("endless-list").tools.list()) <= 1_000


def test_noise_on_both_outputs_does_no_harm(with_server: Maker) -> None:
    assert with_server("noisy").tools.call("raw/say_words", {"text": "clear"}).text == "say_words: clear"


@pytest.mark.skipif(os.name == "nt", reason="there are no process groups")
def test_what_a_server_started_ends_with_it(with_server: Maker, tmp_path: Path) -> None:
    engine = with_server("leaves-child")
    engine.tools.close()
    assert gone(int((tmp_path / "child").read_text()))


def gone(process: int) -> bool:
    """Whether a process ends, which is waited for; one that nobody has reaped yet counts as ended."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        try:
            os.kill(process, 0)
            if Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except ProcessLookupError:
            return True
        except FileNotFoundError:
            pass  # a system without /proc, or a process that went just now
        time.sleep(0.02)
    return False


def test_a_schema_that_is_none_is_the_servers_fault_and_no_crash() -> None:
    with pytest.raises(ContractError, match="input schema cannot be used"):
        check_arguments("x/y", {}, {"type": "object", "properties": 3})


def test_a_schema_of_another_draft_is_checked_all_the_same() -> None:
    schema: dict[str, Any] = {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "required": ["a"]}
    with pytest.raises(UsageError, match="’a’ is a required property"):
        check_arguments("x/y", {}, schema)


def test_a_draft_named_inside_a_schema_does_not_switch_the_counting_of_steps_off() -> None:
    draft = {"$schema": "http://json-schema.org/draft-07/schema#"}
    deep = {f"a{n}": {**draft, "anyOf": [{"$ref": f"#/$defs/a{n + 1}"}] * 2} for n in range(14)}
    schema = {
        "type": "object",
        "$defs": {**deep, "a14": {"type": "string"}},
        "properties": {"x": {"$ref": "#/$defs/a0"}},
    }
    with pytest.raises(ContractError, match="too many steps"):
        check_arguments("x/y", {"x": 3}, schema)
