"""Opening a file in the user's editor at a line, and a page in the browser."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

import click

from ricordo.errors import Unavailable

_AT_COLON = ("code", "codium", "cursor", "windsurf", "subl", "zed", "hx", "helix")
"""Editors that take ``file:line``; most others take ``+line file``."""

_WITH_GOTO = ("code", "codium", "cursor", "windsurf")
"""Editors that read ``file:line`` only behind this flag."""


def open_place(place: str, line: int = 0) -> None:
    """Open a file in the editor, and wait until it is closed; or a page in the browser."""
    if place.startswith(("http://", "https://")):
        click.launch(place)
        return
    command = editor_command(place, line)
    try:
        done = subprocess.run(command, check=False)
    except OSError as error:
        raise Unavailable(
            f"the editor '{command[0]}' cannot be started ({error.strerror})",
            hint="Set VISUAL or EDITOR to an editor that is installed.",
        ) from None
    if done.returncode:
        raise Unavailable(f"the editor '{command[0]}' ended with {done.returncode}", hint=f"The file is {place}.")


def editor_command(place: str, line: int = 0) -> list[str]:
    """The command line that opens a file at a line.

    >>> os.environ["VISUAL"] = "vim"
    >>> editor_command("/notes/a.md", 12)
    ['vim', '+12', '/notes/a.md']
    """
    default = "notepad" if os.name == "nt" else "vi"
    editor = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or default, posix=os.name != "nt")
    name = Path(editor[0]).stem.lower()
    if not line or name == "notepad":
        return [*editor, place]
    if name in _AT_COLON:
        goto = ["-g"] if name in _WITH_GOTO else []
        return [*editor, *goto, f"{place}:{line}"]
    return [*editor, f"+{line}", place]
