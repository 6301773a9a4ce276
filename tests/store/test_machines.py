"""Folders belong to machines: what one machine added, another one shows and never changes."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.conftest import import_trusted
from tests.plugins.postgres import server as postgres_server

from ricordo import ConfigProvider, NotFound, Ricordo
from ricordo.config.machine import MACHINE_NAME, this_machine
from ricordo.errors import UsageError
from ricordo.plugins.postgres.store import PostgresStore
from ricordo.values.hits import Filters
from ricordo.values.items import FileRefs, Ref

NO_VECTORS = ConfigProvider({"embedding.provider": "none"})
STEPS = 200


class Machine:
    """One of two machines: a home and an engine of its own. Both have the same paths, but other disks."""

    def __init__(self, name: str, folder: Path, address: str | Path, patch: pytest.MonkeyPatch) -> None:
        self.name = name
        self.disk = folder / f"disk-of-{name}"
        self.place = folder / "notes"
        self.home = folder / f"home-of-{name}"
        self.patch = patch
        self.address = address
        self.disk.mkdir()
        self.home.mkdir()
        (self.home / MACHINE_NAME).write_text(
            json.dumps({"id": hashlib.md5(name.encode()).hexdigest()[:8], "name": name})
        )
        self.engine: Ricordo | None = None

    @contextmanager
    def at_work(self) -> Iterator[Ricordo]:
        """The engine, while this machine's disk is the one at the common path."""
        self.patch.setenv("RICORDO_DATA_HOME", str(self.home))
        self.disk.rename(self.place)
        try:
            if self.engine is None:
                self.engine = Ricordo.open(str(self.address), config=NO_VECTORS)
            yield self.engine
        finally:
            self.place.rename(self.disk)

    @property
    def id(self) -> str:
        return str(json.loads((self.home / MACHINE_NAME).read_text())["id"])


@pytest.fixture
def team(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Machine, Machine]]:
    """Two machines over one workspace of a PostgreSQL server."""
    address = postgres_server.unused()
    both = tuple(Machine(name, tmp_path, address, monkeypatch) for name in ("laptop", "desk"))
    yield both[0], both[1]
    for machine in both:
        if machine.engine is not None:
            machine.engine.close()


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Machine, Machine]]:
    """A store in a file that was filled on one machine and copied to another."""
    store = tmp_path / "laptop.db"
    laptop = Machine("laptop", tmp_path, store, monkeypatch)
    with laptop.at_work() as engine:
        (laptop.place / "a.md").write_text("the laptop's zebra")
        engine.add(laptop.place)
        engine.close()
    copy = tmp_path / "desk.db"
    shutil.copy(store, copy)
    desk = Machine("desk", tmp_path, copy, monkeypatch)
    yield laptop, desk
    if desk.engine is not None:
        desk.engine.close()


def contents(engine: Ricordo, machine: str) -> dict[str, tuple[str, int]]:
    """The texts and versions of one machine's files, by their place there."""
    found = [item.ref for item in engine.list(filters=Filters(drives=("disk",)), limit=1000)]
    own = [ref for ref in found if FileRefs().owner(ref) == machine]
    return {ref.place: ((item := engine.get(ref, track=False)).content, item.version) for ref in own}


