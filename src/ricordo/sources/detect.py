"""Finds the drive and path of a page by its URL and by the MCP server that read it.

Built-in drives come first, then those of plugins (entry points of the group ``ricordo.sources``), then ``url``, which
accepts every page. A plugin that cannot be used leads to a warning. Nothing is fetched here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from importlib.metadata import EntryPoint, entry_points
from typing import TypeVar

from ricordo.config.settings import FetchSettings
from ricordo.errors import Error
from ricordo.plugins import call_plugin
from ricordo.sources.base import Drive, FetchedPage, PageRequest, Place
from ricordo.sources.github import GitHub
from ricordo.sources.google_docs import GoogleDocs
from ricordo.sources.url import normal_url, page_ref
from ricordo.values.items import Ref
from ricordo.values.kinds import KIND_DRIVES

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
