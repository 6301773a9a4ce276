"""The shipped sentence model (interim)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "minilm"


class WordPieceCounter:
    """Counts tokens."""

    @cached_property
    def _tokenizer(self) -> Any:
        from tokenizers import Tokenizer

        t = Tokenizer.from_file(str(FOLDER / "tokenizer.json"))
        t.no_truncation()
        t.no_padding()
        return t

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(e.ids) for e in self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)]


class LocalEmbedder:
    """MiniLM."""

    dimensions = 384
    max_tokens = 256

    def __init__(self, threads: int | None = None) -> None:
        self.threads = threads

    @property
    def fingerprint(self) -> str:
        return "local/all-MiniLM-L6-v2/int8/384/mean/256"

    @cached_property
    def _session(self) -> Any:
        import onnxruntime as ort

        o = ort.SessionOptions()
        if self.threads:
            o.intra_op_num_threads = self.threads
        return ort.InferenceSession(str(FOLDER / "model.onnx"), o, providers=["CPUExecutionProvider"])

    @cached_property
    def _tokenizer(self) -> Any:
        from tokenizers import Tokenizer

        t = Tokenizer.from_file(str(FOLDER / "tokenizer.json"))
        t.enable_truncation(256)
        t.enable_padding()
        return t

    def embed_documents(self, texts: Sequence[str]) -> Any:
        import numpy as np

        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        out = np.zeros((len(texts), 384), np.float32)
        for at in range(0, len(order), 16):
            part = order[at : at + 16]
            encoded = self._tokenizer.encode_batch([texts[i][:4000] for i in part])
            ids = np.array([e.ids for e in encoded], np.int64)
            mask = np.array([e.attention_mask for e in encoded], np.int64)
            feed = {i.name: ids if "ids" in i.name and "type" not in i.name else mask for i in self._session.get_inputs()}
            out[part] = self._session.run(None, {k: v.astype(np.int32) if "int32" in self._session.get_inputs()[n].type else v for n, (k, v) in enumerate(feed.items())})[0]
        return out

    def embed_query(self, text: str) -> Any:
        return self.embed_documents([text])[0]


__all__ = ["LocalEmbedder", "WordPieceCounter", "json"]
