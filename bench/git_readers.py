"""How long git and the libraries that read repositories take for the commits of one, with their changes.

    pip install dulwich pygit2
    python bench/git_readers.py [FOLDER]

Each reads every commit with its message, author, time and changes (one line around each). The time to import a library,
or to start git, is a part of it and shown beside it.
"""

from __future__ import annotations

import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

PROGRAM = "import sys; sys.path.insert(0, {here!r}); import git_readers; git_readers.{name}({folder!r})"


def git(folder: str) -> None:
    from ricordo.sources import git_history

    began = time.perf_counter()
    found = git_history.hashes(Path(folder))[: git_history.MOST_COMMITS]
    started = time.perf_counter() - began
    count = sum(1 for _ in git_history.read(Path(folder), found))
    _say("git", count, started, time.perf_counter() - began)


def pygit2(folder: str) -> None:
    began = time.perf_counter()
    library: Any = import_module("pygit2")
    started = time.perf_counter() - began
    repository = library.Repository(folder)
    count = 0
    for commit in repository.walk(repository.head.target):
        parent = commit.parents[0] if commit.parents else None
        difference = repository.diff(parent, commit, context_lines=1) if parent else commit.tree.diff_to_tree(swap=True)
        count += bool(difference.patch is not None or commit.message)
    _say("pygit2", count, started, time.perf_counter() - began)


def dulwich(folder: str) -> None:
    began = time.perf_counter()
    repositories: Any = import_module("dulwich.repo")
    trees: Any = import_module("dulwich.diff_tree")
    patches: Any = import_module("dulwich.patch")
    started = time.perf_counter() - began
    repository = repositories.Repo(folder)
    count = 0
    for entry in repository.get_walker():
        commit = entry.commit
        before = repository[commit.parents[0]].tree if commit.parents else None
        for change in trees.tree_changes(repository.object_store, before, commit.tree):
            old, new = (
                repository[one.sha].data.splitlines(True) if one is not None and one.sha else []
                for one in (change.old, change.new)
            )
            for _ in patches.unified_diff(old, new, n=1):
                pass
        count += 1
    _say("dulwich", count, started, time.perf_counter() - began)


def _say(name: str, count: int, started: float, whole: float) -> None:
    print(f"{name:8} {count:6,} commits  start {started * 1000:5.0f} ms  all {whole:6.2f} s", flush=True)


if __name__ == "__main__":
    where = sys.argv[1] if len(sys.argv) > 1 else str(Path(__file__).parents[1])
    for reader in ("git", "pygit2", "dulwich"):
        program = PROGRAM.format(here=str(Path(__file__).parent), name=reader, folder=where)
        subprocess.run([sys.executable, "-c", program], check=False)
