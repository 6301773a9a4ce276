"""Embedders behind HTTP: OpenAI (and every service with its interface), Voyage, Gemini and Ollama.

``PROVIDERS`` says what differs between them: address, key, sizes, and how a request and an answer look. The rest is the
same for all: batches, input that every service accepts, and checks of the answers. ``http`` handles attempts and keys.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ricordo.errors import Unavailable
from ricordo.frozen import frozen
from ricordo.models.http import TOTAL_SECONDS, Remote, bearer, ollama_address
from ricordo.plugins.providers.embeddings import WITHOUT, known_prompts, prefix_mark, unit_vectors

if TYPE_CHECKING:
    from ricordo.config.settings import EmbeddingSettings
    from ricordo.models.base import Vectors
    from ricordo.values.reports import ModelState

LONGEST_TEXT = 8_000
"""The most bytes of a text that are sent. A text never has more tokens than bytes, so this fits the window of every
service. Passages are far shorter."""
LARGEST_REQUEST = 240_000
"""The most bytes of all texts of a request, because services also limit the tokens of a whole batch."""
QUERY_SECONDS = 10.0
"""How long a search waits for its vector, with all attempts; then it goes on by words alone."""
SMALL_BATCH, SMALL_BATCH_SECONDS = 8, 30.0
"""Up to this many texts are probably what somebody just saved and waits for, so they get less time."""
OLLAMA_CUT = 256
"""EmbeddingGemma's vectors are cut to this length and brought back to unit length, as it was trained for."""


@frozen
class HttpProvider:
    """What differs between providers."""

    url: str
    model: str
    dimensions: Mapping[str, int]
    """How long the vectors of the models are that we know."""
    batch: int
    """Texts per request if nothing is set, …"""
    largest_batch: int
    """… and the most that the service accepts."""
    max_tokens: int
    body: Callable[[HttpEmbedder, list[str], str], Mapping[str, Any]]
    """The request for some texts of a kind."""
    vectors: Callable[[Any], list[Any]]
    path: str = "embeddings"
    key_variable: str = ""
    kinds: tuple[str, str] = ("", "")
    """What the service calls documents and queries, if it tells them apart."""
    headers: Callable[[str], Mapping[str, str]] = bearer
    about: str = ""


def _openai_body(embedder: HttpEmbedder, texts: list[str], _: str) -> dict[str, Any]:
    # Base64 is exact and needs half the bytes, but not every compatible service supports it.
    encoding = "float" if embedder.is_elsewhere else "base64"
    body = {"model": embedder.model, "input": texts, "encoding_format": encoding}
    # Only these models can make shorter vectors. For others the setting says how long their vectors are.
    shortens = embedder.asked_dimensions and embedder.model.startswith("text-embedding-3-")
    return body | ({"dimensions": embedder.asked_dimensions} if shortens else {})


def _voyage_body(embedder: HttpEmbedder, texts: list[str], kind: str) -> dict[str, Any]:
    body: dict[str, Any] = {"model": embedder.model, "input": texts, "truncation": True}
    body |= {"input_type": kind} if kind != "none" else {}
    return body | ({"output_dimension": embedder.asked_dimensions} if embedder.asked_dimensions else {})


def _gemini_body(embedder: HttpEmbedder, texts: list[str], kind: str) -> dict[str, Any]:
    about: dict[str, Any] = {"model": f"models/{embedder.model}"}
    about |= {"taskType": kind} if kind != "none" else {}
    about |= {"outputDimensionality": embedder.asked_dimensions} if embedder.asked_dimensions else {}
    return {"requests": [{**about, "content": {"parts": [{"text": text}]}} for text in texts]}


def _ollama_body(embedder: HttpEmbedder, texts: list[str], _: str) -> dict[str, Any]:
    return {"model": embedder.model, "input": texts, "truncate": True}


def _by_index(data: Any) -> list[Any]:
    """The vectors of OpenAI and Voyage, in the order of the texts: numbers, or their bytes in base64."""
    rows = {int(entry["index"]): entry["embedding"] for entry in data["data"]}
    return [_numbers(rows[at]) for at in range(len(rows))]