def test_two_machines_with_equal_paths_never_change_each_others_documents(team: tuple[Machine, Machine]) -> None:
    random_ = random.Random(20_260_131)
    known: dict[str, dict[str, tuple[str, int]]] = {machine.id: {} for machine in team}
    done: set[str] = set()
    for step in range(STEPS):
        mine, other = random_.sample(team, 2)
        with mine.at_work() as engine:
            act = random_.choice(
                ("add", "edit", "edit", "refresh", "prune", "delete", "rm", "rm folder", "move", "watch")
            )
            files = sorted(mine.place.rglob("*.md"))
            file = random_.choice(files) if files else None
            if act == "add" or file is None:
                path = mine.place / f"{random_.choice(('a', 'b', 'deep/c', 'deep/d', 'e'))}.md"
                path.parent.mkdir(exist_ok=True)
                path.write_text(f"the {mine.name}'s zebra, step {step}")
                engine.add(random_.choice((mine.place, path)), on_conflict=random_.choice(("skip", "overwrite")))
            elif act == "edit":
                file.write_text(f"the {mine.name} wrote this, step {step}, {'x' * step}")
            elif act == "refresh":
                engine.refresh(all=True)
            elif act == "prune":
                engine.refresh(all=True, prune=True)
            elif act == "delete":
                file.unlink()
            elif act == "rm" and str(file) in contents(engine, mine.id):
                engine.rm(str(file))
            elif act == "rm folder" and contents(engine, mine.id):
                engine.rm(f"{mine.place}/")
            elif act == "move":
                file.rename(file.with_name(f"moved-{step}.md"))
            elif act == "watch":
                paths = [path for path in engine.status()["roots"] if Path(path).exists()]
                if paths:
                    refresh_as_the_watcher_does(engine, paths)
            done.add(act)
            assert contents(engine, other.id) == known[other.id], f"step {step}: {act} on {mine.name}"
            known[mine.id] = contents(engine, mine.id)
            for text, _ in known[mine.id].values():
                assert f"the {mine.name}" in text
    assert done == {"add", "edit", "refresh", "prune", "delete", "rm", "rm folder", "move", "watch"}
    for machine in team:
        with machine.at_work() as engine:
            (machine.place / "last.md").write_text(f"the {machine.name}'s last")
            engine.add(machine.place)
            engine.refresh(all=True, prune=True)
            texts = {place: text for place, (text, _) in contents(engine, machine.id).items()}
            assert texts == {str(path): path.read_text() for path in machine.place.rglob("*.md")}


def refresh_as_the_watcher_does(engine: Ricordo, paths: list[str]) -> None:
    """One batch of ``watch``: it ends as soon as the first look is reported."""
    stop = threading.Event()
    engine.watch(*paths, stop=stop, on_event=lambda event: stop.set())


def test_a_shared_store_says_on_which_machine_a_file_is(team: tuple[Machine, Machine]) -> None:
    laptop, desk = team
    for machine in team:
        with machine.at_work() as engine:
            (machine.place / "a.md").write_text(f"a zebra on the {machine.name}")
            assert [one.ref for one in engine.add(machine.place).items] == [f"disk:/@{machine.id}{machine.place}/a.md"]
    with desk.at_work() as engine:
        assert {hit.machine for hit in engine.search("zebra")} == {"", "laptop"}
        assert {item.machine for item in engine.list()} == {"", "laptop"}
        theirs = f"disk:/@{laptop.id}{laptop.place}/a.md"
        assert engine.get(theirs).machine == "laptop"
        assert engine.get(str(desk.place / "a.md")).content == "a zebra on the desk"
        assert engine.get(f"disk:{desk.place}/a.md").content == "a zebra on the desk"
        assert {(root.path, root.machine) for root in engine.roots()} == {
            (str(desk.place), ""), (str(desk.place), "laptop"),
        }  # fmt: skip
        assert engine.status()["roots"] == [str(desk.place)]
        assert engine.count(Filters(paths=(str(desk.place),))) == 2
        assert engine.count(Filters(paths=(f"{desk.place}/*.md",))) == 2
        with pytest.raises(UsageError, match="machine laptop"):
            engine.place_of(theirs)


def test_what_another_machine_added_cannot_be_removed_refreshed_or_written_to(team: tuple[Machine, Machine]) -> None:
    laptop, desk = team
    with laptop.at_work() as engine:
        (laptop.place / "a.md").write_text("a zebra")
        engine.add(laptop.place)
    theirs = f"disk:/@{laptop.id}{laptop.place}/a.md"
    with desk.at_work() as engine:
        for refused in (
            lambda: engine.rm(theirs),
            lambda: engine.rm(f"disk:/@{laptop.id}/"),
            lambda: engine.rm("disk:/"),
            lambda: engine.forget(theirs),
            lambda: engine.refresh(theirs),
            lambda: engine.save(theirs, "mine now", on_conflict="overwrite"),
        ):
            with pytest.raises(UsageError, match="machine laptop"):
                refused()
        report = engine.rm(kinds=("document",), older_than="0d")
        assert (report.items, report.notes) == ((), ("1 file of other machines left alone",))
        assert engine.refresh(all=True, prune=True).items == ()
        with pytest.raises(NotFound):
            engine.forget_root(desk.place)
        with pytest.raises(NotFound):
            engine.rm(f"{desk.place}/")
        assert engine.get(theirs).version == 1


