"""Reads e-mail files: headers, the subject as title, the body as text, and the names of attachments.

If a mail has its text in several forms, plain text is preferred to HTML. Attached messages are read, too; other
attachments are not.
"""

from __future__ import annotations

import email
import email.header
import email.message
import email.policy
import email.utils
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from ricordo.ingest.formats.html import declared_charset, to_markdown
from ricordo.ingest.formats.plain import decode
from ricordo.ingest.formats.source import Source
from ricordo.ingest.formats.trees import html_tree
from ricordo.values.items import Parsed

_DEEPEST = 10
_MOST_ADDRESSES = 20


@dataclass(slots=True)
class _Contents:
    """What a message holds, gathered while its parts are walked."""

    plain: list[str] = field(default_factory=list)
    html: list[str] = field(default_factory=list)
    attachments: list[str] = field(default_factory=list)
    messages: list[email.message.Message] = field(default_factory=list)


def parse(source: Source) -> Parsed:
    """The message with its headers on top, then its body, then what was attached."""
    message = email.message_from_bytes(source.data, policy=email.policy.compat32)
    return Parsed(_rendered(message, 0), _header(message, "Subject"), _fields(message))


def _fields(message: email.message.Message) -> dict[str, Any]:
    metadata = {name.lower(): value for name in ("From", "To", "Cc") if (value := _header(message, name))}
    with suppress(ValueError, TypeError, IndexError, OverflowError):
        metadata["date"] = email.utils.parsedate_to_datetime(_header(message, "Date")).isoformat()
    return {"metadata": metadata} if metadata else {}


def _header(message: email.message.Message, name: str) -> str:
    """A header as plain text: its encoded words are decoded, even if they are badly formed."""
    raw = message.get(name)
    if raw is None:
        return ""
    try:
        parts = email.header.decode_header(str(raw))
    except (ValueError, email.errors.HeaderParseError, AssertionError):
        return " ".join(str(raw).split())
    words = (part if isinstance(part, str) else decode(part, charset or "").text for part, charset in parts)
    return " ".join("".join(words).split())


def _people(message: email.message.Message, name: str) -> str:
    people = _header(message, name).split(",")
    more = f", and {len(people) - _MOST_ADDRESSES} more" if len(people) > _MOST_ADDRESSES else ""
    return ",".join(people[:_MOST_ADDRESSES]) + more


def _rendered(message: email.message.Message, depth: int) -> str:
    contents = _Contents()
    _gather(message, contents, depth)
    lines = [f"{name}: {value}" for name in ("From", "To", "Cc") if (value := _people(message, name))]
    lines += [f"{name}: {value}" for name in ("Date", "Subject") if (value := _header(message, name))]
    blocks = ["\n".join(lines)]
    body = "\n\n".join(part for part in contents.plain if part.strip())
    blocks.append(body or "\n\n".join(contents.html))
    if contents.attachments:
        blocks.append("Attachments: " + ", ".join(contents.attachments))
    blocks += ["---\n\nAttached message:\n\n" + _rendered(inner, depth + 1) for inner in contents.messages]
    return "\n\n".join(block.strip("\n") for block in blocks if block.strip())


def _gather(part: email.message.Message, contents: _Contents, depth: int) -> None:
    """Sort the parts of a message into texts, attachments and messages of their own."""
    if depth > _DEEPEST:
        contents.attachments.append("more, nested too deeply to read")
        return
    kind = part.get_content_type()
    payload = part.get_payload()
    if kind == "message/rfc822" and isinstance(payload, list):
        contents.messages.extend(inner for inner in payload if isinstance(inner, email.message.Message))
    elif isinstance(payload, list):
        _gather_multipart(kind, payload, contents, depth)
    elif part.get_content_disposition() == "attachment" or part.get_filename():
        contents.attachments.append(_attachment(part))
    elif kind == "text/html":
        contents.html.append(_html_body(part))
    elif kind.startswith("text/"):
        contents.plain.append(decode(_bytes_of(part), str(part.get_content_charset() or "")).text)
    else:
        contents.attachments.append(_attachment(part))


def _gather_multipart(kind: str, parts: list[Any], contents: _Contents, depth: int) -> None:
    inner = _Contents()
    for part in parts:
        if isinstance(part, email.message.Message):
            _gather(part, inner, depth + 1)
    has_plain = any(text.strip() for text in inner.plain)
    contents.plain += inner.plain
    if kind == "multipart/alternative":
        contents.html += [] if has_plain else inner.html
    elif has_plain or contents.plain:
        # In a mixed message, an HTML part beside a plain one is further text, not the same text again.
        contents.plain += inner.html
    else:
        contents.html += inner.html
    contents.attachments += inner.attachments
    contents.messages += inner.messages


def _bytes_of(part: email.message.Message) -> bytes:
    try:
        payload = part.get_payload(decode=True)
    except (ValueError, AssertionError):
        payload = None
    return payload if isinstance(payload, bytes) else str(part.get_payload() or "").encode("utf-8", "replace")


def _html_body(part: email.message.Message) -> str:
    data = _bytes_of(part)
    charset = str(part.get_content_charset() or "") or declared_charset(data)
    tree = html_tree(decode(data, charset).text)
    return to_markdown(tree) if tree is not None else ""


def _attachment(part: email.message.Message) -> str:
    name = part.get_filename()
    size = len(_bytes_of(part))
    described = f"{part.get_content_type()}, {size / 1024:.0f} KB" if size >= 1024 else part.get_content_type()
    return f"{' '.join(str(name).split())} ({described})" if name else described
