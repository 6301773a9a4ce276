"""Databases made for vectors: Chroma, Milvus Lite, DuckDB, and txtai's index."""

from __future__ import annotations

import logging
import os
from typing import Any

import numpy as np

from compared.base import ComparedEngine, depth, fused, slice_of

PER_SIDE = 50


class Chroma(ComparedEngine):
    """A persistent collection; it ranks by meaning alone."""

    name = "Chroma"
    kinds = ("vector", "filtered")
    packages = ("chromadb",)

    def _client(self) -> Any:
        import chromadb

        settings = chromadb.Settings(anonymized_telemetry=False)
        return chromadb.PersistentClient(path=str(self.folder), settings=settings)

    def load(self) -> None:
        made = self._client().create_collection("passages", metadata={"hnsw:space": "cosine"}, embedding_function=None)
        for batch in self.collection.batches(2_000):
            made.add(
                ids=[str(passage.number) for passage in batch],
                embeddings=np.stack([self.collection.vectors[passage.number] for passage in batch]),
                documents=[passage.whole for passage in batch],
                metadatas=[{"slice": passage.slice} for passage in batch],
            )

    def open(self) -> None:
        self.made = self._client().get_collection("passages", embedding_function=None)

    def ask(self, kind: str, question: int, limit: int) -> list[str]:
        return self.refs(self._near(question, PER_SIDE, slice_of(question) if kind == "filtered" else ""), limit)

    def nearest(self, question: int, limit: int, label: str = "") -> list[str] | None:
        return self.refs(self._near(question, depth(limit, label), label), limit)

    def _near(self, question: int, limit: int, label: str) -> list[int]:
        where = {"slice": label} if label else None
        query = self.collection.query_vectors[question : question + 1]
        found = self.made.query(query_embeddings=query, n_results=limit, where=where, include=["documents"])
        return [int(number) for number in found["ids"][0]]


class MilvusLite(ComparedEngine):
    """Its hybrid search (RRF) over its BM25 function and a vector index."""

    name = "Milvus Lite"
    packages = ("milvus_lite", "pymilvus")

    def _client(self) -> Any:
        from pymilvus import MilvusClient

        logging.disable(logging.WARNING)
        return MilvusClient(str(self.folder / "milvus.db"))

    def load(self) -> None:
        from pymilvus import DataType, Function, FunctionType, MilvusClient

        client = self._client()
        schema = MilvusClient.create_schema()
        schema.add_field("number", DataType.INT64, is_primary=True)
        schema.add_field("slice", DataType.VARCHAR, max_length=16)
        schema.add_field("text", DataType.VARCHAR, max_length=20_000, enable_analyzer=True)
        schema.add_field("vector", DataType.FLOAT_VECTOR, dim=self.collection.vectors.shape[1])
        schema.add_field("sparse", DataType.SPARSE_FLOAT_VECTOR)
        schema.add_function(Function("bm25", FunctionType.BM25, ["text"], ["sparse"]))
        index = client.prepare_index_params()
        index.add_index("vector", index_type="AUTOINDEX", metric_type="COSINE")
        index.add_index("sparse", index_type="SPARSE_INVERTED_INDEX", metric_type="BM25")
        client.create_collection("passages", schema=schema, index_params=index)
        for batch in self.collection.batches(1_000):
            client.insert(
                "passages",
                [
                    {
                        "number": passage.number,
                        "slice": passage.slice,
                        "text": passage.whole[:6_000],
                        "vector": self.collection.vectors[passage.number],
                    }
                    for passage in batch
                ],
            )
        client.close()

    def open(self) -> None:
        self.client = self._client()
        self.client.load_collection("passages")

    def ask(self, kind: str, question: int, limit: int) -> list[str]:
        from pymilvus import AnnSearchRequest, RRFRanker

        condition = f'slice == "{slice_of(question)}"' if kind == "filtered" else ""
        vector = [self.collection.query_vectors[question].tolist()]
        words = [" ".join(self.collection.words[question])]
        if kind == "keyword":
            found = self.client.search("passages", data=words, anns_field="sparse", limit=PER_SIDE)
        elif kind == "vector":
            found = self.client.search("passages", data=vector, anns_field="vector", limit=PER_SIDE)
        else:
            sides = [
                AnnSearchRequest(data, field, {}, PER_SIDE, expr=condition or None)
                for data, field in ((vector, "vector"), (words, "sparse"))
            ]
            found = self.client.hybrid_search("passages", sides, RRFRanker(), limit=PER_SIDE)
        return self.refs([row["number"] for row in found[0]], limit)

    def nearest(self, question: int, limit: int, label: str = "") -> list[str] | None:
        condition = f'slice == "{label}"' if label else ""
        vector = [self.collection.query_vectors[question].tolist()]
        found = self.client.search(
            "passages", data=vector, anns_field="vector", limit=depth(limit, label), filter=condition
        )
        return self.refs([row["number"] for row in found[0]], limit)

    def close(self) -> None:
        self.client.close()


