"""Working off the backlog: claim texts, embed the ones no one embedded before, store the vectors; until none is left.

Nothing is held while the model computes. Ctrl-C gives claimed texts back; a killed process loses at most its batch.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import TYPE_CHECKING, Any

from recollect.errors import ContractError, Error, Unavailable
from recollect.ingest.chunk import CHUNKER_VERSION
from recollect.models.base import Embedder
from recollect.reports import EmbedReport
from recollect.store.base import Job, Store
from recollect.values import Progress

if TYPE_CHECKING:
    import numpy.typing as npt

BATCH = 256


def fingerprint_of(embedder: Embedder) -> str:
    """What stands beside every vector: the model, and the way text is cut for it."""
    return f"{embedder.fingerprint}/chunker-{CHUNKER_VERSION}"


class Worker:
    """Drains the backlog of one fingerprint."""

    def __init__(
        self, store: Store, embedder: Embedder, owner: str, progress: Callable[[Progress], None] | None = None
    ) -> None:
        self.store = store
        self.embedder = embedder
        self.fingerprint = fingerprint_of(embedder)
        self.owner = owner
        self.progress = progress
        self.embedded = self.cached = self.failed = 0
        self.stopped = ""
        self._left: int | None = None
        self._lock = Lock()
        self._started = time.monotonic()

    def drain(self, *, kinds: Sequence[str] = (), limit: int | None = None, workers: int = 1) -> EmbedReport:
        """Work until the backlog is empty, the limit is reached, or the embedder is gone."""
        self._left = limit
        self._total = self.store.vector_counts(self.fingerprint)["pending"]
        try:
            if workers > 1:
                with ThreadPoolExecutor(workers) as pool:
                    list(pool.map(lambda _: self._run(kinds), range(workers)))
            else:
                self._run(kinds)
        finally:
            self.store.release_jobs(self.owner)
        seconds = time.monotonic() - self._started
        return EmbedReport(self.embedded, self.cached, self.failed, seconds, self.stopped)

    def _run(self, kinds: Sequence[str]) -> None:
        while not self.stopped:
            jobs = next((claimed for kind in kinds or (None,) if (claimed := self._claim(kind))), [])
            if not jobs:
                return
            try:
                self._embed(jobs)
            except Unavailable as error:
                self.stopped = f"{error.message}. {error.hint}".strip()
            except ContractError as error:
                self.store.fail_jobs(self.fingerprint, jobs, error.message)
                self.failed += len(jobs)
                self.stopped = f"{error.message}. {error.hint}".strip()
            except Error as error:
                self.store.fail_jobs(self.fingerprint, jobs, error.message)
                self.failed += len(jobs)

    def _claim(self, kind: str | None) -> list[Job]:
        with self._lock:
            size = BATCH if self._left is None else min(BATCH, self._left)
            if size <= 0:
                return []
            jobs = self.store.claim_jobs(self.fingerprint, self.embedder.dimensions, self.owner, size, kind)
            if self._left is not None:
                self._left -= len(jobs)
            return jobs

    def _embed(self, jobs: Sequence[Job]) -> None:
        known = self.store.known_vectors(self.fingerprint, [job.hash for job in jobs])
        texts = {job.hash: job.text for job in jobs if job.hash not in known}
        vectors: npt.NDArray[Any] | list[Any] = []
        if texts:
            vectors = self.embedder.embed_documents(list(texts.values()))
            if len(vectors) != len(texts):
                raise ContractError(
                    f"{self.embedder.fingerprint} gave {len(vectors)} vectors for {len(texts)} texts",
                    hint="Nothing was stored. Check the embedding settings, then run 'recollect embed'.",
                )
        self.store.finish_jobs(self.fingerprint, jobs, dict(zip(texts, vectors, strict=True)))
        self.embedded += len(texts)
        self.cached += len(jobs) - len(texts)
        self._tell()

    def _tell(self) -> None:
        if self.progress is None:
            return
        done = self.embedded + self.cached
        rate = done / max(time.monotonic() - self._started, 1e-6)
        total = max(self._total, done)
        self.progress(Progress(done, total, "", "embedding", rate, (total - done) / rate if rate else None))
