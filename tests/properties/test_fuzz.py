"""Random input to everything that reads input: no crash, no hang, no memory beyond a bound. Errors are Ricordo's own.

``RICORDO_FUZZ_SECONDS`` runs each test for so long instead of a few dozen examples.
"""

from __future__ import annotations

import io
import json
import os
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ricordo import ConfigProvider, Ricordo, UsageError
from ricordo.config.loading import load_config
from ricordo.errors import Error
from ricordo.hooks.payload import read_payload
from ricordo.ingest.formats.read import parse_bytes
from ricordo.mcp_server.service import TOOLSETS, ToolService
from ricordo.mcp_server.stdio import NotAMessage, read_message
from ricordo.memory.files import format as file_format
from ricordo.plugins.transfer import export_file
from ricordo.search.query import parse_query
from ricordo.secrets.find import redact
from ricordo.text.links import targets_in
from ricordo.trust.fence import clean, told_item
from ricordo.values.items import Ref

SECONDS = float(os.environ.get("RICORDO_FUZZ_SECONDS", "0"))
BOUND_SECONDS = 60.0  # of the processor: what never ends is found on a slow machine too
BOUND_MEGABYTES = 200
EXAMPLES = 10**6 if SECONDS else 40

PIECES = st.sampled_from(
    [
        *("---\n", "...\n", "title: ", "tags: [", "]", "{", "}", "&a ", "*a", "!!python/object:os.system", "\x00"),
        *("\ufeff", "\u202e", "\ud800", "# ", "```", "~~~", "|", "[[", "]]", "](", "<!--", "<script>", "&amp;", '"'),
        *("'", "\\", "a" * 500, "kind:", "tag:", "after:", "-", "*", "password=", "://", "\r\n", "\n", "\t", "é"),
        *("-----BEGIN PRIVATE KEY-----", "你好", "🦓", "0" * 50, "1e999", "null", '{"record":', "[redacted", "%", "="),
        *('{"format":"ricordo"', ",", ";", "\x1b[2J"),
    ]
)
TEXTS = st.lists(st.one_of(PIECES, st.text(max_size=20)), max_size=60).map("".join)
BYTES = st.one_of(TEXTS.map(lambda text: text.encode("utf-8", "surrogatepass")), st.binary(max_size=2000))
JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=20,
)
bounded = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), database=None)
STARTED: dict[str, float] = {}


def is_over(name: str) -> bool:
    """With a time to run for: whether it is over."""
    return bool(SECONDS) and time.monotonic() - STARTED.setdefault(name, time.monotonic()) > SECONDS


@contextmanager
def within_bounds() -> Iterator[None]:
    """What happens in the block takes no more than so much time and memory, and raises nothing but our own errors."""
    tracemalloc.start()
    started = time.process_time()
    try:
        yield
    except Error:
        pass
    finally:
        taken = time.process_time() - started
        most = tracemalloc.get_traced_memory()[1] / 1e6
        tracemalloc.stop()
    assert taken < BOUND_SECONDS, f"{taken:.1f} s"
    assert most < BOUND_MEGABYTES, f"{most:.0f} MB"


def hook(event: str, data: bytes) -> None:
    """Read a payload as the hook does; whoever calls it expects what is not JSON, and stays silent."""
    with suppress(ValueError, RecursionError):
        read_payload(event, data, None)


def line_of_mcp(data: bytes) -> None:
    """Read a line as the server does, which answers one that is no message."""
    with suppress(NotAMessage):
        read_message(data)


READERS: dict[str, Callable[[bytes], Any]] = {
    "front matter and Markdown": lambda data: parse_bytes(data, "a.md"),
    "plain text": lambda data: parse_bytes(data, "a.txt"),
    "HTML": lambda data: parse_bytes(data, "a.html"),
    "JSON": lambda data: parse_bytes(data, "a.json"),
    "JSON lines": lambda data: parse_bytes(data, "a.jsonl"),
    "CSV": lambda data: parse_bytes(data, "a.csv"),
    "mail": lambda data: parse_bytes(data, "a.eml"),
    "a notebook": lambda data: parse_bytes(data, "a.ipynb"),
    "reStructuredText": lambda data: parse_bytes(data, "a.rst"),
    "a knowledge file": lambda data: file_format.read(data, "notes/a.md"),
    "an export": lambda data: list(export_file.read(io.BytesIO(data), "x")),
    "a hook's payload": lambda data: hook("user-prompt", data),
    "a line of MCP": lambda data: line_of_mcp(data),
}


