"""The lines of a file as they are now, and the commit that wrote each, also before it was moved or indented anew.

Git blames what is committed, never the file itself: to read that, it would run the filters that the repository's
settings name. Lines that differ from the commit are not committed yet.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from difflib import SequenceMatcher
from pathlib import Path

from ricordo.config.repository import repository_around
from ricordo.errors import NotFound, Unreadable, UsageError
from ricordo.frozen import frozen
from ricordo.secrets.find import redact
from ricordo.sources.git import output_of
from ricordo.text.line_marks import marks_of_lines

SECONDS = 30.0
LARGEST_FILE = 4_000_000
AT_ONCE = 200
AROUND = 4
"""How many lines before and behind those that are asked for say something about them."""


@frozen
class WroteLine:
    """The commit of a line: ``since`` is when its parent was made, ``name`` what the file was called in it."""

    hash: str
    author: str = ""
    written: datetime | None = None
    committed: datetime | None = None
    summary: str = ""
    name: str = ""
    since: datetime | None = None


NOT_COMMITTED = WroteLine("")


@frozen
class BlamedFile:
    """A file of a repository. ``commits`` are those of the lines that were asked for and of some around them, by their
    numbers from 0.
    """

    path: Path
    top: Path | None
    name: str
    lines: tuple[str, ...]
    marks: tuple[str, ...]
    statements: tuple[str, ...]
    commits: dict[int, WroteLine]
    is_known: bool
    """Whether git has the file in its last commit."""


def read(path: Path, wanted: range | None = None) -> BlamedFile:
    """A file with the commits of some of its lines, or of all."""
    if path.is_dir():
        raise UsageError(f"{path} is a folder", hint="Name a file of it, with a line: src/app.py:10")
    if not path.is_file():
        raise NotFound(f"there is no file {path}", hint="Name a file of your work tree, with a line: src/app.py:10")
    data = path.read_bytes() if path.stat().st_size <= LARGEST_FILE else b"\0"
    if b"\0" in data[:8_000]:
        raise Unreadable(f"{path} is not a text", hint="Only files with lines of text can be looked into.")
    text = data.decode("utf-8", "replace")
    lines = tuple(text.splitlines())
    if wanted is not None and not (0 <= wanted.start < wanted.stop <= len(lines)):
        asked = f"line {wanted.stop}" if len(wanted) == 1 else f"lines {wanted.start + 1}-{wanted.stop}"
        raise UsageError(f"{path.name} has {len(lines):,} lines, and no {asked}", hint="Name a line that it has.")
    marks, statements = marks_of_lines(_without_secrets(text, lines))
    repository = repository_around(path.parent)
    top = repository.top if repository is not None else None
    name = path.relative_to(top).as_posix() if top is not None else path.name
    at = range(max(0, wanted.start - AROUND), min(len(lines), wanted.stop + AROUND)) if wanted else range(len(lines))
    committed, is_known = _commits(top, name, lines, at) if top is not None else ({}, False)
    commits = {number: committed.get(number, NOT_COMMITTED) for number in at}
    return BlamedFile(path, top, name, lines, tuple(marks), tuple(statements), commits, is_known)


def _without_secrets(text: str, lines: Sequence[str]) -> Sequence[str]:
    """The lines as sessions have them."""
    kept = redact(text)[0].splitlines()
    return kept if len(kept) == len(lines) else [redact(line)[0] for line in lines]


def _commits(top: Path, name: str, lines: Sequence[str], wanted: Iterable[int]) -> tuple[dict[int, WroteLine], bool]:
    """By number of a line as it is now, its commit, for those that are committed; and whether git knows the file."""
    if not output_of(top, SECONDS, "ls-tree", "HEAD", "--", name):
        return {}, False
    before = output_of(top, SECONDS, "cat-file", "blob", f"HEAD:{name}").splitlines()
    now_at = {old: new for new, old in _same(before, lines).items() if new in set(wanted)}
    if not now_at:
        return {}, True
    ranges = [f"-L{first + 1},{last + 1}" for first, last in _runs(sorted(now_at))]
    how = ("blame", "--line-porcelain", "-w", *ranges)
    told = output_of(top, SECONDS, *how, "-M", "-C", "HEAD", "--", name) or output_of(
        top, SECONDS, *how, "HEAD", "--", name
    )
    found = {now_at[at]: commit for at, commit in _parsed(told) if at in now_at}
    since = _times_of_parents(top, {commit.hash for commit in found.values()})
    made: dict[WroteLine, WroteLine] = {}
    for commit in set(found.values()):
        about = {name: getattr(commit, name) for name in ("hash", "author", "written", "committed", "summary", "name")}
        made[commit] = WroteLine(**about, since=since.get(commit.hash))
    return {at: made[commit] for at, commit in found.items()}, True


def _same(before: Sequence[str], now: Sequence[str]) -> dict[int, int]:
    """By line as it is now, which line it was; the beginning and the end, mostly all, are compared first."""
    first, last = 0, 0
    shorter = min(len(before), len(now))
    while first < shorter and before[first] == now[first]:
        first += 1
    while last < shorter - first and before[-1 - last] == now[-1 - last]:
        last += 1
    same = {at: at for at in range(first)}
    same |= {len(now) - 1 - at: len(before) - 1 - at for at in range(last)}
    middle = before[first : len(before) - last], now[first : len(now) - last]
    for a, b, size in SequenceMatcher(None, *middle, autojunk=False).get_matching_blocks():
        same |= {first + b + at: first + a + at for at in range(size)}
    return same


def _runs(numbers: Sequence[int]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1] = runs[-1][0], number
        else:
            runs.append((number, number))
    return runs


def _parsed(told: str) -> Iterable[tuple[int, WroteLine]]:
    """By number of a line in the last commit, from 0, the commit that git blames."""
    about: dict[str, str] = {}
    at, digest = 0, ""
    for line in told.split("\n"):
        if line.startswith("\t"):
            times = (datetime.fromtimestamp(int(about.get(key, "0")), UTC) for key in ("author-time", "committer-time"))
            written, committed = times
            yield (
                at,
                WroteLine(
                    digest, about.get("author", ""), written, committed, redact(about.get("summary", ""))[0],
                    about.get("filename", ""),
                ),
            )  # fmt: skip
            about = {}
        elif about or not line:
            key, _, value = line.partition(" ")
            about[key] = value
        else:
            digest, _, place, *_ = [*line.split(" "), "1", "1"]
            at = int(place) - 1
            about = {"": ""}


def _times_of_parents(top: Path, hashes: Iterable[str]) -> dict[str, datetime]:
    """When the first parents of commits were written."""
    listed = sorted(hashes)
    times: dict[str, datetime] = {}
    for start in range(0, len(listed), AT_ONCE):
        parents = output_of(top, SECONDS, "show", "-s", "--format=%H %P", *listed[start : start + AT_ONCE], "--")
        first = {words[0]: words[1] for line in parents.splitlines() if len(words := line.split()) > 1}
        if not first:
            continue
        told = output_of(top, SECONDS, "show", "-s", "--format=%H %at", *sorted(set(first.values())), "--")
        at = dict(line.split() for line in told.splitlines())
        times |= {child: datetime.fromtimestamp(int(at[one]), UTC) for child, one in first.items() if one in at}
    return times
