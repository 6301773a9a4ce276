"""The drives of pages: which one a URL belongs to (also by the MCP server that read it), and how it is fetched.

- ``github``: a repository's URL gives its README, a file's URL the file, all others the page itself. Paths are those of
  the web site. The token is sent to GitHub's own addresses only.
- ``google-docs``: Docs, Sheets and Slides by their ids, read through Google's export address. Only documents that
  everyone with the link may read can be reached this way; others need an MCP server with a login.
- drives of plugins (entry points of the group ``ricordo.sources``); one that cannot be used leads to a warning.
- ``url`` accepts every page.

Nothing is fetched here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from importlib.metadata import EntryPoint, entry_points
from typing import TypeVar
from urllib.parse import parse_qs, quote, urlsplit

from ricordo.bounded import call_plugin
from ricordo.config.settings import FetchSettings
from ricordo.errors import Error, Forbidden, NotFound, Unreadable
from ricordo.sources.addresses import normal_url, origin, page_ref
from ricordo.sources.base import Drive, FetchedPage, PageRequest, Place
from ricordo.values.items import Ref
from ricordo.values.kinds import KIND_DRIVES

SITE, RAW, API = "https://github.com", "https://raw.githubusercontent.com", "https://api.github.com"
"""Where GitHub is, where its files are read, and where READMEs are found."""
_RAW = {"accept": "application/vnd.github.raw+json", "x-github-api-version": "2022-11-28"}
_BRANCH = ("refs", "heads")
# First parts of paths that are not the names of owners.
_NOT_OWNERS = frozenset(
    (
        "about", "apps", "collections", "contact", "customer-stories", "enterprise", "explore", "features", "issues",
        "login", "logout", "marketplace", "new", "notifications", "orgs", "organizations", "pricing", "pulls", "readme",
        "search", "security", "settings", "site", "sponsors", "stars", "team", "topics", "trending", "users",
    )
)  # fmt: skip


class GitHub:
    """The drive ``github``."""

    name = "github"
    servers: Sequence[str] = ("github",)

    def __init__(self, settings: FetchSettings) -> None:
        self._site, self._raw, self._api = SITE, RAW, API
        self._token = os.environ.get("GITHUB_TOKEN", "").strip()

    def path_of(self, url: str, *, served: bool = False) -> str | None:
        plain = url.partition("?")[0]
        raw = _below(self._raw, plain)
        if raw is not None:
            return _path([*raw[:2], "blob", *_branch(raw[2:])]) if len(raw) > 3 else None
        parts = _below(self._site, plain)
        if parts is None or len(parts) < 2 or parts[0].lower() in _NOT_OWNERS:
            return None
        owner, repo, *rest = parts
        repo = repo.removesuffix(".git")
        if rest[:1] in (["blob"], ["raw"]) and len(rest) > 2:
            rest = ["blob", *_branch(rest[1:])]
        query = f"?{urlsplit(url).query}" if rest and rest[0] not in ("blob", "tree") and "?" in url else ""
        return _path([owner, repo, *rest]) + query

    def request(self, url: str) -> PageRequest:
        path = self.path_of(url) or ""
        owner, repo, *rest = path.partition("?")[0].strip("/").split("/")
        target, headers, mime = self._site + path, {}, ""
        if rest[:1] == ["blob"] and len(rest) > 2:
            target = f"{self._raw}/{owner}/{repo}/{'/'.join(rest[1:])}"
        elif not rest or (rest[0] == "tree" and len(rest) > 1):
            folder = "/".join(rest[2:])
            branch = f"?ref={quote(rest[1], safe='')}" if rest else ""
            target = f"{self._api}/repos/{owner}/{repo}/readme{'/' if folder else ''}{folder}{branch}"
            headers, mime = dict(_RAW), "text/markdown"
        return PageRequest(target, headers, self._secrets(), mime=mime)

    def _secrets(self) -> dict[str, dict[str, str]]:
        if not self._token:
            return {}
        return {origin(base): {"authorization": f"Bearer {self._token}"} for base in (self._raw, self._api)}

    def problem(self, page: FetchedPage | Error) -> Error | None:
        if isinstance(page, NotFound) and not self._token:
            return NotFound(
                f"{page.message.rstrip('.')}, or its repository is private",
                hint="Check the URL; for a private repository set GITHUB_TOKEN.",
            )
        if isinstance(page, Forbidden):
            hint = "Check that the token in GITHUB_TOKEN is valid and may read this repository."
            if not self._token:
                hint = "Set GITHUB_TOKEN: without it GitHub allows a few pages an hour, and no private ones."
            return Forbidden(page.message, hint=hint)
        return None


def _below(base: str, url: str) -> list[str] | None:
    """The parts of a URL's path below a base; None for a URL elsewhere."""
    plain = url.replace("http://", "https://", 1).replace("://www.", "://", 1)
    for start in (base, base.replace("http://", "https://", 1)):
        if plain == start or plain.startswith(f"{start}/"):
            return [part for part in plain[len(start) :].split("/") if part]
    return None


