"""Pages of the web: which drive a URL belongs to (also by the MCP server that read it), and fetching its page.

- ``github``: a repository's URL gives its README, a file's URL the file, all others the page itself. Paths are those of
  the web site. The token is sent to GitHub's own addresses only.
- ``google-docs``: Docs, Sheets and Slides by their ids, read through Google's export address. Only documents that
  everyone with the link may read can be reached this way; others need an MCP server with a login.
- drives of plugins (entry points of the group ``ricordo.sources``); one that cannot be used leads to a warning.
- ``url`` accepts every page.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, quote, urlsplit

from ricordo.bounded import call_plugin
from ricordo.errors import Error, Forbidden, NotFound, Unreadable
from ricordo.frozen import frozen
from ricordo.plugins.web import FetchSettings
from ricordo.plugins.web.addresses import joined, normal_url, origin, page_ref, site
from ricordo.plugins.web.values import Drive, FetchedPage, PageRequest, Place
from ricordo.values.items import Ref
from ricordo.values.kinds import KIND_DRIVES

if TYPE_CHECKING:
    from ricordo.config.settings import Config
    from ricordo.plugins.web.crawl import Following, Manners
    from ricordo.plugins.web.fetch import Fetcher

GROUP = "ricordo.sources"
DELAY = 0.5
"""Seconds between pages of a site when links or a sitemap are followed."""
_PLUGIN_HINT = "Update or remove the package that it belongs to."
_TAKEN = frozenset({"disk", "url", "agent", *KIND_DRIVES})

SITE, RAW, API = "https://github.com", "https://raw.githubusercontent.com", "https://api.github.com"
"""Where GitHub is, where its files are read, and where READMEs are found."""
_README = {"accept": "application/vnd.github.raw+json", "x-github-api-version": "2022-11-28"}
# First parts of paths that are not the names of owners.
_NOT_OWNERS = frozenset(
    (
        "about", "apps", "collections", "contact", "customer-stories", "enterprise", "explore", "features", "issues",
        "login", "logout", "marketplace", "new", "notifications", "orgs", "organizations", "pricing", "pulls", "readme",
        "search", "security", "settings", "site", "sponsors", "stars", "team", "topics", "trending", "users",
    )
)  # fmt: skip


@frozen
class DriveFunctions:
    """A ``Drive`` made of functions."""

    name: str
    servers: Sequence[str]
    path_of: Callable[..., str | None]
    request: Callable[[str], PageRequest]
    problem: Callable[[FetchedPage | Error], Error | None]


def _github_path(url: str, *, served: bool = False) -> str | None:
    plain = url.partition("?")[0]
    raw = _below(RAW, plain)
    if raw is not None:
        return "/" + "/".join([*raw[:2], "blob", *_branch(raw[2:])]) if len(raw) > 3 else None
    parts = _below(SITE, plain)
    if parts is None or len(parts) < 2 or parts[0].lower() in _NOT_OWNERS:
        return None
    owner, repo, *rest = parts
    if rest[:1] in (["blob"], ["raw"]) and len(rest) > 2:
        rest = ["blob", *_branch(rest[1:])]
    query = f"?{urlsplit(url).query}" if rest and rest[0] not in ("blob", "tree") and "?" in url else ""
    return "/" + "/".join([owner, repo.removesuffix(".git"), *rest]) + query


def _below(base: str, url: str) -> list[str] | None:
    """The parts of a URL's path below a base; None for a URL elsewhere."""
    plain = url.replace("http://", "https://", 1).replace("://www.", "://", 1)
    base = base.replace("http://", "https://", 1)
    is_below = plain == base or plain.startswith(f"{base}/")
    return [part for part in plain[len(base) :].split("/") if part] if is_below else None


def _branch(parts: list[str]) -> list[str]:
    """Branch and path, without the long form of a branch's name."""
    return parts[2:] if parts[:2] == ["refs", "heads"] and len(parts) > 3 else parts


def _github_request(url: str) -> PageRequest:
    path = _github_path(url) or ""
    owner, repo, *rest = path.partition("?")[0].strip("/").split("/")
    token = os.environ.get("GITHUB_TOKEN", "").strip()
    secrets = {origin(base): {"authorization": f"Bearer {token}"} for base in (RAW, API)} if token else {}
    if rest[:1] == ["blob"] and len(rest) > 2:
        return PageRequest(f"{RAW}/{owner}/{repo}/{'/'.join(rest[1:])}", secrets=secrets)
    if rest and (rest[0] != "tree" or len(rest) < 2):
        return PageRequest(SITE + path, secrets=secrets)
    folder = "/".join(rest[2:])
    branch = f"?ref={quote(rest[1], safe='')}" if rest else ""
    target = f"{API}/repos/{owner}/{repo}/readme{'/' if folder else ''}{folder}{branch}"
    return PageRequest(target, _README, secrets, mime="text/markdown")


