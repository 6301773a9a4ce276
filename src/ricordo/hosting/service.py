"""One store for a server: opened at the first call, with the settings as they are now, and vectors made afterwards.

Any number of threads may use it at once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from ricordo.errors import Error, UsageError
from ricordo.log import report

if TYPE_CHECKING:
    from ricordo.config.loading import Config
    from ricordo.engine import Ricordo

EMBEDDED_AT_ONCE = 64
"""How many texts of the backlog are embedded before the thread checks whether it should stop."""


class Service:
    """A store that is opened when it is first needed, and the thread that works on its backlog."""

    def __init__(
        self, *, store: str | None = None, tier: str | None = None, config: Callable[[], Config] | None = None
    ) -> None:
        self.where = (store, tier)
        self._config = config
        self._engine: Ricordo | None = None
        self._opening = threading.Lock()
        self._closed = False
        self._backlog = BacklogThread(self.engine)

    def settings(self) -> Config:
        """The settings in force now."""
        if self._config is None:
            from ricordo.config.loading import ConfigProvider

            self._config = ConfigProvider()
        return self._config()

    def engine(self) -> Ricordo:
        """The engine, opened at the first call; if opening fails, the next call tries again."""
        with self._opening:
            if self._engine is None:
                if self._closed:
                    raise UsageError("the server is shutting down", hint="Start it again.")
                from ricordo.engine import Ricordo

                self.settings()
                store, tier = self.where
                self._engine = Ricordo.open(store, config=self._config, tier=tier)
            return self._engine

    def wake(self) -> None:
        """Say that texts may wait for their vectors."""
        self._backlog.wake()

    def close(self) -> None:
        """Close the store, if it was opened."""
        self._backlog.stop()
        with self._opening:
            self._closed = True
            engine, self._engine = self._engine, None
        if engine is not None:
            engine.close()


class BacklogThread:
    """A thread that makes the vectors of what was written or taken in, after the answer; the first call starts it."""

    def __init__(self, engine: Callable[[], Ricordo]) -> None:
        self._engine = engine
        self._wanted = threading.Event()
        self._ending = False
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def wake(self) -> None:
        """Tell the thread that there may be texts to embed."""
        with self._lock:
            if self._thread is None and not self._ending:
                self._thread = threading.Thread(target=self._work, name="ricordo-backlog", daemon=True)
                self._thread.start()
        self._wanted.set()

    def stop(self, seconds: float = 2.0) -> None:
        """End after the current batch; the rest stays in the backlog."""
        with self._lock:
            self._ending = True
            thread = self._thread
        self._wanted.set()
        if thread is not None:
            thread.join(seconds)

    def _work(self) -> None:
        while True:
            self._wanted.wait()
            self._wanted.clear()
            if self._ending:
                return
            try:
                self._drain()
            except Error as error:
                report(f"vectors stay in the backlog: {error}")
            except Exception as error:  # noqa: BLE001 - a bug must not end the thread; the texts stay in the backlog
                report("vectors stay in the backlog", error)

    def _drain(self) -> None:
        from ricordo.engine.lending import embed_waiting_texts

        engine = self._engine()
        if engine.config.embedding.provider == "none":
            return
        while not self._ending and embed_waiting_texts(engine, at_most=0):
            done = engine.embed(limit=EMBEDDED_AT_ONCE, search_missing=False)
            if done.stopped or not done.embedded + done.cached:
                return
