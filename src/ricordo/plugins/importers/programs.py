"""Reads the exports of other programs as texts to save: mem0, the memory server, basic-memory, Claude and ChatGPT.

- A memory of mem0 becomes ``memory:/mem0/ID``; its graph connects words, not memories, so it is left out.
- An entity of the memory server becomes ``entity:/memory-server/NAME``, its relations become links.
- A conversation becomes one text, ``agent:/claude/ID`` or ``agent:/chatgpt/ID``, with a heading for each turn. Of a
  ChatGPT conversation the branch that was open last is taken; attachments and pictures are not.
- A note of basic-memory becomes ``note:/<permalink>`` with its whole body. ``- depends_on [[Target]]`` becomes a link
  of that type, and the tags of observations become tags; both stay in the text, too.

Files are JSON, JSON lines, or a zip that holds one of them; the notes of basic-memory are a folder.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ricordo.errors import Error, NotFound, Unreadable, UsageError
from ricordo.ingest.formats.archive import Archive
from ricordo.ingest.formats.markdown import tags_in
from ricordo.plugins.transfer.imports import folder_of
from ricordo.text.links import plain_name, without_code
from ricordo.values.field_checks import checked_tags
from ricordo.values.items import Entry, Foreign, Parsed, Ref, Relation, Saved, checked_fields
from ricordo.values.times import parse_time

if TYPE_CHECKING:
    from ricordo.ingest.files import FileReader
    from ricordo.plugins.transfer.imports import Source

_UNNAMED = "relates_to"
_SERVER_HINT = "Name the server's memory.jsonl (MEMORY_FILE_PATH says where it is)."
_MEM0_HINT = "Save what get_all() returns as JSON."
_LISTS = ("results", "memories", "data", "items")
_TEXTS = ("memory", "text", "content", "data")
_OWNERS = ("user_id", "agent_id", "app_id", "run_id", "session_id", "actor_id", "role")
_KNOWN = frozenset({*_TEXTS, *_OWNERS, "id", "hash", "metadata", "categories", "created_at", "updated_at", "score"})
_CHAT_FILE = "conversations.json"
_CHAT_HINT = f"Name the zip of your export, or the {_CHAT_FILE} in it."
Turn = tuple[str, str]
MOST_VALUES = 10_000_000
"""Values in the JSON of a zip. Few bytes unpack to far more of them, and each takes about 100 bytes of memory."""


def read_memories(source: Source, files: FileReader) -> Foreign:
    """The memories of a file as texts; one that has no text is reported as failed."""
    data, name = _contents(source)
    memories = _read_json(data, name, "memories.json", _MEM0_HINT)
    if isinstance(memories, dict):
        memories = next((memories[key] for key in _LISTS if isinstance(memories.get(key), list)), memories)
    if not isinstance(memories, list) or not all(isinstance(plain, dict) for plain in memories):
        raise Unreadable(f"{name} holds no list of memories", hint="Expected [{'id': …, 'memory': …}, …].")
    entries = []
    failed = []
    for place, plain in enumerate(memories, start=1):
        try:
            entries.append(_memory(plain))
        except UsageError as problem:
            failed.append(Saved(f"{name}, memory {place}", "failed", error=problem.to_dict()))
    return Foreign(tuple(entries), failed=tuple(failed))


def _memory(plain: Mapping[str, Any]) -> Entry:
    text = _text_in(plain, *_TEXTS)
    identity = plain.get("id")
    if not text or identity in (None, "", ".", ".."):
        raise UsageError("a memory without id or text", hint="Each needs 'id' and 'memory'.")
    metadata = dict(plain["metadata"]) if isinstance(plain.get("metadata"), dict) else {}
    metadata |= {key: value for key, value in plain.items() if key not in _KNOWN and value is not None}
    metadata |= {key: plain[key] for key in _OWNERS if plain.get(key) is not None}
    metadata["mem0_id"] = str(identity)
    fields: dict[str, Any] = {"metadata": metadata, "source": "agent", "source_adapter": "mem0"}
    categories = plain.get("categories") or metadata.pop("categories", None)
    if categories:
        fields["tags"] = checked_tags(categories)
    if metadata.get("immutable") is True:
        fields["immutable"] = True
    if isinstance(metadata.get("expiration_date"), str):
        with suppress(UsageError):
            fields |= checked_fields({"valid_until": metadata["expiration_date"]})
    times = _times_of(_time_in(plain, "created_at"), _time_in(plain, "updated_at"))
    return Entry(str(Ref("memory", f"/mem0/{quote(str(identity), safe='')}")), text, "memory", fields, "text", times)


def read_memory_server(source: Source, files: FileReader) -> Foreign:
    """Entities with their observations, and relations as links."""
    rows, name = _rows(source, "memory.jsonl", _SERVER_HINT, "entities")
    entities = [row for row in rows if row.get("type") == "entity" and _text_in(row, "name")]
    if rows and not entities:
        raise Unreadable(f"{name} holds no entities", hint=_SERVER_HINT)
    refs = {
        _text_in(row, "name"): str(Ref("entity", f"/memory-server/{_path_part(_text_in(row, 'name'))}"))
        for row in entities
    }
    entries: dict[str, Entry] = {}
    for row in entities:
        title = _text_in(row, "name")
        observations = [f"- {text}" for text in map(str, _values_in(row, "observations")) if text.strip()]
        earlier = entries.get(refs[title])
        text = "\n".join(([earlier.content] if earlier else []) + observations) or title
        fields = {"title": title, "category": _text_in(row, "entityType") or None, "source": "agent"}
        entries[refs[title]] = Entry(
            refs[title], text, "entity", fields | {"source_adapter": "memory-server"}, "markdown"
        )
    relations = [
        Relation(refs[_text_in(row, "from")], _link_type(_text_in(row, "relationType")), refs[_text_in(row, "to")])
        for row in rows
        if row.get("type") == "relation" and _text_in(row, "from") in refs and _text_in(row, "to") in refs
    ]
    lost = sum(1 for row in rows if row.get("type") == "relation") - len(relations)
    notes = (f"{lost} relations lead to entities that are not there",) if lost else ()
    return Foreign(tuple(entries.values()), tuple(relations), notes=notes)


def read_claude(source: Source, files: FileReader) -> Foreign:
    """Claude's export: a list of conversations with ``chat_messages``."""
    return _conversations(source, "claude", "chat_messages", _claude_turns)


