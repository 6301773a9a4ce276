"""The backlog of a store, and its vectors: jobs are claimed with a lease, vectors are written with their sketches.

Any number of processes work on it. A worker computes outside any transaction, and writes what it computed in one. A
killed worker's jobs return when its lease ends, or at once when its process is seen to be gone.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np

from ricordo.errors import ContractError
from ricordo.store.arrays import Array
from ricordo.store.index.entries import Entries, Visible
from ricordo.store.index.sketches import sketch
from ricordo.store.prepare import embedded_text
from ricordo.store.search.caches import SearchedStore
from ricordo.store.search.vectors import (
    BLOCK_ENTRIES,
    COMPACT_BLOCKS,
    bump_vectors,
    compact,
    read_block,
    withdraw,
    write_block,
)
from ricordo.store.sql.database import LIVE, Connection, Database, NewChunk, in_parts, marks, now_micros
from ricordo.store.sql.filters import in_languages
from ricordo.store.values import EVERY_LANGUAGE, Backlog, Job, Languages, MadeVector
from ricordo.values.kinds import CHECKPOINT, DRIVES_APART

SECOND = 1_000_000
LEASE = 300 * SECOND
"""How long a worker may keep a job before others may take it."""
MAX_ATTEMPTS = 5
"""A job that failed this often is not tried again until somebody asks for it."""
BACKOFF = (5, 30, 120, 600)
AHEAD = 2 * max(LEASE, BACKOFF[-1] * SECOND)
"""A lease or a pause that ends later than this from now was set by a clock that was ahead, and does not count."""
WANTS_VECTOR = f"(c.state=0 OR c.state=1 AND i.state='archived' AND i.kind='session' AND i.category='{CHECKPOINT}')"
"""The condition that a chunk ``c`` of an item ``i`` is to have a vector: it is live, or belongs to a checkpoint."""

_APART = ", ".join(map(repr, DRIVES_APART))
ACTIVE = (
    "SELECT (SELECT name FROM fingerprints WHERE active),"
    f" EXISTS (SELECT 1 FROM items WHERE drive IN ({_APART}) AND state='archived')"
)
"""The fingerprint whose vectors searches use, if any, and whether there are items of drives that are apart."""
UNQUEUED = "unqueued"
"""The name under which a store notes that chunks were saved while no model could say what they wait for."""
STRAYS = (
    "SELECT EXISTS (SELECT 1 FROM fingerprints f WHERE f.name NOT IN (?, ?)"
    " AND EXISTS (SELECT 1 FROM jobs j WHERE j.fingerprint = f.id))"
    f" OR EXISTS (SELECT 1 FROM meta WHERE name='{UNQUEUED}')"
)
"""Whether chunks wait for another model than the named ones, or for none."""


def worker_name() -> str:
    """Says which process on which machine holds a lease."""
    import socket

    return f"{socket.gethostname()}:{os.getpid()}"


def make_fingerprint(connection: Connection, name: str, dimensions: int) -> None:
    """Note a fingerprint if it is new; the first of a store is the active one."""
    connection.run(
        "INSERT INTO fingerprints(name, dimensions, active)"
        " SELECT ?, ?, NOT EXISTS (SELECT 1 FROM fingerprints WHERE active)"
        " WHERE NOT EXISTS (SELECT 1 FROM fingerprints WHERE name=?)",
        (name, dimensions, name),
    )


def fingerprint_id(connection: Connection, name: str, dimensions: int) -> int:
    """The number of a fingerprint, given one if it is new."""
    make_fingerprint(connection, name, dimensions)
    return int(connection.rows("SELECT id FROM fingerprints WHERE name=?", (name,))[0][0])


def enqueue_chunks(connection: Connection, backlog: Backlog | None, chunks: Sequence[int]) -> None:
    """Put new chunks on the backlog; without one, note that there are chunks which wait for nothing yet."""
    if not chunks:
        return
    if backlog is None:
        connection.run(f"INSERT INTO meta(name, value) VALUES('{UNQUEUED}', '1') ON CONFLICT DO NOTHING")
        return
    make_fingerprint(connection, backlog.fingerprint, backlog.dimensions)
    condition, values = in_languages(backlog.languages)
    for places, part in in_parts(chunks):
        connection.run(
            "INSERT INTO jobs(fingerprint, chunk, kind, state) SELECT f.id, c.id, i.kind, 'pending' FROM chunks c"
            " JOIN items i ON i.n=c.item JOIN fingerprints f ON f.name=?"
            f" WHERE c.id IN ({places}) AND i.drive NOT IN ({_APART}){condition} ON CONFLICT DO NOTHING",
            (backlog.fingerprint, *part, *values),
        )
    if backlog.second is not None:
        enqueue_chunks(connection, backlog.second, chunks)


def keep_vectors(
    connection: Connection, backlog: Backlog | None, made: Sequence[MadeVector]
) -> Callable[[Sequence[NewChunk]], list[NewChunk]]:
    """Store vectors that were made already. What this returns gives them to the new chunks that they are of; it returns
    the other chunks, which must wait for theirs.
    """
    if backlog is None:
        return list
    by_hash = {one.hash: one.values for one in made if one.fingerprint == backlog.fingerprint}
    stored = [
        connection.ahead(
            "INSERT INTO vectors(fingerprint, hash, vector) SELECT id, ?, ? FROM fingerprints"
            " WHERE name=? AND dimensions=? ON CONFLICT(fingerprint, hash) DO UPDATE SET hash=excluded.hash"
            " RETURNING hash, id, fingerprint",
            (digest, values.astype(np.float32).tobytes(), backlog.fingerprint, len(values)),
        )
        for digest, values in by_hash.items()
    ]

    def give(chunks: Sequence[NewChunk]) -> list[NewChunk]:
        numbers = {digest: (number, fingerprint) for rows in stored for digest, number, fingerprint in rows()}
        have = [chunk for chunk in chunks if chunk.embed_hash in numbers and chunk.state == LIVE]
        if have:
            entries = Entries(
                np.array([chunk.chunk for chunk in have], np.int64),
                np.array([chunk.item for chunk in have], np.int64),
                np.array([numbers[chunk.embed_hash][0] for chunk in have], np.int64),
                sketch(np.stack([by_hash[chunk.embed_hash] for chunk in have]).astype(np.float32)),
            )
            write_block(connection, numbers[have[0].embed_hash][1], entries)
            connection.add_to_meta("jobs_done", len(have))
        return [chunk for chunk in chunks if chunk.embed_hash not in numbers]

    return give


def drop_chunks(connection: Connection, chunks: Sequence[int]) -> None:
    """Take chunks that left normal search off the backlog, of whatever model they wait for a vector."""
    for places, part in in_parts(chunks):
        connection.run(
            f"DELETE FROM jobs WHERE fingerprint IN (SELECT id FROM fingerprints) AND chunk IN ({places})", part
        )


def check_vector(vector: Array, dimensions: int, fingerprint: str) -> None:
    """Refuse what cannot be a vector of a fingerprint."""
    if vector.shape != (dimensions,) or not np.isfinite(vector).all():
        raise ContractError(
            f"{fingerprint} gave a bad vector ({vector.shape[0]} numbers, {dimensions} expected, all finite)",
            hint="Nothing was stored. Check the embedding settings, then run ‹:embed›.",
        )


def release(connection: Connection, owner: str) -> None:
    """Give a worker's jobs back without counting the attempt."""
    connection.run(
        "UPDATE jobs SET state='pending', owner=NULL, lease_until=NULL,"
        " attempts=CASE WHEN attempts > 0 THEN attempts - 1 ELSE 0 END"
        " WHERE state='running' AND owner=?",
        (owner,),
    )


