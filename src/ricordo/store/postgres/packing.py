"""Packs the postings of a store from before schema 8, a row for each, into segments; once, when it is upgraded.

Most of it is done beside the programs that still use the old rows: a transaction packs some passages, and notes how far
it came, so that an interrupted upgrade goes on there. The last transaction locks the old rows, packs what was written
meanwhile, notes which passages changed their state, and drops them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ricordo.store.index.postings import invert
from ricordo.store.index.segments import READY
from ricordo.store.sql.new_chunks import DELETED, FIELDS

BATCH = 2_000
"""How many passages one transaction packs; they become one segment."""
PACKED = "packed_postings"
"""The name of the new table of postings as long as the old one is there."""
_DONE = "packed_until"
Make = Callable[[Any, Mapping[str, str]], None]


def is_old(connection: Any) -> bool:
    """Whether postings are still rows of their own."""
    return connection.execute("SELECT to_regclass('term_counts') IS NOT NULL").fetchone()[0] is True


def prepare(connection: Any, enter: Callable[[], Any], client: int, make: Make) -> None:
    """Pack what there is, one transaction after the other; ``enter`` begins one."""
    with enter():
        if not is_old(connection):
            return
        if connection.execute("SELECT to_regclass('segments') IS NULL").fetchone()[0]:
            make(connection, {"postings": PACKED})
        workspaces = _workspaces(connection)
    for workspace in workspaces:
        packed = BATCH
        while packed == BATCH:
            with enter():
                if not is_old(connection):
                    return  # another process was faster
                packed = _pack(connection, workspace, client)


def finish(connection: Any, client: int, make: Make) -> None:
    """Pack what is left, and drop the old rows; all in the transaction of the upgrade."""
    if connection.execute("SELECT to_regclass('segments') IS NULL").fetchone()[0]:
        make(connection, {"postings": PACKED})
    connection.execute("LOCK TABLE postings, chunks, lexical_stats IN ACCESS EXCLUSIVE MODE")
    for workspace in _workspaces(connection):
        while _pack(connection, workspace, client) == BATCH:
            pass
        _note_states(connection, workspace)
        connection.execute(
            "INSERT INTO lexical_stats(field, total, passages) SELECT field + %s, passages, 0 FROM lexical_stats"
            " WHERE field >= 0 AND workspace = %s ON CONFLICT DO NOTHING",
            (len(FIELDS), workspace),
        )
        # Terms stood among the words only for prefixes, which are looked up among the postings now.
        connection.execute("DELETE FROM vocabulary WHERE word = term AND workspace = %s", (workspace,))
        connection.execute("DELETE FROM meta WHERE name = %s AND workspace = %s", (_DONE, workspace))
        connection.execute(
            "UPDATE meta SET value = to_jsonb(value::bigint + 1) WHERE name = 'index_epoch' AND workspace = %s",
            (workspace,),
        )
    connection.execute("ALTER TABLE lexical_stats DROP COLUMN passages")
    connection.execute("DROP TABLE term_counts, postings")
    connection.execute(f"ALTER TABLE {PACKED} RENAME TO postings")


def _workspaces(connection: Any) -> list[int]:
    return [row[0] for row in connection.execute("SELECT id FROM workspaces ORDER BY id").fetchall()]


def _pack(connection: Any, workspace: int, client: int) -> int:
    """Make a segment of the next passages of a workspace; returns how many these were."""
    connection.execute(
        "SELECT set_config('ricordo.workspace', %s, true), set_config('ricordo.client', %s, true)",
        (str(workspace), str(client)),
    )
    done = connection.execute("SELECT value FROM meta WHERE name = %s AND workspace = %s", (_DONE, workspace))
    after = (done.fetchone() or (0,))[0]
    chunks = connection.execute(
        "SELECT id, item, state, lengths FROM chunks WHERE workspace = %s AND id > %s AND state < 2"
        " ORDER BY id LIMIT %s",
        (workspace, after, BATCH),
    ).fetchall()
    if chunks:
        _write(connection, chunks, _counts(connection, workspace, [row[0] for row in chunks]))
        connection.execute(
            "INSERT INTO meta(name, value) VALUES(%s, to_jsonb(%s::bigint))"
            " ON CONFLICT (workspace, name) DO UPDATE SET value = excluded.value",
            (_DONE, chunks[-1][0]),
        )
    return len(chunks)


def _counts(connection: Any, workspace: int, chunks: Sequence[int]) -> list[tuple[dict[str, int], ...]]:
    """How often each field of each passage holds each term, by the old rows."""
    held: dict[int, tuple[dict[str, int], ...]] = {chunk: tuple({} for _ in FIELDS) for chunk in chunks}
    for term, chunk, body, others in connection.execute(
        "SELECT term, chunk, body, others FROM postings WHERE workspace = %s AND chunk = ANY(%s)", (workspace, chunks)
    ).fetchall():
        fields = held[chunk]
        if body:
            fields[-1][term] = body
        for field, count in zip(fields, (others or ())[: len(FIELDS) - 1], strict=False):
            if count:
                field[term] = count
    return list(held.values())


def _write(connection: Any, chunks: Sequence[Any], counts: Sequence[tuple[dict[str, int], ...]]) -> None:
    lengths = np.frombuffer(b"".join(row[3] for row in chunks), np.uint32).reshape(-1, len(FIELDS))
    segment = connection.execute(
        "INSERT INTO segments(state, docs, chunk_ids, item_ids, lengths, states) VALUES(%s, %s, %s, %s, %s, %s)"
        " RETURNING id",
        (
            READY,
            len(chunks),
            np.array([row[0] for row in chunks], np.int64).tobytes(),
            np.array([row[1] for row in chunks], np.int64).tobytes(),
            np.ascontiguousarray(lengths.T).tobytes(),
            bytes(row[2] for row in chunks),
        ),
    ).fetchone()[0]
    rows = list(invert(counts))
    connection.execute(
        f"INSERT INTO {PACKED}(segment, term, data) SELECT %s, * FROM unnest(%s::text[], %s::bytea[])",
        (segment, [term for term, _ in rows], [data for _, data in rows]),
    )


def _note_states(connection: Any, workspace: int) -> None:
    """Write down which packed passages were changed or removed since."""
    states = dict(connection.execute("SELECT id, state FROM chunks WHERE workspace = %s", (workspace,)).fetchall())
    changed = []
    for chunk_ids, packed in connection.execute(
        "SELECT chunk_ids, states FROM segments WHERE workspace = %s", (workspace,)
    ).fetchall():
        for chunk, state in zip(np.frombuffer(chunk_ids, np.int64).tolist(), packed, strict=True):
            now = min(states.get(chunk, DELETED), DELETED)
            if now != state:
                changed.append((chunk, now))
    with connection.cursor() as cursor:
        cursor.executemany("INSERT INTO retired(chunk, state) VALUES(%s, %s)", changed)
