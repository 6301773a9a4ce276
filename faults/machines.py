"""Lets three machines work on their own stores, brings their files to each other in any order, and compares the stores.

Each machine has a home, a store and a copy of the folder through which they sync. People write, edit, rename, archive,
remove, restore, link and erase at random; in between, machines sync, and files of the folder arrive at the others late,
twice, out of order, cut off at first, or are lost. With ``--restore``, one machine is put back to an old backup in the
middle. At the end everything is delivered, and then

- all three stores show the same items: refs, states, versions, texts, fields, authors, links and verdicts;
- every text that was acknowledged is there as a version, unless it was erased by somebody who had seen it;
- no text that was erased is left in a store, or in a file of the folder;
- ``doctor`` finds nothing.

    python faults/machines.py --operations 5000 --seed 1
    python faults/machines.py --operations 5000 --seed 1 --restore
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ricordo import ConfigProvider, Ricordo
from ricordo.errors import Error
from ricordo.values.hits import Filters
from ricordo.values.items import Item

SETTINGS = {"embedding.provider": "none", "store.keep_versions": 10_000}
WORDS = ("key", "port", "host", "rota", "lease", "quota", "shard", "token", "cache", "index", "queue", "batch")


class Machine:
    """One machine: a home, a store, its copy of the folder, and what its user was told was saved."""

    def __init__(self, place: Path, name: str, *, files: bool) -> None:
        self.name = name
        self.home = place / name
        self.folder = self.home / "shared"
        self.folder.mkdir(parents=True)
        self.store = self.home / "ricordo.db"
        self.settings = SETTINGS | {"knowledge.enabled": files}
        self.engine: Ricordo | None = None
        self.erased: set[str] = set()

    @contextmanager
    def at_work(self) -> Iterator[Ricordo]:
        """This process is the machine for a while."""
        for name in ("DATA", "STATE", "CONFIG", "CACHE"):
            os.environ[f"RICORDO_{name}_HOME"] = str(self.home / name.lower())
        if self.engine is None:
            self.engine = Ricordo.open(self.store, config=ConfigProvider(self.settings))
        yield self.engine

    def close(self) -> None:
        if self.engine is not None:
            with self.at_work() as engine:
                engine.close()
            self.engine = None

    def join(self) -> None:
        with self.at_work() as engine:
            engine.sync_folder_add(self.folder, trust_all=True)

    def sync(self) -> tuple[str, ...]:
        with self.at_work() as engine:
            return engine.sync_folder_now().problems

    def back_up(self, target: Path) -> None:
        with self.at_work() as engine:
            engine.backup(target, force=True)

    def restore(self, backup: Path) -> None:
        """Put the store back to an old state, as after a broken disk."""
        self.close()
        for name in (self.store, Path(f"{self.store}-wal"), Path(f"{self.store}-shm")):
            name.unlink(missing_ok=True)
        shutil.rmtree(self.home / "knowledge", ignore_errors=True)
        shutil.copy(backup, self.store)


class Courier:
    """Brings the files of the folder from one machine to the others: late, twice, in any order, or cut off at first."""

    def __init__(self, machines: list[Machine], chance: random.Random) -> None:
        self.machines = machines
        self.chance = chance

    def deliver(self, *, all_of_it: bool = False) -> None:
        """Copy some files, or all. What its owner removed is removed everywhere at the end, or sooner."""
        for source in self.machines:
            for target in self.machines:
                if source is target:
                    continue
                own = _machine_id(source)
                if own is None:
                    continue
                names = sorted(_files(source.folder / "machines" / own))
                self.chance.shuffle(names)
                for path in names:
                    if all_of_it or self.chance.random() < 0.3:
                        self._copy(source, target, path, whole=all_of_it or self.chance.random() < 0.9)
                if all_of_it or self.chance.random() < 0.3:
                    self._remove_gone(source, target, own)

    def lose(self) -> None:
        """One file disappears everywhere, as when somebody tidies up the folder."""
        owner = self.chance.choice(self.machines)
        own = _machine_id(owner)
        names = sorted(_files(owner.folder / "machines" / own)) if own else []
        if names:
            path = self.chance.choice(names)
            for machine in self.machines:
                (machine.folder / path.relative_to(owner.folder)).unlink(missing_ok=True)

    def _copy(self, source: Machine, target: Machine, path: Path, *, whole: bool) -> None:
        there = target.folder / path.relative_to(source.folder)
        there.parent.mkdir(parents=True, exist_ok=True)
        data = path.read_bytes()
        there.write_bytes(data if whole else data[: len(data) // 2])

    def _remove_gone(self, source: Machine, target: Machine, own: str) -> None:
        for path in _files(target.folder / "machines" / own):
            if not (source.folder / path.relative_to(target.folder)).exists():
                path.unlink()


def _machine_id(machine: Machine) -> str | None:
    path = machine.home / "data" / "machine.json"
    return str(json.loads(path.read_bytes())["id"]) if path.exists() else None


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*.jsonl") if path.is_file()] if folder.is_dir() else []


class People:
    """What the users of the machines do at random, and what they were told."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.written: dict[str, str] = {}
        """Each acknowledged text, by the marker in it, with the id of its item."""
        self.erased: dict[str, str] = {}
        """The markers of texts that were erased by somebody who had seen them."""
        self.binned: dict[str, str] = {}
        """The markers of texts that were erased from the bin."""
        self.count = 0

    def act(self, machine: Machine) -> None:
        acts = (
            (self.write, 30), (self.edit, 30), (self.rename, 8), (self.archive, 6), (self.remove, 8),
            (self.bring_back, 6), (self.erase, 4), (self.connect, 5), (self.judge, 3),
        )  # fmt: skip
        act = self.chance.choices([act for act, _ in acts], [weight for _, weight in acts])[0]
        with machine.at_work() as engine, suppress(Error):  # nothing there to change, or the name is taken
            act(engine)

    def text(self) -> tuple[str, str]:
        self.count += 1
        marker = f"zz{self.count:06d}"
        return marker, f"{marker} the {' '.join(self.chance.sample(WORDS, 4))} is {self.chance.randint(1, 99)}."

    def some(self, engine: Ricordo, *states: str) -> Item | None:
        among = Filters(states=states or ("live",))
        count = engine.count(among)  # one item is read, not all: at thousands of operations that is most of the time
        return (
            next(iter(engine.list(filters=among, limit=1, offset=self.chance.randrange(count))), None)
            if count
            else None
        )

    def write(self, engine: Ricordo) -> None:
        marker, text = self.text()
        drive = self.chance.choice(("note", "memory"))
        name = f"{drive}:/{self.chance.choice(WORDS)}-{self.chance.randint(1, 40)}"
        saved = engine.save(name, text, kind=drive, on_conflict="error")
        if saved.id is not None and saved.status == "created":
            self.written[marker] = saved.id

    def edit(self, engine: Ricordo) -> None:
        item = self.some(engine)
        if item is None:
            return
        marker, text = self.text()
        saved = engine.edit(item.ref, content=text)
        if saved.status == "updated":
            self.written[marker] = item.id

    def rename(self, engine: Ricordo) -> None:
        item = self.some(engine)
        if item is not None:
            engine.mv(str(item.ref), f"{item.ref.drive}:/{self.chance.choice(WORDS)}-{self.chance.randint(1, 40)}")

    def archive(self, engine: Ricordo) -> None:
        item = self.some(engine)
        if item is not None:
            engine.forget(str(item.ref))

    def remove(self, engine: Ricordo) -> None:
        item = self.some(engine, "live", "archived")
        if item is not None:
            engine.rm(str(item.ref))

    def bring_back(self, engine: Ricordo) -> None:
        item = self.some(engine, "deleted")
        if item is not None:
            engine.restore(item.id)

    def erase(self, engine: Ricordo) -> None:
        item = self.some(engine, "live", "archived", "deleted")
        if item is None:
            return
        seen = [engine.get(item.id, version=one.number).content for one in engine.history(item.id)]
        engine.rm(item.id, purge=True)
        for text in seen:  # what only left the bin, may have been brought back elsewhere
            (self.erased if item.state != "deleted" else self.binned)[text.split()[0]] = item.id

    def connect(self, engine: Ricordo) -> None:
        one, two = self.some(engine), self.some(engine)
        if one is not None and two is not None and one.id != two.id:
            if self.chance.random() < 0.7:
                engine.link(str(one.ref), str(two.ref), "relates_to")
            else:
                engine.unlink(str(one.ref), str(two.ref))

    def judge(self, engine: Ricordo) -> None:
        item = self.some(engine)
        if item is not None:
            engine.feedback(self.chance.choice(WORDS), str(item.ref), "accepted")


