"""A disk that fails: refuses the n-th write or sync for every n of a small scenario, or forgets what was not synced.

A file system of our own stands between SQLite and the real one (apsw's VFS).

- ``refuse``: the n-th write, sync or truncation of the scenario fails with an error of the disk, and so do all later
  ones. The scenario must end in an error of Ricordo, and what was acknowledged before must be there afterwards, with a
  clean ``doctor``.
- ``starve``: SQLite may take only so much memory, so that an allocation fails somewhere. The same must hold.
- ``power``: everything is kept in memory until a sync says that it is to last. Then the power goes: what was not synced
  is dropped, or a part of it is. What was acknowledged as durable must be there.

    python faults/broken_disk.py --most 400
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import apsw

from ricordo import ConfigProvider, Ricordo
from ricordo.errors import Error
from ricordo.store.sqlite import connection

NO_VECTORS = ConfigProvider({"embedding.provider": "none", "knowledge.enabled": False})


class Disk:
    """What all files of the failing system share: how many calls there were, and at which they begin to fail."""

    def __init__(self) -> None:
        self.calls = 0
        self.fails_at: int | None = None
        self.keeps_unsynced = True
        self.unsynced: dict[str, list[tuple[int, bytes]]] = {}

    def step(self) -> None:
        self.calls += 1
        if self.fails_at is not None and self.calls >= self.fails_at:
            raise apsw.IOError("the disk failed, on purpose")


DISK = Disk()


class File(apsw.VFSFile):
    """A file that fails when the disk says so."""

    def __init__(self, parent: str, name: Any, flags: list[int]) -> None:
        super().__init__(parent, name, flags)
        self.name = name.filename() if isinstance(name, apsw.URIFilename) else (name or "")

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802 - SQLite's name
        DISK.step()
        if DISK.keeps_unsynced:
            super().xWrite(data, offset)
            return
        if self.name:
            before = self._before(offset, len(data))
            DISK.unsynced.setdefault(self.name, []).append((offset, before))
        super().xWrite(data, offset)

    def _before(self, offset: int, length: int) -> bytes:
        """What stands there now, to be put back when the power goes."""
        try:
            with Path(self.name).open("rb") as file:
                file.seek(offset)
                return file.read(length)
        except OSError:
            return b""

    def xSync(self, flags: int) -> None:  # noqa: N802
        DISK.step()
        super().xSync(flags)
        DISK.unsynced.pop(self.name, None)

    def xTruncate(self, size: int) -> None:  # noqa: N802
        DISK.step()
        super().xTruncate(size)


class System(apsw.VFS):
    """The failing file system, on top of the usual one."""

    def __init__(self) -> None:
        super().__init__("broken", "")

    def xOpen(self, name: Any, flags: list[int]) -> File:  # noqa: N802
        return File("", name, flags)


def through_broken_disk() -> Callable[[], None]:
    """Have every connection of Ricordo go through the failing system; how to undo it."""
    original = connection.Connection.__init__

    def connect(self: Any, name: str, **more: Any) -> None:
        original(self, name, vfs="broken", **more)

    connection.Connection.__init__ = connect  # type: ignore[method-assign]

    def undo() -> None:
        connection.Connection.__init__ = original  # type: ignore[method-assign]

    return undo


def scenario(store: Path, acknowledged: list[tuple[str, str]]) -> None:
    """Some writes of each kind; what came back is acknowledged."""
    with Ricordo.open(store, config=NO_VECTORS) as engine:
        for number in range(4):
            engine.save(f"note:/n{number}", f"text {number}", wait=False)
            acknowledged.append((f"note:/n{number}", f"text {number}"))
        engine.edit("note:/n0", "changed 0", wait=False)
        acknowledged.append(("note:/n0", "changed 0"))
        engine.remember("a thing to remember", ref="memory:/m", wait=False)
        acknowledged.append(("memory:/m", "a thing to remember"))
        engine.search("text")
        engine._context.unsynced_store.transfer.vacuum(bin_days=30, full=True)


def missing(store: Path, acknowledged: list[tuple[str, str]]) -> list[str]:
    """What of the acknowledged writes is not there, and what ``doctor`` says."""
    if not acknowledged and not store.exists():
        return []
    problems = []
    with Ricordo.open(store, config=NO_VECTORS) as engine:
        for ref, text in acknowledged:
            texts = [engine.get(ref, version=one.number, track=False).content for one in engine.history(ref)]
            if text not in texts:
                problems.append(f"{ref} lost '{text}'")
        problems += [f"{one.name}: {one.detail}" for one in engine.doctor().checks if not one.ok]
    return problems


def refuse(most: int) -> list[str]:
    """The n-th call fails, for every n (or every few, when they are very many)."""
    problems: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        DISK.calls, DISK.fails_at = 0, None
        scenario(Path(folder) / "whole.db", [])
        total = DISK.calls
        tried = sorted(set(range(1, total + 1, max(1, total // most))))
        for number in tried:
            store = Path(folder) / f"s{number}.db"
            acknowledged: list[tuple[str, str]] = []
            DISK.calls, DISK.fails_at = 0, number
            try:
                scenario(store, acknowledged)
            except Error:
                pass
            except BaseException as error:  # noqa: BLE001 - anything else is what is looked for
                problems.append(f"call {number}: {type(error).__name__}: {error}")
            DISK.fails_at = None
            try:
                problems += [f"call {number}: {one}" for one in missing(store, acknowledged)]
            except BaseException as error:  # noqa: BLE001
                problems.append(f"call {number}, afterwards: {type(error).__name__}: {error}")
    print(f"refused: {len(tried)} of {total} writes, syncs and truncations, one after the other")
    return problems


def starve(times: int) -> list[str]:
    """SQLite gets no more memory than so much, a little more each time: at some place an allocation fails."""
    problems: list[str] = []
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        DISK.calls, DISK.fails_at = 0, None
        apsw.memory_high_water(True)
        before = apsw.memory_used()
        scenario(Path(folder) / "whole.db", [])
        needed = apsw.memory_high_water() - before
        for number in range(times):
            store = Path(folder) / f"m{number}.db"
            acknowledged: list[tuple[str, str]] = []
            apsw.hard_heap_limit(apsw.memory_used() + max(1, needed * number // times))
            try:
                scenario(store, acknowledged)
            except Error:
                failed += 1
            except BaseException as error:  # noqa: BLE001 - anything else is what is looked for
                problems.append(f"memory {number}: {type(error).__name__}: {error}")
            finally:
                apsw.hard_heap_limit(0)
            try:
                problems += [f"memory {number}: {one}" for one in missing(store, acknowledged)]
            except BaseException as error:  # noqa: BLE001
                problems.append(f"memory {number}, afterwards: {type(error).__name__}: {error}")
    print(f"starved: {times} limits below the {needed // 1024:,} KB that are needed, {failed} ended in an error")
    return problems


def power(times: int, seed: int) -> list[str]:
    """The power goes after the scenario: writes since the last sync are undone, all of them or the newest ones."""
    problems: list[str] = []
    chance = random.Random(seed)
    for number in range(times):
        with tempfile.TemporaryDirectory() as folder:
            store = Path(folder) / "s.db"
            acknowledged: list[tuple[str, str]] = []
            DISK.calls, DISK.fails_at, DISK.keeps_unsynced = 0, chance.randrange(40, 400), False
            DISK.unsynced.clear()
            with suppress(Error):
                scenario(store, acknowledged)
            DISK.fails_at, DISK.keeps_unsynced = None, True
            for name, writes in DISK.unsynced.items():
                undone = writes if chance.random() < 0.5 else writes[chance.randrange(len(writes)) :]
                put_back(Path(name), undone)
            Path(f"{store}-shm").unlink(missing_ok=True)
            try:
                problems += [f"power cut {number}: {one}" for one in missing(store, acknowledged)]
            except BaseException as error:  # noqa: BLE001
                problems.append(f"power cut {number}: {type(error).__name__}: {error}")
    print(f"power cuts: {times}")
    return problems


def put_back(file: Path, writes: list[tuple[int, bytes]]) -> None:
    if not file.exists() or file.name.endswith("-shm"):
        return
    data = bytearray(file.read_bytes())
    for offset, before in reversed(writes):
        data[offset : offset + len(before)] = before
        if not before:
            del data[offset:]
    file.write_bytes(data)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", type=int, default=60, help="Try at most so many places to fail.")
    parser.add_argument("--cuts", type=int, default=10, help="How often the power goes.")
    parser.add_argument("--limits", type=int, default=10, help="Try so many limits of memory.")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    given = parser.parse_args()
    options = f"--most {given.most} --cuts {given.cuts} --limits {given.limits} --seed {given.seed}"
    again = f"{sys.executable} faults/broken_disk.py {options}"
    print(f"seed {given.seed}; to repeat: {again}")
    started = time.monotonic()
    sys.unraisablehook = lambda _: None  # connections that are dropped while the disk fails
    system = System()
    undo = through_broken_disk()
    try:
        problems = refuse(given.most) + starve(given.limits) + power(given.cuts, given.seed)
    finally:
        undo()
        system.unregister()
    print(f"{len(problems)} problems in {time.monotonic() - started:.0f} s")
    for problem in problems[:20]:
        print("-", problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
