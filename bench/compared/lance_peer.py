"""LanceDB: an embedded database with its own full-text and vector indexes."""

from __future__ import annotations

import contextlib
import logging
import os
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from compared.base import ComparedEngine, depth, slice_of

_STEP = 10_000
_REFINE = int(os.environ.get("RICORDO_BENCH_REFINE", "5"))
"""Candidates whose full vectors are compared, per result: without it the compressed vectors lose recall."""
_PROBES = int(os.environ.get("RICORDO_BENCH_PROBES", "0"))
"""How many partitions are looked at; 0: as many as it chooses. More raise its recall to that of others."""


class LanceDb(ComparedEngine):
    """Its hybrid search (RRF) over a full-text index and an IVF-PQ index, refined."""

    name = "LanceDB"
    shares_folder = True
    packages = ("lancedb",)

    def load(self) -> None:
        import lancedb
        import pyarrow as pa

        warnings.simplefilter("ignore")
        width = self.collection.vectors.shape[1]
        texts = [(name, pa.string()) for name in ("slice", "text")]
        schema = pa.schema([("number", pa.int64()), *texts, ("vector", pa.list_(pa.float32(), width))])

        def batches() -> Iterator[Any]:
            for batch in self.collection.batches(_STEP):
                vectors = np.stack([self.collection.vectors[passage.number] for passage in batch])
                yield pa.RecordBatch.from_arrays(
                    [
                        pa.array([passage.number for passage in batch], pa.int64()),
                        pa.array([passage.slice for passage in batch]),
                        pa.array([passage.whole for passage in batch]),
                        pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), width),
                    ],
                    schema=schema,
                )

        table = lancedb.connect(self.folder).create_table("passages", batches(), schema=schema)
        table.create_fts_index("text")
        vectors: dict[str, Any] = {"index_type": "IVF_PQ", "num_sub_vectors": width // 8}
        table.create_index(metric="cosine", vector_column_name="vector", **vectors)
        table.create_scalar_index("slice", index_type="BITMAP")

    def open(self) -> None:
        import lancedb
        from lancedb.rerankers import RRFReranker

        warnings.simplefilter("ignore")
        logging.disable(logging.WARNING)
        self.table = lancedb.connect(self.folder).open_table("passages")
        self.fusion = RRFReranker()

    def ask(self, kind: str, question: int, limit: int) -> list[str]:
        words = " ".join(self.collection.words[question])
        vector = self.collection.query_vectors[question]
        if kind == "keyword":
            query = self.table.search(words, query_type="fts")
        elif kind == "vector":
            query = _as_true(self.table.search(vector))
        else:
            query = self.table.search(query_type="hybrid").vector(vector).text(words).rerank(self.fusion)
            query = _as_true(query)
        if kind == "filtered":
            query = query.where(f"slice = '{slice_of(question)}'", prefilter=True)
        return self.refs(self._numbers(query, 50), limit)

    def nearest(self, question: int, limit: int, label: str = "") -> list[str] | None:
        query = _as_true(self.table.search(self.collection.query_vectors[question]))
        if label:
            query = query.where(f"slice = '{label}'", prefilter=True)
        return self.refs(self._numbers(query, depth(limit, label)), limit)

    def _numbers(self, query: Any, limit: int) -> list[int]:
        rows = query.limit(limit).select(["number"]).to_arrow()
        return [number for number in rows["number"].to_pylist() if number >= 0]

    def write(self, number: int) -> None:
        vector = self.collection.vectors[number % len(self.collection.vectors)]
        text = f"Note {number}, written while others search."
        with contextlib.suppress(RuntimeError):  # two commits at the same moment: it is tried again with the next
            self.table.add([{"number": -1, "slice": "slicenew", "text": text, "vector": vector}])


def _as_true(query: Any) -> Any:
    """By cosine, as true as the constants say."""
    query = query.distance_type("cosine").refine_factor(_REFINE)
    return query.nprobes(_PROBES) if _PROBES else query
