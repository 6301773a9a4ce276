"""Reads the commits of a git repository: message, author, time, files and a part of the changes.

Git itself reads them: it is faster than the libraries that could (``bench/NOTES.md`` has the figures), and it is no
further package to install. How much is read of a commit is bounded; binary files, and those that tools wrote or that
others maintain (lock files, ``node_modules``), are left out.
"""

from __future__ import annotations

import re
import secrets
import threading
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from subprocess import Popen

from ricordo.errors import Unavailable
from ricordo.frozen import frozen
from ricordo.sources.git import output_of, renames_in, started

MOST_COMMITS = 2_000
"""How many commits of a repository are read, the newest ones."""
MOST_FILES = 40
MOST_RENAMED = 400
LONGEST_MESSAGE = 6_000
LONGEST_CHANGES = 6_000
LONGEST_CHANGES_OF_FILE = 2_000
LONGEST_LINE = 300
AT_ONCE = 200
"""How many commits one run of git reads, and for how many seconds at most."""
SECONDS = 60.0
SHORT = 12
"""This many digits of a commit's hash name it."""

_LEFT_OUT = re.compile(
    r"(^|/)(node_modules|bower_components|vendor|third_party|dist|build|\.venv|site-packages)/"
    r"|\.min\.(js|css)$|\.(lock|svg|map|ipynb)$|(^|/)(package-lock\.json|pnpm-lock\.yaml|go\.sum)$"
)


@frozen
class Commit:
    """One commit. ``files`` are those that people wrote, ``others`` counts the rest."""

    hash: str
    author: str
    time: datetime
    message: str
    files: tuple[str, ...] = ()
    others: int = 0
    changes: str = ""
    renamed: tuple[tuple[str, str], ...] = ()
    """Files that got another name, each with its old one behind the new one."""

    @property
    def name(self) -> str:
        return self.hash[:SHORT]

    @property
    def title(self) -> str:
        return self.message.partition("\n")[0]


def hashes(top: Path) -> list[str]:
    """The newest commits that led to what is checked out, the newest first; one more than are read, if there are."""
    process = started(top, "rev-list", f"--max-count={MOST_COMMITS + 1}", "HEAD")
    if process is None:
        raise Unavailable("git cannot be run here", hint="Install git to read the history of a repository.")
    output, _ = process.communicate(timeout=SECONDS)
    return output.decode("ascii", "replace").split()


def read(top: Path, wanted: Sequence[str]) -> Iterator[Commit]:
    """Commits by their hashes, a few hundred at a time."""
    for at in range(0, len(wanted), AT_ONCE):
        mark = secrets.token_hex(16)  # no text of a commit can look like it
        process = started(
            top, "log", "--no-walk=unsorted", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color",
            "--no-notes", "--no-decorate", "-U1", "--src-prefix=a/", "--dst-prefix=b/", "--numstat", "--patch",
            f"--format={mark}%n%H%n%at%n%an%n%B%n{mark}", *wanted[at : at + AT_ONCE],
        )  # fmt: skip
        if process is not None:
            renamed = _renamed(top, wanted[at : at + AT_ONCE], mark)
            for commit in _commits(process, mark):
                yield replace(commit, renamed=renamed.get(commit.hash, ())) if commit.hash in renamed else commit


def _renamed(top: Path, wanted: Sequence[str], mark: str) -> dict[str, tuple[tuple[str, str], ...]]:
    """By commit, which files it gave another name: the new one and the old one."""
    said = output_of(
        top, SECONDS, "log", "--no-walk=unsorted", "--find-renames", "--diff-filter=R", "--name-status", "-z",
        "--no-ext-diff", "--no-textconv", "--no-color", "--no-notes", "--no-decorate", f"--format={mark}%H", *wanted,
    )  # fmt: skip
    found: dict[str, tuple[tuple[str, str], ...]] = {}
    for part in said.split(mark)[1:]:
        digest, _, names = part.partition("\0")
        pairs = [(new, old) for old, new in renames_in(names.lstrip("\n")).items() if not is_left_out(new)]
        if pairs:
            found[digest.strip()] = tuple(pairs[:MOST_RENAMED])
    return found


