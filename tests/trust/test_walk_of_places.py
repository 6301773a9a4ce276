"""Nothing that lies in a foreign clone, stands in an import, or comes from a machine that was not let in changes what
agents are told as the user's words; nor does a setting that another gives.

Settings, fields, records and kinds of entries are taken from where they are declared, so that new ones are among the
cases by themselves. ``pytest tests/trust -k walk -rP`` prints how many there are.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, nullcontext, suppress
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args

import pytest

from ricordo import ConfigProvider, Ricordo
from ricordo.config.files import data_home
from ricordo.config.loading import SETTINGS, Setting
from ricordo.engine.setting_changes import change_setting, remove_setting
from ricordo.errors import Error
from ricordo.exchange.records import STATES
from ricordo.permissions import asked_with
from ricordo.plugins.sync import log
from ricordo.plugins.transfer.export_file import ROWS, TYPES
from ricordo.speaking import speaking
from ricordo.values.items import Fields
from ricordo.values.kinds import KNOWLEDGE_FOLDERS, OnConflict
from ricordo.verbs.index import all_verbs
from ricordo.verbs.rows import call

from .test_walk import cases
from .walking import EVIL, NO_VECTORS, RULE, SPEAKERS, TASK, is_same, make, outside, told, told_by_hooks


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("made")
    make(place)
    return place


@pytest.fixture
def clone(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project that somebody else made, on the machine of a user with a store."""
    monkeypatch.setenv("RICORDO_EMBEDDING_PROVIDER", "none")
    monkeypatch.setenv("RICORDO_HOOKS_SECONDS", "30")
    shutil.copy(made / "mine.db", data_home(os.environ) / "ricordo.db")
    (tmp_path / "clone" / ".git").mkdir(parents=True)
    return tmp_path / "clone"


def is_same_in(project: Path) -> bool:
    """Whether hooks tell in the project what they told before, and ``context``, too, if it can answer."""
    session, prompt = told_by_hooks(project)
    asked = RULE
    with suppress(Error), Ricordo.open(create=False, start=project, config=ConfigProvider(start=project)) as engine:
        asked = outside(engine.context(TASK).text)
    return is_same((session, prompt, asked))


def hook_log_text() -> str:
    log_file = Path(os.environ["RICORDO_STATE_HOME"], "hooks.log")
    return log_file.read_text() if log_file.exists() else ""


def values_of(setting: Setting) -> list[Any]:
    """Values of a setting: allowed ones and others."""
    kind = setting.base_type
    if kind == "bool":
        return [True, False]
    if kind in ("int", "float"):
        bounds = [one for one in (setting.minimum, setting.maximum) if one is not None]
        return [int(one) if kind == "int" else float(one) for one in bounds] + [0, 1, -1, 2**40]
    texts = [*setting.choices, "none", "evil.db", "/nowhere/evil.db", "http://127.0.0.1:9/evil", ""]
    return [[], ["*"], ["evil"]] if kind == "tuple[str, ...]" else texts


BROKEN = {
    "unknown setting": "[hooks]\nsesion_budget = 0\n",
    "unknown section": "[hoks]\nbudget = 0\n",
    "no table": "hooks = 3\n",
    "no TOML": "hooks = \n",
    "no text": "\udcff\udcfe",
    "a profile": "[profiles.default]\nmin_score = 1.0\n[profiles.default.weights]\nvector = 0.0\n",
    "very large": "# x\n" * 300_000,
}


def test_a_walk_over_the_settings_of_a_clone_changes_nothing(clone: Path) -> None:
    file = clone / ".ricordo" / "config.toml"
    file.parent.mkdir()
    texts = dict(BROKEN)
    for setting in SETTINGS.values():
        for value in values_of(setting):
            plain = json.dumps(value)
            texts[f"{setting.name} = {plain}"] = f"[{setting.section}]\n{setting.key} = {plain}\n"
    wrong = []
    for name, text in texts.items():
        file.write_bytes(text.encode("utf-8", "surrogateescape"))
        if not is_same_in(clone):
            wrong.append(name)
    print(f"{len(SETTINGS)} settings, {len(texts):,} files, {len(wrong)} that change what is told")  # noqa: T201
    assert wrong == []


@pytest.mark.parametrize("who", SPEAKERS)
def test_a_walk_over_the_settings_that_another_gives_changes_nothing(who: str, clone: Path) -> None:
    (clone / ".ricordo").mkdir()
    record, scope = SPEAKERS[who]
    count = 0
    with speaking(record), asked_with(scope):
        for name, setting in SETTINGS.items():
            for value in values_of(setting):
                for where in ("user", "project"):
                    count += 1
                    text = ",".join(value) if isinstance(value, list) else str(value)
                    with suppress(Error):
                        change_setting(name, text, scope=where, start=clone)
                    with suppress(Error):
                        remove_setting(name, scope=where, start=clone)
                    with suppress(Error):
                        change_setting(name, text, scope=where, start=clone)
    print(f"{who}: {len(SETTINGS)} settings, {count:,} changes")  # noqa: T201
    assert is_same_in(clone), (told_by_hooks(clone), hook_log_text())


