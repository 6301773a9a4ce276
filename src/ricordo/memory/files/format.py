"""A memory, note or article as a Markdown file: the content of its front matter, and the name of the file.

``read`` gives back all that ``render`` was given, as far as a person can set it. A file that somebody wrote by hand
needs no front matter at all: its ref, and an id that stays the same, follow from its name. No file is opened here.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import time
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from ricordo.config.files import random_key
from ricordo.digests import hash_of
from ricordo.errors import Unreadable, UsageError
from ricordo.frozen import frozen
from ricordo.nofollow import real_path
from ricordo.patterns import late
from ricordo.trust.level import is_vouched
from ricordo.values.items import FIELD_NAMES, Draft, Fields, Item, Ref
from ricordo.values.kinds import DRIVES_WITH_FILES, KNOWLEDGE_FOLDERS
from ricordo.values.times import parse_time

SUFFIX = ".md"
MARKDOWN = "text/markdown"

_KINDS = {folder: kind for kind, folder in KNOWLEDGE_FOLDERS.items()}
_SHARED = ("id", "source")
"""Keys that other programs use, too, with another meaning; their value stays, and ours is written under another key."""
_OWN_KEYS = ("id", "ref", "created", "updated", "text_hash", "archived", "mime_type", "sealed")
_DEFAULTS = Fields(mime_type=MARKDOWN).to_dict()
_TEXT_FIELDS = ("title", "description", "category", "domain", "context", "source_adapter", "source_url", "thread")
_ID = late(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
_LONGEST_FRONT = 4 << 20
_MOST_VALUES = 200_000
_HASH_LENGTH = 12
_UNACCEPTED = ", not accepted"
"""Stands after the hash of a text that is not the user's, so that a store made again from its file does not take it
for theirs. Whoever changes the text by hand makes it their own.
"""

_UNSAFE = late(r'[<>:"\\|?*\x00-\x1f\x7f]')
_DEVICES = late(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
_LONGEST_NAME = 120

_PLAIN = late(r"[^\W\d][\w /.'()@+-]*")
_RESERVED = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf"})
_ESCAPED = late(r'["\\\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]')
_SHORT = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


@frozen
class KnowledgeFile:
    """The content of a file. ``updated`` is None if the text was changed by hand after the time was written, or if
    Ricordo did not write the file (``is_by_hand``).
    """

    ref: Ref
    kind: str
    text: str
    fields: Mapping[str, Any]
    id: str = ""
    created: datetime | None = None
    updated: datetime | None = None
    archived: bool = False
    first_line: int = 1
    warnings: tuple[str, ...] = ()
    is_by_hand: bool = False
    is_unaccepted: bool = False
    """Whether Ricordo wrote it of a version that somebody else made and the user did not accept."""


def belongs(item: Item | Draft) -> bool:
    """Whether an item lives in a knowledge file."""
    return item.kind in KNOWLEDGE_FOLDERS and item.ref.drive in DRIVES_WITH_FILES and item.fields.is_textual


def mark_of(item: Item) -> str:
    """A value that shows whether a file holds an item as it is now: the hash of its version, and its state."""
    return f"{item.content_hash} {item.state}"


def file_name(ref: Ref, kind: str) -> str:
    """The preferred name of an item's file: the path of its ref, in characters that every system allows.

    >>> file_name(Ref("note", "/plans/Größe: 5?"), "note")
    'notes/plans/Größe_ 5_.md'
    """
    path = ref.path.removesuffix(SUFFIX).strip("/")
    parts = [_safe(part) for part in path.split("/")]
    return f"{KNOWLEDGE_FOLDERS[kind]}/{'/'.join(parts)}{SUFFIX}"


def _safe(part: str) -> str:
    name = _UNSAFE.sub("_", unicodedata.normalize("NFC", part)).strip()
    if name.startswith((".", "~", "#")):
        name = f"_{name[1:]}"
    while len(name.encode()) > _LONGEST_NAME:
        name = name[:-1]
    name = name.rstrip(". ")
    return f"{name}_" if not name or _DEVICES.fullmatch(name) else name


def numbered(name: str, number: int) -> str:
    """The name with a number, such as ``notes/plan-2.md``."""
    return f"{name.removesuffix(SUFFIX)}-{number}{SUFFIX}"


def kind_of(name: str) -> str:
    """The kind of the item in a file, by the file's folder."""
    return _KINDS[name.partition("/")[0]]


