"""Whether a folder is one that the user wants left alone: a ``.ricordoignore`` in it or above it says so."""

from __future__ import annotations

from pathlib import Path

NAME = ".ricordoignore"
LARGEST = 1_000_000


def is_left_alone(folder: Path) -> bool:
    """Whether a ``.ricordoignore`` above names the folder, or its own takes in everything.

    What git ignores is not left alone: work trees and build folders are often ignored there.
    """
    for above in (folder, *folder.parents):
        lines = _lines(above / NAME)
        if not lines:
            continue
        from pathspec import GitIgnoreSpec

        spec = GitIgnoreSpec.from_lines(lines)
        inside = folder.relative_to(above).parts
        begun = ["/".join(inside[: place + 1]) + "/" for place in range(len(inside))] or ["anything"]
        if any(spec.match_file(name) for name in begun):
            return True
    return False


def _lines(path: Path) -> list[str]:
    try:
        if not path.is_file() or path.stat().st_size > LARGEST:
            return []
        return path.read_text(encoding="utf-8-sig", errors="replace").splitlines()
    except OSError:
        return []
