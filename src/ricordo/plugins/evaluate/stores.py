"""The stores that evaluations search, built once per corpus and kept in the user's cache folder, and their vectors.

A cached store is a folder ``<corpus>-<settings>/`` with ``store.db`` in it. It is built under a temporary name and
renamed when it is complete, so that an interrupted run never leaves an incomplete store. Its name depends on the corpus
and on every setting that affects the index, but not on settings that only ranking reads.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import tempfile
import time
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from ricordo import registry
from ricordo.config.files import replace_file
from ricordo.config.loading import Config
from ricordo.config.state import user_folder
from ricordo.digests import hash_of
from ricordo.engine.models_in_use import ModelsInUse
from ricordo.engine.ricordo import Ricordo
from ricordo.errors import StoreError
from ricordo.ingest.embed import Worker
from ricordo.models.base import Embedder, fingerprint_of
from ricordo.plugins.evaluate.datasets import Dataset, Document
from ricordo.store.backlog import worker_name
from ricordo.values.items import Entry
from ricordo.values.reports import Progress

if TYPE_CHECKING:
    from ricordo.models.base import Vectors


UNUSED_DAYS = 30
"""A cached store that no evaluation used for this long is removed by the next one that builds."""

INDEXING_CODE = ("text", "ingest/cut", "store/index")
"""The folders whose modules decide what the index holds; if one changes, the store is built again."""

_DRIVE = "eval"


def ref_of(position: int) -> str:
    """The ref of the document at this position in the corpus.

    Documents are numbered because paths are indexed: the set's own ids could make an answer easier or harder to find.
    """
    return f"{_DRIVE}:/{position:07d}"


def position_of(ref: str) -> int:
    """The position in the corpus from which ``ref_of`` made a ref."""
    return int(ref.rpartition("/")[2])


def make_vectors(
    engine: Ricordo,
    dataset: Dataset,
    *,
    cache_dir: Path | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> str:
    """Make the vectors that a cached store lacks; returns why it stopped early, or an empty text.

    Vectors are also kept outside the store, by corpus and fingerprint, so that they need not be computed again after an
    interrupted run or when the store is built again.
    """
    root = cache_dir or default_cache_folder()
    second = ModelsInUse(lambda: engine.config, "").second.embedder()
    for embedder in (registry.embedder(engine.config), second):
        if embedder is None or not engine.store.jobs.waiting(fingerprint := fingerprint_of(embedder)):
            continue
        folder = root / f"{dataset.corpus_digest[:16]}-vectors-{_short_hash({'fingerprint': fingerprint})}"
        remembering = RememberingEmbedder(embedder, folder)
        stopped = Worker(engine.store, remembering, worker_name(), progress).drain().stopped
        if stopped:
            return stopped
    return ""


def default_cache_folder() -> Path:
    """Where cached stores are kept unless the caller says otherwise."""
    return Path(user_folder("cache", os.environ)) / "eval"


def cached_store(
    dataset: Dataset,
    config: Config,
    *,
    cache_dir: Path | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Path:
    """The file of a store that holds the set's documents, built now if it is not there yet.

    It can be searched by keyword; vectors wait in its backlog until ``make_vectors`` is asked for them.
    """
    root = cache_dir or default_cache_folder()
    settings = index_settings(config)
    folder = root / f"{dataset.corpus_digest[:16]}-{_short_hash(settings)}"
    store = folder / "store.db"
    if store.is_file():
        os.utime(folder)
        return store
    root.mkdir(parents=True, exist_ok=True)
    oldest = time.time() - UNUSED_DAYS * 86_400
    for unused in (one for one in root.iterdir() if one.is_dir() and one.stat().st_mtime < oldest):
        shutil.rmtree(unused, ignore_errors=True)
    building = Path(tempfile.mkdtemp(prefix="building-", dir=root))
    try:
        _build(dataset, config, building / "store.db", progress)
        (building / "about.json").write_text(
            json.dumps({"dataset": dataset.name, "documents": len(dataset.documents), **settings}, indent=1),
            encoding="utf-8",
        )
        _put_in_place(building, folder)
    finally:
        shutil.rmtree(building, ignore_errors=True)
    return store


def server_store(
    dataset: Dataset, config: Config, server: str, *, progress: Callable[[Progress], None] | None = None
) -> str:
    """The address of a schema that holds the set's documents, filled now if it is not yet."""
    name = f"eval_{dataset.corpus_digest[:16]}_{_short_hash(index_settings(config))}"
    parts = urlsplit(server)
    query = [pair for pair in parse_qsl(parts.query, keep_blank_values=True) if pair[0] != "schema"]
    address = urlunsplit(parts._replace(query=urlencode([*query, ("schema", name)], quote_via=quote)))
    with Ricordo.open(address, config=config) as engine:
        there = engine.count()
    if there < len(dataset.documents):
        _build(dataset, config, address, progress)
    return address