def _numbers(row: Any) -> Any:
    if not isinstance(row, str):
        return row
    import numpy as np

    try:
        return np.frombuffer(base64.b64decode(row, validate=True), "<f4")
    except ValueError:
        return []


PROVIDERS: dict[str, HttpProvider] = {
    "openai": HttpProvider(
        "https://api.openai.com/v1",
        "text-embedding-3-small",
        {"text-embedding-3-small": 1536, "text-embedding-3-large": 3072, "text-embedding-ada-002": 1536},
        2048,
        2048,
        8_191,
        _openai_body,
        _by_index,
        key_variable="OPENAI_API_KEY",
        about="and any compatible embedding.base_url",
    ),
    "voyage": HttpProvider(
        "https://api.voyageai.com/v1",
        "voyage-3.5",
        {
            "voyage-3.5": 1024,
            "voyage-3.5-lite": 1024,
            "voyage-3-large": 1024,
            "voyage-3": 1024,
            "voyage-3-lite": 512,
            "voyage-code-3": 1024,
            "voyage-code-2": 1536,
            "voyage-finance-2": 1024,
            "voyage-law-2": 1024,
            "voyage-multilingual-2": 1024,
        },
        128,
        1000,
        32_000,
        _voyage_body,
        _by_index,
        key_variable="VOYAGE_API_KEY",
        kinds=("document", "query"),
    ),
    "gemini": HttpProvider(
        "https://generativelanguage.googleapis.com/v1beta",
        "gemini-embedding-001",
        {"gemini-embedding-001": 3072, "text-embedding-004": 768, "embedding-001": 768},
        100,
        100,
        2_048,
        _gemini_body,
        lambda data: [entry["values"] for entry in data["embeddings"]],
        path="models/{model}:batchEmbedContents",
        key_variable="GEMINI_API_KEY",
        kinds=("RETRIEVAL_DOCUMENT", "RETRIEVAL_QUERY"),
        headers=lambda key: {"x-goog-api-key": key},
    ),
    "ollama": HttpProvider(
        "http://127.0.0.1:11434",
        "embeddinggemma",
        {
            "embeddinggemma": OLLAMA_CUT,
            "nomic-embed-text": 768,
            "mxbai-embed-large": 1024,
            "all-minilm": 384,
            "bge-m3": 1024,
            "bge-large": 1024,
            "snowflake-arctic-embed": 1024,
            "snowflake-arctic-embed2": 1024,
            "granite-embedding": 384,
        },
        64,
        100_000,
        2_048,
        _ollama_body,
        lambda data: list(data["embeddings"]),
        path="api/embed",
        about="a server that you run",
    ),
}


