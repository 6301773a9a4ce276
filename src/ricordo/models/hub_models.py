"""Runs ONNX models from a hub or a folder: sentence models that embed, and cross-encoders that rerank.

The files of a sentence model say which pooling, window and prefixes it needs. ``hub`` finds and downloads files. Only
embedding documents waits for a download; a query raises an error, and the search goes on by words. A cross-encoder is
downloaded by ``ricordo models use cross-encoder`` alone.
"""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ricordo.errors import ContractError, Unavailable
from ricordo.models.base import WITHOUT, known_prompts, prefix_mark, unit_vectors
from ricordo.models.hub import ModelFolder
from ricordo.models.onnx import (
    CHARACTERS_PER_TOKEN,
    GET_ANEW,
    load_session,
    load_tokenizer,
    run_session,
    token_arrays,
)

if TYPE_CHECKING:
    from ricordo.config.settings import EmbeddingSettings
    from ricordo.models.base import Vectors

DEFAULT_MODEL = "BAAI/bge-small-en-v1.5"
BATCH = 16
"""How many texts of equal length run together."""
LONGEST_WINDOW = 8_192
_DOCUMENT_NAMES = ("document", "passage", "search_document", "Retrieval-document")
_QUERY_NAMES = ("query", "search_query", "Retrieval-query")
_POOLINGS = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_lasttoken": "last",
}


class SentenceModel:
    """Embeds with the model of a folder, or of a hub, that the settings name; nothing is read or fetched yet."""

    def __init__(self, settings: EmbeddingSettings, kept_in: Path) -> None:
        name = settings.model or DEFAULT_MODEL
        self.files = ModelFolder(name, kept_in, endpoint=settings.base_url, without=WITHOUT)
        self._asked_dimensions = settings.dimensions
        self._prefixes = settings.input_type != "none"
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
    def dimensions(self) -> int:
        """What is set, else what the model's files say."""
        own = self._pooling_config.get("word_embedding_dimension")
        own = own or self.files.described("config.json").get("hidden_size")
        is_said = isinstance(own, int) and own >= 1
        asked = self._asked_dimensions
        if asked and (not is_said or asked <= own):
            return asked
        if not is_said:
            raise Unavailable(
                f"the files of {self.files.name} do not say how long its vectors are",
                hint=f"Set embedding.dimensions. {WITHOUT}",
            )
        if asked:
            raise Unavailable(
                f"{self.files.name} makes vectors of {own} numbers, not {asked}",
                hint="‹:config unset embedding.dimensions› goes back to those of the model.",
            )
        return int(own)

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
            last = self.files.name.rpartition("/")[2].lower()
            return "cls" if re.search(r"^bge-|mxbai-embed|snowflake-arctic-embed", last) else "mean"
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
        prompts = self.files.described("config_sentence_transformers.json").get("prompts")
        listed = prompts.items() if isinstance(prompts, dict) else ()
        texts = {name: text for name, text in listed if isinstance(text, str)}
        document = next((texts[name] for name in _DOCUMENT_NAMES if name in texts), "")
        query = next((texts[name] for name in _QUERY_NAMES if name in texts), "")
        return (document, query) if document or query else known_prompts(self.files.name)

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
        encoded = tokenizer.encode_batch([text[:longest].encode("utf-8", "replace").decode() for text in texts])
        vectors = np.empty((len(texts), self.dimensions), np.float32)
        for rows in _of_one_length([len(text.ids) for text in encoded]):
            found = self._run(session, [encoded[row] for row in rows])
            model, cuts = f"hub ({self.files.name})", bool(self._asked_dimensions)
            vectors[rows] = unit_vectors(found, len(rows), model, self.dimensions, cuts=cuts)
        return vectors

    def _run(self, session: Any, encoded: Sequence[Any]) -> Any:
        """One vector per row of tokens, pooled here unless the model does it. Rows have one length: none is padded."""
        what = f"the model {self.files.name}"
        outputs = run_session(session, token_arrays(session, encoded, what), what, hint=WITHOUT)
        names = [node.name for node in session.get_outputs()]
        if "sentence_embedding" in names:
            return outputs[names.index("sentence_embedding")]
        if outputs[0].ndim != 3:
            return outputs[0]
        modules = self.files.described("modules.json")
        if isinstance(modules, list) and any(str(module.get("type", "")).endswith(".Dense") for module in modules):
            raise ContractError(
                f"the ONNX file of {self.files.name} lacks the layer behind its pooling",
                hint=f"Choose a conversion that gives sentence_embedding. {WITHOUT}",
            )
        tokens, pooling = outputs[0], self.pooling
        if pooling == "cls":
            return tokens[:, 0]
        if pooling == "last":
            return tokens[:, -1]
        return tokens.max(axis=1) if pooling == "max" else tokens.mean(axis=1)

    def _load(self) -> tuple[Any, Any]:
        with self._lock:
            if self._loaded is None:
                session = load_session(self.files.model_file, hint=GET_ANEW)
                tokenizer = load_tokenizer(self.files.tokenizer_file, hint=GET_ANEW)
                tokenizer.enable_truncation(self.max_tokens)
                tokenizer.no_padding()
                self._loaded = session, tokenizer
            return self._loaded


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


RERANKED_TOKENS = 512
CHARACTERS_PER_QUERY_TOKEN = 8
"""Queries longer than this per token are cut before they are tokenised; no language has words so long on average."""


class CrossEncoder:
    """Scores how well texts answer a query. The model is loaded when it is first used."""

    def __init__(self, files: ModelFolder) -> None:
        self.files = files

    @cached_property
    def _loaded(self) -> tuple[Any, Any]:
        session = load_session(self.files.model_file, hint=GET_ANEW)
        tokenizer = load_tokenizer(self.files.tokenizer_file, hint=GET_ANEW)
        tokenizer.enable_truncation(RERANKED_TOKENS)
        tokenizer.enable_padding()
        return session, tokenizer

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """One score between 0 and 1 per text."""
        import numpy as np

        if not texts:
            return []
        self.files.require_complete("cross-encoder")
        session, tokenizer = self._loaded
        query = query[: RERANKED_TOKENS * CHARACTERS_PER_QUERY_TOKEN]
        encoded = tokenizer.encode_batch([(query, text) for text in texts])
        what = "the cross-encoder"
        inputs = token_arrays(session, encoded, what)
        logits = run_session(session, inputs, what, hint="Set rerank.kind to none.")[0]
        if logits.size not in (len(texts), 2 * len(texts)) or not np.isfinite(logits).all():
            raise ContractError(
                f"the model {self.files.name} gave no usable score per text",
                hint="Set rerank.model to a cross-encoder with one score per pair.",
            )
        return [
            1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, float(row[-1])))))
            for row in np.reshape(logits, (len(texts), -1))
        ]
