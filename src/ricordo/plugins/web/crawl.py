"""Decides which pages of a site come next: those of its sitemap, or those that links lead to.

It obeys robots.txt (RFC 9309), whose rules are matched piece by piece, so that no rule takes long. Pages come one at a
time with a wait between them, each once, and never more than the user asked for. Callers fetch the pages; this module
fetches only robots.txt and sitemaps.
"""

from __future__ import annotations

import html
import re
import time
import zlib
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from urllib.parse import quote, urlsplit

from ricordo.errors import Error, NotFound, Unreadable
from ricordo.frozen import frozen
from ricordo.plugins.web.addresses import joined, origin, shown, site
from ricordo.plugins.web.values import FetchedPage

PRODUCT = "ricordo"
"""The name by which a robots.txt addresses Ricordo; the ``User-Agent`` header begins with it."""
_MOST_LINES = 20_000
_TOKEN = re.compile(r"[A-Za-z_-]+|\*")
_KEPT = "/:@!$&'()*+,;=~%-._?#[]"


@frozen
class Robots:
    """The rules for Ricordo: paths that are allowed or not, the wait between pages, and where sitemaps are."""

    rules: tuple[tuple[str, bool], ...] = ()
    delay: float = 0.0
    sitemaps: tuple[str, ...] = ()

    def allows(self, url: str) -> bool:
        """Whether a page may be fetched: the longest matching rule decides; of two that are equally long, "allow"."""
        parts = urlsplit(url)
        path = _encoded(f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/")
        matching = [(len(rule), allowed) for rule, allowed in self.rules if rule and matches(rule, path)]
        return max(matching)[1] if matching else True


NOTHING_ALLOWED = Robots(rules=(("/", False),))


def matches(rule: str, path: str) -> bool:
    """Whether a path starts as a rule says; ``*`` stands for anything, ``$`` at the end for the end of the path."""
    to_end = rule.endswith("$")
    first, *pieces = rule.removesuffix("$").split("*")
    if not path.startswith(first):
        return False
    at = len(first)
    if not pieces:
        return not to_end or at == len(path)
    *middle, last = pieces
    for piece in middle:
        found = path.find(piece, at)
        if found < 0:
            return False
        at = found + len(piece)
    return path.endswith(last) and len(path) - len(last) >= at if to_end else path.find(last, at) >= 0


def read_robots(text: str, product: str = PRODUCT) -> Robots:
    """The rules that a robots.txt has for the program of this name; if it does not name the program, those for all.

    Names are compared whole and without regard to case. A program that several groups name follows all of them.
    """
    rules: dict[str, list[tuple[str, bool]]] = {}
    delays: dict[str, float] = {}
    sitemaps: list[str] = []
    group: list[str] = []
    group_has_rules = False
    for line in text.removeprefix("\ufeff").splitlines()[:_MOST_LINES]:
        field, _, value = line.partition("#")[0].partition(":")
        field, value = field.strip().lower(), value.strip()
        if field == "user-agent":
            if group_has_rules:
                group, group_has_rules = [], False
            token = _TOKEN.match(value)  # without a version: ``Ricordo/1.0`` names ``ricordo``
            group.append(token[0].lower() if token else "")
            rules.setdefault(group[-1], [])
        elif field in ("allow", "disallow"):
            group_has_rules = True
            for name in group:
                rules[name].append((_encoded(value), field == "allow"))
        elif field == "crawl-delay":
            for name in group:
                delays[name] = max(delays.get(name, 0.0), _seconds(value))
        elif field == "sitemap":
            sitemaps.append(value)
    ours = product.lower() if product.lower() in rules else "*"
    return Robots(tuple(rules.get(ours, ())), delays.get(ours, 0.0), tuple(sitemaps))


def _encoded(path: str) -> str:
    """A path with all characters outside ASCII written as ``%XX``, so that both ways to write a letter are equal."""
    return re.sub(r"%[0-9a-fA-F]{2}", lambda found: found[0].upper(), quote(path, safe=_KEPT))


def _seconds(value: str) -> float:
    try:
        seconds = float(value)
    except ValueError:
        return 0.0
    return seconds if 0 <= seconds < 1e6 else 0.0


Fetch = Callable[[str], FetchedPage]

MOST_SITEMAPS = 50
LONGEST_DELAY = 30.0
"""The longest wait between two pages, whatever a site asks for."""
_LARGEST_ROBOTS = 500_000
_LARGEST_SITEMAP = 60_000_000
_QUEUED = 50_000
# Possessive, so that it never backtracks: a sitemap full of blanks must not take hours.
_LOCATION = re.compile(rb"<loc>\s*+(?:<!\[CDATA\[)?+([^<]{1,4100}+)</loc>", re.IGNORECASE)
_SITEMAP = re.compile(rb"<(?:\w+:)?(urlset|sitemapindex)\b", re.IGNORECASE)
# Files that links lead to and that hold no text: pictures, sound, films, programs, archives, styles.
_NOT_PAGES = frozenset(
    (
        "7z", "apk", "avi", "avif", "bin", "bmp", "bz2", "css", "deb", "dll", "dmg", "eot", "exe", "flac", "gif", "gz",
        "ico", "iso", "jar", "jpeg", "jpg", "js", "m4a", "m4v", "mjs", "mkv", "mov", "mp3", "mp4", "mpeg", "mpg", "msi",
        "ogg", "otf", "pkg", "png", "rar", "rpm", "so", "svg", "tar", "tgz", "tif", "tiff", "ttf", "wasm", "wav",
        "webm", "webp", "whl", "wmv", "woff", "woff2", "xz", "zip", "zst",
    )
)  # fmt: skip


def is_page(url: str) -> bool:
    """Whether a link may lead to a page with text, by its file extension."""
    last = urlsplit(url).path.rpartition("/")[2]
    return "." not in last or last.rpartition(".")[2].lower() not in _NOT_PAGES


class Manners:
    """The robots.txt of each site, read once, and the time of the last request."""

    def __init__(self, fetch: Fetch, delay: float) -> None:
        self._fetch = fetch
        self._delay = delay
        self._robots: dict[str, Robots] = {}
        self._last = 0.0

    def of(self, url: str) -> Robots:
        """The rules for a page's site. Without robots.txt everything is allowed; if it cannot be read, nothing is."""
        place = origin(url)
        if place not in self._robots:
            try:
                data = self._fetch(f"{place}/robots.txt").data[:_LARGEST_ROBOTS]
                self._robots[place] = read_robots(data.decode("utf-8", "replace"))
            except Error as problem:
                self._robots[place] = NOTHING_ALLOWED if problem.code == "unavailable" else Robots()
        return self._robots[place]

    def wait(self, url: str) -> None:
        """Wait until the site may be asked again."""
        pause = max(self._delay, min(self.of(url).delay, LONGEST_DELAY))
        due = self._last + pause - time.monotonic()
        if self._last and due > 0:
            time.sleep(due)
        self._last = time.monotonic()


class Following:
    """The queue of pages, each with how many further steps its links may lead."""

    def __init__(self, manners: Manners, home: str, *, most: int, seen: Collection[str] = (), depth: int = 0) -> None:
        self._manners = manners
        self._home = site(home)
        self._most = most
        self._fetched = 0
        self._seen = {home, *seen}
        self._taken = {home, *seen}
        self._queue: deque[tuple[str, int]] = deque()
        self._steps = {home: depth}
        self.notes: list[str] = []
        """Which pages were left out, and why."""
        self._forbidden = 0

    @property
    def left(self) -> int:
        return min(len(self._queue), self._most - self._fetched)

    def put(self, urls: Iterable[str], steps: int) -> None:
        """Add those pages to the queue that are on this site and new."""
        for url in urls:
            if len(self._queue) >= _QUEUED:
                return
            if site(url) == self._home and url not in self._seen and is_page(url):
                self._seen.add(url)
                self._queue.append((url, steps))

    def next(self) -> str | None:
        """The next URL that may be fetched; None at the end."""
        while self._queue and self._fetched < self._most:
            url, steps = self._queue.popleft()
            if url in self._taken:
                continue
            if self._manners.of(url).allows(url):
                self._steps[url] = steps
                return url
            self._forbidden += 1
        if self._queue:
            self.notes.append(f"{len(self._queue)} more pages were found than the {self._most} of --max-pages")
        if self._forbidden:
            self.notes.append(f"robots.txt asks to leave out {self._forbidden} of the pages that were found")
        return None

    def leads_on(self, url: str) -> bool:
        """Whether the links of this page are followed."""
        return self._steps.get(url, 0) > 0

    def wait(self, url: str) -> None:
        """Wait until this page may be requested; it counts towards the limit from now on."""
        self._manners.wait(url)
        self._fetched += 1

    def own_address(self, final_url: str, canonical: str) -> str | None:
        """The address under which a fetched page is kept; None if it is on another site or was fetched before."""
        own = final_url
        # Some sites name the address of their front page on every page by mistake.
        if canonical and urlsplit(canonical).path != "/":
            own = canonical
        if site(own) != self._home or own in self._taken:
            return None
        self._seen.add(own)
        self._taken.add(own)
        return own

    def found(self, url: str, links: Sequence[str], base: str) -> None:
        """Add the links of a page; they are relative to ``base``, the address after all redirects."""
        steps = self._steps.pop(url, 0)
        if steps > 0:
            self.put((target for link in links if (target := joined(base, link)) is not None), steps - 1)


def is_sitemap(page: FetchedPage) -> bool:
    """Whether a page is a sitemap, compressed or not."""
    try:
        head = _unpacked(page.data, 4096)[:4096]
    except Unreadable:
        return False
    return bool(_SITEMAP.search(head)) and b"<html" not in head.lower()


def listed(page: FetchedPage, fetch: Fetch, notes: list[str]) -> Iterator[str]:
    """The pages that a sitemap and the sitemaps in it name; each sitemap is read once."""
    waiting = deque([page])
    known = {page.final_url}
    names: deque[str] = deque()
    while waiting or names:
        if not waiting:
            name = names.popleft()
            try:
                waiting.append(fetch(name))
            except Error as problem:
                notes.append(f"a sitemap is left out: {problem.message}")
            continue
        current = waiting.popleft()
        data = _unpacked(current.data, _LARGEST_SITEMAP)
        kind = _SITEMAP.search(data[:4096])
        locations = (match[1].strip().removesuffix(b"]]>").strip() for match in _LOCATION.finditer(data))
        found = (joined(current.final_url, html.unescape(one.decode("utf-8", "replace"))) for one in locations)
        if kind is None or kind[1].lower() == b"urlset":
            yield from (url for url in found if url is not None)
            continue
        for url in found:
            if url is not None and url not in known and site(url) == site(page.final_url):
                if len(known) > MOST_SITEMAPS:
                    notes.append(f"more than {MOST_SITEMAPS} sitemaps are named; the rest is left out")
                    break
                known.add(url)
                names.append(url)


def sitemap_page(url: str, manners: Manners, fetch: Fetch) -> FetchedPage:
    """The sitemap of the site that a URL is on."""
    problem: Error | None = None
    for address in manners.of(url).sitemaps or (f"{origin(url)}/sitemap.xml",):
        target = joined(url, address)
        try:
            page = fetch(target) if target is not None and site(target) == site(url) else None
        except Error as error:
            problem = error
            continue
        if page is not None and is_sitemap(page):
            return page
    raise NotFound(
        f"{shown(origin(url))} has no sitemap that can be read{f': {problem.message}' if problem else ''}",
        hint="Give the URL of the sitemap itself, or follow links with ‹depth›.",
    )


def _unpacked(data: bytes, most: int) -> bytes:
    """The sitemap without compression, up to a size."""
    if not data.startswith(b"\x1f\x8b"):
        return data
    try:
        return zlib.decompressobj(16 + zlib.MAX_WBITS).decompress(data, most)
    except zlib.error:
        raise Unreadable("the sitemap cannot be decompressed", hint="Open its URL in a browser to see it.") from None
