"""Eight clients write to a team's store while eight search it, and the server is restarted in the middle.

Every client is a store of its own. A call that fails is tried once more, after the server answers again; a second
failure is an error. At the end every write that was acknowledged must be there, once, and be found by its words.

    python faults/team.py postgresql://ann@localhost/team --seconds 300 --restart 'pg_ctl restart -m fast -D DATA'
"""

from __future__ import annotations

import argparse
import json
import subprocess
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable
from typing import Any

from ricordo.errors import Error, Unavailable
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("address", help="a schema of its own on a server that may be restarted")
    parser.add_argument("--seconds", type=float, default=300.0, help="how long they work (300)")
    parser.add_argument("--restart", required=True, help="the command that restarts the server")
    given = parser.parse_args()

    def restart() -> None:
        subprocess.run(given.restart, shell=True, check=True)

    report = Clients(given.address).work(given.seconds, restart)
    print(json.dumps(report, indent=2))
    raise SystemExit(bool(report["errors"] or report["lost"] or report["twice"] or report["doctor"]))


if __name__ == "__main__":
    main()
