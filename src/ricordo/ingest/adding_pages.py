"""Adds pages by their URLs: one page, all pages of a sitemap, or all pages of a site that links lead to.

What to do about a conflict is decided by the ref before a page is fetched, unless its links are needed. Each page is
saved as soon as it is read, so that nothing is lost if the command is interrupted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ricordo.errors import Error, NotFound, StoreError
from ricordo.ingest.pages import PageReader, ReadPage
from ricordo.ingest.pipeline import Incoming
from ricordo.sources.base import Place
from ricordo.values.items import Ref, Saved

if TYPE_CHECKING:
    from ricordo.ingest.adding import Adding
    from ricordo.sources.crawl import Following

_UNREAD = ("image/", "audio/", "video/", "font/", "text/css", "text/javascript", "application/javascript",
           "application/octet-stream", "application/zip", "application/gzip")  # fmt: skip


class AddingPages:
    """The pages of one ``add``; the outcome of each goes into the report of ``adding``."""

    def __init__(self, adding: Adding, pages: PageReader, *, depth: int, sitemap: bool, most: int) -> None:
        self.adding = adding
        self.pages = pages
        self.depth = depth
        self.sitemap = sitemap
        self.most = most
        if depth or sitemap:
            pages.loader = None  # a language model is asked to load only pages that the user named

    def places(self, urls: Sequence[str]) -> list[Place]:
        """The refs of the pages; a URL that is not valid fails alone."""
        found: dict[Ref, Place] = {}
        for url in urls:
            try:
                place = self.pages.web.place(url)
            except Error as error:
                self.adding.fail(url, error)
            else:
                found.setdefault(place.ref, place)
        return list(found.values())

    def take(self, places: Sequence[Place], as_ref: Ref | None) -> None:
        """Add all pages one after the other; one that fails never stops the rest."""
        try:
            for count, place in enumerate(places, start=1):
                ref = as_ref or place.ref
                try:
                    self._named(place, ref)
                except StoreError:
                    raise
                except Error as error:
                    self.adding.fail(str(ref), error)
                self.adding.tell(count, len(places), str(ref))
        finally:
            self.pages.close()
        self.adding.notes.extend(self.pages.web.warnings)
        self.adding.notes.extend(self.pages.loader.notes if self.pages.loader is not None else ())

    def _named(self, place: Place, ref: Ref) -> None:
        if self.sitemap:
            self._follow(self.pages.web.sitemap_of(place.url, most=self.most))
            return
        is_known = self.adding.skips(ref)
        if is_known and not self.depth:
            return
        own = ref if ref != place.ref else None
        read = self.pages.load(place, own, self.adding.kind_for(ref), self.adding.fields)
        if isinstance(read, Incoming):
            self.adding.take_page(read)
            return
        follow = self.pages.web.sitemap(read.page, most=self.most) if _is_xml(read) else None
        if follow is None:
            if not is_known:
                self.adding.take_page(read.incoming)
            if not self.depth:
                return
            follow = self.pages.web.following(read.page, depth=self.depth, most=self.most)
            follow.found(read.page.final_url, _links(read), read.page.final_url)
        self._follow(follow)

    def _follow(self, follow: Following) -> None:
        """Fetch the pages that follow, if they are new or if their links are needed."""
        done = 0
        while (url := follow.next()) is not None:
            place = self.pages.web.place(url)
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
        page = self.pages.web.fetch(place, wanted=_is_readable)
        if page.declined:
            self._pass_over(place.ref, f"not a page to read ({page.mime})")
            return
        read = self.pages.read(place, page, None, self.adding.kind, self.adding.fields)
        follow.found(url, _links(read), page.final_url)
        canonical = self.pages.web.canonical(page, read.about.get("canonical", ""))
        own = follow.own_address(page.final_url, canonical)
        if is_known:
            return
        if own is None:
            self._pass_over(place.ref, "the same page as another, or on another site")
        elif {"noindex", "none"} & set(read.about.get("robots", ())):
            self._pass_over(place.ref, "the page asks not to be kept (noindex)")
        elif own == place.url:
            self.adding.take_page(read.incoming)
        elif not self.adding.skips((own_place := self.pages.web.place(own)).ref):
            self.adding.take_page(self.pages.read(own_place, page, None, self.adding.kind, self.adding.fields).incoming)

    def _pass_over(self, ref: Ref, reason: str) -> None:
        self.adding.done.append(Saved(str(ref), "skipped", reason=reason))


def _is_xml(read: ReadPage) -> bool:
    """Whether a page may be a sitemap: XML, compressed or not."""
    return read.page.data.lstrip()[:5] in (b"<?xml", b"<urls", b"<site") or read.page.data.startswith(b"\x1f\x8b")


def _links(read: ReadPage) -> Sequence[str]:
    if {"nofollow", "none"} & set(read.about.get("robots", ())):
        return ()
    links: Sequence[str] = read.about.get("links", ())
    return links


def _is_readable(mime: str) -> bool:
    return not mime.strip().lower().startswith(_UNREAD)
