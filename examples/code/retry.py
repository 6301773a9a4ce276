"""Call a flaky service again, with growing pauses."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")


def retry_with_backoff(call: Callable[[], Result], *, attempts: int = 4, first_pause: float = 0.2) -> Result:
    """The answer of ``call``, which may fail with ``ConnectionError`` a few times before it succeeds.

    Pauses double and are jittered, so that many clients do not come back at the same moment.
    """
    pause = first_pause
    for _ in range(attempts - 1):
        try:
            return call()
        except ConnectionError:
            time.sleep(pause * random.uniform(0.5, 1.5))
            pause *= 2
    return call()