def ref_of(name: str) -> Ref:
    """The ref of a file that does not name another.

    >>> str(ref_of("notes/plans/2026.md"))
    'note:/plans/2026'
    """
    path = name.partition("/")[2]
    return Ref(kind_of(name), f"/{unicodedata.normalize('NFC', path[: -len(SUFFIX)])}")


def id_of(name: str) -> str:
    """An id for a file that has none; the same name always gives the same id, and it sorts before all other ids."""
    digest = hashlib.sha256(f"knowledge {unicodedata.normalize('NFC', name)}".encode()).digest()
    bits = bytearray(6) + bytearray(digest[:10])
    bits[6] = 0x70 | bits[6] & 0x0F
    bits[8] = 0x80 | bits[8] & 0x3F
    text = bits.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def render(item: Item, name: str) -> bytes:
    """The content of an item's file: first the fields, then the values that only Ricordo needs, then the text."""
    lines = ["---", *_field_lines(item.fields)]
    own: dict[str, Any] = {_own_key("id", item.fields): item.id}
    if ref_of(name) != item.ref:
        own["ref"] = str(item.ref)
    lines += [f"{key}: {_yaml(value)}" for key, value in own.items()]
    lines += [f"created: {_time(item.created_at)}", f"updated: {_time(item.updated_at)}"]
    is_unaccepted = makes_claims(item) and not is_vouched(item)
    lines += [f"text_hash: {_yaml(_short_hash(item.content) + is_unaccepted * _UNACCEPTED)}"]
    if item.state == "archived":
        lines.append("archived: true")
    front = "\n".join([*lines, "---"])
    return f"{front}\n\n{item.content}\n".encode("utf-8", "surrogatepass")


def first_line(draft: Draft, *, is_sealed: bool = False) -> int:
    """The line of its file on which the text of an item starts."""
    names_ref = ref_of(file_name(draft.ref, draft.kind)) != draft.ref
    own = ("---", "id", "created", "updated", "text_hash", "---", "")
    return len(_field_lines(draft.fields)) + len(own) + names_ref + is_sealed + 1


def _field_lines(fields: Fields) -> list[str]:
    plain = fields.to_dict()
    metadata: dict[str, Any] = plain.pop("metadata")
    del plain["is_textual"]
    lines = [f"{_own_key(name, fields)}: {_yaml(value)}" for name, value in plain.items() if value != _DEFAULTS[name]]
    inside = {key: value for key, value in metadata.items() if _is_reserved(key) and key not in _SHARED}
    lines += [f"{_yaml(key)}: {_yaml(value)}" for key, value in metadata.items() if key not in inside]
    return [*lines, f"metadata: {_yaml(inside)}"] if inside else lines


def _own_key(name: str, fields: Fields) -> str:
    """The key under which our value is written; another key if somebody else's value has that key."""
    return f"ricordo_{name}" if name in _SHARED and name in fields.metadata else name


