"""What a program that imports Ricordo meets."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from ricordo import Error, Ricordo, StoreError, UsageError

README = Path(__file__).parents[2] / "README.md"


@pytest.fixture
def memory(tmp_path: Path) -> Any:
    with Ricordo.open(tmp_path / "a.db") as engine:
        engine.save("note:/keys", "Rotate the <signing> keys every quarter.", fields={"title": "Keys & locks"})
        engine.save("note:/lunch", "Soup on Monday.")
        yield engine


def test_an_answer_is_iterated_counted_and_shown(memory: Ricordo) -> None:
    answer = memory.search("rotate keys")
    assert [hit.ref for hit in answer] == [hit.ref for hit in answer.hits]
    assert (len(answer), answer[0].ref) == (len(answer.hits), "note:/keys")
    assert repr(answer).splitlines()[1].endswith("note:/keys:1  Keys & locks")
    assert not memory.search("zebra", by="words")


@pytest.mark.parametrize(
    "mistake",
    [
        lambda memory: memory.search(5),
        lambda memory: memory.search(None),
        lambda memory: memory.search("keys", limit="ten"),
        lambda memory: memory.search("keys", offset=None),
        lambda memory: memory.search("keys", filters={"kinds": ["note"]}),
        lambda memory: memory.search("keys", weights="vector=1"),
        lambda memory: memory.get(5),
        lambda memory: memory.get(None),
        lambda memory: memory.add(5),
        lambda memory: memory.remember(None),
        lambda memory: memory.remember(b"bytes", kind="note"),
        lambda memory: memory.save("note:/x", None),
        lambda memory: memory.correct("note:/keys", 3),
    ],
)
def test_an_argument_of_the_wrong_type_is_an_error_of_ours_that_names_it(memory: Ricordo, mistake: Any) -> None:
    with pytest.raises(UsageError, match=r"cannot be (int|NoneType|str|dict|bytes)") as caught:
        mistake(memory)
    assert caught.value.hint.startswith("Give ")


@pytest.mark.parametrize("kind", ["note", "entity", "resource", "entry"])
def test_each_kind_that_is_remembered_goes_to_its_drive(memory: Ricordo, kind: str) -> None:
    saved = memory.remember(f"A {kind} of its own.", kind=kind, title="Something")
    assert (saved.status, saved.ref) == ("created", f"{kind}:/something")


def test_the_modes_of_a_search_explain_themselves(memory: Ricordo) -> None:
    full = memory.search("rotate keys", mode="full")[0]
    assert full.item is not None
    assert full.explain is not None
    assert sum(share.contribution for share in full.explain.signals) == pytest.approx(full.explain.value)
    assert memory.search("rotate keys")[0].explain is None


def test_opening_a_store_in_a_folder_that_is_missing_makes_no_folders(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="there is no folder") as caught:
        Ricordo.open(tmp_path / "no" / "such" / "a.db")
    assert "mkdir -p" in caught.value.hint
    assert list(tmp_path.iterdir()) == []


def test_the_sample_of_the_readme_runs_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    for name in ("DATA", "CONFIG", "STATE"):
        monkeypatch.setenv(f"RICORDO_{name}_HOME", str(tmp_path / name.lower()))
    monkeypatch.delenv("RICORDO_STORE", raising=False)
    work = tmp_path / "work"
    (work / "docs").mkdir(parents=True)
    (work / "docs" / "keys.md").write_text("# Keys\n\nThe keys lie in the vault.\n")
    monkeypatch.chdir(work)
    sample = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)[0]
    for _ in range(2):
        try:
            exec(compile(sample, "README.md", "exec"), {})
        except Error as error:  # pragma: no cover - the message says which line of the sample is wrong
            pytest.fail(error.message)
        assert "Rotate the signing keys every quarter." in capsys.readouterr().out
