"""Everything about pages in one object: their refs, fetching them, and which pages come next.

It combines the drives, the fetcher and the crawler; each is made when it is first needed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from ricordo.config.settings import FetchSettings
from ricordo.errors import Error
from ricordo.sources.addresses import joined, site
from ricordo.sources.base import FetchedPage, PageRequest, Place
from ricordo.sources.drives import Drives

if TYPE_CHECKING:
    from ricordo.sources.crawl import Following, Manners
    from ricordo.sources.fetch import Fetcher


DELAY = 0.5
"""Seconds between pages of a site when links or a sitemap are followed."""


class OpenWeb:
    """Fetches pages by plain HTTP, as the settings allow. For one thread only; ``close`` ends its connections."""

    def __init__(self, settings: FetchSettings) -> None:
        self.settings = settings
        self._drives = Drives(settings)

    @property
    def warnings(self) -> Sequence[str]:
        """Problems with plugins that the user should know about."""
        return self._drives.warnings

    def place(self, url: str, server: str = "") -> Place:
        """The ref and drive of a page, by its URL and by the MCP server that read it."""
        return self._drives.place(url, server)

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
        from ricordo.sources.crawl import Following, is_sitemap, listed

        if not is_sitemap(page):
            return None
        following = Following(self._manners, page.final_url, most=most)
        following.put(listed(page, self._plainly, following.notes), steps=0)
        return following

    def sitemap_of(self, url: str, *, most: int) -> Following:
        """The pages that the sitemap of a URL's site names."""
        from ricordo.sources.crawl import sitemap_page

        page = self._plainly(url) if url.endswith((".xml", ".xml.gz")) else None
        found = self.sitemap(page, most=most) if page is not None else None
        if found is None:
            found = self.sitemap(sitemap_page(url, self._manners, self._plainly), most=most)
        assert found is not None, "what sitemap_page answers is a sitemap"
        return found

    def following(self, page: FetchedPage, *, depth: int, most: int) -> Following:
        """The pages of the same site that links from a page lead to, up to ``depth`` steps away."""
        from ricordo.sources.crawl import Following

        following = Following(self._manners, page.final_url, most=most, seen=(page.url,))
        following.start(page.final_url, depth)
        return following

    def canonical(self, page: FetchedPage, target: str) -> str:
        """The address that a page names as its own; empty if it names none, or one on another site."""
        own = joined(page.final_url, target) if target else None
        return own if own is not None and site(own) == site(page.final_url) else ""

    def close(self) -> None:
        if "_fetcher" in self.__dict__:
            self._fetcher.close()

    @cached_property
    def _fetcher(self) -> Fetcher:
        from ricordo.sources.fetch import Fetcher

        return Fetcher(self.settings)

    @cached_property
    def _manners(self) -> Manners:
        from ricordo.sources.crawl import Manners

        return Manners(self._plainly, DELAY)

    def _plainly(self, url: str) -> FetchedPage:
        return self._fetcher.get(PageRequest(url))
