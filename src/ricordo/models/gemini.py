"""Embeddings by Google's Gemini API, which treats queries and documents differently and can shorten vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ricordo.models.remote import ModelShape, RemoteEmbedder, service, unexpected

if TYPE_CHECKING:
    from ricordo.config.settings import EmbeddingSettings

BASE_URL = "https://generativelanguage.googleapis.com/v1beta"
KEY_VARIABLE = "GEMINI_API_KEY"
DEFAULT_MODEL = "gemini-embedding-001"
BATCH = 100
"""Texts per request; the service accepts no more."""
DIMENSIONS = {"gemini-embedding-001": 3072, "text-embedding-004": 768, "embedding-001": 768}


def make(settings: EmbeddingSettings) -> RemoteEmbedder:
    """The embedder that the settings describe; nothing is sent yet."""
    model = (settings.model or DEFAULT_MODEL).removeprefix("models/")
    remote = service(
        "gemini",
        settings,
        BASE_URL,
        key_variable=KEY_VARIABLE,
        headers=lambda key: {"x-goog-api-key": key},
    )
    given = settings.input_type
    document, query = (given, given) if given else ("RETRIEVAL_DOCUMENT", "RETRIEVAL_QUERY")

    def ask(texts: Sequence[str], is_query: bool, seconds: float) -> Any:
        about: dict[str, Any] = {"model": f"models/{model}"}
        kind = query if is_query else document
        if kind != "none":
            about["taskType"] = kind
        if settings.dimensions:
            about["outputDimensionality"] = settings.dimensions
        requests = [{**about, "content": {"parts": [{"text": text}]}} for text in texts]
        path = f"models/{quote(model, safe='')}:batchEmbedContents"
        data = remote.post(path, {"requests": requests}, budget=seconds)
        try:
            return [entry["values"] for entry in data["embeddings"]]
        except (KeyError, TypeError):
            raise unexpected("gemini", data) from None

    shape = ModelShape(
        "gemini",
        model,
        settings.dimensions or DIMENSIONS.get(model),
        min(settings.batch_size or BATCH, BATCH),
        2_048,
        pooling=f"{document}-{query}".lower(),
    )
    return RemoteEmbedder(shape, ask)