BATCH = 5_000
_UNUSED = "NOT EXISTS (SELECT 1 FROM chunks c WHERE c.embed_hash = vectors.hash)"


class Jobs:
    """The backlog of one store."""

    def __init__(self, opened: SearchedStore) -> None:
        self._opened = opened

    def has_work(self) -> bool:
        with self._opened.database.read() as connection:
            return bool(connection.rows("SELECT 1 FROM jobs WHERE state <> 'failed' LIMIT 1"))

    def waiting(self, *fingerprints: str, state: str = "") -> int:
        """How many chunks wait for their vector of some models, in one state or in any."""
        only, values = (" AND j.state=?", (*fingerprints, state)) if state else ("", fingerprints)
        with self._opened.database.read() as connection:
            [(count,)] = connection.rows(
                "SELECT count(*) FROM jobs j JOIN fingerprints f ON f.id=j.fingerprint"
                f" WHERE f.name IN ({marks(fingerprints)}){only}",
                values,
            )
        return int(count)

    def untried(self) -> dict[str, int]:
        """How many chunks wait for a vector and did not fail before, by model; "" stands for those that were saved
        while no model could say what they wait for, whatever their number.
        """
        with self._opened.database.read() as connection:
            rows = connection.rows(
                "SELECT f.name, count(*) FROM jobs j JOIN fingerprints f ON f.id=j.fingerprint"
                " WHERE j.state='pending' AND j.error IS NULL GROUP BY f.name"
                f" UNION ALL SELECT '', 1 FROM meta WHERE name='{UNQUEUED}'"
            )
        return dict(rows)

    def adopt(self, backlog: Backlog) -> None:
        """Let chunks that wait for other models, or that were saved while none could be used, wait for these.

        So nothing waits for a model that is no longer set. What a worker holds for another model is left to it.
        """
        names = (backlog.fingerprint, backlog.fingerprints[-1])
        each = (backlog, backlog.second) if backlog.second is not None else (backlog,)
        with self._opened.database.read() as connection:
            if not connection.rows(STRAYS, names)[0][0]:
                return
        with self._opened.database.write() as connection:
            if connection.meta(UNQUEUED) is not None:
                for model in each:
                    self.enqueue_missing(model.fingerprint, model.dimensions, languages=model.languages)
                connection.run(f"DELETE FROM meta WHERE name='{UNQUEUED}'")
            others = connection.rows(
                "SELECT name FROM fingerprints f WHERE name NOT IN (?, ?) AND id IN (SELECT fingerprint FROM jobs)"
                " AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.fingerprint=f.id AND j.state='running')",
                names,
            )
            for (other,) in others:
                for model in each:
                    self.enqueue_waiting(other, model.fingerprint, model.dimensions, model.languages)
                self.drop_waiting(other)

    def fail(self, fingerprint: str, failed: Sequence[Job], error: str) -> None:
        """Put jobs back for a later try; after too many tries, they are not tried again."""
        now = now_micros()
        with self._opened.database.write() as connection:
            number = connection.rows("SELECT id FROM fingerprints WHERE name=?", (fingerprint,))[0][0]
            for job in failed:
                rows = connection.rows("SELECT attempts FROM jobs WHERE fingerprint=? AND chunk=?", (number, job.chunk))
                if not rows:
                    continue
                attempts = rows[0][0]
                state = "failed" if attempts >= MAX_ATTEMPTS else "pending"
                wait = BACKOFF[min(attempts, len(BACKOFF)) - 1] * SECOND
                connection.run(
                    "UPDATE jobs SET state=?, not_before=?, owner=NULL, lease_until=NULL, error=?"
                    " WHERE fingerprint=? AND chunk=?",
                    (state, now + wait, error[:500], number, job.chunk),
                )

    def release(self, owner: str) -> None:
        with self._opened.database.write() as connection:
            release(connection, owner)

    def retry(self) -> int:
        """Put all failed and waiting jobs back to the front; returns how many."""
        with self._opened.database.write() as connection:
            connection.run(
                "UPDATE jobs SET state='pending', attempts=0, not_before=0, error=NULL"
                " WHERE state='failed' OR not_before > 0"
            )
            return connection.changes()

    def summary(self) -> dict[str, Any]:
        with self._opened.database.read() as connection:
            rows, done = connection.gather(
                lambda: connection.rows(
                    "SELECT state, kind, count(*), max(error) FROM jobs GROUP BY state, kind ORDER BY state, kind"
                ),
                lambda: connection.meta("jobs_done"),
            )
        totals = {"pending": 0, "running": 0, "failed": 0}
        for state, _, number, _ in rows:
            totals[state] += number
        return {
            **totals,
            "done": done,
            "kinds": [{"state": s, "kind": k, "count": number, "error": e} for s, k, number, e in rows],
        }

    def drop_waiting(self, fingerprint: str) -> None:
        """Take what still waits for vectors of a fingerprint off the backlog."""
        with self._opened.database.write() as connection:
            connection.run(
                "DELETE FROM jobs WHERE state<>'running' AND fingerprint IN (SELECT id FROM fingerprints WHERE name=?)",
                (fingerprint,),
            )

    def enqueue_missing(
        self, fingerprint: str, dimensions: int, kind: str | None = None, languages: Languages = EVERY_LANGUAGE
    ) -> int:
        """Put live chunks in some languages without a vector on the backlog."""
        with self._opened.database.write() as connection:
            number = fingerprint_id(connection, fingerprint, dimensions)
            have = self._opened.vector_index.entries(connection, number).chunks
            return enqueue_missing(connection, number, have, kind, languages=languages)

    def enqueue_again(self, fingerprint: str, dimensions: int, kind: str | None = None) -> int:
        """Drop the vectors of a fingerprint, those of one kind of items or all, and put their chunks on the backlog.

        A text that several chunks have in common has one vector, which goes from all of them.
        """
        with self._opened.database.write() as connection:
            number = fingerprint_id(connection, fingerprint, dimensions)
            entries = self._opened.vector_index.entries(connection, number)
            kinds: dict[int, str] = dict(
                connection.rows("SELECT c.id, i.kind FROM chunks c JOIN items i ON i.n=c.item")
            )
            again = np.fromiter((kind in (None, kinds.get(chunk)) for chunk in entries.chunks.tolist()), np.bool_)
            chunks = entries.chunks[np.isin(entries.vectors, entries.vectors[again])]
            withdraw(connection, number, chunks)
            rows = [(chunk, kinds[chunk]) for chunk in chunks.tolist() if chunk in kinds]
            return _enqueue(connection, number, rows, np.array([], np.int64))

    def enqueue_waiting(
        self, fingerprint: str, other: str, dimensions: int, languages: Languages = EVERY_LANGUAGE
    ) -> int:
        """Let what waits for a vector of one fingerprint wait for one of another, too."""
        with self._opened.database.write() as connection:
            number = fingerprint_id(connection, other, dimensions)
            have = self._opened.vector_index.entries(connection, number).chunks
            condition, values = in_languages(languages)
            rows = connection.rows(
                "SELECT j.chunk, j.kind FROM jobs j JOIN fingerprints f ON f.id=j.fingerprint"
                f" JOIN chunks c ON c.id=j.chunk WHERE f.name=?{condition}",
                (fingerprint, *values),
            )
            return _enqueue(connection, number, rows, have)

    def claim(
        self, fingerprint: str, dimensions: int, owner: str, limit: int, *, kind: str | None = None
    ) -> list[Job] | None:
        """Lease texts to embed; those of processes that are gone count as free. None says that there are none."""
        if not self.has_work():
            return None
        while True:
            with self._opened.database.write_at_once() as connection:
                make_fingerprint(connection, fingerprint, dimensions)
                number = connection.ahead("SELECT id FROM fingerprints WHERE name=?", (fingerprint,))
                _free_abandoned(connection)
                claimed = _claim(connection, number()[0][0], owner, limit, kind=kind)
            if claimed is None or claimed:
                return claimed

    def stored_vectors(self, fingerprint: str, hashes: Sequence[bytes]) -> dict[bytes, Array]:
        """The vectors of those texts that have one already."""
        sql = (
            "SELECT v.hash, v.vector FROM vectors v JOIN fingerprints f ON f.id=v.fingerprint"
            " WHERE f.name=? AND v.hash IN (*)"
        )
        with self._opened.database.read() as connection:
            rows = connection.rows_in(sql, list(dict.fromkeys(hashes)), fingerprint)
        return {digest: np.frombuffer(data, np.float32) for digest, data in rows}

    def finish(self, fingerprint: str, done: Sequence[Job], computed: Mapping[bytes, Array]) -> None:
        """Store what was computed; all of it is searchable when this returns."""
        with self._opened.database.write_at_once() as connection:
            dimensions, number = connection.rows(
                "SELECT dimensions, id FROM fingerprints WHERE name=?", (fingerprint,)
            )[0]
            for vector in computed.values():
                check_vector(vector, dimensions, fingerprint)
            connection.run_many(
                "INSERT INTO vectors(fingerprint, hash, vector) VALUES(?,?,?) ON CONFLICT DO NOTHING",
                [(number, digest, vector.astype(np.float32).tobytes()) for digest, vector in computed.items()],
            )
            _finish(connection, number, done)


