"""Adds files, folders, pages, standard input and texts, and reports what was new, skipped or failed, and why.

What to do about a conflict is decided by the ref, before a file is opened or a page is fetched (unless the links of the
page are needed). Each page is saved as soon as it is read, so that nothing is lost if the command is interrupted.
``sources`` finds files and fetches pages, ``formats`` reads them.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from ricordo.config.files import current_folder
from ricordo.errors import Error, NotFound, PathConflict, Unavailable, Unreadable, UsageError
from ricordo.ingest.files import (
    FileReader,
    NewFiles,
    authored,
    folder_line,
    times_of,
    with_stored_fields,
    without_secrets,
)
from ricordo.ingest.formats.read import parse_bytes
from ricordo.ingest.pipeline import Incoming, Pipeline, own_fields
from ricordo.plugin import ask
from ricordo.sources.disk import FoundFile, Skipped, absolute, disk_ref, expand, near_paths, printable
from ricordo.store.base import Store
from ricordo.store.values import Backlog, FileState
from ricordo.values.items import PLAIN, Entry, FileRefs, Item, Parsed, Ref, Saved
from ricordo.values.kinds import kind_of_drive
from ricordo.values.reports import AddReport, Progress

CHANGED = "already in the store, and changed on disk since: use 'ricordo refresh' to take the change in"
KNOWN = "already in the store"
_ADDRESS = re.compile(r"(?:url:/)?[a-z][a-z0-9+.-]*://", re.IGNORECASE)


def looks_like_url(text: str) -> bool:
    """Whether a name looks like a URL of any scheme; ``url:/https://…`` counts too."""
    return _ADDRESS.match(text) is not None


class Pages(Protocol):
    """The pages of one ``add``, which a plugin takes in."""

    @property
    def refs(self) -> Sequence[Ref]:
        """Where they will be kept."""

    def take(self, as_ref: Ref | None) -> None:
        """Add them, a single one under ``as_ref`` if that is given, and report what became of each."""


class PageSource(Protocol):
    """Reads pages, for ``add`` and ``refresh``; a plugin brings one (see ``page_reader`` in ``Plugin.on``)."""

    def pages(self, adding: Adding, urls: Sequence[str], *, depth: int, sitemap: bool, most: int) -> Pages:
        """The pages at some URLs, which ``adding`` adds."""

    def again(self, url: str, item: Item, state: FileState | None) -> Incoming | FileState | None:
        """Read the page of an item again: the item if it changed, its new state if only that changed, else None."""

    def close(self) -> None:
        """End the connections, and what was started."""


FEW_PASSAGES = 500
"""If there are fewer, nobody needs to know how long their vectors take."""
TRIED = 100
"""So many vectors are made early, to learn how long the rest takes."""


@dataclass(eq=False)
class _Work:
    """How much of an ``add`` is done, and how long the rest takes: reading files, and then making vectors.

    How many passages there will be is estimated from the files so far, and how long a vector takes from the first ones,
    which are made when a twentieth of the files is saved.
    """

    size: int
    make_vectors: Callable[[int], int] | None
    read: int = 0
    saved: int = 0
    passages: int = 0
    made: int = 0
    spent: float = 0.0
    """The seconds in which ``made`` vectors were made."""

    def passages_in_all(self) -> float:
        return self.passages * self.size / self.saved if self.saved else 0.0

    def try_vectors(self) -> None:
        """Make the first vectors once there are enough passages to learn from."""
        is_due = self.passages >= TRIED and self.saved * 20 >= self.size and self.passages_in_all() >= FEW_PASSAGES
        if self.make_vectors is not None and not self.spent and is_due:
            started = time.monotonic()
            self.made = self.make_vectors(TRIED)
            self.spent = time.monotonic() - started

    def seconds_left(self, seconds: float) -> float | None:
        """For what is left after so many seconds of reading; None while that is not known."""
        if not self.read or (self.make_vectors is not None and not self.spent):
            return None
        vectors = (self.passages_in_all() - self.made) * self.spent / self.made if self.made else 0.0
        return seconds * (self.size - self.read) / self.read + vectors


