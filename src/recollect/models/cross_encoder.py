"""A reranker from an ONNX cross-encoder in a local folder: ``model.onnx`` and ``tokenizer.json``.

The model reads query and text together and gives one number, which is squeezed to [0, 1]. Nothing is downloaded here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from recollect.errors import ContractError, Unavailable

MAX_TOKENS = 512
CHARACTERS_PER_TOKEN = 8
"""Longer queries are cut before tokenising; no word of a language is that long on average."""


class CrossEncoder:
    """Scores how well texts answer a query. Loads when first used."""

    def __init__(self, folder: Path, threads: int | None = None) -> None:
        self.folder = folder
        self.threads = threads

    @cached_property
    def _session(self) -> Any:
        path = self.folder / "model.onnx"
        if not path.is_file():
            raise Unavailable(
                f"there is no cross-encoder in {self.folder}",
                hint="Set rerank.model to a folder with model.onnx and tokenizer.json, or rerank.kind to none.",
            )
        try:
            import onnxruntime

            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = self.threads or 0
            options.log_severity_level = 3
            return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # onnxruntime raises types of its own that share no base
            raise Unavailable(
                f"the cross-encoder {path} cannot be loaded: {error}", hint="Get the file anew."
            ) from error

    @cached_property
    def _tokenizer(self) -> Any:
        path = self.folder / "tokenizer.json"
        if not path.is_file():
            raise Unavailable(f"there is no tokenizer.json in {self.folder}", hint="It belongs beside model.onnx.")
        from tokenizers import Tokenizer

        try:
            tokenizer = Tokenizer.from_file(str(path))
        except Exception as error:  # the library raises bare Exception for a broken file
            raise Unavailable(f"the tokenizer {path} cannot be read: {error}", hint="Get the file anew.") from error
        tokenizer.enable_truncation(MAX_TOKENS)
        tokenizer.enable_padding()
        return tokenizer

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """One opinion in [0, 1] per text."""
        import numpy as np

        if not texts:
            return []
        session, query = self._session, query[: MAX_TOKENS * CHARACTERS_PER_TOKEN]
        encoded = self._tokenizer.encode_batch([(query, text) for text in texts])
        inputs = {
            "input_ids": np.array([one.ids for one in encoded], np.int64),
            "attention_mask": np.array([one.attention_mask for one in encoded], np.int64),
            "token_type_ids": np.array([one.type_ids for one in encoded], np.int64),
        }
        wanted = {node.name for node in session.get_inputs()}
        try:
            logits = session.run(None, {name: value for name, value in inputs.items() if name in wanted})[0]
        except Exception as error:  # onnxruntime's errors share no base but Exception
            raise Unavailable(f"the cross-encoder failed to run: {error}", hint="Set rerank.kind to none.") from error
        if logits.size not in (len(texts), 2 * len(texts)) or not np.isfinite(logits).all():
            raise ContractError(
                f"the model in {self.folder} gave no usable score per text",
                hint="Set rerank.model to a cross-encoder with one score per pair.",
            )
        return [_squeezed(float(row[-1])) for row in np.reshape(logits, (len(texts), -1))]


def _squeezed(logit: float) -> float:
    return 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, logit))))
