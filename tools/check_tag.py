"""Refuses to publish a tag that does not fit: ``python tools/check_tag.py v0.2.0``.

The tag must be the version of the package, and the topmost block of CHANGELOG.md must be of that version, with a date.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def complaints(tag: str, root: Path = ROOT) -> list[str]:
    """What keeps the tag from being published; nothing if it fits."""
    source = (root / "src" / "ricordo" / "_version.py").read_text(encoding="utf-8")
    version = re.search(r'__version__ = "([^"]+)"', source)
    block = re.search(r"^## (\S+) \((.+)\)$", (root / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    if version is None or block is None:
        return ["_version.py names no version, or CHANGELOG.md has no block '## VERSION (DATE)'"]
    found = []
    if tag != f"v{version[1]}":
        found.append(f"the tag is {tag}, but the package is {version[1]}: the tag must be v{version[1]}")
    if block[1] != version[1]:
        found.append(f"the package is {version[1]}, but the topmost block of CHANGELOG.md is of {block[1]}")
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", block[2]):
        found.append(f"the topmost block of CHANGELOG.md has no date but '{block[2]}'")
    return found


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python tools/check_tag.py TAG")
    sys.exit("\n".join(complaints(sys.argv[1])) or 0)