def is_left_out(path: str) -> bool:
    """Whether tools wrote a file, or others maintain it."""
    return _LEFT_OUT.search(path) is not None


def _commits(process: Popen[bytes], mark: str) -> Iterator[Commit]:
    timer = threading.Timer(SECONDS, process.kill)
    timer.start()
    try:
        lines = _lines(process)
        for line in lines:
            if line == mark:
                break
        else:
            return
        more = True
        while more:
            commit, more = _commit(lines, mark)
            if commit is not None:
                yield commit
    finally:
        timer.cancel()
        process.kill()
        process.communicate()


def _lines(process: Popen[bytes]) -> Iterator[str]:
    assert process.stdout is not None
    while line := process.stdout.readline(1_000_000):
        yield line.decode("utf-8", "replace").rstrip("\r\n")


def _commit(lines: Iterator[str], mark: str) -> tuple[Commit | None, bool]:
    """The commit that begins here, and whether another one follows."""
    digest, when, author = (next(lines, "") for _ in range(3))
    message = []
    for line in lines:
        if line == mark:
            break
        message.append(line)
    changes = _Changes()
    more = False
    for line in lines:
        if line == mark:
            more = True
            break
        changes.take(line)
    if not when.isdigit():
        return None, more
    text = "\n".join(message).strip()[:LONGEST_MESSAGE]
    time = datetime.fromtimestamp(int(when), UTC)
    files = tuple(changes.files[:MOST_FILES])
    others = changes.others + len(changes.files) - len(files)
    return Commit(digest, author, time, text, files, others, "\n".join(changes.shown)), more


class _Changes:
    """Collects what a commit changed, as far as it is wanted."""

    def __init__(self) -> None:
        self.files: list[str] = []
        self.others = 0
        self.shown: list[str] = []
        self._size = 0
        self._left = 0
        """How many characters of the present file are still wanted."""
        self._is_header = False
        self._is_patch = False
        self._named = ""

    def take(self, line: str) -> None:
        """The next line that git says of the commit: first the names of files, then the changes of each."""
        if line.startswith("diff --git "):
            self._begin(_path_in(line))
        elif not self._is_patch:
            self._count(line)
        elif self._is_header:
            self._is_header = not line.startswith("@@")
            if not self._is_header:
                self._show(line)
        else:
            self._show(line)

    def _count(self, line: str) -> None:
        added, _, rest = line.partition("\t")
        path = rest.partition("\t")[2]
        if not path:
            return
        if added == "-" or is_left_out(path):
            self.others += 1
        else:
            self.files.append(path)

    def _begin(self, path: str) -> None:
        self._is_patch = self._is_header = True
        is_wanted = not is_left_out(path) and self._size < LONGEST_CHANGES
        self._left = min(LONGEST_CHANGES_OF_FILE, LONGEST_CHANGES - self._size) if is_wanted else 0
        self._named = path

    def _show(self, line: str) -> None:
        if self._left <= 0:
            return
        if self._named:
            self.shown.append(f"--- {self._named}")
            self._named = ""
        line = line[:LONGEST_LINE]
        self._left -= len(line) + 1
        self._size += len(line) + 1
        self.shown.append(line if self._left > 0 else "…")


def _path_in(line: str) -> str:
    """The path in ``diff --git a/path b/path``; both are the same, because renames are not looked for."""
    body = line.removeprefix("diff --git ")
    return body[2 : 2 + (len(body) - 5) // 2]


def not_known(found: Sequence[str], known: Collection[str]) -> list[str]:
    """The hashes of commits that are not known by their names, of those that are read."""
    return [one for one in found[:MOST_COMMITS] if one[:SHORT] not in known]
