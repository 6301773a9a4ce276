"""Addresses of stores on servers, such as ``postgresql://user@host/database``. Plugins open them, by their schemes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from ricordo.errors import Unavailable
from ricordo.masking import DATABASES, masked
from ricordo.plugin import brought_as, names_of

if TYPE_CHECKING:
    from ricordo.config.loading import Config


class ServerAddress(Protocol):
    """The address of a store on a server, as a plugin reads it."""

    @property
    def shown(self) -> str:
        """The address without its password, for people to read."""

    def open(self, config: Config, *, create: bool, busy_seconds: float) -> Any:
        """Open the store (``store.base.Store``)."""


def is_address(text: str) -> bool:
    """Whether a text names a store on a server, and not a file."""
    return _scheme(text) in (*DATABASES, *names_of("stores"))


def parse(text: str) -> ServerAddress:
    """The address in a text; an error never repeats what could be a part of its password."""
    read: Callable[[str], ServerAddress] | None = brought_as("stores", _scheme(text))
    if read is None:
        raise Unavailable(
            f"stores at {_scheme(text)}:// need the plugin 'postgres', which is not installed",
            hint="Install it: pip install --force-reinstall 'ricordo[postgres]'",
        )
    return read(text)


def shown(text: str) -> str:
    """A store as people may see it: an address without its password, anything else as it is."""
    return parse(text).shown if _scheme(text) in names_of("stores") else masked(text)


def _scheme(text: str) -> str:
    scheme, separator, _ = text.partition("://")
    return scheme.strip().lower() if separator else ""
