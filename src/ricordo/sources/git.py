"""Runs git to read a repository. Its settings cannot make it run programs or use the network here."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

SECONDS = 5.0
"""How long one answer may take."""
_SAFE = (
    "-c", "core.fsmonitor=false", "-c", "log.showSignature=false", "-c", "core.quotePath=false",
    "-c", "protocol.allow=never", "--no-pager", "--no-optional-locks", "--literal-pathspecs",
)  # fmt: skip


def is_ancestor(repository: Path, commit: str, later: str) -> bool:
    """Whether a commit is part of the history of a later one; no where git cannot tell."""
    process = started(repository, "merge-base", "--is-ancestor", commit, later)
    return process is not None and _ended(process) == 0


def _ended(process: subprocess.Popen[bytes]) -> int:
    """The exit status; a git that takes too long is stopped."""
    try:
        process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
    return process.returncode


def started(top: Path, *arguments: str) -> subprocess.Popen[bytes] | None:
    """Start git in a repository; None where there is no git. What hooks of git set in the environment is left out."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        return subprocess.Popen(
            ["git", *_SAFE, *arguments],
            cwd=top,
            env={**plain, "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except OSError:
        return None
