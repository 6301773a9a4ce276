"""Taking in files, folders, standard input and handed-over texts: what is new, what is skipped, what failed and why.

On-conflict is decided from the ref before a file is opened. Walking and parsing are done by ``sources`` and ``parse``.
"""

from __future__ import annotations

import glob
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from recollect.errors import Error, NotFound, PathConflict, UsageError
from recollect.ingest.parse import Limits, parse_bytes, parse_file
from recollect.ingest.pipeline import Incoming, Pipeline
from recollect.settings import Config
from recollect.sources.disk import Found, Skipped, disk_ref, walk
from recollect.store.base import Backlog, Store
from recollect.values import AddReport, Entry, Parsed, Progress, Ref, Saved

CHANGED = "already in the store, and changed on disk since: use 'recollect refresh' to take the change in"
_GLOB_SIGNS = frozenset("*?[")


class Adding:
    """One ``add``: its options, and the report it builds up."""

    def __init__(
        self,
        store: Store,
        pipeline: Pipeline,
        config: Config,
        *,
        kind: str | None,
        fields: Mapping[str, Any],
        on_conflict: str,
        backlog: Backlog | None,
        progress: Callable[[Progress], None] | None,
    ) -> None:
        self.store = store
        self.pipeline = pipeline
        self.config = config
        self.kind = kind
        self.fields = fields
        self.on_conflict = on_conflict
        self.backlog = backlog
        self.progress = progress
        self.limits = Limits(seconds=config.ingest.parse_seconds, memory_mb=config.ingest.parse_memory_mb)
        self.done: list[Saved] = []
        self.notes: list[str] = []
        self.started = time.monotonic()

    def text(self, ref: Ref, text: str | bytes) -> AddReport:
        """Take in standard input or a string under a ref."""
        self._refuse_existing([ref])
        data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
        incoming: list[Incoming] = []
        try:
            incoming.append(Incoming(ref, parse_bytes(data, ref.path), self.kind or kind_of(ref), self.fields))
        except Error as error:
            self.done.append(Saved(str(ref), "failed", error=error.to_dict()))
        self.done.extend(self._save(incoming, durable=True))
        return self._report()

    def entries(self, entries: Iterable[tuple[Ref, Entry]], *, durable: bool) -> AddReport:
        """Take in texts handed over by a program."""

        def incoming() -> Iterator[Incoming]:
            for ref, entry in entries:
                parsed = Parsed(entry.content, structure=entry.structure)
                yield Incoming(ref, parsed, entry.kind, entry.fields)

        for saved in self._save(incoming(), durable=durable):
            self.done.append(saved)
            self._tell(None, saved.ref)
        return self._report()

    def sources(self, sources: Sequence[str | Path], *, globs: Sequence[str], as_ref: Ref | None) -> AddReport:
        """Take in files and folders; folders are remembered as roots."""
        if not sources:
            raise UsageError("nothing to add", hint="Name files or folders: recollect add ~/notes")
        found: list[Found] = []
        roots: list[Path] = []
        for source in sources:
            for path in self._expanded(str(source)):
                if path.is_dir():
                    roots.append(path)
                    self._walk(path, globs, found)
                else:
                    self._single(path, found)
        if as_ref is not None and roots:
            raise UsageError("--as names one item, so it goes with one file", hint="Leave out --as for folders.")
        refs = {entry.path: as_ref or disk_ref(entry.path) for entry in found}
        self._refuse_existing(list(refs.values()))
        for root in roots:
            self.store.remember_root(str(root.resolve()), globs)
        self._take(found, refs)
        return self._report()

    def _expanded(self, source: str) -> list[Path]:
        path = Path(source).expanduser()
        if path.exists() or path.is_symlink():
            return [path]
        if _GLOB_SIGNS & set(source):
            matches = sorted(Path(name) for name in glob.iglob(str(path), recursive=True))  # noqa: PTH207 - takes ** and ~ as shells do
            if matches:
                return [match for match in matches if match.is_file()] or matches
        problem = NotFound(f"there is no file or folder {source}", hint="Check the spelling, or quote the name.")
        self.done.append(Saved(source, "failed", error=problem.to_dict()))
        return []

    def _walk(self, root: Path, globs: Sequence[str], found: list[Found]) -> None:
        for entry in walk(
            root, max_bytes=self._max_bytes(), globs=globs, follow_symlinks=self.config.ingest.follow_symlinks
        ):
            if isinstance(entry, Found):
                found.append(entry)
            else:
                self._skipped(entry)

    def _single(self, path: Path, found: list[Found]) -> None:
        """A file that was named outright is taken whatever the ignore files say."""
        for entry in walk(path, max_bytes=self._max_bytes()):
            if isinstance(entry, Found):
                found.append(entry)
            else:
                self._skipped(entry)

    def _skipped(self, entry: Skipped) -> None:
        name = str(entry.path).encode("utf-8", "replace").decode()
        if entry.failed:
            self.done.append(Saved(name, "failed", error={"code": "unreadable", "message": entry.reason, "hint": ""}))
        else:
            self.done.append(Saved(name, "skipped", reason=entry.reason))

    def _max_bytes(self) -> int:
        return int(self.config.ingest.max_file_mb * 1_000_000)

    def _refuse_existing(self, refs: Sequence[Ref]) -> None:
        """``error`` fails before anything is read or written."""
        if self.on_conflict != "error":
            return
        for ref in refs:
            n = self.store.number(ref)
            if n is not None and self.store.item(n).state != "deleted":
                raise PathConflict(
                    f"{ref} is already in the store; nothing was written",
                    hint=f"Read it first (get {ref}), or pass --on-conflict overwrite.",
                )

    def _take(self, found: Sequence[Found], refs: Mapping[Path, Ref]) -> None:
        known = self.store.known_files() if self.on_conflict == "skip" else {}
        wanted = [entry for entry in found if not self._already_in(entry, refs[entry.path], known)]
        total = len(wanted)

        def incoming() -> Iterator[Incoming]:
            for entry in wanted:
                one = self._read(entry, refs[entry.path])
                if one is not None:
                    yield one

        for saved in self._save(incoming()):
            self.done.append(saved)
            self._tell(total, saved.ref)

    def _already_in(self, entry: Found, ref: Ref, known: Mapping[str, tuple[int | None, int | None]]) -> bool:
        if self.on_conflict != "skip":
            return False
        if ref.drive == "disk":
            if ref.path not in known:
                return False
            mtime, size = known[ref.path]
            changed = mtime is not None and (mtime, size) != (entry.mtime_ns, entry.size)
        else:
            n = self.store.number(ref)
            if n is None or self.store.item(n).state == "deleted":
                return False
            changed = False
        self.done.append(Saved(str(ref), "skipped", reason=CHANGED if changed else "already in the store"))
        return True

    def _read(self, entry: Found, ref: Ref) -> Incoming | None:
        """Parse one file; what cannot be read becomes a failed line in the report."""
        try:
            parsed = parse_file(entry.path, limits=self.limits)
            blob = None if parsed.is_textual else entry.path.read_bytes()
        except Error as error:
            self.done.append(Saved(str(ref), "failed", error=error.to_dict()))
            return None
        except OSError as error:
            reason = {"code": "unreadable", "message": f"cannot be read: {error.strerror or error}", "hint": ""}
            self.done.append(Saved(str(ref), "failed", error=reason))
            return None
        for warning in parsed.warnings:
            self.notes.append(f"{ref}: {warning}")
        fields = {"source": "file", **self.fields}
        return Incoming(ref, parsed, self.kind or kind_of(ref), fields, blob, entry.mtime_ns, entry.size)

    def _save(self, incoming: Iterable[Incoming], *, durable: bool = False) -> Iterator[Saved]:
        return self.pipeline.save_all(incoming, on_conflict=self.on_conflict, durable=durable, backlog=self.backlog)

    def _tell(self, total: int | None, label: str) -> None:
        if self.progress is None:
            return
        count = len(self.done)
        rate = count / max(time.monotonic() - self.started, 1e-6)
        eta = (total - count) / rate if total and rate else None
        self.progress(Progress(count, total, label, "adding", rate, eta))

    def _report(self) -> AddReport:
        return AddReport(tuple(self.done), tuple(self.notes))


_KIND_OF_DRIVE = frozenset({"memory", "note", "article", "entity", "resource", "entry", "skill", "session"})


def kind_of(ref: Ref) -> str:
    """The kind that lives on a drive; everything else is a document."""
    return ref.drive if ref.drive in _KIND_OF_DRIVE else "document"