_TXTAI_VECTORS: dict[str, Any] = {}


def txtai_vectors(texts: list[str]) -> Any:
    """The vectors that txtai asks for; it finds this function by its name."""
    return np.stack([_TXTAI_VECTORS[text] for text in texts])


class Txtai(ComparedEngine):
    """Its hybrid index: Faiss for meaning, BM25 for words."""

    name = "txtai"
    kinds = ("hybrid",)
    packages = ("txtai",)

    def _embeddings(self) -> Any:
        os.environ["ALLOW_RESOLVE_TRANSFORM"] = "True"
        from txtai import Embeddings

        return Embeddings(
            {"method": "external", "transform": "compared.vector_peers.txtai_vectors", "hybrid": True, "content": False}
        )

    def load(self) -> None:
        embeddings = self._embeddings()
        for passage in self.collection.passages():
            _TXTAI_VECTORS[passage.whole] = self.collection.vectors[passage.number]
        embeddings.index((passage.number, passage.whole, None) for passage in self.collection.passages())
        embeddings.save(str(self.folder / "txtai"))

    def open(self) -> None:
        self.embeddings = self._embeddings()
        self.embeddings.load(str(self.folder / "txtai"))
        self.asked = [" ".join(words) for words in self.collection.words]
        _TXTAI_VECTORS.update(zip(self.asked, self.collection.query_vectors, strict=True))

    def ask(self, kind: str, question: int, limit: int) -> list[str]:
        return self.refs([int(number) for number, _ in self.embeddings.search(self.asked[question], PER_SIDE)], limit)


class DuckDb(ComparedEngine):
    """Its fts and vss extensions, joined by reciprocal rank fusion."""

    name = "DuckDB"

    @classmethod
    def missing(cls) -> str:
        try:
            import duckdb
        except ImportError:
            return "pip install duckdb"
        try:
            duckdb.connect().execute("INSTALL fts; LOAD fts; INSTALL vss; LOAD vss")
        except duckdb.Error:
            return "its extensions fts and vss must be downloaded, and could not be"
        return ""

    def load(self) -> None:
        import duckdb

        width = self.collection.vectors.shape[1]
        connection = duckdb.connect(str(self.folder / "duck.db"))
        connection.execute("LOAD fts; LOAD vss; SET hnsw_enable_experimental_persistence = true")
        connection.execute(f"CREATE TABLE passages(number INTEGER, slice TEXT, body TEXT, vector FLOAT[{width}])")
        for batch in self.collection.batches(2_000):
            rows = [(p.number, p.slice, p.whole, self.collection.vectors[p.number].tolist()) for p in batch]
            connection.executemany("INSERT INTO passages VALUES(?,?,?,?)", rows)
        connection.execute("PRAGMA create_fts_index('passages', 'number', 'body')")
        connection.execute("CREATE INDEX near ON passages USING HNSW(vector) WITH (metric = 'cosine')")
        connection.close()

    def open(self) -> None:
        import duckdb

        self.connection = duckdb.connect(str(self.folder / "duck.db"), read_only=True)
        self.connection.execute("LOAD fts; LOAD vss")

    def ask(self, kind: str, question: int, limit: int) -> list[str]:
        label = slice_of(question) if kind == "filtered" else ""
        words = self._by_word(question, PER_SIDE, label) if kind != "vector" else []
        near = self._near(question, PER_SIDE, label) if kind != "keyword" else []
        return self.refs(fused(words, near), limit)

    def nearest(self, question: int, limit: int, label: str = "") -> list[str] | None:
        return self.refs(self._near(question, depth(limit, label), label), limit)

    def _by_word(self, question: int, limit: int, label: str) -> list[int]:
        rows = self.connection.execute(
            "SELECT number FROM (SELECT number, slice, fts_main_passages.match_bm25(number, ?) AS score FROM passages)"
            " WHERE score IS NOT NULL AND (? = '' OR slice = ?) ORDER BY score DESC LIMIT ?",
            [" ".join(self.collection.words[question]), label, label, limit],
        ).fetchall()
        return [row[0] for row in rows]

    def _near(self, question: int, limit: int, label: str) -> list[int]:
        vector = self.collection.query_vectors[question]
        condition, values = ("WHERE slice = ?", [label]) if label else ("", [])
        rows = self.connection.execute(
            f"SELECT number FROM passages {condition}"
            f" ORDER BY array_cosine_distance(vector, ?::FLOAT[{len(vector)}]) LIMIT ?",
            [*values, vector.tolist(), limit],
        ).fetchall()
        return [row[0] for row in rows]
