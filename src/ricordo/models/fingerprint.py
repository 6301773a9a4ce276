"""The fingerprint that is stored with every vector. A small module of its own, because every search needs it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ricordo.models.base import Embedder

CHUNKER_VERSION = 1
"""The version of the rules by which text is cut into passages; other passages have other vectors."""


def fingerprint_of(embedder: Embedder) -> str:
    """The model and the chunker's version. Vectors can be compared only if their fingerprints are equal."""
    return f"{embedder.fingerprint}/chunker-{CHUNKER_VERSION}"
