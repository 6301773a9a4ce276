"""The drive ``google-docs``: Docs, Sheets and Slides by their ids, read through Google's export address.

Only documents that everyone with the link may read can be reached this way. Others need an MCP server with a login.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import parse_qs, urlsplit

from ricordo.config.settings import FetchSettings
from ricordo.errors import Error, Forbidden, NotFound, Unreadable
from ricordo.sources.base import FetchedPage, PageRequest

SITE = "https://docs.google.com"
_ID = r"(?!e/)([A-Za-z0-9_-]+)"  # /d/e/ is the address of a published copy, which has another id
_DOCUMENT = re.compile(rf"/(document|spreadsheets|presentation)/(?:u/\d+/)?d/{_ID}(?:/|\Z)")
_ANY_ID = re.compile(rf"/d/{_ID}(?:/|\Z)")
_EXPORTS = {
    "document": ("export?format=md", "export?format=txt"),
    "spreadsheets": ("export?format=xlsx", "export?format=csv"),
    "presentation": ("export/pptx", "export/txt"),
}
_LOGIN = "accounts.google.com"


class GoogleDocs:
    """The drive ``google-docs``."""

    name = "google-docs"
    servers: Sequence[str] = ("google-docs", "gdocs", "google-drive", "gdrive", "google-workspace")

    def __init__(self, settings: FetchSettings) -> None:
        self._site = SITE

    def path_of(self, url: str, *, served: bool = False) -> str | None:
        found = self._document(url)
        if found is not None:
            return f"/{found[1]}"
        return f"/{identity}" if served and (identity := _served_id(url)) else None

    def request(self, url: str) -> PageRequest:
        found = self._document(url)
        if found is None:
            raise Unreadable(f"{url} is not a document that can be exported", hint="Give the URL of the document.")
        kind, identity = found
        first, second = (f"{self._site}/{kind}/d/{identity}/{export}" for export in _EXPORTS[kind])
        return PageRequest(first, otherwise=second, named=True)

    def problem(self, page: FetchedPage | Error) -> Error | None:
        if isinstance(page, FetchedPage):
            is_login = urlsplit(page.final_url).hostname == _LOGIN
            if not is_login and not ("text/html" in page.mime and b"ServiceLogin" in page.data[:200_000]):
                return None
        elif not isinstance(page, Forbidden | NotFound):
            return None
        return Forbidden(
            "this Google document is private, or does not exist",
            hint="Share it as 'Anyone with the link', download it and add the file, or load it with an MCP server for"
            " Google Docs.",
        )

    def _document(self, url: str) -> tuple[str, str] | None:
        if not url.startswith(f"{self._site}/"):
            return None
        found = _DOCUMENT.match(urlsplit(url).path)
        return (found[1], found[2]) if found else None


def _served_id(url: str) -> str | None:
    """The id in any of Google's addresses, for a document that an MCP server has read."""
    parts = urlsplit(url)
    if not (parts.hostname or "").endswith((".google.com", ".googleapis.com")):
        return None
    found = _ANY_ID.search(parts.path)
    given = parse_qs(parts.query).get("id", [""])[0]
    return found[1] if found else given if re.fullmatch(_ID, given) else None
