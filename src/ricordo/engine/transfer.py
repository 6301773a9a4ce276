"""Verbs that move a store or its contents: export, import, backup, migrate, sync with knowledge files."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from ricordo import registry
from ricordo.config.loading import locate_store
from ricordo.config.places import locate
from ricordo.engine.checks import check_choice
from ricordo.engine.import_formats import Claims, Source, import_vault, read_foreign, save_foreign
from ricordo.engine.items import ItemVerbs
from ricordo.engine.tiers import follows
from ricordo.errors import Forbidden, NotFound, PathConflict, StoreError, Unavailable, UsageError, from_dict
from ricordo.permissions import is_admin, is_agent
from ricordo.store.base import Store
from ricordo.store.prepare import embed_hash
from ricordo.store.values import Backlog
from ricordo.values.hits import Filters
from ricordo.values.items import Saved
from ricordo.values.kinds import IMPORT_FORMATS, ON_CONFLICT
from ricordo.values.reports import AddReport, Progress
from ricordo.verbs.declare import verb

if TYPE_CHECKING:
    from typing import Annotated

    from ricordo.exchange.records import Header, ItemRecord, Record, Row
    from ricordo.values.items import Ref
    from ricordo.values.kinds import OnConflict
    from ricordo.values.reports import BackupReport, ExportReport, ImportReport, MigrateReport, SyncReport
    from ricordo.verbs.declare import Say
    from ricordo.verbs.parameters import REF_TEXT, AllowSecrets, Force, Wait


_BATCH_CHUNKS = 1_000
_BATCH_ITEMS = 500
_BATCH_BYTES = 32_000_000
_BATCH_OTHERS = 1_000
_IN_MEMORY = 32_000_000
KEY_AT_HAND = dict.fromkeys(("http", "mcp"), "keys are made at the user's terminal")
_WORKER = "migrate"
OnProgress = Callable[[Progress], None] | None


class TransferVerbs(ItemVerbs):
    """Copies a store elsewhere, brings what was copied back, and takes in its knowledge files."""

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
        ] = "-",
        *,
        log: Annotated[bool, Say("Include the logs of queries and openings (default), or not.")] = True,
        force: Annotated[bool, Say("Replace a file that exists.", not_on={"http": "the answer is the file"})] = False,
        salvage: Annotated[bool, Say("Of a damaged store, export what can be read and name the rest.")] = False,
    ) -> ExportReport:
        """The file has JSON lines: items with all versions, the bin, links, use, verdicts and what was learned. Vectors
        are not included; they are made again on import. Without a file, it writes to standard output.
        """
        from ricordo.exchange.records import type_of, write
        from ricordo.values.reports import ExportReport

        left_out: list[str] = []
        if salvage:
            # neither written to nor compared with its files
            source = self._context.unsynced_store.transfer.salvage(left_out, log=log)
        else:
            self._context.flush_use()
            source = self._context.store.transfer.records(log=log)
        with closing(source) as everything:
            records = (
                one for one in everything if is_admin() or type_of(one) not in ("audit", "proposal", "proposal_rule")
            )
            if target == "-":
                target = sys.stdout.buffer
            if not isinstance(target, (str, Path)):
                return ExportReport("-", *write(records, target), tuple(left_out))
            path = Path(target).expanduser()
            location = self._context.located.location
            own = [] if location.address else [Path(f"{location.path}{end}") for end in ("", "-wal", "-shm", "-key")]
            if path.exists() and any(one.exists() and path.samefile(one) for one in own):
                raise UsageError(f"{path} belongs to the store itself", hint="Name another file.")
            with _new_file(path, force=force) as out:
                written = write(records, out)
            return ExportReport(str(path), *written, tuple(left_out))

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
        A file with an error is refused before anything is written.

        Secrets in what other programs remember are redacted unless they are allowed. Folders to refresh, the
        files and addresses that items came from, skills, tools, ``loading`` and "written by the user" are left out, and
        counted in the report, unless you ``trust`` the file: whoever wrote it could otherwise have any file read, or
        tell agents what to do.
        """
        check_choice("on_conflict", on_conflict, ON_CONFLICT)
        check_choice("format", format, IMPORT_FORMATS)
        if format == "obsidian":
            report = import_vault(self._context, source, on_conflict, progress)
        elif format != "ricordo":
            claims = Claims(str(source) if isinstance(source, (str, Path)) else "standard input", trust=trust)
            foreign = read_foreign(self._context, source, format)
            report = save_foreign(self, foreign, on_conflict, progress, allow_secrets=allow_secrets, claims=claims)
        else:
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

        store = self._context.store
        records = read(file, name)
        header = _header(records)
        total = int(header.counts.get("item", 0))
        for items, _ in _batches(records):
            if on_conflict == "error" and (taken := next(filter(self._is_taken, items), None)):
                raise PathConflict(
                    f"{taken.ref} in {name} is already in the store; nothing was written",
                    hint="Pass ‹on_conflict=skip› or overwrite.",
                )
        file.seek(0)
        was_empty = store.items.count(Filters(states=("live", "archived", "deleted"))) == 0
        notes: tuple[str, ...] = ()
        if not store.transfer.adopt_language(header.language):
            notes = (f"the words were indexed as {store.language}, as in this store, not {header.language}",)
        importer = store.transfer.importer(on_conflict, self._context.models.backlog())
        done: list[Saved] = []
        others: Counter[str] = Counter()
        started = time.monotonic()
        claims = Claims(name, trust=trust, stored=self._stored if on_conflict == "overwrite" else None)
        for items, rest in _batches(claims.without(read(file, name))):
            if items:
                done += importer.items(items, claims.left_alone)
                if progress is not None:
                    rate = len(done) / max(time.monotonic() - started, 1e-6)
                    left = max(total - len(done), 0) / rate if rate else None
                    progress(Progress(len(done), total, "", "importing", rate, left))
            if rest:
                others.update(importer.others(rest))
        store.maintain()
        if not was_empty and store.items.entity_titles():
            store.links.relink()  # texts in the store may link to imported items, and the other way round
        imported = {one.ref for one in done if one.status in ("created", "updated")}
        if pairs := note_after_import(store, imported):
            notes = (*notes, f"pairs of memories that contradict each other: {pairs:,}; tidy lists them")
        notes = (*notes, *claims.notes())
        return ImportReport(AddReport(tuple(done), notes), {name: count for name, count in others.items() if count})

    def _number_of(self, item: ItemRecord) -> int | None:
        """The number of the item that one of a file would replace."""
        items = self._context.store.items
        if item.state == "deleted":
            return items.number_by_id(item.id)
        return items.number(item.placed_in(self._context.file_refs).ref)

    def _is_taken(self, item: ItemRecord) -> bool:
        n = self._number_of(item)
        if n is None or item.state == "deleted":
            return n is not None
        return self._context.store.items.get_many([n])[n].state != "deleted"

    def _stored(self, item: ItemRecord) -> ItemRecord | None:
        n = self._number_of(item)
        return None if n is None else self._context.store.transfer.item(n)

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

    @verb(
        "admin",
        "look after",
        "Copy a store into another, such as one in PostgreSQL.",
        is_long=True,
        examples=(
            "ricordo migrate ~/.local/share/ricordo/ricordo.db postgresql://ann@db/team",
            "ricordo migrate postgresql://ann@db/team copy.db",
            "ricordo migrate --encrypt",
        ),
    )
    def migrate(
        self,
        target: Annotated[
            str | Path, Say("The store to copy into: a path or an address.", longest=REF_TEXT, shown="TO")
        ],
        *,
        encrypt: Annotated[bool, Say("Encrypt the copy, or without TO the store itself.", not_on=KEY_AT_HAND)] = False,
        decrypt: Annotated[
            bool,
            Say("Let the copy of an encrypted store be readable, or without TO the store itself.", not_on=KEY_AT_HAND),
        ] = False,
        key: Annotated[
            str,
            Say(
                "With --encrypt: where the key is kept, 'keyring', 'passphrase' or a key file.",
                not_on=KEY_AT_HAND,
                shown="WHERE",
            ),
        ] = "",
        progress: OnProgress = None,
    ) -> MigrateReport:
        """Copy this store into another one, a file or a workspace on a server, and compare the two.

        The target is empty, or holds what an earlier run of the same copied; then the rest is copied. This store is
        only read.
        """
        from ricordo.engine.encryption import make_encrypted, refuse_silent_decryption
        from ricordo.values.reports import MigrateReport

        started = time.monotonic()
        context = self._context
        context.flush_use()
        source = context.store
        place = locate_store(str(target), context.config, context.start)
        if place.name == context.location:
            raise UsageError("a store cannot be copied into itself", hint="Name another file or workspace.")
        refuse_silent_decryption(context.location, place, encrypt=encrypt, decrypt=decrypt)
        if encrypt:
            make_encrypted(place.path, key)
        other = registry.open_store(place, context.config, create=True)
        try:
            _refuse_strangers(source, other)
            other.transfer.adopt_language(source.language)
            written, model = _copy(source, other, progress)
            vectors = _copy_vectors(source, other, model)
            other.maintain()
            counts = _compare(source, other, progress)
        finally:
            other.close()
        seconds = time.monotonic() - started
        return MigrateReport(context.location, place.name, counts["item"], written, dict(counts), vectors, seconds)

    @verb(
        "write",
        "remember",
        "Copy an item with its history to another tier.",
        examples=("ricordo promote memory:/deploys-on-tuesday --to team",),
    )
    @follows("name")
    def promote(
        self,
        name: Annotated[
            str | Path | Ref, Say("A ref, an item's id, a URL or a path.", http="ref", longest=REF_TEXT, shown="REF")
        ],
        tier: Annotated[
            str,
            Say("The tier to copy to: agent, project or team.", name="to", longest=100, shown="TIER", argument=False),
        ],
        *,
        on_conflict: Annotated[OnConflict, Say("If its ref is taken there.")] = "error",
    ) -> Saved:
        """The item stays where it is. Promoting it again adds what changed since. If its ref was written to there, too,
        nothing is copied unless ``on_conflict`` says overwrite: then it becomes the newest version there, and the
        others stay in the history.
        """
        check_choice("on_conflict", on_conflict, ON_CONFLICT)
        context = self._context
        n = context.present_number(str(name))
        place = locate(None, context.config, context.start, tier).location
        if place.name == context.location:
            raise UsageError(f"the item is in the tier {tier} already", hint="Name another tier with ‹tier›.")
        other = registry.open_store(place, context.config, create=True)
        try:
            return self._copy_up(n, other, tier, on_conflict)
        finally:
            other.close()

    def _copy_up(self, n: int, other: Store, tier: str, on_conflict: str) -> Saved:
        """Copy an item into another store, in which nothing is lost: neither a version nor another item of its ref."""
        context = self._context
        record = self._record_to_copy(n)
        backlog = context.models.backlog()
        there = other.items.number(record.placed_in(other.machines.refs()).ref)
        copy = other.transfer.item(there) if there is not None else None
        if there is not None and copy is not None and copy.state != "deleted":
            ours, theirs = _version_hashes(record), _version_hashes(copy)
            if copy.id == record.id and theirs[: len(ours)] == ours:
                reason = "unchanged" if theirs == ours else f"version {copy.version} in {tier} is newer"
                return Saved(str(record.ref), "skipped", copy.id, copy.version, reason=reason)
            is_older = copy.id == record.id and ours[: len(theirs)] == theirs
            if not is_older and on_conflict == "error":
                raise PathConflict(
                    f"{record.ref} was written to in the tier {tier}, too",
                    hint="‹on_conflict=overwrite› makes yours the newest version there; theirs stays in the history.",
                )
            if not is_older and on_conflict == "overwrite":
                draft = context.store.items.draft(n, record.version)
                draft = replace(draft, fields=record.head().known_fields())
                draft = replace(draft, ref=context.file_refs.seen_from(other.machines.refs(), draft.ref))
                prepared = context.pipeline_of(other).prepare_draft(draft)
                return other.changes.rewrite(there, prepared, durable=True, backlog=backlog, base=copy.version)
            on_conflict = "overwrite" if is_older else on_conflict
        (saved,) = other.transfer.importer(on_conflict, backlog).items([record])
        if saved.error is not None:
            raise from_dict(saved.error)
        return saved

    def _record_to_copy(self, n: int) -> ItemRecord:
        """The item with its history. If an agent copies it, or it comes from a project that the user does not trust, it
        is copied like an import: as somebody's claim, and told to nobody by itself.
        """
        from ricordo.exchange.records import ItemRecord

        record = self._context.store.transfer.item(n)
        if not (is_agent() or self._context.store.foreign):
            return record
        harmless = list(Claims(self._context.location, trust=False).without(iter((record,))))
        if not harmless or not isinstance(harmless[0], ItemRecord):
            raise Forbidden(
                f"{record.ref} is a {record.head().kind}, which only you may copy, from a project that you trust",
                hint="‹:trust› says that you trust a project.",
            )
        return harmless[0]

    @verb(
        "write",
        "add",
        "Read knowledge files that were changed by hand.",
        is_long=True,
        examples=("ricordo sync", "ricordo sync --write"),
        creates=True,
    )
    def sync(
        self,
        *,
        write: Annotated[bool, Say("Write files that are gone again, instead of removing their items.")] = False,
        wait: Wait = True,
        progress: Callable[[Progress], None] | None = None,
    ) -> SyncReport:
        """Take in what was done to the knowledge files, and write those that are missing for items that never had one.

        A file that is gone takes its item to the bin; with ``write`` it is written again instead. What was changed
        both in its file and in the store is a conflict: both are kept as versions, the file's is the current one.
        """
        knowledge = self._context.knowledge
        if knowledge is None:
            raise Unavailable(
                f"the store {self._context.location} keeps no knowledge files",
                hint="Set knowledge.folder to where they are to be; knowledge.enabled must be true.",
            )
        return self._context.embed_after(knowledge.sync(write=write), wait, progress)


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


