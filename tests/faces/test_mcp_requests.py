"""The results of MCP requests other than tool calls, and what tool calls accept: lists, pages, progress, completion."""

from __future__ import annotations

import io
import json
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.shared.exceptions import MCPError
from pydantic import AnyUrl

from ricordo import ConfigProvider, Ricordo
from ricordo.mcp_server import protocol
from ricordo.mcp_server import stdio as mcp_stdio
from ricordo.mcp_server.service import LARGEST_ARGUMENTS, ToolService
from ricordo.values.items import Entry
from ricordo.values.reports import Progress

from .mcp_servers import HELLO, Lines, stdio, works

INVALID_PARAMS = -32602


@pytest.fixture
def lines(tmp_path: Path) -> Any:
    with Lines(tmp_path) as talk:
        talk.greet()
        yield talk


def test_numbers_truth_values_and_lists_sent_as_text_are_taken(lines: Lines) -> None:
    for number in range(3):
        saved = lines.call("add", {"text": f"Lighthouse number {number}", "ref": f"agent:/{number}", "tags": '["sea"]'})
        assert saved["isError"] is False
    found = lines.call("search", {"query": "lighthouse", "limit": "1", "tags": '["sea"]'})["structuredContent"]
    assert len(found["hits"]) == 1
    assert len(lines.call("get", {"refs": '["agent:/0", "agent:/1"]'})["structuredContent"]["items"]) == 2
    shown = lines.call("context", {"task": "lighthouse", "budget": "400", "recent": "true"})
    assert shown["isError"] is False
    assert lines.error("search", {"query": "x", "limit": "1.5"})["error_type"] == "usage"
    assert lines.error("search", {"query": "x", "limit": "9999"})["error_type"] == "usage"


def test_the_size_of_arguments_is_counted_in_bytes_not_in_letters(lines: Lines) -> None:
    text = "é" * 2_200_000
    assert len(text) < LARGEST_ARGUMENTS < len(text.encode())
    assert "bytes" in lines.error("remember", {"text": text})["message"]


@pytest.mark.parametrize("method", ["tools/list", "resources/list", "resources/templates/list", "prompts/list"])
def test_a_cursor_that_the_server_did_not_give_out_is_a_wrong_parameter(lines: Lines, method: str) -> None:
    for cursor in ("nonsense", "after-x", "after-99999999999999"):
        assert lines.ask(method, {"cursor": cursor})["error"]["code"] == INVALID_PARAMS


def test_the_list_of_resources_has_pages_and_every_uri_survives_a_url_parser(tmp_path: Path) -> None:
    settings = ConfigProvider({"embedding.provider": "none", "knowledge.enabled": False})
    refs = {f"agent:/folder/{number}.md" for number in range(58)} | {"agent:/a b/ü?#%.md", "note:/https://x.org/y?z=1"}
    with Ricordo.open(tmp_path / "store.db", config=settings) as engine:
        for ref in refs:
            engine.save(ref, f"Text of {ref}", fields={"source": "user"}, wait=False)

    async def read_all() -> None:
        async with stdio(tmp_path) as client:
            await client.call_tool("status", {})  # until the store is open, the list may be empty
            seen: dict[str, str] = {}
            cursor: str | None = None
            pages = 0
            while True:
                listed = await client.list_resources(cursor=cursor)
                pages += 1
                seen |= {resource.name: resource.uri for resource in listed.resources}
                cursor = listed.next_cursor
                if cursor is None:
                    break
            assert (pages, set(seen)) == (2, refs)
            for ref, uri in seen.items():
                contents: Any = (await client.read_resource(str(AnyUrl(uri)))).contents[0]
                assert contents.text == f"Text of {ref}"

    anyio.run(read_all)


def test_adding_a_folder_reports_progress_to_a_client_that_asks_for_it(tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    for number in range(30):
        (folder / f"{number}.md").write_text(f"# File {number}\n", encoding="utf-8")
    notices: list[tuple[float, float | None]] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        notices.append((progress, total))

    async def add() -> None:
        async with stdio(tmp_path) as client:
            result: Any = await client.call_tool("add", {"sources": [str(folder)]}, progress_callback=hear)
            assert result.structured_content["created"] == 30

    anyio.run(add)
    assert notices[-1] == (30.0, 30.0)
    assert [done for done, _ in notices] == sorted({done for done, _ in notices})


def test_progress_never_goes_back_for_the_client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "PROGRESS_SECONDS", 0)
    heard: list[float] = []
    report = protocol.Reporter(lambda done, total, words: heard.append(done))
    for done in (1, 3, 2, 3, 5):
        report(Progress(done, 9))
    assert heard == [1, 3, 5]


def test_a_client_that_does_not_ask_for_progress_hears_nothing_of_it(lines: Lines, tmp_path: Path) -> None:
    (tmp_path / "one.md").write_text("# One\n", encoding="utf-8")
    assert lines.call("add", {"sources": [str(tmp_path / "one.md")]})["structuredContent"]["created"] == 1


