"""Qdrant inside this process (``qdrant-edge-py``): the same engine without a server, for one process at a time.

A space is split over several shards by the ids of its points, as a cluster does it.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager
from heapq import nlargest
from pathlib import Path
from typing import Any

import qdrant_edge as edge

from ricordo.plugins.qdrant.engine import LEAST_LOOKED_AT, VECTOR, Point, Space, calling, lost, point_number
from ricordo.store.arrays import Array


class EdgeEngine:
    """The points of all spaces in the folders of one place."""

    def __init__(self, folder: Path, *, shards: int = 1) -> None:
        self._folder = folder
        self._count = shards
        self._open: dict[str, list[Any]] = {}
        self._lock = threading.RLock()

    def _calling(self) -> AbstractContextManager[None]:
        # What the engine itself raises has no class of its own.
        return calling(f"in {self._folder}", (Exception, OSError, RuntimeError, ValueError))

    def _shards(self, space: Space) -> list[Any]:
        with self._lock:
            if space.name not in self._open:
                places = sorted((self._folder / space.name).glob("shard-*"))
                if not places:
                    raise lost(space, f"in {self._folder}")
                self._open[space.name] = [edge.EdgeShard.load(str(place)) for place in places]
            return self._open[space.name]

    def check(self) -> None:
        with self._calling():
            self._folder.mkdir(parents=True, exist_ok=True)

    def make(self, space: Space) -> None:
        with self._calling(), self._lock:
            if space.name in self._open or (self._folder / space.name).exists():
                return
            dense = edge.EdgeVectorParams(size=space.dimensions, distance=edge.Distance.Dot)
            config = edge.EdgeConfig(vectors={VECTOR: dense})
            places = [self._folder / space.name / f"shard-{number:02}" for number in range(self._count)]
            for place in places:
                place.mkdir(parents=True)
            self._open[space.name] = [edge.EdgeShard.create(str(place), config) for place in places]
            for shard in self._open[space.name]:
                shard.update(edge.UpdateOperation.create_field_index("item", edge.PayloadSchemaType.Integer))

    def put(self, space: Space, points: Sequence[Point], seq: int) -> None:
        with self._calling(), self._lock:
            earlier = edge.Filter(must=[edge.FieldCondition("seq", range=edge.RangeFloat(lte=float(seq)))])
            for shard, mine in self._split(space, points):
                made = [
                    edge.Point(one.id, {VECTOR: one.vector.tolist()}, {"item": one.item, "seq": seq}) for one in mine
                ]
                shard.update(edge.UpdateOperation.upsert_points(made, condition=earlier))
                shard.flush()

    def _split(self, space: Space, points: Sequence[Point]) -> list[tuple[Any, list[Point]]]:
        shards = self._shards(space)
        parts = [(shard, [one for one in points if one.id % len(shards) == at]) for at, shard in enumerate(shards)]
        return [(shard, mine) for shard, mine in parts if mine]

    def remove(self, space: Space, ids: Sequence[int]) -> None:
        with self._calling(), self._lock:
            shards = self._shards(space)
            for at, shard in enumerate(shards):
                mine: list[Any] = [one for one in ids if one % len(shards) == at]
                if mine:
                    shard.update(edge.UpdateOperation.delete_points(mine))
                    shard.flush()

    def nearest(self, space: Space, vector: Array, limit: int, items: Sequence[int] | None) -> list[int]:
        among = None
        if items is not None:
            among = edge.Filter(must=[edge.FieldCondition("item", match=edge.MatchAny(list(items)))])
        request = edge.QueryRequest(
            limit=limit,
            query=edge.Query.Nearest(vector.tolist(), using=VECTOR),
            filter=among,
            params=edge.SearchParams(hnsw_ef=max(limit, LEAST_LOOKED_AT)),
        )
        with self._calling():
            found = [
                (one.score, -point_number(one.id, f"in {self._folder}"))
                for shard in self._shards(space)
                for one in shard.query(request)
            ]
        return [-number for _, number in nlargest(limit, found)]

    def count(self, space: Space) -> int:
        with self._calling():
            return sum(shard.count(edge.CountRequest(exact=True)) for shard in self._shards(space))

    def held(self, space: Space, ids: Sequence[int]) -> set[int]:
        with self._calling():
            shards = self._shards(space)
            return {
                int(one.id)
                for at, shard in enumerate(shards)
                for one in shard.retrieve([n for n in ids if n % len(shards) == at], False, False)
            }

    def drop(self, space: Space) -> None:
        with self._calling(), self._lock:
            for shard in self._open.pop(space.name, ()):
                shard.close()
            shutil.rmtree(self._folder / space.name, ignore_errors=True)

    def settle(self) -> None:
        with self._calling(), self._lock:
            for shards in self._open.values():
                for shard in shards:
                    shard.optimize()

    def close(self) -> None:
        with self._lock:
            while self._open:
                for shard in self._open.popitem()[1]:
                    shard.close()
