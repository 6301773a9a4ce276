"""The graph of the shipped sentence model: how the original's tensors become ONNX operators, in float32 or int8.

``build_model.py`` calls ``build`` and checks the outcome; ``reference`` is the same model in numpy alone. Nothing here
reads or writes files.

Two choices differ from the usual dynamic quantisation; ``build_model.py --measure`` shows what they bring:

* Activations are quantised by row (one scale per token), not by tensor, so a text's vector never depends on the
  texts it is batched with. A few of the model's channels are some twenty times larger than the rest and would leave
  these little of the byte; so channels are first evened out by powers of two, which the weights take back.
* Weights are scaled so that two neighbouring ones never exceed 128 together. x86 CPUs with AVX2 but without VNNI add
  two u8 x s8 products in 16 bits; 255 x 128 fits, so nothing saturates and the products are exact on every CPU.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

Floats = npt.NDArray[np.float32]
Quantise = Callable[[Floats], tuple[npt.NDArray[np.int8], Floats]]

MAX_TOKENS = 256
MICROSOFT = "com.microsoft"

# GELU never goes below -0.17: a zero point of 16 leaves nearly the whole byte to the positive side.
GELU_ZERO = 16
GELU_FLOOR = 0.17


@dataclass(frozen=True)
class Source:
    """The original model: its tensors by name, its shape, its tokenizer file."""

    tensors: Mapping[str, Floats]
    layers: int
    heads: int
    tokenizer: Mapping[str, Any]

    @property
    def hidden(self) -> int:
        return int(self.tensors["embeddings.word_embeddings.weight"].shape[1])

    def layer(self, number: int, name: str) -> Floats:
        return self.tensors[f"encoder.layer.{number}.{name}"]

    def qkv(self, number: int, part: str) -> Floats:
        names = ("query", "key", "value")
        return np.concatenate([self.layer(number, f"attention.self.{name}.{part}") for name in names])

    def positions(self) -> Floats:
        """Position vectors with the one token type we use added in, where the model keeps it apart."""
        table = self.tensors["embeddings.position_embeddings.weight"][:MAX_TOKENS]
        types = self.tensors.get("embeddings.token_type_embeddings.weight")
        summed: Floats = table if types is None else table + types[0]
        return summed


def full_range(weights: Floats) -> tuple[npt.NDArray[np.int8], Floats]:
    """One scale per column, all of -127..127 used: the most exact, but it saturates on AVX2 without VNNI."""
    return _to_int8(weights, np.abs(weights).max(axis=0) / 127)


def reduced_range(weights: Floats) -> tuple[npt.NDArray[np.int8], Floats]:
    """Seven bits, as onnxruntime's ``reduce_range`` does: never saturates, loses one bit everywhere."""
    return _to_int8(weights, np.abs(weights).max(axis=0) / 63)


def pair_safe(weights: Floats) -> tuple[npt.NDArray[np.int8], Floats]:
    """One scale per column, such that rows 2k and 2k+1 together stay within 128 in every column."""
    size = np.abs(weights)
    # 127 rather than 128: each of the two may still be rounded up by a half.
    return _to_int8(weights, (size[0::2] + size[1::2]).max(axis=0) / 127)


def _to_int8(weights: Floats, scale: Floats) -> tuple[npt.NDArray[np.int8], Floats]:
    scale = np.where(scale == 0, 1, scale).astype(np.float32)
    return np.clip(np.round(weights / scale), -127, 127).astype(np.int8), scale


