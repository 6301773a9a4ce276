"""Makes tests/fixtures/sentence_model: a sentence model of a few kilobytes that counts words instead of understanding.

Each token's vector is its own number in a row of zeros, plus the mean of all tokens' rows; so the vectors that pooling
by the first token and by the mean give can be told apart, and checked by hand. It knows the words of the other fixture
only. Needs ``onnx``; run it only to change the fixture:

    python tools/make_sentence_fixture.py
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from make_cross_encoder_fixture import tokenizer

FOLDER = Path(__file__).parents[1] / "tests" / "fixtures" / "sentence_model"
DIMENSIONS = 32
WINDOW = 64
DESCRIPTIONS = {
    "config.json": {"model_type": "bert", "hidden_size": DIMENSIONS, "max_position_embeddings": 512},
    "modules.json": [
        {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
        {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
        {"idx": 2, "name": "2", "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"},
    ],
    "1_Pooling/config.json": {
        "word_embedding_dimension": DIMENSIONS,
        "pooling_mode_cls_token": True,
        "pooling_mode_mean_tokens": False,
        "pooling_mode_max_tokens": False,
    },
    "sentence_bert_config.json": {"max_seq_length": WINDOW, "do_lower_case": True},
    "config_sentence_transformers.json": {"prompts": {"query": "the old ", "document": ""}},
    "tokenizer_config.json": {"model_max_length": 512, "tokenizer_class": "BertTokenizer"},
}


def graph() -> onnx.ModelProto:
    """``last_hidden_state``: a row per token, as described above."""

    def matrix(name: str) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, TensorProto.INT64, ["texts", "tokens"])

    nodes = [
        helper.make_node("Gather", ["rows", "input_ids"], ["own"]),
        helper.make_node("ReduceMean", ["own"], ["mean"], axes=[1], keepdims=1),
        helper.make_node("Add", ["own", "mean"], ["last_hidden_state"]),
    ]
    rows = numpy_helper.from_array(np.eye(DIMENSIONS, dtype=np.float32), "rows")
    states = helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["texts", "tokens", DIMENSIONS])
    made = helper.make_graph(nodes, "word_rows", [matrix("input_ids"), matrix("attention_mask")], [states], [rows])
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(model)
    return model


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, about in DESCRIPTIONS.items():
        path = FOLDER / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(about, indent=1) + "\n", "utf-8")
    tokenizer().save(str(FOLDER / "tokenizer.json"))
    (FOLDER / "onnx").mkdir(exist_ok=True)
    onnx.save(graph(), str(FOLDER / "onnx" / "model.onnx"))
    for path in sorted(FOLDER.rglob("*.*")):
        print(f"{path.stat().st_size:6} {path.relative_to(FOLDER)}")


if __name__ == "__main__":
    main()
