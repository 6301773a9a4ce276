"""Which git repository a folder belongs to, what is checked out there, and which branches it has.

It reads git's files and never runs git. What it cannot read, it does not know: then the answer is empty.
"""

from __future__ import annotations

import re
from pathlib import Path

from ricordo.frozen import frozen
from ricordo.patterns import late

USUAL_BRANCHES = ("main", "master", "trunk")
LONGEST_FILE = 50_000_000
"""A list of refs that is longer is not read."""

_COMMIT = late(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_WORKTREE = late(r"^\s*worktree\s*=\s*(.+?)\s*$", re.MULTILINE)


@frozen
class Repository:
    """A work tree: its top folder, its own git folder (``HEAD``), and the one that all its work trees share (refs)."""

    top: Path
    own: Path
    common: Path

    @property
    def is_worktree(self) -> bool:
        """Whether it was made by ``git worktree add``. A submodule was not: it is a repository of its own."""
        return self.own != self.common

    @property
    def main(self) -> Path | None:
        """The top folder of the main checkout; None for a bare repository, which has none."""
        if not self.is_worktree:
            return self.top
        if self.common.name == ".git":
            return self.common.parent
        match = _WORKTREE.search(_text(self.common / "config"))  # a submodule's, which is inside another .git
        return (self.common / match[1]).resolve() if match else None

    @property
    def name(self) -> str:
        """What the repository is called in records: its main checkout, or its git folder if it has none."""
        return str(self.main or self.common)

    def branch(self) -> str:
        """The branch that is checked out; empty for none."""
        return _named(_text(self.own / "HEAD"), "refs/heads/")

    def checked_out(self) -> str:
        """The commit that is checked out; empty before the first one."""
        head = _text(self.own / "HEAD").strip()
        return head if _COMMIT.fullmatch(head) else self.commit(f"refs/heads/{self.branch()}")

    def commit(self, ref: str) -> str:
        """The commit that a ref names; empty if there is no such ref."""
        if ".." in ref:
            return ""
        digest = _text(self.common / ref).strip()
        if _COMMIT.fullmatch(digest):
            return digest
        packed = re.search(rf"^({_COMMIT.pattern}) {re.escape(ref)}$", _text(self.common / "packed-refs"), re.MULTILINE)
        return packed[1] if packed else ""

    def default_branch(self) -> str:
        """The branch that others merge into: by its origin, else by a usual name, else that of the main checkout."""
        branch = _named(_text(self.common / "refs/remotes/origin/HEAD"), "refs/remotes/origin/")
        usual = (name for name in USUAL_BRANCHES if self.commit(f"refs/heads/{name}"))
        return branch or next(usual, "") or _named(_text(self.common / "HEAD"), "refs/heads/")

    def default_commits(self) -> list[str]:
        """The newest commits of the default branch, here and as last fetched from its origin."""
        name = self.default_branch()
        commits = (self.commit(f"{where}/{name}") for where in ("refs/heads", "refs/remotes/origin"))
        return list(dict.fromkeys(filter(None, commits)))


def repository_around(folder: Path) -> Repository | None:
    """The repository that a folder belongs to."""
    here = folder.absolute()
    for place in (here, *here.parents):
        if (repository := repository_at(place)) is not None:
            return repository
    return None


def repository_at(top: Path) -> Repository | None:
    """The repository whose work tree has its top here.

    A work tree names its main repository, and counts only if that names the work tree, too: a folder from elsewhere
    could name any.
    """
    link = top / ".git"
    try:
        if link.is_dir():
            return Repository(top, link, link) if (link / "HEAD").is_file() else None
        text = _text(link)
        if not text.startswith("gitdir:"):
            return None
        own = (top / text.removeprefix("gitdir:").strip()).resolve()
        shared = _text(own / "commondir").strip()
        if not shared:
            return Repository(top, own, own) if (own / "HEAD").is_file() else None
        common = (own / shared).resolve()
        back = _text(own / "gitdir").strip()
        is_named = own.parent == common / "worktrees" and bool(back) and (own / back).resolve() == link.resolve()
        return Repository(top, own, common) if is_named else None
    except (OSError, ValueError):
        return None


def _named(text: str, prefix: str) -> str:
    """The name of a branch from a file that refers to it; empty if it refers to something else."""
    ref = text.strip().removeprefix("ref: ")
    name = ref.removeprefix(prefix) if ref.startswith(prefix) else ""
    return "" if name.startswith(".") or ".." in name else name  # .invalid: the refs are not kept in files


def _text(path: Path) -> str:
    try:
        if not path.is_file() or path.stat().st_size > LONGEST_FILE:
            return ""
        return path.read_text("utf-8", "replace")
    except (OSError, ValueError):
        return ""
