"""Prepares an item for writing: hashes, term counts, links.

All of it happens before the write transaction begins, so that the transaction stays short.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from ricordo.digests import hash_of
from ricordo.store.values import FileState, PreparedChunk, PreparedItem, TermCounts
from ricordo.text.languages import ENGLISH, passage_languages
from ricordo.text.links import targets_in
from ricordo.text.words import Analyzer
from ricordo.values.items import Draft, version_hash

if TYPE_CHECKING:
    from hashlib import blake2b


def text_hash(content: str, blob: bytes | None = None) -> str:
    """SHA-256 of the content alone."""
    return hash_of(blob if blob is not None else content.encode("utf-8", "surrogatepass"))


def embedded_text(prefix: str, text: str) -> str:
    """The exact text that is embedded for a chunk: its prefix, a bar, its text.

    Tokenizers ignore line breaks, so the bar separates the prefix from the sentence behind it.
    """
    body = text.strip()
    return f"{prefix} | {body}" if prefix else body


def embed_hash(prefix: str, text: str) -> bytes:
    """The key of the embedding cache: SHA-256 of exactly what is embedded."""
    return bytes.fromhex(hash_of(embedded_text(prefix, text).encode("utf-8", "surrogatepass")))


def prepare(
    draft: Draft,
    analyzer: Analyzer,
    *,
    prefixes: Sequence[str],
    lines: list[tuple[int, int]],
    stored_keys: Collection[bytes] = (),
    file: FileState | None = None,
) -> PreparedItem:
    """Hash and analyse a draft. ``prefixes[i]`` is embedded in front of passage i; ``known`` keys need no analysis."""
    content_hash = text_hash(draft.content, draft.blob)
    fields = draft.fields
    shared_text = (fields.title, draft.ref.path, fields.description, "\n".join(fields.tags), fields.context)
    shared: dict[str, tuple[dict[str, int], ...]] = {}
    contexts: dict[tuple[str, str], dict[str, int]] = {}
    base = _digest(analyzer.language, *shared_text)
    chunks = []
    texts = [draft.content[passage.start : passage.end] for passage in draft.passages]
    codes = [stored_language(code, analyzer) for code in passage_languages(draft.content, texts)]
    for index, (passage, text, code) in enumerate(zip(draft.passages, texts, codes, strict=True)):
        key = _digest(passage.heading, text, *([code] if code else []), after=base).digest()
        counts: TermCounts | None = None
        if key not in stored_keys:
            own = analyzer.in_language(code)
            if code not in shared:
                shared[code] = tuple(own.counts(part) for part in shared_text[:4])
            within = (code, passage.heading)
            if within not in contexts:
                contexts[within] = own.counts(f"{fields.context}\n{passage.heading}")
            counts = (*shared[code], contexts[within], own.counts(text))
        chunks.append(
            PreparedChunk(
                start=passage.start,
                lines=lines[index],
                text=text,
                heading=passage.heading,
                prefix=prefixes[index],
                key=key,
                embed_hash=embed_hash(prefixes[index], text),
                counts=counts,
                language=code,
            )
        )
    return PreparedItem(
        draft=draft,
        hash=version_hash(draft, content_hash),
        text_hash=content_hash,
        chunks=tuple(chunks),
        file=file,
        links=targets_in(draft.content, draft.ref, fields.mime_type),
    )


def stored_language(code: str, analyzer: Analyzer) -> str:
    """The language that is written down with a passage: none for English in a store of English words."""
    return "" if code == ENGLISH and analyzer.language in ("english", "porter") else code


def _digest(*parts: str, after: blake2b | None = None) -> blake2b:
    """A hash in which ("ab", "c") and ("a", "bc") differ; ``after`` continues one that others share."""
    import hashlib

    digest = after.copy() if after is not None else hashlib.blake2b(digest_size=16)
    encoded = [part.encode("utf-8", "surrogatepass") for part in parts]
    digest.update(b"".join(len(data).to_bytes(8, "little") + data for data in encoded))
    return digest