def _github_problem(page: FetchedPage | Error) -> Error | None:
    has_token = bool(os.environ.get("GITHUB_TOKEN", "").strip())
    if isinstance(page, NotFound) and not has_token:
        return NotFound(
            f"{page.message.rstrip('.')}, or its repository is private",
            hint="Check the URL; for a private repository set GITHUB_TOKEN.",
        )
    if isinstance(page, Forbidden):
        hint = "Check that the token in GITHUB_TOKEN is valid and may read this repository."
        if not has_token:
            hint = "Set GITHUB_TOKEN: without it GitHub allows a few pages an hour, and no private ones."
        return Forbidden(page.message, hint=hint)
    return None


DOCS_SITE = "https://docs.google.com"
_ID = r"(?!e/)([A-Za-z0-9_-]+)"  # /d/e/ is the address of a published copy, which has another id
_DOCUMENT = re.compile(rf"/(document|spreadsheets|presentation)/(?:u/\d+/)?d/{_ID}(?:/|\Z)")
_ANY_ID = re.compile(rf"/d/{_ID}(?:/|\Z)")
_EXPORTS = {
    "document": ("export?format=md", "export?format=txt"),
    "spreadsheets": ("export?format=xlsx", "export?format=csv"),
    "presentation": ("export/pptx", "export/txt"),
}


def _google_document(url: str) -> re.Match[str] | None:
    return _DOCUMENT.match(urlsplit(url).path) if url.startswith(f"{DOCS_SITE}/") else None


def _google_path(url: str, *, served: bool = False) -> str | None:
    """The id of a document; for one that an MCP server has read, the id in any of Google's addresses."""
    if document := _google_document(url):
        return f"/{document[2]}"
    parts = urlsplit(url)
    if not served or not (parts.hostname or "").endswith((".google.com", ".googleapis.com")):
        return None
    if match := _ANY_ID.search(parts.path):
        return f"/{match[1]}"
    given = parse_qs(parts.query).get("id", [""])[0]
    return f"/{given}" if re.fullmatch(_ID, given) else None


def _google_request(url: str) -> PageRequest:
    document = _google_document(url)
    if document is None:
        raise Unreadable(f"{url} is not a document that can be exported", hint="Give the URL of the document.")
    first, second = (f"{DOCS_SITE}/{document[1]}/d/{document[2]}/{export}" for export in _EXPORTS[document[1]])
    return PageRequest(first, otherwise=second, named=True)


def _google_problem(page: FetchedPage | Error) -> Error | None:
    if isinstance(page, FetchedPage):
        is_login = urlsplit(page.final_url).hostname == "accounts.google.com"
        if not is_login and not ("text/html" in page.mime and b"ServiceLogin" in page.data[:200_000]):
            return None
    elif not isinstance(page, Forbidden | NotFound):
        return None
    return Forbidden(
        "this Google document is private, or does not exist",
        hint="Share it as 'Anyone with the link', download it and add the file, or load it with an MCP server for"
        " Google Docs.",
    )


_GOOGLE_SERVERS = ("google-docs", "gdocs", "google-drive", "gdrive", "google-workspace")
BUILT_IN = (
    DriveFunctions("github", ("github",), _github_path, _github_request, _github_problem),
    DriveFunctions("google-docs", _GOOGLE_SERVERS, _google_path, _google_request, _google_problem),
)
_PLAIN = DriveFunctions("url", (), lambda url, **_: page_ref(url).path, PageRequest, lambda page: None)


def _guarded(drive: Drive) -> DriveFunctions:
    """A drive of a plugin; if it fails while a page is fetched, only that page fails."""

    def guard(ask: Callable[..., Any]) -> Callable[..., Any]:
        problem = f"the source plugin of the drive '{drive.name}' failed"
        return lambda *given, **options: call_plugin(lambda: ask(*given, **options), problem, hint=_PLUGIN_HINT)

    functions = (guard(ask) for ask in (drive.path_of, drive.request, drive.problem))
    return DriveFunctions(drive.name, tuple(drive.servers), *functions)


