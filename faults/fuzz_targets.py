"""What the fuzzer drives: everything of Ricordo that reads what somebody else wrote.

A target takes bytes, and either works or raises an error of Ricordo. Whatever else it raises is a mistake, and so is
an answer in which Ricordo itself says that it made one.
"""

from __future__ import annotations

import io
import json
import random
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from fuzz_inputs import changed, changed_json, text_of, value_of
from ricordo import ConfigProvider, Ricordo
from ricordo.config.loading import load_config
from ricordo.errors import Error
from ricordo.hooks import answers
from ricordo.hooks.payload import NAMES
from ricordo.hooks.pipe import Outlet
from ricordo.ingest.formats.read import parse_bytes
from ricordo.mcp_server.service import TOOLSETS, ToolService
from ricordo.mcp_server.stdio import NotAMessage, read_message
from ricordo.memory.files import format as file_format
from ricordo.plugins.importers import programs
from ricordo.plugins.install import json_text
from ricordo.plugins.sessions.facets import turn_facets
from ricordo.plugins.sessions.transcripts.files import open_transcript
from ricordo.plugins.transfer import export_file
from ricordo.plugins.web.crawl import read_robots
from ricordo.search.query import parse_query
from ricordo.secrets.find import redact
from ricordo.text.links import targets_in
from ricordo.trust.fence import clean, told_item
from ricordo.values.items import Ref

FIXTURES = Path(__file__).parents[1] / "tests" / "fixtures"
SESSIONS = FIXTURES.parent / "plugins" / "sessions" / "fixtures"
SETTINGS = {"embedding.provider": "none", "knowledge.enabled": False}
RENEW_AFTER = 1_000
"""After so many inputs a store is made anew, so that it stays small."""


class MistakeError(Exception):
    """Ricordo says of itself that it made a mistake."""


class Target:
    """One reader: how its inputs are made, and what is done with them."""

    def __init__(self, examples: list[bytes], run: Callable[[bytes], Any], *, make: Any = None) -> None:
        self.examples = examples or [b""]
        self.run = run
        self._make = make

    def input(self, chance: random.Random) -> bytes:
        if self._make is not None:
            made: bytes = self._make(chance)
            return made
        if chance.random() < 0.1:
            return text_of(chance, 200).encode("utf-8", "surrogatepass")
        return changed(chance.choice(self.examples), self.examples, chance)


def targets(place: Path) -> dict[str, Target]:
    """All of them; ``place`` is a folder of their own."""
    stores = Stores(place)
    return file_targets() | text_targets(stores) | exchange_targets(place, stores) | agent_targets(place, stores)


def file_targets() -> dict[str, Target]:
    """A parser for each format, with the fixtures as examples."""
    found: dict[str, Target] = {}
    for file in sorted((FIXTURES / "formats").rglob("*.*")):
        if file.name in ("manifest.json", ".gitattributes"):
            continue
        name = f"parse {file.suffix[1:]}"
        found.setdefault(name, Target([], lambda data, suffix=file.suffix: parsed_file(data, suffix)))
        if found[name].examples == [b""]:
            found[name].examples = []
        found[name].examples.append(file.read_bytes())
    return found


def parsed_file(data: bytes, suffix: str) -> None:
    """Read a file as ``add`` does, in a process of its own where that is done."""
    try:
        parse_bytes(data, f"a{suffix}")
    except Error as error:
        if "mistake in Ricordo" in error.message:
            raise MistakeError(error.message) from error
        raise


