"""Many clients at once, and a client far from its server."""

from __future__ import annotations

import multiprocessing
import socket
import statistics
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Any
from urllib.parse import urlsplit

from ricordo import Ricordo
from ricordo.plugins.postgres.address import parse
from ricordo.plugins.postgres.store import PostgresStore
from ricordo.store.query import Ask, AskedWord, QueryVector
from ricordo.values.items import Ref
from team.passages import Passages, item

DELAY_SECONDS = 0.02


def writers_beside_searchers(address: str, passages: Passages, seconds: float) -> dict[str, Any]:
    """Eight clients write while eight search; every acknowledged write must be there afterwards."""
    _ = passages.query_vectors
    until = time.monotonic() + seconds
    errors: list[str] = []
    written: list[str] = []
    searched: list[float] = []
    run = uuid.uuid4().hex[:6]

    def work(number: int, *, writes: bool) -> None:
        store = PostgresStore(parse(address), connections=2)
        try:
            turn = number
            while time.monotonic() < until:
                turn += 1
                if writes:
                    ref = Ref("memory", f"/{run}-{number}-{turn}")
                    store.changes.save([item(ref, f"Text {turn} of writer {number}.", store.analyzer)])
                    written.append(str(ref))
                else:
                    started = time.monotonic()
                    question = turn % len(passages.questions)
                    words = tuple(map(AskedWord, store.analyzer.query_terms(passages.questions[question])))
                    vector = QueryVector(passages.fingerprint, passages.query_vectors[question])
                    store.index.candidates(Ask(words=words, vector=vector, per_side=50))
                    searched.append(1000 * (time.monotonic() - started))
        except Exception as error:  # noqa: BLE001 - whatever goes wrong is what is measured
            errors.append(repr(error))
        finally:
            store.close()

    threads = [threading.Thread(target=work, args=(n,), kwargs={"writes": n % 2 == 0}) for n in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    store = PostgresStore(parse(address))
    known = {str(ref) for _, ref, _ in store.items.refs_below("memory", "")}
    store.close()
    return {
        "seconds": seconds, "writes": len(written), "searches": len(searched),
        "search p50_ms": round(statistics.median(searched), 1) if searched else None,
        "errors": len(errors), "first error": errors[:1], "lost": len(set(written) - known),
    }  # fmt: skip


def behind_a_slow_network(dsn: str, address: str, passages: Passages) -> dict[str, Any]:
    """Whole searches of an engine, beside the server and behind a proxy that lets every answer wait, in turn."""
    parts = urlsplit(dsn)
    place = f"@{parts.hostname}" + (f":{parts.port}" if parts.port else "")
    questions = passages.questions[:30]
    near: list[float] = []
    far: list[float] = []
    trips: list[int] = []
    server = parts.hostname or "127.0.0.1", parts.port or 5432
    with (
        slow_network(*server, DELAY_SECONDS) as port,
        Ricordo.open(address) as here,
        Ricordo.open(address.replace(place, f"@127.0.0.1:{port}")) as there,
    ):
        for question in questions:  # once before, so that the second is not faster because it is the second
            for engine in (here, there):
                engine.search(question, track=False)
        for question in questions:
            for engine, times in ((here, near), (there, far)):
                started = time.perf_counter()
                before = _trips(engine)
                answer = engine.search(question, track=False)
                times.append(1000 * (time.perf_counter() - started))
                trips.append(_trips(engine) - before)
                assert answer.hits, question
                assert not answer.meta.degraded, answer.meta.degraded
    added = [b - a for a, b in zip(near, far, strict=True)]
    return {
        "near p50_ms": round(statistics.median(near), 1), "far p50_ms": round(statistics.median(far), 1),
        "added p50_ms": round(statistics.median(added), 1), "added max_ms": round(max(added), 1),
        "trips at most": max(trips),
    }  # fmt: skip


def _trips(engine: Ricordo) -> int:
    store = engine._context.unsynced_store
    assert isinstance(store, PostgresStore)
    return store.database.trips


@contextmanager
def slow_network(host: str, port: int, seconds: float) -> Iterator[int]:
    """A proxy that lets every answer wait, in a process of its own; gives its port."""
    spawning = multiprocessing.get_context("spawn")
    ours, theirs = spawning.Pipe()
    process = spawning.Process(target=_serve, args=(host, port, seconds, theirs), daemon=True)
    process.start()
    yield ours.recv()
    process.terminate()


def _serve(host: str, port: int, seconds: float, told: Any) -> None:
    network = SlowNetwork(host, port, seconds)
    told.send(network.port)
    threading.Event().wait()


class SlowNetwork:
    """A proxy that lets every answer wait."""

    def __init__(self, host: str, port: int, seconds: float) -> None:
        self.target, self.seconds = (host, port), seconds
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.port = self.listening.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            client, _ = self.listening.accept()
            server = socket.create_connection(self.target)
            for end in (client, server):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # else the kernel waits for more to send
            threading.Thread(target=self._pass, args=(client, server, 0.0), daemon=True).start()
            threading.Thread(target=self._pass, args=(server, client, self.seconds), daemon=True).start()

    def _pass(self, source: socket.socket, sink: socket.socket, wait: float) -> None:
        """Pass bytes on, each ``wait`` seconds after it came: late, but as fast as it came."""
        waiting: SimpleQueue[tuple[float, bytes]] = SimpleQueue()

        def send() -> None:
            while (held := waiting.get())[1]:
                time.sleep(max(0.0, held[0] - time.monotonic()))
                sink.sendall(held[1])
            sink.close()

        threading.Thread(target=send, daemon=True).start()
        while data := source.recv(1 << 20):
            waiting.put((time.monotonic() + wait, data))
        waiting.put((0.0, b""))