def enqueue_missing(
    connection: Connection, fingerprint: int, have: Array, kind: str | None, *, languages: Languages = EVERY_LANGUAGE
) -> int:
    """Put every live chunk, and every chunk of a checkpoint, that has no vector and no job on the backlog."""
    condition, values = ("AND i.kind=?", (kind,)) if kind else ("", ())
    spoken, codes = in_languages(languages)
    rows = connection.rows(
        f"SELECT c.id, i.kind FROM chunks c JOIN items i ON i.n=c.item WHERE {WANTS_VECTOR} {condition}{spoken}",
        (*values, *codes),
    )
    return _enqueue(connection, fingerprint, rows, have)


def _enqueue(connection: Connection, fingerprint: int, rows: Sequence[tuple[int, str]], have: Array) -> int:
    """Put chunks, given with the kinds of their items, on the backlog, unless they have a vector."""
    waiting = {chunk for (chunk,) in connection.rows("SELECT chunk FROM jobs WHERE fingerprint=?", (fingerprint,))}
    waiting.update(have.tolist())
    missing = [(fingerprint, chunk, kind) for chunk, kind in rows if chunk not in waiting]
    connection.run_many(
        "INSERT INTO jobs(fingerprint, chunk, kind, state) VALUES(?,?,?,'pending') ON CONFLICT DO NOTHING", missing
    )
    return len(missing)


