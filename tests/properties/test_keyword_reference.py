"""Keyword search equals BM25F written plainly, whatever happened to the store before."""

from __future__ import annotations

import math
import tempfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule

from ricordo import NotFound, Ricordo
from ricordo.store.index import impacts, segments
from ricordo.store.sqlite.store import SqliteStore
from ricordo.text.words import Analyzer, fold

WORDS = ["cat", "cats", "running", "snake_case", "camelCase", "été", "東京都", "jwt", "the", "of", "key-rotation", "42"]
texts = st.lists(st.sampled_from(WORDS), min_size=0, max_size=12).map(" ".join)
titles = st.lists(st.sampled_from(WORDS), min_size=0, max_size=3).map(" ".join)
QUERIES = (
    "cat jwt", "running cats snake_case", "東京", "camelCase key rotation 42", "été n1", "runing jwt", "rotaton cat",
)  # fmt: skip
WEIGHTS = {"title": 3.3, "path": 1.7, "description": 1.0, "tags": 0.67, "context": 0.33, "body": 1.0}


MEANT = {"runing": "run", "rotaton": "rotat"}
"""Words that stand nowhere, and the term that is looked for in their place where that one stands somewhere."""
RESPELLED = 0.7


def reference(documents: dict[str, dict[str, str]], query: str) -> dict[str, float]:
    """BM25F as the documentation states it, over one-chunk documents; relative to its attainable maximum."""
    analyzer = Analyzer("english")
    counts = {ref: {f: Counter(analyzer.terms(t)) for f, t in fields.items()} for ref, fields in documents.items()}
    filled = {f: sum(bool(c[f]) for c in counts.values()) for f in WEIGHTS}
    average = {f: sum(sum(c[f].values()) for c in counts.values()) / max(filled[f], 1) for f in WEIGHTS}
    scores: dict[str, float] = dict.fromkeys(counts, 0.0)
    maximum = 0.0
    meant = {term: MEANT[word] for word in query.split() if word in MEANT for term in analyzer.query_terms(word)}
    for asked in analyzer.query_terms(query):
        is_respelled = any(counts[ref][f][meant[asked]] for ref in counts for f in WEIGHTS) if asked in meant else False
        term, share = (meant[asked], RESPELLED) if is_respelled else (asked, 1.0)
        df = sum(any(c[f][term] for f in WEIGHTS) for c in counts.values())
        idf = share * math.log(1 + (len(counts) - df + 0.5) / (df + 0.5))
        maximum += idf
        for ref, fields in counts.items():
            x = 0.0
            for name, weight in WEIGHTS.items():
                length = sum(fields[name].values())
                norm = 1 - 0.75 + 0.75 * length / average[name] if average[name] else 1.0
                x += weight * fields[name][term] / norm
            scores[ref] += idf * x / (1.2 + x)
    return {ref: score / maximum for ref, score in scores.items() if score > 0}


class StoreAgainstReference(RuleBasedStateMachine):
    refs = Bundle("refs")

    @initialize(narrow_from=st.sampled_from((1, impacts.NARROW_FROM)))
    def open(self, narrow_from: int) -> None:
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(impacts, "NARROW_FROM", narrow_from)  # scores are right to nine digits either way
        self.folder = tempfile.TemporaryDirectory()
        self.engine = Ricordo.open(Path(self.folder.name) / "store.db")
        self.live: dict[str, dict[str, str]] = {}
        self.binned: dict[str, dict[str, str]] = {}

    def teardown(self) -> None:
        if hasattr(self, "engine"):
            self.patch.undo()
            self.engine.close()
            self.folder.cleanup()

    @rule(target=refs, number=st.integers(0, 8), text=texts, title=titles, tag=st.sampled_from(WORDS))
    def save(self, number: int, text: str, title: str, tag: str) -> str:
        ref = f"note:/n{number}"
        self.engine.save(ref, text, fields={"title": title, "tags": [tag]}, on_conflict="overwrite")
        self.binned.pop(ref, None)
        self.live[ref] = {
            "title": title, "path": f"/n{number}", "description": "", "tags": tag, "context": "", "body": text,
        }  # fmt: skip
        return ref

    @rule(ref=refs, text=texts)
    def edit(self, ref: str, text: str) -> None:
        if ref in self.live:
            self.engine.edit(ref, text)
            self.live[ref] = self.live[ref] | {"body": text}

    @rule(ref=refs)
    def remove(self, ref: str) -> None:
        if ref in self.live:
            self.engine.rm(ref)
            self.binned[ref] = self.live.pop(ref)

    @rule(ref=refs)
    def bring_back(self, ref: str) -> None:
        if ref in self.binned:
            self.engine.restore(ref)
            self.live[ref] = self.binned.pop(ref)

    @rule(ref=refs)
    def purge(self, ref: str) -> None:
        if ref in self.live:
            self.engine.rm(ref, purge=True)
            del self.live[ref]

    @rule()
    def merge_everything(self) -> None:
        assert isinstance(self.engine.store, SqliteStore)
        segments.maintain(self.engine.store.database, everything=True)

    @rule(ref=refs)
    def what_is_gone_is_not_found(self, ref: str) -> None:
        if ref not in self.live and ref not in self.binned:
            try:
                self.engine.get(ref)
                raise AssertionError("a purged item was still there")
            except NotFound:
                pass

    @invariant()
    def answers_equal_the_reference(self) -> None:
        if not hasattr(self, "engine"):
            return
        documents = {ref: fields for ref, fields in self.live.items() if fields["body"]}
        for query in QUERIES:
            expected = reference(documents, query)
            answer = self.engine.search(query, limit=50, by="words", profile="bm25", track=False)
            got = {hit.ref: hit.score for hit in answer.hits}
            if not expected:  # texts that hold the query as it is written stand in for it
                assert got.keys() == {ref for ref, fields in documents.items() if fold(query) in fold(fields["body"])}
                continue
            assert got.keys() == expected.keys()
            assert all(math.isclose(got[ref], expected[ref], rel_tol=1e-9) for ref in got)
            order = [(-hit.score, hit.ref) for hit in answer.hits]
            assert order == sorted(order)


StoreAgainstReference.TestCase.settings = settings(
    max_examples=16, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
)
TestStoreAgainstReference = StoreAgainstReference.TestCase
