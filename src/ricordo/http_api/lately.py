"""Which questions a browser asked lately, so that going back to one, or pressing Enter after typing it, is not recorded
as another.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict

LATELY_SECONDS = 3600.0
MOST = 2000


class Lately:
    """The questions of the last hour, by who asked them."""

    def __init__(self, seconds: float = LATELY_SECONDS) -> None:
        self._seconds = seconds
        self._asked: OrderedDict[tuple[str, str], float] = OrderedDict()
        self._lock = threading.Lock()

    def is_new(self, caller: str, question: str) -> bool:
        """Whether a caller asks this for the first time lately; it counts as asked from now on."""
        key, now = (caller, question.strip().casefold()), time.monotonic()
        with self._lock:
            before = self._asked.pop(key, None)
            self._asked[key] = now
            while len(self._asked) > MOST:
                self._asked.popitem(last=False)
        return before is None or now - before > self._seconds