class HttpEmbedder:
    """The embedder of a provider, as the settings describe it. Nothing is sent before the first text."""

    is_remote = True

    def __init__(self, settings: EmbeddingSettings, _: Path) -> None:
        name = settings.provider
        provider = PROVIDERS[name]
        self._provider = provider
        self.model = (settings.model or provider.model).removeprefix("models/" if name == "gemini" else "")
        self.asked_dimensions = settings.dimensions
        self.max_tokens = provider.max_tokens
        self._batch = min(settings.batch_size or provider.batch, provider.largest_batch)
        self._kinds = (settings.input_type,) * 2 if settings.input_type else provider.kinds
        self.known_dimensions = settings.dimensions or provider.dimensions.get(self.model)
        self._prompts = ("", "")
        self._cuts = False
        address, elsewhere, shown = settings.base_url or provider.url, "", self.model
        if name == "openai":
            elsewhere = (settings.base_url or os.environ.get("OPENAI_BASE_URL", "")).rstrip("/")
            elsewhere = "" if elsewhere == provider.url else elsewhere
            address = elsewhere or provider.url
        if elsewhere:
            # A model of another service may have the same name and still be different. Fingerprints are shown to
            # everybody, so the address is named without scheme, user name and password.
            shown = f"{elsewhere.partition('://')[2].rpartition('@')[2] or elsewhere}/{self.model}"
        elif name == "ollama":
            address = settings.base_url or ollama_address(os.environ.get("OLLAMA_HOST", "")) or provider.url
            shown = self.model.removesuffix(":latest")
            self._fit_ollama(settings)
        self.is_elsewhere = bool(elsewhere)
        """Whether a service with the provider's interface is asked, not the provider itself."""
        self._name, self._shown_model = name, shown
        keys = settings.api_keys or tuple(os.environ.get(provider.key_variable, "").split(","))
        self._remote = Remote(
            name,
            address,
            keys=tuple(key.strip() for key in keys if key.strip()),
            key_variable=provider.key_variable,
            needs_key=bool(provider.key_variable) and not elsewhere,
            without=WITHOUT,
            headers=provider.headers,
        )

    @staticmethod
    def describe(state: ModelState, settings: EmbeddingSettings, _: Path) -> ModelState:
        """The state with the provider's own model and sizes where none are set, and the key that it lacks."""
        row = PROVIDERS[settings.provider]
        has_key = bool(settings.api_keys or os.environ.get(row.key_variable)) if row.key_variable else None
        needs_key = has_key is False and not (settings.provider == "openai" and settings.base_url)
        return replace(
            state,
            model=settings.model or row.model,
            dimensions=settings.dimensions or (None if settings.model else row.dimensions[row.model]),
            batch=settings.batch_size or row.batch,
            key_variable=row.key_variable,
            has_key=has_key,
            lacks=f"the key {row.key_variable}" if needs_key else "",
            about=row.about,
        )

    def _fit_ollama(self, settings: EmbeddingSettings) -> None:
        """Ollama embeds exactly what it is given, so the words that a model expects are put in front here."""
        family = self.model.partition(":")[0].rpartition("/")[2]
        # A tag names another size of the same model, whose vectors may have another length.
        is_known = family == "embeddinggemma" or self.model in (family, f"{family}:latest")
        known = PROVIDERS["ollama"].dimensions.get(family) if is_known else None
        self.known_dimensions = settings.dimensions or known
        self._prompts = ("", "") if settings.input_type == "none" else known_prompts(family)
        self._cuts = family == "embeddinggemma" or bool(settings.dimensions)

    @property
    def fingerprint(self) -> str:
        pooling = "-".join(self._kinds).lower() if self._provider.kinds[0] else "own"
        return f"{self._name}/{self._shown_model}/{self.dimensions}/{pooling}/{prefix_mark(*self._prompts)}"

    @property
    def dimensions(self) -> int:
        if self.known_dimensions is None:
            raise Unavailable(
                f"{self._name}: the length of the vectors of {self._shown_model} is not known",
                hint=f"‹:models use {self._name} --model {self._shown_model}› finds it out."
                " Or set embedding.dimensions.",
            )
        return self.known_dimensions

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        seconds = TOTAL_SECONDS if len(texts) > SMALL_BATCH else SMALL_BATCH_SECONDS
        rows = [self._vectors(part, is_query=False, seconds=seconds) for part in self._batches(texts)]
        return np.concatenate(rows) if rows else np.zeros((0, self.dimensions), np.float32)

    def embed_query(self, text: str) -> Vectors:
        vector: Vectors = self._vectors([_sendable(text)], is_query=True, seconds=QUERY_SECONDS)[0]
        return vector

    def _batches(self, texts: Sequence[str]) -> Iterator[list[str]]:
        batch: list[str] = []
        size = 0
        for text in map(_sendable, texts):
            length = len(text.encode())
            if batch and (len(batch) == self._batch or size + length > LARGEST_REQUEST):
                yield batch
                batch, size = [], 0
            batch.append(text)
            size += length
        if batch:
            yield batch

    def _vectors(self, texts: list[str], *, is_query: bool, seconds: float) -> Vectors:
        body = self._provider.body(self, [self._prompts[is_query] + text for text in texts], self._kinds[is_query])
        path = self._provider.path.format(model=quote(self.model, safe=""))
        rows = self._remote.post(path, body, self._provider.vectors, budget=seconds)
        return unit_vectors(
            rows, len(texts), f"{self._name} ({self._shown_model})", self.known_dimensions, cuts=self._cuts
        )


def _sendable(text: str) -> str:
    """The text in a form that every service accepts: valid UTF-8, not too long, not empty."""
    data = text.encode("utf-8", "replace")[:LONGEST_TEXT]
    return data.decode("utf-8", "ignore") if data.strip() else "."
