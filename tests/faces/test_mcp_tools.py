"""The results of tool calls, made with the SDK's client to a server in this process: errors, limits, long texts,
secrets.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client

from ricordo import ConfigProvider, Ricordo, registry
from ricordo.hosting.service import CallThreads
from ricordo.mcp_server.http import server_for
from ricordo.mcp_server.protocol import described
from ricordo.mcp_server.service import LARGEST_ARGUMENTS, TOOLSETS, ToolService, chosen
from ricordo.mcp_server.shapes import answer_for_agents

from .mcp_servers import fails, works

CORE = ["search", "get", "add", "remember", "forget", "context", "recent", "feedback", "status"]


@pytest.fixture
def service(tmp_path: Path) -> Iterator[ToolService]:
    settings = {"embedding.provider": "none", "knowledge.enabled": False, "mcp.seconds": 120}
    service = ToolService(TOOLSETS, store=str(tmp_path / "store.db"), config=ConfigProvider(settings))
    yield service
    service.close()


def talk(service: ToolService, conversation: Any) -> Any:
    """Hold a conversation with a server in this process."""

    async def hold() -> Any:
        threads = CallThreads()
        try:
            async with Client(server_for(service, threads)) as client:
                return await conversation(client)
        finally:
            threads.close()

    return anyio.run(hold)


def test_by_default_there_are_nine_tools_whose_list_takes_less_than_2000_tokens(tmp_path: Path) -> None:
    service = ToolService(store=str(tmp_path / "store.db"))

    async def listed(client: Client) -> list[dict[str, Any]]:
        tools = (await client.list_tools()).tools
        return [tool.model_dump(by_alias=True, mode="json", exclude_none=True) for tool in tools]

    tools = talk(service, listed)
    assert [tool["name"] for tool in tools] == CORE
    text = json.dumps(tools, ensure_ascii=False, separators=(",", ":"))
    assert registry.token_counter().count_tokens([text])[0] < 2000


def test_listing_tools_opens_no_store(tmp_path: Path) -> None:
    service = ToolService(TOOLSETS, store=str(tmp_path / "store.db"))

    async def listed(client: Client) -> int:
        await client.list_prompts()
        return len((await client.list_tools()).tools)

    assert talk(service, listed) == len(chosen(TOOLSETS))
    assert len(chosen([name for name in TOOLSETS if name != "verbs"])) == 45
    assert not (tmp_path / "store.db").exists()


@pytest.mark.parametrize(
    ("name", "given", "kind", "words"),
    [
        ("search", {}, "usage", "needs the argument 'query'"),
        ("search", {"query": "x", "limt": 3}, "usage", "no argument 'limt'"),
        ("search", {"query": 7}, "usage", "must be a text"),
        ("search", {"query": "x", "limit": "many"}, "usage", "must be a whole number"),
        ("search", {"query": "x", "limit": True}, "usage", "must be a whole number"),
        ("search", {"query": "x", "limit": 0}, "usage", "cannot be 0"),
        ("search", {"query": "x", "tags": [1]}, "usage", "part 1 must be a text"),
        ("search", {"query": "x", "kind": "poem"}, "usage", "cannot be 'poem'"),
        ("get", {"refs": []}, "usage", "nothing to get"),
        ("get", {"refs": {"a": 1}}, "usage", "must be a list"),
        ("get", {"refs": [f"note:/{number}" for number in range(5000)]}, "usage", "5,000 refs are too many"),
        ("get", {"refs": [f"note:/{'x' * 90}{number}" for number in range(99)]}, "not_found", "none of these exists"),
        ("get", {"refs": ["note:/nowhere"]}, "not_found", "no item"),
        ("get", {"refs": ["0190a000-0000-7000-8000-000000000000"]}, "not_found", "no item with the id"),
        ("get", {"refs": ["note:/x\x00"]}, "usage", "NUL"),
        ("add", {}, "usage", "nothing to add"),
        ("add", {"text": "x"}, "usage", "needs a ref"),
        ("add", {"sources": ["/no/such/file.md"]}, "not_found", "no file"),
        ("remember", {"text": "x", "kind": "poem"}, "usage", "cannot be 'poem'"),
        ("remember", {"text": ""}, "usage", ""),
        ("remember", {"text": "x", "importance": 9}, "usage", "cannot be 9"),
        ("feedback", {"query": "x", "ref": "note:/x", "verdict": "great"}, "usage", "cannot be 'great'"),
        ("remember", {"text": "word " * (LARGEST_ARGUMENTS // 5 + 1)}, "usage", "bytes"),
        ("serch", {"query": "x"}, "unknown_tool", "there is no tool 'serch'"),
        ("search_grep", {"pattern": "("}, "usage", "not a regular expression"),
        ("context_refresh", {}, "usage", "say what to refresh"),
        ("context_edit", {"ref": "note:/x"}, "usage", "nothing to change"),
        ("set_config", {"key": "no.such", "value": "1"}, "usage", "unknown setting"),
    ],
)
def test_a_bad_call_is_a_true_error_that_says_what_to_do(
    service: ToolService, name: str, given: dict[str, Any], kind: str, words: str
) -> None:
    error = talk(service, lambda client: fails(client, name, given))
    assert error["error_type"] == kind
    assert words in error["message"]
    assert len(error["message"]) < 500


def test_a_line_beyond_the_end_is_answered_with_the_last_one_not_with_other_items(service: ToolService) -> None:
    async def conversation(client: Client) -> None:
        await works(client, "remember", text="One line about lions.", title="Lions", kind="note")
        error = await fails(client, "get", {"refs": ["note:/lions"], "from_line": 99})
        assert (error["next_action_hint"], "near" in error) == ("Its last line is 1.", False)

    talk(service, conversation)


def test_a_near_duplicate_is_an_error_with_what_is_known_already(service: ToolService) -> None:
    async def save_twice(client: Client) -> dict[str, Any]:
        await works(client, "remember", text="The release train leaves every second Thursday at noon.")
        return await fails(client, "remember", {"text": "The release train leaves every second Thursday at noon, too."})

    async def contradict(client: Client) -> dict[str, Any]:
        await works(client, "remember", text="We deploy on Fridays.")
        return await fails(client, "remember", {"text": "We deploy on Tuesdays."})

    error = talk(service, contradict)
    assert error["message"].startswith("this contradicts memory:/we-deploy-on-fridays (of ")
    assert "'supersede' (replace the old one), 'save' (keep both), 'skip' (cancel)" in error["next_action_hint"]
    error = talk(service, save_twice)
    assert error["error_type"] == "needs_decision"
    assert "on_duplicate" in error["next_action_hint"]
    assert error["candidates"][0]["ref"].startswith("memory:/")


LINES = "".join(f"line {number} of a long text\n" for number in range(1, 400))
LONG_LINE = "".join(f"word{number} " for number in range(1, 400))


@pytest.mark.parametrize("text", [LINES, f"short\n{LONG_LINE}\n{LONG_LINE}\nshort", LONG_LINE])
def test_a_long_text_is_read_in_parts_that_make_the_whole(service: ToolService, text: str) -> None:
    async def read(client: Client, tool: str) -> str:
        whole, at = "", {"from_line": 1}
        while True:
            named = {"refs": ["agent:/long"]} if tool == "get" else {"ref": "agent:/long"}
            answer = await works(client, tool, max_chars=1000, **named, **at)
            part = answer["items"][0] if tool == "get" else answer
            assert len(part["content"]) <= 1000
            whole += part["content"]
            if "next_line" not in part:
                return whole
            at = {"from_line": part["next_line"], "from_char": part.get("next_char", 0)}

    async def both(client: Client) -> tuple[str, str]:
        await works(client, "add", text=text, ref="agent:/long")
        error = await fails(client, "get", {"refs": ["agent:/long"], "from_char": 100_000})
        assert "characters" in error["message"]
        assert "from_char" in (await fails(client, "get", {"refs": ["agent:/long"], "from_char": -1}))["message"]
        return await read(client, "get"), await read(client, "context_read")

    assert talk(service, both) == (text, text)


def test_a_secret_is_left_out_and_the_answer_says_so(service: ToolService) -> None:
    key = "AKIA" + "IOSFODNN7" + "EXAMPLQ"

    async def save(client: Client) -> tuple[dict[str, Any], dict[str, Any]]:
        saved = await works(client, "remember", text=f"The deploy key is {key} for staging.")
        written = await works(client, "context_write", ref="keys", content=f"Again: {key}")
        assert (written["ref"], bool(written["redacted"])) == ("agent:/keys", True)
        return saved, await works(client, "get", refs=[saved["ref"], "agent:/keys"])

    saved, read = talk(service, save)
    assert saved["redacted"]
    assert len(read["items"]) == 2
    assert key not in json.dumps(read)


def test_a_store_that_cannot_be_opened_is_told_in_every_answer(tmp_path: Path) -> None:
    (tmp_path / "store.db").write_bytes(b"this is no database" * 100)
    service = ToolService(store=str(tmp_path / "store.db"))
    for _ in range(2):
        assert talk(service, lambda client: fails(client, "search", {"query": "x"}))["error_type"] == "corrupt"


def test_half_a_character_in_an_answer_does_not_break_it(service: ToolService, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = replace(service.tools["status"], run=lambda engine: {"items": 0, "store": "half: \ud83e"})
    monkeypatch.setattr(service, "tools", {"status": broken})
    assert talk(service, lambda client: works(client, "status")) == {"items": 0, "store": "half: ?"}


def test_what_is_written_gets_its_vector_after_the_answer(tmp_path: Path) -> None:
    service = ToolService(store=str(tmp_path / "store.db"), config=ConfigProvider({"knowledge.enabled": False}))
    talk(service, lambda client: works(client, "remember", text="Getting things done takes a list."))
    deadline = time.monotonic() + 200
    while not service.engine().search("productivity", track=False, by="meaning").hits:
        assert time.monotonic() < deadline, "the vector never came"
        time.sleep(0.02)
    service.close()


def test_a_call_that_takes_too_long_is_given_up_and_holds_up_no_other(
    service: ToolService, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = threading.Event()
    slow = service.tools["status"]

    def wait(engine: Any) -> dict[str, Any]:
        release.wait(300)
        return {"items": 0}

    monkeypatch.setattr(service, "tools", {**service.tools, "status": replace(slow, run=wait)})
    monkeypatch.setattr(type(service), "seconds", property(lambda self: 4.0))

    async def both(client: Client) -> tuple[dict[str, Any], list[str]]:
        await works(client, "search", query="anything")  # all that a search needs is there from then on
        order: list[str] = []
        errors: list[dict[str, Any]] = []

        async def stuck() -> None:
            errors.append(await fails(client, "status", {}))
            order.append("status")

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(stuck)
            await works(client, "search", query="anything")
            order.append("search")
        return errors[0], order

    try:
        error, order = talk(service, both)
    finally:
        release.set()
    assert error["error_type"] == "timeout"
    assert order == ["search", "status"]


def test_an_agent_in_a_project_changes_what_it_finds_of_the_users_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RICORDO_DATA_HOME", str(tmp_path / "data"))
    config = ConfigProvider({"embedding.provider": "none", "knowledge.enabled": False})
    with Ricordo.open(config=config, start=tmp_path) as memory:
        memory.remember("The harbour opens at seven.", title="Harbour")
    (tmp_path / "project" / ".ricordo").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "project")
    service = ToolService(TOOLSETS, config=config)

    async def conversation(client: Client) -> None:
        await works(client, "remember", text="The lighthouse is white.")
        (hit,) = (await works(client, "search", query="harbour"))["hits"]
        assert hit["tier"] == "agent"
        await works(client, "feedback", query="harbour", ref=hit["ref"], verdict="accepted")
        await works(client, "forget", refs=[hit["ref"]])
        assert (await works(client, "search", query="harbour"))["hits"] == []

    talk(service, conversation)
    service.close()
    with Ricordo.open(config=config, start=tmp_path) as memory:
        assert memory.get("memory:/harbour").state == "archived"


def test_hints_name_tools_and_where_there_is_none_the_command_of_the_user(service: ToolService, tmp_path: Path) -> None:
    core = ToolService(store=str(tmp_path / "core.db"), config=service.settings)
    for one in (service, core):
        one.call("add", {"text": "Restart the gateway by hand.", "ref": "agent:/gateway"})
        one.engine().rm("agent:/gateway")
    hint = service.call("get", {"refs": ["agent:/gateway"]}).plain["next_action_hint"]
    assert "the tool restore" in hint
    assert "'ricordo" not in hint
    hint = core.call("get", {"refs": ["agent:/gateway"]}).plain["next_action_hint"]
    assert "the user's command 'ricordo restore agent:/gateway'" in hint
    core.close()


def test_notes_name_tools_and_stored_texts_stay_as_they_are() -> None:
    said = "run 'ricordo embed', or see 'ricordo search'"
    plain = {"notes": [said], "items": [{"reason": said, "content": said}], "text": said}
    words = "run the user's command 'ricordo embed', or see the tool search"
    expected = {"notes": [words], "items": [{"reason": words, "content": said}], "text": said}
    assert answer_for_agents(plain, CORE) == expected


def test_what_context_only_names_can_be_read_with_a_tool(service: ToolService) -> None:
    for at in range(4):
        words = " ".join(f"{word}{at}" for word in ("pod", "node", "rack", "fuse", "valve", "pump") * 8)
        text = f"Restart the gateway of region {at} by hand: {words}."
        service.call("add", {"text": text, "ref": f"agent:/gateway-{at}"})
    text = service.call("context", {"task": "restart the gateway of the region", "budget": 400}).plain["text"]
    assert "(read one with get)" in text
    assert "ricordo get" not in text


def test_a_relative_path_with_a_slip_gets_the_right_one_and_where_it_was_looked_for(
    service: ToolService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "guides").mkdir()
    (tmp_path / "guides" / "deployment.md").write_text("# Deployment\nOn Monday.", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    hint = service.call("add", {"sources": ["guides/deploiment.md"]}).plain["next_action_hint"]
    assert hint == f"Did you mean guides/deployment.md? It was looked for in {tmp_path}."
    service.call("add", {"sources": ["guides/deployment.md"]})
    missing = service.call("get", {"refs": ["guides/deploiment.md"]}).plain
    assert [one.rpartition("/")[2] for one in missing["near"]] == ["deployment.md"]


def test_a_folder_that_is_added_again_is_no_conflict_and_what_is_new_comes_in(
    service: ToolService, tmp_path: Path
) -> None:
    folder = tmp_path / "guides"
    folder.mkdir()
    (folder / "deployment.md").write_text("# Deployment\nOn Monday.", encoding="utf-8")
    assert service.call("add", {"sources": [str(folder)]}).plain["created"] == 1
    (folder / "rollback.md").write_text("# Rollback\nAt once.", encoding="utf-8")
    again = service.call("add", {"sources": [str(folder)]})
    assert not again.is_error
    assert {name: again.plain[name] for name in ("created", "skipped", "failed")} == {
        "created": 1, "skipped": 1, "failed": 0,
    }  # fmt: skip


def test_a_limit_out_of_bounds_is_refused_with_its_bounds_and_one_that_is_exceeded_is_explained(tmp_path: Path) -> None:
    service = ToolService(("vault",), store=str(tmp_path / "vault.db"))
    for at in range(4):
        text = f"The gateway of region {at} needs a certificate."
        service.call("capture_knowledge", {"title": f"Gateway {at}", "description": text, "on_duplicate": "save"})
    refused = service.call("search", {"query": "gateway", "limit": 500}).plain
    assert refused["next_action_hint"] == "It is a whole number, at least 1, at most 50."
    (hit,) = service.call("search", {"query": "gateway", "limit": 1}).plain["hits"]
    assert 0.5 <= hit["fit"] <= 1, "an agent sees how well each hit fits"
    shown = service.call("search_intelligent", {"query": "gateway", "limit": 1}).plain
    assert len(shown["results"]) == 4
    assert "beyond the limit of 1, because fewer than 50 items do" in shown["notes"][0]
    service.close()


@pytest.mark.usefixtures("patient")
def test_a_memory_in_russian_is_found_by_a_question_in_english(tmp_path: Path) -> None:
    settings = {"knowledge.enabled": False, "mcp.seconds": 120}
    service = ToolService(store=str(tmp_path / "store.db"), config=ConfigProvider(settings))

    async def remembered(client: Client) -> dict[str, Any]:
        await works(client, "remember", text="Пароль от главного сервера хранится у Анны в сейфе.")
        await works(client, "remember", text="The team eats lunch at noon on Fridays.")
        return await works(client, "search", query="who keeps the password of the main server")

    found = talk(service, remembered)
    service.close()
    assert "Анны" in json.dumps(found["hits"][0], ensure_ascii=False)


def test_programs_are_told_which_tools_may_be_called_again_without_harm(service: ToolService) -> None:
    hints = {name: described(tool)["annotations"] for name, tool in service.tools.items()}
    repeatable = {name for name, hint in hints.items() if hint.get("idempotentHint")}
    assert {"set_config", "save_note", "context_delete", "context_refresh"} <= repeatable
    assert repeatable.isdisjoint({"add", "remember", "forget", "feedback"})
    assert not any(hint["readOnlyHint"] for name, hint in hints.items() if name in repeatable)
