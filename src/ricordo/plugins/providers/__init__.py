"""Models of others: embeddings over HTTP (OpenAI, Voyage, Gemini, Ollama), and models from a hub or a folder."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from ricordo.plugin import Plugin

if TYPE_CHECKING:
    from ricordo.config.settings import Config, EmbeddingSettings

PLUGIN = Plugin(
    __name__,
    "Embeds and reranks with models of others, over HTTP or from a hub.",
    embedders={
        "hub": "hub:SentenceModel",
        **dict.fromkeys(("openai", "voyage", "gemini", "ollama"), "http_embedder:HttpEmbedder"),
    },
    rerankers={"cross-encoder": "hub:CrossEncoder"},
    on={"embedding_settings": ":with_keys_of_llm"},
)


def with_keys_of_llm(config: Config) -> EmbeddingSettings | None:
    """The settings with ``llm.api_keys`` for embeddings that have none of their own, if both ask the same provider.

    A key in the provider's own variable comes first. Another address is another provider, whatever its name.
    """
    mine, other = config.embedding, getattr(config, "llm", None)
    if other is None or not other.api_keys or mine.api_keys:
        return None
    if (mine.provider, mine.base_url) != (other.provider, other.base_url):
        return None
    from ricordo.plugins.providers.http_embedder import PROVIDERS

    row = PROVIDERS.get(mine.provider)
    if row is None or not row.key_variable or os.environ.get(row.key_variable, "").strip():
        return None
    return replace(mine, api_keys=other.api_keys)
