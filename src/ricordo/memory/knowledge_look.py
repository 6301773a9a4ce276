"""Comparing the knowledge folder with what the store knows of it: cheap enough to be done before every search.

A file with the time and size it was known with is not opened. Nothing is parsed, and nothing written.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace

from ricordo.memory.knowledge_folder import KnowledgeFolder
from ricordo.store.base import Store
from ricordo.values.items import KnownFile


@dataclass(slots=True)
class FolderLook:
    """The folder as it is beside what is known of it."""

    known: int
    """How many files are known."""
    fresh: list[str] = field(default_factory=list)
    """Names of files that are new or changed."""
    touched: list[KnownFile] = field(default_factory=list)
    """Files that hold what they held, as they look now."""
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
    except OSError:  # whoever reads it to take it in says what is wrong
        found.fresh.append(row.name)
        return
    if read.hash != row.hash:
        found.fresh.append(row.name)
    elif read.looks.mtime != row.mtime:
        found.touched.append(replace(row, mtime=read.looks.mtime, size=read.looks.size))
