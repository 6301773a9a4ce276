"""What became of the branches that memories, notes and articles were saved on: merged, not merged, or deleted.

A branch is merged when its newest commit is part of the branch that all share, here or as last fetched, or of what the
caller has checked out. Refs are read from git's files. Git is only run to ask whether one commit comes before another,
once for each pair. The newest commit of each branch, and that it was merged, are kept in a file of the user, so that a
branch which was deleted after it was merged stays merged.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from ricordo.config.files import current_folder, locked, read_bytes, replace_file, state_home
from ricordo.config.repository import Repository, repository_around, repository_at
from ricordo.errors import Error
from ricordo.values.provenance import Provenance

MERGED, OPEN, DELETED = "merged", "not merged", "deleted"
UNKNOWN = ""
"""The repository is not on this machine: then nothing is said about its branches."""
FILE_NAME = "branches.json"


def unmerged(marked: Mapping[int, Provenance]) -> dict[int, str]:
    """Which items were saved on a branch that is not merged, each with a sentence that says so."""
    seen = _Look()
    states = {n: seen.state(said) for n, said in marked.items()}
    seen.keep()
    return {
        n: f"on the branch {marked[n].branch}, which {'was deleted' if state == DELETED else 'is not merged'}"
        for n, state in states.items()
        if state in (OPEN, DELETED)
    }


def left_behind(marked: Mapping[int, Provenance]) -> list[int]:
    """Which items were saved on a branch that was deleted before it was merged."""
    seen = _Look()
    found = [n for n, said in marked.items() if seen.state(said) == DELETED]
    seen.keep()
    return found


class _Look:
    """One look at the repositories that some records name."""

    def __init__(self) -> None:
        self._here: Repository | None = None
        with suppress(Error, OSError):
            self._here = repository_around(current_folder())
        self._states: dict[tuple[str, str, str], str] = {}
        self._known: dict[str, dict[str, str]] | None = None
        self._changed: dict[str, dict[str, str]] = {}

    def state(self, said: Provenance) -> str:
        key = said.repository, said.branch, said.commit
        if key not in self._states:
            found = self._repository(said.repository)
            self._states[key] = UNKNOWN if found is None else self._state(found, said)
        return self._states[key]

    def _repository(self, name: str) -> Repository | None:
        """The repository of that name; the one that the caller is in, if it was moved here or cloned."""
        here = self._here
        if here is not None and here.name != name and Path(here.name).name == Path(name).name:
            return repository_at(Path(name)) or here
        return here if here is not None and here.name == name else repository_at(Path(name))

    def _state(self, found: Repository, said: Provenance) -> str:
        branch = said.branch
        if branch in (found.branch(), found.default_branch()):
            return MERGED  # what is checked out counts, whether it is merged or not
        head = found.commit(f"refs/heads/{branch}")
        known = self._of(found.name).get(branch, "")
        if not head:
            if known == MERGED:
                return MERGED
            last = known or said.commit
            return MERGED if last and self._is_merged(found, last) else DELETED
        if found.is_as_made(branch) or not self._is_merged(found, head):
            self._note(found.name, branch, "" if found.is_as_made(branch) else head)
            return OPEN
        self._note(found.name, branch, MERGED)
        return MERGED

    def _is_merged(self, found: Repository, commit: str) -> bool:
        into = dict.fromkeys((*found.default_commits(), found.checked_out()))
        return any(one == commit or _is_ancestor(found.common, commit, one) for one in into if one)

    def _of(self, repository: str) -> dict[str, str]:
        if self._known is None:
            self._known = _read()
        return self._known.get(repository, {})

    def _note(self, repository: str, branch: str, what: str) -> None:
        if self._of(repository).get(branch, "") != what:
            self._changed.setdefault(repository, {})[branch] = what

    def keep(self) -> None:
        """Write down what is new; if that fails, the next look finds it again."""
        if self._changed:
            with suppress(Error, OSError), locked(_file(), 0.5):
                known = _read()
                for repository, branches in self._changed.items():
                    known[repository] = known.get(repository, {}) | branches
                replace_file(_file(), json.dumps(known, indent=1).encode())


@lru_cache(maxsize=1024)
def _is_ancestor(repository: Path, commit: str, later: str) -> bool:
    from ricordo.sources.git import is_ancestor

    return is_ancestor(repository, commit, later)


def _file() -> Path:
    return state_home(os.environ) / FILE_NAME


def _read() -> dict[str, dict[str, str]]:
    """By repository and branch: the newest commit that was seen, or that it was merged."""
    try:
        found: Any = json.loads(read_bytes(_file()) or b"{}")
        return {name: dict(branches) for name, branches in found.items()}
    except (ValueError, AttributeError, TypeError, Error):
        return {}
