"""Makes the vectors of an engine's backlog in a thread of its own, for programs that do not wait for them."""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable

from ricordo.errors import Error
from ricordo.log import report


class BacklogThread:
    """A thread that makes the vectors of what was written or taken in, after the answer; the first call starts it.

    It ends before the interpreter does, so that none of its calls into native code is cut off.
    """

    def __init__(self, embed_some: Callable[[], bool]) -> None:
        """``embed_some`` makes some vectors of the backlog, and says whether there may be more to make."""
        self._embed_some = embed_some
        self._wanted = threading.Event()
        self._ending = False
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def wake(self) -> None:
        with self._lock:
            if self._thread is None and not self._ending:
                self._thread = threading.Thread(target=self._work, name="ricordo-backlog", daemon=True)
                self._thread.start()
                atexit.register(self.stop)
        self._wanted.set()

    def stop(self, seconds: float = 2.0) -> None:
        """End after the current batch; the rest stays in the backlog."""
        with self._lock:
            self._ending = True
            thread = self._thread
        self._wanted.set()
        if thread is not None:
            thread.join(seconds)
            atexit.unregister(self.stop)

    def _work(self) -> None:
        while True:
            self._wanted.wait()
            self._wanted.clear()
            if self._ending:
                return
            try:
                while not self._ending and self._embed_some():
                    pass
            except Error as error:
                report(f"vectors stay in the backlog: {error}")
            except Exception as error:  # noqa: BLE001 - a bug must not end the thread; the texts stay in the backlog
                report("vectors stay in the backlog", error)
