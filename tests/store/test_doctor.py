"""Doctor sees what is wrong with a derived thing, and rebuilds it from what is canonical."""

from __future__ import annotations

import pytest

from recollect import Entry, Recollect

DAMAGE = {
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
def filled(meaning: Recollect) -> Recollect:
    meaning.save_many(
        [Entry(f"note:/{n}", f"whale song number {n} in the northern sea", "note") for n in range(12)], wait=False
    )
    meaning.embed()
    return meaning


@pytest.mark.parametrize(("name", "damage"), [(name, sql) for name, each in DAMAGE.items() for sql in each])
def test_damage_is_seen_and_repaired(filled: Recollect, name: str, damage: str) -> None:
    assert filled.doctor().ok
    with filled.store.database.write() as connection:  # type: ignore[attr-defined]
        connection.rows(damage)
    report = filled.doctor()
    assert [check.name for check in report.checks if not check.ok] == [name]
    assert filled.doctor(repair=True).ok
    filled.embed()
    again = filled.doctor()
    assert all(check.ok for check in again.checks), again
    answer = filled.search("whale song 7", limit=20)
    assert len(answer.hits) == 12
    assert answer.meta.degraded == ()


def test_rebuilding_the_keyword_index_changes_no_answer(filled: Recollect) -> None:
    filled.edit("note:/3", "a kraken sleeps below")
    filled.rm("note:/5")
    before = [(hit.ref, hit.score) for hit in filled.search("whale kraken sea", limit=20, vectors=False).hits]
    with filled.store.database.write() as connection:  # type: ignore[attr-defined]
        connection.rows("DELETE FROM segments")
    assert filled.doctor(repair=True).ok
    after = [(hit.ref, hit.score) for hit in filled.search("whale kraken sea", limit=20, vectors=False).hits]
    assert after == before
