"""The reader of pairs: what it says of two sentences, where its matrices are, and what happens without it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from ricordo import Ricordo
from ricordo.memory.compare import RELATIONS
from ricordo.models import pairs
from ricordo.models.local_onnx import SHIPPED, shipped_counter
from ricordo.models.pairs import LONGEST, PairReader, shipped_reader


@pytest.mark.parametrize(
    ("older", "newer", "relation"),
    [
        ("The office closes at six.", "At six the office shuts.", "same"),
        ("Ines feeds the cat in the morning.", "Ines feeds the dog in the morning.", "parallel"),
        ("Payroll is done by hand.", "Payroll is fully automated.", "opposite"),
        ("Ana pays Ben for the garden.", "Ben pays Ana for the garden.", "opposite"),
        ("The kettle is broken.", "The train to Graz leaves at nine.", "unrelated"),
    ],
)
def test_two_sentences_are_read_together(older: str, newer: str, relation: str) -> None:
    sums = shipped_reader().read(older, newer)
    assert RELATIONS[sums.index(max(sums))] == relation


def test_of_long_texts_the_longer_one_is_cut() -> None:
    short, long = "The office closes at six.", "The office closes at six. " + "It rained. " * LONGEST
    longer = long + "The office closes at seven."
    reader = shipped_reader()
    assert reader.read(short, long) == reader.read(short, longer)
    assert reader.read(long, short) == reader.read(longer, short)


def test_the_older_sentence_comes_before_the_newer_one_in_all_the_room_there_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[dict[str, Any]] = []

    def run(_: object, inputs: dict[str, Any], *__: object, **___: object) -> list[Any]:
        asked.append(inputs)
        return [[[0.0] * 4]]

    monkeypatch.setattr(pairs, "run_session", run)
    [[start, six, seven, end]] = shipped_counter().ids(["six seven"])
    shipped_reader().read("six six", "seven")
    shipped_reader().read("six " * LONGEST, "seven")
    [short], [long] = (one["input_ids"].tolist() for one in asked)
    assert short == [start, six, six, end, seven, end]
    assert asked[0]["is_second"].tolist() == [[0, 0, 0, 0, 1, 1]]
    assert long == [start, *[six] * (LONGEST - 4), end, seven, end]


def test_its_matrices_are_those_of_the_sentence_model() -> None:
    onnx = pytest.importorskip("onnx")
    model = {tensor.name: tensor for tensor in onnx.load(str(SHIPPED / "model.onnx")).graph.initializer}
    file = (SHIPPED / "model.onnx").read_bytes()
    graph = onnx.load(str(SHIPPED / "pairs.onnx"), load_external_data=False).graph
    placed = [tensor for tensor in graph.initializer if tensor.external_data]
    for tensor in placed:
        place = {entry.key: entry.value for entry in tensor.external_data}
        start, length = int(place["offset"]), int(place["length"])
        assert file[start : start + length] == model[tensor.name].raw_data
    assert len(placed) > 24


def test_without_the_reader_a_memory_is_saved_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("model.onnx", "pairs.onnx"):
        shutil.copy(SHIPPED / name, tmp_path / name)
    (tmp_path / "pairs.onnx").write_bytes(b"damaged")
    monkeypatch.setattr(pairs, "shipped_reader", lambda: PairReader(tmp_path))
    with Ricordo.open(tmp_path / "store.db") as engine:
        engine.remember("We deploy on Fridays.")
        assert engine.remember("We no longer deploy on Fridays.").status == "needs_decision"
    assert pairs.reading("We deploy on Fridays.", "We no longer deploy on Fridays.") is None
    assert "compared by their words" in caplog.text
