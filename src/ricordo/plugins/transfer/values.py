"""What exports, imports and copies of a store report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from ricordo.errors import CorruptStore
from ricordo.frozen import frozen
from ricordo.values.plain import Plain, rounded
from ricordo.values.reports import AddReport


@frozen
class ExportReport(Plain):
    """What an export wrote; ``records`` counts by type, items among them."""

    file: str
    bytes: int
    records: Mapping[str, int]
    left_out: tuple[str, ...] = ()
    """With ``salvage``: what could not be read, and what is no longer as it was saved."""

    @property
    def failure(self) -> tuple[str, str, str] | None:
        if not self.left_out:
            return None
        return CorruptStore.code, f"{len(self.left_out)} versions or rows are damaged", "'ricordo doctor' names them."


@frozen
class ImportReport:
    """What an import did, item by item; ``records`` counts what came with them and was new: links, verdicts, …"""

    saved: AddReport
    records: Mapping[str, int] = field(default_factory=dict)

    @property
    def failed(self) -> int:
        return self.saved.failed

    def to_dict(self) -> dict[str, Any]:
        return self.saved.to_dict() | {"records": dict(self.records)}

    @property
    def failure(self) -> tuple[str, str, str] | None:
        message = f"{self.failed} of {len(self.saved.items)} failed"
        return ("some_failed", message, "Each failed item carries its error in data.items.") if self.failed else None


@frozen
class MigrateReport(Plain):
    """A store that was copied into another one, and compared with it."""

    source: str
    target: str
    items: int
    written: int
    """How many items were copied now; the others were there from an earlier run."""
    records: Mapping[str, int]
    vectors: int
    seconds: float = field(metadata=rounded(3))