def _claim(connection: Connection, fingerprint: int, owner: str, limit: int, *, kind: str | None) -> list[Job] | None:
    """The next jobs, without those whose text is gone, which are dropped; None when there are no more."""
    now = now_micros()
    rows = connection.rows(
        # The rows that are picked are a step of their own: inside the update they might be picked again for each row.
        "WITH next AS MATERIALIZED (SELECT chunk FROM jobs WHERE fingerprint=?"
        " AND (state='pending' AND not_before NOT BETWEEN ? AND ?"
        " OR state='running' AND lease_until NOT BETWEEN ? AND ?)"
        f"{' AND kind=?' if kind else ''} ORDER BY chunk LIMIT ?{connection.dialect.unclaimed()})"
        " UPDATE jobs SET state='running', owner=?, lease_until=?, attempts=attempts + 1"
        " WHERE fingerprint=? AND chunk IN (SELECT chunk FROM next) RETURNING chunk",
        (
            fingerprint,
            *(now + 1, now + AHEAD, now, now + AHEAD),
            *([kind] if kind else []),
            *(limit, owner, now + LEASE, fingerprint),
        ),
    )
    if not rows:
        return None
    chunks = sorted(row[0] for row in rows)
    texts = connection.rows_in(
        "SELECT id, item, embed_hash, prefix, text FROM chunks WHERE state<2 AND id IN (*)", chunks
    )
    text_of = {
        chunk: Job(chunk, item, digest, embedded_text(prefix, text)) for chunk, item, digest, prefix, text in texts
    }
    gone = [(fingerprint, chunk) for chunk in chunks if chunk not in text_of]
    connection.run_many("DELETE FROM jobs WHERE fingerprint=? AND chunk=?", gone)
    return [text_of[chunk] for chunk in chunks if chunk in text_of]


