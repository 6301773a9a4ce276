"""Items as resources: ``ricordo://DRIVE/PATH``. The list has pages, newest items first; the template reaches all.

A ref's own form (``ricordo://note:/plan``) is read, too, but not given out: URL parsers take ``note:`` for a host
with an empty port and drop the colon.
"""

from __future__ import annotations

import base64
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from ricordo.errors import UsageError
from ricordo.trust.fence import LONGEST_DESCRIPTION, LONGEST_REF, LONGEST_TITLE, one_line, told_text
from ricordo.trust.level import is_outside

if TYPE_CHECKING:
    from ricordo.engine import Ricordo

SCHEME = "ricordo://"
PAGE = 50
_CURSOR = re.compile(r"after-([0-9]{1,9})")
_DRIVE_AND_PATH = re.compile(r"([a-z][a-z0-9_-]+):?(/.*)", re.DOTALL)

TEMPLATE: dict[str, Any] = {
    "name": "item",
    "title": "A stored item",
    "uriTemplate": f"{SCHEME}{{drive}}/{{+path}}",
    "description": "Any item by its ref, as search and recent show it: note:/plan is ricordo://note/plan",
}


def uri_of(ref: str) -> str:
    """The address of an item."""
    drive, _, path = ref.partition(":")
    return SCHEME + drive + quote(path, safe="/:@!$&'()*+,;=~", errors="replace")


def ref_of(uri: str) -> str:
    """The ref, or the id, that an address names."""
    if not uri.startswith(SCHEME):
        raise UsageError(f"'{uri[:80]}' is not an address of this server", hint=f"Addresses start with {SCHEME}")
    name = unquote(uri.removeprefix(SCHEME))
    found = _DRIVE_AND_PATH.fullmatch(name)
    return f"{found[1]}:{found[2]}" if found else name


def offset_of(cursor: str | None) -> int | None:
    """Where the page of a cursor starts; None when the cursor is not one of ours."""
    if cursor is None:
        return 0
    found = _CURSOR.fullmatch(cursor)
    return int(found[1]) if found else None


def page(engine: Ricordo, start: int) -> dict[str, Any]:
    """One page of the list, and the cursor of the next if there is one."""
    items = engine.list(limit=PAGE + 1, offset=start)
    listed = [
        {
            "uri": uri_of(str(item.ref)),
            "name": one_line(str(item.ref), LONGEST_REF),
            "title": one_line(item.title, LONGEST_TITLE),
            **({"description": one_line(said, LONGEST_DESCRIPTION)} if (said := item.fields.description) else {}),
            "mimeType": item.fields.mime_type or "text/plain",
            "size": item.size,
        }
        for item in items[:PAGE]
    ]
    return {"resources": listed} | ({"nextCursor": f"after-{start + PAGE}"} if len(items) > PAGE else {})


def read(engine: Ricordo, uri: str) -> dict[str, Any]:
    """The text of an item, in a fence unless the user wrote it; or its bytes if it has no text."""
    item = engine.get(ref_of(uri))
    about = {"uri": uri, "mimeType": item.fields.mime_type or "text/plain"}
    if not item.fields.is_textual:
        return about | {"blob": base64.b64encode(engine.original(item.ref)).decode()}
    text = item.content.encode("utf-8", "replace").decode()
    return about | {"text": told_text(text, outside=is_outside(item))}
