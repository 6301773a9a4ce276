"""Placeholder until the walker lands."""
from __future__ import annotations
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from recollect.values import Ref
@dataclass(frozen=True, slots=True)
class Found:
    path: Path
    size: int
    mtime_ns: int
@dataclass(frozen=True, slots=True)
class Skipped:
    path: Path
    reason: str
    failed: bool
def walk(root: Path, *, max_bytes: int, globs: Sequence[str] = (), follow_symlinks: bool = True) -> Iterator[Found | Skipped]:
    files = [root] if root.is_file() else sorted(p for p in root.rglob("*") if p.is_file())
    for p in files:
        s = p.stat()
        yield Found(p, s.st_size, s.st_mtime_ns)
def disk_ref(path: Path) -> Ref:
    return Ref("disk", os.path.abspath(path))
