"""A folder with files of every format, those of the core and documents, is taken in and found again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.ingest.test_parse_formats import MANIFEST
from tests.scenarios.test_folder import FORMATS, find, state_of, statuses

from ricordo import ConfigProvider, Ricordo
from ricordo.values.reports import AddReport


@pytest.fixture(scope="module")
def formats(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Ricordo, AddReport]]:
    """All example files in one store, and what adding them said."""
    path = tmp_path_factory.mktemp("formats") / "store.db"
    with Ricordo.open(path, config=ConfigProvider({"embedding.provider": "none"})) as engine:
        yield engine, engine.add(FORMATS)


class TestEveryFormat:
    def test_every_file_is_in(self, formats: tuple[Ricordo, AddReport]) -> None:
        engine, report = formats
        wanted = {entry["file"] for entry in MANIFEST} | {"manifest.json"}
        assert set(statuses(report, FORMATS)) == wanted
        assert {item.status for item in report.items} == {"created"}
        assert report.notes == ()
        assert engine.count() == len(wanted)

    @pytest.mark.parametrize("entry", MANIFEST, ids=lambda entry: entry["file"])
    def test_a_phrase_from_its_middle_finds_it_at_the_right_place(
        self, entry: dict[str, object], formats: tuple[Ricordo, AddReport]
    ) -> None:
        engine, _ = formats
        hits = {hit.ref: hit for hit in find(engine, f'"{entry["phrase"]}"')}
        hit = hits[f"disk:{FORMATS / str(entry['file'])}"]
        assert hit.title == (entry["title"] or Path(str(entry["file"])).name)
        if "line" in entry:
            assert hit.lines[0] <= int(str(entry["line"])) <= hit.lines[1]
        assert hit.place == entry.get("place", "")
        item = engine.get(hit.ref)
        start, end = (line - item.first_line for line in hit.lines)
        passage = "\n".join(item.content.split("\n")[start : end + 1])
        assert str(entry["phrase"]) in passage

    def test_a_second_add_writes_nothing(self, formats: tuple[Ricordo, AddReport]) -> None:
        engine, first = formats
        before = state_of(engine)
        report = engine.add(FORMATS)
        assert {item.status for item in report.items} == {"skipped"}
        assert {item.reason for item in report.items} == {"already in the store"}
        assert len(report.items) == len(first.items)
        assert state_of(engine) == before