def index_settings(config: Config) -> dict[str, str]:
    """All settings that decide what the index of a given corpus holds."""
    embedder = registry.embedder(config)
    return {
        "chunker": config.ingest.chunker,
        "language": config.lexical.language,
        "embedding": fingerprint_of(embedder) if embedder is not None else "none",
        "second": str(ModelsInUse(lambda: config, "").second.backlog()),
        "code": _code_digest(),
    }


def _code_digest() -> str:
    """A hash of the code that makes chunks, terms and postings.

    It replaces version numbers of chunker and index, and also covers an edit that changed no version number, so that
    somebody who tries a change gets the figures of that change.
    """
    digest = hashlib.sha256()
    package = Path(__file__).parents[2]
    for folder in INDEXING_CODE:
        for path in sorted((package / folder).glob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _short_hash(settings: dict[str, str]) -> str:
    return hash_of(json.dumps(settings, sort_keys=True).encode())[:16]


def _build(dataset: Dataset, config: Config, store: str | Path, progress: Callable[[Progress], None] | None) -> None:
    with Ricordo.open(store, config=config) as engine:
        entries = (
            Entry(ref=ref_of(position), content=document.text, fields=_fields(document))
            for position, document in enumerate(dataset.documents)
        )
        report = engine.save_many(entries, wait=False, progress=progress)
    if report.failed:
        first = next(saved for saved in report.items if saved.status == "failed")
        reason = (first.error or {}).get("message", "no reason given")
        raise StoreError(
            f"{report.failed} documents of '{dataset.name}' could not be indexed, e.g. because {reason}",
            hint="Nothing was kept. Check the corpus and the free space of the cache folder, then try again.",
        )


def _fields(document: Document) -> dict[str, object]:
    fields: dict[str, object] = {"title": document.title, "metadata": {"document": document.id}}
    if document.thread is not None:
        fields |= {"thread": document.thread, "seq": document.seq}
    return fields


def _put_in_place(building: Path, folder: Path) -> None:
    """Move the complete store to its place; if another process was faster, its store is kept."""
    try:
        building.rename(folder)
    except OSError:
        if not (folder / "store.db").is_file():
            raise


class RememberingEmbedder:
    """Wraps an embedder; ``folder`` belongs to one corpus and one fingerprint."""

    def __init__(self, inner: Embedder, folder: Path) -> None:
        self._inner = inner
        self._folder = folder
        self._known: dict[bytes, Vectors] | None = None

    @property
    def fingerprint(self) -> str:
        return self._inner.fingerprint

    @property
    def dimensions(self) -> int:
        return self._inner.dimensions

    @property
    def max_tokens(self) -> int:
        return self._inner.max_tokens

    @property
    def is_remote(self) -> bool:
        return self._inner.is_remote

    def embed_query(self, text: str) -> Vectors:
        return self._inner.embed_query(text)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Vectors of the texts; only those that were never embedded before are computed."""
        import numpy as np

        if self._known is None:
            self._known = self._load()
        keys = [hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in texts]
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._known}
        if new:
            computed = np.asarray(self._inner.embed_documents(list(new.values())), np.float32)
            self._keep(list(new), computed)
            self._known |= dict(zip(new, computed, strict=True))
        return np.stack([self._known[key] for key in keys])

    def _load(self) -> dict[bytes, Vectors]:
        import numpy as np

        known: dict[bytes, Vectors] = {}
        if not self._folder.is_dir():
            return known
        os.utime(self._folder)
        for file in self._folder.glob("*.npz"):
            with np.load(file) as batch:
                known |= {key.tobytes(): vector for key, vector in zip(batch["keys"], batch["vectors"], strict=True)}
        return known

    def _keep(self, keys: Sequence[bytes], vectors: Vectors) -> None:
        import numpy as np

        content = io.BytesIO()
        np.savez(content, keys=np.frombuffer(b"".join(keys), np.uint8).reshape(len(keys), -1), vectors=vectors)
        replace_file(self._folder / f"{uuid.uuid4().hex}.npz", content.getvalue(), mode=0o644)
