"""Reads pages as items to save, adds those of a site, and finds out whether one has changed since it was last read.

A page comes from a loader if one can load it, else by plain HTTP. The headers for conditional requests are kept with
the state of the item, so that they make no new version. ``drives`` fetches the pages.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from ricordo.digests import hash_of
from ricordo.errors import Error, NotFound, StoreError, Unavailable, Unreadable
from ricordo.frozen import frozen
from ricordo.ingest.files import VALIDATORS, authored, with_stored_fields, without_secrets
from ricordo.ingest.formats.html import ABOUT
from ricordo.ingest.formats.plain import without_surrogates
from ricordo.ingest.formats.read import parse_bytes
from ricordo.ingest.formats.source import Limits
from ricordo.ingest.pipeline import Incoming, own_fields, structure_of
from ricordo.plugin import ask
from ricordo.plugins.web.drives import OpenWeb
from ricordo.plugins.web.values import FetchedPage, LoadedPage, Loader, Place
from ricordo.secrets.find import find_secrets
from ricordo.store.values import FileState
from ricordo.values.items import Item, Parsed, Ref, Saved

if TYPE_CHECKING:
    from ricordo.engine.context import EngineContext
    from ricordo.ingest.add import Adding
    from ricordo.plugins.web.crawl import Following

HTTP, MCP = "http", "mcp:"
LOADED_BY = "loaded by"
"""The state of a page keeps the tool call that loaded it under this name."""
# The form with a charset comes first; the other one is meant for old programs.
_FILE_NAMES = (
    re.compile(r"filename\*\s*=\s*utf-8'[^']*'([^;]+)", re.IGNORECASE),
    re.compile(r"filename\s*=\s*\"?([^\";]+)", re.IGNORECASE),
)

_UNREAD = ("image/", "audio/", "video/", "font/", "text/css", "text/javascript", "application/javascript",
           "application/octet-stream", "application/zip", "application/gzip")  # fmt: skip


@frozen
class ReadPage:
    """A page that was fetched and read: the item to save, what the page says about itself, and its links."""

    page: FetchedPage
    incoming: Incoming
    about: Mapping[str, Any]


class PageReader:
    """Fetches and reads pages. ``prompt_addition`` is passed to the loader, and ``transcript`` is called with what that
    does.
    """

    def __init__(
        self, context: EngineContext, prompt_addition: str = "", transcript: Callable[[str], None] | None = None
    ) -> None:
        self.web = OpenWeb(context.config.fetch)
        self.limits = Limits()
        self.loader: Loader | None = next(filter(None, ask("page_loader", context, transcript)), None)
        self.prompt_addition = prompt_addition

    def pages(self, adding: Adding, urls: Sequence[str], *, depth: int, sitemap: bool, most: int) -> AddingPages:
        """The pages at some URLs, which ``adding`` adds."""
        return AddingPages(adding, self, urls, depth=depth, sitemap=sitemap, most=most)

    def close(self) -> None:
        """End the connections, and what the loader started."""
        self.web.close()
        if self.loader is not None:
            self.loader.close()

    def load(self, place: Place, ref: Ref | None, kind: str | None, fields: Mapping[str, Any]) -> ReadPage | Incoming:
        """Load a page with the loader, else by plain HTTP; ``ref`` is set if the page is kept under another ref."""
        loaded = self.loader.load(place.url, self.prompt_addition) if self.loader is not None else None
        if loaded is None:
            return self.read(place, self.web.fetch(place), ref, kind, fields=fields)
        if ref is None and loaded.server:
            ref = self.web.place(place.url, loaded.server).ref
        return self.taken(place, loaded, ref or place.ref, kind, fields=fields)

    def read(
        self, place: Place, page: FetchedPage, ref: Ref | None, kind: str | None, *, fields: Mapping[str, Any]
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
        incoming = self._incoming(
            place, parsed, page.data, HTTP, validators=page.validators, ref=ref or place.ref, kind=kind, fields=fields
        )
        return ReadPage(page, incoming, about)

    def taken(
        self, place: Place, loaded: LoadedPage, ref: Ref, kind: str | None, *, fields: Mapping[str, Any]
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
        incoming = self._incoming(
            place, parsed, data, f"{MCP}{loaded.server}", validators={}, ref=ref, kind=kind, fields=fields
        )
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
        *,
        validators: Mapping[str, str],
        ref: Ref,
        kind: str | None,
        fields: Mapping[str, Any],
    ) -> Incoming:
        own = own_fields(ref, parsed)
        state = FileState(0, len(data), hash_of(data), {**authored(own), VALIDATORS: dict(validators)})
        origin = {"source": "url", "source_url": place.url, "source_adapter": adapter}
        return Incoming(
            ref, parsed, kind or "document", {**origin, **fields}, blob=None if parsed.is_textual else data, file=state,
            origin=place.url, own=own,
        )  # fmt: skip

    def again(self, url: str, item: Item, state: FileState | None) -> Incoming | FileState | None:
        """Read the page of an item again: the item if it changed, its new state if only that changed, else None."""
        place = self.web.place(url)
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
            incoming = self.read(place, page, item.ref, item.kind, fields={}).incoming
        return _as_added(with_stored_fields(incoming, item, state.fields if state is not None else {}), item)

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
        return self.taken(
            place, replace(loaded, title=said or loaded.title or item.title), item.ref, item.kind, fields={}
        )


class AddingPages:
    """The pages of one ``add``; the outcome of each goes into the report of ``adding``."""

    def __init__(
        self, adding: Adding, reader: PageReader, urls: Sequence[str], *, depth: int, sitemap: bool, most: int
    ) -> None:
        self.adding = adding
        self.reader = reader
        self.depth = depth
        self.sitemap = sitemap
        self.most = most
        if depth or sitemap:
            reader.loader = None  # a language model is asked to load only pages that the user named
        self.places: dict[Ref, Place] = {}
        for url in urls:  # one that is not valid fails alone
            try:
                place = reader.web.place(url)
            except Error as error:
                adding.fail(url, error)
            else:
                self.places.setdefault(place.ref, place)

    @property
    def refs(self) -> list[Ref]:
        return list(self.places)

    def take(self, as_ref: Ref | None) -> None:
        """Add all pages one after the other; one that fails never stops the rest."""
        try:
            for count, place in enumerate(self.places.values(), start=1):
                ref = as_ref or place.ref
                try:
                    self._named(place, ref)
                except StoreError:
                    raise
                except Error as error:
                    self.adding.fail(str(ref), error)
                self.adding.tell(count, len(self.places), str(ref))
        finally:
            self.reader.close()
        self.adding.notes.extend(self.reader.web.warnings)
        self.adding.notes.extend(self.reader.loader.notes if self.reader.loader is not None else ())

    def _named(self, place: Place, ref: Ref) -> None:
        if self.sitemap:
            self._follow(self.reader.web.sitemap_of(place.url, most=self.most))
            return
        is_known = self.adding.skips(ref)
        if is_known and not self.depth:
            return
        own = ref if ref != place.ref else None
        read = self.reader.load(place, own, self.adding.kind_for(ref), self.adding.fields)
        if isinstance(read, Incoming):
            self.adding.take_page(read)
            return
        data = read.page.data
        may_be_sitemap = data.lstrip()[:5] in (b"<?xml", b"<urls", b"<site") or data.startswith(b"\x1f\x8b")
        follow = self.reader.web.sitemap(read.page, most=self.most) if may_be_sitemap else None
        if follow is None:
            if not is_known:
                self.adding.take_page(read.incoming)
            if not self.depth:
                return
            follow = self.reader.web.following(read.page, depth=self.depth, most=self.most)
            follow.found(read.page.final_url, _links(read), read.page.final_url)
        self._follow(follow)

    def _follow(self, follow: Following) -> None:
        """Fetch the pages that follow, if they are new or if their links are needed."""
        done = 0
        while (url := follow.next()) is not None:
            place = self.reader.web.place(url)
            done += 1
            try:
                self._followed(follow, url, place)
            except StoreError:
                raise
            except NotFound as error:  # the user did not name this page, so a dead link is no failure
                self._pass_over(place.ref, error.message)
            except Error as error:
                self.adding.fail(str(place.ref), error)
            self.adding.tell(done, done + follow.left, str(place.ref))
        self.adding.notes.extend(follow.notes)

    def _followed(self, follow: Following, url: str, place: Place) -> None:
        is_known = self.adding.skips(place.ref)
        if is_known and not follow.leads_on(url):
            return
        follow.wait(url)
        page = self.reader.web.fetch(place, wanted=lambda mime: not mime.strip().lower().startswith(_UNREAD))
        if page.declined:
            self._pass_over(place.ref, f"not a page to read ({page.mime})")
            return
        read = self.reader.read(place, page, None, self.adding.kind, fields=self.adding.fields)
        follow.found(url, _links(read), page.final_url)
        canonical = self.reader.web.canonical(page, read.about.get("canonical", ""))
        own = follow.own_address(page.final_url, canonical)
        if is_known:
            return
        if own is None:
            self._pass_over(place.ref, "the same page as another, or on another site")
        elif {"noindex", "none"} & set(read.about.get("robots", ())):
            self._pass_over(place.ref, "the page asks not to be kept (noindex)")
        elif own == place.url:
            self.adding.take_page(read.incoming)
        elif not self.adding.skips((own_place := self.reader.web.place(own)).ref):
            read = self.reader.read(own_place, page, None, self.adding.kind, fields=self.adding.fields)
            self.adding.take_page(read.incoming)

    def _pass_over(self, ref: Ref, reason: str) -> None:
        self.adding.done.append(Saved(str(ref), "skipped", reason=reason))


def _as_added(incoming: Incoming, item: Item) -> Incoming:
    """Remove the secrets of a page kept as a note, unless they were allowed when it was added."""
    clean, found = without_secrets(incoming, allow=bool(find_secrets(item.content)))
    if not found:
        return incoming
    warning = f"redacted: {', '.join(found)}"
    return replace(clean, parsed=replace(clean.parsed, warnings=(*clean.parsed.warnings, warning)))


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


def _links(read: ReadPage) -> Sequence[str]:
    if {"nofollow", "none"} & set(read.about.get("robots", ())):
        return ()
    links: Sequence[str] = read.about.get("links", ())
    return links
