"""What a store is given and what it answers: prepared items in, values out, no SQL outside ``store/``.

``prepare`` does all that needs no lock (hashing, counting terms), so that the write transaction stays short.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from recollect.values import Draft
from recollect.words import Analyzer

TermCounts = tuple[Mapping[str, int], ...]


@dataclass(frozen=True, slots=True)
class PreparedChunk:
    """A chunk ready to be written. ``counts`` is None when the store already holds a chunk with this key."""

    start: int
    lines: tuple[int, int]
    text: str
    heading: str
    key: bytes
    embed_hash: bytes
    counts: TermCounts | None


@dataclass(frozen=True, slots=True)
class PreparedItem:
    """An item ready to be written: its draft, the hashes that tell versions apart, and its chunks."""

    draft: Draft
    hash: str
    text_hash: str
    chunks: tuple[PreparedChunk, ...]
    file_mtime: int | None = None
    file_size: int | None = None


def text_hash(content: str, blob: bytes | None = None) -> str:
    """SHA-256 of the content alone."""
    return hashlib.sha256(blob if blob is not None else content.encode("utf-8", "surrogatepass")).hexdigest()


def version_hash(draft: Draft, content_hash: str) -> str:
    """SHA-256 of all that makes a version: content, kind, ref and every field."""
    identity: dict[str, Any] = {
        "ref": str(draft.ref),
        "kind": draft.kind,
        "content": content_hash,
        "fields": draft.fields.to_dict(),
    }
    canonical = json.dumps(identity, sort_keys=True, ensure_ascii=True, default=str)
    return hashlib.sha256(canonical.encode()).hexdigest()


def prepare(
    draft: Draft,
    analyzer: Analyzer,
    *,
    embedded: Mapping[int, str],
    lines: list[tuple[int, int]],
    known: Collection[bytes] = (),
    file_mtime: int | None = None,
    file_size: int | None = None,
) -> PreparedItem:
    """Hash and analyse a draft. ``embedded[i]`` is what is embedded for passage i; ``known`` keys need no analysis."""
    content_hash = text_hash(draft.content, draft.blob)
    fields = draft.fields
    shared_text = (fields.title, draft.ref.path, fields.description, "\n".join(fields.tags), fields.context)
    shared: tuple[dict[str, int], ...] | None = None
    chunks = []
    for index, passage in enumerate(draft.passages):
        text = draft.content[passage.start : passage.end]
        key = _key(analyzer.language, *shared_text, passage.heading, text)
        counts: TermCounts | None = None
        if key not in known:
            if shared is None:
                shared = tuple(analyzer.counts(part) for part in shared_text)
            context = shared[4]
            if passage.heading:
                context = analyzer.counts(f"{fields.context}\n{passage.heading}")
            counts = (*shared[:4], context, analyzer.counts(text))
        chunks.append(
            PreparedChunk(
                passage.start,
                lines[index],
                text,
                passage.heading,
                key,
                hashlib.sha256(embedded[index].encode("utf-8", "surrogatepass")).digest(),
                counts,
            )
        )
    return PreparedItem(
        draft, version_hash(draft, content_hash), content_hash, tuple(chunks), file_mtime, file_size
    )


def _key(*parts: str) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.digest()
