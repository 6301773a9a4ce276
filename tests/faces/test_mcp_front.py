"""A client's first requests, answered before the program is loaded: the same bytes, and then the same conversation."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from ricordo import ConfigProvider, Ricordo
from ricordo.cli.install_verbs import get_server_ready
from ricordo.mcp_server.front import First
from ricordo.mcp_server.known import choices, page_path, read_record, record_bytes, record_path
from ricordo.mcp_server.sdk import GREETED_VERSIONS

from .mcp_servers import HELLO, Lines, arguments, environment, stdio, works

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals and pipes as POSIX has them")

UNLOADABLE = """
import os, sys
if os.environ.get("NOTHING_LOADS"):
    for name in ("anyio", "mcp", "pydantic", "numpy", "click", "apsw"):
        sys.modules[name] = None
"""
"""With NOTHING_LOADS, whoever imports what the server is made of fails."""
FIRST = ("tools/list", "prompts/list", "resources/templates/list", "ping")


def prepare(folder: Path, *more: str, env: dict[str, str] | None = None) -> None:
    """Write the record as ``install`` does."""
    (folder / "sitecustomize.py").write_text(UNLOADABLE, encoding="utf-8")
    command = [sys.executable, *arguments(folder, *more), "--prepare"]
    env = env or {**os.environ, **environment(folder), "PYTHONPATH": str(folder)}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, timeout=300, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def raw(lines: Lines, method: str, params: object = None) -> bytes:
    lines.send(method, params)
    assert lines.process.stdout is not None
    return lines.process.stdout.readline()


def beginning(lines: Lines) -> list[bytes]:
    """The bytes of the first answers."""
    greeting = raw(lines, "initialize", HELLO)
    lines.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
    return [greeting, *(raw(lines, method) for method in FIRST)]


@pytest.mark.parametrize("more", [(), ("--toolset", "context", "--toolset", "tools")], ids=["core", "more"])
def test_first_requests_are_answered_with_the_same_bytes_and_nothing_is_loaded(
    tmp_path: Path, more: tuple[str, ...]
) -> None:
    with Lines(tmp_path, *more) as lines:
        by_the_server = beginning(lines)
    prepare(tmp_path, *more)
    with Lines(tmp_path, *more, PYTHONPATH=str(tmp_path), NOTHING_LOADS="yes") as lines:
        assert beginning(lines) == by_the_server
        assert lines.end() == (b"", b"")
    assert not (tmp_path / "store.db").exists()


def test_the_conversation_goes_on_with_the_server_and_every_request_has_one_answer(tmp_path: Path) -> None:
    prepare(tmp_path)
    with Lines(tmp_path, PYTHONPATH=str(tmp_path)) as lines:
        lines.send("initialize", HELLO)
        lines.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
        lines.send("tools/list")
        lines.write(b"no JSON")
        lines.send("tools/call", {"name": "remember", "arguments": {"text": "The ferry leaves at nine."}})
        lines.send("tools/list", {"cursor": "nonsense"})
        lines.send("ping")
        answers = [lines.read() for _ in range(6)]
        assert lines.end() == (b"", b"")
    assert sorted((answer["id"] or 0) for answer in answers) == [0, 1, 2, 3, 4, 5]
    found = {answer["id"]: answer for answer in answers}
    assert found[None]["error"]["code"] == -32700
    assert found[3]["result"]["isError"] is False
    assert found[4]["error"]["code"] == -32602
    assert found[5]["result"] == {}


def test_the_sdk_s_own_client_uses_a_prepared_server(tmp_path: Path) -> None:
    prepare(tmp_path, env=environment(tmp_path))
    assert list((tmp_path / "state" / "ricordo" / "mcp").iterdir())

    async def talk() -> None:
        async with stdio(tmp_path) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            assert "remember" in names
            await works(client, "remember", text="The ferry leaves at nine.")
            assert [one.name for one in (await client.list_resources()).resources] == [
                hit["ref"] for hit in (await works(client, "search", query="ferry"))["hits"]
            ]

    anyio.run(talk)


def test_resources_are_listed_as_they_were_last_and_a_change_is_told(tmp_path: Path) -> None:
    prepare(tmp_path)
    with Lines(tmp_path, PYTHONPATH=str(tmp_path)) as lines:
        beginning(lines)
        lines.call("remember", {"text": "The ferry leaves at nine."})
        listed = raw(lines, "resources/list")
        assert b"the-ferry-leaves-at-nine" in listed
        lines.end()
    with Lines(tmp_path, PYTHONPATH=str(tmp_path), NOTHING_LOADS="yes") as lines:
        beginning(lines)
        lines.number += 1  # the call before
        assert raw(lines, "resources/list") == listed
    with Lines(tmp_path, PYTHONPATH=str(tmp_path)) as lines:
        beginning(lines)
        lines.number += 1
        assert raw(lines, "resources/list") == listed
        assert lines.call("status", {})["structuredContent"]["items"] == 1
        out, _ = lines.end()
        assert out == b"", "nothing has changed"
    with Ricordo.open(tmp_path / "store.db", config=ConfigProvider({"embedding.provider": "none"})) as engine:
        engine.remember("The tide is high at noon.")
    with Lines(tmp_path, PYTHONPATH=str(tmp_path)) as lines:
        beginning(lines)
        assert raw(lines, "resources/list").replace(b'"id":6', b'"id":7') == listed
        assert lines.read() == {"jsonrpc": "2.0", "method": "notifications/resources/list_changed"}
        assert b"the-tide-is-high" in raw(lines, "resources/list")


def test_titles_in_a_kept_list_are_forgotten_when_an_item_is_erased(engine: Ricordo) -> None:
    page, record = Path(page_path([], os.environ)), Path(record_path(choices([], None), os.environ))
    page.parent.mkdir(parents=True)
    engine.save("note:/ferry", "The ferry leaves at nine.")
    for path in (page, record):
        path.write_bytes(record_bytes({}, ()))
    engine.rm("note:/ferry")
    assert page.exists(), "it is in the bin"
    engine.rm("note:/ferry", purge=True)
    assert not page.exists()
    assert record.exists(), "it holds no titles"


def test_install_has_the_record_written_beside_itself(tmp_path: Path) -> None:
    process = get_server_ready(has_gateway=False)
    assert process is not None
    assert process.wait(300) == 0
    assert read_record(record_path(choices([], None), os.environ)) is not None


def test_a_record_counts_only_if_it_is_whole_one_s_own_and_made_from_what_is_there(tmp_path: Path) -> None:
    source, record = tmp_path / "source.py", tmp_path / "record.json"
    source.write_text("one", encoding="utf-8")
    gone = str(tmp_path / "not there")
    record.write_bytes(record_bytes({"2025-06-18": {"ping": "{}"}}, [str(source), gone]))
    record.chmod(0o666)
    assert read_record(str(record)) is None, "others can write to it"
    record.chmod(0o600)
    assert read_record(str(record)) == {"2025-06-18": {"ping": "{}"}}
    whole = record.read_bytes()
    for damaged in (whole.replace(b"ping", b"pong"), whole[:-3], b"", b"\n"):
        record.write_bytes(damaged)
        assert read_record(str(record)) is None
    record.write_bytes(whole)
    assert read_record(str(record)) is not None
    Path(gone).touch()
    assert read_record(str(record)) is None
    Path(gone).unlink()
    source.write_text("two and more", encoding="utf-8")
    assert read_record(str(record)) is None


def answered(first: First, **message: object) -> tuple[bytes, bool]:
    answer, _, is_passed_on = first.answer(json.dumps({"jsonrpc": "2.0", **message}).encode())
    return answer, is_passed_on


@pytest.mark.parametrize(
    "params",
    [
        None,
        [],
        {},
        {**HELLO, "protocolVersion": "1999-01-01"},
        {**HELLO, "protocolVersion": 7},
        {**HELLO, "clientInfo": {"name": "no version"}},
        {**HELLO, "capabilities": {"roots": "yes"}},
    ],
)
def test_a_greeting_that_is_not_as_it_should_be_is_left_to_the_server(params: object) -> None:
    first = First({version: {"initialize": "{}", "ping": "{}"} for version in GREETED_VERSIONS}, {})
    assert answered(first, id=1, method="initialize", params=params) == (b"", True)
    assert answered(first, id=2, method="ping") == (b"", True)


def test_a_list_is_answered_only_after_the_greeting_and_only_if_it_is_asked_for_plainly() -> None:
    first = First({"2025-06-18": {"initialize": "{}", "tools/list": '{"tools":[]}'}}, {})
    assert answered(first, id=0, method="tools/list") == (b"", True)
    assert answered(first, id="é", method="initialize", params=HELLO) == (
        '{"jsonrpc":"2.0","id":"é","result":{}}\n'.encode(),
        True,
    )
    assert answered(first, id=1, method="tools/list") == (b"", True)
    assert answered(first, method="notifications/initialized") == (b"", True)
    for params in (None, {}, {"_meta": {"progressToken": 3}}):
        assert answered(first, id=2, method="tools/list", params=params) == (
            b'{"jsonrpc":"2.0","id":2,"result":{"tools":[]}}\n',
            False,
        )
    odd: object
    for odd in ({"cursor": "x"}, {"_meta": {"other": 1}}, [], "x"):
        assert answered(first, id=3, method="tools/list", params=odd) == (b"", True)
    for wrong in (None, True, 1.5, [1]):
        assert answered(first, id=wrong, method="tools/list") == (b"", True)
    assert answered(first, id=4, method="initialize", params=HELLO) == (b"", True)