def test_a_copied_store_leaves_the_files_of_the_first_machine_alone(copied: tuple[Machine, Machine]) -> None:
    _, desk = copied
    with desk.at_work() as engine:
        (desk.place / "a.md").write_text("the desk's zebra")
        report = engine.refresh(all=True, prune=True)
        assert report.items == ()
        assert "roots move --from-machine laptop" in report.notes[0]
        plain = f"disk:{desk.place}/a.md"
        assert engine.get(plain).content == "the laptop's zebra"
        assert engine.get(plain).machine == "laptop"
        [added] = engine.add(desk.place).items
        assert added.ref == f"disk:/@{this_machine().id}{desk.place}/a.md"
        assert engine.get(str(desk.place / "a.md")).content == "the desk's zebra"
        assert engine.get(plain).content == "the laptop's zebra"


def test_a_machine_that_is_gone_is_taken_over_with_its_history(copied: tuple[Machine, Machine]) -> None:
    _, desk = copied
    with desk.at_work() as engine:
        with pytest.raises(NotFound, match="no other machine attic"):
            engine.relocate(from_machine="attic")
        (desk.place / "a.md").write_text("the laptop's zebra, changed")
        (desk.place / "b.md").write_text("new")
        (desk.place.parent / "own.md").write_text("my own")
        engine.add(desk.place.parent / "own.md")
        report = engine.relocate(from_machine="laptop")
        assert {one.status for one in report.items} == {"moved"}
        assert [(root.path, root.machine) for root in engine.roots()] == [(str(desk.place), "")]
        assert {one.status for one in engine.refresh(all=True).items} == {"updated", "created", "unchanged"}
        item = engine.get(f"disk:{desk.place}/a.md")
        assert (item.content, item.machine, item.version) == ("the laptop's zebra, changed", "", 2)
        assert engine.get(f"disk:{desk.place.parent}/own.md").content == "my own"
        assert engine.doctor().ok


def test_in_a_shared_store_a_machine_that_is_gone_is_taken_over(team: tuple[Machine, Machine]) -> None:
    desk = team[1]
    for machine in team:
        with machine.at_work() as engine:
            (machine.place / "same.md").write_text(f"the {machine.name}'s")
            (machine.place / f"{machine.name}.md").write_text(f"only the {machine.name} has this")
            engine.add(machine.place)
    with desk.at_work() as engine:
        (desk.place / "laptop.md").write_text("only the laptop has this")
        report = engine.relocate(from_machine="laptop")
        assert {one.ref.rpartition("/")[2]: one.status for one in report.items} == {
            "same.md": "failed", "laptop.md": "moved",
        }  # fmt: skip
        own = contents(engine, this_machine().id)
        assert own[f"{desk.place}/same.md"][0] == "the desk's"
        assert own[f"{desk.place}/laptop.md"][0] == "only the laptop has this"
        assert [(root.path, root.machine) for root in engine.roots()] == [(str(desk.place), "")]
        assert engine.doctor().ok


def test_files_of_which_nobody_knows_the_machine_are_nobodys_until_they_are_taken_over(
    team: tuple[Machine, Machine],
) -> None:
    laptop, _ = team
    with laptop.at_work() as engine:
        store = engine._context.store
        assert isinstance(store, PostgresStore)
        (laptop.place / "old.md").write_text("an old zebra")
        engine.add(laptop.place)
        with store.transaction():  # as a store of the earlier schema had it
            for sql in (
                "UPDATE items SET path = regexp_replace(path, '^/@[0-9a-f]{8}', '')",
                "UPDATE versions SET path = regexp_replace(path, '^/@[0-9a-f]{8}', '')",
                "UPDATE roots SET machine = ''",
            ):
                with store.database.write() as connection:
                    connection.run(sql)
        (laptop.place / "old.md").write_text("an old zebra, changed")
        assert engine.refresh(all=True, prune=True).items == ()
        assert engine.roots()[0].machine == "unknown"
        assert [one.status for one in engine.relocate(from_machine="unknown").items] == ["moved"]
        assert [one.status for one in engine.refresh(all=True).items] == ["updated"]