def _free_abandoned(connection: Connection) -> None:
    import socket

    host = socket.gethostname()
    for (owner,) in connection.rows("SELECT DISTINCT owner FROM jobs WHERE state='running'"):
        machine, _, pid = owner.rpartition(":")
        if machine != host or int(pid) == os.getpid() or os.name != "posix":
            continue  # elsewhere there is no safe way to check; the lease ends by itself
        try:
            os.kill(int(pid), 0)
        except ProcessLookupError:
            release(connection, owner)
        except PermissionError:
            pass


def _stored_vectors(
    connection: Connection, fingerprint: int, hashes: Sequence[bytes]
) -> dict[bytes, tuple[int, Array]]:
    """Vectors already computed for these texts: hash → (vector id, vector)."""
    wanted = list(dict.fromkeys(hashes))
    sql = "SELECT id, hash, vector FROM vectors WHERE fingerprint=? AND hash IN (*)"
    rows = connection.rows_in(sql, wanted, fingerprint)
    return {digest: (vector, np.frombuffer(data, np.float32)) for vector, digest, data in rows}


def _finish(connection: Connection, fingerprint: int, jobs_done: Sequence[Job]) -> None:
    """Let the chunks of finished jobs have their vectors, and take the jobs off the backlog."""
    vectors = _stored_vectors(connection, fingerprint, [job.hash for job in jobs_done])
    chunks = [job.chunk for job in jobs_done]
    sql = "SELECT chunk FROM jobs WHERE fingerprint=? AND chunk IN (*)"
    still = {chunk for (chunk,) in connection.rows_in(sql, chunks, fingerprint)}
    done = [job for job in jobs_done if job.chunk in still and job.hash in vectors]
    if done:
        matrix = np.stack([vectors[job.hash][1] for job in done])
        entries = Entries(
            np.array([job.chunk for job in done], np.int64),
            np.array([job.item for job in done], np.int64),
            np.array([vectors[job.hash][0] for job in done], np.int64),
            sketch(matrix),
        )
        write_block(connection, fingerprint, entries)
        compact(connection, fingerprint)
    connection.run_many("DELETE FROM jobs WHERE fingerprint=? AND chunk=?", [(fingerprint, job.chunk) for job in done])
    connection.add_to_meta("jobs_done", len(done))


