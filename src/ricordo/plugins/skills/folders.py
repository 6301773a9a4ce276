"""Where skills are found: the folders with SKILL.md files, in order of precedence, and a command that lists more.

This module only names the folders. The command comes from the user's own settings, never from those of an untrusted
project. It runs without a shell and with a time limit, and its output is only data.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ricordo.errors import ContractError, Unavailable, UsageError
from ricordo.frozen import frozen

FOLDERS = {
    "workspace": (".claude/skills", ".agents/skills", ".codex/skills", "skills"),
    "user": ("~/.claude/skills", "~/.agents/skills", "~/.codex/skills", "~/.cursor/skills", "~/.gemini/skills"),
    "system": ("~/.codex/skills/.system", "/etc/codex/skills"),
}
"""Where agents' programs keep skills, by scope; the first of a name wins."""
COMMAND_SECONDS = 10.0
"""How long the command that lists more may take."""
FILE = "SKILL.md"
SCOPES = ("workspace", "user", "system", "listed")
"""Where a skill comes from. If two skills have the same name, the earlier scope wins."""
LARGEST_LIST = 32_000_000
_TOPS = (".ricordo", ".git")
_EXPECTED = 'It prints a JSON list: [{"name": "pdf", "path": "/skills/pdf", "description": "Work with PDF files"}].'


@frozen
class SkillRoot:
    """A folder with skills, or one SKILL.md; if the user named it (``asked_for``), it must exist."""

    path: Path
    scope: str
    asked_for: bool = False


@frozen
class Listed:
    """A skill as a listing command names it."""

    name: str
    path: str = ""
    description: str = ""
    content: str = ""
    """The instructions themselves, if the list has them."""

    @property
    def file(self) -> Path | None:
        """The SKILL.md on this machine, if the path leads to one."""
        if not self.path or "://" in self.path or "\x00" in self.path:
            return None
        path = Path(os.path.expanduser(self.path))  # noqa: PTH111 - Path's own fails for an unknown ~name
        file = path / FILE if path.is_dir() else path
        return file if file.is_file() else None


def default_roots(start: Path) -> list[SkillRoot]:
    """The usual folders, in order of precedence; relative ones are below the top of the workspace."""
    top = workspace_of(start)
    return [
        SkillRoot(top / os.path.expanduser(name), scope)  # noqa: PTH111 - as above
        for scope, names in FOLDERS.items()
        for name in names
    ]


def named_roots(names: Sequence[str | Path], start: Path) -> list[SkillRoot]:
    """The folders that the user named: those of the workspace first, then the user's, then the system's."""
    if any(not str(name).strip() for name in names):
        raise UsageError("the name of a folder is empty", hint="Name a folder with skills, or none for the usual ones.")
    roots = [start / os.path.expanduser(name) for name in names]  # noqa: PTH111 - as above
    return sorted(
        (SkillRoot(root, scope_of(root, start), True) for root in roots), key=lambda root: rank_of(root.scope)
    )


def workspace_of(start: Path) -> Path:
    """The nearest folder, this one or above it, that is a project or a repository; else this folder."""
    above = (folder for folder in (start, *start.parents) if any((folder / top).exists() for top in _TOPS))
    return next(above, start)


def scope_of(path: Path, start: Path) -> str:
    """The scope of a path, by its place."""
    where = os.path.abspath(path)  # noqa: PTH100 - links on the way stay as they are called
    for folder, scope in ((workspace_of(start), "workspace"), (Path.home(), "user")):
        inside = os.path.abspath(folder).rstrip(os.sep) + os.sep  # noqa: PTH100
        if where.startswith(inside) or where + os.sep == inside:
            return scope
    return "system"


def rank_of(scope: str) -> int:
    """The place of a scope in the order of precedence; an unknown scope comes last."""
    return SCOPES.index(scope) if scope in SCOPES else len(SCOPES)


def listed_by(command: str) -> list[Listed]:
    """The skills that a command prints."""
    try:
        words = shlex.split(command, posix=os.name != "nt")
    except ValueError as problem:
        raise UsageError(f"skills.command cannot be read: {problem}", hint="Check its quotes.") from None
    if not words:
        raise UsageError("skills.command is empty", hint="Set it, or take it out: ‹:config unset skills.command›")
    done = _run(words)
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise Unavailable(
            f"'{words[0]}' ended with {done.returncode}{f': {said[-1][:200]}' if said else ''}",
            hint="Run skills.command by hand to see why.",
        )
    if len(done.stdout) > LARGEST_LIST:
        raise ContractError(f"'{words[0]}' printed more than {LARGEST_LIST // 1_000_000} MB", hint=_EXPECTED)
    try:
        entries = json.loads(done.stdout.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise ContractError(f"'{words[0]}' did not print JSON", hint=_EXPECTED) from None
    if isinstance(entries, dict):
        entries = entries.get("skills", entries)
    if not isinstance(entries, list):
        raise ContractError(f"'{words[0]}' printed JSON that is not a list", hint=_EXPECTED)
    return [_listed(entry) for entry in entries]


def _run(words: list[str]) -> subprocess.CompletedProcess[bytes]:
    try:
        # It runs in a session of its own, so that everything it starts can be ended with it when the time is up.
        process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=os.name != "nt",
        )
    except OSError as problem:
        raise Unavailable(
            f"skills.command cannot be run: {words[0]}: {problem.strerror or problem}",
            hint="Check it, or take it out: ‹:config unset skills.command›",
        ) from None
    with process:
        try:
            out, err = process.communicate(timeout=COMMAND_SECONDS)
        except subprocess.TimeoutExpired:
            slow = f"'{words[0]}' did not end within {COMMAND_SECONDS:g} s"
            raise Unavailable(slow, hint="Fix the command.") from None
        finally:
            if process.returncode is None:  # kill the command and everything that it started
                if os.name == "nt":
                    process.kill()
                else:
                    with suppress(ProcessLookupError):
                        os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    return subprocess.CompletedProcess(words, process.returncode, out, err)


def _listed(entry: Any) -> Listed:
    """One entry of the list; its name is empty if it has none, so that it can be reported."""
    if not isinstance(entry, dict):
        return Listed("")
    path = next((entry[key] for key in ("path", "location", "file") if isinstance(entry.get(key), str)), "")
    name, place, description = (
        " ".join(str(value or "").split()) for value in (entry.get("name"), path, entry.get("description"))
    )
    content = entry.get("content")
    return Listed(name, place, description, content if isinstance(content, str) else "")