def _branch(parts: list[str]) -> list[str]:
    """Branch and path, without the long form of a branch's name."""
    return parts[2:] if tuple(parts[:2]) == _BRANCH and len(parts) > 3 else parts


def _path(parts: Sequence[str]) -> str:
    return "/" + "/".join(parts)


DOCS_SITE = "https://docs.google.com"
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
        self._site = DOCS_SITE

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


T = TypeVar("T")
GROUP = "ricordo.sources"
BUILT_IN: tuple[Callable[[FetchSettings], Drive], ...] = (GitHub, GoogleDocs)
_PLUGIN_HINT = "Update or remove the package that it belongs to."
_TAKEN = frozenset({"disk", "url", "agent", *KIND_DRIVES})


class PlainPages:
    """The drive ``url``: every page that no other drive claims, under its own address."""

    name = "url"
    servers: Sequence[str] = ()

    def path_of(self, url: str, *, served: bool = False) -> str | None:
        return page_ref(url).path

    def request(self, url: str) -> PageRequest:
        return PageRequest(url)

    def problem(self, page: FetchedPage | Error) -> Error | None:
        return None


class PluggedDrive:
    """A drive of a plugin; if it fails while a page is fetched, only that page fails."""

    def __init__(self, drive: Drive) -> None:
        self.name = drive.name
        self.servers: Sequence[str] = tuple(drive.servers)
        self._drive = drive

    def path_of(self, url: str, *, served: bool = False) -> str | None:
        return self._asked(lambda: self._drive.path_of(url, served=served))

    def request(self, url: str) -> PageRequest:
        return self._asked(lambda: self._drive.request(url))

    def problem(self, page: FetchedPage | Error) -> Error | None:
        return self._asked(lambda: self._drive.problem(page))

    def _asked(self, ask: Callable[[], T]) -> T:
        return call_plugin(ask, f"the source plugin of the drive '{self.name}' failed", hint=_PLUGIN_HINT)


class Drives:
    """All drives. Plugins are loaded only when a URL belongs to no built-in drive."""

    def __init__(self, settings: FetchSettings) -> None:
        self._settings = settings
        self._own = [make(settings) for make in BUILT_IN]
        self._others: list[Drive] | None = None
        self._plain = PlainPages()
        self.warnings: list[str] = []

    def place(self, url: str, server: str = "") -> Place:
        """The place of a page: on the first drive that claims its URL, else on that of its MCP server, else on ``url``.

        >>> str(Drives(FetchSettings()).place("https://docs.google.com/document/d/1aBcD_efgh/edit").ref)
        'google-docs:/1aBcD_efgh'
        """
        plain = normal_url(url)
        for served in (False, True) if server else (False,):
            for drive in self._known(plain):
                if served and not is_for(server, drive):
                    continue
                path = self._path(drive, plain, served=served)
                if path is not None:
                    return Place(Ref(drive.name, path), plain, drive)
        return Place(page_ref(plain), plain, self._plain)

    def _known(self, url: str) -> Sequence[Drive]:
        if any(drive.path_of(url) is not None for drive in self._own):
            return self._own
        return (*self._own, *self._plugins())

    def _path(self, drive: Drive, url: str, *, served: bool) -> str | None:
        try:
            path = drive.path_of(url, served=served)
            return None if path is None else Ref(drive.name, path).path
        except Error as problem:
            if drive in self._own:
                raise
            self._warn(drive.name, problem)
            return None

    def _plugins(self) -> list[Drive]:
        if self._others is None:
            self._others = [drive for entry in entry_points(group=GROUP) if (drive := self._loaded(entry)) is not None]
        return self._others

    def _loaded(self, entry: EntryPoint) -> Drive | None:
        def make() -> PluggedDrive:
            drive = PluggedDrive(entry.load()(self._settings))
            Ref(drive.name, "/")
            if drive.name in _TAKEN or any(drive.name == own.name for own in self._own):
                raise ValueError(f"the drive '{drive.name}' is taken")
            return drive

        try:
            return call_plugin(make, "it cannot be used", hint=_PLUGIN_HINT)
        except Error as problem:
            self._warn(entry.name, problem)
            return None

    def _warn(self, name: str, problem: Error) -> None:
        warning = f"the source plugin '{name}' is left out: {problem.message}"
        if warning not in self.warnings:
            self.warnings.append(warning)


def is_for(server: str, drive: Drive) -> bool:
    """Whether the name of an MCP server fits a drive: ``google_docs-mcp`` fits ``google-docs``."""
    words = re.sub(r"[^a-z0-9]+", "", server.lower())
    return any(re.sub(r"[^a-z0-9]+", "", word.lower()) in words for word in drive.servers)