def _set_apart(values: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The values that are ours, and those that other programs wrote under keys that we use, too."""
    plain = dict(values)
    foreign: dict[str, Any] = {}
    for name in _SHARED:
        if f"ricordo_{name}" in plain:
            if name in plain:
                foreign[name] = plain.pop(name)
            plain[name] = plain.pop(f"ricordo_{name}")
    return plain, foreign


def _is_reserved(key: str) -> bool:
    name = key.strip().lower().replace("-", "_")
    return name in FIELD_NAMES or name in _OWN_KEYS


def read(data: bytes, name: str) -> KnowledgeFile:
    """The content of a file. A front matter that cannot be read is an error, because its fields would be lost."""
    from ricordo.ingest.formats.markdown import NotYamlError, first_heading, front_values, to_fields

    text = _decoded(data)
    try:
        values, end = front_values(text, longest=_LONGEST_FRONT, most=_MOST_VALUES)
    except NotYamlError as problem:
        raise Unreadable(
            f"the front matter is not valid YAML: {problem}",
            hint="Correct the text between the two --- lines; until then, the item stays as it was.",
        ) from None
    if not end and re.match(r"---\n\w[^\n]*:", text):
        raise Unreadable("the front matter has no end", hint="Close it with a line of three dashes: ---")
    body = text[end:].removeprefix("\n") if end else text
    skipped = len(text) - len(body)
    body = body.removesuffix("\n")
    values, foreign = _set_apart(values)
    own = _own(values)
    fields, warnings = to_fields({key: value for key, value in values.items() if key not in own})
    if foreign:
        fields["metadata"] = {**fields.get("metadata", {}), **foreign}
    if "id" in own:
        # Ricordo wrote this file, so its text fields are exact and taken as they are.
        fields |= {key: values[key] for key in _TEXT_FIELDS if key in fields and isinstance(values.get(key), str)}
    else:
        fields.setdefault("title", first_heading(body))
        fields.setdefault("source", "file")
    fields["mime_type"] = own.get("mime_type", MARKDOWN)
    text_digest, mark, _ = own.get("text_hash", "").partition(_UNACCEPTED)
    is_by_hand = text_digest != _short_hash(body)
    stale = "text_hash" in own and is_by_hand
    return KnowledgeFile(
        own.get("ref") or ref_of(name),
        kind_of(name),
        body,
        fields,
        id=own.get("id", ""),
        created=own.get("created"),
        updated=None if stale else own.get("updated"),
        archived=own.get("archived", False),
        first_line=text.count("\n", 0, skipped) + 1,
        warnings=tuple(warnings),
        is_by_hand=is_by_hand,
        is_unaccepted=bool(mark) and not is_by_hand,
    )


def _decoded(data: bytes) -> str:
    """The text of a file: exact if Ricordo wrote the file, else with normalised line ends."""
    from ricordo.ingest.formats.plain import decode, normalise

    try:
        text = data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return decode(data).text
    return text if text.startswith("---\n") else normalise(text)


def _own(values: Mapping[str, Any]) -> dict[str, Any]:
    """Ricordo's own keys, if their values are such as Ricordo writes; all other keys are metadata."""
    own: dict[str, Any] = {}
    if _ID.fullmatch(str(values.get("id", "")).lower()):
        own["id"] = str(values["id"]).lower()
    ref = values.get("ref")
    if isinstance(ref, str) and Ref.looks_like(ref) and Ref.parse(ref).drive in DRIVES_WITH_FILES:
        own["ref"] = Ref.parse(ref)
    for key in ("created", "updated"):
        if isinstance(values.get(key), str):
            try:
                own[key] = parse_time(values[key])
            except UsageError:
                continue
    if isinstance(values.get("archived"), bool):
        own["archived"] = values["archived"]
    if re.fullmatch(rf"[0-9a-f]{{{_HASH_LENGTH}}}({_UNACCEPTED})?", str(values.get("text_hash", ""))):
        own["text_hash"] = str(values["text_hash"])
    if re.fullmatch(r"(?:\d{16} )?[0-9a-f]{64}", str(values.get("sealed", ""))):
        own["sealed"] = str(values["sealed"])
    if "id" in own and isinstance(values.get("mime_type", 0), str | None):
        own["mime_type"] = values["mime_type"]
    return own


def _short_hash(text: str) -> str:
    return hash_of(text.encode("utf-8", "surrogatepass"))[:_HASH_LENGTH]


def _time(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _yaml(value: Any) -> str:
    """A value as one line of YAML, which gives the same value when it is read."""
    if isinstance(value, str):
        if _PLAIN.fullmatch(value) and value == value.strip() and value.lower() not in _RESERVED:
            return value
        return f'"{_ESCAPED.sub(_escape, value)}"'
    if isinstance(value, float) and value == value and abs(value) != float("inf"):
        number, e, power = repr(value).partition("e")
        mantissa = number if "." in number else f"{number}.0"
        return f"{mantissa}e{power if power[0] in '+-' else f'+{power}'}" if e else mantissa
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_yaml(str(key))}: {_yaml(part)}" for key, part in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_yaml, value))}]"
    if value is None or isinstance(value, (bool, int)):
        return json.dumps(value)
    return _yaml(str(value))


def _escape(match: re.Match[str]) -> str:
    char = match[0]
    if char in _SHORT:
        return _SHORT[char]
    code = ord(char)
    if 0xD800 <= code <= 0xDFFF:
        return "\ufffd"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


KEY_NAME = "seal.key"
_LINE = re.compile(rb'^sealed: "(\d{16}) ([0-9a-f]{64})"\n', re.MULTILINE)
_END = b"\n---\n"


def makes_claims(item: Item | Draft) -> bool:
    """Whether a file makes claims because of which it would be trusted more than others."""
    return item.fields.source == "user" or item.fields.loading == "always"


def without_claims(content: KnowledgeFile) -> tuple[KnowledgeFile, str]:
    """What a file says that the user did not write, without claims that anybody could make; and what is not believed,
    in words.
    """
    claims = {"source": ("user", "file", "you wrote it"), "loading": ("always", "contextual", "every agent gets it")}
    made = {name: claim for name, claim in claims.items() if content.fields.get(name) == claim[0]}
    if not made:
        return content, ""
    note = (
        f"it says that {' and that '.join(words for _, _, words in made.values())}, but Ricordo did not write this file"
        f" for you; to confirm it: ricordo edit {content.ref}"
    )
    return replace(content, fields={**content.fields, **{name: less for name, (_, less, _) in made.items()}}), note


def unsealed(data: bytes) -> bytes:
    """The file of an item whose current version is not the user's: in place of a seal it has one that holds nowhere,
    so that its lines stay where they are when the user agrees.
    """
    return _with_line(data, "0" * 64)


def _with_line(data: bytes, seal: str) -> bytes:
    end = data.index(_END, 3) + 1
    return data[:end] + b'sealed: "' + seal.encode() + b'"\n' + data[end:]


class Seals:
    """The seals of one user, whose key is in the folder ``home``, for the knowledge files of one store.

    ``trusts`` says whether the user trusts the project, so that its files need no seal.
    """

    def __init__(self, home: Path, store_id: str, folder: Path, trusts: Callable[[], bool]) -> None:
        self._file = home / KEY_NAME
        self._store_id = store_id
        self._folder = folder
        self.trusts = trusts
        self._key = cache(random_key)

    def sealed(self, data: bytes, ref: Ref, name: str) -> bytes:
        """The file of an item with its seal, as the last line of its front matter; ``name`` is below the folder. A seal
        has a time, so that an older file of an item is not taken for a newer one.
        """
        at = f"{time.time_ns() // 1000:016}"
        return _with_line(data, f"{at} {self._seal(data, ref, name, at)}")

    def sealed_at(self, content: KnowledgeFile, data: bytes, name: str) -> int | None:
        """When Ricordo wrote a file exactly so for the user, in microseconds since 1970; None if it did not."""
        head = data.find(_END, 3)
        match = _LINE.search(data, 0, head + 1) if data.startswith(b"---\n") and head > 0 else None
        if match is None:
            return None
        unsealed = data[: match.start()] + data[match.end() :]
        seal = self._seal(unsealed, content.ref, name, match[1].decode())
        return int(match[1]) if hmac.compare_digest(seal, match[2].decode()) else None

    def _seal(self, data: bytes, ref: Ref, name: str, at: str) -> str:
        place = real_path(self._folder / name)
        bound = "\0".join((self._store_id, str(ref), place, at, "")).encode("utf-8", "surrogateescape")
        return hmac.new(self._key(self._file), bound + data, hashlib.sha256).hexdigest()
