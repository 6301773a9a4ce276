"""One store for a server: opened at the first call, with the settings as they are now, and vectors made afterwards.

Any number of threads may use it at once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from ricordo.backlog_thread import BacklogThread
from ricordo.errors import UsageError

if TYPE_CHECKING:
    from ricordo.config.loading import Config
    from ricordo.engine import Ricordo


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
        self._backlog = BacklogThread(self._embed_some)

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

    def _embed_some(self) -> bool:
        from ricordo.engine.lending import embed_some, sync_now_and_then

        sync_now_and_then(self.engine())
        return embed_some(self.engine())

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
