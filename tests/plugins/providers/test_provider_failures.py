"""Providers that fail under an engine: nothing is lost, words still find it, and later all is embedded."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from ricordo import Ricordo
from ricordo.cli.program import program
from ricordo.models.base import fingerprint_of
from ricordo.models.http import ATTEMPTS

NOTES = {
    "note:/keys": "Rotate the signing keys every quarter.",
    "note:/bread": "Bread needs water, flour and time.",
    "note:/cat": "The cat sleeps on the warm stove.",
}


@pytest.fixture
def closed() -> Iterator[str]:
    """An address where nobody answers."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"


def fill(engine: Ricordo) -> Ricordo:
    for ref, text in NOTES.items():
        assert engine.save(ref, text).status == "created"
    return engine


def by_meaning(engine: Ricordo, query: str) -> list[str]:
    answer = engine.search(query, by="meaning", track=False)
    return [hit.ref for hit in answer.hits[:1]]


@pytest.mark.parametrize("fault", ["429", "500", "slow", "truncated", "wrong dimension", "nan", "bad json"])
def test_nothing_is_lost_while_a_provider_fails(
    service: Any, open_engine: Any, waits: list[float], fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.breaks(fault)
    monkeypatch.setattr("ricordo.models.http.REQUEST_SECONDS", 0.1 if fault == "slow" else 60.0)
    engine = fill(open_engine(vectors=True, **service.settings))
    answer = engine.search("signing keys")
    assert answer.hits[0].ref == "note:/keys"
    assert any(reason.startswith("vectors: ") for reason in answer.meta.degraded)
    summary = engine.embed(status=True).to_dict()
    assert summary["pending"] + summary["failed"] == 3
    assert summary["done"] == 0
    engine.store.jobs.retry()
    stopped = engine.embed().stopped
    assert "ricordo" in stopped or "embedding" in stopped

    service.mends()
    monkeypatch.setattr("ricordo.models.http.REQUEST_SECONDS", 60.0)
    later = open_engine(vectors=True, **service.settings)
    later.store.jobs.retry()
    report = later.embed()
    assert (report.embedded, report.stopped) == (3, "")
    assert later.search("signing keys").meta.degraded == ()
    assert by_meaning(later, "how much flour for bread") == ["note:/bread"]


def test_a_provider_that_is_not_there_costs_no_write_and_says_how_to_go_on(
    service: Any, open_engine: Any, waits: list[float], closed: str
) -> None:
    engine = open_engine(vectors=True, **service.settings | {"embedding.base_url": closed})
    report = engine.add(text="The cat sleeps.", as_ref="note:/cat")
    assert report.count("created") == 1
    [note] = report.notes
    assert "cannot be reached" in note
    assert "config set embedding.provider local" in note
    assert engine.embed(status=True).to_dict()["pending"] == 1
    assert engine.embed(status=True).to_dict()["failed"] == 0


def test_several_workers_share_a_provider(serve: Any, open_engine: Any) -> None:
    service = serve("voyage")
    engine = open_engine(vectors=True, **service.settings | {"embedding.dimensions": 16})
    for n in range(250):
        engine.save(f"note:/{n}", f"note number {n} says something of its own", wait=False)
    report = engine.embed(workers=4)
    assert (report.embedded, report.failed, report.stopped) == (250, 0, "")
    assert max(len(asked.texts) for asked in service.asked) == 100
    assert engine.embed(status=True).to_dict()["pending"] == 0


def test_the_same_text_is_sent_once(serve: Any, open_engine: Any) -> None:
    service = serve("voyage")
    engine = open_engine(vectors=True, **service.settings)
    engine.save("entry:/one", "the same words", fields={"title": "Same"})
    engine.save("entry:/two", "the same words", fields={"title": "Same"})
    sent = [text for asked in service.asked for text in asked.texts]
    assert len(sent) == len(set(sent))


class TestFallback:
    @pytest.fixture
    def pair(self, serve: Any, open_engine: Any, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Any, Ricordo]:
        """An engine that embeds with Voyage, and with Ollama when that is gone."""
        first, second = serve("voyage"), serve("ollama")
        monkeypatch.setenv("OLLAMA_HOST", second.url)
        settings = first.settings | {"embedding.fallback": "ollama:nomic-embed-text", "embedding.dimensions": 64}
        return first, second, open_engine(vectors=True, **settings)

    def test_while_the_first_works_the_second_is_not_asked(self, pair: Any) -> None:
        _, second, engine = pair
        fill(engine)
        assert by_meaning(engine, "flour for bread") == ["note:/bread"]
        assert second.asked == []

    def test_it_stands_in_under_its_own_fingerprint(self, pair: Any, waits: list[float]) -> None:
        first, second, engine = pair
        first.breaks("500")
        fill(engine)
        models = engine._context.models
        own, others = fingerprint_of(models.embedder()), fingerprint_of(models.fallback())
        assert engine.store.vectors.counts(own) == {
            "chunks": 3, "embedded": 0, "pending": 3, "running": 0, "failed": 0,
        }  # fmt: skip
        assert engine.store.vectors.counts(others)["embedded"] == 3
        answer = engine.search("how much flour for bread", by="meaning")
        assert answer.hits[0].ref == "note:/bread"
        assert any("is used instead, for 3 of 3 passages" in reason for reason in answer.meta.degraded)
        assert second.asked[-1].texts == ["search_query: how much flour for bread"]
        # What waits for the first still waits, and nothing waits for the second.
        assert engine.embed(status=True).to_dict()["pending"] == 3

    def test_when_the_first_is_back_its_own_vectors_are_searched(self, pair: Any, waits: list[float]) -> None:
        first, second, engine = pair
        first.breaks("500")
        fill(engine)
        first.mends()
        asked = len(second.asked)
        report = engine.embed()
        assert (report.embedded, report.fallback, report.stopped) == (3, 0, "")
        answer = engine.search("how much flour for bread", by="meaning")
        assert answer.hits[0].ref == "note:/bread"
        assert answer.meta.degraded == ()
        assert len(second.asked) == asked

    def test_a_long_absence_is_bridged_by_embedding_all_with_the_second(self, pair: Any, waits: list[float]) -> None:
        first, _, engine = pair
        fill(engine)
        first.breaks("500")
        assert "another model" not in str(engine.search("bread", by="meaning").meta.degraded)
        assert engine.search("flour for bread", by="meaning").hits == ()
        report = engine.embed()
        assert report.stopped == ""  # nothing waits for the first
        engine.save("note:/new", "Fresh water for the kettle.")
        report = engine.embed()
        assert report.fallback == 3
        assert "Until then, 3 have the fallback's." in report.stopped
        assert by_meaning(engine, "flour for bread") == ["note:/bread"]

    def test_both_gone_is_said_and_words_still_find(self, pair: Any, waits: list[float]) -> None:
        first, second, engine = pair
        first.breaks("500")
        second.breaks("500")
        fill(engine)
        answer = engine.search("signing keys")
        assert answer.hits[0].ref == "note:/keys"
        assert "The fallback fails too" in engine.embed().stopped
        assert engine.embed(status=True).to_dict()["pending"] == 3

    def test_making_all_vectors_again_keeps_the_seconds(self, pair: Any, waits: list[float], serve: Any) -> None:
        first, _, engine = pair
        first.breaks("500")
        fill(engine)
        others = fingerprint_of(engine._context.models.fallback())
        first.mends()
        engine.embed()
        engine.store.vectors.activate("another", engine._context.models.fallback_fingerprints())
        assert engine.store.vectors.counts(others)["embedded"] == 3


def test_a_search_that_has_answered_asks_the_service_no_more(
    serve: Any, tmp_path: Path, waits: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    service = serve("voyage")
    for name, value in service.settings.items():
        text = value if isinstance(value, str) else ",".join(value)
        monkeypatch.setenv(f"RICORDO_{name.replace('.', '_').upper()}", text)
    store = ("--store", str(tmp_path / "own.db"))

    def run(*args: str) -> str:
        result = CliRunner().invoke(program, [*args, *store])
        assert result.exit_code == 0, result.stderr
        return result.output

    run("remember", NOTES["note:/keys"])
    (tmp_path / "bread.md").write_text(NOTES["note:/bread"], encoding="utf-8")
    run("add", str(tmp_path / "bread.md"), "--no-wait")
    service.breaks("429")
    before = len(service.asked)
    assert "signing keys" in run("search", "when are the keys rotated")
    assert {tuple(asked.texts) for asked in service.asked[before:]} == {("when are the keys rotated",)}
    assert len(service.asked) - before <= ATTEMPTS
    service.mends()
    assert "1 passage waits for its vector: 'ricordo embed' makes them" in run("search", "bread")
