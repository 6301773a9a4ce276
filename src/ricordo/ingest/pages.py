"""Reads pages as items to save, and finds out whether a page has changed since it was last read.

A page comes from a loader if one can load it, else by plain HTTP. The headers for conditional requests are kept with
the state of the item, so that they make no new version. ``sources`` fetches the pages.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from ricordo.errors import Unavailable, Unreadable, UsageError
from ricordo.frozen import frozen
from ricordo.ingest.files import hash_of, keeping, said_by, without_secrets
from ricordo.ingest.formats.html import ABOUT
from ricordo.ingest.formats.plain import without_surrogates
from ricordo.ingest.formats.read import parse_bytes
from ricordo.ingest.formats.source import Limits
from ricordo.ingest.pipeline import Incoming, structure_of
from ricordo.secrets.find import find_secrets
from ricordo.sources.base import VALIDATORS, FetchedPage, LoadedPage, Loader, Place
from ricordo.store.values import FileState
from ricordo.values.items import Item, Parsed, Ref

if TYPE_CHECKING:
    from ricordo.sources.web import OpenWeb

HTTP, MCP = "http", "mcp:"
LOADED_BY = "loaded by"
"""The state of a page keeps the tool call that loaded it under this name."""
# The form with a charset comes first; the other one is meant for old programs.
_FILE_NAMES = (
    re.compile(r"filename\*\s*=\s*utf-8'[^']*'([^;]+)", re.IGNORECASE),
    re.compile(r"filename\s*=\s*\"?([^\";]+)", re.IGNORECASE),
)


@frozen
class ReadPage:
    """A page that was fetched and read: the item to save, what the page says about itself, and its links."""

    page: FetchedPage
    incoming: Incoming
    about: Mapping[str, Any]


class PageReader:
    """Fetches and reads pages. ``prompt_addition`` is passed to the loader."""

    def __init__(self, web: OpenWeb, limits: Limits, loader: Loader | None = None, prompt_addition: str = "") -> None:
        self.web = web
        self.limits = limits
        self.loader = loader
        self.prompt_addition = prompt_addition

    def close(self) -> None:
        """End the connections, and what the loader started."""
        self.web.close()
        if self.loader is not None:
            self.loader.close()

    def load(self, place: Place, ref: Ref | None, kind: str | None, fields: Mapping[str, Any]) -> ReadPage | Incoming:
        """Load a page with the loader, else by plain HTTP; ``ref`` is set if the page is kept under another ref."""
        loaded = self.loader.load(place.url, self.prompt_addition) if self.loader is not None else None
        if loaded is None:
            return self.read(place, self.web.fetch(place), ref, kind, fields)
        if ref is None and loaded.server:
            ref = self.web.place(place.url, loaded.server).ref
        return self.taken(place, loaded, ref or place.ref, kind, fields)

    def read(
        self, place: Place, page: FetchedPage, ref: Ref | None, kind: str | None, fields: Mapping[str, Any]
    ) -> ReadPage:
        """Read a fetched page; ``fields`` take precedence over those in the page."""
        name = _disposition(page.headers.get("content-disposition", ""))
        called = name or page.name
        parsed = parse_bytes(page.data, called, page.mime or None, limits=self.limits, page=True)
        about: Mapping[str, Any] = parsed.fields.get(ABOUT, {})
        own = {field: value for field, value in parsed.fields.items() if field != ABOUT}
        if about.get("description"):
            own.setdefault("description", about["description"])
        canonical = self.web.canonical(page, about.get("canonical", ""))
        if canonical and canonical != place.url:
            own["metadata"] = {**own.get("metadata", {}), "canonical_url": canonical}
        called_so = name.rpartition(".")[0] or name
        title = (called_so if page.named else "") or parsed.title or called_so
        parsed = replace(parsed, fields=own, title=title)
        _refuse_empty(parsed, place.url)
        incoming = self._incoming(place, parsed, page.data, HTTP, page.validators, ref or place.ref, kind, fields)
        return ReadPage(page, incoming, about)

    def taken(
        self, place: Place, loaded: LoadedPage, ref: Ref, kind: str | None, fields: Mapping[str, Any]
    ) -> Incoming:
        """Read a page that the loader loaded; plain text is kept as it is."""
        if isinstance(loaded.content, bytes):
            data = loaded.content
            parsed = parse_bytes(data, place.ref.path.rpartition("/")[2], loaded.mime_type, limits=self.limits)
            parsed = replace(parsed, title=loaded.title or parsed.title)
        else:
            data = loaded.content.encode("utf-8", "surrogatepass")
            text = without_surrogates(loaded.content)
            mime = loaded.mime_type.partition(";")[0].strip().lower()
            parsed = Parsed(text, loaded.title, mime_type=mime, structure=structure_of(mime))
        _refuse_empty(parsed, place.url)
        parsed = replace(parsed, warnings=(*parsed.warnings, *loaded.notes))
        incoming = self._incoming(place, parsed, data, f"{MCP}{loaded.server}", {}, ref, kind, fields)
        if incoming.file is None or not loaded.call:
            return incoming
        state = replace(incoming.file, fields={**incoming.file.fields, LOADED_BY: dict(loaded.call)})
        return replace(incoming, file=state)

    def _incoming(
        self,
        place: Place,
        parsed: Parsed,
        data: bytes,
        adapter: str,
        validators: Mapping[str, str],
        ref: Ref,
        kind: str | None,
        fields: Mapping[str, Any],
    ) -> Incoming:
        plain = Incoming(ref, parsed, kind or "document", {}, None if parsed.is_textual else data)
        state = FileState(0, len(data), hash_of(data), {**said_by(plain), VALIDATORS: dict(validators)})
        origin = {"source": "url", "source_url": place.url, "source_adapter": adapter}
        return replace(plain, fields={**origin, **fields}, file=state, origin=place.url)

    def again(self, item: Item, state: FileState | None) -> Incoming | FileState | None:
        """Read an item's page again. Returns an item to save if it changed, its new state if only that changed, else
        None.
        """
        place = self.web.place(source_url(item))
        adapter = item.fields.source_adapter or HTTP
        if adapter.startswith(MCP):
            incoming = self._loaded_again(place, item, adapter.removeprefix(MCP), state)
            if state is not None and incoming.file is not None and incoming.file.hash == state.hash:
                loaded_by = incoming.file.fields.get(LOADED_BY)
                newer = replace(state, fields={**state.fields, LOADED_BY: loaded_by}) if loaded_by else state
                return newer if newer != state else None
        else:
            said: Mapping[str, str] = state.fields.get(VALIDATORS, {}) if state is not None else {}
            page = self.web.fetch(place, validators=said)
            if page.unchanged:
                return None
            if state is not None and state.hash == hash_of(page.data):
                newer = replace(state, fields={**state.fields, VALIDATORS: page.validators})
                return newer if newer != state else None
            incoming = self.read(place, page, item.ref, item.kind, {}).incoming
        return _as_added(keeping(incoming, item, state.fields if state is not None else {}), item)

    def _loaded_again(self, place: Place, item: Item, server: str, state: FileState | None) -> Incoming:
        before = state.fields.get(LOADED_BY) if state is not None else None
        loader = self.loader
        loaded = loader.load(place.url, self.prompt_addition, before=before) if loader is not None else None
        if loaded is None:
            raise Unavailable(
                f"{item.ref} was loaded through the MCP server '{server}', and no server can load it now",
                hint="Configure the server and a language model again, or add the URL again with"
                " ‹on_conflict=overwrite› to fetch it plainly.",
            )
        # A model writes another title each time, and a new title would mean embedding every passage again.
        said = str(state.fields.get("title", "")) if state is not None else ""
        return self.taken(place, replace(loaded, title=said or loaded.title or item.title), item.ref, item.kind, {})


def _as_added(incoming: Incoming, item: Item) -> Incoming:
    """Remove the secrets of a page kept as a note, unless they were allowed when it was added."""
    clean, found = without_secrets(incoming, allow=bool(find_secrets(item.content)))
    if not found:
        return incoming
    warning = f"redacted: {', '.join(found)}"
    return replace(clean, parsed=replace(clean.parsed, warnings=(*clean.parsed.warnings, warning)))


def source_url(item: Item) -> str:
    """The URL that an item is fetched from; a page's ref is its URL."""
    if item.fields.source_url:
        return item.fields.source_url
    if item.ref.drive == "url":
        return item.ref.path[1:]
    raise UsageError(f"{item.ref} cannot be read again: its source URL is not known", hint="Add it again by its URL.")


def _refuse_empty(parsed: Parsed, url: str) -> None:
    if parsed.is_textual and not parsed.text.strip():
        raise Unreadable(
            f"{url} holds no text",
            hint="It may be drawn by a script: save it from your browser as HTML or PDF and add the file, or load it"
            " with an MCP server.",
        )


def _disposition(header: str) -> str:
    """The name that a server gives a file."""
    found = next((match for pattern in _FILE_NAMES if (match := pattern.search(header))), None)
    name = unquote(found[1], errors="replace") if found else ""
    return re.split(r"[/\\]", name)[-1].strip()[:200]
