"""Eight clients write to a team's store while eight search it, and the server is restarted in the middle.

Every client is a store of its own. A call that fails is tried once more, after the server answers again; a second
failure is an error. At the end every write that was acknowledged must be there, once, and be found by its words.

    python faults/team.py postgresql://ann@localhost/team --seconds 300 --restart 'pg_ctl restart -m fast -D DATA'

With ``--rounds``, processes remember texts through a proxy, and in each round one of three things happens: a process is
killed with SIGKILL in the middle of what it does, the proxy cuts all connections, or the server is restarted. At the
end every text that was acknowledged must be there, and no item may be half-written, acknowledged or not: it has its
whole text, its words are in the index, and its vector is there or waits to be made.

    python faults/team.py postgresql://ann@localhost/team --rounds 300 --restart 'pg_ctl restart -m immediate -D DATA'
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import socket
import subprocess
import tempfile
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ricordo import Ricordo
from ricordo.errors import Error, PathConflict, Unavailable
from ricordo.plugins.postgres.address import parse
from ricordo.plugins.postgres.store import PostgresStore
from ricordo.store.prepare import prepare
from ricordo.store.query import Ask, AskedWord
from ricordo.store.values import PreparedItem
from ricordo.text.words import Analyzer
from ricordo.values.items import Draft, Fields, Passage, Ref

CLIENTS = 8
PATIENCE = 600.0
"""So long a client waits for a server that restarts, in seconds."""


def note(ref: str, text: str) -> PreparedItem:
    """A note of one passage, ready to be written."""
    draft = Draft(Ref.parse(ref), "note", text, Fields(), passages=(Passage(0, len(text)),))
    return prepare(draft, Analyzer("english"), prefixes=[""], lines=[(1, 1)])


class Clients:
    """Writers and readers of one store, and what they saw."""

    def __init__(self, address: str, tries: int = 2) -> None:
        self.address = address
        self.tries = tries
        self.run = uuid.uuid4().hex[:8]
        self.over = threading.Event()
        self.up = threading.Event()
        self.up.set()
        self.written: list[str] = []
        self.searched = 0
        self.calls = [0] * (2 * CLIENTS)
        self.again = 0
        self.errors: list[str] = []
        self._lock = threading.Lock()

    def work(self, seconds: float, restart: Callable[[], None]) -> dict[str, Any]:
        """Let all of them work, with a restart after half the time; returns what is to be told."""
        threads = [threading.Thread(target=self._client, args=(n,)) for n in range(2 * CLIENTS)]
        for thread in threads:
            thread.start()
        try:
            self._all_at_work(threads)
            time.sleep(seconds / 2)
            self.up.clear()
            restart()
            self.up.set()
            self._all_at_work(threads)
            time.sleep(seconds / 2)
        finally:
            self.over.set()
            self.up.set()
            for thread in threads:
                thread.join()
        return self._report(seconds)

    def _all_at_work(self, threads: list[threading.Thread]) -> None:
        """Wait until every client has finished a call from now on, or ended."""
        before = list(self.calls)
        while any(
            thread.is_alive() and self.calls[number] < before[number] + 2 for number, thread in enumerate(threads)
        ):
            time.sleep(0.05)

    def _client(self, number: int) -> None:
        store = PostgresStore(parse(self.address), connections=2)
        turn = 0
        try:
            while not self.over.is_set():
                turn += 1
                self._tried(store, number, turn)
                self.calls[number] += 1
        except Error as error:
            self.errors.append(repr(error))
        finally:
            store.close()

    def _tried(self, store: PostgresStore, number: int, turn: int) -> None:
        call = self._write if number % 2 else self._search
        for left in reversed(range(self.tries)):
            try:
                call(store, number, turn)
                return
            except Unavailable:
                if not left:
                    raise
                with self._lock:
                    self.again += 1
                self.up.wait(PATIENCE)

    def _write(self, store: PostgresStore, number: int, turn: int) -> None:
        ref = f"note:/{self.run}/{number}/{turn}"
        if store.items.number(Ref.parse(ref)) is None:  # a lost answer does not say whether it was saved
            store.changes.save([note(ref, f"Text {turn} of writer w{self.run}{number}.")])
        with self._lock:
            self.written.append(ref)

    def _search(self, store: PostgresStore, number: int, turn: int) -> None:
        store.index.candidates(Ask(words=(AskedWord("text"), AskedWord("writer"))))
        with self._lock:
            self.searched += 1

    def _report(self, seconds: float) -> dict[str, Any]:
        store = PostgresStore(parse(self.address))
        try:
            kept = Counter(str(ref) for _, ref, _ in store.items.refs_below("note", f"/{self.run}/"))
            found = 0
            for number in range(1, 2 * CLIENTS, 2):
                words = (AskedWord(f"w{self.run}{number}"),)
                found += store.index.candidates(Ask(words=words, per_side=1)).total
            problems = [check(False) for _, check in store.checks()]
        finally:
            store.close()
        return {
            "seconds": seconds, "writes": len(self.written), "searches": self.searched, "tried again": self.again,
            "errors": self.errors, "lost": len(set(self.written) - set(kept)),
            "twice": sum(count > 1 for count in kept.values()), "found by their words": found, "kept": len(kept),
            "doctor": [check.detail for check in problems if not check.ok],
        }  # fmt: skip


class Proxy:
    """Passes connections on to the server of an address, until it cuts them."""

    def __init__(self, address: str) -> None:
        place = urlsplit(address)
        self.target = place.hostname or "localhost", place.port or 5432
        self.listening = socket.create_server(("127.0.0.1", 0))
        user, _, _ = place.netloc.rpartition("@")
        self.address = place._replace(netloc=f"{user}@127.0.0.1:{self.listening.getsockname()[1]}").geturl()
        self.open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            client, _ = self.listening.accept()
            try:
                server = socket.create_connection(self.target)
            except OSError:  # it restarts
                client.close()
                continue
            self.open += [client, server]
            for ends in ((client, server), (server, client)):
                threading.Thread(target=self._pass_on, args=ends, daemon=True).start()

    def _pass_on(self, here: socket.socket, there: socket.socket) -> None:
        with suppress(OSError):
            while data := here.recv(65_536):
                there.sendall(data)
        for end in (here, there):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def cut(self) -> None:
        """End all connections, whatever is under way."""
        ended, self.open = self.open, []
        for end in ended:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


def remembered_text(ref: str) -> str:
    """The text of an item, of several sentences, so that half of it would be noticed."""
    return " ".join(f"Sentence {n} of {ref} says {uuid.uuid5(uuid.NAMESPACE_URL, f'{ref}{n}')}." for n in range(5))


def remember_on(address: str, name: str, said: Path) -> None:
    """Remember texts until this process is killed, and write down the ref of each that was acknowledged."""
    turn = 0
    while True:
        with suppress(Unavailable), Ricordo.open(address) as engine, said.open("a", buffering=1) as out:
            while True:
                ref = f"memory:/{name}/{turn}"
                try:
                    engine.remember(remembered_text(ref), ref=ref, on_duplicate="save")  # they are much alike
                    out.write(f"{ref}\n")
                except PathConflict:
                    pass  # it was saved, and the answer was lost
                except Unavailable:
                    time.sleep(0.05)
                    continue
                turn += 1


def kill_and_cut(address: str, rounds: int, restart: Callable[[], None]) -> dict[str, Any]:
    """Let processes remember while they are killed, cut off, and lose their server; what is to be told."""
    run, chance, proxy = uuid.uuid4().hex[:8], random.Random(rounds), Proxy(address)
    processes, born, done = multiprocessing.get_context("forkserver"), count(), Counter[str]()
    processes.set_forkserver_preload(["ricordo.memory.remember", "ricordo.plugins.postgres.store"])
    with tempfile.TemporaryDirectory() as folder, Ricordo.open(address) as engine:
        engine.remember(f"This was remembered before run {run}.")  # so that there is a model whose vectors are compared

        def start() -> Any:
            name = f"{run}-{next(born)}"
            writer = processes.Process(target=remember_on, args=(proxy.address, name, Path(folder, name)), daemon=True)
            writer.start()
            return writer

        writers = [start() for _ in range(CLIENTS // 2)]
        while sum(file.stat().st_size > 0 for file in Path(folder).iterdir()) < len(writers):
            time.sleep(0.1)  # until all are at work
        for number in range(rounds):
            time.sleep(chance.uniform(0.2, 1.8))
            what = "restarts" if number % 10 == 9 else chance.choice(["kills", "cuts"])
            done[what] += 1
            if what == "kills":
                writers.pop(0).kill()  # the one that has worked for longest
                writers.append(start())
            elif what == "cuts":
                proxy.cut()
            else:
                restart()
        for writer in writers:
            writer.kill()
            writer.join()
        said = {ref for file in Path(folder).iterdir() for ref in file.read_text(encoding="utf-8").split()}
    with Ricordo.open(address) as engine:
        store = engine.store
        kept = {str(ref): n for n, ref, _ in store.items.refs_below("memory", "") if ref.path.startswith(f"/{run}-")}
        texts = store.items.contents(list(kept.values()))
        counts = store.vectors.counts(str(store.vectors.active_fingerprint()))
        return {
            **done, "acknowledged": len(said), "kept": len(kept), "errors": [], "lost": len(said - set(kept)),
            "half-written": sum(texts.get(n) != remembered_text(ref) for ref, n in kept.items()),
            "without a vector": counts.pop("chunks") - sum(counts.values()),
            "doctor": [check.detail for _, run_check in store.checks() if not (check := run_check(False)).ok],
        }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("address", help="a schema of its own on a server that may be restarted")
    parser.add_argument("--seconds", type=float, default=300.0, help="how long they work (300)")
    parser.add_argument("--rounds", type=int, default=0, help="kill, cut or restart so many times instead")
    parser.add_argument("--restart", required=True, help="the command that restarts the server")
    given = parser.parse_args()

    def restart() -> None:
        subprocess.run(given.restart, shell=True, check=True)

    if given.rounds:
        report = kill_and_cut(given.address, given.rounds, restart)
    else:
        report = Clients(given.address).work(given.seconds, restart)
    print(json.dumps(report, indent=2))
    bad = ("errors", "lost", "twice", "half-written", "without a vector", "doctor")
    raise SystemExit(any(report.get(name) for name in bad))


if __name__ == "__main__":
    main()
