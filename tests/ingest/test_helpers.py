"""Adding many texts: other processes prepare some of them, and the store is the same as without."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import apsw
import pytest

from ricordo import ConfigProvider, Entry, Ricordo
from ricordo.ingest import helpers, pipeline
from ricordo.ingest.parse import wire

WORDS = ConfigProvider({"embedding.provider": "none"})
TABLES = (
    "SELECT path, hash, title, kind FROM items ORDER BY n",
    "SELECT item, key, embed_hash, lengths, heading, prefix, text, language FROM chunks ORDER BY id",
    "SELECT word, term FROM vocabulary ORDER BY word, term",
    "SELECT source, text, name, type FROM links ORDER BY id",
    "SELECT item, kind, count FROM secrets ORDER BY item, kind",
)


def texts(name: str, count: int = 40) -> list[Entry]:
    """Texts in two languages, with headings, links, a secret, the name of an entity, and a word that no other has."""
    english = "# Part {n}\n\nCommunications about {word} with [[{name}/{other}]] are kept.\n"
    secret = "AWS_KEY=AKIAIOSFODNN7EXAMPL{n:02}\n"
    french = "# Partie {n}\n\nLes communications avec la mairie de Lyon sont gardées pendant {n} années.\n"
    return [
        Entry(
            f"docs:/{name}/{n}",
            (french if n % 3 == 0 else english + secret).format(n=n, name=name, other=(n + 1) % count, word=word) * 3,
            kind="document",
            structure="markdown",
        )
        for n in range(count)
        for word in [f"{name}{ascii_lowercase[n // 26]}{ascii_lowercase[n % 26]}ings"]
    ]


def held(file: Path) -> list[Any]:
    connection = apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READONLY)
    return [connection.execute(sql).fetchall() for sql in TABLES]


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> Iterator[helpers.Helpers]:
    """Helpers that are started at once, on a machine with three cores, for units of a few texts."""
    monkeypatch.setattr(helpers, "STARTED_AFTER", 0)
    monkeypatch.setattr(helpers, "cores", lambda: 3)
    monkeypatch.setattr(pipeline, "AHEAD_BYTES", 500)
    own = helpers.Helpers()
    monkeypatch.setattr(helpers, "_shared", own)
    yield own
    own.close()


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> list[helpers._Helper]:
    """The helper that got each unit which was given away."""
    noted: list[helpers._Helper] = []
    give = helpers._Helper.give

    def noting(self: helpers._Helper, *arguments: Any) -> None:
        noted.append(self)
        give(self, *arguments)

    monkeypatch.setattr(helpers._Helper, "give", noting)
    return noted


def wait_for(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < until, "it did not come"
        time.sleep(0.02)


def filled(file: Path, own: helpers.Helpers | None = None) -> Path:
    """A store with two loads of texts; the second comes when helpers are ready."""
    with Ricordo.open(file, config=WORDS) as engine:
        engine.entity("Lyon")
        engine.save_many(texts("first"))
        if own is not None:
            wait_for(lambda: len(own._helpers) == 2 and all(one.is_ready for one in own._helpers))
        assert engine.save_many(texts("second")).failed == 0
    return file


def test_helpers_prepare_the_same_as_one_process_alone(
    eager: helpers.Helpers, given: list[helpers._Helper], tmp_path: Path
) -> None:
    with_help = held(filled(tmp_path / "helped.db", eager))
    assert len(set(given)) == 2
    eager.close()
    given.clear()
    eager._works = False
    assert held(filled(tmp_path / "alone.db")) == with_help
    assert not given
    assert all(with_help), "every table that is compared has rows"


def test_a_second_store_learns_the_words_that_a_helper_met_before(
    eager: helpers.Helpers, given: list[helpers._Helper], tmp_path: Path
) -> None:
    first = held(filled(tmp_path / "one.db", eager))
    given.clear()
    second = held(filled(tmp_path / "two.db", eager))
    assert given
    assert second == first


def test_texts_of_a_helper_that_is_killed_are_prepared_here(
    eager: helpers.Helpers, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    whole = held(filled(tmp_path / "one.db", eager))
    give = helpers._Helper.give

    def killing(self: helpers._Helper, *arguments: Any) -> None:
        give(self, *arguments)
        self._process.kill()

    monkeypatch.setattr(helpers._Helper, "give", killing)
    with Ricordo.open(tmp_path / "two.db", config=WORDS) as engine:
        engine.entity("Lyon")
        engine.save_many(texts("first"))
        engine.save_many(texts("second"))
    assert held(tmp_path / "two.db") == whole


def test_texts_that_a_helper_answers_wrongly_are_prepared_here(
    eager: helpers.Helpers, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    whole = held(filled(tmp_path / "one.db", eager))
    real = wire.receive
    monkeypatch.setattr(wire, "receive", lambda stream: (real(stream)[0], b"no answer"))
    with Ricordo.open(tmp_path / "two.db", config=WORDS) as engine:
        engine.entity("Lyon")
        engine.save_many(texts("first"))
        engine.save_many(texts("second"))
    assert held(tmp_path / "two.db") == whole
    wait_for(lambda: all(one._process.poll() is not None for one in eager._helpers))


def test_where_no_helper_can_be_started_all_is_added_and_none_is_tried_again(
    eager: helpers.Helpers, given: list[helpers._Helper], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(helpers, "MAIN", "ricordo.no_such_module")
    with Ricordo.open(tmp_path / "one.db", config=WORDS) as engine:
        engine.save_many(texts("first"))
        wait_for(lambda: all(one.is_lost for one in eager._helpers))
        assert engine.save_many(texts("second")).failed == 0
        assert engine.save_many(texts("third")).failed == 0
        assert len(engine.list(limit=500)) == 120
    assert not given
    assert not eager._helpers


def test_what_cannot_be_prepared_is_named_and_the_rest_is_added(
    eager: helpers.Helpers, given: list[helpers._Helper], tmp_path: Path
) -> None:
    filled(tmp_path / "one.db", eager)
    given.clear()
    bad = Entry("note:/bad", "A text.", fields={"importance": 99})
    with Ricordo.open(tmp_path / "one.db", config=WORDS) as engine:
        report = engine.save_many([*texts("third", 5), bad, *texts("fourth", 5)])
    assert given
    assert [(one.ref, (one.error or {})["code"]) for one in report.items if one.status == "failed"] == [
        ("note:/bad", "usage")
    ]
    assert report.count("created") == 10


def test_a_small_add_starts_no_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    own = helpers.Helpers()
    monkeypatch.setattr(helpers, "_shared", own)
    monkeypatch.setattr(helpers, "cores", lambda: 8)
    filled(tmp_path / "one.db")
    assert not own._helpers


def test_a_machine_with_one_core_gets_no_helper(
    eager: helpers.Helpers, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(helpers, "cores", lambda: 1)
    filled(tmp_path / "one.db")
    assert not eager._helpers
