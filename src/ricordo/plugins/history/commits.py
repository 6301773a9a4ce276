"""Makes items of the commits of a repository, so that a search finds why something is as it is.

The ref of a commit is ``git:``, the place of the repository and the first digits of its hash. Its text has links to the
files that it changed, which become links between items. Secrets that stand in changes are redacted, because a history
keeps what was taken out of the files.

Git itself reads the commits: it is faster than the libraries that could (``bench/NOTES.md`` has the figures), and it is
no further package to install. How much is read of a commit is bounded; binary files, and those that tools wrote or that
others maintain (lock files, ``node_modules``), are left out.
"""

from __future__ import annotations

import re
import secrets
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from subprocess import Popen
from typing import TYPE_CHECKING

from ricordo.config.files import current_folder
from ricordo.config.repository import repository_around, repository_at
from ricordo.errors import NotFound, Unavailable, UsageError
from ricordo.frozen import frozen
from ricordo.ingest.add import looks_like_url
from ricordo.ingest.pipeline import Incoming
from ricordo.secrets.find import redact
from ricordo.sources.disk import disk_ref, ref_path
from ricordo.sources.git import output_of, renames_in, started
from ricordo.store.base import Store
from ricordo.values.items import FileRefs, Item, Parsed, Ref, Version
from ricordo.values.provenance import AGENT, PERSON
from ricordo.values.reports import Refreshed

if TYPE_CHECKING:
    from ricordo.ingest.add import Adding
    from ricordo.ingest.refresh import Refresher

DRIVE = "git"
CATEGORY = "commit"
RENAMED = "renamed"
"""In the metadata of a commit: the new names of files that it renamed, with their old ones."""


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
    output = output_of(
        top, SECONDS, "log", "--no-walk=unsorted", "--find-renames", "--diff-filter=R", "--name-status", "-z",
        "--no-ext-diff", "--no-textconv", "--no-color", "--no-notes", "--no-decorate", f"--format={mark}%H", *wanted,
    )  # fmt: skip
    renamed: dict[str, tuple[tuple[str, str], ...]] = {}
    for part in output.split(mark)[1:]:
        digest, _, names = part.partition("\0")
        pairs = [(new, old) for old, new in renames_in(names.lstrip("\n")).items() if not _LEFT_OUT.search(new)]
        if pairs:
            renamed[digest.strip()] = tuple(pairs[:MOST_RENAMED])
    return renamed


