"""The model inside the package, as its callers see it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ricordo import registry
from ricordo.errors import Unavailable
from ricordo.models.base import Embedder, TokenCounter
from ricordo.models.local_onnx import (
    SHIPPED,
    TEXTS_PER_SLICE,
    TOKENS_PER_RUN,
    LocalEmbedder,
    WordPieceCounter,
    shipped_counter,
)

GETTING_THINGS_DONE = (
    "Getting things done: write every task down, decide the next action, keep one trusted list, review it each week."
)
UNRELATED = [
    "Knead the dough, let it rise for two hours, then bake it at 230 degrees until the crust is dark.",
    "Mitochondria produce most of the chemical energy that a cell needs.",
    "The striker scored twice in the second half and the visitors lost three to one.",
    "SELECT name FROM planets WHERE radius > 6371 ORDER BY mass;",
]


@pytest.fixture(scope="module")
def embedder(tmp_path_factory: pytest.TempPathFactory) -> LocalEmbedder:
    return LocalEmbedder(cache=tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def counter() -> WordPieceCounter:
    return WordPieceCounter()


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A model folder that a test may damage."""
    return Path(shutil.copytree(SHIPPED, tmp_path / "model"))


def modules_after(code: str) -> set[str]:
    """Which of the heavy modules a fresh Python has imported after running the code."""
    heavy = ["numpy", "onnxruntime", "tokenizers", "platformdirs"]
    code += f"\nimport sys\nprint(*[name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


class TestMeaning:
    def test_a_note_on_getting_things_done_is_about_productivity(self, embedder: LocalEmbedder) -> None:
        query = embedder.embed_query("notes about productivity")
        close, *far = embedder.embed_documents([GETTING_THINGS_DONE, *UNRELATED]) @ query
        assert close > 0.3
        assert close > max(far) + 0.15

    def test_similarities_are_those_published_for_the_original(self, embedder: LocalEmbedder) -> None:
        person, *others = embedder.embed_documents(
            ["That is a happy person", "That is a happy dog", "That is a very happy person", "Today is a sunny day"]
        )
        np.testing.assert_allclose(np.array(others) @ person, [0.6946, 0.9429, 0.2569], atol=0.015)

    def test_case_and_accents_do_not_matter(self, embedder: LocalEmbedder) -> None:
        plain, fancy = embedder.embed_documents(["the cafe in zurich", "The Café in ZÜRICH"])
        np.testing.assert_array_equal(plain, fancy)


ROUNDING = 1e-6
"""Sums are taken in another order in a batch, on some processors; a wrongly quantised batch differs by 1e-2."""


class TestVectors:
    def test_vectors_are_float32_of_unit_length_in_the_order_given(self, embedder: LocalEmbedder) -> None:
        texts = ["a much longer text " * 12, "short", "of middle length, more or less", "short too"]
        vectors = embedder.embed_documents(texts)
        assert vectors.dtype == np.float32
        assert vectors.shape == (4, 384) == (len(texts), embedder.dimensions)
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
        for text, vector in zip(texts, vectors, strict=True):
            np.testing.assert_allclose(vector, embedder.embed_query(text), atol=ROUNDING)

    def test_a_vector_does_not_depend_on_its_neighbours(self, embedder: LocalEmbedder) -> None:
        words = ["tide", "moon", "harbour", "lantern", "anchor", "gull", "rope", "mast"]
        texts = [f"the {one} and the {other}" for one in words for other in words]
        assert sum(embedder.count_tokens(texts)) > TOKENS_PER_RUN, "else all would run together"
        together = embedder.embed_documents(texts)
        alone = [embedder.embed_query(text) for text in texts[::9]]
        np.testing.assert_allclose(together[::9], alone, atol=ROUNDING)

    def test_no_texts_give_no_vectors(self, embedder: LocalEmbedder) -> None:
        assert embedder.embed_documents([]).shape == (0, 384)

    @pytest.mark.parametrize(
        "text",
        [
            "",
            " \n\t ",
            "\0",
            "a\0b",
            "👩🏽‍🚀",
            "\ud800",
            "x" * 500,
            "日本語のメモ",
            "[CLS] [PAD] [SEP]",
            "\u202e\ufeff",
        ],
    )
    def test_any_string_has_a_vector(self, embedder: LocalEmbedder, text: str) -> None:
        vector = embedder.embed_query(text)
        assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)
        np.testing.assert_array_equal(embedder.embed_documents(["before", text])[1], vector)

    def test_text_past_the_window_is_cut(self, embedder: LocalEmbedder) -> None:
        window = "word " * (embedder.max_tokens - 2)
        full = embedder.embed_query(window)
        np.testing.assert_array_equal(embedder.embed_query(window + "something else entirely"), full)
        assert not np.array_equal(embedder.embed_query(window.removesuffix("word ")), full)

    def test_ten_million_characters_cost_no_more_than_a_full_window(self, embedder: LocalEmbedder) -> None:
        full = embedder.embed_query("word " * 254)
        np.testing.assert_array_equal(embedder.embed_documents([" " * 1_000_000 + "word " * 2_000_000])[0], full)

    def test_many_texts_come_back_in_order(self, embedder: LocalEmbedder) -> None:
        texts = [str(number % 7) for number in range(TEXTS_PER_SLICE + 9)]
        vectors = embedder.embed_documents(texts)
        assert embedder.count_tokens(texts) == [1] * len(texts)
        np.testing.assert_array_equal(vectors, np.resize(vectors[:7], vectors.shape))
        np.testing.assert_array_equal(vectors[-1], embedder.embed_query(texts[-1]))

    @pytest.mark.parametrize("threads", [1, 2, 5])
    def test_any_number_of_threads_gives_the_same_vectors(self, embedder: LocalEmbedder, threads: int) -> None:
        texts = [GETTING_THINGS_DONE[:end] for end in range(10, 100, 7)]
        several = LocalEmbedder(threads=threads, cache=embedder._cache)
        np.testing.assert_array_equal(several.embed_documents(texts), embedder.embed_documents(texts))


