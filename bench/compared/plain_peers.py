"""Libraries that do one half, joined with numpy for the other: bm25s and Tantivy for words, a product for meaning."""

from __future__ import annotations

from typing import Any

import numpy as np

from compared.base import ComparedEngine, depth, fused, slice_of

PER_SIDE = 50


class WithNumpy(ComparedEngine):
    """Vectors compared one and all by a matrix product, in memory."""

    def open(self) -> None:
        self.vectors = np.ascontiguousarray(self.collection.vectors)
        labels = np.load(self.folder / "slices.npy")
        self.slices = {label: np.flatnonzero(labels == label) for label in np.unique(labels)}

    def keep_slices(self) -> None:
        labels = np.empty(len(self.collection.vectors), "U8")
        for passage in self.collection.passages():
            labels[passage.number] = passage.slice
        np.save(self.folder / "slices.npy", labels)

    def by_meaning(self, question: int, limit: int, label: str) -> list[int]:
        query = self.collection.query_vectors[question]
        if label:
            allowed = self.slices.get(label, np.empty(0, int))
            cosines = self.vectors[allowed] @ query
        else:
            allowed, cosines = None, self.vectors @ query
        limit = min(limit, len(cosines))
        if not limit:
            return []
        best = np.argpartition(-cosines, limit - 1)[:limit]
        best = best[np.argsort(-cosines[best])]
        return [int(number) for number in (best if allowed is None else allowed[best])]

    def by_word(self, question: int, limit: int, label: str) -> list[int]:
        raise NotImplementedError

    def ask(self, kind: str, question: int, limit: int) -> list[str]:
        label = slice_of(question) if kind == "filtered" else ""
        words = self.by_word(question, PER_SIDE, label) if kind != "vector" else []
        near = self.by_meaning(question, PER_SIDE, label) if kind != "keyword" else []
        return self.refs(fused(words, near), limit)

    def nearest(self, question: int, limit: int, label: str = "") -> list[str] | None:
        return self.refs(self.by_meaning(question, depth(limit, label), label), limit)


class Bm25s(WithNumpy):
    """Bm25s for words, a matrix product for meaning, all in memory."""

    name = "bm25s + numpy"
    packages = ("bm25s",)

    def load(self) -> None:
        import bm25s

        self.keep_slices()
        texts = [""] * len(self.collection.vectors)
        for passage in self.collection.passages():
            texts[passage.number] = passage.whole
        index = bm25s.BM25()
        index.index(bm25s.tokenize(texts, stopwords="en", show_progress=False), show_progress=False)
        index.save(str(self.folder / "bm25s"))

    def open(self) -> None:
        import bm25s

        super().open()
        self.index: Any = bm25s.BM25.load(str(self.folder / "bm25s"))
        self.library: Any = bm25s

    def by_word(self, question: int, limit: int, label: str) -> list[int]:
        text = " ".join(self.collection.words[question])
        tokens = self.library.tokenize([text], stopwords="en", show_progress=False)
        mask = None
        if label:
            mask = np.zeros(len(self.vectors), np.float32)
            mask[self.slices.get(label, np.empty(0, int))] = 1
        found, scores = self.index.retrieve(tokens, k=limit, show_progress=False, weight_mask=mask)
        return [int(number) for number, score in zip(found[0], scores[0], strict=True) if score > 0]


class Tantivy(WithNumpy):
    """Tantivy for words, a matrix product for meaning in memory."""

    name = "Tantivy + numpy"
    packages = ("tantivy",)

    def load(self) -> None:
        import tantivy

        self.keep_slices()
        schema = (
            tantivy.SchemaBuilder()
            .add_integer_field("number", stored=True)
            .add_text_field("title", tokenizer_name="en_stem")
            .add_text_field("body", tokenizer_name="en_stem")
            .add_text_field("slice", tokenizer_name="raw")
            .build()
        )
        place = self.folder / "tantivy"
        place.mkdir()
        index = tantivy.Index(schema, path=str(place))
        writer = index.writer(256_000_000, 2)
        for passage in self.collection.passages():
            body = f"{passage.heading}\n{passage.text}"
            writer.add_document(
                tantivy.Document(number=passage.number, title=passage.title, body=body, slice=passage.slice)
            )
        writer.commit()
        writer.wait_merging_threads()

    def open(self) -> None:
        import tantivy

        super().open()
        self.index: Any = tantivy.Index.open(str(self.folder / "tantivy"))
        self.searcher = self.index.searcher()

    def by_word(self, question: int, limit: int, label: str) -> list[int]:
        asked = " OR ".join(self.collection.words[question])
        asked = f"({asked}) AND slice:{label}" if label else asked
        query = self.index.parse_query(asked, ["title", "body"])
        return [self.searcher.doc(address)["number"][0] for _, address in self.searcher.search(query, limit).hits]
