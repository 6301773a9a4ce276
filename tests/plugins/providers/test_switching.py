"""Changing the model of a store: what it would cost, and that searches never see half of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ricordo import ConfigProvider, Ricordo
from ricordo.config.loading import load_config, set_value
from ricordo.errors import Unavailable

WORDS = Path(__file__).parents[2] / "fixtures" / "sentence_model"
TEXTS = ("fresh hot tea", "an iron pot with water", "the kettle on the stove", "bread and keys")


@pytest.fixture
def kitchen(tmp_path: Path, serve: Any) -> Any:
    """A store whose model is set in the user's file, as by the command line."""
    service = serve("voyage")
    for name, value in service.settings.items():
        set_value(name, ",".join(value) if isinstance(value, list) else value)
    engine = Ricordo.open(tmp_path / "kitchen.db", config=ConfigProvider())
    for n, text in enumerate(TEXTS):
        engine.save(f"note:/{n}", text)
    yield engine, service
    engine.close()


def test_what_a_switch_would_cost_is_told_and_nothing_changes(kitchen: Any) -> None:
    engine, _ = kitchen
    before = load_config().embedding
    switch = engine.use_model("hub", model=str(WORDS), dry_run=True)
    assert (switch.chunks, switch.dimensions, switch.is_written) == (4, 32, False)
    assert switch.tokens == sum(map(len, TEXTS)) // 4
    assert switch.rate is not None
    assert switch.seconds == pytest.approx(4 / switch.rate)
    assert load_config().embedding == before


def test_a_key_is_never_left_for_another_provider(kitchen: Any) -> None:
    engine, _ = kitchen
    switch = engine.use_model("hub", model=str(WORDS))
    now = load_config().embedding
    assert (now.provider, now.model, now.api_keys, now.base_url) == ("hub", str(WORDS), (), "")
    assert "embedding.api_keys were for voyage and are removed" in switch.notes
    assert switch.is_written


def test_without_new_vectors_words_still_find_and_the_answer_says_why(kitchen: Any) -> None:
    engine, _ = kitchen
    engine.use_model("hub", model=str(WORDS))
    answer = engine.search("kettle stove")
    assert answer.hits[0].ref == "note:/2"
    assert "made by another model" in answer.meta.degraded[0]
    assert engine.embed().embedded == 4
    assert engine.search("kettle stove").meta.degraded == ()


def test_searches_keep_the_old_model_until_the_new_vectors_are_whole(kitchen: Any) -> None:
    engine, _ = kitchen
    old = engine.store.vectors.active_fingerprint()
    seen: list[tuple[str, str | None]] = []

    def look(_: Any) -> None:
        seen.append((load_config().embedding.provider, engine.store.vectors.active_fingerprint()))

    switch = engine.use_model("hub", model=str(WORDS), reembed=True, progress=look)
    assert seen
    assert set(seen) == {("voyage", old)}
    assert switch.embedding.embedded == 4
    assert engine.store.vectors.active_fingerprint() == switch.fingerprint
    assert engine.search("hot tea", by="meaning").hits[0].ref == "note:/0"
    assert engine.search("hot tea").meta.degraded == ()


def test_a_switch_that_fails_half_way_leaves_the_old_model_and_goes_on_later(
    kitchen: Any, serve: Any, waits: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, _ = kitchen
    other = serve("ollama")
    monkeypatch.setenv("OLLAMA_HOST", other.url)
    monkeypatch.setattr("ricordo.ingest.embed.BATCH", 2)
    other.faults = ["", "", "", "", "500", "500", "500"]  # tried, measured, one batch of two
    switch = engine.use_model("ollama", reembed=True)
    assert not switch.is_written
    assert "not switched: ollama: answered 500" in switch.notes[-1]
    assert load_config().embedding.provider == "voyage"
    assert engine.search("hot tea").meta.degraded == ()
    done = engine.use_model("ollama", reembed=True)
    assert (done.chunks, done.embedding.embedded, done.is_written) == (2, 2, True)


def test_a_model_that_does_not_work_is_not_switched_to(
    kitchen: Any, waits: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, _ = kitchen
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:9")
    before = load_config().embedding
    with pytest.raises(Unavailable, match="ollama: cannot be reached"):
        engine.use_model("ollama", reembed=True)
    assert load_config().embedding == before


def test_the_length_of_an_unknown_models_vectors_is_found_out_and_written(
    kitchen: Any, serve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, _ = kitchen
    other = serve("ollama")
    other.dimensions = 96
    monkeypatch.setenv("OLLAMA_HOST", other.url)
    switch = engine.use_model("ollama", model="brand-new")
    assert switch.settings["embedding.dimensions"] == "96"
    assert load_config().embedding.dimensions == 96
    assert engine.embed().embedded == 4


def test_what_wins_over_the_file_is_noted(kitchen: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    engine, _ = kitchen
    monkeypatch.setenv("RICORDO_EMBEDDING_PROVIDER", "none")
    switch = engine.use_model("hub", model=str(WORDS))
    assert "embedding.provider is written, but env:RICORDO_EMBEDDING_PROVIDER wins over it" in switch.notes


def test_the_list_says_what_each_provider_lacks(kitchen: Any) -> None:
    engine, _ = kitchen
    states = {state.provider: state for state in engine.models()}
    assert list(states) == ["local", "hub", "openai", "voyage", "gemini", "ollama", "none"]
    assert (states["voyage"].role, states["voyage"].has_key, states["voyage"].lacks) == ("in use", True, "")
    assert states["gemini"].lacks == "the key GEMINI_API_KEY"
    assert "download" in states["hub"].lacks
    assert [states[name].dimensions for name in ("openai", "voyage", "gemini", "ollama")] == [1536, 1024, 3072, 256]
    assert [states[name].batch for name in ("openai", "voyage", "gemini", "ollama")] == [2048, 128, 100, 64]


def test_switching_back_embeds_nothing_again_until_vacuum_drops_the_old_vectors(kitchen: Any) -> None:
    engine, _ = kitchen
    first = load_config().embedding
    engine.use_model("hub", model=str(WORDS), reembed=True)
    engine.save("note:/later", "sugar and milk")
    for name in ("provider", "model", "base_url"):
        set_value(f"embedding.{name}", getattr(first, name))
    set_value("embedding.api_keys", ",".join(first.api_keys))
    report = engine.embed()
    assert (report.embedded, report.cached) == (1, 0)
    assert engine.search("hot tea").meta.degraded == ()
    assert engine.store.transfer.vacuum(bin_days=engine.config.store.bin_days).vectors == 5
    assert engine.search("hot tea", by="meaning").hits[0].ref == "note:/0"


def test_after_a_switch_embed_is_enough_for_answers_to_use_the_new_model(kitchen: Any) -> None:
    engine, _ = kitchen
    engine.use_model("hub", model=str(WORDS))
    engine.embed(limit=2)
    assert "made by another model" in engine.search("kettle stove").meta.degraded[0]
    engine.embed()
    assert engine.search("kettle stove").meta.degraded == ()


def test_a_model_that_is_not_in_the_package_is_an_error_that_names_those_that_are(tmp_path: Path) -> None:
    with (
        Ricordo.open(tmp_path / "kitchen.db", config=ConfigProvider()) as engine,
        pytest.raises(Unavailable, match="no model 'huge' inside the package") as error,
    ):
        engine.use_model("local", model="huge")
    assert "--model minilm" in error.value.hint