class Vectors:
    """How many chunks have a vector of which fingerprint, and which fingerprint is in force."""

    def __init__(self, opened: SearchedStore) -> None:
        self._opened = opened

    def active_fingerprint(self) -> str | None:
        """The fingerprint whose vectors searches use."""
        with self._opened.database.read() as connection:
            active: str | None = connection.once(ACTIVE)[0][0]
        return active

    def activate(self, fingerprint: str, keep: Collection[str] = ()) -> None:
        """Let searches use another fingerprint, all at once; of the others, the one before and ``keep`` stay."""
        with self._opened.database.write(durable=True) as connection:
            before = {row[0] for row in connection.rows("SELECT name FROM fingerprints WHERE active")}
            connection.run(
                "UPDATE fingerprints SET active = (name = ?) WHERE active <> (name = ?)", (fingerprint, fingerprint)
            )
            rows = connection.rows("SELECT id, name FROM fingerprints WHERE NOT active")
            idle = [(number,) for number, name in rows if name not in keep]
            connection.run_many("DELETE FROM jobs WHERE fingerprint=?", idle)
            connection.add_to_meta("vector_epoch", 1)
        self.drop([number for number, name in rows if name not in keep and name not in before])

    def drop_idle(self, keep: Collection[str]) -> int:
        """Drop the vectors of fingerprints that are not in use; returns how many there were."""
        with self._opened.database.read() as connection:
            idle = connection.rows(
                "SELECT id, name FROM fingerprints f"
                " WHERE NOT active AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.fingerprint=f.id)"
            )
        return self.drop([number for number, name in idle if name not in keep])

    def counts(self, fingerprint: str, languages: Languages = EVERY_LANGUAGE) -> dict[str, int]:
        """How many live chunks in some languages there are, have a vector, wait for one, or failed."""
        with self._opened.database.read() as connection:
            live = connection.rows("SELECT total FROM lexical_stats WHERE field=-1")[0][0]
            if languages != EVERY_LANGUAGE:
                noted = connection.rows(
                    "SELECT language, count(*) FROM chunks WHERE language <> '' AND state=0 GROUP BY 1"
                )
                live = sum(count for code, count in noted if code in languages) + (
                    live - sum(count for _, count in noted) if "" in languages else 0
                )
            rows = connection.rows("SELECT id FROM fingerprints WHERE name=?", (fingerprint,))
            if not rows:
                return {"chunks": live, "embedded": 0, "pending": 0, "running": 0, "failed": 0}
            entries = self._opened.vector_index.entries(connection, rows[0][0])
            counted = Visible(self._opened.lexical.alive(connection)).mask(entries)
            if codes := languages.only if languages.only is not None else languages.without:
                named = connection.rows(f"SELECT id FROM chunks WHERE language IN ({marks(codes)}) AND state=0", codes)
                among = np.isin(entries.chunks, [chunk for (chunk,) in named])
                counted &= among if languages.only is not None else ~among
            embedded = int(counted.sum())
            states: dict[str, int] = dict(
                connection.rows("SELECT state, count(*) FROM jobs WHERE fingerprint=? GROUP BY state", (rows[0][0],))
            )
        waiting = {state: states.get(state, 0) for state in ("pending", "running", "failed")}
        return {"chunks": live, "embedded": embedded, **waiting}

    def settle(self, backlog: Backlog | None) -> None:
        """Drop what the first model made of passages that the second one embedded: it would count in its place."""
        if backlog is None or backlog.second is None:
            return
        first, second, languages = *backlog.fingerprints, backlog.languages.without
        index = self._opened.vector_index
        with self._opened.database.write() as connection:
            numbers: dict[str, int] = dict(
                connection.rows("SELECT name, id FROM fingerprints WHERE name IN (?, ?)", (first, second))
            )
            if len(numbers) < 2:
                return
            rows = connection.rows(f"SELECT id FROM chunks WHERE language IN ({marks(languages)})", languages)
            spoken = np.fromiter((row[0] for row in rows), np.int64, len(rows))
            gone = np.intersect1d(spoken, index.entries(connection, numbers[second]).chunks)
            withdraw(connection, numbers[first], gone)

    def drop(self, fingerprints: Sequence[int]) -> int:
        """Clear the rows of fingerprints, a bounded number at a time; returns how many vectors there were."""
        dropped = 0
        for number in fingerprints:
            with self._opened.database.write() as connection:
                bump_vectors(connection)
                connection.run("DELETE FROM vector_blocks WHERE fingerprint=?", (number,))
            left = 1
            while left:
                with self._opened.database.write() as connection:
                    connection.run(
                        "DELETE FROM vectors WHERE id IN (SELECT id FROM vectors WHERE fingerprint=? LIMIT 5000)",
                        (number,),
                    )
                    left = connection.changes()
                    dropped += left
                    if not left:
                        connection.run("DELETE FROM fingerprints WHERE id=?", (number,))
        return dropped


