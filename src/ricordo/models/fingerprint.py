"""What stands beside every vector; apart from the protocols, because every search needs it and little else."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ricordo.models.base import Embedder

CHUNKER_VERSION = 1
"""The way text is cut; a new one makes other passages, and so other vectors."""


def fingerprint_of(embedder: Embedder) -> str:
    """The model, and the way text is cut for it: vectors with equal fingerprints can be compared."""
    return f"{embedder.fingerprint}/chunker-{CHUNKER_VERSION}"
