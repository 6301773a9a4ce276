"""Errors for pages that could not be fetched, with hints: by the server's answer, or by how the connection failed."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from urllib.parse import urlsplit

import httpcore

from ricordo.config.settings import FetchSettings
from ricordo.errors import Error, Forbidden, NotFound, Unavailable, Unreadable
from ricordo.sources.url import shown
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
    if isinstance(cause, ssl.SSLError):
        return Unavailable(
            f"{host} does not speak TLS as expected: {cause.reason}",
            hint="Check the URL; perhaps it is http, not https.",
        )
    if isinstance(error, httpcore.ConnectTimeout):
        return Unavailable(
            f"{host} was not reached within {CONNECT_SECONDS:g} s",
            hint="Check the network connection, or try again later.",
        )
    if isinstance(error, httpcore.TimeoutException):
        return Unavailable(
            f"{shown(url)} was not loaded within {settings.seconds:g} s",
            hint="Try again later, or raise fetch.seconds.",
        )
    if isinstance(error, httpcore.ProxyError):
        return Unavailable(f"the proxy refused to connect to {host}: {error}", hint="Check fetch.proxy.")
    if isinstance(error, httpcore.ConnectError):
        return Unavailable(f"{host} was not reached: {cause or error}", hint="Check the URL and the network.")
    return Unavailable(f"the connection to {host} broke while {shown(url)} was loaded", hint="Try again later.")