def test_an_export_keeps_the_machine_of_files_and_folders(copied: tuple[Machine, Machine], tmp_path: Path) -> None:
    _, desk = copied
    with desk.at_work() as engine:
        (desk.place / "a.md").write_text("the desk's zebra")
        engine.add(desk.place)
        engine.export(tmp_path / "all.jsonl")
        with Ricordo.open(tmp_path / "new.db", config=NO_VECTORS) as new:
            import_trusted(new, tmp_path / "all.jsonl")
            assert new.get(f"disk:{desk.place}/a.md").content == "the desk's zebra"
            assert {item.machine for item in new.list()} == {"", "laptop"}
            assert {(root.machine, root.items) for root in new.roots()} == {("", 1), ("laptop", 1)}
            assert new.doctor().ok


def test_a_store_that_moves_to_a_server_keeps_whose_files_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    laptop = Machine("laptop", tmp_path, tmp_path / "own.db", monkeypatch)
    address = postgres_server.unused()
    with laptop.at_work() as engine:
        (laptop.place / "a.md").write_text("see [b](b.md)")
        (laptop.place / "b.md").write_text("a zebra")
        engine.add(laptop.place)
        engine.migrate(address)
        engine.close()
        with Ricordo.open(address, config=NO_VECTORS) as moved:
            assert moved.get(str(laptop.place / "b.md")).ref == Ref("disk", f"/@{this_machine().id}{laptop.place}/b.md")
            [link] = moved.links(str(laptop.place / "b.md")).links
            assert link.source == str(moved.get(str(laptop.place / "a.md")).ref)
            (laptop.place / "b.md").write_text("a zebra and an okapi")
            assert {one.status for one in moved.refresh(all=True).items} == {"updated", "unchanged"}
            assert moved.add(laptop.place, on_conflict="overwrite").count("updated") == 0
            assert moved.doctor().ok


def test_a_machine_is_named_and_others_see_the_name(team: tuple[Machine, Machine]) -> None:
    laptop, desk = team
    with laptop.at_work() as engine:
        (laptop.place / "a.md").write_text("a zebra")
        engine.add(laptop.place)
        assert "machines" not in engine.status(), "it is the only one"
        engine.name_machine("travel laptop")
        with pytest.raises(UsageError, match="cannot be the name"):
            engine.name_machine("a#b")
    with desk.at_work() as engine:
        named = {one["name"]: one["files"] for one in engine.status()["machines"]}
        assert named == {"desk": 0, "travel laptop": 1}


def test_skills_of_another_machine_are_neither_refreshed_nor_replaced(team: tuple[Machine, Machine]) -> None:
    desk = team[1]
    for machine in team:
        with machine.at_work() as engine:
            skill = machine.place / "deploy" / "SKILL.md"
            skill.parent.mkdir(exist_ok=True)
            skill.write_text(f"---\nname: deploy\ndescription: deploys\n---\nas the {machine.name} does")
            engine.skills_add(machine.place)
    with desk.at_work() as engine:
        assert engine.get("skill:/deploy").content == "as the laptop does"
        shutil.rmtree(desk.place / "deploy")
        engine.refresh(all=True, prune=True)
        engine.skills_add(desk.place, prune=True)
        assert engine.get("skill:/deploy").content == "as the laptop does"


def test_knowledge_files_that_were_not_copied_with_the_store_do_not_count_as_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "project" / ".ricordo"
    folder.mkdir(parents=True)
    monkeypatch.setenv("RICORDO_DATA_HOME", str(tmp_path / "laptop"))
    with Ricordo.open(folder / "ricordo.db", config=NO_VECTORS) as engine:
        engine.remember("The zebra sleeps at noon.")
        [kept] = engine.list()
        engine.remember("The okapi sleeps at night.")
    files = sorted((folder / "knowledge").rglob("*.md"))
    assert len(files) == 2
    files[0].unlink()
    monkeypatch.setenv("RICORDO_DATA_HOME", str(tmp_path / "desk"))
    with Ricordo.open(folder / "ricordo.db", config=NO_VECTORS) as engine:
        assert engine.count() == 2
        assert engine.get(kept.id).state == "live"
