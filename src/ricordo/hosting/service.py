"""One store for a server, opened at the first call with the settings as they are now, and the threads of its calls.

Any number of threads may use it at once.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TYPE_CHECKING, TypeVar

from ricordo.backlog_thread import BacklogThread
from ricordo.errors import UsageError

if TYPE_CHECKING:
    import anyio

    from ricordo.config.loading import Config
    from ricordo.engine.ricordo import Ricordo


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
        if self._config is None:
            from ricordo.config.loading import ConfigProvider

            self._config = ConfigProvider()
        return self._config()

    @property
    def is_open(self) -> bool:
        """Whether the store is open, so that an answer does not wait for that."""
        return self._engine is not None

    def engine(self) -> Ricordo:
        """The engine, opened at the first call; if opening fails, the next call tries again."""
        with self._opening:
            if self._engine is None:
                if self._closed:
                    raise UsageError("the server is shutting down", hint="Start it again.")
                from ricordo.engine.ricordo import Ricordo

                self.settings()
                store, tier = self.where
                self._engine = Ricordo.open(store, config=self._config, tier=tier)
            return self._engine

    def _embed_some(self) -> bool:
        from ricordo.engine.context import embed_some
        from ricordo.plugin import ask

        ask("work_done", self.engine(), now_and_then=True)
        return embed_some(self.engine())

    def wake(self) -> None:
        """Say that texts may wait for their vectors."""
        self._backlog.wake()

    def close(self) -> None:
        self._backlog.stop()
        with self._opening:
            self._closed = True
            engine, self._engine = self._engine, None
        if engine is not None:
            engine.close()


AT_ONCE = 16
"""How many calls run at the same time; others wait, and the wait counts against their time limit."""
THREADS = 48
"""More than run at once, because a call that timed out keeps its thread until its work ends."""
LOOKS_EVERY = 0.02
"""Seconds between two looks at whether calls still run."""

T = TypeVar("T")


class CallThreads:
    """A pool of threads. They are kept between calls, because each has its own connection to the store."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="ricordo-call")
        self._room: anyio.CapacityLimiter | None = None
        self._lock = threading.Lock()
        self._working = 0

    @property
    def busy(self) -> bool:
        """Whether any work is still running, including work whose caller stopped waiting."""
        return self._working > 0

    async def run(self, work: Callable[[], T], seconds: float) -> T:
        """The result of the work, which has the caller's context. After ``seconds`` it raises ``TimeoutError``, and the
        work runs on in its thread.
        """
        import asyncio  # a server over standard input does without

        import anyio

        if self._room is None:
            self._room = anyio.CapacityLimiter(AT_ONCE)
        with anyio.fail_after(seconds):
            async with self._room:
                return await asyncio.wrap_future(self._pool.submit(copy_context().run, self._counted, work))

    async def when_free(self, seconds: float) -> None:
        """Wait until no other call runs, at most so long: for work that can wait while somebody waits for a page."""
        import anyio

        with anyio.move_on_after(seconds):
            while self.busy:
                await anyio.sleep(LOOKS_EVERY)

    def _counted(self, work: Callable[[], T]) -> T:
        with self._lock:
            self._working += 1
        try:
            return work()
        finally:
            with self._lock:
                self._working -= 1

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)


def leave(*, is_busy: bool) -> None:
    """End the process even if a call, a read of an input that stays open, or a working model never returns.

    Daemon threads count, too: unloading a model that one of them still uses can keep the interpreter from ending.
    """
    others = [thread for thread in threading.enumerate() if thread is not threading.main_thread()]
    if is_busy or any(not thread.name.startswith("ricordo-call") for thread in others):
        sys.stderr.flush()
        os._exit(0)
