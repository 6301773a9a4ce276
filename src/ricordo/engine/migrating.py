"""Verbs that copy between stores: a whole store into another one, one item up to another tier."""

from __future__ import annotations

import hashlib
import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from ricordo import registry
from ricordo.config.loading import locate_store
from ricordo.config.places import locate
from ricordo.engine.checks import check_choice
from ricordo.engine.following import follows
from ricordo.engine.import_claims import Claims
from ricordo.engine.opening import OpenEngine
from ricordo.errors import Forbidden, PathConflict, StoreError, Unavailable, UsageError, from_dict
from ricordo.permissions import is_agent
from ricordo.store.base import Store
from ricordo.store.prepare import embed_hash
from ricordo.store.values import Backlog
from ricordo.values.items import Saved
from ricordo.values.kinds import ON_CONFLICT
from ricordo.values.reports import Progress
from ricordo.verbs.declare import verb

if TYPE_CHECKING:
    from typing import Annotated

    from ricordo.exchange.records import ItemRecord, Record, Row
    from ricordo.values.items import Ref
    from ricordo.values.kinds import OnConflict
    from ricordo.values.reports import MigrateReport
    from ricordo.verbs.declare import Say
    from ricordo.verbs.parameters import REF_TEXT

KEY_AT_HAND = {
    "http": "keys are made at the user's terminal",
    "mcp": "keys are made at the user's terminal",
}
_BATCH = 200
_WORKER = "migrate"

OnProgress = Callable[[Progress], None] | None


class MigrateVerbs(OpenEngine):
    """Copies items with their history from store to store."""

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
        from ricordo.engine.encrypted import make_encrypted, refuse_silent_decryption
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


def _version_hashes(record: ItemRecord) -> list[tuple[int, str]]:
    """The versions of an item, the oldest first, in a form that can be compared between stores."""
    return sorted((version.number, version.hash) for version in record.versions)


def _refuse_strangers(source: Store, target: Store) -> None:
    """Refuse a target that holds items that are not in the source, because they must not be overwritten."""
    held = _items(target.transfer.records(log=False))
    while batch := list(islice(held, _BATCH)):
        known = source.items.known_ids([record.id for record in batch])
        for record in batch:
            if record.id not in known:
                raise PathConflict(
                    f"the target holds items of its own, such as {record.ref}",
                    hint="Migrate into an empty store; ‹:export› and ‹:import› join two that both hold items.",
                )


def _copy(source: Store, target: Store, progress: OnProgress) -> tuple[int, Backlog | None]:
    """Copy every record; returns how many items were new, and the model whose vectors the source uses."""
    from ricordo.exchange.records import Header, ItemRecord

    model: Backlog | None = None
    importer = None
    items: list[ItemRecord] = []
    others: list[Row] = []
    written = done = total = 0
    for record in source.transfer.records():
        if isinstance(record, Header):
            total = record.counts.get("item", 0)
        elif isinstance(record, ItemRecord):
            items.append(record)
            if len(items) == _BATCH:
                model = model or _model_of(source, items)
                importer = importer or target.transfer.importer("overwrite", model)
                written += _written(importer.items(items))
                done, items = done + len(items), []
                if progress is not None:
                    progress(Progress(done, total, str(record.ref), "copying"))
        else:
            others.append(record)
    model = model or _model_of(source, items)
    importer = importer or target.transfer.importer("overwrite", model)
    if items:
        written += _written(importer.items(items))
    for at in range(0, len(others), 1_000):
        importer.others(others[at : at + 1_000])
    return written, model


def _model_of(source: Store, records: Sequence[ItemRecord]) -> Backlog | None:
    """The model in use, with its dimensions as a vector of these items has them."""
    name = source.vectors.active_fingerprint()
    hashes = [embed_hash(chunk.prefix, chunk.text) for record in records for chunk in record.chunks]
    if name is None or not hashes:
        return None
    vectors = source.jobs.known_vectors(name, hashes)
    return Backlog(name, len(next(iter(vectors.values())))) if vectors else None


def _written(saved: Sequence[Saved]) -> int:
    for one in saved:
        if one.error is not None:
            raise from_dict(one.error)
    return sum(one.status in ("created", "updated") for one in saved)


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
    """How many records of each kind a store holds, and a hash of what identifies its items."""
    from ricordo.exchange.records import Header, type_of

    counts: Counter[str] = Counter()
    digest = hashlib.sha256()
    done = total = 0
    for record in store.transfer.records():
        counts[type_of(record)] += 1
        digest.update(_identity(record))
        if isinstance(record, Header):
            total = sum(record.counts.values())
            continue
        done += 1
        if progress is not None and done % _BATCH == 0:
            progress(Progress(done, total, "", "comparing"))
    return counts, digest.hexdigest()


def _identity(record: Record) -> bytes:
    """What identifies an item: its id, its state and the hashes of its versions."""
    from ricordo.exchange.records import ItemRecord

    if not isinstance(record, ItemRecord):
        return b""
    versions = [(version.number, version.hash) for version in record.versions]
    return json.dumps([record.id, str(record.ref), record.state, record.version, versions]).encode()


def _items(records: Iterable[Record]) -> Iterator[ItemRecord]:
    from ricordo.exchange.records import ItemRecord

    return (record for record in records if isinstance(record, ItemRecord))
