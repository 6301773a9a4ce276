"""URLs and the addresses behind them: each URL in one normal form, so that a page has one ref; only public addresses.

Host names are looked up here, and each address is checked. The connection is then made to the very address that was
checked, so a name cannot mean one address when it is checked and another when it is used. Users may allow hosts or
private addresses (``fetch.allow_*``). Nothing here connects.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Sequence
from ipaddress import AddressValueError, IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from urllib.parse import quote, urljoin, urlsplit

from ricordo.bounded import call_within
from ricordo.errors import Forbidden, Unavailable, UsageError
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
    try:
        parts = urlsplit(given)
    except ValueError:
        raise _bad_host(given) from None
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
    try:
        port = parts.port
    except ValueError:
        raise UsageError(f"the port of {shown(given)} is not a number", hint="Check the URL.") from None
    place = f"[{host}]" if ":" in host else host
    if port is not None and port != _PORTS[scheme]:
        place += f":{port}"
    path = _without_dots(quote(parts.path, safe=_KEPT_IN_PATH)) or "/"
    query = f"?{quote(parts.query, safe=_KEPT_IN_QUERY)}" if parts.query else ""
    return f"{scheme}://{place}{path}{query}"


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
        try:
            return IPv6Address(name.replace("%", "?")).compressed  # one with a zone belongs to the local network
        except AddressValueError:
            raise _bad_host(name) from None
    last = name.rstrip(".").rpartition(".")[2]
    if _NUMBER.match(last):
        if not _PLAIN_IPV4.match(name):
            raise UsageError(f"'{host}' is a disguised address", hint="Write the address as 93.184.216.34.")
        return name
    if not name or len(name) > 253 or not _HOST.match(name):
        raise _bad_host(host)
    return name.rstrip(".")


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


Address = IPv4Address | IPv6Address

# Ranges that Python's own table leaves out or calls global: Azure's metadata server, shared and benchmark ranges.
_ALSO_PRIVATE = tuple(
    IPv4Network(network)
    for network in ("168.63.129.16/32", "100.64.0.0/10", "192.0.0.0/24", "192.88.99.0/24", "198.18.0.0/15", "0.0.0.0/8")
)
_ALSO_PRIVATE_6 = tuple(
    IPv6Network(network) for network in ("::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "fec0::/10", "5f00::/16")
)
_NAT64 = IPv6Network("64:ff9b::/96")


def is_public(address: Address) -> bool:
    """Whether an address belongs to the open internet. An IPv6 address that contains an IPv4 one counts as that one.

    >>> is_public(ip_address("93.184.216.34")), is_public(ip_address("::ffff:169.254.169.254"))
    (True, False)
    """
    inner = _inner(address)
    if inner is not None:
        return is_public(inner)
    if isinstance(address, IPv4Address):
        special = any(address in network for network in _ALSO_PRIVATE)
    else:
        special = any(address in network for network in _ALSO_PRIVATE_6) or address.scope_id is not None
    return not special and address.is_global and not address.is_multicast and not address.is_reserved


def _inner(address: Address) -> IPv4Address | None:
    """The IPv4 address that an IPv6 address leads to (mapped, 6to4 or NAT64), if any."""
    if isinstance(address, IPv4Address):
        return None
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour


class Gate:
    """Looks up the addresses of hosts and returns those that may be reached."""

    def __init__(self, allow_private: bool, allow_hosts: Sequence[str], seconds: float) -> None:
        self._open = allow_private
        self._hosts = frozenset(host.strip().lower().strip("[]") for host in allow_hosts)
        self._seconds = seconds

    def addresses(self, host: str, port: int) -> list[str]:
        """The addresses of a host that may be reached, in the order to try them; an error if there are none."""
        found = self.lookup(host, port)
        if self._open or host in self._hosts or f"{host}:{port}" in self._hosts:
            return found
        public = [one for one in found if is_public(ip_address(one))]
        if not public:
            raise Forbidden(
                f"{host} has the address {found[0]}, which is not public, so it is not fetched",
                hint=f"If you trust it: ‹:config set fetch.allow_hosts {host}›",
            )
        return public

    def lookup(self, host: str, port: int) -> list[str]:
        """All addresses of a host, each once; an error if looking them up takes too long."""
        reason = "no address"
        try:
            # The system's resolver has no time limit that could be set.
            rows = call_within(
                self._seconds, lambda: socket.getaddrinfo(host, port, type=socket.SOCK_STREAM), "ricordo-dns"
            )
        except TimeoutError:
            raise Unavailable(
                f"the address of {host} was not found within {self._seconds:g} s",
                hint="Check the network connection, then try again.",
            ) from None
        except (OSError, UnicodeError) as error:
            rows, reason = [], getattr(error, "strerror", "") or reason
        if not rows:
            raise Unavailable(
                f"there is no host {host}, or no network: {reason}",
                hint="Check the spelling of the URL and the network connection.",
            )
        return list(dict.fromkeys(str(row[4][0]) for row in rows))
