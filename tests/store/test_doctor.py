"""Doctor sees what is wrong with a derived thing, and rebuilds it from what is canonical."""

from __future__ import annotations

import hashlib
import shutil
from collections import namedtuple
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from ricordo import Entry, Ricordo, StoreError

LINK = "source, target, type, origin, text, name, created_at"
NUL = hashlib.sha256(b"\0").hexdigest()
DAMAGE = {
    "references": [
        "INSERT INTO usage(item) VALUES(999)",
        "INSERT INTO item_tags VALUES('lost', 999)",
        "INSERT INTO secrets VALUES(999, 'token', 1)",
        f"INSERT INTO links({LINK}) VALUES(1, 999, 'x', 'manual', '', '', 0)",
        f"INSERT INTO links({LINK}) VALUES(1, NULL, 'x', 'manual', '', '', 0)",
        "INSERT INTO feedback(query, item, ref, verdict, counted, at) VALUES('q', 999, 'note:/x', 'accepted', 1, 0)",
        "INSERT INTO jobs(fingerprint, chunk, kind, state) VALUES(1, 9999, 'note', 'pending')",
    ],
    "files without text": [f"INSERT INTO blobs VALUES('{NUL}', x'00')"],
    "fields": [
        "UPDATE items SET description = 'Someone else' WHERE n = 3",
        "UPDATE items SET fields = json_set(fields, '$.importance', 5) WHERE n = 3",
        "DELETE FROM item_tags WHERE item = 3",
        "INSERT INTO item_tags VALUES('stray', 3)",
    ],
    "links": [
        "UPDATE links SET target = NULL WHERE source = 2 AND origin = 'text'",
        "UPDATE links SET target = 7 WHERE source = 2 AND origin = 'text'",
        "DELETE FROM links WHERE source = 2 AND origin = 'text'",
        "DELETE FROM item_names WHERE item = 3",
        "INSERT INTO item_names VALUES('impostor', 4)",
    ],
    "keyword index": [
        "DELETE FROM postings WHERE term = 'whale'",
        "UPDATE lexical_stats SET total = total + 1 WHERE field = 5",
        "DELETE FROM segments",
        "INSERT INTO retired(chunk, state) SELECT min(id), 2 FROM chunks",
    ],
    "vectors": [
        "DELETE FROM vector_blocks",
        "UPDATE vectors SET vector = x'00000000'",
        "UPDATE vector_blocks SET sketches = zeroblob(length(sketches))",
    ],
}


@pytest.fixture
def filled(meaning: Ricordo) -> Ricordo:
    meaning.save_many(
        [
            Entry(f"note:/{n}", f"whale song number {n} in the northern sea, [[{n + 1}]]", "note", {"tags": ["sea"]})
            for n in range(12)
        ],
        wait=False,
    )
    meaning.embed()
    return meaning


def _hurt(engine: Ricordo, sql: str) -> None:
    """Change the file behind the engine's back, without the guard over references."""
    with closing(apsw.Connection(engine.location)) as raw:
        raw.set_busy_timeout(5_000)
        raw.execute(sql).fetchall()


@pytest.mark.parametrize(("name", "damage"), [(name, sql) for name, each in DAMAGE.items() for sql in each])
def test_damage_is_seen_and_repaired(filled: Ricordo, name: str, damage: str) -> None:
    assert filled.doctor().ok
    _hurt(filled, damage)
    report = filled.doctor()
    assert [check.name for check in report.checks if not check.ok] == [name]
    assert filled.doctor(repair=True).ok
    filled.embed()
    again = filled.doctor()
    assert all(check.ok for check in again.checks), again
    answer = filled.search("whale song 7", limit=20)
    assert len(answer.hits) == 12
    assert answer.meta.degraded == ()


def test_rebuilding_the_keyword_index_changes_no_answer(filled: Ricordo) -> None:
    filled.edit("note:/3", "a kraken sleeps below")
    filled.rm("note:/5")
    before = [(hit.ref, hit.score) for hit in filled.search("whale kraken sea", limit=20, by="words").hits]
    with filled.store.database.write() as connection:  # type: ignore[attr-defined]
        connection.rows("DELETE FROM segments")
    assert filled.doctor(repair=True).ok
    after = [(hit.ref, hit.score) for hit in filled.search("whale kraken sea", limit=20, by="words").hits]
    assert after == before


def test_a_text_that_lost_its_item_is_reported_and_left_alone(filled: Ricordo) -> None:
    _hurt(filled, "DELETE FROM items WHERE n = 5")
    report = filled.doctor(repair=True)
    assert not report.ok
    broken = next(check for check in report.checks if check.name == "references")
    assert not broken.repaired
    assert "versions" in broken.detail
    with filled.store.database.read() as connection:  # type: ignore[attr-defined]
        assert connection.rows("SELECT count(*) FROM versions WHERE item = 5") == [(1,)]


def test_bytes_that_changed_are_reported(open_engine: Callable[..., Ricordo], tmp_path: Path) -> None:
    engine = open_engine(**{"ingest.keep_binaries": True})
    (tmp_path / "a.bin").write_bytes(bytes(range(256)))
    engine.add(tmp_path / "a.bin")
    assert engine.doctor().ok
    _hurt(engine, "UPDATE blobs SET data = x'00'")
    assert not engine.doctor(repair=True).ok


@pytest.mark.parametrize(("free", "is_enough"), [(100_000_000, False), (100_000_001, True)])
def test_the_doctor_says_when_the_disk_is_nearly_full(
    engine: Ricordo, monkeypatch: pytest.MonkeyPatch, free: int, is_enough: bool
) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(10**12, 10**12 - free, free))
    (check,) = [one for one in engine.doctor().checks if one.name == "disk"]
    assert (check.ok, check.detail) == (is_enough, "0.1 GB free")


def test_a_vacuum_needs_room_for_the_new_file_and_its_log(engine: Ricordo, monkeypatch: pytest.MonkeyPatch) -> None:
    engine.save("note:/a", "Something to keep. " * 1_000)
    engine.store.transfer.vacuum(bin_days=engine.config.store.bin_days, full=True)
    size = Path(engine.location).stat().st_size
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(10**12, 0, 2 * size - 1))
    with pytest.raises(StoreError, match="rewriting the store needs"):
        engine.store.transfer.vacuum(bin_days=engine.config.store.bin_days, full=True)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(10**12, 0, 2 * size))
    engine.store.transfer.vacuum(bin_days=engine.config.store.bin_days, full=True)
