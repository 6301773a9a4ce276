"""Makes an embedder of any ONNX sentence model; the model's own files say which pooling, window and prefixes it needs.

``hub`` finds and downloads the files. Only embedding documents waits for a download. A query does not: it raises an
error, and the search goes on by words.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ricordo.errors import ContractError, Unavailable
from ricordo.models.hub import ModelFolder
from ricordo.models.onnx import CHARACTERS_PER_TOKEN, load_session, load_tokenizer, run_session, runtime
from ricordo.models.vectors import (
    WITHOUT,
    ModelShape,
    known_pooling,
    known_prompts,
    prefix_mark,
    published_prompts,
    unit_vectors,
)

if TYPE_CHECKING:
    from ricordo.config.settings import EmbeddingSettings
    from ricordo.models.base import Vectors

DEFAULT_MODEL = "BAAI/bge-small-en-v1.5"
BATCH = 16
"""How many texts of equal length run together."""
LONGEST_WINDOW = 8_192
GET_ANEW = "The file is damaged: delete it and download it again."
_POOLINGS = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_lasttoken": "last",
}


class SentenceModel:
    """Embeds with the model of a folder, or of a hub."""

    def __init__(self, files: ModelFolder, *, dimensions: int = 0, prefixes: bool = True) -> None:
        self.files = files
        self._asked_dimensions = dimensions
        self._prefixes = prefixes
        self._lock = threading.Lock()
        self._loaded: tuple[Any, Any] | None = None

    @property
    def fingerprint(self) -> str:
        card = self.files.card()
        return (
            f"hub/{self.files.name}/{card.file}-{card.revision[:8]}/{self.dimensions}/{self.pooling}/{self.max_tokens}"
            f"/{prefix_mark(*self.prompts)}"
        )

    @cached_property
    def _own_dimensions(self) -> int:
        pooling = self._pooling_config.get("word_embedding_dimension")
        found = pooling or self.files.described("config.json").get("hidden_size")
        if not isinstance(found, int) or found < 1:
            raise Unavailable(
                f"the files of {self.files.name} do not say how long its vectors are",
                hint=f"Set embedding.dimensions. {WITHOUT}",
            )
        return found

    @property
    def dimensions(self) -> int:
        asked = self._asked_dimensions
        try:
            own = self._own_dimensions
        except Unavailable:
            if asked:
                return asked
            raise
        if asked > own:
            raise Unavailable(
                f"{self.files.name} makes vectors of {own} numbers, not {asked}",
                hint="‹:config unset embedding.dimensions› goes back to those of the model.",
            )
        return asked or own

    @cached_property
    def max_tokens(self) -> int:
        """The smallest of the window sizes that the files name."""
        sentence = self.files.described("sentence_bert_config.json").get("max_seq_length")
        tokenizer = self.files.described("tokenizer_config.json").get("model_max_length")
        positions = self.files.described("config.json").get("max_position_embeddings")
        if isinstance(positions, int) and positions % 2**6 == 2:
            positions -= 2  # models of RoBERTa's kind count from 2
        known = [int(size) for size in (sentence, tokenizer, positions) if isinstance(size, (int, float)) and size > 2]
        return min([*known, LONGEST_WINDOW])

    @cached_property
    def pooling(self) -> str:
        """How one vector is made from those of the tokens: as the model's files say, else as its family does it."""
        about = self._pooling_config
        named = about.get("pooling_mode")
        modes = [mode for mode in about if mode.startswith("pooling_mode_") and about[mode] is True]
        found = [named] if isinstance(named, str) else [_POOLINGS.get(mode, mode) for mode in modes]
        if not found:
            return known_pooling(self.files.name)
        if len(found) > 1 or found[0] not in _POOLINGS.values():
            raise Unavailable(
                f"the pooling of {self.files.name} is not supported: {', '.join(found)}",
                hint=f"Choose another model. {WITHOUT}",
            )
        return found[0]

    @cached_property
    def prompts(self) -> tuple[str, str]:
        """The words in front of documents and of queries."""
        if not self._prefixes:
            return "", ""
        published = published_prompts(self.files.described("config_sentence_transformers.json"))
        return published if published is not None else known_prompts(self.files.name)

    @cached_property
    def _modules(self) -> list[dict[str, str]]:
        modules = self.files.described("modules.json")
        return modules if isinstance(modules, list) else []

    @cached_property
    def _pooling_config(self) -> dict[str, Any]:
        found: dict[str, Any] = self.files.described("1_Pooling/config.json")
        return found

    def embed_query(self, text: str) -> Vectors:
        self.files.require_complete()
        vector: Vectors = self._embed([self.prompts[1] + text])[0]
        return vector

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        self.files.complete()
        return self._embed([self.prompts[0] + text for text in texts])

    def _embed(self, texts: list[str]) -> Vectors:
        import numpy as np

        session, tokenizer = self._load()
        longest = self.max_tokens * CHARACTERS_PER_TOKEN
        whole = [text[:longest].encode("utf-8", "replace").decode() for text in texts]
        encoded = tokenizer.encode_batch(whole)
        shape = ModelShape(
            "hub", self.files.name, self.dimensions, BATCH, self.max_tokens, cuts=bool(self._asked_dimensions)
        )
        found = np.empty((len(texts), self.dimensions), np.float32)
        for rows in _of_one_length([len(one.ids) for one in encoded]):
            inputs = {
                "input_ids": np.array([encoded[row].ids for row in rows], np.int64),
                "attention_mask": np.array([encoded[row].attention_mask for row in rows], np.int64),
                "token_type_ids": np.array([encoded[row].type_ids for row in rows], np.int64),
            }
            found[rows] = unit_vectors(self._run(session, inputs), len(rows), shape)
        return found

    def _run(self, session: Any, inputs: dict[str, Any]) -> Any:
        """One vector per row of tokens, pooled here unless the model does it. Rows have one length: none is padded."""
        wanted = {node.name for node in session.get_inputs()}
        if unknown := wanted - inputs.keys():
            raise ContractError(
                f"the model {self.files.name} needs inputs that are not supported: {', '.join(sorted(unknown))}",
                hint=f"Choose another model. {WITHOUT}",
            )
        names = [node.name for node in session.get_outputs()]
        wanted_inputs = {name: value for name, value in inputs.items() if name in wanted}
        outputs = run_session(session, wanted_inputs, f"the model {self.files.name}", hint=WITHOUT)
        if "sentence_embedding" in names:
            return outputs[names.index("sentence_embedding")]
        if outputs[0].ndim != 3:
            return outputs[0]
        if any(str(module.get("type", "")).endswith(".Dense") for module in self._modules):
            raise ContractError(
                f"the ONNX file of {self.files.name} lacks the layer behind its pooling",
                hint=f"Choose a conversion that gives sentence_embedding. {WITHOUT}",
            )
        return _pooled(outputs[0], self.pooling)

    def _load(self) -> tuple[Any, Any]:
        with self._lock:
            if self._loaded is None:
                self._loaded = open_session(self.files.model_file), self._tokenizer()
            return self._loaded

    def _tokenizer(self) -> Any:
        tokenizer = load_tokenizer(self.files.tokenizer_file, hint=GET_ANEW)
        tokenizer.enable_truncation(self.max_tokens)
        tokenizer.no_padding()
        return tokenizer


