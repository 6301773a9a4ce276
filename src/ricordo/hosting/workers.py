"""Processes beside the server that answer searches, each with the store and the model open, so that several are
answered at a time: threads of one process take turns.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ricordo.errors import Error
from ricordo.hosting.service import Service
from ricordo.permissions import asked_with, asking_scope
from ricordo.speaking import request_speaker, speaking
from ricordo.values.provenance import NOBODY, Provenance
from ricordo.verbs.index import verb_named
from ricordo.verbs.rows import call, plain_answer, to_json

if TYPE_CHECKING:
    from multiprocessing.process import BaseProcess

SHARED_OUT = ("search", "context")
"""The verbs that workers answer: they take long, and leave nothing behind in the process."""

_service: Service | None = None
"""The store of a worker, in its process."""


class Workers:
    """So many processes on a store; they end with this one, however it ends."""

    def __init__(self, count: int, store: str | None = None, tier: str | None = None) -> None:
        from multiprocessing import get_context

        # Not forked: threads, connections and the model would not survive it.
        spawn = get_context("spawn")
        self._pool = ProcessPoolExecutor(count, mp_context=spawn, initializer=_open, initargs=(store, tier))
        for _ in range(count):
            self._pool.submit(_load)

    def answer(self, path: str, given: Mapping[str, Any]) -> Future[bytes]:
        """What a verb answers, as JSON, for whoever asks now."""
        return self._pool.submit(_answer, path, dict(given), asking_scope(), request_speaker() or NOBODY)

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)


def _open(store: str | None, tier: str | None) -> None:
    """The first thing that a worker does."""
    from multiprocessing import parent_process

    global _service
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all; the server ends its workers when it is done
    parent = parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent,), name="ricordo-parent", daemon=True).start()
    _service = Service(store=store, tier=tier)


def _end_with(parent: BaseProcess) -> None:
    parent.join()
    os._exit(0)


def _load() -> None:
    """Open the store and load the model before somebody waits for them. What fails is told at the first search."""
    with suppress(Error):
        _opened().engine().search("a", track=False)


def _opened() -> Service:
    assert _service is not None, "_open was not called"
    return _service


def _answer(path: str, given: Mapping[str, Any], scope: str, record: Provenance) -> bytes:
    row = verb_named(path)
    with asked_with(scope), speaking(record):
        return to_json(plain_answer(row, call(_opened().engine(), row, given)))
