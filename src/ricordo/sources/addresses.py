"""Which addresses may be reached: public ones. Names are turned into addresses here, and each is judged.

The connection is then made to the very address that was judged, so that a name cannot mean one thing when it is checked
and another when it is used. Allowing hosts or private addresses is the user's own decision (``fetch.allow_*``).
"""

from __future__ import annotations

import socket
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

from ricordo.bounded import call_within
from ricordo.errors import Forbidden, Unavailable

Address = IPv4Address | IPv6Address

# What Python's own table leaves out or calls global: the wire server of Azure, shared and benchmark space.
_ALSO_PRIVATE = tuple(
    IPv4Network(network)
    for network in ("168.63.129.16/32", "100.64.0.0/10", "192.0.0.0/24", "192.88.99.0/24", "198.18.0.0/15", "0.0.0.0/8")
)
_ALSO_PRIVATE_6 = tuple(
    IPv6Network(network) for network in ("::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "fec0::/10", "5f00::/16")
)
_NAT64 = IPv6Network("64:ff9b::/96")


def is_public(address: Address) -> bool:
    """Whether an address is one of the open internet. An IPv6 address that holds an IPv4 one is judged by that too.

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
    """The IPv4 address that packets for an IPv6 address end up at: mapped, 6to4 or NAT64."""
    if isinstance(address, IPv4Address):
        return None
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour


class Gate:
    """Finds the addresses of hosts and lets through those that may be reached."""

    def __init__(self, *, allow_private: bool, allow_hosts: Sequence[str], seconds: float) -> None:
        self._open = allow_private
        self._hosts = frozenset(host.strip().lower().strip("[]") for host in allow_hosts)
        self._seconds = seconds

    def addresses(self, host: str, port: int) -> list[str]:
        """The addresses of a host that may be reached, in the order to try them; an error when there is none."""
        found = self.lookup(host, port)
        if self._open or host in self._hosts or f"{host}:{port}" in self._hosts:
            return found
        public = [one for one in found if is_public(ip_address(one))]
        if not public:
            raise Forbidden(
                f"{host} is at {found[0]}, an address that is not public, and is not fetched",
                hint=f"If you trust it: ricordo config set fetch.allow_hosts {host}",
            )
        return public

    def lookup(self, host: str, port: int) -> list[str]:
        """All addresses of a host, each once; within the time that reaching it may take."""
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
