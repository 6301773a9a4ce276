"""Makes the vectors of texts in the backlog: claims texts, embeds those without a known vector, stores the vectors.

No lock is held while the model computes. Ctrl-C returns claimed texts to the backlog; a killed process loses at most
the batch it was working on.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from threading import Condition, Lock
from typing import TYPE_CHECKING, Any

from ricordo.bounded import call_plugin, call_within
from ricordo.errors import ContractError, Error, Unavailable
from ricordo.models.base import Budget, Embedder, fingerprint_of
from ricordo.store.base import Store
from ricordo.store.values import Backlog, Job
from ricordo.values.reports import EmbedReport, Progress

if TYPE_CHECKING:
    import numpy.typing as npt

BATCH = 100
HASTY_BATCH = 16
"""How many texts are embedded at once where somebody waits who does not want to wait long."""


_changed = Condition()
_at_work: Counter[int] = Counter()
"""How many threads of this process make vectors for a store, by the identity of the store."""


@contextmanager
def _working_for(store: Store) -> Iterator[None]:
    with _changed:
        _at_work[id(store)] += 1
    try:
        yield
    finally:
        with _changed:
            _at_work[id(store)] -= 1
            if not _at_work[id(store)]:
                del _at_work[id(store)]
            _changed.notify_all()


def wait_for_workers(store: Store, seconds: float) -> None:
    """Wait until no thread of this process makes vectors for a store, at most so long."""
    with _changed:
        _changed.wait_for(lambda: not _at_work[id(store)], seconds)


class Worker:
    """Embeds the texts in the backlog of one fingerprint.

    With a ``budget``, it embeds one text, which may load the model, and then as many as fit the time that is left.
    """

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        owner: str,
        progress: Callable[[Progress], None] | None = None,
        *,
        seconds: float | None = None,
        budget: Budget | None = None,
    ) -> None:
        self.store = store
        self.embedder = embedder
        self.fingerprint = fingerprint_of(embedder)
        self.owner = owner
        self.progress = progress
        self.seconds = seconds if embedder.is_remote else None
        self.batch = BATCH if seconds is None else HASTY_BATCH
        self.budget = budget
        self._seconds_per_text: float | None = None
        self.embedded = self.cached = self.failed = 0
        self.stopped = ""
        self._left: int | None = None
        self._lock = Lock()
        self._started = time.monotonic()

    def drain(self, *, kinds: Sequence[str] = (), limit: int | None = None, workers: int = 1) -> EmbedReport:
        """Work until the backlog is empty, the limit is reached, or the embedder cannot be used."""
        self._left = limit
        if not self.store.jobs.waiting(self.fingerprint):
            return EmbedReport()
        if self.progress is not None:
            self._total = self.store.jobs.waiting(self.fingerprint, state="pending")
        self._tell()
        with _working_for(self.store):
            try:
                if workers > 1:
                    with ThreadPoolExecutor(workers) as pool:
                        finished = False
                        try:
                            for _ in pool.map(lambda _: self._run(kinds), range(workers)):
                                pass
                            finished = True
                        finally:
                            if not finished:
                                self.stopped = "interrupted"  # the other threads end after the batch they work on
                else:
                    self._run(kinds)
            finally:
                self.store.jobs.release(self.owner)
        seconds = time.monotonic() - self._started
        return EmbedReport(self.embedded, self.cached, self.failed, seconds, self.stopped)

    def _run(self, kinds: Sequence[str]) -> None:
        while not self.stopped:
            started = time.monotonic()
            jobs = next((claimed for kind in kinds or (None,) if (claimed := self._claim(kind)) is not None), None)
            if jobs is None:
                return
            try:
                self._embed(jobs)
            except Unavailable as error:
                self.stopped = _message(error)
            except Error as error:
                self.store.jobs.fail(self.fingerprint, jobs, error.message)
                self.failed += len(jobs)
                if isinstance(error, ContractError):
                    self.stopped = _message(error)
            self._spend(time.monotonic() - started, len(jobs))

    def _spend(self, seconds: float, texts: int) -> None:
        """Take a batch off the budget, unless it was the first, and note how long a text takes."""
        if self.budget is None:
            return
        is_first = self._seconds_per_text is None
        self._seconds_per_text = 0.0 if is_first else seconds / max(texts, 1)
        self.budget.left -= 0.0 if is_first else seconds

    def _batch_size(self) -> int:
        """How many texts to embed at once: with a budget, as many as fit it, by how long the last ones took."""
        if self.budget is None:
            return self.batch
        if self.budget.left <= 0:
            return 0
        if not self._seconds_per_text:
            return 1
        return min(HASTY_BATCH, int(self.budget.left / self._seconds_per_text))

    def _claim(self, kind: str | None) -> list[Job] | None:
        """The next texts to embed; None when there are none left, or as many as were asked for are done."""
        with self._lock:
            size = self._batch_size() if self._left is None else min(self._batch_size(), self._left)
            if size <= 0:
                return None
            jobs = self.store.jobs.claim(self.fingerprint, self.embedder.dimensions, self.owner, size, kind=kind)
            if self._left is not None and jobs is not None:
                self._left -= len(jobs)
            return jobs

    def _embed(self, jobs: Sequence[Job]) -> None:
        known = self.store.jobs.stored_vectors(self.fingerprint, [job.hash for job in jobs])
        texts = {job.hash: job.text for job in jobs if job.hash not in known}
        vectors: npt.NDArray[Any] | list[Any] = []
        if texts:
            vectors = call_plugin(
                lambda: self._vectors(list(texts.values())),
                f"{self.embedder.fingerprint} failed",
                hint="Nothing was stored. Check the embedding settings, then run ‹:embed›.",
            )
            if len(vectors) != len(texts):
                raise ContractError(
                    f"{self.embedder.fingerprint} gave {len(vectors)} vectors for {len(texts)} texts",
                    hint="Nothing was stored. Check the embedding settings, then run ‹:embed›.",
                )
        self.store.jobs.finish(self.fingerprint, jobs, dict(zip(texts, vectors, strict=True)))
        self.embedded += len(texts)
        self.cached += len(jobs) - len(texts)
        self._tell()

    def _vectors(self, texts: list[str]) -> npt.NDArray[Any]:
        if self.seconds is None:
            return self.embedder.embed_documents(texts)
        try:
            return call_within(self.seconds, lambda: self.embedder.embed_documents(texts), "ricordo-vectors")
        except TimeoutError:
            raise Unavailable(
                f"{self.embedder.fingerprint} did not answer within {self.seconds:g} s",
                hint="Run ‹:embed› later.",
            ) from None

    def _tell(self) -> None:
        if self.progress is None:
            return
        done = self.embedded + self.cached
        rate = done / max(time.monotonic() - self._started, 1e-6)
        total = max(self._total, done)
        self.progress(
            Progress(done, total, "found by words already", "embedding", rate, (total - done) / rate if rate else None)
        )


def drain(
    store: Store,
    first: Callable[[], Embedder | None],
    second: Callable[[], Embedder | None],
    owner: str,
    *,
    progress: Callable[[Progress], None] | None = None,
    backlog: Backlog | None = None,
    abroad: Callable[[], Embedder | None] = lambda: None,
    whole: bool = False,
    seconds: float | None = None,
    budget: Budget | None = None,
    **options: Any,
) -> EmbedReport:
    """Embed the backlog with the first embedder; if that cannot be used, the second makes vectors of its own.

    Vectors of the second do not replace those of the first: its texts keep waiting. The second embeds what the first
    left, or with ``whole`` everything that has no vector of the second yet. ``abroad`` embeds what waits for the
    second model of the ``backlog``: texts in other languages. An embedder that takes longer than ``seconds`` for a few
    texts is given up. What does not fit the ``budget`` keeps waiting.
    """
    waits_for = ""
    try:
        embedder = first()
        if embedder is None:
            return EmbedReport()
        worker = Worker(store, embedder, owner, progress, seconds=seconds, budget=budget)
        waits_for = worker.fingerprint
        store.jobs.adopt(backlog or Backlog(worker.fingerprint, embedder.dimensions))
        report = worker.drain(**options)
        if backlog is not None and backlog.second is not None and not report.stopped:
            # The model for other languages is not loaded where nothing waits for it.
            other = abroad()
            try:
                more = EmbedReport()
                if other is not None:
                    more = Worker(store, other, owner, progress, seconds=seconds, budget=budget).drain(**options)
            except Unavailable as error:
                more = EmbedReport(stopped=_message(error))
            names = ("embedded", "cached", "failed", "seconds", "stopped")
            report = replace(report, **{name: getattr(report, name) + getattr(more, name) for name in names})
    except Unavailable as error:  # it could not even give its fingerprint
        report = EmbedReport(stopped=_message(error))
    if not report.stopped:
        return report
    try:
        stand_in = second()
        if stand_in is None:
            return report
        done = _stand_in(
            store, Worker(store, stand_in, owner, progress, seconds=seconds), "" if whole else waits_for, options
        )
    except (Unavailable, ContractError) as error:
        done = EmbedReport(stopped=_message(error))
    made = done.embedded + done.cached
    also = f"The fallback fails too: {done.stopped}" if done.stopped else f"Until then, {made} have the fallback's."
    return replace(report, stopped=f"{report.stopped} {also}", fallback=made)


def _stand_in(store: Store, worker: Worker, waits_for: str, options: dict[str, Any]) -> EmbedReport:
    dimensions = worker.embedder.dimensions
    if waits_for:
        store.jobs.enqueue_waiting(waits_for, worker.fingerprint, dimensions)
    else:
        store.jobs.enqueue_missing(worker.fingerprint, dimensions)
    try:
        return worker.drain(**options)
    finally:
        # Only the backlog of the first embedder is kept; this one is made again when it is needed.
        store.jobs.drop_waiting(worker.fingerprint)


def _message(error: Error) -> str:
    return f"{error.message}. {error.hint}".strip()
