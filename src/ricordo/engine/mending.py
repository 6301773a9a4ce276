"""Repairs damaged texts for ``doctor --repair``: from the file they came from, else from an older version.

A text from a file counts only when the hash of the damaged version says that it is the very text that was saved. If no
file has it, the newest undamaged version becomes the current one again; the damaged one stays in the history.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ricordo.engine.context import EngineContext
from ricordo.errors import Error
from ricordo.sources.disk import ref_path
from ricordo.values.items import Ref
from ricordo.values.reports import Check, Damage

Restore = Callable[[Ref, int], object]


def mend_damage(context: EngineContext, restore: Restore) -> Check | None:
    """What was repaired, and what could not be; empty if nothing is damaged."""
    store = context.unsynced_store
    lines = [
        f"{one.ref} version {one.number}: from its file"
        for one in store.damage()
        if any(store.mend(one.n, one.number, text) for text in _texts(context, one))
    ]
    for one in store.damage():
        if one.is_head and one.sound is not None:
            try:
                restore(Ref.parse(one.ref), one.sound)
                lines.append(f"{one.ref}: version {one.sound} is the current one again")
            except Error as error:
                lines.append(f"{one.ref}: not mended, {error.message}")
    left = [one for one in store.damage() if one.is_head]
    lines += [f"{one.ref} version {one.number}: no sound copy was found" for one in left]
    return Check("mending", not left, "; ".join(lines)) if lines else None


def _texts(context: EngineContext, one: Damage) -> Iterator[str]:
    """What the files of an item say now."""
    from ricordo.ingest.formats.read import parse_bytes
    from ricordo.memory.files.format import read
    from ricordo.sources.disk import FoundFile

    if context.knowledge is not None:
        known = context.unsynced_store.knowledge.files_of([one.n])
        for file in known.values():
            try:
                yield read(context.knowledge.folder.read(file.name).data, file.name).text
            except (Error, OSError):
                continue
    if one.ref.startswith("disk:") and context.file_refs.is_here(ref := Ref.parse(one.ref)):
        files = context.files()
        for entry in files.at(ref_path(ref, context.file_refs)):
            if isinstance(entry, FoundFile):
                try:
                    yield parse_bytes(files.bytes_of(entry), entry.path.name, limits=files.limits).text
                except (Error, OSError):
                    continue