class TestLoading:
    def test_the_embedder_names_itself_without_loading_anything(self) -> None:
        code = (
            "from ricordo.models.local_onnx import LocalEmbedder\n"
            "model = LocalEmbedder()\n"
            "assert (model.dimensions, model.max_tokens) == (384, 256)\n"
            "assert model.fingerprint.startswith('local/all-MiniLM-L6-v2/int8-'), model.fingerprint\n"
            "assert model.fingerprint.endswith('/384/mean/256'), model.fingerprint\n"
        )
        assert modules_after(code) == set()

    @pytest.mark.parametrize(("text", "modules"), [("two words", set()), ("naïve café", {"tokenizers"})])
    def test_counting_tokens_loads_no_model_and_the_tokenizer_only_if_a_text_is_not_plain(
        self, text: str, modules: set[str]
    ) -> None:
        code = (
            "from ricordo.models.local_onnx import WordPieceCounter\n"
            f"assert WordPieceCounter().count_tokens([{text!r}]) == [2]"
        )
        assert modules_after(code) == modules

    def test_threads_may_share_an_embedder_from_the_first_call(self, tmp_path: Path) -> None:
        shared = LocalEmbedder(cache=tmp_path)
        with ThreadPoolExecutor(8) as pool:
            vectors = list(pool.map(shared.embed_query, ["the same question"] * 16))
        assert all(np.array_equal(vector, vectors[0]) for vector in vectors)

    def test_the_protocols_are_kept(self, embedder: LocalEmbedder) -> None:
        kept: tuple[Embedder, TokenCounter, TokenCounter] = (embedder, embedder, WordPieceCounter())
        assert [part.count_tokens(["a b c"]) for part in kept[1:]] == [[3], [3]]

    def test_another_file_has_another_fingerprint(self, copy: Path) -> None:
        about = copy / "checksums.json"
        about.write_text(about.read_text().replace('"model.onnx": "', '"model.onnx": "0000'))
        assert LocalEmbedder(copy).fingerprint != LocalEmbedder().fingerprint


ANY_TEXTS = st.lists(
    st.text(max_size=40)
    | st.text(st.characters(min_codepoint=9, max_codepoint=126), max_size=40)
    | st.text(st.sampled_from("ab Z9_'-.[]()\n\t“—…·›§éßŁİ×\xa0\0"), max_size=40)
    | st.text(st.sampled_from("aeiounrstl "), max_size=60)
    | st.sampled_from(
        ["[SEP]", "a[PAD]b", "x" * 100, "x" * 101, "_" + "x" * 101, "e\u0301", "naïve", "foo_bar()", "a" * 2_001]
    )
)


