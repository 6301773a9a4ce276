"""How families of sentence models expect to be used: the words in front of queries and documents, and the pooling.

Many models say this in files of their own, and those files come first. This table is for models that say it only in
prose, or whose converted files leave it out; its entries are from the models' own pages.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

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
_DOCUMENT_NAMES = ("document", "passage", "search_document", "Retrieval-document")
_QUERY_NAMES = ("query", "search_query", "Retrieval-query")


def known_prompts(name: str) -> tuple[str, str]:
    """The words that a model of this name expects in front of documents and of queries; empty for most models."""
    last = name.rpartition("/")[2].lower()
    for pattern, document, query in _FAMILIES:
        if re.search(pattern, last):
            return document, query
    return "", ""


def published_prompts(about: Mapping[str, Any]) -> tuple[str, str] | None:
    """The same from a model's ``config_sentence_transformers.json``; None when it says nothing."""
    prompts = about.get("prompts")
    if not isinstance(prompts, dict):
        return None
    document = next((prompts[name] for name in _DOCUMENT_NAMES if isinstance(prompts.get(name), str)), "")
    query = next((prompts[name] for name in _QUERY_NAMES if isinstance(prompts.get(name), str)), "")
    return (document, query) if document or query else None


def known_pooling(name: str) -> str:
    """How models of this family make one vector from those of the tokens, for models whose files do not say it."""
    last = name.rpartition("/")[2].lower()
    return "cls" if re.search(r"^bge-|mxbai-embed|snowflake-arctic-embed", last) else "mean"