@dataclass
class Graph:
    """An ONNX graph in the making. ``quantise`` is None for the float32 original."""

    source: Source
    quantise: Quantise | None
    evening: Mapping[str, Floats] = field(default_factory=dict)
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    constants: dict[str, onnx.TensorProto] = field(default_factory=dict)

    def constant(self, name: str, value: npt.ArrayLike, kind: npt.DTypeLike = np.float32) -> str:
        if name not in self.constants:
            array = np.ascontiguousarray(np.asarray(value, kind)).reshape(np.shape(value))
            self.constants[name] = numpy_helper.from_array(array, name)
        return name

    def add(self, operator: str, inputs: Sequence[str], *outputs: str, domain: str = "", **attributes: Any) -> str:
        node = helper.make_node(operator, inputs, outputs, name=outputs[0], domain=domain, **attributes)
        self.nodes.append(node)
        return outputs[0]

    def dense(self, rows: str, weights: Floats, name: str, *, gelu: bool = False) -> str:
        """``rows @ weights.T``; the bias is left to the operator that follows."""
        if self.quantise is None:
            return self.add("MatMul", [rows, self.constant(f"{name}.weight", weights.T)], name)
        if name in self.evening:
            weights = weights * self.evening[name]
            rows = self.add("Mul", [rows, self.constant(f"{name}.even", 1 / self.evening[name])], f"{name}.evened")
        quantised, scale, zero = self.quantise_rows(rows, f"{name}.in", gelu=gelu)
        table, columns = self.quantise(weights.T)
        inputs = [
            quantised,
            self.constant(f"{name}.weight", table, np.int8),
            self.constant("one", 1.0),
            self.constant(f"{name}.scale", columns),
            zero,
            self.constant(f"zeros_{len(columns)}", np.zeros(len(columns)), np.int8),
        ]
        self.add("MatMulIntegerToFloat", inputs, f"{name}.unscaled", domain=MICROSOFT)
        return self.add("Mul", [f"{name}.unscaled", scale], name)

    def quantise_rows(self, rows: str, name: str, *, gelu: bool) -> tuple[str, str, str]:
        """Each row to unsigned bytes by its own scale: the bytes, the scales as a column, the zero point."""
        if gelu:
            largest = self.add("ReduceMax", [rows, "axis_1"], f"{name}.largest", keepdims=0)
            spread = self.constant("gelu_spread", 1 / (255 - GELU_ZERO))
            self.add("Mul", [largest, spread], f"{name}.spread")
            floor = self.constant("gelu_floor", GELU_FLOOR / GELU_ZERO)
            scale = self.add("Max", [f"{name}.spread", floor], f"{name}.scale")
        else:
            self.add("Abs", [rows], f"{name}.size")
            largest = self.add("ReduceMax", [f"{name}.size", "axis_1"], f"{name}.largest", keepdims=0)
            scale = self.add("Mul", [largest, self.constant("spread", 1 / 127)], f"{name}.scale")
        zero = "zero_gelu" if gelu else "zero_even"
        self.add("QuantizeLinear", [rows, scale, f"{zero}.rows"], f"{name}.bytes", axis=0)
        self.add("Unsqueeze", [scale, "axis_1"], f"{name}.column")
        return f"{name}.bytes", f"{name}.column", zero

    def normalise(self, rows: str, gain: Floats, bias: Floats, name: str) -> str:
        """Layer normalisation in plain operators: 3 ms for 150 tokens through the model, the fused one 4.8."""
        self.add("ReduceMean", [rows, "axis_1"], f"{name}.mean", keepdims=1)
        self.add("Sub", [rows, f"{name}.mean"], f"{name}.centred")
        self.add("ReduceSumSquare", [f"{name}.centred", "axis_1"], f"{name}.square", keepdims=1)
        self.add("Sqrt", [f"{name}.square"], f"{name}.length")
        self.add("Div", [f"{name}.centred", f"{name}.length"], f"{name}.unit")
        gain = gain * np.float32(math.sqrt(len(gain)))
        self.add("Mul", [f"{name}.unit", self.constant(f"{name}.gain", gain)], f"{name}.scaled")
        return self.add("Add", [f"{name}.scaled", self.constant(f"{name}.bias", bias)], name)

    def residual(self, rows: str, skipped: str, layer: int, part: str, name: str) -> str:
        """Add the bias of a dense step and what it skipped, then normalise."""
        self.add("Add", [rows, skipped], f"{name}.sum")
        bias = self.constant(f"{name}.dense_bias", self.source.layer(layer, f"{part}.dense.bias"))
        self.add("Add", [f"{name}.sum", bias], f"{name}.biased")
        gain = self.source.layer(layer, f"{part}.LayerNorm.weight")
        return self.normalise(f"{name}.biased", gain, self.source.layer(layer, f"{part}.LayerNorm.bias"), name)


