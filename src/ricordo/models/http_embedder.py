"""Embedders behind HTTP: OpenAI (and every service with its interface), Voyage, Gemini and Ollama.

``PROVIDERS`` says what differs between them: address, key, sizes, and how a request and an answer look. The rest is the
same for all: batches, input that every service accepts, and checks of the answers. ``http`` handles attempts and keys.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ricordo.errors import ContractError, Unavailable
from ricordo.frozen import frozen
from ricordo.models.http import TOTAL_SECONDS, Remote, bearer
from ricordo.models.vectors import WITHOUT, ModelShape, known_prompts, prefix_mark, unit_vectors

if TYPE_CHECKING:
    from ricordo.config.settings import EmbeddingSettings
    from ricordo.models.base import Vectors

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
class EmbeddingRequest:
    """One request: the texts with the words in front of them, and what the service calls texts of this kind."""

    model: str
    texts: Sequence[str]
    kind: str
    dimensions: int
    is_elsewhere: bool
    """Whether a service with the provider's interface is asked, not the provider itself."""


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
    body: Callable[[EmbeddingRequest], Mapping[str, Any]]
    vectors: Callable[[Any], list[Any]]
    path: str = "embeddings"
    key_variable: str = ""
    url_variable: str = ""
    """Only OpenAI's: an address of another service with its interface."""
    kinds: tuple[str, str] = ("", "")
    """What the service calls documents and queries, if it tells them apart."""
    headers: Callable[[str], Mapping[str, str]] = bearer


def _openai_body(request: EmbeddingRequest) -> dict[str, Any]:
    # Base64 is exact and needs half the bytes, but not every compatible service supports it.
    encoding = "float" if request.is_elsewhere else "base64"
    body = {"model": request.model, "input": list(request.texts), "encoding_format": encoding}
    # Only these models can make shorter vectors. For others the setting says how long their vectors are.
    shortens = request.dimensions and request.model.startswith("text-embedding-3-")
    return body | ({"dimensions": request.dimensions} if shortens else {})


def _voyage_body(request: EmbeddingRequest) -> dict[str, Any]:
    body: dict[str, Any] = {"model": request.model, "input": list(request.texts), "truncation": True}
    body |= {"input_type": request.kind} if request.kind != "none" else {}
    return body | ({"output_dimension": request.dimensions} if request.dimensions else {})


def _gemini_body(request: EmbeddingRequest) -> dict[str, Any]:
    about: dict[str, Any] = {"model": f"models/{request.model}"}
    about |= {"taskType": request.kind} if request.kind != "none" else {}
    about |= {"outputDimensionality": request.dimensions} if request.dimensions else {}
    return {"requests": [{**about, "content": {"parts": [{"text": text}]}} for text in request.texts]}


def _ollama_body(request: EmbeddingRequest) -> dict[str, Any]:
    return {"model": request.model, "input": list(request.texts), "truncate": True}


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
        url_variable="OPENAI_BASE_URL",
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
    ),
}


def make(name: str, settings: EmbeddingSettings) -> HttpEmbedder:
    """The embedder that the settings describe; nothing is sent yet."""
    provider = PROVIDERS[name]
    model = (settings.model or provider.model).removeprefix("models/" if name == "gemini" else "")
    elsewhere = ""
    if provider.url_variable:
        elsewhere = (settings.base_url or os.environ.get(provider.url_variable, "")).rstrip("/")
        elsewhere = "" if elsewhere == provider.url else elsewhere
    given = settings.api_keys or tuple(os.environ.get(provider.key_variable, "").split(","))
    remote = Remote(
        name,
        elsewhere or settings.base_url or (_ollama_address() if name == "ollama" else provider.url),
        keys=tuple(key.strip() for key in given if key.strip()),
        key_variable=provider.key_variable,
        needs_key=bool(provider.key_variable) and not elsewhere,
        without=WITHOUT,
        headers=provider.headers,
    )
    kinds = (settings.input_type,) * 2 if settings.input_type else provider.kinds
    shape = ModelShape(
        name,
        # A model of another service may have the same name and still be different. Fingerprints are shown to
        # everybody, so the address is named without scheme, user name and password.
        f"{elsewhere.partition('://')[2].rpartition('@')[2] or elsewhere}/{model}" if elsewhere else model,
        settings.dimensions or provider.dimensions.get(model),
        min(settings.batch_size or provider.batch, provider.largest_batch),
        provider.max_tokens,
        pooling="-".join(kinds).lower() if provider.kinds[0] else "own",
    )
    if name == "ollama":
        shape = _ollama_shape(shape, settings)

    def ask(texts: Sequence[str], is_query: bool, seconds: float) -> list[Any]:
        request = EmbeddingRequest(model, texts, kinds[is_query], settings.dimensions, bool(elsewhere))
        path = provider.path.format(model=quote(model, safe=""))
        data = remote.post(path, provider.body(request), budget=seconds)
        try:
            return provider.vectors(data)
        except (KeyError, TypeError, ValueError):
            raise ContractError(
                f"{name}: its answer is not of the expected form: {str(data)[:120]}",
                hint="Nothing was stored. Check that embedding.base_url is the right service.",
            ) from None

    return HttpEmbedder(shape, ask)


