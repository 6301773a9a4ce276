"""Embeddings by an Ollama server, which usually runs on this machine and needs no key.

Ollama embeds exactly what it is given, so this module adds the words that a model expects in front of queries and
documents. EmbeddingGemma's vectors are cut to 256 numbers and brought back to unit length, as it was trained for.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ricordo.models.families import known_prompts
from ricordo.models.remote import ModelShape, RemoteEmbedder, service, unexpected

if TYPE_CHECKING:
    from ricordo.config.settings import EmbeddingSettings

BASE_URL = "http://127.0.0.1:11434"
DEFAULT_MODEL = "embeddinggemma"
BATCH = 64
CUT_TO = 256
DIMENSIONS = {
    "embeddinggemma": CUT_TO,
    "nomic-embed-text": 768,
    "mxbai-embed-large": 1024,
    "all-minilm": 384,
    "bge-m3": 1024,
    "bge-large": 1024,
    "snowflake-arctic-embed": 1024,
    "snowflake-arctic-embed2": 1024,
    "granite-embedding": 384,
}


def make(settings: EmbeddingSettings) -> RemoteEmbedder:
    """The embedder that the settings describe; nothing is sent yet."""
    model = settings.model or DEFAULT_MODEL
    family = model.partition(":")[0].rpartition("/")[2]
    remote = service("ollama", settings, address(), needs_key=False)

    def ask(texts: Sequence[str], _: bool, seconds: float) -> Any:
        data = remote.post("api/embed", {"model": model, "input": list(texts), "truncate": True}, budget=seconds)
        try:
            return data["embeddings"]
        except (KeyError, TypeError):
            raise unexpected("ollama", data) from None

    # A tag names another size of the same model, whose vectors may have another length.
    known = DIMENSIONS.get(family) if model in (family, f"{family}:latest") else None
    known = CUT_TO if family == DEFAULT_MODEL else known
    document, query = ("", "") if settings.input_type == "none" else known_prompts(family)
    shape = ModelShape(
        "ollama",
        model.removesuffix(":latest"),
        settings.dimensions or known,
        settings.batch_size or BATCH,
        2_048,
        document_prefix=document,
        query_prefix=query,
        cuts=family == DEFAULT_MODEL or bool(settings.dimensions),
    )
    return RemoteEmbedder(shape, ask)


def address() -> str:
    """The address of Ollama: ``OLLAMA_HOST`` as Ollama itself reads it, else its usual port on this machine."""
    given = os.environ.get("OLLAMA_HOST", "").strip()
    if not given:
        return BASE_URL
    scheme, separator, rest = given.rpartition("://")
    host = rest.rstrip("/").replace("0.0.0.0", "127.0.0.1")
    return f"{scheme or 'http'}://{host}" if ":" in host or separator else f"http://{host}:11434"
