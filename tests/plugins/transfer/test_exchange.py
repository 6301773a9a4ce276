"""What is exported comes back as it was, whatever it is; what is not an export is refused, and nothing is written."""

from __future__ import annotations

import contextlib
import io
import json
import os
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import import_trusted
from tests.figures import figures

from ricordo import Entry, NotFound, PathConflict, Ricordo, Unreadable, UsageError
from ricordo.plugins.transfer.export_file import FORMAT_VERSION

Opener = Callable[..., Ricordo]


def exported(engine: Ricordo, **options: Any) -> bytes:
    out = io.BytesIO()
    engine.export(out, **options)
    return out.getvalue()


def taken(engine: Ricordo, data: bytes, **options: Any) -> dict[str, Any]:
    return import_trusted(engine, io.BytesIO(data), **options).to_dict()


def lines_of(data: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in data.split(b"\n") if line]


def joined(records: list[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def archive(engine: Ricordo, ref: str) -> None:
    engine.store.changes.archive([engine.store.items.require(engine.resolve(ref))])


@pytest.fixture
def full(engine: Ricordo, tmp_path: Path) -> Ricordo:
    """A store with something of everything."""
    folder = tmp_path / "files"
    folder.mkdir()
    front = "---\ntags: [a, ü]\naliases: [The Plan]\n---\n"
    (folder / "plan.md").write_text(f"{front}# Plan\n\nSee [[keys]].\n{'Word. ' * 900}", encoding="utf-8")
    (folder / "picture.bin").write_bytes(bytes(range(256)) * 40)
    (folder / "empty.txt").write_text("")
    engine.add(folder)
    engine.save(
        "note:/keys",
        "Rotate the keys every quarter.\u2028日本語 😀 \x85 tab\there",
        fields={
            "title": "Keys «ß»", "tags": ["safety", "ключ"], "importance": 4, "severity": "warning", "seq": 3,
            "thread": "t1", "valid_until": "2027-01-01", "metadata": {"z": 1, "a": [1.5, None, {"ü": "x"}]},
        },
    )  # fmt: skip
    engine.edit("note:/keys", "Rotate the keys every month.")
    engine.edit("note:/keys", fields={"title": "The keys"})
    engine.edit("note:/keys", "Rotate the keys every quarter.")
    engine.save("memory:/old", "The door code is 1234.")
    archive(engine, "memory:/old")
    engine.save("memory:/gone", "A thing to throw away, [[keys]] and all.", fields={"tags": ["rubbish"]})
    engine.rm("memory:/gone")
    engine.save("memory:/gone", "The same name again.")
    engine.rm("memory:/gone")
    engine.save("note:/back", "Thrown away and brought back.")
    engine.rm("note:/back")
    engine.restore("note:/back")
    engine.save("note:/here", "Moved about, see [keys](keys.md).")
    engine.mv("note:/here", "note:/there/now")
    engine.remember("Ada Lovelace", kind="entity")
    engine.save("memory:/ada", "Ada Lovelace keeps the spare keys.")
    engine.save("memory:/token", "curl https://ada:hunter2secret@example.org/", allow_secrets=True)
    engine.link("note:/keys", "note:/back", "supports")
    engine.link("note:/there/now", "note:/keys", "depends-on")
    for query in ("keys", "keys", "quarter", "nothing like it"):
        engine.search(query)
    engine.get("note:/keys")
    engine.get("note:/keys")
    for number in range(35):
        engine.feedback(f"query {number}", "note:/keys", "accepted" if number % 3 else "dismissed")
    engine.learn.rollback()
    engine.feedback("after", "note:/keys", "accepted")
    engine.learn.freeze()
    return engine


def test_an_export_taken_into_an_empty_store_is_exported_the_same(full: Ricordo, open_engine: Opener) -> None:
    first = exported(full)
    other = open_engine("other")
    report = taken(other, first)
    assert report["created"] == len([one for one in lines_of(first) if one["record"] == "item"])
    assert exported(other) == first
    assert other.doctor().ok
    third = open_engine("third")
    taken(third, exported(other))
    assert exported(third) == first


def test_an_export_holds_everything_by_kind(full: Ricordo) -> None:
    records = lines_of(exported(full))
    counts = {name: sum(one["record"] == name for one in records) for name in ("item", "link", "feedback", "root")}
    assert counts["item"] == full.count() + 3
    assert counts["link"] == 3
    assert {one["origin"] for one in records if one["record"] == "link"} == {"manual", "mention"}
    assert any(one.get("secrets") for one in records)
    assert counts["feedback"] == 36
    assert counts["root"] == 1
    assert {"learned", "weights", "query", "opening", "freeze"} <= {one["record"] for one in records}
    assert records[0]["counts"]["item"] == counts["item"]
    keys = next(one for one in records if one.get("ref") == "note:/keys")
    assert [version["number"] for version in keys["versions"]] == [1, 2, 3, 4]
    texts = ["".join(keys["chunks"][part[0]]["text"] for part in version["layout"]) for version in keys["versions"]]
    assert texts[1:] == ["Rotate the keys every month."] * 2 + ["Rotate the keys every quarter."]
    assert keys["usage"]["access_count"] == 2


def test_what_was_taken_in_behaves_as_before(full: Ricordo, open_engine: Opener) -> None:
    other = open_engine("other")
    taken(other, exported(full))
    for query in ("keys", "door code", "rotate month", "word plan", "日本語", "throw away"):
        before = [(hit.ref, hit.score, hit.lines) for hit in full.search(query, track=False).hits]
        assert [(hit.ref, hit.score, hit.lines) for hit in other.search(query, track=False).hits] == before
    assert other.history("note:/keys") == full.history("note:/keys")
    for version in (1, 2, 3, 4):
        texts = [one.get("note:/keys", version=version, track=False).content for one in (full, other)]
        assert texts[0] == texts[1]
    assert other.links("note:/keys").to_dict() == full.links("note:/keys").to_dict()
    assert other.learn.status().to_dict() == full.learn.status().to_dict()
    assert figures(other).to_dict() == figures(full).to_dict()
    assert other.restore("memory:/gone").status == "updated"
    assert other.get("memory:/gone").content == "The same name again."
    assert (
        other.get("memory:/gone").id == full.store.items.get(full.store.items.require(full.resolve("memory:/gone"))).id
    )
    assert other.doctor().ok


def test_a_search_as_of_a_date_finds_the_same_after_an_import(engine: Ricordo, open_engine: Opener) -> None:
    moments = [datetime.now(UTC)]

    def then() -> None:
        time.sleep(0.002)
        moments.append(datetime.now(UTC))
        time.sleep(0.002)

    engine.save("note:/door", "The door code is blue.")
    then()
    engine.edit("note:/door", "The door code is green.")
    then()
    archive(engine, "note:/door")
    then()
    engine.restore("note:/door", version=1)
    then()
    engine.rm("note:/door")
    then()
    engine.restore("note:/door")
    then()
    other = open_engine("other")
    taken(other, exported(engine))
    answers = []
    for moment in moments:
        found = [(hit.ref, hit.snippet) for hit in engine.search("door code", as_of=moment).hits]
        assert [(hit.ref, hit.snippet) for hit in other.search("door code", as_of=moment).hits] == found
        answers.append(bool(found))
    assert True in answers
    assert False in answers


def test_a_later_change_keeps_the_passages_it_shares_with_what_was_taken_in(
    full: Ricordo, open_engine: Opener, tmp_path: Path
) -> None:
    other = open_engine("other")
    taken(other, exported(full))
    path = tmp_path / "files" / "plan.md"
    path.write_text(path.read_text() + "\nOne more line.\n")
    changed = other.refresh(all=True).to_dict()
    again = full.refresh(all=True).to_dict()
    assert changed["updated"] == 1
    assert changed["chunks"] == again["chunks"]
    assert changed["unchanged"] == again["unchanged"] > 0


def test_taking_the_same_file_in_again_changes_nothing(full: Ricordo) -> None:
    first = exported(full)
    for policy in ("skip", "overwrite"):
        report = taken(full, first, on_conflict=policy)
        assert report["created"] == report["updated"] == report["failed"] == 0
        assert report["records"] == {}
        assert exported(full) == first


def test_a_conflict_with_error_writes_nothing_at_all(engine: Ricordo, open_engine: Opener) -> None:
    engine.save("note:/a", "new")
    engine.save("note:/b", "from the file")
    other = open_engine("other")
    other.save("note:/b", "here before")
    before = exported(other)
    with pytest.raises(PathConflict, match="note:/b"):
        taken(other, exported(engine), on_conflict="error")
    assert exported(other) == before


def test_a_conflict_with_skip_keeps_what_is_there_and_links_to_it(engine: Ricordo, open_engine: Opener) -> None:
    engine.save("note:/a", "new")
    engine.save("note:/b", "from the file")
    engine.link("note:/a", "note:/b", "supports")
    other = open_engine("other")
    other.save("note:/b", "here before")
    report = taken(other, exported(engine))
    assert {one["ref"]: one["status"] for one in report["items"]} == {"note:/a": "created", "note:/b": "skipped"}
    assert other.get("note:/b").content == "here before"
    assert [(link.type, link.ref) for link in other.links("note:/a").links] == [("supports", "note:/b")]


def test_a_conflict_with_overwrite_moves_what_was_there_to_the_bin(engine: Ricordo, open_engine: Opener) -> None:
    engine.save("note:/b", "from the file")
    engine.edit("note:/b", "from the file, later")
    other = open_engine("other")
    other.save("note:/b", "here before")
    other.save("note:/c", "neighbour")
    other.link("note:/c", "note:/b", "extends")
    report = taken(other, exported(engine), on_conflict="overwrite")
    assert report["updated"] == 1
    assert other.get("note:/b").content == "from the file, later"
    assert other.get("note:/b").id == engine.get("note:/b").id
    assert [link.ref for link in other.links("note:/c").links] == ["note:/b"]
    assert [hit.ref for hit in other.search("here before").hits] == []
    other.mv("note:/b", "note:/b2")
    other.restore("note:/b")
    assert other.get("note:/b").content == "here before"
    assert other.doctor().ok


def test_an_immutable_item_is_not_overwritten_and_the_rest_goes_on(engine: Ricordo, open_engine: Opener) -> None:
    engine.save("note:/law", "changed law")
    engine.save("note:/other", "other text")
    other = open_engine("other")
    other.save("note:/law", "the law", fields={"immutable": True})
    report = taken(other, exported(engine), on_conflict="overwrite")
    assert (report["failed"], report["created"]) == (1, 1)
    assert next(one for one in report["items"] if one["ref"] == "note:/law")["error"]["code"] == "conflict"
    assert other.get("note:/law").content == "the law"


def test_an_id_that_is_taken_is_not_given_twice(engine: Ricordo, open_engine: Opener) -> None:
    engine.save("note:/a", "text")
    engine.save("note:/z", "another")
    engine.link("note:/z", "note:/a")
    data = exported(engine)
    engine.mv("note:/a", "note:/moved")
    report = taken(engine, data)
    assert report["created"] == 1
    assert engine.get("note:/a").id != engine.get("note:/moved").id
    assert engine.doctor().ok


def test_a_store_that_never_held_words_takes_the_language_of_the_file(open_engine: Opener) -> None:
    german = open_engine("german", **{"lexical.language": "german"})
    german.save("note:/a", "Die Häuser am Hafen.")
    other = open_engine("other")
    taken(other, exported(german))
    assert exported(other) == exported(german)
    assert [hit.ref for hit in other.search("Haus").hits] == ["note:/a"]
    english = open_engine("english")
    english.save("note:/b", "houses")
    assert "german" in taken(english, exported(german))["notes"][0]
    assert english.doctor().ok


def test_vectors_follow_an_import_for_old_versions_too(meaning: Ricordo, open_engine: Opener) -> None:
    meaning.save("note:/a", "a recipe for sourdough bread")
    moment = datetime.now(UTC)
    meaning.edit("note:/a", "how to sail against the wind")
    other = open_engine("other", vectors=True)
    taken(other, exported(meaning), wait=False)
    assert other.embed(status=True).to_dict()["pending"] == 2
    other.embed()
    for engine in (meaning, other):
        assert [hit.ref for hit in engine.search("baking a loaf", as_of=moment, limit=1, by="meaning").hits] == [
            "note:/a"
        ]
    assert other.doctor().ok


def test_the_log_can_be_left_out(full: Ricordo) -> None:
    names = {one["record"] for one in lines_of(exported(full, log=False))}
    assert names.isdisjoint({"query", "opening"})
    assert {"item", "feedback"} <= names


def test_an_exported_file_is_for_its_owner_only_and_replaces_nothing_unasked(full: Ricordo, tmp_path: Path) -> None:
    target = tmp_path / "all.jsonl"
    report = full.export(target)
    assert report.bytes == target.stat().st_size
    if os.name == "posix":
        assert stat.S_IMODE(target.stat().st_mode) == 0o600
    with pytest.raises(PathConflict):
        full.export(target)
    before = target.read_bytes()
    full.export(target, force=True)
    assert target.read_bytes() == before
    assert [path.name for path in tmp_path.glob("all*")] == ["all.jsonl"]


def test_importing_a_file_that_is_not_there_says_so(engine: Ricordo, tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        import_trusted(engine, tmp_path / "none.jsonl")
    with pytest.raises(UsageError):
        engine.import_(tmp_path / "none.jsonl", format="papyrus")


def _cut_line(data: bytes) -> bytes:
    return data[: len(data) // 2]


def _cut_end(data: bytes) -> bytes:
    return b"".join(line + b"\n" for line in data.split(b"\n")[:2])


def _changed(change: Callable[[list[dict[str, Any]]], None]) -> Callable[[bytes], bytes]:
    def damage(data: bytes) -> bytes:
        records = lines_of(data)
        change(records)
        return joined(records)

    return damage


def _item(records: list[dict[str, Any]]) -> dict[str, Any]:
    return next(one for one in records if one["record"] == "item" and one["chunks"])


def _newer(records: list[dict[str, Any]]) -> None:
    records[0]["version"] = FORMAT_VERSION + 1


DAMAGE: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "empty": (lambda data: b"", "empty"),
    "other text": (lambda data: b"# Notes\n\nSome Markdown.\n", "not an export"),
    "other JSON": (lambda data: b'{"results": []}\n', "not an export"),
    "newer": (_changed(_newer), f"format {FORMAT_VERSION + 1}"),
    "cut in a line": (_cut_line, "cut off"),
    "cut between lines": (_cut_end, "cut off"),
    "bad JSON": (lambda data: data.replace(b'"record":"item"', b'"record":"item",,', 1), "line 2"),
    "no UTF-8": (lambda data: data.replace(b"quarter", b"\xff\xfe", 1), "line"),
    "half a letter": (_changed(lambda records: _item(records)["versions"][0]["fields"].update(title="\ud800")), "Uni"),
    "half a letter in its bytes": (lambda data: data.replace(b"quarter", b"\xed\xa0\x80", 1), "Uni"),
    "unknown record": (_changed(lambda records: records[1].update(record="spell")), "line 2"),
    "header twice": (_changed(lambda records: records.insert(1, records[0])), "line 2"),
    "missing key": (_changed(lambda records: _item(records).pop("versions")), "'versions' is missing"),
    "unknown key": (_changed(lambda records: _item(records).update(colour="red")), "'colour' is not known"),
    "bad time": (_changed(lambda records: _item(records).update(created_at="soon")), "'created_at' is not a time"),
    "bad ref": (_changed(lambda records: _item(records).update(ref="nowhere")), "'ref'"),
    "bad state": (_changed(lambda records: _item(records).update(state="asleep")), "state is 'asleep'"),
    "bad field": (_changed(lambda records: _item(records)["versions"][0]["fields"].update(title=[1])), "title"),
    "changed text": (_changed(lambda records: _item(records)["chunks"][0].update(text="other")), "version"),
    "lost head": (_changed(lambda records: _item(records).update(version=9)), "version 9"),
    "wild layout": (_changed(lambda records: _item(records)["versions"][0].update(layout=[[99, 0, 1, 1]])), "passages"),
    "items after links": (_changed(lambda records: records.append(records.pop(1))), "comes after records"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_bad_file_is_refused_and_nothing_is_written(engine: Ricordo, open_engine: Opener, name: str) -> None:
    damage, message = DAMAGE[name]
    engine.save("note:/keys", "Rotate the keys every quarter.", fields={"title": "Keys"})
    engine.save("note:/locks", "Locks and their keys.")
    engine.link("note:/keys", "note:/locks")
    engine.search("keys")
    bad = damage(exported(engine))
    other = open_engine("other")
    before = exported(other)
    with pytest.raises(Unreadable) as caught:
        taken(other, bad)
    assert message in caught.value.message
    assert caught.value.hint
    assert exported(other) == before


_IMPORTER = """
import sys
from pathlib import Path
from ricordo import ConfigProvider, Ricordo
from ricordo.config.trust_lists import TRUSTED, note_place
from ricordo.engine import transfer
transfer._BATCH_ITEMS = 20
with Ricordo.open(sys.argv[1], config=ConfigProvider({"embedding.provider": "none"})) as engine:
    print("ready", flush=True)
    note_place(Path(sys.argv[2]).parent, TRUSTED)
    engine.import_(sys.argv[2])
"""


def test_an_import_that_is_killed_leaves_whole_items_and_can_be_done_again(
    full: Ricordo, open_engine: Opener, tmp_path: Path
) -> None:
    full.save_many([Entry(f"note:/many/{n}", f"Number {n}, [[{n + 1}]].", "note") for n in range(300)], wait=False)
    full.export(tmp_path / "all.jsonl")
    wanted = (tmp_path / "all.jsonl").read_bytes()
    for attempt in range(5):
        with subprocess.Popen(
            [sys.executable, "-c", _IMPORTER, str(tmp_path / "other.db"), str(tmp_path / "all.jsonl")],
            stdout=subprocess.PIPE,
        ) as process:
            assert process.stdout is not None
            process.stdout.readline()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.1 * (attempt + 1))
            process.kill()
        other = open_engine("other")
        assert other.doctor().ok
        assert set(exported(other).split(b"\n")[1:]) <= set(wanted.split(b"\n"))
        other.close()
    other = open_engine("other")
    import_trusted(other, tmp_path / "all.jsonl")
    assert exported(other) == wanted
    assert other.doctor().ok


def test_many_items_come_back_in_several_batches(
    engine: Ricordo, open_engine: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ricordo.plugins.transfer.export_file._BATCH_ITEMS", 50)
    monkeypatch.setattr("ricordo.plugins.transfer.export_file._BATCH_OTHERS", 100)
    engine.save_many([Entry(f"note:/{n}", f"Number {n}, [[{n + 1}]].", "note") for n in range(123)], wait=False)
    other = open_engine("other")
    assert taken(other, exported(engine))["created"] == 123
    assert exported(other) == exported(engine)
    assert other.doctor().ok


def test_an_export_whose_fields_were_changed_by_hand_is_refused_with_its_line(
    engine: Ricordo, open_engine: Opener
) -> None:
    engine.save("note:/otters", "A fact about otters.", fields={"tags": ["river"]})
    changed = exported(engine).replace(b'"river"', b'"lake"')
    other = open_engine("other")
    for take in (other.import_, partial(import_trusted, other)):
        with pytest.raises(Unreadable, match=r"line 2: .*version 1: its fields are not what their hash says"):
            take(io.BytesIO(changed))
    assert other.count() == 0
    assert taken(other, exported(engine))["items"][0]["status"] == "created"


def test_a_record_without_a_name_is_refused_with_its_line(engine: Ricordo) -> None:
    engine.save("note:/otters", "A fact about otters.")
    data = exported(engine).replace(b'"record":"item"', b'"record":[]')
    with pytest.raises(Unreadable, match="is not a type of record"):
        engine.import_(io.BytesIO(data))


def test_a_text_of_blanks_alone_comes_back_as_it_was(engine: Ricordo, open_engine: Opener, tmp_path: Path) -> None:
    (tmp_path / "blank.md").write_bytes(b" \n\n")
    engine.add(tmp_path / "blank.md")
    assert engine.get(str(tmp_path / "blank.md")).content == " \n\n"
    assert engine.doctor().ok
    other = open_engine("other")
    assert taken(other, exported(engine))["items"][0]["status"] == "created"


@pytest.mark.parametrize("name", ["0.1.0", "0.2.0"])
def test_exports_of_earlier_versions_come_in_with_everything(open_engine: Opener, name: str) -> None:
    data = (Path(__file__).parents[2] / "fixtures" / "exports" / f"{name}.jsonl").read_bytes()
    engine = open_engine()
    assert taken(engine, data)["failed"] == 0
    before, after = lines_of(data)[1:], lines_of(exported(engine))[1:]
    assert len(after) == len(before)
    for one, other in zip(before, after, strict=True):
        assert other.keys() >= one.keys()
        assert {key: other[key] for key in one if key not in ("indexed_at", "versions")} == {
            key: value for key, value in one.items() if key not in ("indexed_at", "versions")
        }
        for version, now in zip(one.get("versions", ()), other.get("versions", ()), strict=True):
            assert version.items() <= now.items() if name == "0.2.0" else version["hash"] == now["hash"]
    assert engine.doctor().ok
    assert taken(engine, data)["created"] == 0, "a second time, nothing is new"
    assert exported(engine) == exported(engine)


def test_what_a_folder_holds_comes_with_an_export(open_engine: Any, tmp_path: Path) -> None:
    engine, other = open_engine(), open_engine("other")
    for name in ("board", "plain"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.md").write_text(f"the minutes of {name}")
        engine.add(tmp_path / name, globs=["*.md"])
    engine.describe_root(tmp_path / "board", "minutes of the board")
    engine.export(tmp_path / "all.jsonl")
    import_trusted(other, tmp_path / "all.jsonl")
    assert [(root.path, root.globs, root.about) for root in other.roots()] == [
        (str(tmp_path / "board"), ("*.md",), "minutes of the board"), (str(tmp_path / "plain"), ("*.md",), ""),
    ]  # fmt: skip
