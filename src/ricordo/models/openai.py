"""Embeddings by OpenAI, or by any service that speaks its format (``base_url``), through OpenAI's own library."""

from __future__ import annotations

import base64
import os
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from ricordo.errors import MissingExtra
from ricordo.models.remote import ModelShape, RemoteEmbedder, by_index, service
from ricordo.models.sdk import SdkClients

if TYPE_CHECKING:
    from ricordo.config.settings import EmbeddingSettings

BASE_URL = "https://api.openai.com/v1"
URL_VARIABLE = "OPENAI_BASE_URL"
KEY_VARIABLE = "OPENAI_API_KEY"
DEFAULT_MODEL = "text-embedding-3-small"
BATCH = 2048
"""Texts per request; the service accepts no more."""
DIMENSIONS = {"text-embedding-3-small": 1536, "text-embedding-3-large": 3072, "text-embedding-ada-002": 1536}
SHORTENED = "text-embedding-3-"
"""Only models of this name can make shorter vectors. For others the setting says how long their vectors are."""


def make(settings: EmbeddingSettings) -> RemoteEmbedder:
    """The embedder that the settings describe; nothing is imported or sent yet."""
    model = settings.model or DEFAULT_MODEL
    elsewhere = (settings.base_url or os.environ.get(URL_VARIABLE, "")).rstrip("/")
    elsewhere = "" if elsewhere == BASE_URL else elsewhere
    remote = service("openai", settings, elsewhere or BASE_URL, key_variable=KEY_VARIABLE, needs_key=not elsewhere)
    about: dict[str, Any] = {"model": model}
    # Base64 is exact and needs half the bytes, but not every compatible service supports it.
    about["encoding_format"] = "float" if elsewhere else "base64"
    if settings.dimensions and model.startswith(SHORTENED):
        about["dimensions"] = settings.dimensions

    @cache
    def clients() -> SdkClients:
        try:
            import openai
        except ImportError:
            raise MissingExtra("openai", "embeddings by OpenAI") from None
        return SdkClients(openai, "OpenAI", remote.base_url)

    def ask(texts: Sequence[str], _: bool, seconds: float) -> Any:
        library, body = clients(), {**about, "input": list(texts)}

        def requests(key: str) -> Any:
            # The library insists on a key, although a service on the user's own machine needs none.
            return library.of(key or "none").embeddings.with_raw_response

        def send(key: str, left: float) -> Any:
            return library.asked(lambda: requests(key).create(**body, timeout=library.timeout(left)))

        requests(remote.keys.current)  # imports most of the library, before the time limit starts
        return [_numbers(row) for row in by_index(remote.call(send, budget=seconds), "openai")]

    shape = ModelShape(
        "openai",
        # A model of another service may have the same name and still be different.
        f"{_place(elsewhere)}/{model}" if elsewhere else model,
        settings.dimensions or DIMENSIONS.get(model),
        min(settings.batch_size or BATCH, BATCH),
        8_191,
    )
    return RemoteEmbedder(shape, ask)


def _place(url: str) -> str:
    """An address without scheme, user name and password, because fingerprints are shown to everybody."""
    return url.partition("://")[2].rpartition("@")[2] or url


def _numbers(row: Any) -> Any:
    """A vector as it was sent: numbers, or their bytes in base64."""
    if not isinstance(row, str):
        return row
    import numpy as np

    try:
        return np.frombuffer(base64.b64decode(row, validate=True), "<f4")
    except ValueError:
        return []