def read_chatgpt(source: Source, files: FileReader) -> Foreign:
    """ChatGPT's export: a list of conversations with a ``mapping`` of messages."""
    return _conversations(source, "chatgpt", "mapping", _chatgpt_turns)


def _conversations(source: Source, program: str, key: str, turns: Any) -> Foreign:
    conversations, name = _rows(source, _CHAT_FILE, _CHAT_HINT, "conversations")
    if conversations and not any(key in conversation for conversation in conversations):
        raise Unreadable(f"{name} holds no conversations of {program}", hint=_CHAT_HINT)
    entries: list[Entry] = []
    failed: list[Saved] = []
    empty = 0
    for place, conversation in enumerate(conversations, start=1):
        identity = _text_in(conversation, "uuid", "conversation_id", "id")
        if not identity or key not in conversation:
            error = Unreadable("a conversation without id or messages", hint=_CHAT_HINT)
            failed.append(Saved(f"{name}, conversation {place}", "failed", error=error.to_dict()))
            continue
        text = "\n\n".join(f"## {who}\n\n{words}" for who, words in turns(conversation))
        if not text:
            empty += 1
            continue
        title = _text_in(conversation, "name", "title") or "Conversation"
        fields = {"title": title, "source": "agent", "source_adapter": program, "tags": ("conversation",)}
        created = _time_in(conversation, "created_at", "create_time")
        changed = _time_in(conversation, "updated_at", "update_time")
        ref = str(Ref("agent", f"/{program}/{_path_part(identity)}"))
        entries.append(Entry(ref, text, "document", fields, "markdown", _times_of(created, changed)))
    notes = (f"{empty} conversations have no text",) if empty else ()
    return Foreign(tuple(entries), failed=tuple(failed), notes=notes)


def _claude_turns(conversation: dict[str, Any]) -> Iterator[Turn]:
    for message in _values_in(conversation, "chat_messages"):
        if not isinstance(message, dict):
            continue
        blocks = [block for block in _values_in(message, "content") if isinstance(block, dict)]
        texts = [_text_in(block, "text") for block in blocks if block.get("type") == "text"]
        if text := "\n\n".join(texts).strip() or _text_in(message, "text"):
            yield ("Human" if message.get("sender") == "human" else "Claude"), text


