"""Runs git to read a repository. Its settings cannot make it run programs or use the network here."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

SECONDS = 5.0
"""How long one answer may take."""
_SAFE = (
    "-c", "core.fsmonitor=false", "-c", "log.showSignature=false", "-c", "core.quotePath=false",
    "-c", "protocol.allow=never", "--no-pager", "--no-optional-locks", "--literal-pathspecs",
)  # fmt: skip


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


def renamed_to(top: Path, path: str, seconds: float) -> str:
    """What a file that is gone is called now, as far as git knows: by a rename that is not committed yet, else by the
    commit that took the file away. Empty if it was not renamed.
    """
    until = time.monotonic() + seconds

    def said(*arguments: str) -> str:
        return output_of(top, until - time.monotonic(), *arguments)

    # The index is compared, not the files: to compare these, git would run the filters that its settings name.
    names = ("--find-renames", "--diff-filter=R", "--name-status", "-z", "--no-ext-diff", "--no-textconv")
    if found := renames_in(said("diff", "--cached", *names, "HEAD")).get(path):
        return found
    commit = said("log", "-1", "--no-renames", "--diff-filter=D", "--format=%H", "--", path).strip()
    return renames_in(said("show", "--format=", *names, commit)).get(path, "") if commit else ""


def renames_in(listed: str) -> dict[str, str]:
    """Old names of files and their new ones, from what git lists with ``--name-status -z``."""
    parts = listed.split("\0")
    return {old: new for how, old, new in zip(parts[::3], parts[1::3], parts[2::3], strict=False) if how[:1] == "R"}


def output_of(top: Path, seconds: float, *arguments: str) -> str:
    """What git prints; nothing where it fails or takes too long."""
    process = started(top, *arguments) if seconds > 0 else None
    output = _output(process, seconds) if process is not None else b""
    return output.decode("utf-8", "replace") if process is not None and process.returncode == 0 else ""


def _output(process: subprocess.Popen[bytes], seconds: float) -> bytes:
    try:
        return process.communicate(timeout=max(seconds, 0.001))[0]
    except subprocess.TimeoutExpired:
        process.kill()
        return process.communicate()[0]