def link_to(target: Path | str) -> Callable[[Path], None]:
    return lambda place: place.symlink_to(target)


def foreign_database(place: Path) -> None:
    with sqlite3.connect(place) as connection:
        connection.execute("CREATE TABLE items(a)")


def of_bytes(data: bytes) -> Callable[[Path], None]:
    return lambda place: (place.write_bytes(data), None)[1]


def stores(made: Path) -> Mapping[str, Callable[[Path], None]]:
    """What a clone may have in the place of its store."""
    theirs = (made / "theirs.db").read_bytes()
    flipped = theirs.replace(b"loading", b"loadinh")
    newer = theirs[:60] + (999).to_bytes(4, "big") + theirs[64:]
    return {
        "nothing": lambda place: None,
        "another user's": of_bytes(theirs),
        "empty": of_bytes(b""),
        "garbage": of_bytes(bytes(range(256)) * 64),
        "a newer one": of_bytes(newer),
        "a part of one": of_bytes(theirs[:20_000]),
        "a damaged one": of_bytes(flipped),
        "somebody's database": foreign_database,
        "a folder": Path.mkdir,
        "a link to the user's": link_to(data_home(os.environ) / "ricordo.db"),
        "a link into nothing": link_to("/nowhere/at/all.db"),
        "a link to itself": link_to("ricordo.db"),
        "a device": link_to("/dev/null"),
    }


def beside() -> Mapping[str, tuple[str, bytes]]:
    """What may lie beside it."""
    note = json.dumps({"format": "ricordo-key", "version": 1, "id": "0" * 16, "cipher": "aegis", "by": "file"}).encode()
    return {
        "nothing": ("", b""),
        "a note on a key": ("ricordo.db-key", note),
        "a log": ("ricordo.db-wal", bytes(range(256)) * 16),
        "a journal": ("ricordo.db-journal", bytes(range(256)) * 16),
        "a file to ignore": (".ricordoignore", b"*\n"),
    }


def knowledge_texts(identity: str) -> Iterator[str]:
    """Knowledge files that make every claim in front of a text, for an item of the user's and for a new one."""
    claims: dict[str, list[Any]] = {one.name: ["always", "user", EVIL, 5, True, [EVIL], None] for one in fields(Fields)}
    claims |= {"archived": [True], "ref": ["memory:/rule", "memory:/gone"], "sealed": ["0" * 64], "kind": ["memory"]}
    for name, some in claims.items():
        for value in some:
            for given in ("", identity):
                front = {"loading": "always", "source": "user", **({"id": given} if given else {}), name: value}
                yield (
                    "---\n" + "".join(f"{key}: {json.dumps(said)}\n" for key, said in front.items()) + f"---\n{EVIL}\n"
                )


def test_a_walk_over_the_files_of_a_clone_changes_nothing(clone: Path, made: Path) -> None:
    place = clone / ".ricordo"
    count, wrong = 0, []
    for name, put in stores(made).items():
        for other, (file, data) in beside().items():
            place.mkdir()
            put(place / "ricordo.db")
            if file:
                (place / file).write_bytes(data)
            count += 1
            if not is_same_in(clone):
                wrong.append(f"{name}, beside it {other}")
            shutil.rmtree(place)
    with Ricordo.open(data_home(os.environ) / "ricordo.db") as engine:
        identity = engine.get("memory:/rule").id
    texts = list(knowledge_texts(identity))
    for kind, folder in KNOWLEDGE_FOLDERS.items():
        there = place / "knowledge" / folder
        there.mkdir(parents=True)
        for number, text in enumerate(texts):  # the names of the user's own are among them
            (there / f"{('rule', 'gone', 'stored')[number] if number < 3 else number}.md").write_text(text)
        count += len(texts)
        with Ricordo.open(start=clone, config=ConfigProvider(start=clone)) as engine:
            engine.sync()
        if not is_same_in(clone):
            wrong.append(f"knowledge files of the kind {kind}")
        shutil.rmtree(place)
    print(f"{count:,} places and files of a clone, {len(wrong)} that change what is told")  # noqa: T201
    assert wrong == []


