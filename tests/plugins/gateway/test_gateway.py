"""The gateway over the wire: three small tools in front of any number of servers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from click.testing import CliRunner
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from ricordo import registry
from ricordo.cli.program import program

Entry = Callable[[str], dict[str, Any]]


@pytest.fixture
def talk(tmp_path: Path, raw: Entry) -> Callable[..., Any]:
    """Holds a conversation with ``ricordo mcp`` in a process of its own, with a server taken in before."""
    file = tmp_path / "servers.json"
    store = str(tmp_path / "store.db")

    def hold(conversation: Callable[[Client], Any], behaviour: str = "honest", *toolsets: str, **env: str) -> Any:
        file.write_text(json.dumps({"mcpServers": {"raw": raw(behaviour)}}))
        added = CliRunner().invoke(program, ["tools", "add", "--from", str(file), "--yes", "--store", store, "--json"])
        assert json.loads(added.stdout)["data"]["servers"][0]["status"] == "listed"
        chosen = [word for name in toolsets or ("tools",) for word in ("--toolset", name)]
        parameters = StdioServerParameters(
            command=sys.executable,
            args=["-m", "ricordo", "mcp", "--store", store, *chosen],
            env={**{key: value for key, value in os.environ.items() if key.startswith("RICORDO_")}, **env},
            cwd=tmp_path,
        )

        async def run() -> Any:
            async with Client(stdio_client(parameters)) as client:
                return await conversation(client)

        return anyio.run(run)

    return hold


def test_an_agent_finds_describes_and_calls_a_tool(talk: Callable[..., Any], tmp_path: Path) -> None:
    async def conversation(client: Client) -> None:
        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools] == ["find_tools", "describe_tool", "call_tool"]
        plain = [tool.model_dump(by_alias=True, mode="json", exclude_none=True) for tool in tools]
        text = json.dumps(plain, ensure_ascii=False, separators=(",", ":"))
        assert registry.token_counter().count_tokens([text])[0] <= 400
        assert tools[0].description == "Find other tools. Servers: raw"
        found = (await client.call_tool("find_tools", {"task": "say some words"})).structured_content
        assert found["tools"][0]["name"] == "raw/say_words"
        assert found["tools"][0]["takes"] == "text (string, required)."
        assert not (tmp_path / "calls").exists()
        about = (await client.call_tool("describe_tool", {"name": "raw/say_words"})).structured_content
        assert about["schema"]["required"] == ["text"]
        answer = await client.call_tool("call_tool", {"name": "raw/say_words", "arguments": {"text": "hello"}})
        assert answer.structured_content == {"text": "say_words: hello"}

    talk(conversation)
    started = (tmp_path / "started").read_text().split()
    assert len(started) == 2  # once to be listed, once to be called


def test_a_gateway_alone_speaks_of_no_other_tools(talk: Callable[..., Any]) -> None:
    async def conversation(client: Client) -> tuple[str, list[Any]]:
        return str(client.instructions), (await client.list_prompts()).prompts

    instructions, prompts = talk(conversation)
    assert "find_tools" in instructions
    assert not [word for word in ("remember", "context", "search") if word in instructions]
    assert prompts == []
    assert "remember" in talk(conversation, "honest", "core", "tools")[0]


def said(answer: Any) -> str:
    """The text of an answer."""
    return str(answer.content[0].text)


def test_what_goes_wrong_is_an_error_with_a_hint(talk: Callable[..., Any], tmp_path: Path) -> None:
    async def conversation(client: Client) -> None:
        async def fails(name: str, **arguments: Any) -> dict[str, Any]:
            answer = await client.call_tool("call_tool", {"name": name, "arguments": arguments})
            assert answer.is_error
            return json.loads(said(answer))

        assert (await fails("raw/always_fails"))["said"] == "the moon is in the wrong phase"
        refused = await fails("raw/delete_everything")
        assert (refused["error_type"], "tools.allow" in refused["next_action_hint"]) == ("forbidden", True)
        wrong = await fails("raw/say_words", text=3)
        assert (wrong["error_type"], "text (string, required)" in wrong["next_action_hint"]) == ("usage", True)
        assert (await fails("raw/nothing"))["error_type"] == "not_found"

    talk(conversation)
    assert not (tmp_path / "calls").exists()


def test_a_long_result_is_read_on_by_its_id(talk: Callable[..., Any]) -> None:
    async def conversation(client: Client) -> str:
        part = (await client.call_tool("call_tool", {"name": "raw/long_answer"})).structured_content
        text = part["text"]
        while "read_on" in part:
            part = (await client.call_tool("call_tool", part["read_on"]["call_tool"])).structured_content
            text += part["text"]
        return text

    assert talk(conversation).splitlines()[-1] == "line 01999 of the long answer"


def test_images_pass(talk: Callable[..., Any]) -> None:
    async def conversation(client: Client) -> Any:
        return await client.call_tool("call_tool", {"name": "raw/long_answer"})

    answer = talk(conversation, "pictures")
    assert [one.type for one in answer.content] == ["text", "image"]
    assert (answer.content[1].data, answer.content[1].mime_type) == ("aGVsbG8=", "image/png")
    assert "image/png" in answer.structured_content["text"]


def test_progress_of_a_server_passes_to_the_agent_that_asked_for_it(talk: Callable[..., Any]) -> None:
    heard: list[tuple[float, float | None, str | None]] = []

    async def conversation(client: Client) -> Any:
        async def hear(progress: float, total: float | None, message: str | None) -> None:
            heard.append((progress, total, message))

        given = {"name": "raw/say_words", "arguments": {"text": "x"}}
        unasked = await client.call_tool("call_tool", given)
        return unasked, await client.call_tool("call_tool", given, progress_callback=hear)

    unasked, asked = talk(conversation, "counts")
    assert said(unasked) == said(asked), "without a listener, the server is not asked for its progress"
    assert heard[0][:2] == (0.5, 1)
    assert heard[0][2] == "calling half way [2J there"
    assert heard[-1] == (1, 1, "calling all of it")


def test_the_core_tools_come_too_when_they_are_asked_for(talk: Callable[..., Any]) -> None:
    async def conversation(client: Client) -> list[str]:
        return [tool.name for tool in (await client.list_tools()).tools]

    names = talk(conversation, "honest", "core", "tools")
    assert {"search", "remember", "find_tools"} <= set(names)


def test_a_server_that_dies_in_a_call_is_named_and_the_gateway_lives_on(talk: Callable[..., Any]) -> None:
    async def conversation(client: Client) -> None:
        answer = await client.call_tool("call_tool", {"name": "raw/say_words", "arguments": {"text": "x"}})
        assert answer.is_error
        assert "my disk is gone" in said(answer)
        assert (await client.call_tool("find_tools", {"task": "words"})).structured_content["tools"]

    talk(conversation, "dies")


def test_the_command_line_starts_nothing_without_a_yes(tmp_path: Path, raw: Entry) -> None:
    file = tmp_path / "servers.json"
    file.write_text(json.dumps({"mcpServers": {"raw": raw("honest")}}))
    done = CliRunner().invoke(program, ["tools", "add", "--from", str(file), "--store", str(tmp_path / "s.db")])
    assert done.exit_code == 0
    assert "nothing was started" in done.stderr
    assert not (tmp_path / "started").exists()


def test_tools_are_found_shown_and_called_from_the_command_line(tmp_path: Path, raw: Entry) -> None:
    file, store = tmp_path / "servers.json", str(tmp_path / "s.db")
    file.write_text(
        '{\n  // a comment, as VS Code allows\n  "mcpServers": {"raw": ' + json.dumps(raw("honest")) + ",}\n}"
    )

    def run(*words: str, code: int = 0) -> Any:
        done = CliRunner().invoke(program, ["tools", *words, "--store", store, "--json"])
        assert done.exit_code == code, done.stdout
        envelope = json.loads(done.stdout)
        return envelope["data"] if code == 0 else envelope["error"]

    assert run("add", "--from", str(file), "--yes")["servers"][0]["created"] == 6
    assert run("find", "say", "words")["tools"][0]["name"] == "raw/say_words"
    assert run("show", "say_words")["schema"]["required"] == ["text"]
    assert run("call", "say_words", "text=a b")["text"] == "say_words: a b"
    assert run("call", "say_words", '{"text": "json"}')["text"] == "say_words: json"
    assert run("call", "say_words", "nonsense", code=2)["code"] == "usage"
    assert run("call", "always_fails", code=1)["code"] == "tool_failed"
    assert [one["outcome"] for one in run("log")["calls"]] == ["failed", "usage", "answered", "answered"]
    assert {one["server"] for one in run("list")["tools"]} == {"raw"}
    assert run("rm", "raw")["servers"][0]["removed"] == 6


def test_servers_are_found_in_the_settings_of_many_programs(
    tmp_path: Path, raw: Entry, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, project = tmp_path / "home", tmp_path / "home" / "project"
    entry = raw("honest")
    files = {
        home / ".claude.json": {
            "mcpServers": {"one": entry},
            "projects": {str(project): {"mcpServers": {"two": entry}}},
        },
        home / ".cursor" / "mcp.json": {"mcpServers": {"three": entry, "one": {"url": "https://example.org/mcp"}}},
        home / ".gemini" / "settings.json": {"mcpServers": {"four": {"httpUrl": "https://example.org/four"}}},
        project / ".vscode" / "mcp.json": {"servers": {"five": entry, "asks": {"url": "${input:where}"}}},
        project / ".mcp.json": {"mcpServers": {"six": entry, "ricordo": {"command": "ricordo", "args": ["mcp"]}}},
    }
    for path, content in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content))
    (home / ".codex").mkdir()
    (home / ".codex" / "config.toml").write_text('[mcp_servers.seven]\ncommand = "seven-server"\n')
    (home / ".qwen").mkdir()
    (home / ".qwen" / "settings.json").write_text("{broken")
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME", "APPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(project)
    done = CliRunner().invoke(program, ["tools", "add", "--json", "--store", str(tmp_path / "s.db")])
    shown = json.loads(done.stdout)["data"]
    names = {one["name"]: one for one in shown["found"]}
    assert set(names) == {"one", "two", "three", "one@cursor", "four", "five", "six", "seven"}
    assert names["six"]["from_project"]
    assert names["four"]["starts"] == "reaches https://example.org/four"
    assert any("where" in note for note in shown["notes"])
    assert any(".qwen" in note for note in shown["notes"])
    assert not (tmp_path / "started").exists()
    done = CliRunner().invoke(program, ["tools", "add", "nine", "--yes", "--store", str(tmp_path / "s.db")])
    assert (done.exit_code, "none of your programs has a server 'nine'" in done.stderr) == (3, True)
    assert "Known are: " in done.stderr


def test_a_changed_entry_is_asked_about_again_and_never_started_unasked(tmp_path: Path, raw: Entry) -> None:
    file, store = tmp_path / "servers.json", str(tmp_path / "s.db")
    file.write_text(json.dumps({"mcpServers": {"raw": raw("honest")}}))
    add = ["tools", "add", "--from", str(file), "--store", store, "--json"]
    CliRunner().invoke(program, [*add, "--yes"])
    file.write_text(json.dumps({"mcpServers": {"raw": {"command": "rm", "args": ["-rf", "/"]}}}))
    shown = json.loads(CliRunner().invoke(program, add).stdout)["data"]["found"][0]
    assert (shown["known"], shown["starts"]) == (False, "runs rm -rf /")
    called = CliRunner().invoke(program, ["tools", "call", "say_words", "text=x", "--store", store, "--json"])
    assert json.loads(called.stdout)["data"]["text"] == "say_words: x"  # what the user said yes to


def test_the_first_look_at_the_verb_imports_no_sdk() -> None:
    probe = "import sys\nimport ricordo.plugins.gateway.command\nprint([m for m in sys.modules if m.startswith('mcp')])"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