class OpenWeb:
    """Fetches pages by plain HTTP, as the settings allow. For one thread only; ``close`` ends its connections.

    Plugins are loaded only when a URL belongs to no built-in drive, fetcher and crawler when they are first needed.
    """

    def __init__(self, settings: FetchSettings) -> None:
        self.settings = settings
        self.warnings: list[str] = []
        """Problems with plugins that the user should know about."""

    def place(self, url: str, server: str = "") -> Place:
        """The place of a page: on the first drive that claims its URL, else on that of its MCP server, else on ``url``.

        >>> str(OpenWeb(FetchSettings()).place("https://docs.google.com/document/d/1aBcD_efgh/edit").ref)
        'google-docs:/1aBcD_efgh'
        """
        plain = normal_url(url)
        drives: Sequence[DriveFunctions] = BUILT_IN
        if all(drive.path_of(plain) is None for drive in BUILT_IN):
            drives = (*BUILT_IN, *self._plugins)
        for served in (False, True) if server else (False,):
            for drive in drives:
                if served and not _is_for(server, drive):
                    continue
                path = self._path(drive, plain, served=served)
                if path is not None:
                    return Place(Ref(drive.name, path), plain, drive)
        return Place(page_ref(plain), plain, _PLAIN)

    def _path(self, drive: DriveFunctions, url: str, *, served: bool) -> str | None:
        try:
            path = drive.path_of(url, served=served)
            return None if path is None else Ref(drive.name, path).path
        except Error as problem:
            if drive in BUILT_IN:
                raise
            self._warn(drive.name, problem)
            return None

    @cached_property
    def _plugins(self) -> tuple[DriveFunctions, ...]:
        return tuple(drive for entry in entry_points(group=GROUP) if (drive := self._loaded(entry)) is not None)

    def _loaded(self, entry: EntryPoint) -> DriveFunctions | None:
        def make() -> DriveFunctions:
            drive = _guarded(entry.load()(self.settings))
            Ref(drive.name, "/")
            if drive.name in _TAKEN or any(drive.name == own.name for own in BUILT_IN):
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

    def fetch(
        self,
        place: Place,
        *,
        validators: Mapping[str, str] | None = None,
        wanted: Callable[[str], bool] | None = None,
    ) -> FetchedPage:
        """The page, or an ``Error`` that says what to do. ``wanted`` decides by the type whether to download it."""
        request = place.drive.request(place.url)
        try:
            page = self._fetcher.get(request, validators=validators, wanted=wanted)
        except Error as error:
            raise place.drive.problem(error) or error from None
        problem = None if page.unchanged else place.drive.problem(page)
        if problem is not None:
            raise problem
        return replace(page, mime=request.mime or page.mime, named=request.named)

    def sitemap(self, page: FetchedPage, *, most: int) -> Following | None:
        """The pages that a sitemap names; None if the page is not a sitemap."""
        from ricordo.plugins.web.crawl import Following, is_sitemap, listed

        if not is_sitemap(page):
            return None
        following = Following(self._manners, page.final_url, most=most)
        following.put(listed(page, self._plainly, following.notes), steps=0)
        return following

    def sitemap_of(self, url: str, *, most: int) -> Following:
        """The pages that the sitemap of a URL's site names."""
        from ricordo.plugins.web.crawl import sitemap_page

        page = self._plainly(url) if url.endswith((".xml", ".xml.gz")) else None
        following = self.sitemap(page, most=most) if page is not None else None
        if following is None:
            following = self.sitemap(sitemap_page(url, self._manners, self._plainly), most=most)
        assert following is not None, "what sitemap_page answers is a sitemap"
        return following

    def following(self, page: FetchedPage, *, depth: int, most: int) -> Following:
        """The pages of the same site that links from a page lead to, up to ``depth`` steps away."""
        from ricordo.plugins.web.crawl import Following

        return Following(self._manners, page.final_url, most=most, seen=(page.url,), depth=depth)

    def canonical(self, page: FetchedPage, target: str) -> str:
        """The address that a page names as its own; empty if it names none, or one on another site."""
        own = joined(page.final_url, target) if target else None
        return own if own is not None and site(own) == site(page.final_url) else ""

    def close(self) -> None:
        if "_fetcher" in self.__dict__:
            self._fetcher.close()

    @cached_property
    def _fetcher(self) -> Fetcher:
        from ricordo.plugins.web.fetch import Fetcher

        return Fetcher(self.settings)

    @cached_property
    def _manners(self) -> Manners:
        from ricordo.plugins.web.crawl import Manners

        return Manners(self._plainly, DELAY)

    def _plainly(self, url: str) -> FetchedPage:
        return self._fetcher.get(PageRequest(url))


def ref_of(config: Config, address: str) -> Ref:
    """The ref of the page at a URL."""
    return OpenWeb(config.fetch).place(address).ref


def _is_for(server: str, drive: DriveFunctions) -> bool:
    """Whether the name of an MCP server fits a drive: ``google_docs-mcp`` fits ``google-docs``."""
    words = re.sub(r"[^a-z0-9]+", "", server.lower())
    return any(re.sub(r"[^a-z0-9]+", "", word.lower()) in words for word in drive.servers)