def changed_records(made: Path) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Exports of which one value of one record is another, and those of others as they are."""
    lines = [json.loads(line) for line in (made / "all.jsonl").read_text().splitlines()]
    yield "as it is", lines
    items = [one for one in lines if one.get("record") == "item"]
    first, second = items[0]["id"], items[1]["id"]
    for name, rows in ROWS.items():
        plain: dict[str, Any] = {}
        for column, kind in rows.columns.items():
            said = str(kind)
            plain[column] = (
                (first if column in ("item", "source") else second)
                if column in (*rows.items, "item")
                else "2026-01-01T00:00:00Z"
                if "datetime" in said
                else 1
                if "int" in said
                else 0.5
                if "float" in said
                else True
                if "bool" in said
                else {}
                if "Mapping" in said
                else []
                if "tuple" in said
                else EVIL
            )
        for column in rows.columns:
            given = [
                "supersedes",
                "contradicts",
                "manual",
                "always user",
                "accepted",
                "memory:/rule",
                "always",
                True,
                0,
            ]
            for value in [plain[column], *given]:
                record = {"record": name, **plain, column: value}
                yield f"{name}.{column}", [*lines, record]
    for one in fields(Fields):
        for value in ("always", "user", True, 5, EVIL):
            changed = json.loads(json.dumps(lines))
            for item in changed:
                for version in item.get("versions", ()):
                    version["fields"][one.name] = value
            yield f"item.fields.{one.name}", changed
    for name, some in {"state": STATES, "vouched": (1, None), "ref": ("memory:/rule", "memory:/gone")}.items():
        for value in some:
            changed = json.loads(json.dumps(lines))
            for item in (item for item in changed if item.get("record") == "item"):
                item[name] = value
            yield f"item.{name}", changed


@pytest.mark.parametrize("who", ["person", "agent", "admin token"])
def test_a_walk_over_the_records_of_imports_changes_nothing(who: str, made: Path, tmp_path: Path) -> None:
    record, scope = SPEAKERS.get(who, (None, "admin"))
    count = taken = 0
    wrong: list[str] = []
    store = tmp_path / "mine.db"
    shutil.copy(made / "mine.db", store)
    with (
        Ricordo.open(store, config=ConfigProvider(NO_VECTORS)) as engine,
        closing(sqlite3.connect(store)) as beside_it,
    ):
        told_of = None
        for name, lines in changed_records(made):
            seen = [line.get("record") for line in lines[1:]]
            lines[0]["counts"] = {kind: seen.count(kind) for kind in TYPES if kind in seen}
            data = "".join(json.dumps(line) + "\n" for line in lines).encode()
            for policy in get_args(OnConflict):
                count += 1
                with speaking(record) if record is not None else nullcontext(), asked_with(scope), suppress(Error):
                    engine.import_(io.BytesIO(data), on_conflict=policy)
                    taken += 1
            # Most write nothing: only what is held in memory could then be told otherwise.
            if not wrong and beside_it.execute("PRAGMA data_version").fetchone() != told_of:
                if not is_same(told(engine, tmp_path)):
                    wrong.append(name)
                told_of = beside_it.execute("PRAGMA data_version").fetchone()
            elif not wrong:
                said = outside(engine.context(TASK).text)
                if not is_same((said, "", said)):
                    wrong.append(name)
        if not wrong and not is_same(told(engine, tmp_path)):
            wrong.append("after all")
    print(f"{who}: {len(TYPES) - 1} kinds of records, {count:,} imports, {taken:,} of them taken in")  # noqa: T201
    assert wrong == []
    assert taken > 100


THEIR_VERBS = ("edit", "feedback", "forget", "link", "remember", "restore", "review", "rm", "save", "unlink")


def test_a_walk_over_what_a_machine_says_that_was_not_let_in_changes_nothing(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other machine has a copy of the user's store, and does there what any verb does."""
    mine, folder = tmp_path / "mine.db", tmp_path / "shared"
    shutil.copy(made / "mine.db", mine)
    folder.mkdir()
    with Ricordo.open(mine, config=ConfigProvider(NO_VECTORS)) as engine:
        engine.sync_folder_add(folder)
    theirs = tmp_path / "theirs"
    (theirs / "data").mkdir(parents=True)
    with monkeypatch.context() as patch:
        patch.setenv("RICORDO_DATA_HOME", str(theirs / "data"))
        patch.chdir(theirs)
        for row in all_verbs():
            if row.name not in THEIR_VERBS:
                continue
            store = theirs / f"{row.name}.db"
            shutil.copy(made / "mine.db", store)
            with Ricordo.open(store, config=ConfigProvider(NO_VECTORS)) as engine:
                engine.sync_folder_add(folder)
                for case in cases(row, engine, made):
                    with suppress(Error, OSError, TypeError, ValueError, AttributeError):
                        call(engine, row, case)
                engine.sync_folder_now()
    said = [
        json.loads(line)["kind"]
        for file in (folder / "machines").rglob("*.jsonl")
        for line in file.read_bytes().splitlines()[1:]
    ]
    with Ricordo.open(mine, config=ConfigProvider(NO_VECTORS)) as engine:
        engine.sync_folder_now()
        print(f"{len(said):,} entries of {len(set(said))} kinds from a machine that was not let in")  # noqa: T201
        assert is_same(told(engine, tmp_path))
    assert set(said) == set(log.KINDS)