def compact_due(database: Database) -> None:
    """Put the small blocks of vectors together where many have gathered."""
    with database.read() as connection:
        due = connection.rows(
            "SELECT fingerprint FROM vector_blocks WHERE entries < ? GROUP BY fingerprint HAVING count(*) >= ?",
            (BLOCK_ENTRIES // 2, COMPACT_BLOCKS),
        )
    for (fingerprint,) in due:
        with database.write_at_once() as connection:
            bump_vectors(connection)  # before it looks, so that of two who do so one waits
            compact(connection, fingerprint)


def drop_unused_vectors(database: Database) -> int:
    """Drop vectors of texts that no version holds, from the blocks, then from the rows; returns their number."""
    with database.read() as connection:
        unused = [row[0] for row in connection.rows(f"SELECT id FROM vectors WHERE {_UNUSED}")]
        blocks = connection.rows("SELECT id, fingerprint FROM vector_blocks")
    for block, fingerprint in blocks:
        with database.write() as connection:
            _shed(connection, block, fingerprint)
    for fingerprint in {fingerprint for _, fingerprint in blocks}:
        with database.write() as connection:
            compact(connection, fingerprint)
    dropped = 0
    for at in range(0, len(unused), BATCH):
        with database.write() as connection:
            # A text may have come back since the list was made.
            sql = f"DELETE FROM vectors WHERE {_UNUSED} AND id IN (*) RETURNING id"
            dropped += len(connection.rows_in(sql, unused[at : at + BATCH]))
    return dropped


def _shed(connection: Connection, block: int, fingerprint: int) -> None:
    """Rewrite a block without the chunks that are gone for good."""
    if not connection.rows("SELECT 1 FROM vector_blocks WHERE id=?", (block,)):
        return  # another process put it together with others
    entries = read_block(connection, block)
    low, high = (int(entries.chunks.min()), int(entries.chunks.max())) if len(entries.chunks) else (0, -1)
    rows = connection.rows("SELECT id FROM chunks WHERE state < 2 AND id BETWEEN ? AND ?", (low, high))
    stays = np.isin(entries.chunks, np.fromiter((row[0] for row in rows), np.int64, len(rows)))
    if stays.all() and len(stays):
        return
    bump_vectors(connection)
    connection.run("DELETE FROM vector_blocks WHERE id=?", (block,))
    if stays.any():
        left = Entries(entries.chunks[stays], entries.items[stays], entries.vectors[stays], entries.sketches[:, stays])
        write_block(connection, fingerprint, left)