def picture(engine: Ricordo) -> dict[str, Any]:
    """All that a store shows, by the ids of its items, without what is a machine's own, such as use."""
    from ricordo.exchange.records import ItemRecord
    from ricordo.plugins.transfer.export import records
    from ricordo.plugins.transfer.export_file import Row

    store = engine._context.store
    shown: dict[str, Any] = {}
    for record in records(store.opened, log=False):
        if isinstance(record, ItemRecord):
            versions = [
                (one.number, one.hash, str(one.ref), record.content(one), dict(one.fields), dict(one.provenance))
                for one in record.versions
            ]
            shown[record.id] = (str(record.ref), record.kind, record.state, record.version, record.vouched, versions)
        elif isinstance(record, Row) and record.type == "link" and record["origin"] == "manual":
            shown[f"link {record['source']} {record['target']} {record['type']}"] = record["created_at"]
        elif isinstance(record, Row) and record.type == "feedback" and record["item"] is not None:
            shown[f"verdict {record['at']} {record['query']} {record['item']}"] = record["verdict"]
    return shown


def differences(one: dict[str, Any], two: dict[str, Any]) -> list[str]:
    return [
        f"{key}: {one.get(key)!r} <> {two.get(key)!r}"[:2000] for key in {**one, **two} if one.get(key) != two.get(key)
    ]