def _as_utf8(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


class TestTokens:
    def test_tokens_are_counted_without_the_two_the_model_adds(self) -> None:
        texts = ["hello world", "", "embeddings", "\ud800", "x" * 500]
        assert WordPieceCounter().count_tokens(texts) == [2, 0, 4, 1, 1]

    @given(ANY_TEXTS)
    @settings(max_examples=300, deadline=None)
    def test_counts_are_those_of_the_tokenizer(self, counter: WordPieceCounter, texts: list[str]) -> None:
        exact = [len(counter.load().encode(_as_utf8(text), add_special_tokens=False)) for text in texts]
        assert counter.count_tokens(texts) == exact
        assert counter.count_tokens(texts) == exact, "also when the words are known"

    @given(ANY_TEXTS)
    @settings(max_examples=300, deadline=None)
    def test_tokens_are_those_of_the_tokenizer_for_one_text_and_for_many(
        self, counter: WordPieceCounter, texts: list[str]
    ) -> None:
        exact = [counter.load().encode(_as_utf8(text)).ids for text in texts]
        assert [counter.ids([text])[0] for text in texts] == exact
        assert counter.ids(texts) == exact

    def test_long_texts_are_counted_in_full(self) -> None:
        assert WordPieceCounter().count_tokens(["word " * 5000]) == [5000]

    def test_nothing_to_count(self) -> None:
        assert WordPieceCounter().count_tokens([]) == []

    def test_forgetting_words_changes_no_count(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("ricordo.models.local_onnx.MOST_WORDS", 2)
        counter = WordPieceCounter()
        assert [counter.count_tokens([text])[0] for text in ("one two three", "one", "four five", "one two")] == [
            3,
            1,
            2,
            2,
        ]


class TestFailures:
    def test_a_damaged_model_is_refused(self, copy: Path, tmp_path: Path) -> None:
        damage(copy / "model.onnx")
        with pytest.raises(Unavailable, match="damaged") as caught:
            LocalEmbedder(copy, cache=tmp_path).embed_query("anything")
        assert "einstall" in caught.value.hint

    def test_a_model_damaged_after_it_was_verified_is_refused(self, copy: Path, tmp_path: Path) -> None:
        LocalEmbedder(copy, cache=tmp_path).embed_query("verifies and remembers")
        damage(copy / "model.onnx")
        with pytest.raises(Unavailable, match="damaged"):
            LocalEmbedder(copy, cache=tmp_path).embed_query("anything")

    def test_a_verified_model_is_not_read_again(
        self, copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        LocalEmbedder(copy, cache=tmp_path).load()
        monkeypatch.setattr("hashlib.file_digest", None)
        LocalEmbedder(copy, cache=tmp_path).load()

    def test_a_cache_that_cannot_be_written_or_read_is_no_error(self, tmp_path: Path) -> None:
        blocked = tmp_path / "a file, not a folder"
        blocked.touch()
        assert LocalEmbedder(cache=blocked).embed_query("works").shape == (384,)
        (tmp_path / "verified-models.json").write_text("not JSON")
        assert LocalEmbedder(cache=tmp_path).embed_query("works").shape == (384,)

    @pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json", "checksums.json"])
    def test_a_missing_file_makes_the_model_unavailable(self, copy: Path, tmp_path: Path, name: str) -> None:
        (copy / name).unlink()
        with pytest.raises(Unavailable) as caught:
            LocalEmbedder(copy, cache=tmp_path).embed_query("anything")
        assert name in caught.value.message
        assert caught.value.hint

    @pytest.mark.parametrize("content", ["", "[]", "{}", '{"model": {"vocab": null}}', '{"model": {"vocab": {}}}'])
    def test_a_tokenizer_file_without_a_vocabulary_is_refused(self, copy: Path, content: str) -> None:
        (copy / "tokenizer.json").write_text(content)
        with pytest.raises(Unavailable, match="tokenizer"):
            LocalEmbedder(copy).embed_query("plain words")

    @pytest.mark.parametrize("package", ["onnxruntime", "tokenizers"])
    def test_a_missing_package_makes_the_model_unavailable(
        self, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, package, None)
        shipped_counter.cache_clear()  # another test may have read the tokenizer that all share
        with pytest.raises(Unavailable, match=package) as caught:
            LocalEmbedder(cache=tmp_path).embed_documents(["déjà vu"])
        assert package in caught.value.hint


def damage(file: Path) -> None:
    """Flip one bit in the middle, as a bad disk would; the time of change moves, as it does for any write."""
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    before = file.stat().st_mtime_ns
    file.write_bytes(content)
    os.utime(file, ns=(before + 1_000_000, before + 1_000_000))


def test_the_tokenizer_is_read_once_for_the_embedder_and_for_all_that_count() -> None:
    assert registry.token_counter() is registry.token_counter()
    assert LocalEmbedder().tokenizer is registry.token_counter()
