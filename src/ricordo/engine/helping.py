"""The process of a helper: it prepares texts that another process adds (``ingest.helpers`` starts it)."""

from __future__ import annotations

import gc
import pickle
import signal
import threading

from ricordo import registry
from ricordo.ingest.parse import wire
from ricordo.ingest.parse.worker import Life, take_over_pipes
from ricordo.ingest.preparing import Preparer
from ricordo.text.words import Analyzer


def main() -> None:
    """Prepare units until the parent closes the pipe, dies, or has none for a minute."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.disable()  # nothing here refers to itself, and looking for it takes a tenth of the time
    questions, answers = take_over_pipes()
    life = Life()
    threading.Thread(target=life.watch, daemon=True).start()
    words, preparer = None, Preparer(Analyzer(), registry.token_counter())
    wire.send(answers, {"ready": True})
    while True:
        try:
            header, body = wire.receive(questions)
        except EOFError:
            return
        life.busy = True
        if header["words"] != words:  # of another store: that one does not know the words which were met before
            words, preparer = header["words"], Preparer(Analyzer(header["language"]), registry.token_counter())
        found = preparer.unit(pickle.loads(body))
        try:
            wire.send(answers, {}, pickle.dumps((found, preparer.analyzer.forget_stemmed()), pickle.HIGHEST_PROTOCOL))
        except OSError:
            return
        life.rest()
