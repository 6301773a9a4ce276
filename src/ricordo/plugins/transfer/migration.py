"""Copies a store into another one, a file or a schema on a server, and compares the two."""

from __future__ import annotations

import hashlib
import json
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from ricordo import registry
from ricordo.config.loading import locate_store
from ricordo.engine.context import EngineContext
from ricordo.errors import PathConflict, StoreError, Unavailable, UsageError, from_dict
from ricordo.exchange.records import ItemRecord
from ricordo.permissions import refuse_agents
from ricordo.plugin import ask
from ricordo.plugins.transfer import export
from ricordo.plugins.transfer.export_file import ROWS, Row, batches, take_header, type_of
from ricordo.plugins.transfer.imports import Importer
from ricordo.plugins.transfer.values import MigrateReport
from ricordo.store.base import Store
from ricordo.store.prepare import embed_hash
from ricordo.store.values import Backlog
from ricordo.values.reports import Progress
from ricordo.vault import vault

OnProgress = Callable[[Progress], None] | None
_WORKER = "migrate"
_TOLD_EVERY = 500


def migrate(
    context: EngineContext, target: str | Path, *, encrypt: bool, decrypt: bool, key: str, progress: OnProgress
) -> MigrateReport:
    """Copy the store into the target, which is empty or holds what an earlier run of the same copied."""
    refuse_agents("copy a store with what counts as the user's words")
    started = time.monotonic()
    context.flush_use()
    source = context.store
    place = locate_store(str(target), context.config, context.start)
    if place.name == context.location:
        raise UsageError("a store cannot be copied into itself", hint="Name another file or schema.")
    if encrypt:
        vault(f"the store {place.name}")  # an error if there is none
    ask("before_copy", context.location, place, encrypt=encrypt, decrypt=decrypt, key=key)
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


def _refuse_strangers(source: Store, target: Store) -> None:
    """Refuse a target that holds items that are not in the source, because they must not be overwritten."""
    with closing(export.records(target.opened, log=False)) as records:
        for items, _ in batches(records):
            known = source.items.existing_ids([record.id for record in items])
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
    with closing(export.records(source.opened)) as records:
        total = take_header(records).counts.get("item", 0)
        for items, others in batches(records):
            model = model or _model_of(source, items)
            importer = importer or Importer(target.opened, "overwrite", model)
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
    name = source.vectors.active_fingerprint()
    hashes = [embed_hash(chunk.prefix, chunk.text) for record in records for chunk in record.chunks]
    if name is None or not hashes:
        return None
    vectors = source.jobs.stored_vectors(name, hashes)
    return Backlog(name, len(next(iter(vectors.values())))) if vectors else None


def _copy_vectors(source: Store, target: Store, model: Backlog | None) -> int:
    """Copy the vectors, so that nothing need be embedded again; texts without a vector keep waiting."""
    if model is None:
        return 0
    copied = 0
    target.jobs.enqueue_missing(model.fingerprint, model.dimensions)
    try:
        while jobs := target.jobs.claim(model.fingerprint, model.dimensions, _WORKER, 1_000):
            known = source.jobs.stored_vectors(model.fingerprint, [job.hash for job in jobs])
            target.jobs.finish(model.fingerprint, [job for job in jobs if job.hash in known], known)
            copied += sum(job.hash in known for job in jobs)
    finally:
        target.jobs.release(_WORKER)
    return copied


def _compare(source: Store, target: Store, progress: OnProgress) -> Counter[str]:
    """Check that the target holds what the source does: the same items, links and verdicts, and every other record.

    Somebody may have searched the target already, so its logs may have entries of their own. Returns how many records
    of each kind were copied.
    """
    sides = []
    for store in (source, target):
        try:
            sides.append(_contents(store, progress))
        except Unavailable:  # a connection broke, and with it the snapshot that was read; once more, without a report
            sides.append(_contents(store, None))
    mine, theirs = sides
    lost = Counter(kind for kind, _ in (mine.records - theirs.records).elements())
    off = {name: theirs.counts[name] for name in _EQUAL if mine.counts[name] != theirs.counts[name]}
    if mine.items != theirs.items or lost or off:
        missing = [f"{count:,} missing of type {kind}" for kind, count in sorted(lost.items())]
        differing = [f"{name}: {mine.counts[name]:,} and {count:,}" for name, count in off.items()]
        hashes = [] if mine.items == theirs.items else ["items differ"]
        raise StoreError(
            f"the copy is not what was copied ({', '.join([*hashes, *missing, *differing])})",
            hint="Was the source changed meanwhile? Run it again; the source was not touched.",
        )
    return mine.counts


_EQUAL = ("item", "link", "feedback")
"""The kinds of records of which the target has no others."""
_KNOWN_BY = {
    "link": ("source", "target", "type", "origin"),
    "learned": ("profile",),
    "root": ("path",),
    "freeze": (),
    "proposal": ("session", "turn", "text"),
    "proposal_rule": ("name",),
}
"""What tells a record from others of its kind, where that is no log."""


class _Contents(NamedTuple):
    """The contents of a store, to compare with those of another one."""

    counts: Counter[str]
    items: str
    """A hash of the ids, states and version hashes of its items."""
    records: Counter[tuple[str, bytes]]
    """The other records, by kind and a hash of what tells them apart."""


def _contents(store: Store, progress: OnProgress) -> _Contents:
    digest = hashlib.sha256()
    others: Counter[tuple[str, bytes]] = Counter()
    with closing(export.records(store.opened)) as records:
        header = take_header(records)
        total = sum(header.counts.values())
        counts: Counter[str] = Counter({type_of(header): 1})
        for done, record in enumerate(records, 1):
            counts[type_of(record)] += 1
            if isinstance(record, ItemRecord):
                versions = [(version.number, version.hash) for version in record.versions]
                identity = [record.id, str(record.ref), record.state, record.version, versions]
                digest.update(json.dumps(identity).encode())
            elif isinstance(record, Row):
                names = _KNOWN_BY.get(record.type, ROWS[record.type].known_by)
                key = json.dumps([record.values[name] for name in names if name in record.values], default=str)
                others[record.type, hashlib.blake2b(key.encode(), digest_size=12).digest()] += 1
            if progress is not None and done % _TOLD_EVERY == 0:
                progress(Progress(done, total, "", "comparing"))
    return _Contents(counts, digest.hexdigest(), others)
