"""An index in memory that grew with every write answers like one that was just read."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ricordo import Filters, NotFound, Ricordo
from ricordo.config.loading import ConfigProvider

WORDS = ("harbour", "rope", "lantern", "boat", "tide", "gull")
steps = st.lists(
    st.tuples(
        st.sampled_from(("save", "save", "save", "remove", "erase", "tag")),
        st.integers(0, 19),
        st.lists(st.sampled_from(WORDS), min_size=1, max_size=5),
    ),
    min_size=1,
    max_size=12,
)


class Letters:
    """Texts with the same letters have the same vector."""

    fingerprint = "letters/26"
    is_remote = False
    dimensions = 26
    max_tokens = 256

    def embed_documents(self, texts: Any) -> Any:
        counts = [[text.lower().count(chr(97 + at)) for at in range(26)] for text in texts]
        vectors = np.array(counts, np.float32) + 0.01
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    def embed_query(self, text: str) -> Any:
        return self.embed_documents([text])[0]


def _do(engine: Ricordo, step: tuple[str, int, list[str]]) -> None:
    what, number, words = step
    ref = f"note:/{'even' if number % 2 == 0 else 'odd'}/{number}"
    if what in ("save", "tag"):
        fields = {"tags": [words[0]]} if what == "tag" else {}
        engine.save(ref, " ".join(words), fields=fields, on_conflict="overwrite")
    else:
        with suppress(NotFound):
            engine.rm(ref, purge=what == "erase")


def _answers(engine: Ricordo) -> list[list[tuple[str, float]]]:
    asked: list[dict[str, Any]] = [
        {},
        {"by": "meaning"},
        {"filters": Filters(paths=("/odd",))},
        {"filters": Filters(paths=("/even/18",))},
        {"filters": Filters(paths=("/odd/3", "/even/4"))},
        {"filters": Filters(tags_any=("rope",))},
    ]
    return [
        [(hit.ref, round(hit.score, 6)) for hit in engine.search(query, track=False, **options).hits]
        for query, options in [("lantern", {}), *(("harbour rope", options) for options in asked)]
    ]


@settings(max_examples=8, deadline=None)
@given(steps)
def test_a_process_that_saw_every_write_answers_like_a_fresh_one(changes: list[tuple[str, int, list[str]]]) -> None:
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.setattr("ricordo.registry.embedder", lambda config: Letters())
        file, config = Path(folder) / "store.db", ConfigProvider({"knowledge.enabled": False})
        with Ricordo.open(file, config=config) as writer, Ricordo.open(file, config=config) as reader:
            for number in range(20):
                _do(writer, ("save", number, [WORDS[number % len(WORDS)], "rope"]))
                reader.search("harbour rope", track=False)  # its index grows with each
            for step in changes:
                _do(writer, step)
                seen = _answers(reader)
                assert seen == _answers(writer)
            with Ricordo.open(file, config=config) as fresh:
                assert seen == _answers(fresh)
