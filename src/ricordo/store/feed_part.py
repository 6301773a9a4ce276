"""The part of a store on a server that feeds a search engine beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ricordo.values.search_index import IndexReport


class Feed(Protocol):
    """Keeps a search engine like the store."""

    def report(self) -> IndexReport: ...
    def rebuild(self) -> None:
        """Fill the engine anew; until that is done, the server's own index answers searches."""
        ...

    def drop(self) -> None:
        """Stop feeding, and throw away what the engine has."""
        ...

    def run(self) -> int:
        """Apply the changes that wait, unless another process does; returns how many were applied here."""
        ...
