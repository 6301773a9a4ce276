"""Decides which addresses may be reached: only public ones. Host names are looked up here, and each address is checked.

The connection is then made to the very address that was checked, so a name cannot mean one address when it is checked
and another when it is used. Users may allow hosts or private addresses (``fetch.allow_*``).
"""

from __future__ import annotations

import socket
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

from ricordo.bounded import call_within
from ricordo.errors import Forbidden, Unavailable

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

    def __init__(self, *, allow_private: bool, allow_hosts: Sequence[str], seconds: float) -> None:
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
