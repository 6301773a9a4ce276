"""Verbs for the folders that were added: roots, forget_root, relocate; and following a project that moved."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ricordo.engine.context import EngineContext
from ricordo.errors import Error, NotFound, UsageError
from ricordo.registry import disk_path, disk_ref
from ricordo.values.items import Ref
from ricordo.values.reports import Refreshed, RefreshReport, Root
from ricordo.verbs.declare import verb

if TYPE_CHECKING:
    from typing import Annotated

    from ricordo.store.values import FileState
    from ricordo.verbs.declare import Say
    from ricordo.verbs.parameters import REF_TEXT

SAMPLE = 50
"""How many items are looked at to find out whether, and from where, a project was moved."""


class RootVerbs:
    """Lists and leaves the folders that were added, and follows those that moved."""

    def __init__(self, context: EngineContext) -> None:
        self._context = context

    @verb(
        "read",
        "add",
        "List the folders that were added.",
        path="roots list",
        answers="roots",
        examples=("ricordo roots list",),
    )
    def roots(self) -> tuple[Root, ...]:
        """The folders that were added, and how many items each has."""
        store = self._context.store
        return tuple(
            Root(path, globs, len(store.items.refs_below("disk", disk_ref(Path(path)).path)), Path(path).is_dir())
            for path, globs in store.files.roots()
        )

    @verb(
        "files", "add", "Leave a folder, and keep its items.", path="roots rm", examples=("ricordo roots rm ~/notes",)
    )
    def forget_root(self, path: Annotated[str | Path, Say("The folder.", longest=REF_TEXT, shown="FOLDER")]) -> Root:
        """``refresh`` finds no more new files in it. Its items stay until they are removed."""
        wanted = os.path.abspath(os.path.expanduser(path))  # noqa: PTH100, PTH111 - resolve() would follow links
        known = {root.path: root for root in self.roots()}
        if wanted not in known:
            listed = ", ".join(known) or "none"
            raise NotFound(f"{wanted} is not a folder that was added", hint=f"Folders that were added: {listed}.")
        self._context.store.files.forget_root(wanted)
        return known[wanted]

    @verb(
        "files",
        "add",
        "Say that files were moved to another folder.",
        path="roots move",
        examples=("ricordo roots move ~/old/notes ~/new/notes",),
    )
    def relocate(
        self,
        old: Annotated[str | Path, Say("Where they were.", longest=REF_TEXT)],
        new: Annotated[str | Path, Say("Where they are now.", longest=REF_TEXT)],
    ) -> RefreshReport:
        """What was added from ``old`` gets the refs of the same files in ``new``.

        History, fields and vectors stay. A project that is moved with its store is followed by ``refresh`` by itself.
        """
        before, after = (disk_ref(Path(os.path.expanduser(path))).path for path in (old, new))  # noqa: PTH111
        if not disk_path(Ref("disk", after)).exists():
            raise UsageError(
                f"there is no file or folder {after}", hint="Name the place where the files are now, after the old one."
            )
        if before == after:
            raise UsageError("both names are the same", hint="Name the old place, then the new one.")
        items = self._context.store.items.refs_below("disk", before)
        roots = [root for root, _ in self._context.store.files.roots() if _is_within(disk_ref(Path(root)).path, before)]
        if not items and not roots:
            raise NotFound(f"nothing was added from {before}", hint="‹:roots› and ‹:tree› show what was.")
        states = self._context.store.files.states([n for n, _, _ in items])
        done = [self._moved(n, ref, f"{after}{ref.path[len(before) :]}", states) for n, ref, _ in items]
        self._move_roots(before, after)
        return RefreshReport(tuple(done))

    def _moved(self, n: int, ref: Ref, path: str, states: Mapping[int, FileState]) -> Refreshed:
        """Give one item its new ref; its text, its vectors and its history stay."""
        store = self._context.store
        target = Ref("disk", path)
        try:
            draft = replace(store.items.draft(n, store.items.get_many([n])[n].version), ref=target)
            prepared = self._context.pipeline.prepare_draft(draft, states.get(n))
            saved = store.changes.rewrite(n, prepared, backlog=self._context.models.backlog())
        except Error as error:
            return Refreshed(str(ref), "failed", error.to_dict())
        return Refreshed(str(target), "moved", chunks=saved.chunks)

    def _move_roots(self, before: str, after: str) -> None:
        files = self._context.store.files
        for root, globs in files.roots():
            place = disk_ref(Path(root)).path
            if _is_within(place, before):
                files.forget_root(root)
                files.remember_root(str(disk_path(Ref("disk", f"{after}{place[len(before) :]}"))), globs)

    def follow_project(self) -> RefreshReport | None:
        """If the project that holds this store was moved, let the refs of its files follow; None if it was not."""
        store_folder = Path(self._context.location).absolute().parent
        if store_folder.name != ".ricordo":
            return None
        project = store_folder.parent
        before = self._left_place(project)
        if before is None:
            return None
        report = self.relocate(before, project)
        count = report.count("moved")
        note = f"the project moved from {before} to {project}: {count:,} item{'' if count == 1 else 's'} followed"
        return replace(report, notes=(note,))

    def _left_place(self, project: Path) -> str | None:
        """The old folder of the project: most missing files were below it, at the path that they have in the project
        now.
        """
        items = self._context.store.items.refs_below("disk", "/")
        sample = items[:: max(1, len(items) // SAMPLE)][:SAMPLE]
        states = self._context.store.files.states([n for n, _, _ in sample])
        places = {n: disk_path(ref) for n, ref, _ in sample if n in states}
        missing = [n for n, path in places.items() if not path.exists()]
        found: Counter[str] = Counter()
        for n in missing:
            parts = places[n].parts
            for at in range(1, len(parts)):
                now = project.joinpath(*parts[at:])
                if now.is_file() and now.stat().st_size == states[n].size:
                    found[str(Path(*parts[:at]))] += 1
                    break
        if not found:
            return None
        place, count = found.most_common(1)[0]
        is_apart = place != str(project) and not Path(place, ".ricordo").exists()
        return place if is_apart and 2 * count > len(missing) else None


def _is_within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")
