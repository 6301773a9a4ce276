"""The drive ``github``: a repository's URL gives its README, a file's URL the file, and all others the page itself.

Paths are those of the web site, such as ``/owner/repo/blob/main/docs/a.md``, for all URLs of the same file. The token
is sent to GitHub's own addresses only.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from urllib.parse import quote, urlsplit

from ricordo.config.settings import FetchSettings
from ricordo.errors import Error, Forbidden, NotFound
from ricordo.sources.base import FetchedPage, PageRequest
from ricordo.sources.url import origin

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
