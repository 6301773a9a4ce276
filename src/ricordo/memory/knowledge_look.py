"""Compares the knowledge folder with what the store knows about it; this is fast enough to do before every search.

A file whose time and size are the known ones is not opened. Nothing is parsed or written.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace

from ricordo.memory.knowledge_folder import KnowledgeFolder
from ricordo.store.base import Store
from ricordo.values.items import KnownFile


@dataclass(slots=True)
class FolderLook:
    """The differences between the folder and what is known about it."""

    known: int
    """How many files are known."""
    fresh: list[str] = field(default_factory=list)
    """Names of files that are new or changed."""
    touched: list[KnownFile] = field(default_factory=list)
    """Files with the known content, but another time, as they are now."""
    gone: dict[str, KnownFile] = field(default_factory=dict)

    @property
    def is_quiet(self) -> bool:
        return not self.fresh and not self.gone


def look(store: Store, folder: KnowledgeFolder, only: Collection[str] | None = None) -> FolderLook:
    """Compare the folder, or some names in it, with what is known."""
    present = folder.scan() if only is None else folder.look(only)
    known = store.knowledge.times_and_sizes()
    found = FolderLook(len(known))
    other = [name for name, looks in present.items() if known.get(name) != looks]
    missing = [name for name in (known if only is None else only) if name in known and name not in present]
    if not other and not missing:
        return found
    rows = store.knowledge.files([*other, *missing])
    for name in other:
        row = rows.get(name)
        if row is None or row.size != present[name].size:
            found.fresh.append(name)
        else:
            _compare(folder, row, found)
    found.gone = {name: rows[name] for name in missing if name in rows}
    return found


def _compare(folder: KnowledgeFolder, row: KnownFile, found: FolderLook) -> None:
    try:
        read = folder.read(row.name, known=row.hash)
    except OSError:  # the code that takes it in reports what is wrong
        found.fresh.append(row.name)
        return
    if read.hash != row.hash:
        found.fresh.append(row.name)
    elif read.looks.mtime != row.mtime:
        found.touched.append(replace(row, mtime=read.looks.mtime, size=read.looks.size))
