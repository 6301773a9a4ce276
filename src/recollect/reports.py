"""What moving and tidying a store answers: exports, imports, backups, vacuums."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from recollect.values import AddReport


@dataclass(frozen=True, slots=True)
class ExportReport:
    """What an export wrote; ``records`` counts by type, items among them."""

    file: str
    bytes: int
    records: Mapping[str, int]

    def to_dict(self) -> dict[str, Any]:
        return {"file": self.file, "bytes": self.bytes, "records": dict(self.records)}


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import did, item by item; ``records`` counts what came with them and was new: links, verdicts, …"""

    saved: AddReport
    records: Mapping[str, int] = field(default_factory=dict)

    @property
    def failed(self) -> int:
        return self.saved.failed

    def to_dict(self) -> dict[str, Any]:
        return self.saved.to_dict() | {"records": dict(self.records)}


@dataclass(frozen=True, slots=True)
class BackupReport:
    """A copy of a store as it was at one moment."""

    file: str
    bytes: int
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        return {"file": self.file, "bytes": self.bytes, "seconds": round(self.seconds, 3)}


@dataclass(frozen=True, slots=True)
class VacuumReport:
    """What was thrown away, and what the store takes on the disk before and after."""

    bytes_before: int
    bytes_after: int
    emptied: int = 0
    """Items erased from the bin, past the days they are kept there."""
    vectors: int = 0
    """Vectors of texts that no version holds any more."""
    blobs: int = 0
    segments_before: int = 0
    segments_after: int = 0
    rewritten: bool = False
    """Whether the file was written anew; not when there was next to nothing to gain."""
    seconds: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"seconds": round(self.seconds, 3)}
