"""Comparing the knowledge folder with what the store knows of it: cheap enough to be done before every search.

A file with the time and size it was known with is not opened. Nothing is parsed, and nothing written.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from recollect.memory.knowledge_folder import KnowledgeFolder, Looks
from recollect.store.base import Store
from recollect.values import KnownFile


@dataclass(slots=True)
class Look:
    """The folder as it is beside what is known of it."""

    present: Mapping[str, Looks]
    known: Mapping[str, KnownFile]
    fresh: list[str] = field(default_factory=list)
    """Names of files that are new or changed."""
    touched: list[KnownFile] = field(default_factory=list)
    """Files that hold what they held, as they look now."""
    gone: dict[str, KnownFile] = field(default_factory=dict)

    @property
    def is_quiet(self) -> bool:
        return not self.fresh and not self.gone


def look(store: Store, folder: KnowledgeFolder, only: Collection[str] | None = None) -> Look:
    """Compare the folder, or some names in it, with what is known."""
    present = folder.scan() if only is None else folder.look(only)
    known = store.knowledge_files()
    asked = known if only is None else {name: known[name] for name in only if name in known}
    found = Look(present, known)
    for name, looks in present.items():
        row = known.get(name)
        if row is None or row.size != looks.size:
            found.fresh.append(name)
        elif row.mtime != looks.mtime:
            _compare(folder, row, found)
    found.gone = {name: row for name, row in asked.items() if name not in present}
    return found


def _compare(folder: KnowledgeFolder, row: KnownFile, found: Look) -> None:
    try:
        read = folder.read(row.name, known=row.hash)
    except OSError:  # whoever reads it to take it in says what is wrong
        found.fresh.append(row.name)
        return
    if read.hash != row.hash:
        found.fresh.append(row.name)
    elif read.looks.mtime != row.mtime:
        found.touched.append(replace(row, mtime=read.looks.mtime, size=read.looks.size))