@dataclass(eq=False)
class Adding:
    """One ``add``: its options, and the report it builds up."""

    store: Store
    pipeline: Pipeline
    files: FileReader
    _: KW_ONLY
    kind: str | None
    fields: Mapping[str, Any]
    on_conflict: str
    backlog: Backlog | None
    progress: Callable[[Progress], None] | None
    allow_secrets: bool = False
    dry_run: bool = False
    make_vectors: Callable[[int], int] | None = None
    """Makes at most so many of the vectors that wait, and says how many; None if none will be made."""
    done: list[Saved] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    _untrusted: Counter[Path] = field(default_factory=Counter)
    """By folder: how many files say that every agent gets them, while the user does not trust the folder."""
    _new: NewFiles = field(init=False)
    _lines: Mapping[str, str] = field(default_factory=dict)
    """What folders hold."""
    _folders: dict[Path, Path | None] = field(default_factory=dict)
    """By file: the folder that was added; None for a file that was named itself."""
    started: float = field(default_factory=time.monotonic)
    refs: FileRefs = PLAIN

    def text(self, ref: Ref, text: str | bytes) -> AddReport:
        """Add standard input or a string under a ref."""
        self._refuse_existing([ref])
        if self._skips_existing(ref, self._existing([ref])):
            return self._report()
        data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
        incoming: list[Incoming] = []
        try:
            parsed = parse_bytes(data, ref.path, limits=self.files.limits)
            blob = None if parsed.is_textual else data  # there is no file to read it from again, so its bytes are kept
            incoming.append(
                self._merge_with_stored(
                    Incoming(ref, parsed, self.kind_for(ref), self.fields, blob, times=times_of(parsed))
                )
            )
            self._warn(ref, parsed)
        except Error as error:
            self.fail(str(ref), error)
        self.done.extend(self._save(incoming, durable=True))
        return self._report()

    def entries(self, entries: Iterable[tuple[Ref, Entry]], *, durable: bool) -> AddReport:
        """Add texts that a program passes."""

        def incoming() -> Iterator[Incoming]:
            for ref, entry in entries:
                parsed = Parsed(entry.content, structure=entry.structure)
                yield Incoming(ref, parsed, entry.kind, entry.fields, times=entry.times)

        return self.take_all(incoming(), durable=durable)

    def history(self, sources: Sequence[str | Path]) -> AddReport:
        """Add the history of the files or folders, after they were added themselves."""
        if not ask("add_history", self, sources):
            raise Unavailable("no plugin reads histories", hint="Leave out ‹history›, or install the plugin 'history'.")
        return self._report()

    def take_all(self, incoming: Iterable[Incoming], *, durable: bool = False) -> AddReport:
        """Save whatever comes."""
        for saved in self._save(incoming, durable=durable):
            self.done.append(saved)
            self.tell(len(self.done), None, saved.ref)
        return self._report()

    def sources(
        self,
        sources: Sequence[str | Path],
        *,
        globs: Sequence[str],
        as_ref: Ref | None,
        pages: Callable[[Adding, Sequence[str]], Pages] | None = None,
    ) -> AddReport:
        """Add files, folders and pages; folders are remembered as roots. ``pages`` is called with URLs, if any."""
        if not sources:
            raise UsageError("nothing to add", hint="Name files, folders or URLs: ‹:add ~/notes›")
        urls = [source for source in sources if pages and isinstance(source, str) and looks_like_url(source)]
        web = pages(self, urls) if pages is not None and urls else None
        page_refs = [as_ref or ref for ref in web.refs] if web is not None else []
        self.refs = self.store.machines.refs()
        self._new = NewFiles(self.store, self.refs)
        self._lines = self.store.files.descriptions()
        files: dict[Path, FoundFile] = {}
        roots: list[Path] = []
        for source in sources:
            if source in urls:
                continue
            for path in self.expanded(str(source)):
                if path.is_dir():
                    roots.append(path)
                # A file that the user named is added whatever the ignore files say.
                for entry in self.files.at(path, globs if path.is_dir() else ()):
                    if isinstance(entry, FoundFile):
                        files[entry.path] = entry
                        self._folders[entry.path] = Path(absolute(path)) if path.is_dir() else None
                    else:
                        self._pass_over(entry)
        if as_ref is not None and (roots or len(files) > 1):
            raise UsageError(
                "‹as_ref› names one item, so it goes with one file", hint="Leave out ‹as_ref›, or add one file."
            )
        refs = {path: as_ref or disk_ref(path, self.refs) for path in files}
        self._refuse_existing([*refs.values(), *page_refs])
        if self.dry_run:
            return self._dry_run_report(list(files.values()), refs, page_refs)
        if refs and as_ref is None:
            self.store.machines.note_this()
        for root in roots:
            self._remember(absolute(root), tuple(globs))
        self._take(list(files.values()), refs)
        if web is not None:
            web.take(as_ref)
        return self._report()

    def _dry_run_report(self, files: Sequence[FoundFile], refs: Mapping[Path, Ref], pages: Sequence[Ref]) -> AddReport:
        """What would be added; nothing is read, fetched or written."""
        existing = self._existing([*refs.values(), *pages])
        wanted = [entry for entry in files if not self._skips_existing(refs[entry.path], existing, entry)]
        would = {"overwrite": "would be read again"}.get(self.on_conflict, KNOWN)
        for ref in (refs[entry.path] for entry in wanted):
            self.done.append(Saved(str(ref), would if ref in existing else "would be added"))
        self.done += [Saved(str(ref), "would be fetched") for ref in pages if not self._skips_existing(ref, existing)]
        size = sum(entry.size for entry in wanted) / 1e6
        count = f"{len(wanted):,} file{'' if len(wanted) == 1 else 's'}"
        self.notes.append(f"nothing was added: this would read {count} of {size:,.1f} MB")
        return self._report()

    def skips(self, ref: Ref) -> bool:
        """Whether a page is skipped because its ref exists already; the report says so then."""
        if self.on_conflict == "error":
            self._refuse_existing([ref])
        return self._skips_existing(ref, self._existing([ref]) if self.on_conflict == "skip" else {})

    def take_page(self, incoming: Incoming) -> None:
        """Save one page at once, because the next one may take long."""
        self._warn(incoming.ref, incoming.parsed)
        self.done.extend(self._save([self._merge_with_stored(incoming)]))

    def kind_for(self, ref: Ref) -> str:
        return self.kind or kind_of_drive(ref.drive)

    def expanded(self, source: str) -> list[Path]:
        """The files and folders that a path or glob names; where there are none, that is reported."""
        paths = expand(source, self.refs)
        if not paths:
            near = " or ".join(near_paths(source))
            hint = f"Did you mean {near}?" if near else "Check the spelling, or quote the name."
            if not Path(source).is_absolute() and not source.startswith(("~", "disk:/")):
                hint = f"{hint} It was looked for in {current_folder()}."
            self.fail(source, NotFound(f"there is no file or folder {source}", hint=hint))
        return paths

    def _remember(self, root: str, globs: tuple[str, ...]) -> None:
        """Remember a root; the globs that earlier calls gave for it stay in force."""
        before = dict(self.store.files.roots()).get(root)
        if before is not None and before != globs:
            globs = () if not before or not globs else tuple(dict.fromkeys((*before, *globs)))
        if str(printable(root)) == root:
            self.store.files.remember_root(root, globs)

    def _pass_over(self, entry: Skipped) -> None:
        name = str(disk_ref(printable(str(entry.path)), self.refs))
        if entry.failed:
            self.fail(name, Unreadable(entry.reason))
        else:
            self.done.append(Saved(name, "skipped", reason=entry.reason))

    def fail(self, name: str, error: Error) -> None:
        """Report something that could not be added."""
        self.done.append(Saved(name, "failed", error=error.to_dict()))

    def _existing(self, refs: Iterable[Ref]) -> dict[Ref, FileState | None]:
        """Those of the refs that exist already."""
        paths: dict[str, list[str]] = {}
        for ref in refs:
            paths.setdefault(ref.drive, []).append(ref.path)
        return {
            Ref(drive, path): state
            for drive, wanted in paths.items()
            for path, state in self.store.files.states_by_path(drive, wanted).items()
        }

    def _refuse_existing(self, refs: Sequence[Ref]) -> None:
        """With ``on_conflict`` error, fail before anything is read or written."""
        if self.on_conflict != "error":
            return
        for ref in self._existing(refs):
            raise PathConflict(
                f"{ref} is already in the store; nothing was written",
                hint=f"Read it first (get {ref}), or pass ‹on_conflict=overwrite›.",
            )

    def _skips_existing(
        self, ref: Ref, existing: Mapping[Ref, FileState | None], entry: FoundFile | None = None
    ) -> bool:
        if self.on_conflict != "skip" or ref not in existing:
            return False
        state = existing[ref]
        changed = state is not None and entry is not None and not state.looks_like(entry.mtime_ns, entry.size)
        self.done.append(Saved(str(ref), "skipped", reason=CHANGED if changed and ref.drive == "disk" else KNOWN))
        return True

    def _take(self, files: Sequence[FoundFile], refs: Mapping[Path, Ref]) -> None:
        existing = self._existing(refs.values()) if self.on_conflict == "skip" else {}
        wanted = [entry for entry in files if not self._skips_existing(refs[entry.path], existing, entry)]
        skipped = len(files) - len(wanted)
        wanted.sort(key=lambda entry: entry.is_link)  # what a link leads to is taken in under its own name
        sizes = {str(refs[entry.path]): entry.size for entry in wanted}
        work = _Work(sum(sizes.values()), self.make_vectors)

        def incoming() -> Iterator[Incoming]:
            for place, entry in enumerate(wanted):
                ref = refs[entry.path]
                # Progress is reported before the file is read, because reading a large one takes long.
                self.tell(place, len(wanted), str(ref), skipped, work=work)
                item = self._read(entry, ref)
                work.read += entry.size
                if item is not None:
                    yield item
                else:
                    work.saved += entry.size
            self.tell(len(wanted), len(wanted), "", skipped, work=work)

        for saved in self._save(incoming()):
            self.done.append(saved)
            work.saved += sizes[saved.ref]
            work.passages += saved.chunks
        self._new.note()

    def _read(self, entry: FoundFile, ref: Ref) -> Incoming | None:
        """Parse one file; a file that cannot be read is reported as failed."""
        try:
            data = self.files.bytes_of(entry)
            if reason := self._new.reason(self._folders[entry.path], ref, entry.path, data):
                self.done.append(Saved(str(ref), "skipped", reason=reason))
                return None
            incoming = self._merge_with_stored(
                self.files.incoming(ref, entry, data, self.kind_for(ref), fields=self._fields_of(entry.path))
            )
        except Error as error:
            self.fail(str(ref), error)
            return None
        self._warn(ref, incoming.parsed)
        if incoming.parsed.fields.get("loading") == "always" and not incoming.vouched:
            self._untrusted[entry.path.parent] += 1
        return incoming

    def _fields_of(self, path: Path) -> Mapping[str, Any]:
        """The fields of a new file: those of this call, and what the user said of its folder."""
        line = folder_line(path, self._lines) if self._lines else ""
        return {"context": line, **self.fields} if line else self.fields

    def _merge_with_stored(self, incoming: Incoming) -> Incoming:
        """The new version of an item. It keeps what people set on the old one, unless this call gives another value."""
        n = self.store.items.number(incoming.ref) if self.on_conflict == "overwrite" else None
        item = self.store.items.get(n) if n is not None else None
        if n is None or item is None or item.state == "deleted":
            return incoming
        state = self.store.files.states([n]).get(n)
        if state is not None:
            fields_before = state.fields
        else:  # it has no file: the fields that its old text set are read from that text again
            before = parse_bytes(
                item.content.encode("utf-8", "surrogatepass"), incoming.ref.path, limits=self.files.limits
            )
            fields_before = authored(own_fields(incoming.ref, before))
        new = with_stored_fields(incoming, item, fields_before)
        return replace(new, kind=self.kind or item.kind, fields={**new.fields, **incoming.parsed.fields, **self.fields})

    def _warn(self, ref: Ref, parsed: Parsed) -> None:
        self.notes.extend(f"{ref}: {warning}" for warning in parsed.warnings)

    def _save(self, incoming: Iterable[Incoming], *, durable: bool = False) -> Iterator[Saved]:
        """Save everything; secrets in what agents write are redacted first."""
        redacted: dict[str, tuple[str, ...]] = {}
        clean = (self._redacted(item, redacted) for item in incoming)
        for saved in self.pipeline.save_all(clean, on_conflict=self.on_conflict, durable=durable, backlog=self.backlog):
            yield replace(saved, redacted=redacted.pop(saved.ref)) if saved.ref in redacted else saved

    def _redacted(self, incoming: Incoming, redacted: dict[str, tuple[str, ...]]) -> Incoming:
        clean, secrets = without_secrets(incoming, allow=self.allow_secrets)
        if secrets:
            redacted[str(incoming.ref)] = secrets
        return clean

    def tell(self, done: int, total: int | None, label: str, before: int = 0, *, work: _Work | None = None) -> None:
        """Report progress; ``before`` items were skipped without being read and do not count towards the speed. The
        ``work`` says how long files take, because they differ much in size.
        """
        if self.progress is None:
            return
        if work is not None:
            work.try_vectors()
        seconds = max(time.monotonic() - self.started - (work.spent if work is not None else 0.0), 1e-6)
        rate = done / seconds
        eta = None
        if work is not None and work.size:
            eta = work.seconds_left(seconds)
        elif total is not None and rate:
            eta = (total - done) / rate
        whole = total + before if total is not None else None
        size = work.size if work is not None else 0
        self.progress(Progress(done + before, whole, label, "adding", rate, eta, size))

    def _report(self) -> AddReport:
        untrusted = [
            f"{count:,} {'file' if count == 1 else 'files'} in {folder} marked for every agent: told as data until you"
            " agree: ricordo review"
            for folder, count in self._untrusted.items()
        ]
        return AddReport(tuple(self.done), (*self.notes, *untrusted))
