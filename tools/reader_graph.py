"""The graph that reads two sentences together: the shipped sentence model with what was trained on pairs of sentences.

Its matrices stay in ``model.onnx``, where this graph finds them by their place in the file; it holds itself only what
was learned: beside each matrix a product of two narrow ones, biases and gains, a vector that marks the second sentence,
and what the mean of the tokens says for each relation.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

Floats = npt.NDArray[np.float32]
DENSE = ("qkv", "out", "wide", "narrow")
SMALL = 4_000
"""Tensors of fewer bytes are copied."""


def build(model: Path, learned: Mapping[str, Floats], relations: int) -> onnx.ModelProto:
    """``learned`` has ``layerN.PART.down`` and ``.up`` for each dense step, ``second``, ``head.weight``, ``head.bias``,
    and new values for tensors of the model by their names.
    """
    shipped = onnx.load(str(model))
    graph = shipped.graph
    hidden = len(learned["second"])
    constants = {tensor.name: tensor for tensor in graph.initializer}
    for name, value in learned.items():
        constants[name] = numpy_helper.from_array(np.ascontiguousarray(value, np.float32), name)
    constants["axis_2"] = numpy_helper.from_array(np.array([2], np.int64), "axis_2")
    nodes: list[onnx.NodeProto] = []
    layers: dict[str, str] = {}
    """The rows that go into each dense step."""
    for node in graph.node:
        output = node.output[0]
        if output == "pooled":
            break
        step = output.removesuffix(".evened").removesuffix(".in.size").removesuffix(".in.largest")
        if step.rpartition(".")[2] in DENSE and step not in layers:
            layers[step] = node.input[0]
        if output in layers and node.op_type == "Mul":
            node.output[0] = node.name = f"{output}.shipped"
            nodes += [
                node,
                _node("MatMul", [layers[output], f"{output}.down"], f"{output}.narrowed"),
                _node("MatMul", [f"{output}.narrowed", f"{output}.up"], f"{output}.learned"),
                _node("Add", [f"{output}.shipped", f"{output}.learned"], output),
            ]
            continue
        nodes.append(node)
        if output == "vectors":
            node.output[0] = node.name = "unmarked"
            nodes += [
                _node("Unsqueeze", ["is_second", "axis_2"], "is_second_column"),
                _node("Mul", ["is_second_column", "second"], "marks"),
                _node("Add", ["unmarked", "marks"], "vectors"),
            ]
    nodes += [
        helper.make_node("ReduceMean", ["tokens", "axis_1"], ["mean"], name="mean", keepdims=0),
        _node("MatMul", ["mean", "head.weight"], "sums"),
        _node("Add", ["sums", "head.bias"], "relations"),
    ]
    used = {name for node in nodes for name in node.input}
    file = model.read_bytes()
    tensors = [_placed(constants[name], file, model.name) for name in sorted(used & constants.keys())]
    inputs = [
        helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["pairs", "tokens"]),
        helper.make_tensor_value_info("is_second", TensorProto.FLOAT, ["pairs", "tokens"]),
    ]
    outputs = [helper.make_tensor_value_info("relations", TensorProto.FLOAT, ["pairs", relations])]
    body = helper.make_graph(nodes, f"pairs of sentences ({hidden})", inputs, outputs, tensors)
    return helper.make_model(body, opset_imports=list(shipped.opset_import), ir_version=9, producer_name="ricordo")


def _node(operator: str, inputs: list[str], output: str) -> onnx.NodeProto:
    return helper.make_node(operator, inputs, [output], name=output)


def _placed(tensor: onnx.TensorProto, file: bytes, name: str) -> onnx.TensorProto:
    """A tensor whose values are read from the model's file, where they stand there as they are."""
    raw = tensor.raw_data
    at = file.find(raw) if len(raw) >= SMALL else -1
    if at < 0:
        return tensor
    placed = onnx.TensorProto(name=tensor.name, dims=tensor.dims, data_type=tensor.data_type)
    placed.data_location = TensorProto.EXTERNAL
    for key, value in (("location", name), ("offset", at), ("length", len(raw))):
        placed.external_data.add(key=key, value=str(value))
    return placed