@pytest.mark.parametrize("reader", READERS)
def test_any_bytes_are_read_or_refused(reader: str) -> None:
    @bounded
    @given(BYTES)
    def tried(data: bytes) -> None:
        if not is_over(reader):
            with within_bounds():
                READERS[reader](data)

    tried()


@bounded
@given(TEXTS)
def test_any_text_can_be_asked_for_redacted_linked_and_told(text: str) -> None:
    if not is_over("texts"):
        with within_bounds():
            parse_query(text)
            redact(text)
            targets_in(text, Ref("note", "/a"), "text/markdown")
            told_item(text, text, text, clean(text), outside=True, place=text)


@bounded
@given(JSON)
def test_any_json_as_a_hooks_payload_or_an_export_is_read_or_refused(value: object) -> None:
    if not is_over("json"):
        data = json.dumps(value).encode("utf-8", "surrogatepass")
        with within_bounds():
            hook("session-start", data)
        with within_bounds():
            list(export_file.read(io.BytesIO(data + b"\n"), "x"))


@bounded
@given(TEXTS)
def test_any_settings_file_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    if not is_over("settings"):
        folder = tmp_path_factory.mktemp("config")
        (folder / "config.toml").write_bytes(text.encode("utf-8", "surrogatepass"))
        with within_bounds():
            load_config(env={"RICORDO_CONFIG_HOME": str(folder)}, start=folder)


def test_any_query_is_answered(engine: Ricordo) -> None:
    engine.save("note:/a", "a zebra and a lion")

    @bounded
    @given(TEXTS)
    def tried(text: str) -> None:
        if not is_over("queries"):
            with within_bounds():
                engine.search(text, track=False)

    tried()


TOOLS = tuple(name for name in TOOLSETS if name != "tools")


def test_any_call_of_any_tool_is_answered_within_bounds(tmp_path: Path) -> None:
    config = ConfigProvider({"embedding.provider": "none", "knowledge.enabled": False})
    service = ToolService(TOOLS, store=str(tmp_path / "s.db"), config=config)
    names = [name for name, tool in service.tools.items() if "sources" not in tool.arguments]
    known = sorted({argument for name in names for argument in service.tools[name].arguments})

    @bounded
    @given(st.sampled_from(names), st.dictionaries(st.sampled_from(known) | st.text(max_size=5), JSON, max_size=4))
    def tried(name: str, arguments: dict[str, Any]) -> None:
        if not is_over("calls"):
            with within_bounds():
                fitting = {key: value for key, value in arguments.items() if key in service.tools[name].arguments}
                for given_arguments in (arguments, fitting):
                    outcome = service.call(name, given_arguments)
                    assert outcome.text()
                    assert outcome.plain.get("error_type") != "unexpected", outcome.plain

    try:
        tried()
    finally:
        service.close()


def test_half_a_character_is_told_and_never_called_damage(engine: Ricordo) -> None:
    engine.save("note:/a", "a zebra")
    half = "zebra \ud83e"
    assert [hit.ref for hit in engine.search(half).hits] == ["note:/a"]
    assert engine.search("zebra drive:\ud83e path:/\ud83e").hits == ()
    assert engine.grep(half) == []
    for call in (
        lambda: engine.save("note:/b", half),
        lambda: engine.save(f"note:/{half}", "x"),
        lambda: engine.save("note:/c", "x", fields={"title": half}),
        lambda: engine.get(f"no/such/{half}"),
        lambda: engine.mv(f"no/such/{half}", "note:/d"),
    ):
        with pytest.raises(UsageError, match=r"half of a character|not valid text"):
            call()
    assert engine.doctor().ok
