"""Items as resources: ``ricordo://`` and a ref. The list holds the newest; the template reaches all."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

import mcp_types as types

from ricordo.errors import UsageError

if TYPE_CHECKING:
    from ricordo.engine import Ricordo

SCHEME = "ricordo://"
LISTED = 50

TEMPLATE = types.ResourceTemplate(
    name="item",
    title="A stored item",
    uri_template=f"{SCHEME}{{+ref}}",
    description="Any item by its ref, as search and recent name it: ricordo://note:/plan",
)


def uri_of(ref: str) -> str:
    """The address of an item."""
    return SCHEME + quote(ref, safe="/:@!$&'()*+,;=~", errors="replace")


def listed(engine: Ricordo) -> list[types.Resource]:
    """The items that changed last."""
    return [
        types.Resource(
            uri=uri_of(str(item.ref)),
            name=str(item.ref),
            title=item.title,
            description=item.fields.description or None,
            mime_type=item.fields.mime_type or "text/plain",
            size=item.size,
        )
        for item in engine.list(limit=LISTED)
    ]


def read(engine: Ricordo, uri: str) -> types.TextResourceContents | types.BlobResourceContents:
    """The text of an item, or its bytes if it has no text."""
    if not uri.startswith(SCHEME):
        raise UsageError(f"'{uri[:80]}' is not an address of this server", hint=f"Addresses start with {SCHEME}")
    item = engine.get(unquote(uri.removeprefix(SCHEME)))
    mime_type = item.fields.mime_type or "text/plain"
    if not item.fields.is_textual:
        data = base64.b64encode(engine.original(item.ref)).decode()
        return types.BlobResourceContents(uri=uri, mime_type=mime_type, blob=data)
    text = item.content.encode("utf-8", "replace").decode()
    return types.TextResourceContents(uri=uri, mime_type=mime_type, text=text)