def build(source: Source, quantise: Quantise | None) -> onnx.ModelProto:
    """The whole graph: token ids in, one unit vector per row out. All rows of a batch have the same length."""
    graph = Graph(source, quantise, evening(source) if quantise else {})
    rows = _embed(graph)
    for number in range(source.layers):
        rows = _encode(graph, rows, number)
    graph.add("Reshape", [rows, "shape"], "tokens")
    # The mean's divisor would cancel in the normalisation.
    pooled = graph.add("ReduceSum", ["tokens", "axis_1"], "pooled", keepdims=0)
    graph.add("LpNormalization", [pooled], "embedding", axis=-1, p=2)
    inputs = [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["texts", "tokens"])]
    outputs = [helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["texts", source.hidden])]
    body = helper.make_graph(graph.nodes, "all-MiniLM-L6-v2", inputs, outputs, list(graph.constants.values()))
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid(MICROSOFT, 1)]
    return helper.make_model(body, opset_imports=opsets, ir_version=9, producer_name="ricordo")


def _embed(graph: Graph) -> str:
    """Word and position vectors, summed and normalised, as one row per token; and what later steps refer to."""
    source = graph.source
    graph.constant("axis_0", [0], np.int64)
    graph.constant("axis_1", [1], np.int64)
    graph.constant("flat", [-1, source.hidden], np.int64)
    graph.add("Shape", ["input_ids"], "texts_tokens")
    for name, width in (("shape", source.hidden), ("shape_qkv", 3 * source.hidden)):
        graph.add("Concat", ["texts_tokens", graph.constant(f"{name}.width", [width], np.int64)], name, axis=0)
    if graph.quantise:
        graph.add("Size", ["input_ids"], "tokens_all")
        graph.add("Unsqueeze", ["tokens_all", "axis_0"], "tokens_all_1d")
        for name, value in (("zero_even", 128), ("zero_gelu", GELU_ZERO)):
            graph.add("Expand", [graph.constant(name, value, np.uint8), "tokens_all_1d"], f"{name}.rows")
    table = source.tensors["embeddings.word_embeddings.weight"]
    if graph.quantise:
        words, scale = full_range(table.T)  # looked up, never multiplied: it cannot saturate
        graph.add("Gather", [graph.constant("words", words.T, np.int8), "input_ids"], "word_bytes")
        graph.add("Gather", [graph.constant("word_scale", scale[:, None]), "input_ids"], "word_scales")
        graph.add("Cast", ["word_bytes"], "word_floats", to=TensorProto.FLOAT)
        graph.add("Mul", ["word_floats", "word_scales"], "word_vectors")
    else:
        graph.add("Gather", [graph.constant("words", table), "input_ids"], "word_vectors")
    graph.add("Shape", ["input_ids"], "length", start=1, end=2)
    positions = graph.constant("positions", source.positions())
    graph.add("Slice", [positions, "axis_0", "length", "axis_0"], "position_vectors")
    graph.add("Add", ["word_vectors", "position_vectors"], "vectors")
    graph.add("Reshape", ["vectors", "flat"], "rows")
    gain, bias = (source.tensors[f"embeddings.LayerNorm.{part}"] for part in ("weight", "bias"))
    return graph.normalise("rows", gain, bias, "embedded")


def _encode(graph: Graph, rows: str, number: int) -> str:
    """One transformer layer."""
    source = graph.source
    name = f"layer{number}"
    graph.dense(rows, source.qkv(number, "weight"), f"{name}.qkv")
    graph.add("Reshape", [f"{name}.qkv", "shape_qkv"], f"{name}.qkv3")
    parts = [f"{name}.query", f"{name}.key", f"{name}.value"]
    graph.add("Split", [f"{name}.qkv3"], *parts, axis=-1, num_outputs=3)
    bias = graph.constant(f"{name}.qkv.bias", source.qkv(number, "bias"))
    graph.add("MultiHeadAttention", [*parts, bias], f"{name}.mixed", domain=MICROSOFT, num_heads=source.heads)
    graph.add("Reshape", [f"{name}.mixed", "flat"], f"{name}.attention")
    out = graph.dense(f"{name}.attention", source.layer(number, "attention.output.dense.weight"), f"{name}.out")
    middle = graph.residual(out, rows, number, "attention.output", f"{name}.middle")
    wide = graph.dense(middle, source.layer(number, "intermediate.dense.weight"), f"{name}.wide")
    bias = graph.constant(f"{name}.wide.bias", source.layer(number, "intermediate.dense.bias"))
    gelu = "BiasGelu" if graph.quantise is None else "FastGelu"
    graph.add(gelu, [wide, bias], f"{name}.gelu", domain=MICROSOFT)
    narrow = graph.dense(f"{name}.gelu", source.layer(number, "output.dense.weight"), f"{name}.narrow", gelu=True)
    return graph.residual(narrow, middle, number, "output", f"{name}.rows")


