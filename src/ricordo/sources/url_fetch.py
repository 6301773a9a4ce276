"""Fetches one page by plain HTTP, with limits for redirects, retries, compression and size.

Every redirect connects only to an address that was checked (``addresses``). It does not parse or store anything, and
follows no links.
"""

from __future__ import annotations

import collections
import re
import time
import zlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from urllib.parse import urlsplit

import httpcore

from ricordo._version import __version__
from ricordo.config.settings import FetchSettings
from ricordo.errors import Error, Forbidden, Unavailable, Unreadable
from ricordo.frozen import frozen
from ricordo.sources.addresses import Gate
from ricordo.sources.base import ETAG, LAST_MODIFIED, FetchedPage, PageRequest
from ricordo.sources.url import joined, origin, shown
from ricordo.sources.url_errors import CONNECT_SECONDS, TRANSIENT, broken, refused
from ricordo.sources.url_wire import Clock, open_pool, proxy_url
from ricordo.values.times import parse_retry_after

USER_AGENT = f"ricordo/{__version__}"
MOST_REDIRECTS = 10
ATTEMPTS = 3
FIRST_PAUSE = 0.5
LONGEST_PAUSE = 10.0
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_ACCEPT = "text/html,application/xhtml+xml,text/markdown;q=0.9,text/plain;q=0.8,*/*;q=0.7"
_LEFT_UNREAD = 16_384
_GZIP = b"\x1f\x8b"
_CONDITIONS = {ETAG: "if-none-match", LAST_MODIFIED: "if-modified-since"}

Wanted = Callable[[str], bool]


@frozen
class _Answer:
    """A server's answer to one request; ``data`` is empty for a page that is not wanted."""

    status: int
    headers: Mapping[str, str]
    data: bytes = b""
    declined: bool = False


class Fetcher:
    """Fetches pages and keeps connections open between them; for one thread only."""

    def __init__(self, settings: FetchSettings) -> None:
        self.settings = settings
        self._clock = Clock()
        self._gate = Gate(
            allow_private=settings.allow_private,
            allow_hosts=settings.allow_hosts,
            seconds=CONNECT_SECONDS,
        )
        self._most = int(settings.max_mb * 1_000_000)
        self._has_proxy = bool(proxy_url(settings)[0])
        self._pools: dict[bool, httpcore.ConnectionPool] = {}

    def close(self) -> None:
        """End all connections."""
        while self._pools:
            self._pools.popitem()[1].close()

    def get(
        self, request: PageRequest, *, validators: Mapping[str, str] | None = None, wanted: Wanted | None = None
    ) -> FetchedPage:
        """The page, within the time that one page may take."""
        self._clock.start(self.settings.seconds)
        return self._get(request, validators or {}, wanted)

    def _get(self, request: PageRequest, validators: Mapping[str, str], wanted: Wanted | None) -> FetchedPage:
        conditions = {_CONDITIONS[name]: value for name, value in validators.items() if name in _CONDITIONS}
        url = request.url
        been = [url]
        while True:
            answer = self._insist(url, self._headers(request, url) | conditions, wanted)
            if answer.status not in _REDIRECTS or "location" not in answer.headers:
                break
            url = self._redirected(url, answer.headers["location"], been)
        if answer.status == 304 and conditions:
            return FetchedPage(request.url, url, b"", headers=answer.headers, unchanged=True)
        if answer.status in (400, 404) and request.otherwise:
            return self._get(replace(request, url=request.otherwise, otherwise=""), {}, wanted)
        if not 200 <= answer.status < 300:
            raise refused(answer.status, url, answer.headers)
        mime = answer.headers.get("content-type", "")
        return FetchedPage(request.url, url, answer.data, mime, answer.headers, declined=answer.declined)

    def _headers(self, request: PageRequest, url: str) -> dict[str, str]:
        own = {"user-agent": USER_AGENT, "accept": _ACCEPT, "accept-encoding": "gzip, deflate"}
        return own | dict(request.headers) | dict(request.secrets.get(origin(url), {}))

    def _redirected(self, url: str, location: str, been: list[str]) -> str:
        target = joined(url, _utf8(location))
        if target is None:
            raise Forbidden(
                f"{shown(url)} leads to {shown(location)}, which is not fetched", hint="Check the URL in a browser."
            )
        if len(been) > MOST_REDIRECTS or been.count(target) > 1:
            raise Unreadable(
                f"{shown(been[0])} redirects in a circle, or more than {MOST_REDIRECTS} times",
                hint="It may need cookies or a login: save it from your browser and add the file.",
            )
        been.append(target)
        return target

    def _insist(self, url: str, headers: Mapping[str, str], wanted: Wanted | None) -> _Answer:
        """The answer to one request; if the server fails or the connection breaks, it is asked again."""
        for attempt in range(1, ATTEMPTS + 1):
            pause = FIRST_PAUSE * 2 ** (attempt - 1)
            try:
                answer = self._ask(url, headers, wanted)
            except _BrokenOff as problem:
                if attempt == ATTEMPTS or not self._rest(pause):
                    raise problem.error from problem.__cause__
                continue
            if answer.status not in TRANSIENT:
                return answer
            asked = parse_retry_after(answer.headers.get("retry-after", ""))
            if attempt == ATTEMPTS or not self._rest(pause if asked is None else asked):
                raise refused(answer.status, url, answer.headers)
        raise AssertionError("every way out is above")

    def _rest(self, seconds: float) -> bool:
        """Wait before the next attempt; returns False without waiting if that would take too long."""
        if seconds > LONGEST_PAUSE or seconds >= self._clock.left():
            return False
        time.sleep(seconds)
        return True

    def _ask(self, url: str, headers: Mapping[str, str], wanted: Wanted | None) -> _Answer:
        if self._has_proxy:
            self._check_for_proxy(url)
        secure = url.startswith("https:")
        if secure not in self._pools:
            self._pools[secure] = open_pool(self.settings, self._gate, self._clock, secure=secure)
        waits = {"connect": CONNECT_SECONDS, "read": self.settings.seconds, "pool": 1.0}
        try:
            sent = [(name.encode("ascii"), value.encode("latin-1", "replace")) for name, value in headers.items()]
            asking = self._pools[secure].stream("GET", url, headers=sent, extensions={"timeout": waits})
            with asking as response:
                return self._read(response, url, wanted)
        except (httpcore.ReadError, httpcore.WriteError, httpcore.RemoteProtocolError) as error:
            raise _BrokenOff(broken(error, url, self.settings)) from error
        except (httpcore.TimeoutException, httpcore.NetworkError, httpcore.ProtocolError, httpcore.ProxyError) as error:
            raise broken(error, url, self.settings) from error

    def _check_for_proxy(self, url: str) -> None:
        """Check the address even though the proxy looks up the host itself."""
        parts = urlsplit(url)
        host = parts.hostname or ""
        try:
            self._gate.addresses(host, parts.port or (443 if parts.scheme == "https" else 80))
        except Unavailable:
            return  # only the proxy knows this name

    def _read(self, response: httpcore.Response, url: str, wanted: Wanted | None) -> _Answer:
        headers = _plain(response.headers)
        length = headers.get("content-length", "")
        if not 200 <= response.status < 300:
            if response.status == 304 or (length.isdigit() and int(length) <= _LEFT_UNREAD):
                collections.deque(
                    response.iter_stream(), maxlen=0
                )  # read to its end, so that the connection can be used again
            return _Answer(response.status, headers)
        if wanted is not None and not wanted(headers.get("content-type", "")):
            return _Answer(response.status, headers, declined=True)
        if length.isdigit() and int(length) > self._most:
            raise self._too_large(url, int(length))
        unpack = _Unpacker(headers.get("content-encoding", ""), self._most)
        data = bytearray()
        packed = 0
        for part in response.iter_stream():
            if self._clock.is_over:
                raise httpcore.ReadTimeout("the page's time is over")
            data += unpack(part)
            packed += len(part)
            if max(packed, len(data)) > self._most:
                raise self._too_large(url)
        if not unpack.is_whole:
            raise httpcore.ReadError("the packed page ends too soon")
        return _Answer(response.status, headers, bytes(data))

    def _too_large(self, url: str, size: int = 0) -> Error:
        measured = f"is {size / 1e6:.1f} MB, " if size else "is "
        return Unreadable(
            f"{shown(url)} {measured}over the limit of {self.settings.max_mb:g} MB (fetch.max_mb)",
            hint="Raise fetch.max_mb to add it.",
        )