def _ollama_shape(shape: ModelShape, settings: EmbeddingSettings) -> ModelShape:
    """Ollama embeds exactly what it is given, so the words that a model expects are put in front here."""
    family = shape.model.partition(":")[0].rpartition("/")[2]
    known = PROVIDERS["ollama"].dimensions.get(family)
    if family != "embeddinggemma" and shape.model not in (family, f"{family}:latest"):
        known = None  # a tag names another size of the same model, whose vectors may have another length
    document, query = ("", "") if settings.input_type == "none" else known_prompts(family)
    return ModelShape(
        shape.provider,
        shape.model.removesuffix(":latest"),
        settings.dimensions or known,
        shape.batch,
        shape.max_tokens,
        document_prefix=document,
        query_prefix=query,
        cuts=family == "embeddinggemma" or bool(settings.dimensions),
    )


def _ollama_address() -> str:
    """``OLLAMA_HOST`` as Ollama itself reads it, else its usual port on this machine."""
    given = os.environ.get("OLLAMA_HOST", "").strip()
    if not given:
        return PROVIDERS["ollama"].url
    scheme, separator, rest = given.rpartition("://")
    host = rest.rstrip("/").replace("0.0.0.0", "127.0.0.1")
    return f"{scheme or 'http'}://{host}" if ":" in host or separator else f"http://{host}:11434"


class HttpEmbedder:
    """An embedder whose model runs elsewhere. Nothing is sent before the first text."""

    is_remote = True
    """So that a search does not ask the service several times: every call takes time and may cost money."""

    def __init__(self, shape: ModelShape, ask: Callable[[Sequence[str], bool, float], Any]) -> None:
        """``ask`` takes texts, whether they are queries, and the seconds it has; it returns numbers for each text."""
        self.shape = shape
        self._ask = ask

    @property
    def fingerprint(self) -> str:
        shape = self.shape
        marks = prefix_mark(shape.document_prefix, shape.query_prefix)
        return f"{shape.provider}/{shape.model}/{self.dimensions}/{shape.pooling}/{marks}"

    @property
    def dimensions(self) -> int:
        if self.shape.dimensions is None:
            provider, model = self.shape.provider, self.shape.model
            raise Unavailable(
                f"{provider}: the length of the vectors of {model} is not known",
                hint=f"‹:models use {provider} --model {model}› finds it out. Or set embedding.dimensions.",
            )
        return self.shape.dimensions

    @property
    def max_tokens(self) -> int:
        return self.shape.max_tokens

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        seconds = TOTAL_SECONDS if len(texts) > SMALL_BATCH else SMALL_BATCH_SECONDS
        rows = [self._vectors(part, query=False, seconds=seconds) for part in self._batches(texts)]
        return np.concatenate(rows) if rows else np.zeros((0, self.dimensions), np.float32)

    def embed_query(self, text: str) -> Vectors:
        vector: Vectors = self._vectors([_sendable(text)], query=True, seconds=QUERY_SECONDS)[0]
        return vector

    def _batches(self, texts: Sequence[str]) -> Iterator[list[str]]:
        batch: list[str] = []
        size = 0
        for text in map(_sendable, texts):
            length = len(text.encode())
            if batch and (len(batch) == self.shape.batch or size + length > LARGEST_REQUEST):
                yield batch
                batch, size = [], 0
            batch.append(text)
            size += length
        if batch:
            yield batch

    def _vectors(self, texts: list[str], *, query: bool, seconds: float) -> Vectors:
        prefix = self.shape.query_prefix if query else self.shape.document_prefix
        found = self._ask([prefix + text for text in texts], query, seconds)
        return unit_vectors(found, len(texts), self.shape)


def _sendable(text: str) -> str:
    """The text in a form that every service accepts: valid UTF-8, not too long, not empty."""
    data = text.encode("utf-8", "replace")[:LONGEST_TEXT]
    return data.decode("utf-8", "ignore") if data.strip() else "."