def evening(source: Source) -> dict[str, Floats]:
    """What to divide each channel by before it is quantised, per dense step that follows a normalisation.

    Halfway (on a logarithmic scale) between evening out the activations and leaving the weights alone. The activations
    are watched on words of the vocabulary in order, so that the outcome needs no text and is always the same.
    """
    seen: dict[str, Floats] = {}
    words = len(source.tensors["embeddings.word_embeddings.weight"])
    ids = list(range(words // 30, words, max(1, words // 800)))
    for at in range(0, len(ids), 94):
        reference(source, [101 % words, *ids[at : at + 94], 102 % words], seen)
    factors = {}
    for name, largest in seen.items():
        number, step = int(name.partition(".")[0].removeprefix("layer")), name.partition(".")[2]
        weights = source.qkv(number, "weight") if step == "qkv" else source.layer(number, "intermediate.dense.weight")
        factor = np.sqrt(largest / np.abs(weights).max(axis=0))
        # Powers of two: exact in floating point, and the same whatever the last bits of the arithmetic were.
        factors[name] = np.exp2(np.round(np.log2(factor / np.median(factor)))).astype(np.float32)
    return factors


def reference(source: Source, ids: Sequence[int], seen: dict[str, Floats] | None = None) -> Floats:
    """The model once more, in numpy alone, written from its definition: what the float32 graph is held against.

    ``seen`` collects the largest size of each channel before the dense steps that ``evening`` prepares.
    """

    def norm(rows: Floats, prefix: str) -> Floats:
        centred = rows - rows.mean(axis=-1, keepdims=True)
        unit = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-12)
        result: Floats = unit * source.tensors[f"{prefix}.weight"] + source.tensors[f"{prefix}.bias"]
        return result

    def watch(name: str, rows: Floats) -> None:
        if seen is not None:
            seen[name] = np.maximum(seen.get(name, 0), np.abs(rows).max(axis=0))

    def dense(rows: Floats, prefix: str) -> Floats:
        result: Floats = rows @ source.tensors[f"{prefix}.weight"].T + source.tensors[f"{prefix}.bias"]
        return result

    erf = np.frompyfunc(math.erf, 1, 1)
    words = source.tensors["embeddings.word_embeddings.weight"][list(ids)]
    rows = norm(words + source.positions()[: len(ids)], "embeddings.LayerNorm")
    for number in range(source.layers):
        layer = f"encoder.layer.{number}"
        watch(f"layer{number}.qkv", rows)
        query, key, value = (
            dense(rows, f"{layer}.attention.self.{part}").reshape(len(ids), source.heads, -1).transpose(1, 0, 2)
            for part in ("query", "key", "value")
        )
        scores = np.exp(query @ key.transpose(0, 2, 1) / math.sqrt(query.shape[-1]))
        mixed = (scores / scores.sum(axis=-1, keepdims=True)) @ value
        attention = mixed.transpose(1, 0, 2).reshape(len(ids), -1)
        rows = norm(dense(attention, f"{layer}.attention.output.dense") + rows, f"{layer}.attention.output.LayerNorm")
        watch(f"layer{number}.wide", rows)
        wide = dense(rows, f"{layer}.intermediate.dense")
        gelu = wide * 0.5 * (1 + erf(wide / math.sqrt(2)).astype(np.float32))
        rows = norm(dense(gelu, f"{layer}.output.dense") + rows, f"{layer}.output.LayerNorm")
    pooled = rows.mean(axis=0)
    result: Floats = pooled / np.linalg.norm(pooled)
    return result