def make(settings: EmbeddingSettings, kept_in: Path) -> SentenceModel:
    """The embedder that the settings describe; nothing is read or fetched yet."""
    files = ModelFolder(settings.model or DEFAULT_MODEL, kept_in, endpoint=settings.base_url, without=WITHOUT)
    return SentenceModel(
        files,
        dimensions=settings.dimensions,
        prefixes=settings.input_type != "none",
    )


def open_session(file: Path) -> Any:
    """An ONNX model, ready to run on the CPU with as many threads as there are cores."""
    options = runtime().SessionOptions()
    options.intra_op_num_threads = 0
    options.log_severity_level = 3
    return load_session(file, options, hint=GET_ANEW)


def _of_one_length(lengths: Sequence[int]) -> list[list[int]]:
    """Groups of rows of equal length, so that a text's vector does not depend on its neighbours."""
    groups: list[list[int]] = []
    for row in sorted(range(len(lengths)), key=lambda row: lengths[row]):
        last = groups[-1] if groups else []
        if last and lengths[last[0]] == lengths[row] and len(last) < BATCH:
            last.append(row)
        else:
            groups.append([row])
    return groups


def _pooled(tokens: Any, pooling: str) -> Any:
    if pooling == "cls":
        return tokens[:, 0]
    if pooling == "last":
        return tokens[:, -1]
    return tokens.max(axis=1) if pooling == "max" else tokens.mean(axis=1)
