"""The values and protocols of pages: what a request and a fetched page are, and what drives and loaders must do.

Nothing here opens a connection. ``drives`` fetches pages; a language model that loads pages is a ``Loader``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit

from ricordo.errors import Error
from ricordo.frozen import frozen
from ricordo.values.items import Ref

ETAG, LAST_MODIFIED = "etag", "last-modified"


@frozen
class PageRequest:
    """How a page is requested. ``secrets`` are headers by origin; each goes to its origin only, redirects or not."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    otherwise: str = ""
    """A second URL to try if the server answers 400 or 404 to the first."""
    mime: str = ""
    """The type of the page, if it is known better than by the server."""
    named: bool = False
    """Whether the file name that the server sends is the title."""


@frozen
class FetchedPage:
    """What a server answered: all bytes of the page, without compression.

    ``mime`` is the type that the server named, with its charset; the names in ``headers`` are in lower case. A page has
    no bytes if it is ``unchanged`` since an earlier answer, or if it was ``declined`` because of its type.
    """

    url: str
    final_url: str
    data: bytes
    mime: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    unchanged: bool = False
    declined: bool = False
    named: bool = False

    @property
    def name(self) -> str:
        """Its name as a file: the last part of its path, else its host."""
        parts = urlsplit(self.final_url)
        return unquote(parts.path.rstrip("/").rpartition("/")[2], errors="replace") or parts.netloc

    @property
    def validators(self) -> dict[str, str]:
        """What to send with the next request, so that the server need not send an unchanged page again."""
        return {name: self.headers[name] for name in (ETAG, LAST_MODIFIED) if self.headers.get(name)}


@frozen
class Place:
    """Where a page is kept (its ref), its URL, and the drive that knows how to fetch it."""

    ref: Ref
    url: str
    drive: Drive


class Drive(Protocol):
    """Pages with refs of their own. Plugins give one by an entry point of the group ``ricordo.sources``: a callable
    that takes the ``fetch`` settings and returns a drive.
    """

    @property
    def name(self) -> str: ...

    @property
    def servers(self) -> Sequence[str]:
        """Words in the names of MCP servers that can read this drive."""

    def path_of(self, url: str, *, served: bool = False) -> str | None:
        """The path of a page on this drive; None for other URLs. ``served``: one of its MCP servers read the page."""

    def request(self, url: str) -> PageRequest:
        """The request for the page at such a URL."""

    def problem(self, page: FetchedPage | Error) -> Error | None:
        """A better error for an answer, if the drive knows one: a private page, a missing token."""


@frozen
class LoadedPage:
    """A page that a loader loaded: its content, and the MCP server it came from.

    Text is kept as it is; bytes are parsed like a file of that type.
    """

    content: str | bytes
    title: str = ""
    mime_type: str = "text/plain"
    server: str = ""
    notes: tuple[str, ...] = ()
    call: Mapping[str, Any] = field(default_factory=dict)
    """The tool call that loaded it, so that it can be made again: ``server``, ``tool``, ``arguments``."""


class Loader(Protocol):
    """Loads pages by other means than plain HTTP, such as a language model with the tools of MCP servers."""

    notes: list[str]
    """What the user should know, also about pages that are then fetched by plain HTTP."""

    def load(
        self, url: str, prompt_addition: str = "", *, before: Mapping[str, Any] | None = None
    ) -> LoadedPage | None:
        """The page; None if it should be fetched by plain HTTP. The user sees an ``Error`` as it is.

        ``before`` is the call that loaded the page the last time; it is tried first.
        """

    def close(self) -> None:
        """End everything that was started."""
