"""Whole searches of an engine, on the server and in a file that holds the same, and the plain way."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from ricordo import Ricordo
from ricordo.store.sqlite.store import SqliteStore
from ricordo.store.values import Backlog
from team import sides
from team.passages import Passages
from timing import summary


def beside_the_file(server: sides.Ricordo, plain: sides.Plain | None, passages: Passages, file: Path) -> dict[str, Any]:
    """Every question to all in turn, from a process that asked it before; and to how many both answer the same.

    The plain way, unless it is left out, only finds candidates; nobody ranks them together, and no text is read.
    """
    _fill(file, passages)
    times: dict[str, list[float]] = {"file": [], "server": [], "server after a write": [], "plain": []}
    same, questions = 0, passages.questions
    with Ricordo.open(str(file)) as there, Ricordo.open(server.address) as here:
        for number, question in enumerate(questions):
            there.search(question, track=False)
            here.search(question, track=False)
            if plain is not None:
                plain.ask(number)
        for number, question in enumerate(questions):
            if plain is not None:
                started = time.perf_counter()
                plain.ask(number)
                times["plain"].append(1000 * (time.perf_counter() - started))
            answers = []
            for name, engine in (("file", there), ("server", here)):
                started = time.perf_counter()
                answers.append(engine.search(question, track=False))
                times[name].append(1000 * (time.perf_counter() - started))
            same += [hit.ref for hit in answers[0].hits] == [hit.ref for hit in answers[1].hits]
        for turn, question in enumerate(questions[:20]):
            text = f"Text {turn} of the bench, {time.time()}."  # a new one in each run, else nothing is written
            here.save(f"memory:/bench-{turn}", text, on_conflict="overwrite", wait=False)
            started = time.perf_counter()
            here.search(question, track=False)
            times["server after a write"].append(1000 * (time.perf_counter() - started))
    report: dict[str, Any] = {name: summary(taken) for name, taken in times.items() if taken}
    report["server / file at p50"] = round(report["server"]["p50_ms"] / report["file"]["p50_ms"], 2)
    if plain is not None:
        report["plain / server at p50"] = round(report["plain"]["p50_ms"] / report["server"]["p50_ms"], 2)
    report["server p95 / p50"] = round(report["server"]["p95_ms"] / report["server"]["p50_ms"], 2)
    report["questions with the same page"] = f"{same} of {len(questions)}"
    return report


def _fill(file: Path, passages: Passages) -> None:
    store = SqliteStore(file)
    backlog = Backlog(passages.fingerprint, passages.vectors.shape[1])
    for start in range(store.counts()["items"] // sides.BATCH * sides.BATCH, passages.count, sides.BATCH):
        store.changes.save(list(passages.prepared(start, start + sides.BATCH, store.analyzer)), backlog=backlog)
    sides.embed(store, passages)
    store.vectors.activate(passages.fingerprint)
    store.maintain()
    store.close()
