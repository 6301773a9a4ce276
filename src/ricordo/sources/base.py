"""What passes between pages on the web and those who take them in: values, and what a drive and a loader can do.

Nothing here opens a connection. Fetching is done by ``web``; a language model that loads pages is a ``Loader``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Protocol
from urllib.parse import unquote, urlsplit

from ricordo.errors import Error
from ricordo.frozen import frozen
from ricordo.values.items import Ref

ETAG, LAST_MODIFIED = "etag", "last-modified"
VALIDATORS = "validators"
"""Under this name, among what a page says of itself, is kept what to ask for it with; only pages have it."""
_SCHEME = re.compile(r"(?:url:/)?[a-z][a-z0-9+.-]*://", re.IGNORECASE)


def looks_like_url(text: str) -> bool:
    """Whether a name is meant as a URL, of whatever scheme; ``url:/https://…`` is one too."""
    return _SCHEME.match(text) is not None


@frozen
class PageRequest:
    """How a page is asked for. ``secrets`` are headers that go to these origins and no others, whatever redirects."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    otherwise: str = ""
    """A second URL, for a server that does not know the first (400 or 404)."""
    mime: str = ""
    """What the page is, whatever the server calls it."""
    named: bool = False
    """Whether the name that the server gives the file is its title."""


@frozen
class FetchedPage:
    """What a server answered: the bytes as they are, unpacked and whole.

    ``mime`` is the type as it was told, with its charset; ``headers`` have names in lower case. Asked with the
    ``validators`` of an earlier answer, an ``unchanged`` page has no bytes, nor has one ``declined`` for its type.
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
        """What it would be called as a file: the last part of its path, else its host."""
        parts = urlsplit(self.final_url)
        return unquote(parts.path.rstrip("/").rpartition("/")[2], errors="replace") or parts.netloc

    @property
    def charset(self) -> str:
        """The encoding that the server spoke of, if any."""
        for part in self.mime.split(";")[1:]:
            key, _, value = part.partition("=")
            if key.strip().lower() == "charset":
                return value.strip().strip("\"'")
        return ""

    @property
    def validators(self) -> dict[str, str]:
        """What to ask with next time, so that an unchanged page is not sent again."""
        return {name: self.headers[name] for name in (ETAG, LAST_MODIFIED) if self.headers.get(name)}


@frozen
class Place:
    """Where a page is kept, the URL it goes by, and the drive that knows how it is fetched."""

    ref: Ref
    url: str
    drive: Drive


class Drive(Protocol):
    """Pages with refs of their own. Plugins give one by an entry point of the group ``ricordo.sources``: a callable
    that takes the ``fetch`` settings and answers a drive.
    """

    name: str
    servers: Sequence[str]
    """Words that the names of MCP servers for it are made of."""

    def path_of(self, url: str, *, served: bool = False) -> str | None:
        """The path of a page on this drive; None for a URL elsewhere. ``served``: one of its servers knew it."""

    def request(self, url: str) -> PageRequest:
        """How the page at such a URL is asked for."""

    def problem(self, page: FetchedPage | Error) -> Error | None:
        """What is wrong with an answer in the drive's own terms: a private page, a missing token."""


@frozen
class LoadedPage:
    """What a loader brought: the content as it is kept, and the MCP server it came from.

    A text is kept as it stands; bytes are read like a file of that type.
    """

    content: str | bytes
    title: str = ""
    mime_type: str = "text/plain"
    server: str = ""
    notes: tuple[str, ...] = ()


class Loader(Protocol):
    """Something that brings pages by other ways than plain HTTP, such as a model with the tools of MCP servers."""

    notes: list[str]
    """What the user should know, also of pages that are then fetched plainly."""

    def load(self, url: str, prompt_addition: str = "") -> LoadedPage | None:
        """The page; None to have it fetched plainly. An ``Error`` is told to the user as it is."""

    def close(self) -> None:
        """End what was started for it."""


class Follow(Protocol):
    """The pages of a site that are still to come, in order: those of a sitemap, or those that links lead to."""

    notes: list[str]
    """What was left out, and why."""

    @property
    def left(self) -> int:
        """How many are known to come."""

    def next(self) -> str | None:
        """The next URL that may be fetched; None at the end."""

    def leads_on(self, url: str) -> bool:
        """Whether the links of this page are followed."""

    def wait(self, url: str) -> None:
        """Until the site may be asked for this page, which counts from now on."""

    def own_address(self, final_url: str, canonical: str) -> str | None:
        """The address that a fetched page goes by; None when that is elsewhere, or came before."""

    def found(self, url: str, links: Sequence[str], base: str) -> None:
        """Tell where a page leads; its links go from ``base``, where it was found in the end."""


class Web(Protocol):
    """The web as the settings allow it to be reached. One thread uses it at a time."""

    @property
    def warnings(self) -> Sequence[str]:
        """What is wrong with plugins, for the user to know."""

    def place(self, url: str, server: str = "") -> Place:
        """Where a page goes: by its URL, and by the MCP server that served it."""

    def fetch(
        self,
        place: Place,
        *,
        validators: Mapping[str, str] | None = None,
        wanted: Callable[[str], bool] | None = None,
    ) -> FetchedPage:
        """The page, or an ``Error`` that says what to do. ``wanted`` judges its type before it is downloaded."""

    def sitemap(self, page: FetchedPage, *, most: int) -> Follow | None:
        """The pages that a sitemap names; None when the page is no sitemap."""

    def sitemap_of(self, url: str, *, most: int) -> Follow:
        """The pages that the sitemap of a URL's site names."""

    def following(self, page: FetchedPage, *, depth: int, most: int) -> Follow:
        """The pages of the same site that links from a page lead to, up to so many steps away."""

    def canonical(self, page: FetchedPage, target: str) -> str:
        """The address that a page gives as its own; empty when that is on another site, or none."""

    def close(self) -> None: ...
