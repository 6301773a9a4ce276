"""Records the use of items after the answer was given, so that it never delays an answer.

Records wait in memory until a thread writes them; the thread starts when there is something to write and ends when
nothing is left. If writing fails, the record is lost, but never the answer.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from ricordo.config.settings import UsageSettings
from ricordo.errors import Unavailable
from ricordo.log import report
from ricordo.speaking import asker
from ricordo.store.base import Store
from ricordo.values.hits import Answer
from ricordo.values.items import Item

if TYPE_CHECKING:
    from ricordo.values.use import Use

LINGER_SECONDS = 0.1
"""How long the thread waits for more before it writes, so that quick searches share one transaction."""

CLOSE_SECONDS = 2.0
"""How long closing waits for what is still to be written."""

ATTEMPT_SECONDS = 0.5
"""How long one attempt waits for another process that holds the store; short, so that closing is not held up."""

ATTEMPTS = 20
KEEP_DAYS = 90.0
"""Older entries of the log are dropped."""
MOST_WAITING = 10_000
"""If more records wait, new ones are dropped, because the store has been busy for very long."""


class Tracker:
    """Remembers the use of one store's items."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._lock = threading.Lock()
        self._waiting: list[Use] = []
        self._thread: threading.Thread | None = None
        self._hurry = threading.Event()
        self._last_attempt: float | None = None

    def searched(self, answer: Answer, *, text: str, tool: str, settings: UsageSettings, opened: bool = False) -> None:
        """Note what a search found; ``opened`` if its profile counts being found as being opened."""
        from ricordo.values.use import Use, UsedItem

        items = tuple(UsedItem(hit.id, hit.version, hit.score) for hit in answer.hits)
        refs = tuple(hit.ref for hit in answer.hits)
        meta = answer.meta
        self._record(
            Use(items, tool, text, meta.profile, meta.milliseconds, refs, opened, settings.log, asker(), meta.fit)
        )

    def opened(self, item: Item, *, settings: UsageSettings) -> None:
        """Note that an item was opened by its name."""
        from ricordo.values.use import Use, UsedItem

        self._record(Use((UsedItem(item.id, item.version),), "get", opened=True, logged=settings.log, asker=asker()))

    def flush(self, seconds: float = CLOSE_SECONDS) -> bool:
        """Wait until all is written; returns whether it is."""
        with self._lock:
            thread = self._thread
            if thread is not None:
                self._hurry.set()
        if thread is not None:
            thread.join(seconds)
        return thread is None or not thread.is_alive()

    def close(self) -> None:
        """Write what is left, within a time limit; no records are taken after this."""
        with self._lock:
            self._last_attempt = time.monotonic() + CLOSE_SECONDS - 2 * ATTEMPT_SECONDS
        self.flush()

    def _record(self, use: Use) -> None:
        if not self.store.usage.can_record():
            return
        with self._lock:
            if self._last_attempt is not None or len(self._waiting) >= MOST_WAITING:
                return
            self._waiting.append(use)
            if self._thread is None:
                self._hurry.clear()
                self._thread = threading.Thread(target=self._work, name="ricordo-usage", daemon=True)
                self._thread.start()

    def _work(self) -> None:
        while True:
            self._hurry.wait(LINGER_SECONDS)
            with self._lock:
                batch, self._waiting = self._waiting, []
                if not batch:
                    self._thread = None
                    return
            try:
                self._write(batch)
            except Exception as error:  # noqa: BLE001 - the end of the thread: a lost record must not fail a search
                report(f"{len(batch)} uses were not recorded", error)

    def _write(self, batch: list[Use]) -> None:
        for attempt in range(1, ATTEMPTS + 1):
            try:
                self.store.usage.record(batch, keep_days=KEEP_DAYS, wait=ATTEMPT_SECONDS)
                return
            except Unavailable:
                if attempt == ATTEMPTS or self._is_too_late():
                    raise

    def _is_too_late(self) -> bool:
        return self._last_attempt is not None and time.monotonic() > self._last_attempt
