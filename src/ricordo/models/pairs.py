"""The model that reads two sentences together and says what they are to each other.

It is the sentence model with a little that was trained on pairs (``tools/train_reader.py``): ``pairs.onnx`` holds that,
and finds the rest in ``model.onnx`` beside it. It reads a pair in the time of embedding one text of their length.
"""

from __future__ import annotations

import logging
import threading
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ricordo.errors import Unavailable
from ricordo.models.local_onnx import REINSTALL, SHIPPED, session_options, shipped_counter
from ricordo.models.onnx import load_session, run_session

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

LONGEST = 72
"""Tokens of both sentences; the longer one is cut at its end."""

log = logging.getLogger("ricordo.models")


class PairReader:
    """Reads pairs; the model is loaded at the first one."""

    def __init__(self, folder: Path = SHIPPED) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._loaded: InferenceSession | None = None

    def read(self, older: str, newer: str) -> tuple[float, ...]:
        """The sums that speak for each relation, in the order of ``memory.compare.RELATIONS``."""
        import numpy as np

        (start, *first, end), (_, *second, _) = shipped_counter().ids([older, newer])
        while len(first) + len(second) + 3 > LONGEST:
            (first if len(first) > len(second) else second).pop()
        tokens = [start, *first, end, *second, end]
        is_second = [0.0] * (len(first) + 2) + [1.0] * (len(second) + 1)
        inputs = {"input_ids": np.array([tokens], np.int64), "is_second": np.array([is_second], np.float32)}
        [sums] = run_session(self._load(), inputs, "the model for pairs", hint="Run ‹:doctor›.")
        return tuple(map(float, sums[0]))

    def _load(self) -> InferenceSession:
        if self._loaded is None:
            with self._lock:
                if self._loaded is None:
                    file = self._folder / "pairs.onnx"
                    self._loaded = load_session(file, session_options(), hint=REINSTALL)
        return self._loaded


@cache
def shipped_reader() -> PairReader:
    """The one that all parts of a process share."""
    return PairReader()


def reading(older: str, newer: str) -> tuple[float, ...] | None:
    """What the shipped model reads; None if it cannot be loaded, so that a save never fails for want of it."""
    try:
        return shipped_reader().read(older, newer)
    except Unavailable as error:
        log.warning("pairs are compared by their words: %s", error)
        return None
