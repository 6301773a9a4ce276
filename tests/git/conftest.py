"""Real git repositories in a folder of the test, with work trees and a store of their own."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from ricordo import ConfigProvider, Ricordo
from ricordo.config.files import standing_in

_WHO = {
    "GIT_AUTHOR_NAME": "Ada", "GIT_AUTHOR_EMAIL": "ada@example.org", "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.org", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1",
}  # fmt: skip


@dataclass(frozen=True)
class Checkout:
    """A work tree of a repository."""

    top: Path

    def git(self, *arguments: str, when: str = "") -> str:
        times = {"GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when} if when else {}
        plain = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        done = subprocess.run(
            ["git", "-c", "protocol.file.allow=always", *arguments],
            cwd=self.top, env={**plain, **_WHO, **times}, check=True, capture_output=True, text=True,
        )  # fmt: skip
        return done.stdout.strip()

    def write(self, name: str, text: str | bytes) -> Path:
        path = self.top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    def commit(self, message: str, when: str = "", **files: str) -> str:
        """Commit files (``plan__md="…"`` is ``plan.md``); returns the commit."""
        for name, text in files.items():
            self.write(name.replace("__", "."), text)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message, when=when)
        return self.git("rev-parse", "HEAD")

    def worktree(self, branch: str, folder: Path) -> Checkout:
        self.git("worktree", "add", "-q", "-b", branch, str(folder))
        return Checkout(folder)


@pytest.fixture
def main(tmp_path: Path) -> Checkout:
    """A repository with one commit on ``main``, and a project of Ricordo in it."""
    made = Checkout(tmp_path / "shop")
    made.top.mkdir()
    made.git("init", "-q", "-b", "main")
    made.write(".gitignore", ".ricordo/\n")
    made.commit("Begin", README__md="A shop.\n")
    (made.top / ".ricordo").mkdir()
    return made


Opened = Callable[[Checkout], Ricordo]


@pytest.fixture
def opened() -> Iterator[Opened]:
    """Opens the store that is meant in a work tree, as a command would that runs there."""
    engines: list[Ricordo] = []

    def open_one(place: Checkout) -> Ricordo:
        config = ConfigProvider({"embedding.provider": "none"}, start=place.top)
        engines.append(Ricordo.open(config=config, start=place.top))
        return engines[-1]

    yield open_one
    for engine in engines:
        engine.close()


def remember(engine: Ricordo, place: Checkout, text: str) -> str:
    """Save a memory as a command does that runs in a work tree."""
    with standing_in(place.top):
        saved = engine.remember(text, on_duplicate="save")
    assert saved.status == "created"
    return saved.ref
