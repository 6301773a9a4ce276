"""Walking folders: what is taken, what is left alone and why, and how refs are spelled."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path, PureWindowsPath

import pytest

from ricordo.errors import UsageError
from ricordo.sources.disk import FoundFile, Skipped, disk_ref, expand, ref_path, walk
from ricordo.values.items import Ref

LIMIT = 50_000_000


def write(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("text")


def names(root: Path, globs: tuple[str, ...] = (), max_bytes: int = LIMIT, follow: bool = True) -> list[str]:
    entries = walk(root, max_bytes=max_bytes, globs=globs, follow_symlinks=follow)
    return [entry.path.relative_to(root).as_posix() for entry in entries if isinstance(entry, FoundFile)]


def skipped(root: Path, max_bytes: int = LIMIT) -> list[Skipped]:
    return [entry for entry in walk(root, max_bytes=max_bytes, follow_symlinks=True) if isinstance(entry, Skipped)]


def test_files_come_in_the_order_of_their_names_with_size_and_time(tmp_path: Path) -> None:
    write(tmp_path, "b.md", "a/z.md", "a/b/c.md", "c.md")
    assert names(tmp_path) == ["a/b/c.md", "a/z.md", "b.md", "c.md"]
    first = next(iter(walk(tmp_path, max_bytes=LIMIT)))
    status = (tmp_path / "a/b/c.md").stat()
    assert first == FoundFile(tmp_path / "a/b/c.md", 4, status.st_mtime_ns, within=tmp_path)


def test_hidden_files_and_folders_are_left_alone(tmp_path: Path) -> None:
    write(tmp_path, "seen.md", ".hidden.md", ".git/config", "sub/.cache/x.md", "sub/y.md")
    assert names(tmp_path) == ["seen.md", "sub/y.md"]
    assert skipped(tmp_path) == []


def test_a_hidden_root_that_was_named_is_walked(tmp_path: Path) -> None:
    write(tmp_path, ".notes/a.md")
    assert names(tmp_path / ".notes") == ["a.md"]


class TestIgnoreFiles:
    def test_nested_files_and_negations_work_as_in_git(self, tmp_path: Path) -> None:
        write(tmp_path, "a.log", "keep.log", "src/b.log", "src/deep/c.log", "build/x.md", "src/build/y.md", "ok.md")
        write(tmp_path, "docs/only.tmp", "docs/sub/only.tmp", "src/gen/z.md")
        (tmp_path / ".gitignore").write_text("*.log\n!keep.log\n/build/\ndocs/*.tmp\n# comment\n\n")
        (tmp_path / "src/.gitignore").write_text("!b.log\ngen/\n")
        assert names(tmp_path) == ["docs/sub/only.tmp", "keep.log", "ok.md", "src/b.log", "src/build/y.md"]

    def test_git_agrees_with_us(self, tmp_path: Path) -> None:
        write(
            tmp_path, "a/b/c.txt", "a/b.txt", "foo/bar/x.md", "foo/x.md", "t/foo/bar", "x y.md", "#odd.md", "keep/z.o"
        )
        write(tmp_path, "deep/one/two/three.c", "deep/three.c", "lib/a.o", "lib/keep/b.o", "q1.md", "qa.md", "sp ace")
        (tmp_path / ".gitignore").write_text(
            "foo/bar\n\\#odd.md\ndeep/**/three.c\n*.o\n!keep/*.o\nq[0-9].md\nsp\\ ace\n"
        )
        (tmp_path / "a/.gitignore").write_text("*\n!b.txt\n!.gitignore\n")
        write(tmp_path, "keys/x/api/prod.pem", "keys/api/prod.pem", "keys/api/prod.md", "keys/x/tmp/gen/a.md")
        write(tmp_path, "keys/gen/b.md", "keys/y/c.md", "keys/y/deep/c.md", "keys/z/d.md", "keys/e.md")
        (tmp_path / "keys/.gitignore").write_text("**/api/*.pem\n**/tmp/gen/\n**/gen\n/**/y/c.md\nz/**\n**/e.md\n")
        git = ["git", "-c", "init.defaultBranch=main", "-C", str(tmp_path)]
        subprocess.run([*git, "init", "-q"], check=True)
        listing = subprocess.run(
            [*git, "ls-files", "-z", "--others", "--exclude-standard"], check=True, capture_output=True, text=True
        )
        theirs = sorted(name for name in listing.stdout.split("\0") if name and not name.endswith(".gitignore"))
        assert sorted(names(tmp_path)) == theirs

    def test_rules_of_the_folders_above_count_up_to_the_repository(self, tmp_path: Path) -> None:
        write(tmp_path, "repo/.git/HEAD", "repo/pkg/sub/a.tmp", "repo/pkg/sub/b.md", "repo/pkg/sub/c.bak")
        write(tmp_path, "repo/pkg/sub/d.loc")
        (tmp_path / ".gitignore").write_text("*.md\n")
        (tmp_path / "repo/.gitignore").write_text("*.tmp\n")
        (tmp_path / "repo/pkg/.ricordoignore").write_text("*.bak\n")
        (tmp_path / "repo/.git/info").mkdir()
        (tmp_path / "repo/.git/info/exclude").write_text("*.loc\n")
        assert names(tmp_path / "repo/pkg/sub") == ["b.md"]

    def test_our_own_ignore_file_overrules_git(self, tmp_path: Path) -> None:
        write(tmp_path, "notes.local.md", "drafts/x.md", "y.md")
        (tmp_path / ".gitignore").write_text("*.local.md\n")
        (tmp_path / ".ricordoignore").write_text("!notes.local.md\ndrafts/\n")
        assert names(tmp_path) == ["notes.local.md", "y.md"]

    def test_a_file_that_was_named_is_taken_even_if_ignored_or_hidden(self, tmp_path: Path) -> None:
        write(tmp_path, "a.log", ".env.md")
        (tmp_path / ".gitignore").write_text("*.log\n")
        for name in ("a.log", ".env.md"):
            assert [type(entry) for entry in walk(tmp_path / name, max_bytes=LIMIT)] == [FoundFile]

    def test_a_folder_that_was_named_is_walked_even_if_a_folder_above_ignores_it(self, tmp_path: Path) -> None:
        write(tmp_path, ".git/HEAD", "build/out/x.md")
        (tmp_path / ".gitignore").write_text("build/\n")
        assert names(tmp_path) == []
        assert names(tmp_path / "build/out") == ["x.md"]

    def test_patterns_that_make_no_sense_are_passed_over(self, tmp_path: Path) -> None:
        write(tmp_path, "a.md", "b.log")
        (tmp_path / ".gitignore").write_bytes(b"\xef\xbb\xbf*.log\n!\n[z-a]\n\xff\xfe\n/\n")
        assert names(tmp_path) == ["a.md"]


def test_globs_narrow_the_files_down(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "a.py", "docs/b.md", "docs/deep/c.md", "docs/deep/c.min.js")
    assert names(tmp_path, ("*.md",)) == ["a.md", "docs/b.md", "docs/deep/c.md"]
    assert names(tmp_path, ("docs/**/*.md",)) == ["docs/b.md", "docs/deep/c.md"]
    assert names(tmp_path, ("*.md", "!deep")) == ["a.md", "docs/b.md", "docs/deep/c.md"]
    assert names(tmp_path, ("*.md", "!c.md")) == ["a.md", "docs/b.md"]
    assert names(tmp_path, ("!*.js", "!*.py")) == ["a.md", "docs/b.md", "docs/deep/c.md"]


def test_a_large_file_is_passed_over_with_its_size(tmp_path: Path) -> None:
    (tmp_path / "big.txt").write_bytes(b"x" * 2_000_000)
    write(tmp_path, "small.txt")
    assert names(tmp_path, max_bytes=1_000_000) == ["small.txt"]
    (big,) = skipped(tmp_path, max_bytes=1_000_000)
    assert (big.path.name, big.failed) == ("big.txt", False)
    assert "2.0 MB is over the limit of 1 MB" in big.reason


class TestLinks:
    def test_loops_end(self, tmp_path: Path) -> None:
        write(tmp_path, "root/a/b.md")
        (tmp_path / "root/a/self").symlink_to("self")
        (tmp_path / "root/a/up").symlink_to("..")
        (tmp_path / "root/a/out").symlink_to(tmp_path)
        (tmp_path / "root/a/root").symlink_to("/")
        assert names(tmp_path / "root") == ["a/b.md"]
        assert {entry.path.name: entry.failed for entry in skipped(tmp_path / "root")} == {
            "self": False,
            "up": False,
            "out": False,
            "root": False,
        }

    def test_loops_through_a_folder_elsewhere_end(self, tmp_path: Path) -> None:
        write(tmp_path, "root/a.md", "other/b.md", "third/c.md")
        (tmp_path / "root/other").symlink_to(tmp_path / "other")
        (tmp_path / "root/other2").symlink_to(tmp_path / "other")
        (tmp_path / "other/third").symlink_to(tmp_path / "third")
        (tmp_path / "third/other").symlink_to(tmp_path / "other")
        assert names(tmp_path / "root") == ["a.md", "other/b.md", "other/third/c.md"]

    def test_linked_files_are_taken_and_links_to_nothing_are_named(self, tmp_path: Path) -> None:
        write(tmp_path, "root/a.md", "elsewhere.md")
        (tmp_path / "root/link.md").symlink_to(tmp_path / "elsewhere.md")
        (tmp_path / "root/dead.md").symlink_to("nowhere.md")
        assert names(tmp_path / "root") == ["a.md", "link.md"]
        assert skipped(tmp_path / "root") == [
            Skipped(tmp_path / "root/dead.md", "a link to a file that does not exist", False)
        ]

    def test_a_link_to_nothing_outside_is_not_said_to_be_worth_following(self, tmp_path: Path) -> None:
        write(tmp_path, "root/a.md")
        (tmp_path / "root/dead.md").symlink_to(tmp_path / "nowhere.md")
        found = [entry for entry in walk(tmp_path / "root", max_bytes=1000) if isinstance(entry, Skipped)]
        assert found == [Skipped(tmp_path / "root/dead.md", "a link to a file that does not exist", False)]

    def test_links_are_not_followed_when_that_is_off(self, tmp_path: Path) -> None:
        write(tmp_path, "root/a.md", "elsewhere/b.md")
        (tmp_path / "root/there").symlink_to(tmp_path / "elsewhere")
        (tmp_path / "root/b.md").symlink_to(tmp_path / "elsewhere/b.md")
        assert names(tmp_path / "root", follow=False) == ["a.md"]
        assert names(tmp_path / "root") == ["a.md", "b.md", "there/b.md"]


@pytest.mark.skipif(os.name == "nt", reason="pipes and sockets are not files there")
def test_pipes_and_sockets_are_never_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "a.md")
    os.mkfifo(tmp_path / "pipe")
    os.mkfifo(tmp_path / ".gitignore")
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("sock")
        reasons = {entry.path.name: entry.reason for entry in skipped(tmp_path)}
    assert names(tmp_path) == ["a.md"]
    assert reasons == {"pipe": "a named pipe, not a file", "sock": "a socket, not a file"}
    (named,) = walk(tmp_path / "pipe", max_bytes=LIMIT)
    assert isinstance(named, Skipped)
    assert named.failed


def test_odd_but_valid_names_are_taken(tmp_path: Path) -> None:
    odd = ["emoji 🎉.md", "new\nline.md", "tab\t.md", "quote'\".md", "ünï.md", "漢字.md"]
    write(tmp_path, *odd)
    assert sorted(names(tmp_path)) == sorted(odd)


@pytest.mark.skipif(os.name == "nt" or os.uname().sysname == "Darwin", reason="names are Unicode there")
def test_a_name_that_is_not_text_is_a_failed_file_with_a_printable_name(tmp_path: Path) -> None:
    write(tmp_path, "a.md")
    (tmp_path / os.fsdecode(b"bad\xff.md")).write_text("x")
    (tmp_path / os.fsdecode(b"worse\xfe")).mkdir()
    assert names(tmp_path) == ["a.md"]
    found = skipped(tmp_path)
    assert [str(entry.path.name) for entry in found] == ["bad\\xff.md", "worse\\xfe"]
    assert all(entry.failed for entry in found)
    with pytest.raises(UsageError, match="not valid text"):
        disk_ref(tmp_path / os.fsdecode(b"bad\xff.md"))


@pytest.mark.skipif(os.name == "nt", reason="paths are shorter there")
def test_a_path_of_four_thousand_characters_is_taken(tmp_path: Path) -> None:
    folders = [tmp_path]
    while len(str(folders[-1])) < 3_980:
        folders.append(folders[-1] / "d")
        folders[-1].mkdir()
    write(folders[-1], "end.md")
    (found,) = walk(tmp_path, max_bytes=LIMIT)
    (folders[-1] / "end.md").unlink()
    for folder in reversed(folders[1:]):  # rmtree would run out of recursion
        folder.rmdir()
    assert isinstance(found, FoundFile)
    assert found.path == folders[-1] / "end.md"


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may read everything")
def test_a_folder_that_may_not_be_read_is_a_failure_and_the_walk_goes_on(tmp_path: Path) -> None:
    write(tmp_path, "a/x.md", "b/y.md")
    (tmp_path / "a").chmod(0)
    try:
        assert names(tmp_path) == ["b/y.md"]
        (entry,) = skipped(tmp_path)
    finally:
        (tmp_path / "a").chmod(0o700)
    assert entry.failed
    assert "Permission denied" in entry.reason


def test_files_that_vanish_during_the_walk_do_not_stop_it(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "b.md", "c/x.md", "d.md", "e/y.md")
    entries = walk(tmp_path, max_bytes=LIMIT)
    assert next(entries) == FoundFile(tmp_path / "a.md", 4, (tmp_path / "a.md").stat().st_mtime_ns, within=tmp_path)
    (tmp_path / "b.md").unlink()
    (tmp_path / "c/x.md").unlink()
    (tmp_path / "c").rmdir()
    rest = list(entries)
    assert [entry.path.name for entry in rest if isinstance(entry, FoundFile)] == ["d.md", "y.md"]
    assert not any(entry.failed for entry in rest if isinstance(entry, Skipped))


def test_a_root_that_does_not_exist_is_a_failure(tmp_path: Path) -> None:
    assert list(walk(tmp_path / "nope", max_bytes=LIMIT)) == [
        Skipped(tmp_path / "nope", "it does not exist", failed=True)
    ]


def test_a_walk_is_lazy(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "z/b.md")
    entries = walk(tmp_path, max_bytes=LIMIT)
    next(entries)
    write(tmp_path, "z/later.md")
    assert [entry.path.name for entry in entries] == ["b.md", "later.md"]


class TestExpand:
    def test_a_name_that_exists_is_itself_even_with_glob_signs(self, tmp_path: Path) -> None:
        write(tmp_path, "[draft].md")
        assert expand(str(tmp_path / "[draft].md")) == [tmp_path / "[draft].md"]

    def test_globs_are_expanded_and_sorted(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        write(tmp_path, "docs/b.md", "docs/a.md", "docs/c.txt", "docs/deep/d.md", "docs/skip/e.md", "x/docs/f.md")
        (tmp_path / "docs/.gitignore").write_text("skip/\n")
        (tmp_path / "docs/deep/loop").symlink_to(tmp_path)
        monkeypatch.chdir(tmp_path)
        docs = tmp_path / "docs"
        assert expand("docs/*.md") == [docs / "a.md", docs / "b.md"]
        assert expand("docs/**/*.md") == [docs / "a.md", docs / "b.md", docs / "deep/d.md"]
        assert expand(str(tmp_path / "docs/**/d.*")) == [tmp_path / "docs/deep/d.md"]
        assert expand("docs/**") == [docs / name for name in ("a.md", "b.md", "c.txt", "deep/d.md")]

    def test_what_matches_nothing_is_empty(self, tmp_path: Path) -> None:
        assert expand(str(tmp_path / "*.md")) == []
        assert expand(str(tmp_path / "nope/**/*.md")) == []
        assert expand(str(tmp_path / "nope.md")) == []


class TestRefs:
    def test_a_ref_is_absolute_and_normalised(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        expected = disk_ref(tmp_path / "notes/a.md")
        assert disk_ref(Path("notes/../notes/./a.md")) == expected
        assert expected.path.startswith("/")
        assert "\\" not in expected.path
        assert ref_path(expected) == tmp_path / "notes/a.md"

    def test_a_windows_path_keeps_its_drive(self) -> None:
        assert disk_ref(PureWindowsPath("C:\\notes\\a.md")) == Ref("disk", "/C:/notes/a.md")

    def test_a_link_keeps_its_own_name(self, tmp_path: Path) -> None:
        write(tmp_path, "a.md")
        (tmp_path / "b.md").symlink_to("a.md")
        assert disk_ref(tmp_path / "b.md").path.endswith("/b.md")

    def test_only_disk_refs_name_files(self) -> None:
        with pytest.raises(UsageError):
            ref_path(Ref("memory", "/a"))