class Stores:
    """A store that is made anew now and then, and what reads and writes it."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._uses = self._made = 0
        self._service: ToolService | None = None

    @property
    def service(self) -> ToolService:
        """All tools, on the present store."""
        if self._service is None or self._uses >= RENEW_AFTER:
            self.close()
            self._made, self._uses = self._made + 1, 0
            self.file = self._place / f"store-{self._made}.db"
            config = ConfigProvider(SETTINGS)
            with Ricordo.open(self.file, config=config) as engine:
                engine.save("note:/a", "a zebra and a lion\nin the long grass", fields={"tags": ["odd"]}, wait=False)
                engine.save("note:/b", "see [[a]] and https://example.org/x", wait=False)
                engine.remember("keys are rotated on Mondays", ref="memory:/keys", wait=False)
            names = [name for name in TOOLSETS if name != "tools"]
            self._service = ToolService(names, store=str(self.file), config=config)
        self._uses += 1
        return self._service

    @property
    def engine(self) -> Ricordo:
        return self.service.engine()

    def close(self) -> None:
        if self._service is not None:
            self._service.close()
            for end in ("", "-wal", "-shm"):
                Path(f"{self.file}{end}").unlink(missing_ok=True)


def text_targets(stores: Stores) -> dict[str, Target]:
    """Queries, patterns, and what is done with every text."""

    def every_text(data: bytes) -> None:
        text = data.decode("utf-8", "surrogatepass") if data.isascii() else data.decode("utf-8", "replace")
        parse_query(text)
        redact(text)
        targets_in(text, Ref("note", "/a"), "text/markdown")
        told_item(text, text, text, clean(text), outside=True, place=text)
        turn_facets(text)

    def read(data: bytes) -> str:
        return data.decode("utf-8", "replace")

    queries = [b'"exact phrase" -word wor* kind:note tag:odd after:2024-01-01', b"zebra lion", b"path:/a* importance:3"]
    patterns = [rb"(\w+)\s+lion", rb"^a.*b$", rb"[a-z]{2,5}|(?i)zebra"]
    plain = [(FIXTURES / "formats" / "markdown" / "harbour.md").read_bytes(), b"password=hunter2hunter2 sk-abc [[a]]"]
    return {
        "any text": Target(plain, every_text),
        "query": Target(queries, lambda data: stores.engine.search(read(data), track=False)),
        "grep": Target(patterns, lambda data: stores.engine.grep(read(data))),
        "context": Target(queries, lambda data: stores.engine.context(read(data), budget=500)),
    }


def exchange_targets(place: Path, stores: Stores) -> dict[str, Target]:
    """Exports, knowledge files, settings, transcripts, and what other programs keep."""
    out = io.BytesIO()
    stores.engine.export(out)
    export = out.getvalue()
    note = b'---\ntitle: "A"\ntags: [odd, "even"]\nid: 019a2d7a-41c4-78b1-b7cc-a45d62a89cd5\n---\n\nText of it.\n'
    settings = (
        b'[search]\nprofile = "default"\nlimit = 5\n[embedding]\nprovider = "none"\n'
        b"[profiles.mine.weights]\nvector = 0.5\n[llm]\nseconds = 1e9\n"
    )
    transcripts = [
        file.read_bytes() for file in sorted((FIXTURES.parent / "plugins" / "sessions" / "fixtures").glob("*.jsonl"))
    ]
    chats = json.dumps(
        [{"uuid": "a", "name": "x", "chat_messages": [{"sender": "human", "text": "hi", "created_at": "2024-01-01"}]}]
    )
    graph = (
        b'{"type":"entity","name":"a","entityType":"b","observations":["c"]}\n{"type":"relation","from":"a","to":"b"}'
    )

    def imported(data: bytes) -> None:
        store = place / "import.db"
        try:
            with Ricordo.open(store, config=ConfigProvider(SETTINGS)) as engine:
                engine.import_(io.BytesIO(data), wait=False)
        finally:
            for end in ("", "-wal", "-shm"):
                Path(f"{store}{end}").unlink(missing_ok=True)

    def configured(data: bytes) -> None:
        (place / "config.toml").write_bytes(data)
        load_config(env={"RICORDO_CONFIG_HOME": str(place)}, start=place)

    def transcribed(data: bytes) -> None:
        file = place / "a.jsonl"
        file.write_bytes(data)
        for _ in open_transcript(file).events():
            pass

    def edited(data: bytes) -> None:
        text = data.decode("utf-8", "replace")
        try:
            whole = json_text.loads(text)
        except (ValueError, RecursionError):  # ``install`` refuses such a file before it edits anything
            return
        if not isinstance(whole, dict) or not isinstance(whole.get("mcpServers", {}), dict):
            return
        json_text.drop(json_text.put(text, ("mcpServers", "ricordo"), {"command": "x"}), ("mcpServers", "ricordo"))

    return {
        "export lines": Target([export], lambda data: list(export_file.read(io.BytesIO(data), "x"))),
        "import": Target([export], imported),
        "knowledge file": Target([note], lambda data: file_format.read(data, "notes/a.md")),
        "settings": Target([settings], configured),
        "transcript": Target(transcripts, transcribed),
        "settings of other programs": Target(
            [b'{"mcpServers": {"other": {"command": "y"}}, // c\n "a": [1,]}'], edited
        ),
        "mem0": Target(
            [(FIXTURES / "foreign" / "mem0.json").read_bytes()],
            lambda data: programs.read_memories(io.BytesIO(data), None),
        ),
        "conversations": Target(
            [chats.encode()],
            lambda data: [read(io.BytesIO(data), None) for read in (programs.read_claude, programs.read_chatgpt)],
        ),
        "memory graph": Target([graph], lambda data: programs.read_memory_server(io.BytesIO(data), None)),
        "basic-memory note": Target(
            [(FIXTURES / "formats" / "markdown" / "bees.md").read_bytes()],
            lambda data: list(programs._RELATION.finditer(data.decode("utf-8", "replace"))),
        ),
        "robots.txt": Target(
            [b"User-agent: *\nDisallow: /a*$\nAllow: /b\nCrawl-delay: 5\n"],
            lambda data: read_robots(data.decode("utf-8", "replace")).allows("https://example.org/" + "a" * 200),
        ),
    }


def agent_targets(place: Path, stores: Stores) -> dict[str, Target]:
    """What agents send: lines of the protocol, calls of tools, payloads of hooks."""
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "search", "arguments": {"query": "a"}},
    }

    def line(data: bytes) -> None:
        with suppress(NotAMessage):
            read_message(data)

    def make_call(chance: random.Random) -> bytes:
        tools = list(stores.service.tools.values())
        tool = chance.choice(tools)
        given = {
            name: argument_of(name, schema, chance, place)
            for name, schema in tool.arguments.items()
            if name in tool.required or chance.random() < 0.4
        }
        if chance.random() < 0.05:
            given[text_of(chance, 3)] = value_of(chance)
        return json.dumps([tool.name, given]).encode("utf-8", "surrogatepass")

    def called(data: bytes) -> None:
        name, given = json.loads(data)
        outcome = stores.service.call(name, given)
        outcome.text()
        if outcome.plain.get("error_type") == "unexpected":
            raise MistakeError(str(outcome.plain["message"]))

    payload = {
        "hook_event_name": "UserPromptSubmit",
        "session_id": "s",
        "cwd": str(place),
        "prompt": "when are the signing keys rotated",
        "tool_input": {"prompt": "find the zebra", "subagent_type": "x"},
    }

    def make_payload(chance: random.Random) -> bytes:
        event = chance.choice([name for name in NAMES if name not in ("pre-compact", "session-end")])
        one = payload
        for _ in range(chance.randrange(4)):
            new = changed_json(one, chance)
            one = new if isinstance(new, dict) else one
        data = json.dumps(one).encode("utf-8", "surrogatepass")
        if chance.random() < 0.2:
            data = changed(data, [data], chance)
        return event.encode() + b"\n" + data

    def hooked(data: bytes) -> None:
        event, _, content = data.partition(b"\n")
        failed: list[Any] = []
        answers.report = lambda words, error: failed.append(error)  # type: ignore[assignment]
        answers.keep_log = lambda: None  # type: ignore[assignment]
        answers.log = lambda *_: None  # type: ignore[assignment]
        stores.service  # noqa: B018 - makes the store
        answers.run(
            event.decode(), content, Outlet(lambda part: None, time.monotonic()), store=str(stores.file), here=place
        )
        if failed:
            raise failed[0]

    return {
        "MCP line": Target([json.dumps(call).encode()], line),
        "MCP call": Target([], called, make=make_call),
        "hook payload": Target([], hooked, make=make_payload),
    }


def argument_of(name: str, schema: dict[str, Any], chance: random.Random, place: Path) -> Any:
    """A value for an argument: mostly of its type, now and then of any; never a file outside of ``place``."""
    if name == "sources":  # what is added is read from the disk or the network
        return [str(place / chance.choice(("config.toml", "nothing.md", "a.jsonl", "no/such/*.md")))]
    if chance.random() < 0.1:
        return value_of(chance)
    if schema.get("enum") and chance.random() < 0.9:
        return chance.choice(schema["enum"])
    kind = schema["type"]
    if kind == "string":
        known = ("note:/a", "memory:/keys", "note:/new", "disk:/x/../y", "note", "7d", "2024-01-01", "(a|b)*c", "")
        return chance.choice(known) if chance.random() < 0.5 else text_of(chance, 12)
    if kind in ("integer", "number"):
        return chance.choice((1, 2, 3, 10, 50, -1, 0, 10**9, 2**70))
    if kind == "boolean":
        return chance.random() < 0.5
    if kind == "array":
        return [text_of(chance, 4) for _ in range(chance.randrange(4))]
    return {text_of(chance, 2): value_of(chance, 3) for _ in range(chance.randrange(4))}