def _chatgpt_turns(conversation: dict[str, Any]) -> Iterator[Turn]:
    """The messages of the branch that was open last, from the first to the last."""
    mapping = conversation.get("mapping")
    mapping = mapping if isinstance(mapping, dict) else {}
    here = conversation.get("current_node")
    if not isinstance(here, str) or here not in mapping:
        here = next(reversed(mapping), None)
    turns: list[Turn] = []
    seen: set[str] = set()
    while isinstance(here, str) and here in mapping and here not in seen:
        seen.add(here)
        node = mapping[here] if isinstance(mapping[here], dict) else {}
        if (turn := _chatgpt_turn(node.get("message"))) is not None:
            turns.append(turn)
        here = node.get("parent")
    yield from reversed(turns)


def _chatgpt_turn(message: Any) -> Turn | None:
    if not isinstance(message, dict):
        return None
    author, content = message.get("author"), message.get("content")
    role = author.get("role") if isinstance(author, dict) else None
    if role not in ("user", "assistant") or not isinstance(content, dict):
        return None
    parts = content.get("parts") if isinstance(content.get("parts"), list) else [content.get("text")]
    text = "\n\n".join(part for part in parts or () if isinstance(part, str) and part.strip())
    text = text.encode("utf-8", "replace").decode()
    return (("Human" if role == "user" else "ChatGPT"), text) if text else None


def _contents(source: Source) -> tuple[bytes, str]:
    """The bytes of a program's file, and its name."""
    if not isinstance(source, (str, Path)):
        return source.read(), "standard input"
    path = Path(source).expanduser()
    if not path.is_file():
        raise NotFound(f"there is no file {path}", hint="Name the file that the other program's export wrote.")
    return path.read_bytes(), str(path)


def _read_json(data: bytes, name: str, inside: str, hint: str) -> Any:
    """The content of a JSON file; in a zip, of the file named ``inside``. JSON lines become a list."""
    try:
        if data[:4] == b"PK\x03\x04":
            data = _unpacked(data, name, inside, hint)
        text = data.decode("utf-8-sig")
        try:
            return json.loads(text)
        except ValueError:
            return [json.loads(line) for line in text.split("\n") if line.strip()]
    except (ValueError, RecursionError) as problem:
        raise Unreadable(f"{name} is not JSON ({problem})", hint=hint) from None


def _unpacked(data: bytes, name: str, inside: str, hint: str) -> bytes:
    """The file ``inside`` a zip, within the bounds that hold for every archive."""
    with Archive(data, name) as archive:
        member = next((path for path in archive.names if path.rpartition("/")[2] == inside), None)
        if member is None:
            raise Unreadable(f"{name} holds no {inside} that can be read", hint=hint)
        unpacked = archive.read(member)
    if sum(unpacked.count(sign) for sign in (b",", b"{", b"[", b"\n")) > MOST_VALUES:
        raise Unreadable(f"{inside} in {name} holds more than {MOST_VALUES:,} values", hint=hint)
    return unpacked


def _rows(source: Source, inside: str, hint: str, key: str) -> tuple[list[dict[str, Any]], str]:
    """The list of objects that a file is, or that it holds under a key; and the file's name."""
    data, name = _contents(source)
    plain = _read_json(data, name, inside, hint)
    if isinstance(plain, dict):
        plain = plain[key] if isinstance(plain.get(key), list) else [plain]
    if not isinstance(plain, list) or not all(isinstance(row, dict) for row in plain):
        raise Unreadable(f"{name} is not of the expected form", hint=hint)
    return plain, name


def _values_in(plain: dict[str, Any], key: str) -> list[Any]:
    """The list under a key; nothing when something else stands there."""
    value = plain.get(key)
    return value if isinstance(value, list) else []


def _text_in(plain: Mapping[str, Any], *keys: str) -> str:
    """The text under the first of the keys that holds one, without characters that UTF-8 cannot encode."""
    text = next((plain[key] for key in keys if isinstance(plain.get(key), str) and plain[key].strip()), "")
    return text.encode("utf-8", "replace").decode()


def _time_in(plain: Mapping[str, Any], *keys: str) -> datetime | None:
    """The time under the first of the keys that holds one, as a text or as seconds since 1970."""
    for key in keys:
        value = plain.get(key)
        try:
            if isinstance(value, str) and value.strip():
                return parse_time(value)
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                return datetime.fromtimestamp(value, UTC)
        except (UsageError, ValueError, OverflowError, OSError):
            continue
    return None


