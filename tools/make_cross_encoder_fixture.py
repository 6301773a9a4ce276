"""Makes tests/fixtures/cross_encoder: a cross-encoder of a few kilobytes that counts words instead of understanding.

Its opinion is the share of the query's words that also stand in the text, squeezed like a real model's: none give a
logit of -4, all of them 4. It only knows the words below. Needs ``onnx``; run it only to change the fixture:

    python tools/make_cross_encoder_fixture.py
"""

from __future__ import annotations

from pathlib import Path

import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

FOLDER = Path(__file__).parents[1] / "tests" / "fixtures" / "cross_encoder"
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
WORDS = (
    "and", "bread", "brew", "coffee", "copper", "cup", "fresh", "glass", "grind", "hot", "iron", "kettle", "keys",
    "kitchen", "old", "pot", "rusty", "shelf", "steam", "stove", "tea", "the", "tin", "water", "with",
)  # fmt: skip


def tokenizer() -> Tokenizer:
    """Whole words, lower case; the query has type 0 and the text type 1."""
    vocabulary = {word: number for number, word in enumerate((*SPECIAL, *WORDS))}
    made = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    made.normalizer = normalizers.Lowercase()
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(word, vocabulary[word]) for word in ("[CLS]", "[SEP]")],
    )
    return made


def graph() -> onnx.ModelProto:
    """``8 · (query words that stand in the text) / (query words) - 4`` for each pair."""
    import numpy as np

    def constant(name: str, value: object, kind: type) -> onnx.TensorProto:
        return numpy_helper.from_array(np.array(value, kind), name)

    def matrix(name: str) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, TensorProto.INT64, ["pairs", "tokens"])

    node = helper.make_node
    nodes = [
        node("Greater", ["input_ids", "last_special"], ["is_word"]),
        node("Equal", ["token_type_ids", "nought"], ["in_query"]),
        node("Equal", ["token_type_ids", "one"], ["in_text"]),
        node("And", ["is_word", "in_query"], ["query_word"]),
        node("And", ["is_word", "in_text"], ["text_word"]),
        node("Unsqueeze", ["input_ids", "axis_2"], ["down"]),
        node("Unsqueeze", ["input_ids", "axis_1"], ["across"]),
        node("Equal", ["down", "across"], ["same"]),
        node("Unsqueeze", ["text_word", "axis_1"], ["text_across"]),
        node("And", ["same", "text_across"], ["same_in_text"]),
        node("Cast", ["same_in_text"], ["same_number"], to=TensorProto.FLOAT),
        node("ReduceMax", ["same_number"], ["stands_in_text"], axes=[2], keepdims=0),
        node("Cast", ["query_word"], ["query_number"], to=TensorProto.FLOAT),
        node("Mul", ["stands_in_text", "query_number"], ["found"]),
        node("ReduceSum", ["found", "axis_1"], ["found_count"], keepdims=1),
        node("ReduceSum", ["query_number", "axis_1"], ["asked_count"], keepdims=1),
        node("Max", ["asked_count", "at_least"], ["asked"]),
        node("Div", ["found_count", "asked"], ["share"]),
        node("Mul", ["share", "steepness"], ["steep"]),
        node("Sub", ["steep", "middle"], ["logits"]),
    ]
    constants = [
        constant("last_special", len(SPECIAL) - 1, np.int64),
        constant("nought", 0, np.int64),
        constant("one", 1, np.int64),
        constant("axis_1", [1], np.int64),
        constant("axis_2", [2], np.int64),
        constant("at_least", 1, np.float32),
        constant("steepness", 8, np.float32),
        constant("middle", 4, np.float32),
    ]
    logits = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["pairs", 1])
    inputs = [matrix("input_ids"), matrix("token_type_ids")]
    made = helper.make_graph(nodes, "word_counter", inputs, [logits], constants)
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(model)
    return model


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    tokenizer().save(str(FOLDER / "tokenizer.json"))
    onnx.save(graph(), str(FOLDER / "model.onnx"))
    for path in sorted(FOLDER.iterdir()):
        print(f"{path.stat().st_size:6} {path.name}")


if __name__ == "__main__":
    main()
