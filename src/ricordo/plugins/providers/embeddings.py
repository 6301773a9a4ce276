"""What embedders of others have in common: words in front of texts, and a check of the vectors that come back.

A vector of the wrong length, with a NaN or of zeros only cannot be compared with others, so it is a ``ContractError``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ricordo.digests import hash_of
from ricordo.errors import ContractError

if TYPE_CHECKING:
    from ricordo.models.base import Vectors

WITHOUT = "To go on without it: ‹:config set embedding.provider local›"
"""The end of every hint: vectors can always be made by the model inside the package."""

_SEARCHING = "Represent this sentence for searching relevant passages: "
_FAMILIES = (
    (r"bge-(small|base|large)-zh", "", "为这个句子生成表示以用于检索相关文章："),
    (r"bge-(small|base|large)(-en)?(-v1\.5)?$", "", _SEARCHING),
    (r"snowflake-arctic-embed(2|-.*v2)", "", "query: "),
    (r"mxbai-embed|snowflake-arctic-embed", "", _SEARCHING),
    (r"e5-(small|base|large)(-v2)?$", "passage: ", "query: "),
    (r"nomic-embed-text", "search_document: ", "search_query: "),
    (r"embeddinggemma", "title: none | text: ", "task: search result | query: "),
)
"""What families of models expect in front of documents and queries, from their own pages: many say it in files of their
own, which come first, but some only in prose, and converted files may leave it out."""


def known_prompts(name: str) -> tuple[str, str]:
    """The words that a model of this name expects in front of documents and of queries; empty for most models."""
    last = name.rpartition("/")[2].lower()
    for pattern, document, query in _FAMILIES:
        if re.search(pattern, last):
            return document, query
    return "", ""


def prefix_mark(document: str, query: str) -> str:
    """A short name for a pair of prefixes, for the fingerprint."""
    if not document and not query:
        return "plain"
    return hash_of(f"{document}\0{query}".encode())[:8]


def unit_vectors(rows: Any, count: int, model: str, dimensions: int | None, *, cuts: bool = False) -> Vectors:
    """One unit vector per text; raises an error for anything else that a model may answer.

    ``dimensions`` is None for a model that is neither known here nor described by a setting. With ``cuts``, longer
    vectors are cut to it: in some models the first numbers matter most.
    """
    import numpy as np

    def broken(what: str, hint: str = "Nothing was stored. Check the [embedding] settings, then run ‹:embed›.") -> Any:
        return ContractError(f"{model}: {what}", hint=hint)

    try:
        vectors = np.asarray(rows, np.float32)
    except (TypeError, ValueError):
        raise broken("its vectors are not lists of numbers of one length") from None
    given = len(vectors) if vectors.ndim else 0
    if given != count:
        raise broken(f"it gave {given} vectors for {count} texts")
    if vectors.ndim != 2 or not vectors.shape[1]:
        raise broken("its vectors are not lists of numbers of one length")
    if cuts and dimensions is not None:
        vectors = vectors[:, :dimensions]
    if dimensions is not None and vectors.shape[1] != dimensions:
        raise broken(
            f"its vectors have {vectors.shape[1]} numbers, {dimensions} expected",
            f"Set embedding.dimensions to {vectors.shape[1]}, then run ‹:embed›.",
        )
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1)
    if not np.isfinite(lengths).all():
        raise broken("its vectors contain NaN or infinite numbers")
    if not lengths.all():
        raise broken("it gave a vector of zeros, which cannot be compared")
    unit: Vectors = (vectors / lengths[:, None]).astype(np.float32)
    return unit