def _version_hashes(record: ItemRecord) -> list[tuple[int, str]]:
    """The versions of an item, the oldest first, in a form that can be compared between stores."""
    return sorted((version.number, version.hash) for version in record.versions)


def _refuse_strangers(source: Store, target: Store) -> None:
    """Refuse a target that holds items that are not in the source, because they must not be overwritten."""
    with closing(target.transfer.records(log=False)) as records:
        for items, _ in _batches(records):
            known = source.items.known_ids([record.id for record in items])
            stranger = next((record for record in items if record.id not in known), None)
            if stranger is not None:
                raise PathConflict(
                    f"the target holds items of its own, such as {stranger.ref}",
                    hint="Migrate into an empty store; ‹:export› and ‹:import› join two that both hold items.",
                )


def _copy(source: Store, target: Store, progress: OnProgress) -> tuple[int, Backlog | None]:
    """Copy every record; returns how many items were new, and the model whose vectors the source uses."""
    model: Backlog | None = None
    importer = None
    written = done = 0
    with closing(source.transfer.records()) as records:
        total = _header(records).counts.get("item", 0)
        for items, others in _batches(records):
            model = model or _model_of(source, items)
            importer = importer or target.transfer.importer("overwrite", model)
            if items:
                saved = importer.items(items)
                if failed := next((one.error for one in saved if one.error is not None), None):
                    raise from_dict(failed)
                written += sum(one.status in ("created", "updated") for one in saved)
                done += len(items)
                if progress is not None:
                    progress(Progress(done, total, str(items[-1].ref), "copying"))
            if others:
                importer.others(others)
    return written, model


