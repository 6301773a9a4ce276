"""Makes items of the commits of a repository, so that a search finds why something is as it is.

The ref of a commit is ``git:``, the place of the repository and the first digits of its hash. Its text has links to the
files that it changed, which become links between items. Secrets that stand in changes are redacted, because a history
keeps what was taken out of the files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from ricordo.config.files import current_folder
from ricordo.config.repository import repository_around, repository_at
from ricordo.errors import NotFound
from ricordo.ingest.pipeline import Incoming
from ricordo.secrets.find import redact
from ricordo.sources import git_history
from ricordo.sources.disk import disk_ref, ref_path
from ricordo.sources.git_history import Commit
from ricordo.store.base import Store
from ricordo.values.file_refs import FileRefs
from ricordo.values.items import Item, Parsed, Ref

DRIVE = "git"
CATEGORY = "commit"
RENAMED = "renamed"
"""In the metadata of a commit: the new names of files that it renamed, with their old ones."""


class History:
    """The commits of one repository that a store does not have yet."""

    def __init__(self, store: Store, top: Path, refs: FileRefs) -> None:
        self._top = top
        self._refs = refs
        found_at = repository_at(top)
        main = (found_at.main if found_at is not None else None) or top
        self._place = disk_ref(main, refs).path.rstrip("/")  # all work trees of a repository share its commits
        is_stored = main == top or bool(store.items.refs_below("disk", disk_ref(top, refs).path))
        self._files = top if is_stored else main
        """Where the files are that its commits lead to."""
        known = {ref.path.rpartition("/")[2] for _, ref, _ in store.items.refs_below(DRIVE, f"{self._place}/")}
        found = git_history.hashes(top)
        self.wanted = git_history.not_known(found, known)
        self.is_cut = len(found) > git_history.MOST_COMMITS

    def items(self) -> Iterator[Incoming]:
        """The new commits, the newest first."""
        for commit in git_history.read(self._top, self.wanted):
            yield self._item(commit)

    def _item(self, commit: Commit) -> Incoming:
        title, _ = redact(commit.title)
        text, _ = redact(self._text(commit))
        return Incoming(
            Ref(DRIVE, f"{self._place}/{commit.name}"),
            Parsed(text, mime_type="text/markdown", structure="markdown"),
            fields={
                "title": title or commit.name,
                "category": CATEGORY,
                "metadata": {"commit": commit.hash, "author": commit.author, "files": list(commit.files)}
                | ({RENAMED: dict(commit.renamed)} if commit.renamed else {}),
            },
            times=(commit.time, commit.time),
            origin=str(self._top),
        )

    def _text(self, commit: Commit) -> str:
        """The message, who and when, links to the files, and the changes as code, in which no link counts."""
        files = [f"- [{one}](<{disk_ref(self._files / one, self._refs)}>)" for one in commit.files]
        if commit.others:
            files.append(f"- and {commit.others:,} more")
        about = f"Commit {commit.name} by {commit.author}, {commit.time:%Y-%m-%d %H:%M}"
        parts = [commit.message, about, "\n".join(files)]
        if commit.changes:
            fence = "`" * max(3, 1 + max(map(len, re.findall("`+", commit.changes)), default=0))
            parts.append(f"{fence}diff\n{commit.changes}\n{fence}")
        return "\n\n".join(filter(None, parts)) + "\n"


def commits_of(store: Store, file: Ref, linked: Sequence[Item]) -> list[Item]:
    """The commits that changed a file, also while it had another name, given those that are linked to it."""
    found = {one.ref: one for one in linked}
    for place in {one.ref.path.rpartition("/")[0] for one in linked}:
        below = store.items.get_many([n for n, _, _ in store.items.refs_below(DRIVE, f"{place}/")])
        name = _name_in(file, place, linked)
        for one in sorted(below.values(), key=lambda one: one.updated_at, reverse=True):
            about = one.fields.metadata
            if name in (about.get("files") or ()):
                found[one.ref] = one
            name = (about.get(RENAMED) or {}).get(name, name)
    return list(found.values())


def _name_in(file: Ref, place: str, linked: Sequence[Item]) -> str:
    """What a file is called in its repository, of which it may lie in any work tree."""
    if file.path.startswith(f"{place}/"):
        return file.path.removeprefix(f"{place}/")
    names = {name for one in linked for name in one.fields.metadata.get("files") or ()}
    return max((name for name in names if file.path.endswith(f"/{name}")), key=len, default="")


def repository_of(ref: Ref, refs: FileRefs) -> Path | None:
    """The place of the repository that a commit belongs to, if it is on this machine."""
    folder = Ref("disk", ref.path.rpartition("/")[0] or "/")
    place = ref_path(folder, refs) if refs.is_here(folder) else None
    return place if place is not None and place.is_dir() else None


def tree_around(folder: Path) -> tuple[Path, Path] | None:
    """The work tree that a folder is in, and its main checkout; None in a main checkout and outside of repositories."""
    found = repository_around(folder)
    if found is None or not found.is_worktree or found.main is None:
        return None
    return found.top, found.main


def trees_of(main: Path, folders: Iterable[Path]) -> list[Path]:
    """The work trees of a repository in which some folders are, or in which the call runs."""
    here: list[Path] = []
    with suppress(NotFound):
        here.append(current_folder())
    found = (tree_around(folder) for folder in (*folders, *here))
    return list(dict.fromkeys(one[0] for one in found if one is not None and one[1].resolve() == main.resolve()))