def _times_of(created: datetime | None, changed: datetime | None) -> tuple[datetime, datetime] | None:
    first = created or changed
    last = changed or created
    return (first, max(first, last)) if first is not None and last is not None else None


def _path_part(text: str) -> str:
    """A name or id as one part of a ref's path."""
    return quote(text.strip(), safe=" '()!,") or "unnamed"


def _link_type(text: str) -> str:
    """A relation's name as a type of link: ``works at`` is ``works_at``."""
    word = re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")[:40]
    return word if len(word) > 1 and word[0].isalpha() else _UNNAMED


_RELATION = re.compile(
    r"^[ \t]*[-*+][ \t]+(?P<type>[^\[\]\n]*?)[ \t]*\[\[(?P<target>[^\[\]\n|]+)(?:\|[^\[\]\n]*)?\]\]", re.MULTILINE
)
_OBSERVATION = re.compile(r"^[ \t]*[-*+][ \t]+\[[^\[\]\n]{2,}\](?!\()[ \t]+(?P<text>.+)$", re.MULTILINE)


def read_basic_memory(source: Source, files: FileReader) -> Foreign:
    """All notes below a folder, with the relations between them; a file that cannot be read is reported as failed."""
    folder = folder_of(source, "basic-memory's home")
    notes: dict[str, Parsed] = {}
    named: dict[str, str] = {}
    entries: list[Entry] = []
    failed: list[Saved] = []
    for path, changed, parsed in files.parsed(folder, ["*.md"]):
        if isinstance(parsed, Error):
            failed.append(Saved(path, "failed", error=parsed.to_dict()))
            continue
        permalink = str(parsed.fields.get("metadata", {}).get("permalink") or "")
        name = posixpath.normpath(f"/{permalink.strip()}").strip("/")  # ".." cannot lead out of the folder
        if not name or str(Ref("note", f"/{name}")) in notes:
            name = str(PurePosixPath(path).with_suffix(""))
        ref = str(Ref("note", f"/{name}"))
        notes[ref] = parsed
        title = str(parsed.fields.get("title") or parsed.title or PurePosixPath(path).stem)
        for called in (permalink, title, path):
            named.setdefault(_key(called), ref)
        entries.append(_note(ref, title, parsed, changed))
    relations: dict[Relation, None] = {}
    lost = 0
    for ref, parsed in notes.items():
        for match in _RELATION.finditer(without_code(parsed.text)):
            type_ = re.sub(r"[^a-z0-9_-]+", "_", match["type"].strip().strip("\"'").casefold()).strip("_-")
            target = match["target"].partition("#")[0].strip()
            to = named.get(_key(target)) or named.get(plain_name(target))
            if to is None:
                lost += 1
            elif to != ref:
                is_type = re.fullmatch(r"[a-z][a-z0-9_-]{1,40}", type_)
                relations.setdefault(Relation(ref, type_ if is_type else _UNNAMED, to))
    what = "relation to a note that does not exist stays" if lost == 1 else "relations to notes that do not exist stay"
    missing = (f"{lost} {what} in the text only",) if lost else ()
    return Foreign(tuple(entries), tuple(relations), tuple(failed), missing)


def _note(ref: str, title: str, parsed: Parsed, changed: datetime) -> Entry:
    metadata = dict(parsed.fields.get("metadata", {}))
    observed = [tag for match in _OBSERVATION.finditer(parsed.text) for tag in tags_in(match["text"])]
    fields = dict(parsed.fields) | {
        "title": title,
        "tags": checked_tags([*(tag.removeprefix("#") for tag in parsed.fields.get("tags", ())), *observed]),
        "metadata": metadata,
        "mime_type": "text/markdown",
        "source_adapter": "basic-memory",
    }
    type_ = str(metadata.get("type") or "note")
    if type_ != "note":
        fields.setdefault("category", type_)
    texts = {name: value for name, value in metadata.items() if isinstance(value, str)}
    changed = _time_in(texts, "modified", "updated", "updated_at") or changed
    created = _time_in(texts, "created", "created_at", "date") or changed
    return Entry(ref, parsed.text, "note", fields, "markdown", (created, changed))


def _key(name: str) -> str:
    return re.sub(r"[\s_-]+", "-", name.removesuffix(".md").strip().strip("/").casefold())