class _BrokenOff(Exception):  # noqa: N818 - it never leaves this module
    """The connection broke; another attempt may do better."""

    def __init__(self, error: Error) -> None:
        super().__init__(error.message)
        self.error = error


class _Unpacker:
    """Decompresses a page, and never returns much more than is allowed, so that a zip bomb does no harm."""

    def __init__(self, encoding: str, most: int) -> None:
        self._most = most
        self._name = encoding.strip().lower()
        self._inflater: zlib._Decompress | None = None
        if self._name in ("gzip", "x-gzip"):
            self._inflater = zlib.decompressobj(16 + zlib.MAX_WBITS)
        elif self._name == "deflate":
            self._inflater = zlib.decompressobj()
        elif self._name not in ("", "identity"):
            raise Unreadable(
                f"the page is compressed as '{self._name[:40]}', which is not supported", hint="Save it from a browser."
            )
        self._started = False

    @property
    def is_whole(self) -> bool:
        """Whether the compressed data is complete; an empty answer is."""
        return self._inflater is None or not self._started or self._inflater.eof

    def __call__(self, part: bytes) -> bytes:
        if self._inflater is None:
            return part
        try:
            return self._inflated(part)
        except zlib.error:
            raise Unreadable("the page cannot be decompressed", hint="Try again, or save it from a browser.") from None
        finally:
            self._started = True

    def _inflated(self, part: bytes) -> bytes:
        assert self._inflater is not None
        try:
            found = self._inflater.decompress(part, self._most + 1)
        except zlib.error:
            if self._name != "deflate" or self._started:
                raise
            self._inflater = zlib.decompressobj(-zlib.MAX_WBITS)  # some servers leave out the wrapper
            return self._inflater.decompress(part, self._most + 1)
        # Compressed pages may consist of several parts; anything else behind the end does not belong to the page.
        while self._inflater.eof and self._inflater.unused_data.startswith(_GZIP) and len(found) <= self._most:
            rest = self._inflater.unused_data
            self._inflater = zlib.decompressobj(16 + zlib.MAX_WBITS)
            found += self._inflater.decompress(rest, self._most + 1)
        return found


def _plain(headers: list[tuple[bytes, bytes]]) -> dict[str, str]:
    """Headers by their names in lower case, without control characters."""
    found: dict[str, str] = {}
    for name, value in headers:
        text = re.sub(r"[\x00-\x1f\x7f]", " ", value.decode("latin-1")).strip()
        found.setdefault(name.decode("latin-1").lower(), text[:2000])
    return found


def _utf8(header: str) -> str:
    """Decode a header as UTF-8, which many servers send although the standard says Latin-1."""
    try:
        return header.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return header
