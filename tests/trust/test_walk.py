"""Nobody but the user changes what agents are told as the user's words, by whichever verb and option, nor has a secret
kept in clear.

The cases are made from the rows of the verbs, so that a new one is among them by itself. ``pytest tests/trust -k walk
-rP`` prints how many there are.
"""

from __future__ import annotations

import io
import itertools
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ricordo import ConfigProvider, Ricordo
from ricordo.errors import Error
from ricordo.permissions import asked_with
from ricordo.speaking import speaking
from ricordo.verbs.index import all_verbs
from ricordo.verbs.rows import ParamRow, VerbRow, call

from .walking import CLAIMS, EVIL, NO_VECTORS, SECRET, SPEAKERS, is_same, make, told


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("made")
    make(place)
    return place


def values(param: ParamRow, engine: Ricordo, made: Path) -> list[Any]:
    """The classes of values of a parameter."""
    if param.choices:
        found: list[Any] = list(param.choices)
    elif param.name == "step":
        found = [step.id for step in engine.undo(list=True).steps]
    elif param.kind == "ref" or param.name in ("ref", "refs", "old", "new", "name", "source_ref", "replacement"):
        found = ["memory:/rule", "memory:/gone", "memory:/stored", "memory:/claim", "memory:/", "note:/mine"]
    elif param.kind == "flag":
        found = [True, False]
    elif param.kind in ("integer", "number"):
        found = [0, 1]
    elif param.kind in ("time", "since", "span"):
        found = ["1d", "0d", "2020-01-01"]
    elif param.kind in ("path", "python"):
        found = [made / "all.jsonl", made / "folder", made / "target"]
    elif param.kind in ("fields", "object"):
        found = [CLAIMS, {"loading": None}]
    else:
        found = [EVIL, f"{EVIL} {SECRET}", "always", "user", "memory:/evil", str(made / "folder")]
    return [[one] for one in found] if param.many or param.positional else found


def cases(row: VerbRow, engine: Ricordo, made: Path) -> Iterator[dict[str, Any]]:
    """The required values of a verb in all classes; with the first of these for each, every option in all of its."""
    params = [param for param in row.params if param.name != "progress"]
    needed = [p for p in params if p.required or p.argument or p.positional or p.kind == "ref"]
    options = [p for p in params if p not in needed]
    bases = [
        dict(zip([p.name for p in needed], chosen, strict=True))
        for chosen in itertools.islice(itertools.product(*(values(p, engine, made) for p in needed)), 24)
    ]
    yield from bases
    for option in options:
        for value in values(option, engine, made):
            yield from ({**base, option.name: value} for base in bases[:3])


def walked() -> list[VerbRow]:
    """All verbs but those of teams, which need a server, and ``watch``, which waits for ever."""
    return [row for row in all_verbs() if not row.name.startswith("team.") and row.name != "watch"]


@pytest.mark.parametrize("who", SPEAKERS)
def test_no_verb_changes_what_is_told_as_the_users_words(
    who: str, made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    record, scope = SPEAKERS[who]
    wrong, count = [], 0
    for row in walked():
        store = tmp_path / f"{row.name}.db"
        shutil.copy(made / "mine.db", store)
        with Ricordo.open(store, config=ConfigProvider(NO_VECTORS)) as engine:
            for case in cases(row, engine, made):
                count += 1
                with speaking(record), asked_with(scope), monkeypatch.context() as patch:
                    patch.setattr(sys, "stdout", SimpleNamespace(buffer=io.BytesIO()))
                    try:
                        call(engine, row, case)
                    except (Error, OSError, TypeError, ValueError, AttributeError):
                        continue
        with Ricordo.open(store, config=ConfigProvider(NO_VECTORS)) as engine:
            if not is_same(told(engine, tmp_path)):
                wrong.append(row.name)
        wrong += [
            f"{row.name}: {file.name} has a secret"
            for file in written(store, tmp_path)
            if SECRET.encode() in file.read_bytes()
        ]
    print(f"{who}: {len(walked())} verbs, {count:,} calls, {len(wrong)} that change what is told or keep a secret")  # noqa: T201 - the figure
    assert wrong == []
    assert count > 1000


def written(store: Path, folder: Path) -> list[Path]:
    """The store and all logs."""
    state = Path(os.environ["RICORDO_STATE_HOME"])
    return [*folder.glob(f"{store.name}*"), *(file for file in state.rglob("*") if file.is_file())]