def test_refs_and_prompt_arguments_are_completed(tmp_path: Path) -> None:
    async def complete() -> None:
        async with stdio(tmp_path) as client:
            await works(client, "add", text="x", ref="agent:/plans/summer.md", title="Summer plan", tags=["holiday"])
            await works(client, "add", text="y", ref="note:/plans/winter.md", title="Winter plan")

            async def values(ref: dict[str, str], name: str, typed: str, **known: str) -> list[str]:
                answer = await client.session.send_request(
                    _request("completion/complete", ref, name, typed, known), _result()
                )
                return list(answer.completion.values)

            item = {"type": "ref/resource", "uri": "ricordo://{drive}/{+path}"}
            assert await values(item, "drive", "ag") == ["agent"]
            assert await values(item, "path", "plans/", drive="agent") == ["plans/summer.md"]
            assert set(await values(item, "path", "PLANS")) == {"plans/summer.md", "plans/winter.md"}
            assert await values({"type": "ref/prompt", "name": "recall"}, "topic", "summ") == ["Summer plan"]
            assert await values({"type": "ref/prompt", "name": "recall"}, "topic", "holi") == ["holiday"]
            assert await values({"type": "ref/prompt", "name": "catch_up"}, "since", "7") == ["7d"]
            with pytest.raises(MCPError) as caught:
                await values({"type": "ref/prompt", "name": "recall"}, "colour", "r")
            assert caught.value.error.code == INVALID_PARAMS

    def _request(method: str, ref: Any, name: str, typed: str, known: dict[str, str]) -> Any:
        from mcp import types

        params = {"ref": ref, "argument": {"name": name, "value": typed}, "context": {"arguments": known}}
        return types.CompleteRequest.model_validate({"method": method, "params": params})

    def _result() -> Any:
        from mcp import types

        return types.CompleteResult

    anyio.run(complete)


def test_a_completion_says_when_there_are_more_than_it_may_give(tmp_path: Path) -> None:
    settings = ConfigProvider({"embedding.provider": "none", "knowledge.enabled": False})
    with Ricordo.open(tmp_path / "store.db", config=settings) as engine:
        engine.save_many([Entry(f"agent:/many/{number:03}", "x") for number in range(101)], wait=False)
    with Lines(tmp_path) as talk:
        talk.greet()
        for typed, count, has_more in (("many/", 101, True), ("many/0", 100, False)):
            about = {"ref": {"type": "ref/resource", "uri": "ricordo://{drive}/{+path}"}}
            found = talk.ask("completion/complete", {**about, "argument": {"name": "path", "value": typed}})
            found = found["result"]["completion"]
            assert (len(found["values"]), found["total"], found["hasMore"]) == (100, count, has_more)


def test_near_refs_come_from_the_same_drive_and_are_spelled_alike(lines: Lines) -> None:
    for ref in ("note:/release-plan", "agent:/release-plan", "note:/gardening", "note:/recipes/bread"):
        lines.call("add", {"text": f"Words of the release plan, and {ref}", "ref": ref})
    near = lines.error("get", {"refs": ["note:/relase-plan"]})
    assert near["near"] == ["note:/release-plan"]
    assert near["next_action_hint"] == "Did you mean 'note:/release-plan'?"
    moved = lines.error("get", {"refs": ["note:/old/bread"]})
    assert moved["near"] == ["note:/recipes/bread"]
    for unrelated in ("note:/words-of-the-plan", "entity:/release-plan", "note:/zebra"):
        assert "near" not in lines.error("get", {"refs": [unrelated]})


pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals and pipes as POSIX has them")


def test_the_list_of_resources_does_not_wait_for_a_store_that_opens_slowly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mcp_stdio, "FIRST_LIST_SECONDS", 0.01)
    may_open, heard = threading.Event(), io.BytesIO()

    class SlowService(ToolService):
        def engine(self) -> Ricordo:
            assert may_open.wait(300)
            return super().engine()

    settings = ConfigProvider({"embedding.provider": "none", "knowledge.enabled": False})
    with Ricordo.open(tmp_path / "store.db", config=settings) as engine:
        engine.save("agent:/plan.md", "Ship it.", fields={"source": "user"}, wait=False)
    service = SlowService(store=str(tmp_path / "store.db"), config=settings)
    talk = mcp_stdio.Conversation(service, heard)

    def ask(request: int, method: str, **params: Any) -> None:
        message = {"jsonrpc": "2.0", "id": request, "method": method, "params": params}
        talk.take(json.dumps(message).encode())

    def hears(wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        deadline = time.monotonic() + 300
        while not (found := [one for one in map(json.loads, heard.getvalue().splitlines()) if wanted(one)]):
            assert time.monotonic() < deadline, heard.getvalue()
            time.sleep(0.01)
        return dict(found[0])

    ask(1, "initialize", **HELLO)
    ask(2, "resources/list")
    assert hears(lambda one: one.get("id") == 2)["result"] == {"resources": []}
    assert hears(lambda one: one.get("id") == 1)["result"]["capabilities"]["resources"]["listChanged"]
    may_open.set()
    hears(lambda one: one.get("method") == "notifications/resources/list_changed")
    ask(3, "resources/list")
    assert [one["name"] for one in hears(lambda one: one.get("id") == 3)["result"]["resources"]] == ["agent:/plan.md"]
    assert talk.finish(300)
    service.close()