def texts_of(shown: dict[str, Any]) -> set[str]:
    """The markers of all texts in a store."""
    return {
        version[3].split()[0]
        for value in shown.values()
        if isinstance(value, tuple)
        for version in value[5]
        if version[3]
    }


def work(place: Path, operations: int, seed: int, *, restore: bool, files: bool) -> list[str]:
    """Let people work and machines sync; returns what is wrong at the end."""
    chance = random.Random(seed)
    machines = [Machine(place, name, files=files) for name in ("desk", "laptop", "phone")]
    courier, people = Courier(machines, chance), People(chance)
    for machine in machines:
        machine.join()
    backup = place / "old.db"
    for number in range(operations):
        people.act(chance.choice(machines))
        if chance.random() < 0.04:
            chance.choice(machines).sync()
        if chance.random() < 0.02:
            courier.deliver()
        if chance.random() < 0.002:
            courier.lose()
        if restore and number == operations // 3:
            machines[1].sync()
            machines[1].back_up(backup)
        if restore and number == 2 * operations // 3:
            machines[1].sync()  # what was not in the folder is gone with the disk
            machines[1].restore(backup)
    for _ in range(8):
        for machine in machines:
            machine.sync()
        courier.deliver(all_of_it=True)
    problems = [problem for machine in machines for problem in machine.sync()]
    return problems + check(machines, people, files=files)


def check(machines: list[Machine], people: People, *, files: bool) -> list[str]:
    problems = []
    pictures = []
    for machine in machines:
        with machine.at_work() as engine:
            pictures.append(picture(engine))
            problems += [f"{machine.name}: {one.name}: {one.detail}" for one in engine.doctor().checks if not one.ok]
    for machine, shown in zip(machines[1:], pictures[1:], strict=True):
        problems += [
            f"{machine.name} differs from {machines[0].name}: {one}" for one in differences(pictures[0], shown)
        ]
    held = texts_of(pictures[0])
    lost = people.written.keys() - people.erased.keys() - people.binned.keys() - held
    problems += [f"{text} was acknowledged and is lost" for text in sorted(lost)]
    problems += [f"{text} was erased and is still there" for text in sorted(people.erased.keys() & held)]
    for machine in machines:
        written = b"".join(path.read_bytes() for path in _files(machine.folder))
        problems += [
            f"{text} was erased and is still in a file of {machine.name}"
            for text in sorted(people.erased)
            if text.encode() in written
        ]
    states = [value[2] for value in pictures[0].values() if isinstance(value, tuple)]
    versions = sum(len(value[5]) for value in pictures[0].values() if isinstance(value, tuple))
    print(
        f"{len(people.written)} texts acknowledged, {len(people.erased)} erased; each store has {len(states)} items"
        f" ({states.count('live')} live, {states.count('archived')} archived, {states.count('deleted')} in the bin)"
        f" with {versions} versions"
    )
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--operations", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--restore", action="store_true", help="put one machine back to an old backup in the middle")
    parser.add_argument("--files", action="store_true", help="with knowledge files, which takes longer")
    given = parser.parse_args()
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as place:
        problems = work(Path(place), given.operations, given.seed, restore=given.restore, files=given.files)
    for problem in problems[:20]:
        print(f"WRONG: {problem}")
    print(f"{given.operations} operations, {len(problems)} problems, {time.monotonic() - started:.0f} s")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
