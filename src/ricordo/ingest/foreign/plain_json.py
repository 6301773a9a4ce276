"""Reads other programs' JSON: one file, JSON lines, or a zip that holds a file; and the times in it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from ricordo.errors import Unreadable, UsageError
from ricordo.values.days import parse_time

MOST_VALUES = 10_000_000
"""Values in the JSON of a zip. Few bytes unpack to far more of them, and each takes about 100 bytes of memory."""


def read_json(data: bytes, name: str, inside: str, hint: str) -> Any:
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
    from ricordo.ingest.parse.archive import Archive

    with Archive(data, name) as archive:
        member = next((one for one in archive.names if one.rpartition("/")[2] == inside), None)
        if member is None:
            raise Unreadable(f"{name} holds no {inside} that can be read", hint=hint)
        found = archive.read(member)
    if sum(found.count(sign) for sign in (b",", b"{", b"[", b"\n")) > MOST_VALUES:
        raise Unreadable(f"{inside} in {name} holds more than {MOST_VALUES:,} values", hint=hint)
    return found


def list_in(plain: Any, keys: tuple[str, ...], name: str, hint: str) -> list[dict[str, Any]]:
    """The list of objects that the file is, or that it holds under one of the keys."""
    if isinstance(plain, dict):
        plain = next((plain[key] for key in keys if isinstance(plain.get(key), list)), [plain])
    if not isinstance(plain, list) or not all(isinstance(one, dict) for one in plain):
        raise Unreadable(f"{name} is not of the expected form", hint=hint)
    return plain


def values_in(plain: dict[str, Any], key: str) -> list[Any]:
    """The list under a key; nothing when something else stands there."""
    found = plain.get(key)
    return found if isinstance(found, list) else []


def text_in(plain: dict[str, Any], *keys: str) -> str:
    """The text under the first of the keys that holds one, without characters that UTF-8 cannot encode."""
    found = next((plain[key] for key in keys if isinstance(plain.get(key), str) and plain[key].strip()), "")
    return found.encode("utf-8", "replace").decode()


def time_in(plain: Mapping[str, Any], *keys: str) -> datetime | None:
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


def times_of(created: datetime | None, changed: datetime | None) -> tuple[datetime, datetime] | None:
    """When a text was made and last changed, if anything is known."""
    first = created or changed
    last = changed or created
    return (first, max(first, last)) if first is not None and last is not None else None


def path_part(text: str) -> str:
    """A name or id as one part of a ref's path."""
    return quote(text.strip(), safe=" '()!,") or "unnamed"


def link_type(text: str) -> str:
    """A relation's name as a type of link: ``works at`` is ``works_at``."""
    word = re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")[:40]
    return word if len(word) > 1 and word[0].isalpha() else "relates_to"