def _model_of(source: Store, records: Sequence[ItemRecord]) -> Backlog | None:
    """The model in use, with its dimensions as a vector of these items has them."""
    name = source.vectors.active_fingerprint()
    hashes = [embed_hash(chunk.prefix, chunk.text) for record in records for chunk in record.chunks]
    if name is None or not hashes:
        return None
    vectors = source.jobs.known_vectors(name, hashes)
    return Backlog(name, len(next(iter(vectors.values())))) if vectors else None


def _copy_vectors(source: Store, target: Store, model: Backlog | None) -> int:
    """Copy the vectors, so that nothing need be embedded again; texts without a vector keep waiting."""
    if model is None:
        return 0
    copied = 0
    target.jobs.enqueue_missing(model.fingerprint, model.dimensions)
    try:
        while jobs := target.jobs.claim(model.fingerprint, model.dimensions, _WORKER, 1_000):
            known = source.jobs.known_vectors(model.fingerprint, [job.hash for job in jobs])
            target.jobs.finish(model.fingerprint, [job for job in jobs if job.hash in known], known)
            copied += sum(job.hash in known for job in jobs)
    finally:
        target.jobs.release(_WORKER)
    return copied


def _compare(source: Store, target: Store, progress: OnProgress) -> Counter[str]:
    """Count every kind of record in both stores, and compare each item, version by version."""
    sides = []
    for store in (source, target):
        try:
            sides.append(_summed(store, progress))
        except Unavailable:  # a connection broke, and with it the snapshot that was read; once more, without a report
            sides.append(_summed(store, None))
    (mine, own), (theirs, copied) = sides
    if mine != theirs or own != copied:
        off = ", ".join(f"{name}: {mine[name]} and {theirs[name]}" for name in sorted(mine | theirs))
        raise StoreError(
            f"the copy is not what was copied ({off}, hashes {'equal' if own == copied else 'differ'})",
            hint="Was the source changed meanwhile? Run it again; the source was not touched.",
        )
    return mine


def _summed(store: Store, progress: OnProgress) -> tuple[Counter[str], str]:
    """How many records of each kind a store holds, and a hash of the ids, states and version hashes of its items."""
    from ricordo.exchange.records import ItemRecord, type_of

    digest = hashlib.sha256()
    with closing(store.transfer.records()) as records:
        header = _header(records)
        total = sum(header.counts.values())
        counts: Counter[str] = Counter({type_of(header): 1})
        for done, record in enumerate(records, 1):
            counts[type_of(record)] += 1
            if isinstance(record, ItemRecord):
                versions = [(version.number, version.hash) for version in record.versions]
                identity = [record.id, str(record.ref), record.state, record.version, versions]
                digest.update(json.dumps(identity).encode())
            if progress is not None and done % _BATCH_ITEMS == 0:
                progress(Progress(done, total, "", "comparing"))
    return counts, digest.hexdigest()
