"""Network connections for fetching pages: only to addresses that were checked, and with a time limit per page.

It is a connection pool of httpcore with a network backend of our own. ``url_fetch`` sends the requests.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Iterable
from typing import Any
from urllib.parse import unquote

import httpcore

from ricordo.config.settings import FetchSettings
from ricordo.errors import UsageError
from ricordo.sources.addresses import Gate
from ricordo.sources.url import normal_url, shown
from ricordo.sources.url_errors import CONNECT_SECONDS

_MOST_ADDRESSES = 4


class Clock:
    """The time by which the current page must be loaded."""

    def __init__(self) -> None:
        self.until = 0.0

    def start(self, seconds: float) -> None:
        self.until = time.monotonic() + seconds

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

    def __init__(self, gate: Gate, clock: Clock, seconds: float, proxy: tuple[str, int] | None = None) -> None:
        self._gate = gate
        self._clock = clock
        self._seconds = seconds
        self._proxy = proxy
        self._inner = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        until = time.monotonic() + min(self._seconds, self._clock.left())
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
    context = _trusting() if secure else None
    if not proxy:
        return httpcore.ConnectionPool(
            ssl_context=context,
            max_connections=8,
            keepalive_expiry=15.0,
            network_backend=CheckedBackend(gate, clock, CONNECT_SECONDS),
        )
    url = httpcore.URL(proxy)
    place = (url.host.decode(), url.port or (443 if url.scheme == b"https" else 80))
    return httpcore.HTTPProxy(
        proxy,
        proxy_auth=login,
        ssl_context=context,
        max_connections=8,
        keepalive_expiry=15.0,
        network_backend=CheckedBackend(gate, clock, CONNECT_SECONDS, place),
    )


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
