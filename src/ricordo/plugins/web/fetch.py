"""Fetches one page by plain HTTP, with limits for redirects, retries, compression, size and time.

Every connection, redirects included, is made only to an address that was checked (``addresses``): a connection pool of
httpcore with a network backend of our own. Errors say what to do. It does not parse or store anything, and follows no
links.
"""

from __future__ import annotations

import re
import ssl
import time
import zlib
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any
from urllib.parse import unquote, urlsplit

import httpcore

from ricordo._version import __version__
from ricordo.errors import Error, Forbidden, NotFound, Unavailable, Unreadable, UsageError
from ricordo.frozen import frozen
from ricordo.plugins.web import FetchSettings
from ricordo.plugins.web.addresses import Gate, joined, normal_url, origin, shown
from ricordo.plugins.web.values import ETAG, LAST_MODIFIED, FetchedPage, PageRequest
from ricordo.values.times import parse_retry_after

CONNECT_SECONDS = 5.0
"""How long finding and reaching a host may take."""
TRANSIENT = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Status codes that may change at another attempt."""


def refused(status: int, url: str, headers: Mapping[str, str]) -> Error:
    """The error for an answer that is not a page."""
    page, host = shown(url), urlsplit(url).netloc
    if status in (404, 410):
        gone = "is gone for good" if status == 410 else "does not exist"
        return NotFound(f"{page} {gone} ({status})", hint="Check the URL in a browser.")
    if status in (401, 403, 407, 451):
        return Forbidden(
            f"{host} does not allow access to {page} ({status})",
            hint="The page needs a login, or the site refuses programs: save it from your browser and add the file, or"
            " load it with an MCP server that may read it.",
        )
    if status == 429:
        wait = parse_retry_after(headers.get("retry-after", ""))
        asked = f" and asks to wait {wait:.0f} s" if wait else ""
        return Unavailable(
            f"{host} received too many requests (429){asked}",
            hint="Run the same command again later; pages that were added are kept.",
        )
    if status >= 500:
        return Unavailable(f"{host} failed with {status} for {page}", hint="The server has a problem; try again later.")
    return Unreadable(f"{host} answered {status} for {page}", hint="Check the URL in a browser.")


def broken(error: Exception, url: str, settings: FetchSettings) -> Error:
    """The error for a connection that could not be made or did not last."""
    host = urlsplit(url).netloc
    cause = error.__cause__ or error.__context__
    if isinstance(cause, ssl.SSLCertVerificationError):
        return Forbidden(
            f"the certificate of {host} is not trusted: {cause.verify_message}",
            hint="Check the URL; for a certificate of your own network, name its authority in SSL_CERT_FILE.",
        )
    message, hint = f"the connection to {host} broke while {shown(url)} was loaded", "Try again later."
    if isinstance(cause, ssl.SSLError):
        message = f"{host} does not speak TLS as expected: {cause.reason}"
        hint = "Check the URL; perhaps it is http, not https."
    elif isinstance(error, httpcore.ConnectTimeout):
        message = f"{host} was not reached within {CONNECT_SECONDS:g} s"
        hint = "Check the network connection, or try again later."
    elif isinstance(error, httpcore.TimeoutException):
        message = f"{shown(url)} was not loaded within {settings.seconds:g} s"
        hint = "Try again later, or raise fetch.seconds."
    elif isinstance(error, httpcore.ProxyError):
        message, hint = f"the proxy refused to connect to {host}: {error}", "Check fetch.proxy."
    elif isinstance(error, httpcore.ConnectError):
        message, hint = f"{host} was not reached: {cause or error}", "Check the URL and the network."
    return Unavailable(message, hint=hint)


_MOST_ADDRESSES = 4


class Clock:
    """The time by which the current page must be loaded."""

    until = 0.0

    def left(self) -> float:
        """Seconds that are left; never 0, because httpcore takes that as no limit."""
        return max(self.until - time.monotonic(), 0.001)

    @property
    def is_over(self) -> bool:
        return time.monotonic() >= self.until


class TimedStream(httpcore.NetworkStream):
    """A connection on which no wait lasts longer than the clock allows, however slowly the server sends."""

    def __init__(self, inner: httpcore.NetworkStream, clock: Clock) -> None:
        self._inner = inner
        self._clock = clock

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        if self._clock.is_over:
            raise httpcore.ReadTimeout("the page's time is over")
        return self._inner.read(max_bytes, self._clock.left())

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, self._clock.left())

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        inner = self._inner.start_tls(ssl_context, server_hostname, min(timeout or 5.0, self._clock.left()))
        return TimedStream(inner, self._clock)

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


class CheckedBackend(httpcore.NetworkBackend):
    """Connects only to addresses that the gate allows; host names are looked up here, once."""

    def __init__(self, gate: Gate, clock: Clock, proxy: tuple[str, int] | None) -> None:
        self._gate = gate
        self._clock = clock
        self._proxy = proxy
        self._inner = httpcore.SyncBackend()

    def connect_tcp(  # noqa: PLR0917 - as httpcore declares it
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        until = time.monotonic() + min(CONNECT_SECONDS, self._clock.left())
        find = self._gate.lookup if (host, port) == self._proxy else self._gate.addresses
        addresses = find(host, port)[:_MOST_ADDRESSES]
        for place, address in enumerate(addresses, start=1):
            # Each address gets a share of the time, so that one that never answers leaves time for the next.
            share = max(until - time.monotonic(), 0.001) / (len(addresses) - place + 1)
            try:
                stream = self._inner.connect_tcp(address, port, share, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                if place == len(addresses):
                    raise
            else:
                return TimedStream(stream, self._clock)
        raise httpcore.ConnectError("no address")

    def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        raise httpcore.ConnectError("pages are not fetched from Unix sockets")

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


def open_pool(settings: FetchSettings, gate: Gate, clock: Clock, *, secure: bool) -> httpcore.ConnectionPool:
    """A connection pool, direct or through the proxy of the settings; ``secure`` ones load certificates."""
    proxy, login = proxy_url(settings)
    url = httpcore.URL(proxy) if proxy else None
    place = (url.host.decode(), url.port or (443 if url.scheme == b"https" else 80)) if url is not None else None
    options: dict[str, Any] = {
        "ssl_context": _trusting() if secure else None,
        "max_connections": 8,
        "keepalive_expiry": 15.0,
        "network_backend": CheckedBackend(gate, clock, place),
    }
    return httpcore.HTTPProxy(proxy, proxy_auth=login, **options) if proxy else httpcore.ConnectionPool(**options)


def proxy_url(settings: FetchSettings) -> tuple[str, tuple[str, str] | None]:
    """The proxy, if any, and the login for it. A proxy of the environment is used only if the settings say so."""
    given = settings.proxy.strip()
    if given == "env":
        import urllib.request

        found = urllib.request.getproxies_environment()
        given = found.get("https") or found.get("http") or found.get("all") or ""
        given = given if "://" in given or not given else f"http://{given}"
    if not given:
        return "", None
    before, at, host = given.rpartition("@")
    scheme, _, user = before.partition("://")
    login = (unquote(user.partition(":")[0]), unquote(user.partition(":")[2])) if at else None
    try:
        return normal_url(f"{scheme}://{host}" if at else given), login
    except UsageError as problem:
        raise UsageError(
            f"the proxy {shown(given)} cannot be used: {problem.message}",
            hint="Set fetch.proxy to a URL such as http://proxy.example.org:3128, or unset it.",
        ) from None


def _trusting() -> ssl.SSLContext:
    """The certificates that the system trusts, and those of certifi."""
    import certifi

    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    return context


USER_AGENT = f"ricordo/{__version__}"
MOST_REDIRECTS = 10
MOST_MB = 50.0
"""As much as a file may have by default."""
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
        self._gate = Gate(settings.allow_private, settings.allow_hosts, CONNECT_SECONDS)
        self._most = int(MOST_MB * 1_000_000)
        self._has_proxy = bool(proxy_url(settings)[0])
        self._pools: dict[bool, httpcore.ConnectionPool] = {}

    def close(self) -> None:
        while self._pools:
            self._pools.popitem()[1].close()

    def get(
        self, request: PageRequest, *, validators: Mapping[str, str] | None = None, wanted: Wanted | None = None
    ) -> FetchedPage:
        """The page, within the time that one page may take."""
        self._clock.until = time.monotonic() + self.settings.seconds
        conditions = {_CONDITIONS[name]: value for name, value in (validators or {}).items() if name in _CONDITIONS}
        return self._get(request, conditions, wanted)

    def _get(self, request: PageRequest, conditions: dict[str, str], wanted: Wanted | None) -> FetchedPage:
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
            answer = self._ask(url, headers, wanted)
            if isinstance(answer, _Answer):
                if answer.status not in TRANSIENT:
                    return answer
                asked = parse_retry_after(answer.headers.get("retry-after", ""))
                pause = pause if asked is None else asked
            if attempt == ATTEMPTS or not self._rest(pause):
                raise refused(answer.status, url, answer.headers) if isinstance(answer, _Answer) else answer
        raise AssertionError("every way out is above")

    def _rest(self, seconds: float) -> bool:
        """Wait before the next attempt; returns False without waiting if that would take too long."""
        if seconds > LONGEST_PAUSE or seconds >= self._clock.left():
            return False
        time.sleep(seconds)
        return True

    def _ask(self, url: str, headers: Mapping[str, str], wanted: Wanted | None) -> _Answer | Error:
        """The answer, or the error of a connection that broke, where another attempt may do better."""
        if self._has_proxy:  # it looks up the host itself; the address is checked all the same, if it is known here
            parts = urlsplit(url)
            with suppress(Unavailable):
                self._gate.addresses(parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80))
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
            return broken(error, url, self.settings)
        except (httpcore.TimeoutException, httpcore.NetworkError, httpcore.ProtocolError, httpcore.ProxyError) as error:
            raise broken(error, url, self.settings) from error

    def _read(self, response: httpcore.Response, url: str, wanted: Wanted | None) -> _Answer:
        headers = _plain(response.headers)
        length = headers.get("content-length", "")
        if not 200 <= response.status < 300:
            if response.status == 304 or (length.isdigit() and int(length) <= _LEFT_UNREAD):
                for _ in response.iter_stream():
                    pass  # read to its end, so that the connection can be used again
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
            f"{shown(url)} {measured}over the limit of {MOST_MB:g} MB",
            hint="Download it, and add the file.",
        )


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