def _commits(process: Popen[bytes], mark: str) -> Iterator[Commit]:
    timer = threading.Timer(SECONDS, process.kill)
    timer.start()
    try:
        assert process.stdout is not None
        raw = iter(partial(process.stdout.readline, 1_000_000), b"")
        lines = (line.decode("utf-8", "replace").rstrip("\r\n") for line in raw)
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
            # ``a/path b/path``: both are the same, because renames are not looked for.
            names = line.removeprefix("diff --git ")
            self._begin(names[2 : 2 + (len(names) - 5) // 2])
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
        if added == "-" or _LEFT_OUT.search(path):
            self.others += 1
        else:
            self.files.append(path)

    def _begin(self, path: str) -> None:
        self._is_patch = self._is_header = True
        is_wanted = not _LEFT_OUT.search(path) and self._size < LONGEST_CHANGES
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


class History:
    """The commits of one repository that a store does not have yet."""

    def __init__(self, store: Store, top: Path, refs: FileRefs) -> None:
        self._top = top
        self._refs = refs
        repository = repository_at(top)
        main = (repository.main if repository is not None else None) or top
        self._place = disk_ref(main, refs).path.rstrip("/")  # all work trees of a repository share its commits
        is_stored = main == top or bool(store.items.refs_below("disk", disk_ref(top, refs).path))
        self._files = top if is_stored else main
        """Where the files are that its commits lead to."""
        stored = {ref.path.rpartition("/")[2] for _, ref, _ in store.items.refs_below(DRIVE, f"{self._place}/")}
        newest = hashes(top)
        self.wanted = [digest for digest in newest[:MOST_COMMITS] if digest[:SHORT] not in stored]
        self.is_cut = len(newest) > MOST_COMMITS

    def items(self) -> Iterator[Incoming]:
        """The new commits, the newest first."""
        for commit in read(self._top, self.wanted):
            text, _ = redact(self._text(commit))
            yield Incoming(
                Ref(DRIVE, f"{self._place}/{commit.name}"),
                Parsed(text, mime_type="text/markdown", structure="markdown"),
                fields={
                    "title": redact(commit.message.partition("\n")[0])[0] or commit.name,
                    "category": CATEGORY,
                    "metadata": {"commit": commit.hash, "author": commit.author, "files": list(commit.files)}
                    | ({RENAMED: dict(commit.renamed)} if commit.renamed else {}),
                },
                times=(commit.time, commit.time),
                origin=str(self._top),
            )

    def _text(self, commit: Commit) -> str:
        """The message, who and when, links to the files, and the changes as code, in which no link counts."""
        files = [f"- [{name}](<{disk_ref(self._files / name, self._refs)}>)" for name in commit.files]
        if commit.others:
            files.append(f"- and {commit.others:,} more")
        about = f"Commit {commit.name} by {commit.author}, {commit.time:%Y-%m-%d %H:%M}"
        parts = [commit.message, about, "\n".join(files)]
        if commit.changes:
            fence = "`" * max(3, 1 + max(map(len, re.findall("`+", commit.changes)), default=0))
            parts.append(f"{fence}diff\n{commit.changes}\n{fence}")
        return "\n\n".join(filter(None, parts)) + "\n"


def add(adding: Adding, sources: Sequence[str | Path]) -> bool:
    """Add the commits of the repositories that some files or folders belong to."""
    paths = [path for source in sources if not looks_like_url(str(source)) for path in adding.expanded(str(source))]
    repositories = {path: repository_around(path) for path in paths}
    for path, repository in repositories.items():
        if repository is None:
            raise UsageError(f"{path} is in no git repository", hint="Leave out ‹history› for it.")
    for top in dict.fromkeys(repository.top for repository in repositories.values() if repository is not None):
        history = History(adding.store, top, adding.refs)
        if history.is_cut:
            adding.notes.append(f"of the history of {top}, the newest {MOST_COMMITS:,} commits are read")
        adding.take_all(history.items())
    return True


def items_of_folder(refresher: Refresher, ref: Ref, folder: Path) -> dict[int, Ref]:
    """The commits of repositories at or below a folder, or of the one of which it is a work tree."""
    tree = tree_around(folder)
    main = refresher.items_below(Ref(DRIVE, disk_ref(tree[1], refresher.refs).path)) if tree is not None else {}
    return refresher.items_below(Ref(DRIVE, ref.path)) | main


def refresh(refresher: Refresher, items: Mapping[int, Ref]) -> None:
    """Take in the new commits of the repositories that some commits belong to: those of the main checkout, and of the
    work trees that were added, are named, or in which the refresh runs. What somebody saved as if it were a commit was
    read nowhere: it is skipped.
    """
    stored = refresher.store.items.get_many(list(items))
    by_hand = {n for n, item in stored.items() if item.provenance.author in (PERSON, AGENT)}
    for n in sorted(by_hand):
        refresher.note(Refreshed(str(items[n]), "skipped"))
    places = {Ref(DRIVE, f"{ref.path.rpartition('/')[0]}/") for n, ref in items.items() if n not in by_hand}
    for place in sorted(places, key=str):
        top = repository_of(place, refresher.refs)
        for tree in (top, *trees_of(top, (*refresher.roots, *refresher.folders))) if top is not None else ():
            refresher.save(History(refresher.store, tree, refresher.refs).items(), "skip")


def further_versions(store: Store, n: int, file: Ref) -> list[Version]:
    """The commits that changed a file, also while it had another name, as they stand in its history."""
    linking = store.items.get_many([link.source for link in store.links.of([n]) if link.target == n])
    linked = [item for item in linking.values() if item.ref.drive == DRIVE and item.state == "live"]
    commits = {item.ref: item for item in linked}
    for place in {item.ref.path.rpartition("/")[0] for item in linked}:
        below = store.items.get_many([n for n, _, _ in store.items.refs_below(DRIVE, f"{place}/")])
        name = _name_in(file, place, linked)
        for item in sorted(below.values(), key=lambda item: item.updated_at, reverse=True):
            about = item.fields.metadata
            if name in (about.get("files") or ()):
                commits[item.ref] = item
            name = (about.get(RENAMED) or {}).get(name, name)
    return [
        Version(
            0, item.content_hash, item.updated_at, item.ref, item.kind, item.fields, item.size,
            provenance=item.provenance, commit=str(item.fields.metadata.get("commit") or ""),
        )
        for item in commits.values()
    ]  # fmt: skip


def _name_in(file: Ref, place: str, linked: Sequence[Item]) -> str:
    """What a file is called in its repository, of which it may lie in any work tree."""
    if file.path.startswith(f"{place}/"):
        return file.path.removeprefix(f"{place}/")
    names = {name for item in linked for name in item.fields.metadata.get("files") or ()}
    return max((name for name in names if file.path.endswith(f"/{name}")), key=len, default="")


def repository_of(ref: Ref, refs: FileRefs) -> Path | None:
    """The place of the repository that a commit belongs to, if it is on this machine."""
    folder = Ref("disk", ref.path.rpartition("/")[0] or "/")
    place = ref_path(folder, refs) if refs.is_here(folder) else None
    return place if place is not None and place.is_dir() else None


def tree_around(folder: Path) -> tuple[Path, Path] | None:
    """The work tree that a folder is in, and its main checkout; None in a main checkout and outside of repositories."""
    repository = repository_around(folder)
    if repository is None or not repository.is_worktree or repository.main is None:
        return None
    return repository.top, repository.main


def trees_of(main: Path, folders: Iterable[Path]) -> list[Path]:
    """The work trees of a repository in which some folders are, or in which the call runs."""
    here: list[Path] = []
    with suppress(NotFound):
        here.append(current_folder())
    trees = [tree for folder in (*folders, *here) if (tree := tree_around(folder)) is not None]
    return list(dict.fromkeys(top for top, its_main in trees if its_main.resolve() == main.resolve()))
