"""How the shipped model is made: the graph computes the model, and quantising it keeps its promises."""

from __future__ import annotations

import hashlib
import importlib
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

onnx = pytest.importorskip("onnx", reason="the extra model-build is not installed")
onnxruntime = pytest.importorskip("onnxruntime")

ROOT = Path(__file__).parents[2]
SHIPPED = ROOT / "src" / "ricordo" / "models" / "minilm"


@pytest.fixture(scope="module")
def model_graph() -> ModuleType:
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        return importlib.import_module("model_graph")
    finally:
        sys.path.remove(str(ROOT / "tools"))


@pytest.fixture(scope="module")
def small(model_graph: ModuleType) -> Any:
    """A random model of the same kind: two layers, 64 channels, one of them an outlier as in the real model."""
    random = np.random.default_rng(7)
    hidden, wide, words = 64, 128, 200

    def tensor(*shape: int, scale: float = 0.1) -> np.ndarray:
        return (random.standard_normal(shape) * scale).astype(np.float32)

    tensors = {
        "embeddings.word_embeddings.weight": tensor(words, hidden),
        "embeddings.position_embeddings.weight": tensor(300, hidden, scale=0.02),
        "embeddings.token_type_embeddings.weight": tensor(2, hidden, scale=0.02),
    }
    norms = ["embeddings.LayerNorm"]
    for number in range(2):
        layer = f"encoder.layer.{number}"
        steps = {f"{layer}.attention.self.{part}": (hidden, hidden) for part in ("query", "key", "value")}
        steps[f"{layer}.attention.output.dense"] = (hidden, hidden)
        steps[f"{layer}.intermediate.dense"] = (wide, hidden)
        steps[f"{layer}.output.dense"] = (hidden, wide)
        for name, shape in steps.items():
            tensors[f"{name}.weight"] = tensor(*shape)
            tensors[f"{name}.bias"] = tensor(shape[0])
        norms += [f"{layer}.attention.output.LayerNorm", f"{layer}.output.LayerNorm"]
    for name in norms:
        gain = 1 + tensor(hidden)
        gain[9] = 12
        tensors[f"{name}.weight"], tensors[f"{name}.bias"] = gain, tensor(hidden)
    return model_graph.Source(tensors, layers=2, heads=2, tokenizer={})


def run(model: bytes, ids: list[list[int]]) -> np.ndarray:
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    vectors: np.ndarray = session.run(None, {"input_ids": np.array(ids, np.int64)})[0]
    return vectors


TEXTS = [[1, 5, 9, 120, 2], [1, 77, 78, 79, 2], [1, 199, 3, 3, 2]]


class TestGraph:
    def test_the_float32_graph_computes_what_numpy_does(self, model_graph: ModuleType, small: Any) -> None:
        expected = [model_graph.reference(small, ids) for ids in TEXTS]
        np.testing.assert_allclose(run(model_graph.build(small, None).SerializeToString(), TEXTS), expected, atol=2e-6)

    def test_the_int8_graph_comes_close(self, model_graph: ModuleType, small: Any) -> None:
        expected = np.stack([model_graph.reference(small, ids) for ids in TEXTS])
        found = run(model_graph.build(small, model_graph.pair_safe).SerializeToString(), TEXTS)
        assert (found * expected).sum(axis=1).min() > 0.998

    def test_evening_out_channels_brings_it_closer(
        self,
        model_graph: ModuleType,
        small: Any,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        expected = np.stack([model_graph.reference(small, ids) for ids in TEXTS])
        even = run(model_graph.build(small, model_graph.pair_safe).SerializeToString(), TEXTS)
        monkeypatch.setattr(model_graph, "evening", lambda _: {})
        uneven = run(model_graph.build(small, model_graph.pair_safe).SerializeToString(), TEXTS)
        assert (even * expected).sum(axis=1).mean() > (uneven * expected).sum(axis=1).mean()

    def test_the_same_source_gives_the_same_bytes(self, model_graph: ModuleType, small: Any) -> None:
        once, again = (model_graph.build(small, model_graph.pair_safe).SerializeToString() for _ in range(2))
        assert once == again


class TestQuantising:
    @settings(max_examples=50)
    @given(seed=st.integers(0, 2**32 - 1), outlier=st.floats(0, 1e4), shape=st.sampled_from([(2, 1), (8, 3), (64, 16)]))
    def test_two_neighbouring_weights_never_exceed_128(
        self, model_graph: ModuleType, seed: int, outlier: float, shape: tuple[int, int]
    ) -> None:
        weights = np.random.default_rng(seed).standard_normal(shape).astype(np.float32)
        weights[seed % shape[0], seed % shape[1]] = outlier
        table, scale = model_graph.pair_safe(weights)
        assert largest_pair(table) <= 128
        assert (np.abs(table * scale - weights) <= 0.5001 * scale).all()

    def test_an_empty_column_stays_empty(self, model_graph: ModuleType) -> None:
        table, scale = model_graph.pair_safe(np.zeros((4, 2), np.float32))
        assert not table.any()
        assert np.isfinite(scale).all()


class TestShippedFiles:
    def test_no_pair_of_shipped_weights_can_saturate_sixteen_bits(self) -> None:
        model = onnx.load(SHIPPED / "model.onnx")
        tables = {one.name: onnx.numpy_helper.to_array(one) for one in model.graph.initializer}
        dense = [node.input[1] for node in model.graph.node if node.op_type == "MatMulIntegerToFloat"]
        assert len(dense) == 24
        assert max(largest_pair(tables[name]) for name in dense) <= 128

    def test_the_recorded_checksums_are_those_of_the_files(self) -> None:
        recorded = json.loads((SHIPPED / "checksums.json").read_text())["sha256"]
        assert set(recorded) == {"model.onnx", "tokenizer.json"}
        for name, sha256 in recorded.items():
            assert hashlib.sha256((SHIPPED / name).read_bytes()).hexdigest() == sha256

    def test_the_model_stays_under_25_megabytes_and_carries_its_licence(self) -> None:
        assert (SHIPPED / "model.onnx").stat().st_size < 25_000_000
        assert "Apache License" in (SHIPPED / "LICENSE").read_text()
        assert "all-MiniLM-L6-v2" in (SHIPPED / "NOTICE").read_text()


def largest_pair(table: np.ndarray) -> int:
    """The largest sum of sizes of rows 2k and 2k+1 in one column: what a 16-bit multiply-add of bytes adds up."""
    size = np.abs(table.astype(int))
    return int((size[0::2] + size[1::2]).max())
