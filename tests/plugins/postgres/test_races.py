"""Two who change the same item at once, in a file and on a server: one wins, and the other is told."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.plugins.postgres import server as postgres_server

from ricordo import ConfigProvider, Ricordo
from ricordo.errors import Conflict, Error, StaleVersion
from ricordo.store.sql.changes import Changes
from ricordo.values.items import Saved

QUIET = ConfigProvider({"embedding.provider": "none"})


@pytest.fixture(params=["file", "server"])
def two(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Ricordo, Ricordo]]:
    """Two programs that have the same store open."""
    place = str(tmp_path / "store.db") if request.param == "file" else postgres_server.unused()
    with Ricordo.open(place, config=QUIET) as one, Ricordo.open(place, config=QUIET) as other:
        yield one, other


def at_once(monkeypatch: pytest.MonkeyPatch, method: str, *acts: Callable[[], Saved]) -> list[Saved | Error]:
    """What the acts answer or raise when all of them have read before the first one writes."""
    write = getattr(Changes, method)
    all_have_read = threading.Barrier(len(acts))
    waited = threading.local()

    def waiting(*given: Any, **options: Any) -> Any:
        if not getattr(waited, "once", False):
            waited.once = True
            all_have_read.wait(120)
        return write(*given, **options)

    monkeypatch.setattr(Changes, method, waiting)

    def told(act: Callable[[], Saved]) -> Saved | Error:
        try:
            return act()
        except Error as error:
            return error

    with ThreadPoolExecutor(len(acts)) as threads:
        return list(threads.map(told, acts))


def split(answers: list[Saved | Error]) -> tuple[Saved, Error]:
    [won] = [answer for answer in answers if isinstance(answer, Saved)]
    [lost] = [answer for answer in answers if isinstance(answer, Error)]
    return won, lost


def test_of_two_corrections_one_is_taken(two: tuple[Ricordo, Ricordo], monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = two
    one.remember("The office is in Lisbon.", ref="memory:/office")
    won, lost = split(
        at_once(
            monkeypatch,
            "succeed",
            lambda: one.correct("memory:/office", "The office is in Porto."),
            lambda: other.correct("memory:/office", "The office is in Faro."),
        )
    )
    assert isinstance(lost, Conflict)
    assert "memory:/office" in str(lost)
    assert one.get("memory:/office").corrected_by == won.ref
    assert [hit.ref for hit in one.search("where is the office", by="words").hits] == [won.ref]
    assert one.count() == 1


def test_of_a_correction_and_an_edit_the_later_is_told(
    two: tuple[Ricordo, Ricordo], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = two
    one.remember("The office is in Lisbon.", ref="memory:/office")
    version = one.get("memory:/office").version
    write = Changes.succeed

    def edited_before(*given: Any, **options: Any) -> Any:
        other.edit("memory:/office", "The office is in Lisbon, on the second floor.")
        return write(*given, **options)

    monkeypatch.setattr(Changes, "succeed", edited_before)
    with pytest.raises(Conflict, match="meanwhile"):
        one.correct("memory:/office", "The office is in Porto.")
    assert (one.get("memory:/office").version, one.count()) == (version + 1, 1)


def test_of_two_edits_both_are_kept_and_the_later_is_told(
    two: tuple[Ricordo, Ricordo], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = two
    one.save("note:/plan", "The first plan.")
    answers = at_once(
        monkeypatch, "rewrite", lambda: one.edit("note:/plan", "Plan A."), lambda: other.edit("note:/plan", "Plan B.")
    )
    assert [answer.status for answer in answers if isinstance(answer, Saved)] == ["updated"] * 2
    [told] = [answer.reason for answer in answers if isinstance(answer, Saved) and answer.reason]
    assert "changed meanwhile" in str(told)
    assert {one.get("note:/plan", version=number).content for number in (2, 3)} == {"Plan A.", "Plan B."}


def test_of_two_edits_of_a_version_one_is_taken(two: tuple[Ricordo, Ricordo], monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = two
    one.save("note:/plan", "The first plan.")
    won, lost = split(
        at_once(
            monkeypatch,
            "rewrite",
            lambda: one.edit("note:/plan", "Plan A.", base=1),
            lambda: other.edit("note:/plan", "Plan B.", base=1),
        )
    )
    assert isinstance(lost, StaleVersion)
    assert (won.version, len(one.history("note:/plan"))) == (2, 2)


def test_of_two_restores_one_is_taken(two: tuple[Ricordo, Ricordo], monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = two
    one.save("note:/plan", "The first plan.")
    one.edit("note:/plan", "The second plan.")
    one.edit("note:/plan", "The third plan.")
    won, lost = split(
        at_once(
            monkeypatch,
            "rewrite",
            lambda: one.restore("note:/plan", version=1),
            lambda: other.restore("note:/plan", version=2),
        )
    )
    assert isinstance(lost, StaleVersion)
    assert (won.version, len(one.history("note:/plan"))) == (4, 4)
