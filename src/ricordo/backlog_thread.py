"""Works off what waits, such as vectors that are to be made, in a thread of its own, while nobody waits for it."""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable

from ricordo.errors import Error
from ricordo.log import report


class BacklogThread:
    """A thread that does some of the work whenever it is told that there may be any; the first call starts it.

    It ends before the interpreter does, so that none of its calls into native code is cut off.
    """

    def __init__(
        self,
        work: Callable[[], object],
        *,
        name: str = "ricordo-backlog",
        problem: str = "vectors stay in the backlog",
    ) -> None:
        """``work`` does some of it, and says whether there may be more; ``problem`` says what it means if it fails."""
        self._work = work
        self._name = name
        self._problem = problem
        self._wanted = threading.Event()
        self._ending = False
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def wake(self) -> None:
        if threading.current_thread() is self._thread:
            return  # it looks for more by itself
        with self._lock:
            if self._thread is None and not self._ending:
                self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                self._thread.start()
                atexit.register(self.stop)
        self._wanted.set()

    def stop(self, seconds: float | None = 2.0) -> None:
        """End after what is being done now; the rest waits."""
        with self._lock:
            self._ending = True
            thread = self._thread
        self._wanted.set()
        if thread is not None:
            thread.join(seconds)
            atexit.unregister(self.stop)

    def _run(self) -> None:
        while True:
            self._wanted.wait()
            self._wanted.clear()
            if self._ending:
                return
            try:
                while not self._ending and self._work():
                    pass
            except Error as error:
                report(f"{self._problem}: {error}")
            except Exception as error:  # noqa: BLE001 - a bug must not end the thread
                report(self._problem, error)
