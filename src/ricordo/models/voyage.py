"""Embeddings by Voyage AI, which treats queries and documents differently (``input_type``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ricordo.models.remote import ModelShape, RemoteEmbedder, by_index, service

if TYPE_CHECKING:
    from ricordo.config.settings import EmbeddingSettings

BASE_URL = "https://api.voyageai.com/v1"
KEY_VARIABLE = "VOYAGE_API_KEY"
DEFAULT_MODEL = "voyage-3.5"
BATCH = 128
DIMENSIONS = {
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
}


def make(settings: EmbeddingSettings) -> RemoteEmbedder:
    """The embedder that the settings describe; nothing is sent yet."""
    model = settings.model or DEFAULT_MODEL
    remote = service("voyage", settings, BASE_URL, key_variable=KEY_VARIABLE)
    document, query = (settings.input_type,) * 2 if settings.input_type else ("document", "query")

    def ask(texts: Sequence[str], is_query: bool, seconds: float) -> Any:
        body: dict[str, Any] = {"model": model, "input": list(texts), "truncation": True}
        kind = query if is_query else document
        if kind != "none":
            body["input_type"] = kind
        if settings.dimensions:
            body["output_dimension"] = settings.dimensions
        return by_index(remote.post("embeddings", body, budget=seconds), "voyage")

    shape = ModelShape(
        "voyage",
        model,
        settings.dimensions or DIMENSIONS.get(model),
        min(settings.batch_size or BATCH, 1000),
        32_000,
        pooling=f"{document}-{query}",
    )
    return RemoteEmbedder(shape, ask)
