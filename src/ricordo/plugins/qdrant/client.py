"""A Qdrant server or cluster, over the network (``qdrant-client``): its nodes share and copy the spaces."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import httpx
from qdrant_client import QdrantClient, models
from qdrant_client.common.client_exceptions import QdrantException
from qdrant_client.http.exceptions import ApiException

from ricordo.plugins.qdrant.engine import LEAST_LOOKED_AT, VECTOR, IndexAway, Point, Space, calling, lost, point_number
from ricordo.store.arrays import Array

_ERRORS = (ApiException, QdrantException, httpx.HTTPError, OSError, ValueError)


def connected(address: str, key: str, seconds: int) -> QdrantClient:
    """A client of the server at an address; it connects with the first call."""
    return QdrantClient(url=address, api_key=key or None, timeout=seconds, check_compatibility=False)


class ClientEngine:
    """The points of all spaces as collections of a server."""

    def __init__(self, client: QdrantClient, name: str, *, shards: int = 1, replicas: int = 1) -> None:
        self._client = client
        self._name = name
        self._shards = shards
        self._replicas = replicas

    @contextmanager
    def _calling(self, space: Space | None = None) -> Iterator[None]:
        """Turn the client's errors into ours; with a space, one that is gone is named."""
        try:
            with calling(f"at {self._name}", _ERRORS):
                yield
        except IndexAway as error:
            if space is not None and self._is_gone(space):
                raise lost(space, f"at {self._name}") from error
            raise

    def _is_gone(self, space: Space) -> bool:
        try:
            return not self._client.collection_exists(space.name)
        except _ERRORS:  # then it is away
            return False

    def check(self) -> None:
        with self._calling():
            self._client.get_collections()

    def make(self, space: Space) -> None:
        with self._calling():
            if self._client.collection_exists(space.name):
                return
            self._client.create_collection(
                space.name,
                vectors_config={VECTOR: models.VectorParams(size=space.dimensions, distance=models.Distance.DOT)},
                shard_number=self._shards,
                replication_factor=self._replicas,
            )
            self._client.create_payload_index(space.name, "item", models.PayloadSchemaType.INTEGER)

    def put(self, space: Space, points: Sequence[Point], seq: int) -> None:
        with self._calling(space):
            self._client.upsert(
                space.name,
                [
                    models.PointStruct(
                        id=one.id, vector={VECTOR: one.vector.tolist()}, payload={"item": one.item, "seq": seq}
                    )
                    for one in points
                ],
                wait=True,
                update_filter=models.Filter(must=[models.FieldCondition(key="seq", range=models.Range(lte=seq))]),
            )

    def remove(self, space: Space, ids: Sequence[int]) -> None:
        with self._calling(space):
            self._client.delete(space.name, models.PointIdsList(points=list(ids)), wait=True)

    def nearest(self, space: Space, vector: Array, limit: int, items: Sequence[int] | None) -> list[int]:
        among = None
        if items is not None:
            match = models.MatchAny(any=list(items))
            among = models.Filter(must=[models.FieldCondition(key="item", match=match)])
        with self._calling(space):
            answer = self._client.query_points(
                space.name,
                query=vector.tolist(),
                using=VECTOR,
                query_filter=among,
                search_params=models.SearchParams(hnsw_ef=max(limit, LEAST_LOOKED_AT)),
                limit=limit,
                with_payload=False,
            )
        return [point_number(one.id, f"at {self._name}") for one in answer.points]

    def count(self, space: Space) -> int:
        with self._calling(space):
            return self._client.count(space.name, exact=True).count

    def held(self, space: Space, ids: Sequence[int]) -> set[int]:
        with self._calling(space):
            found = self._client.retrieve(space.name, list(ids), with_payload=False, with_vectors=False)
            return {point_number(one.id, f"at {self._name}") for one in found}

    def drop(self, space: Space) -> None:
        with self._calling():
            if self._client.collection_exists(space.name):
                self._client.delete_collection(space.name)

    def settle(self) -> None:
        """Nothing to do: the server does so itself."""

    def close(self) -> None:
        with self._calling():
            self._client.close()
