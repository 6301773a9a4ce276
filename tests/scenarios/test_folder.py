"""A folder with files of every kind is taken in, found again, and kept current."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.fakes import FakeEmbedder

from ricordo import ConfigProvider, NotFound, PathConflict, Ricordo, UsageError
from ricordo.ingest.files import FileReader
from ricordo.sources.disk import FoundFile
from ricordo.store.sql.items import layouts_of
from ricordo.store.sqlite.store import SqliteStore
from ricordo.values.hits import Hit
from ricordo.values.reports import AddReport, Progress, RefreshReport

FORMATS = Path(__file__).parent.parent / "fixtures" / "formats"


def write(root: Path, **texts: str) -> Path:
    """Files of a folder by name; two underscores stand for a dot, one for a slash."""
    for name, text in texts.items():
        path = root / name.replace("__", ".").replace("_", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def change(path: Path, text: str) -> None:
    """Write a file so that its time differs even where clocks are coarse."""
    before = path.stat().st_mtime_ns if path.exists() else 0
    path.write_text(text, encoding="utf-8")
    if path.stat().st_mtime_ns == before:
        os.utime(path, ns=(before + 1_000_000, before + 1_000_000))


def touch(path: Path) -> None:
    status = path.stat()
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 1_000_000_000))


def statuses(report: AddReport | RefreshReport, root: Path) -> dict[str, str]:
    return {item.ref.removeprefix(f"disk:{root}/"): item.status for item in report.items}


def find(engine: Ricordo, query: str) -> list[Hit]:
    return list(engine.search(query, track=False).hits)


def found(engine: Ricordo, query: str) -> list[str]:
    return [Path(hit.ref).name for hit in find(engine, query)]


def state_of(engine: Ricordo) -> object:
    """All that a write would change: the count of pages written, and what the store holds."""
    assert isinstance(engine.store, SqliteStore)
    with engine.store.database.read() as connection:
        tables = ("items", "versions", "chunks", "segments", "roots", "vocabulary", "meta")
        return [connection.rows(f"SELECT * FROM {table} ORDER BY 1") for table in tables]


def test_indexing_changes_no_file(engine: Ricordo, tmp_path: Path) -> None:
    folder = shutil.copytree(FORMATS, tmp_path / "formats")
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.rglob("*") if path.is_file()}
    engine.add(folder)
    touch(folder / "markdown" / "bees.md")
    before[folder / "markdown" / "bees.md"] = (
        (folder / "markdown" / "bees.md").read_bytes(),
        (folder / "markdown" / "bees.md").stat().st_mtime_ns,
    )
    engine.refresh(all=True)
    assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in before} == before


class TestAdd:
    def test_a_file_that_changed_is_skipped_with_the_advice_to_refresh(self, engine: Ricordo, tmp_path: Path) -> None:
        folder = write(tmp_path / "notes", a__md="the heron", b__md="the egret")
        engine.add(folder)
        change(folder / "a.md", "the bittern")
        report = engine.add(folder)
        reasons = {Path(item.ref).name: item.reason for item in report.items}
        assert "use 'ricordo refresh'" in str(reasons["a.md"])
        assert reasons["b.md"] == "already in the store"
        assert found(engine, "bittern") == []

    def test_overwrite_reads_again_and_writes_only_what_changed(self, engine: Ricordo, tmp_path: Path) -> None:
        folder = write(tmp_path / "notes", a__md="the heron", b__md="the egret")
        engine.add(folder)
        change(folder / "a.md", "the bittern")
        assert statuses(engine.add(folder, on_conflict="overwrite"), folder) == {"a.md": "updated", "b.md": "skipped"}

    def test_error_writes_nothing_and_opens_no_file(self, engine: Ricordo, tmp_path: Path) -> None:
        folder = write(tmp_path / "notes", a__md="the heron")
        engine.add(folder)
        write(folder, aa__md="new")
        with pytest.raises(PathConflict, match=r"a\.md is already in the store; nothing was written"):
            engine.add(folder, on_conflict="error")
        assert engine.count() == 1

    def test_a_file_named_twice_is_taken_once(self, engine: Ricordo, tmp_path: Path) -> None:
        folder = write(tmp_path / "notes", a__md="the heron")
        report = engine.add(folder, folder / "a.md", str(folder / "*.md"))
        assert [item.status for item in report.items] == ["created"]

    def test_globs_find_files_and_folders(self, engine: Ricordo, tmp_path: Path) -> None:
        folder = write(tmp_path / "notes", a__md="one", sub_b__md="two", sub_c__txt="three")
        assert statuses(engine.add(str(folder / "**" / "*.md")), folder) == {"a.md": "created", "sub/b.md": "created"}
        assert statuses(engine.add(str(folder / "s*")), folder) == {"sub/b.md": "skipped", "sub/c.txt": "created"}

    def test_a_name_that_starts_with_a_tilde_is_a_file_like_any_other(
        self, engine: Ricordo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "~odd.md").write_text("the odd one")
        monkeypatch.chdir(tmp_path)
        assert engine.add("~odd.md").count("created") == 1

    def test_a_ref_names_the_file_it_stands_for(self, engine: Ricordo, tmp_path: Path) -> None:
        folder = write(tmp_path / "notes", a__md="one", b__md="two")
        assert statuses(engine.add(f"disk:{folder}/a.md"), folder) == {"a.md": "created"}
        assert statuses(engine.add(f"disk:{folder}"), folder) == {"a.md": "skipped", "b.md": "created"}

    def test_what_does_not_exist_fails_alone(self, engine: Ricordo, tmp_path: Path) -> None:
        write(tmp_path, a__md="there")
        report = engine.add(tmp_path / "a.md", tmp_path / "b.md", "x" * 5000, tmp_path / "*.rst")
        assert [item.status for item in report.items] == ["failed", "failed", "failed", "created"]
        assert all(item.error and item.error["code"] == "not_found" for item in report.items[:3])

    def test_as_names_one_item(self, engine: Ricordo, tmp_path: Path) -> None:
        folder = write(tmp_path / "notes", a__md="one", b__md="two")
        with pytest.raises(UsageError, match="one item"):
            engine.add(str(folder / "*.md"), as_ref="note:/both")
        engine.add(folder / "a.md", as_ref="note:/one")
        assert engine.get("note:/one").kind == "note"
        assert engine.add(folder / "a.md", as_ref="note:/one").items[0].reason == "already in the store"

    def test_a_folder_behind_a_link_keeps_the_name_it_was_given(self, engine: Ricordo, tmp_path: Path) -> None:
        write(tmp_path / "real", a__md="the heron")
        (tmp_path / "link").symlink_to(tmp_path / "real")
        engine.add(tmp_path / "link")
        write(tmp_path / "real", b__md="the egret")
        report = engine.refresh(all=True)
        assert statuses(report, tmp_path / "link") == {"a.md": "unchanged", "b.md": "created"}

    def test_the_store_never_takes_itself_in(self, tmp_path: Path) -> None:
        folder = write(tmp_path / "notes", a__md="the heron")
        with Ricordo.open(folder / "notes.db", config=ConfigProvider({"embedding.provider": "none"})) as engine:
            report = engine.add(folder)
            assert {name: status for name, status in statuses(report, folder).items() if status == "created"} == {
                "a.md": "created"
            }
            assert {item.reason for item in report.items if item.status == "skipped"} == {"the store itself"}
            assert engine.refresh(all=True).count("created") == 0

    def test_progress_counts_every_file_and_says_how_long_it_takes(self, engine: Ricordo, tmp_path: Path) -> None:
        folder = write(tmp_path / "notes", a__md="one", b__md="two", c__md="three")
        engine.add(folder / "a.md")
        (folder / "c.md").write_bytes(b"PK\x03\x04 word/document.xml")
        steps: list[Progress] = []
        engine.add(folder, progress=steps.append)
        assert [(one.done, one.total) for one in steps] == [(1, 3), (2, 3), (3, 3)]
        assert steps[1].rate > 0
        assert steps[1].eta is not None
        assert steps[1].eta > 0
        assert steps[-1].eta == 0

    def test_one_estimate_holds_for_reading_and_for_making_vectors(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        clock = [1_000.0]
        for module in ("add", "embed", "pipeline"):
            monkeypatch.setattr(f"ricordo.ingest.{module}.time", SimpleNamespace(monotonic=lambda: clock[0]))
        read, embed = FileReader.bytes_of, FakeEmbedder.embed_documents

        def slow_read(reader: FileReader, entry: FoundFile) -> bytes:
            clock[0] += 0.02
            return read(reader, entry)

        def slow_embed(embedder: FakeEmbedder, texts: Sequence[str]) -> Any:
            clock[0] += 0.03 * len(texts)
            return embed(embedder, texts)

        monkeypatch.setattr(FileReader, "bytes_of", slow_read)
        monkeypatch.setattr(FakeEmbedder, "embed_documents", slow_embed)
        folder = tmp_path / "notes"
        folder.mkdir()
        for n in range(400):
            words = [f"Note {n} tells of herons, reeds and the number {at}." for at in range(1 + n % 7 * 12)]
            (folder / f"{n}.md").write_text(" ".join(words))
        seen: list[tuple[float, Progress]] = []
        with Ricordo.open(tmp_path / "timed.db", embedder=FakeEmbedder()) as engine:
            engine.add(folder, progress=lambda now: seen.append((clock[0], now)))
        begin, end = 1_000.0, clock[0]
        assert {now.phase for _, now in seen} == {"adding", "embedding"}
        late = [(end - at, now.eta) for at, now in seen if at - begin >= (end - begin) / 10 and now.done]
        wrong = [(left, eta) for left, eta in late if eta is None or abs(eta - left) > 0.3 * left + 0.1]
        assert not wrong
        assert any(now.phase == "adding" for at, now in seen if at - begin >= (end - begin) / 10)
        assert {now.label for _, now in seen if now.phase == "embedding"} == {"found by words already"}


class TestRefresh:
    def test_only_what_changed_is_chunked_again(self, engine: Ricordo, tmp_path: Path) -> None:
        sections = [f"# Part {n}\n\n" + f"Sentence {n} speaks of herons and reeds. " * 18 for n in range(6)]
        folder = write(tmp_path / "notes", long__md="\n\n".join(sections), short__md="the egret")
        engine.add(folder)
        before = chunks_of(engine, folder / "long.md")
        assert len(before) >= 6
        sections[3] = sections[3].replace("herons", "bitterns")
        change(folder / "long.md", "\n\n".join(sections))
        report = engine.refresh(all=True)
        assert statuses(report, folder) == {"long.md": "updated", "short.md": "unchanged"}
        after = chunks_of(engine, folder / "long.md")
        assert report.to_dict()["chunks"] == len(set(after) - set(before)) == 1
        assert [old == new for old, new in zip(before, after, strict=True)].count(False) == 1
        assert found(engine, "bitterns") == ["long.md"]

    def test_a_touched_file_writes_no_version_and_is_not_opened_again(
        self, engine: Ricordo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folder = write(tmp_path / "notes", a__md="the heron")
        engine.add(folder)
        touch(folder / "a.md")
        assert statuses(engine.refresh(all=True), folder) == {"a.md": "unchanged"}
        assert len(engine.history(folder / "a.md")) == 1  # type: ignore[arg-type]  # a Path is understood, too
        monkeypatch.setattr("ricordo.ingest.files.read_file", lambda *_: pytest.fail("opened again"))
        assert statuses(engine.refresh(all=True), folder) == {"a.md": "unchanged"}

    def test_new_files_below_an_added_folder_are_found_by_its_rules(self, engine: Ricordo, tmp_path: Path) -> None:
        folder = write(tmp_path / "code", a__py="one = 1", sub_b__txt="two")
        engine.add(folder, globs=["*.py"])
        write(folder, sub_c__py="three = 3", sub_d__txt="four", __hidden__py="five = 5")
        (folder / ".gitignore").write_text("build/\n")
        write(folder, build_e__py="six = 6")
        assert statuses(engine.refresh(all=True), folder) == {"a.py": "unchanged", "sub/c.py": "created"}
        assert engine.refresh(folder / "sub").count("created") == 0

    def test_a_folder_added_again_with_other_globs_is_followed_for_both(self, engine: Ricordo, tmp_path: Path) -> None:
        folder = write(tmp_path / "code", a__py="one = 1")
        engine.add(folder, globs=["*.py"])
        engine.add(folder, globs=["*.md"])
        write(folder, b__py="two = 2", c__md="three", d__txt="four")
        assert set(statuses(engine.refresh(all=True), folder)) == {"a.py", "b.py", "c.md"}
        engine.add(folder)
        write(folder, e__txt="five")
        assert statuses(engine.refresh(all=True), folder)["e.txt"] == "created"

    def test_a_part_of_a_folder_is_refreshed_alone_and_by_the_rules_of_the_whole(
        self, engine: Ricordo, tmp_path: Path
    ) -> None:
        folder = write(tmp_path / "notes", a_x__md="one", b_y__md="two")
        (folder / ".gitignore").write_text("a/build/\n")
        engine.add(folder, globs=["/a/**/*.md", "/b/*.md"])
        change(folder / "a" / "x.md", "one more")
        change(folder / "b" / "y.md", "two more")
        write(folder, a_new__md="new", b_new__md="new", a_build_z__md="left alone", a_q__txt="no")
        report = engine.refresh(folder / "a")
        assert statuses(report, folder) == {"a/x.md": "updated", "a/new.md": "created"}
        with pytest.raises(NotFound):
            engine.refresh(tmp_path / "elsewhere")

    def test_a_folder_above_an_added_one_finds_its_new_files(self, engine: Ricordo, tmp_path: Path) -> None:
        write(tmp_path / "all" / "notes", a__md="one")
        engine.add(tmp_path / "all" / "notes")
        write(tmp_path / "all" / "notes", b__md="two")
        write(tmp_path / "all" / "other", c__md="three")
        report = engine.refresh(tmp_path / "all")
        assert statuses(report, tmp_path / "all") == {"notes/a.md": "unchanged", "notes/b.md": "created"}

    def test_a_renamed_file_keeps_its_history(self, engine: Ricordo, tmp_path: Path) -> None:
        folder = write(tmp_path / "notes", a__md="# Herons\n\nThey stand still.", b__md="other")
        engine.add(folder)
        identity = engine.get(str(folder / "a.md")).id
        (folder / "sub").mkdir()
        (folder / "a.md").rename(folder / "sub" / "herons.md")
        assert statuses(engine.refresh(all=True), folder) == {"sub/herons.md": "moved", "b.md": "unchanged"}
        moved = engine.get(str(folder / "sub" / "herons.md"))
        assert (moved.id, moved.version) == (identity, 2)
        assert found(engine, "herons") == ["herons.md"]
        assert statuses(engine.refresh(all=True), folder) == {"sub/herons.md": "unchanged", "b.md": "unchanged"}

    def test_a_renamed_folder_with_equal_files_moves_each_of_them(self, engine: Ricordo, tmp_path: Path) -> None:
        folder = write(tmp_path / "skills", one_LICENSE="the licence", two_LICENSE="the licence", one_a__md="one")
        engine.add(folder)
        engine.add(folder / "two" / "LICENSE")  # by its name, or the two would be one item
        ids = {name: engine.get(str(folder / name / "LICENSE")).id for name in ("one", "two")}
        (folder / "one").rename(folder / "first")
        (folder / "two").rename(folder / "last")
        report = engine.refresh(all=True)
        assert statuses(report, folder) == {"first/LICENSE": "moved", "last/LICENSE": "moved", "first/a.md": "moved"}
        after = {engine.get(str(folder / name / "LICENSE")).id for name in ("first", "last")}
        assert after == set(ids.values())

    def test_of_several_equal_files_the_one_whose_path_ends_alike_was_moved(
        self, engine: Ricordo, tmp_path: Path
    ) -> None:
        folder = write(
            tmp_path / "skills", a_LICENSE="the licence", b_sub_LICENSE="the licence", c_COPYING="the licence"
        )
        engine.add(folder)
        engine.add(folder / "b" / "sub" / "LICENSE", folder / "c" / "COPYING")
        ids = {path.parent.name: engine.get(str(path)).id for path in sorted(folder.rglob("[LC]*")) if path.is_file()}
        (folder / "b").rename(folder / "z")
        for name in ("a", "c"):
            next((folder / name).iterdir()).unlink()
        engine.refresh(all=True)
        assert engine.get(str(folder / "z" / "sub" / "LICENSE")).id == ids["sub"]
        write(folder, y_LICENSE="the licence")
        engine.refresh(all=True)
        assert engine.get(str(folder / "y" / "LICENSE")).id == ids["a"]

    def test_of_files_that_are_equally_alike_the_one_that_was_added_first_was_moved(
        self, engine: Ricordo, tmp_path: Path
    ) -> None:
        folder = write(tmp_path / "skills", one_LICENSE="the licence")
        engine.add(folder)
        first = engine.get(str(folder / "one" / "LICENSE")).id
        write(folder, a_LICENSE="the licence")
        engine.refresh(all=True)
        (folder / "one").rename(folder / "new")
        (folder / "a" / "LICENSE").unlink()
        engine.refresh(all=True)
        assert engine.get(str(folder / "new" / "LICENSE")).id == first

    def test_an_empty_file_is_no_evidence_of_a_rename(self, engine: Ricordo, tmp_path: Path) -> None:
        folder = write(tmp_path / "code", a_init__py="")
        engine.add(folder)
        (folder / "a" / "init.py").unlink()
        write(folder, b_start__py="")
        assert statuses(engine.refresh(all=True), folder) == {"a/init.py": "missing", "b/start.py": "created"}

    def test_missing_files_are_reported_and_only_prune_removes_them(self, engine: Ricordo, tmp_path: Path) -> None:
        folder = write(tmp_path / "notes", a__md="the heron", b_c__md="the egret", d__md="stays")
        engine.add(folder)
        (folder / "a.md").unlink()
        shutil.rmtree(folder / "b")
        (folder / "b").write_text("a file where the folder was")
        report = engine.refresh(all=True)
        assert statuses(report, folder) == {"a.md": "missing", "b/c.md": "missing", "d.md": "unchanged", "b": "created"}
        assert report.failed == 0
        assert found(engine, "heron") == ["a.md"]
        pruned = engine.refresh(all=True, prune=True)
        assert pruned.to_dict()["removed"] == 2
        assert found(engine, "heron egret") == []
        assert engine.restore(str(folder / "a.md")).status == "updated"

    def test_an_immutable_item_is_neither_changed_nor_pruned(self, engine: Ricordo, tmp_path: Path) -> None:
        folder = write(tmp_path / "notes", a__md="the heron", b__md="the egret", c__md="the stork")
        engine.add(folder, fields={"immutable": True})
        change(folder / "a.md", "the bittern")
        (folder / "b.md").unlink()
        (folder / "c.md").rename(folder / "d.md")
        report = engine.refresh(all=True, prune=True)
        assert statuses(report, folder) == {"a.md": "failed", "b.md": "failed", "c.md": "failed", "d.md": "failed"}
        assert all("is immutable" in str(item.error["message"]) for item in report.items if item.error)
        assert found(engine, "heron egret stork") == ["a.md", "b.md", "c.md"]

    def test_what_lives_here_is_skipped_and_what_came_from_nowhere_is_an_error_of_its_own(
        self, engine: Ricordo, tmp_path: Path
    ) -> None:
        engine.save("agent:/plan", "Ship it.")
        engine.save("memory:/keys", "Rotate them.")
        engine.save("google-docs:/abc", "A page.")
        engine.add(write(tmp_path / "notes", a__md="the heron"))
        report = engine.refresh(all=True)
        by_ref = {item.ref: item for item in report.items}
        assert by_ref["agent:/plan"].status == by_ref["memory:/keys"].status == "skipped"
        failed = by_ref["google-docs:/abc"]
        assert failed.error
        assert "source URL" in failed.error["message"]
        assert "URL" in failed.error["hint"]
        assert report.to_dict() | {"items": (), "notes": ()} == {
            "checked": 4, "updated": 0, "unchanged": 1, "created": 0, "moved": 0, "missing": 0, "removed": 0,
            "skipped": 2, "reembedded": 0, "chunks": 0, "failed": 1, "items": (), "notes": (),
        }  # fmt: skip

    def test_one_file_that_cannot_be_read_any_more_stops_nothing(self, engine: Ricordo, tmp_path: Path) -> None:
        folder = write(tmp_path / "notes", a__md="the heron", b__md="the egret")
        engine.add(folder)
        (folder / "a.md").write_bytes(b"%PDF-1.7 broken obj" * 10)
        change(folder / "b.md", "the bittern")
        report = engine.refresh(all=True)
        assert statuses(report, folder) == {"a.md": "failed", "b.md": "updated"}
        assert found(engine, "heron") == ["a.md"]

    def test_a_file_that_outgrew_the_limit_is_not_read(
        self, open_engine: Callable[..., Ricordo], tmp_path: Path
    ) -> None:
        engine = open_engine(**{"ingest.max_file_mb": 0.001})
        folder = write(tmp_path / "notes", a__md="the heron")
        engine.add(folder)
        change(folder / "a.md", "too long " * 500)
        (item,) = engine.refresh(all=True).items
        assert item.status == "failed"
        assert item.error
        assert "over the limit" in item.error["message"]

    def test_progress_counts_every_item(self, engine: Ricordo, tmp_path: Path) -> None:
        folder = write(tmp_path / "notes", a__md="one", b__md="two")
        engine.add(folder)
        write(folder, c__md="three")
        steps: list[Progress] = []
        engine.refresh(all=True, progress=steps.append)
        assert [(one.done, one.total) for one in steps] == [(1, 3), (2, 3), (3, 3)]


class TestWhatPeopleSet:
    def test_it_stays_when_the_file_changes(self, engine: Ricordo, tmp_path: Path) -> None:
        folder = write(tmp_path / "notes", a__md="---\ntitle: Herons\nauthor: Ada\n---\nThey stand still.")
        path = folder / "a.md"
        engine.add(folder, fields={"tags": ["birds"]}, kind="article")
        engine.edit(str(path), fields={"importance": 4, "metadata": {"author": "Ada", "shelf": 3}})
        change(path, "---\ntitle: Herons and egrets\nauthor: Grace\n---\nThey stand still.")
        engine.refresh(all=True)
        item = engine.get(str(path))
        assert (item.title, item.kind, item.fields.tags, item.fields.importance) == (
            "Herons and egrets", "article", ("birds",), 4,
        )  # fmt: skip
        assert item.fields.metadata == {"author": "Grace", "shelf": 3}

    def test_it_stays_where_it_differs_from_what_the_file_says(self, engine: Ricordo, tmp_path: Path) -> None:
        folder = write(tmp_path / "notes", a__md="# Herons\n\nThey stand still.")
        engine.add(folder / "a.md", fields={"title": "My birds"})
        change(folder / "a.md", "# Herons\n\nThey fly.")
        engine.refresh(all=True)
        assert engine.get(str(folder / "a.md")).title == "My birds"

    def test_what_the_file_no_longer_says_goes(self, engine: Ricordo, tmp_path: Path) -> None:
        folder = write(
            tmp_path / "notes", a__md="---\ntags: [birds]\nseverity: warning\nauthor: Ada\n---\nThey stand still."
        )
        engine.add(folder)
        change(folder / "a.md", "They stand still.")
        assert engine.refresh(all=True).count("updated") == 1
        fields = engine.get(str(folder / "a.md")).fields
        assert (fields.tags, fields.severity, fields.metadata) == ((), None, {})

    def test_it_is_no_change_of_the_file(self, engine: Ricordo, tmp_path: Path) -> None:
        folder = write(tmp_path / "notes", a__md="---\ntitle: Herons\n---\nThey stand still.")
        engine.add(folder, fields={"tags": ["birds"]})
        touch(folder / "a.md")
        assert engine.refresh(all=True).count("unchanged") == 1
        assert engine.get(str(folder / "a.md")).fields.tags == ("birds",)


class TestStandardInput:
    def test_it_is_read_like_a_file_of_that_name(self, engine: Ricordo) -> None:
        engine.add(text="---\ntags: [ops]\n---\n# Keys\n\nRotate them.", as_ref="note:/keys.md")
        item = engine.get("note:/keys.md")
        assert (item.title, item.kind, item.fields.tags) == ("Keys", "note", ("ops",))
        (hit,) = find(engine, '"rotate them"')
        assert hit.lines[1] == 6

    def test_a_taken_name_is_skipped_before_anything_is_read(
        self, engine: Ricordo, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        engine.add(text="one", as_ref="note:/x")
        monkeypatch.setattr("ricordo.ingest.add.parse_bytes", lambda *args, **more: pytest.fail("read"))
        (saved,) = engine.add(text="two", as_ref="note:/x").items
        assert (saved.status, saved.reason) == ("skipped", "already in the store")

    def test_bytes_that_are_no_text_are_kept(self, engine: Ricordo) -> None:
        picture = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
        report = engine.add(text=picture, as_ref="resource:/logo")
        assert "kept without text" in report.notes[0]
        assert not engine.get("resource:/logo").fields.is_textual
        assert engine.original("resource:/logo") == picture


def chunks_of(engine: Ricordo, path: Path) -> list[int]:
    n = engine.store.items.require(engine.resolve(path))
    assert isinstance(engine.store, SqliteStore)
    with engine.store.database.read() as connection:
        layout, _ = layouts_of(connection, {n: engine.store.items.get(n).version})[n]
    return [int(row[0]) for row in layout]
