"""The model for other languages as it is kept in the cache folder: same tokens and vectors, and no error without."""

from __future__ import annotations

import os
import shutil
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ricordo.plugins.multilingual.embedder import (
    PACKAGE,
    REST,
    TABLE,
    MultilingualEmbedder,
    _threads_of_openblas,
    one_thread,
    opened,
)

TEXTS = [
    "Wie lange dauert die Kündigungsfrist für das Büro?",
    "会議の議事録と、次の予定。",
    "ﬁne ½ cup №5 ｆｕｌｌ ⅷ",
    "где пароль от сервера",
    "การเปิดตัวถูกเลื่อนไป",
    "  spaces   and\ttabs\nand lines ",
    "naïve café résumé 😀 \u200bzero",
    "x" * 300,
    "",
]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kept")


@pytest.fixture(scope="module")
def original(kept: Path) -> Any:
    """The model from the package's own files; opening it keeps it."""
    return load(kept)


def load(kept: Path) -> Any:
    backend, tokens = import_module(f"{PACKAGE}.backends.numpy"), import_module(f"{PACKAGE}.pure_tokenizer")
    resources = Path(str(import_module(PACKAGE).__file__)).parent / "resources"
    return opened(backend, tokens, resources, kept, threads=1)


def test_what_is_kept_gives_the_same_tokens_and_vectors(original: Any, kept: Path) -> None:
    again = load(kept)
    assert isinstance(again.table, np.memmap)  # not the package's own files once more
    assert [again.sp.encode(text) for text in TEXTS] == [original.sp.encode(text) for text in TEXTS]
    assert np.array_equal(again.encode(TEXTS), original.encode(TEXTS))


@pytest.mark.parametrize("name", [TABLE, REST])
def test_a_damaged_copy_is_made_again(original: Any, kept: Path, tmp_path: Path, name: str) -> None:
    for file in kept.iterdir():
        shutil.copy(file, tmp_path)
    whole = (tmp_path / name).stat().st_size
    os.truncate(tmp_path / name, 1_000)
    assert np.array_equal(load(tmp_path).encode(TEXTS[:1]), original.encode(TEXTS[:1]))
    assert (tmp_path / name).stat().st_size == whole


def test_it_loads_where_nothing_can_be_kept(original: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder", "utf-8")
    assert np.array_equal(load(tmp_path / "file").encode(TEXTS[:1]), original.encode(TEXTS[:1]))


def test_a_question_is_computed_in_one_thread_and_other_products_in_as_many_as_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = _threads_of_openblas()
    if found is None:
        pytest.skip("this numpy multiplies with another library than OpenBLAS")
    read, write = found
    embedder, before, seen = MultilingualEmbedder(), read(), []
    model = embedder.load()

    class Noting:
        def encode(self, texts: list[str]) -> Any:
            seen.append(read())
            return model.encode(texts)

    monkeypatch.setattr(embedder, "load", Noting)
    write(2)
    try:
        asked = embedder.embed_query(TEXTS[0])
        assert np.allclose(embedder.embed_documents(TEXTS[:1])[0], asked, atol=1e-6)
        assert seen == [1, 2]
        with one_thread():  # two questions at once: the first to be done leaves the other alone
            embedder.embed_query(TEXTS[1])
            assert read() == 1
        assert read() == 2
    finally:
        write(before)
