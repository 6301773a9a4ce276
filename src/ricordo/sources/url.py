"""URLs: writes each in one normal form, so that a page has one ref, and refuses those that cannot be fetched.

Nothing here connects. ``addresses`` decides whether the address of a host may be reached.
"""

from __future__ import annotations

import re
from urllib.parse import SplitResult, quote, urljoin, urlsplit

from ricordo.errors import UsageError
from ricordo.values.items import Ref

LONGEST = 4000
_PORTS = {"http": 80, "https": 443}
_NUMBER = re.compile(r"(?:0x[0-9a-f]*|[0-9]+)\Z", re.IGNORECASE)
_PLAIN_IPV4 = re.compile(r"(?:(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])(?:\.(?!\Z)|\Z)){4}\Z")
_HOST = re.compile(r"[a-z0-9_-]+(?:\.[a-z0-9_-]+)*\.?\Z")
_UNSAFE = re.compile(r"[\x00-\x20\x7f]")
_KEPT_IN_PATH = "/:@!$&'()*+,;=~%-._"
_KEPT_IN_QUERY = _KEPT_IN_PATH + "?"


def normal_url(text: str) -> str:
    """The normal form of a URL; a usage error for a URL that cannot be fetched.

    >>> normal_url("HTTPS://Example.ORG:443/a/../b c?q=1#top")
    'https://example.org/b%20c?q=1'
    """
    given = text.strip().removeprefix("url:/")
    if _UNSAFE.search(given.replace(" ", "")) or len(given) > LONGEST:
        raise UsageError("the URL is too long or holds control characters", hint="Copy it again from the browser.")
    parts = _split(given)
    scheme = parts.scheme.lower()
    if scheme not in _PORTS:
        raise UsageError(
            f"only http and https pages can be fetched: {shown(given)}",
            hint="Give a URL that starts with https://, or the path of a file.",
        )
    if parts.username is not None or parts.password is not None:
        raise UsageError(
            f"a URL with a user name or password is not fetched: {shown(given)}",
            hint="It would be kept in the store: leave out everything before the @.",
        )
    host = normal_host(parts.hostname or "")
    port = _port(parts)
    place = f"[{host}]" if ":" in host else host
    if port is not None and port != _PORTS[scheme]:
        place += f":{port}"
    path = _without_dots(quote(parts.path, safe=_KEPT_IN_PATH)) or "/"
    query = f"?{quote(parts.query, safe=_KEPT_IN_QUERY)}" if parts.query else ""
    return f"{scheme}://{place}{path}{query}"


def _split(url: str) -> SplitResult:
    try:
        return urlsplit(url)
    except ValueError:
        raise _bad_host(url) from None


def _port(parts: SplitResult) -> int | None:
    try:
        return parts.port
    except ValueError:
        raise UsageError(f"the port of {shown(parts.geturl())} is not a number", hint="Check the URL.") from None


def normal_host(host: str) -> str:
    """A host as it is looked up: ASCII, lower case. Disguised addresses (``0x7f.1``, ``2130706433``) are refused."""
    name = host.lower()
    if not name.isascii():
        import idna

        try:
            name = idna.encode(name, uts46=True).decode("ascii")
        except (idna.IDNAError, UnicodeError):
            raise _bad_host(host) from None
    if ":" in name:
        return _ipv6(name)
    last = name.rstrip(".").rpartition(".")[2]
    if _NUMBER.match(last):
        if not _PLAIN_IPV4.match(name):
            raise UsageError(f"'{host}' is a disguised address", hint="Write the address as 93.184.216.34.")
        return name
    if not name or len(name) > 253 or not _HOST.match(name):
        raise _bad_host(host)
    return name.rstrip(".")


def _ipv6(name: str) -> str:
    from ipaddress import AddressValueError, IPv6Address

    try:
        return IPv6Address(name.replace("%", "?")).compressed  # an address with a zone belongs to the local network
    except AddressValueError:
        raise _bad_host(name) from None


def _bad_host(host: str) -> UsageError:
    return UsageError(f"'{shown(host)}' contains no valid host", hint="A URL looks like https://example.org/page.")


def _without_dots(path: str) -> str:
    """The path without ``.`` and ``..``, as every server reads it."""
    if "/." not in path:
        return path
    kept: list[str] = []
    parts = path.split("/")[1:]
    for place, part in enumerate(parts):
        dots = part.replace("%2e", ".").replace("%2E", ".")
        if dots not in (".", ".."):
            kept.append(part)
            continue
        if dots == "..":
            del kept[-1:]
        if place == len(parts) - 1:
            kept.append("")
    return "/" + "/".join(kept)


def shown(url: str) -> str:
    """A URL for a message: without a password, and not too long."""
    plain = re.sub(r"(?<=//)[^/?#@]*@", "", url)
    return plain if len(plain) <= 200 else f"{plain[:200]}…"


def joined(base: str, target: str) -> str | None:
    """The URL that a link or redirect on ``base`` leads to; None if it cannot be fetched."""
    try:
        where = urljoin(base, re.sub(r"[\t\r\n]", "", target).strip())
        parts = urlsplit(where)
        if "@" in parts.netloc:  # credentials in a link are never sent
            where = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
        return normal_url(where)
    except (ValueError, UsageError):
        return None


def origin(url: str) -> str:
    """Scheme, host and port of a URL in normal form."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def site(url: str) -> str:
    """The host and port that identify a site; http, https and ``www.`` make no difference."""
    return urlsplit(url).netloc.removeprefix("www.")


def page_ref(url: str) -> Ref:
    """The ref of a page on the drive ``url``."""
    return Ref("url", f"/{url}")
