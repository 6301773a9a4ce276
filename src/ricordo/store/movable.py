"""What a store offers to be copied, moved and tidied; part of the protocol in ``base``."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pathlib import Path

    from ricordo.exchange.records import ItemRecord, Record
    from ricordo.store.base import Backlog
    from ricordo.values.items import Saved
    from ricordo.values.reports import VacuumReport


class Importer(Protocol):
    """Takes the records of an export into a store, items before what refers to them."""

    def items(self, batch: Sequence[ItemRecord]) -> list[Saved]: ...
    def others(self, batch: Sequence[Record]) -> Mapping[str, int]: ...


class Movable(Protocol):
    """A store that can be copied, moved and tidied."""

    def records(self, *, log: bool = True) -> Generator[Record]: ...
    def importing(self, on_conflict: str, backlog: Backlog | None) -> Importer: ...
    def adopt_language(self, language: str) -> bool: ...
    def backup(
        self, target: Path, *, force: bool = False, progress: Callable[[int, int], None] | None = None
    ) -> None: ...
    def vacuum(self, *, bin_days: float, full: bool = False) -> VacuumReport: ...
