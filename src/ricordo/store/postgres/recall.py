"""How many of the truly nearest vectors the server's index finds, and how many must be taken from it for that.

What is asked for are stored vectors that were turned away by chance until their cosine is 0.6, because questions are
about as far from the texts that answer them. The index knows one bit of each number, so that it must give many vectors
for the best of them, by their exact cosines, to be the nearest of all. How many is measured when the index is made, and
by ``doctor``, which corrects it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ricordo.store.postgres import packed
from ricordo.store.postgres.asking_sql import VectorIndex
from ricordo.store.postgres.connection import Connection
from ricordo.store.postgres.database import Database
from ricordo.store.postgres.nearest_sql import by_index, taken
from ricordo.store.postgres.nearness import decoded
from ricordo.store.postgres.open_workspace import OpenWorkspace
from ricordo.store.postgres.packed import Packed
from ricordo.store.sql.arrays import Array
from ricordo.values.reports import Check

TARGET = 0.97
"""The share of the truly nearest that must be found."""
NEAREST = 50
DEPTHS = (1_000, 2_000, 4_000, 8_000, 16_000)
DEPTH = "vector_depth_"
"""The name of the number in ``meta``, before that of the model."""
_QUESTIONS = 16
_COSINE = 0.6
"""How near to a stored vector what is asked for is."""


def check(workspace: OpenWorkspace, repair: bool) -> Check:
    """The indexes over vectors find what they should."""
    told = []
    is_ok = True
    with workspace.database.read() as connection:
        indexes = _indexes(connection, workspace.database.workspace)
        shares = [_share(connection, index, _questions(connection, index)) for index in indexes]
    for index, share in zip(indexes, shares, strict=True):
        told.append(f"finds {share:.1%} of the {NEAREST} nearest, with {taken(index):,} looked at")
        is_ok = is_ok and share >= TARGET
        if share < TARGET and repair:
            set_depth(workspace.database, index.number)
    workspace.forget_fingerprints()
    wanted = "" if is_ok else f"; at least {TARGET:.0%} should be"
    detail = "; ".join(told) + wanted if told else "is not needed, as all vectors are compared"
    return Check("vector index", is_ok, detail, repaired=repair and not is_ok)


def set_depth(database: Database, number: int) -> None:
    """Measure how many vectors must be taken from the index over those of a model, and keep it for all processes."""
    with database.read() as connection:
        chosen = [index for index in _indexes(connection, database.workspace) if index.number == number]
        depths = [_depth(connection, index) for index in chosen]
    for depth in depths:
        with database.write() as connection:
            connection.set_meta(f"{DEPTH}{number}", depth)


def _indexes(connection: Connection, workspace: int) -> list[VectorIndex]:
    rows = connection.rows(
        "SELECT f.id, f.dimensions, greatest(c.reltuples, 0)::bigint,"
        f" (SELECT value::bigint FROM meta m WHERE m.name = '{DEPTH}' || f.id)"
        " FROM fingerprints f JOIN pg_class c ON c.relname = 'vectors_near_' || f.id"
        " AND c.relnamespace = current_schema::regnamespace ORDER BY f.id"
    )
    return [VectorIndex(number, dimensions, workspace, size, depth) for number, dimensions, size, depth in rows]


def _depth(connection: Connection, index: VectorIndex) -> int:
    """The least number that finds enough; the largest if none does."""
    questions = _questions(connection, index)
    for depth in DEPTHS:
        if _share(connection, replace(index, depth=depth), questions) >= TARGET:
            break
    return depth


def _questions(connection: Connection, index: VectorIndex) -> list[tuple[Packed, set[bytes]]]:
    """Points near stored vectors, and the hashes of their nearest, by comparing all."""
    rows = connection.rows(  # in the order of their hashes, which is as good as any chance
        "SELECT vector_send(vector) FROM vectors WHERE fingerprint=? ORDER BY hash LIMIT ?",
        (index.number, _QUESTIONS),
    )
    chance = np.random.default_rng(index.number)
    points = [packed.vector(_turned(decoded(row[0]), chance)) for row in rows]
    return [
        (
            point,
            _hashes(
                connection,
                "SELECT v.hash FROM vectors v WHERE v.fingerprint = ? ORDER BY v.vector <#> ?::vector LIMIT ?",
                (index.number, point, NEAREST),
            ),
        )
        for point in points
    ]


def _share(connection: Connection, index: VectorIndex, questions: list[tuple[Packed, set[bytes]]]) -> float:
    """The share of the nearest that the index finds."""
    ours, order = by_index(index)
    nearest = (
        f"SELECT v.hash FROM (SELECT v.hash, v.vector FROM vectors v WHERE {ours} ORDER BY {order}"
        f" LIMIT {taken(index)}) v ORDER BY v.vector <#> ?::vector LIMIT {NEAREST}"
    )
    shares = [len(true & _hashes(connection, nearest, (point, point))) / max(1, len(true)) for point, true in questions]
    return float(np.mean(shares)) if shares else 1.0


def _hashes(connection: Connection, sql: str, values: tuple[object, ...]) -> set[bytes]:
    return {bytes(row[0]) for row in connection.rows(sql, values)}


def _turned(vector: Array, chance: np.random.Generator) -> Array:
    """A vector whose cosine with this one is about 0.6."""
    away = chance.normal(size=len(vector))
    length = max(float(np.linalg.norm(vector)), 1e-9)
    turned: Array = _COSINE * vector / length + (1 - _COSINE**2) ** 0.5 * away / np.linalg.norm(away)
    return turned.astype(np.float32)
