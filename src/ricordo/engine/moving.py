"""Verbs that move and keep a store: export, import, backup."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from ricordo.engine.checks import check_choice
from ricordo.engine.foreign import ForeignImport, Source
from ricordo.engine.import_claims import Claims
from ricordo.engine.items import ItemVerbs
from ricordo.errors import NotFound, PathConflict, StoreError, UsageError
from ricordo.permissions import is_admin
from ricordo.values.hits import Filters
from ricordo.values.items import Saved
from ricordo.values.kinds import IMPORT_FORMATS, ON_CONFLICT
from ricordo.values.reports import AddReport, Progress
from ricordo.verbs.declare import verb

if TYPE_CHECKING:
    from typing import Annotated

    from ricordo.exchange.records import Header, ItemRecord, Record, Row
    from ricordo.values.kinds import OnConflict
    from ricordo.values.reports import BackupReport, ExportReport, ImportReport
    from ricordo.verbs.declare import Say
    from ricordo.verbs.parameters import REF_TEXT, AllowSecrets, Force, Wait

_BATCH_CHUNKS = 1_000
_BATCH_ITEMS = 500
_BATCH_BYTES = 32_000_000
_BATCH_OTHERS = 1_000
_IN_MEMORY = 32_000_000


class MoveVerbs(ItemVerbs):
    """Copies a store elsewhere and brings what was copied back."""

    @verb(
        "read",
        "look after",
        "Write everything to a file that import can read.",
        not_on={"mcp": "an export is a file, which the user makes"},
        examples=(
            "ricordo export everything.jsonl",
            "ricordo export | gzip > everything.jsonl.gz",
            "ricordo export --salvage rescued.jsonl",
            "ricordo export --no-log - | ricordo --store copy.db import -",
        ),
    )
    def export(
        self,
        target: Annotated[
            str | Path | BinaryIO,
            Say(
                "The file to write.",
                shown="FILE|-",
                not_on={"http": "the answer is the file", "mcp": "an export is a file"},
            ),
        ],
        *,
        log: Annotated[bool, Say("Include the logs of queries and openings (default), or not.")] = True,
        force: Annotated[bool, Say("Replace a file that exists.", not_on={"http": "the answer is the file"})] = False,
        salvage: Annotated[bool, Say("Of a damaged store, export what can be read and name the rest.")] = False,
    ) -> ExportReport:
        """Write everything the store holds as JSON lines: to a file of its own, or to an open one.

        ``log`` says whether the logs of queries and openings are included. With ``salvage``, rows of a damaged store
        that cannot be read are left out and named in the report, instead of ending the export.
        """
        from ricordo.exchange.records import write
        from ricordo.values.reports import ExportReport

        left_out: list[str] = []
        if salvage:
            # neither written to nor compared with its files
            source = self._context.unsynced_store.transfer.salvage(left_out, log=log)
        else:
            self._context.flush_use()
            source = self._context.store.transfer.records(log=log)
        with closing(source) as everything:
            records = everything if is_admin() else _without_decisions(everything)
            if not isinstance(target, (str, Path)):
                return ExportReport("-", *write(records, target), tuple(left_out))
            path = Path(target).expanduser()
            self._refuse_own(path)
            with _new_file(path, force=force) as out:
                written = write(records, out)
            return ExportReport(str(path), *written, tuple(left_out))

    def _refuse_own(self, path: Path) -> None:
        """Refuse to replace the store, or a file beside it that belongs to it."""
        location = self._context.located.location
        own = [] if location.address else [Path(f"{location.path}{end}") for end in ("", "-wal", "-shm", "-key")]
        if path.exists() and any(one.exists() and path.samefile(one) for one in own):
            raise UsageError(f"{path} belongs to the store itself", hint="Name another file.")

    @verb(
        "admin",
        "add",
        "Read an export, or the notes of another program.",
        is_long=True,
        examples=(
            "ricordo import everything.jsonl",
            "ricordo import everything.jsonl --on-conflict overwrite",
            "ricordo import --from obsidian ~/vault",
            "ricordo import --from mem0 memories.json",
            "ricordo import --from claude export.zip",
        ),
        creates=True,
    )
    def import_(
        self,
        source: Annotated[Source, Say("The file or folder to read.", http="file", shown="FILE|FOLDER|-", kind="path")],
        *,
        format: Annotated[  # noqa: A002 - the word for it
            str,
            Say(
                "Which program wrote the file or folder.",
                name="from",
                http="format",
                choices=IMPORT_FORMATS,
                shown="PROGRAM",
            ),
        ] = "ricordo",
        on_conflict: Annotated[OnConflict, Say("What to do with an item that is stored already.")] = "skip",
        allow_secrets: AllowSecrets = False,
        trust: Annotated[
            bool,
            Say("Also take what anybody may claim: folders, files, addresses, skills, tools, what every agent gets."),
        ] = False,
        wait: Wait = True,
        progress: Callable[[Progress], None] | None = None,
    ) -> ImportReport:
        """Take in what ``export`` wrote, or what another program keeps: an Obsidian vault, basic-memory, mem0.

        Secrets in what other programs remember are redacted unless they are allowed. Folders to refresh, the
        files and addresses that items came from, skills, tools, ``loading`` and "written by the user" are left out, and
        counted in the report, unless you ``trust`` the file: whoever wrote it could otherwise have any file read, or
        tell agents what to do.
        """
        check_choice("on_conflict", on_conflict, ON_CONFLICT)
        check_choice("format", format, IMPORT_FORMATS)
        foreign_import = ForeignImport(self._context, self)
        if format == "obsidian":
            return foreign_import.vault(source, on_conflict, wait, progress)
        if format != "ricordo":
            foreign = foreign_import.read(source, format)
            claims = Claims(str(source) if isinstance(source, (str, Path)) else "standard input", trust=trust)
            return foreign_import.save(foreign, on_conflict, wait, progress, allow_secrets=allow_secrets, claims=claims)
        with _opened(source) as (file, name):
            report = self._take_records(file, name, on_conflict, progress, trust=trust)
        return replace(report, saved=self._context.embed_after(report.saved, wait, progress))

    def _take_records(
        self,
        file: BinaryIO,
        name: str,
        on_conflict: str,
        progress: Callable[[Progress], None] | None,
        *,
        trust: bool,
    ) -> ImportReport:
        """Import records. The file is read twice, so that nothing is written before all of it was checked."""
        from ricordo.exchange.records import read
        from ricordo.memory.upkeep import note_after_import
        from ricordo.values.reports import ImportReport

        records = read(file, name)
        header = _header(records)
        self._check_records(records, name, on_conflict)
        file.seek(0)
        was_empty = self._context.store.items.count(Filters(states=("live", "archived", "deleted"))) == 0
        notes = self._settle_language(header)
        importer = self._context.store.transfer.importer(on_conflict, self._context.models.backlog())
        done: list[Saved] = []
        others: Counter[str] = Counter()
        started = time.monotonic()
        claims = Claims(name, trust=trust, stored=self._stored if on_conflict == "overwrite" else None)
        for items, rest in _batches(claims.without(read(file, name))):
            if items:
                done += importer.items(items, claims.left_alone)
                _tell(progress, len(done), header, started)
            if rest:
                others.update(importer.others(rest))
        self._context.store.maintain()
        if not was_empty and self._context.store.items.entity_titles():
            self._context.store.links.relink()  # texts in the store may link to imported items, and the other way round
        imported = {one.ref for one in done if one.status in ("created", "updated")}
        if pairs := note_after_import(self._context.store, imported):
            notes = (*notes, f"pairs of memories that contradict each other: {pairs:,}; tidy lists them")
        notes = (*notes, *claims.notes())
        return ImportReport(AddReport(tuple(done), notes), {name: count for name, count in others.items() if count})

    def _check_records(self, records: Iterator[Record], name: str, on_conflict: str) -> None:
        """Read to the end; with ``error`` an item that is there already is refused before anything is written."""
        for items, _ in _batches(records):
            if on_conflict != "error":
                continue
            for item in items:
                taken = self._occupied(item)
                if taken:
                    raise PathConflict(
                        f"{item.ref} in {name} is already in the store; nothing was written",
                        hint="Pass ‹on_conflict=skip› or overwrite.",
                    )

    def _occupied(self, item: ItemRecord) -> bool:
        if item.state == "deleted":
            return self._context.store.items.ref_by_id(item.id) is not None
        ref = item.placed_in(self._context.file_refs).ref
        return bool(self._context.store.files.known(ref.drive, [ref.path]))

    def _stored(self, item: ItemRecord) -> ItemRecord | None:
        """The item that one of a file would replace."""
        items = self._context.store.items
        is_deleted = item.state == "deleted"
        n = items.number_by_id(item.id) if is_deleted else items.number(item.placed_in(self._context.file_refs).ref)
        return None if n is None else self._context.store.transfer.item(n)

    def _settle_language(self, header: Header) -> tuple[str, ...]:
        if self._context.store.transfer.adopt_language(header.language):
            return ()
        return (f"the words were indexed as {self._context.store.language}, as in this store, not {header.language}",)

    @verb(
        "admin",
        "look after",
        "Copy the store while it is in use.",
        is_long=True,
        examples=("ricordo backup ~/backups/today.db", "ricordo backup /mnt/usb/ricordo.db --force"),
    )
    def backup(
        self,
        target: Annotated[
            str | Path,
            Say("The file to write.", longest=REF_TEXT, shown="FILE", http="file", example="/backups/ricordo.db"),
        ],
        *,
        force: Force = False,
        progress: Callable[[Progress], None] | None = None,
    ) -> BackupReport:
        """Copy the store, as it is now, to a file; others may write meanwhile."""
        from ricordo.values.reports import BackupReport

        self._context.flush_use()
        path = Path(target).expanduser().absolute()
        started = time.monotonic()

        def tell(done: int, total: int) -> None:
            if progress is not None:
                progress(Progress(done, total, str(path), "copying pages"))

        items, damaged = self._context.store.transfer.backup(path, force=force, progress=tell)
        damage = tuple(f"{one.ref} version {one.number}: {one.problem}" for one in damaged)
        return BackupReport(str(path), path.stat().st_size, time.monotonic() - started, items, damage)


def _without_decisions(records: Iterator[Record]) -> Iterator[Record]:
    """The records but for the audit and the proposals, which only administrators see."""
    from ricordo.exchange.records import type_of

    return (one for one in records if type_of(one) not in ("audit", "proposal", "proposal_rule"))


def _header(records: Iterator[Record]) -> Header:
    from ricordo.exchange.records import Header

    header = next(records)
    assert isinstance(header, Header), "the header is read first"
    return header


def _batches(records: Iterator[Record]) -> Iterator[tuple[list[ItemRecord], list[Row]]]:
    """Items, and then the other records, in batches of one transaction each."""
    from ricordo.exchange.records import ItemRecord, Row

    items: list[ItemRecord] = []
    others: list[Row] = []
    chunks = size = 0
    for record in records:
        if isinstance(record, ItemRecord):
            items.append(record)
            chunks += len(record.chunks)
            size += sum(len(chunk.text) for chunk in record.chunks) + sum(len(blob.data) for blob in record.blobs)
            if chunks >= _BATCH_CHUNKS or len(items) >= _BATCH_ITEMS or size >= _BATCH_BYTES:
                yield items, []
                items, chunks, size = [], 0, 0
        elif isinstance(record, Row):
            if items:
                yield items, []
                items = []
            others.append(record)
            if len(others) >= _BATCH_OTHERS:
                yield [], others
                others = []
    if items or others:
        yield items, others


def _tell(progress: Callable[[Progress], None] | None, done: int, header: Header, started: float) -> None:
    if progress is not None:
        total = int(header.counts.get("item", 0))
        rate = done / max(time.monotonic() - started, 1e-6)
        progress(Progress(done, total, "", "importing", rate, max(total - done, 0) / rate if rate else None))


@contextmanager
def _new_file(path: Path, *, force: bool) -> Iterator[BinaryIO]:
    """A new file that only its owner can read; it gets its name only when it is complete."""
    if not path.parent.is_dir():
        raise StoreError(f"there is no folder {path.parent}", hint=f"Make it first: mkdir -p {path.parent}")
    if path.is_dir():
        raise UsageError(f"{path} is a folder", hint=f"Name a file in it, such as {path / 'export.jsonl'}")
    if path.exists() and not force:
        raise PathConflict(f"{path} exists", hint="Pass ‹force› to replace it, or name another file.")
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    try:
        flags = os.O_CREAT | os.O_EXCL | os.O_RDWR | getattr(os, "O_BINARY", 0)
        handle = os.open(partial, flags, 0o600)
        with os.fdopen(handle, "wb") as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        partial.replace(path)
    except OSError as error:
        raise StoreError(
            f"{path} cannot be written: {error.strerror or error}",
            hint="Check that the disk has room and the folder can be written to, or name another place.",
        ) from error
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def _opened(source: Source) -> Iterator[tuple[BinaryIO, str]]:
    """The file and its name, such that it can be read twice."""
    if isinstance(source, (str, Path)):
        path = Path(source).expanduser()
        if not path.is_file():
            raise NotFound(
                f"there is no file {path}", hint="An export is one file; for a folder, say what it is with ‹format›."
            )
        with path.open("rb") as file:
            yield file, str(path)
        return
    import tempfile

    with tempfile.SpooledTemporaryFile(_IN_MEMORY) as copy:
        while part := source.read(1 << 20):
            copy.write(part)
        copy.seek(0)
        yield copy, "standard input"  # type: ignore[misc]  # it reads like any binary file
