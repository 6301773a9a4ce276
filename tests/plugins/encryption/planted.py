"""Words that occur nowhere else, and a look for them in every file."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable
from pathlib import Path

_WORD = re.compile(rb"zq[a-y]{8}", re.IGNORECASE)


def words(count: int) -> list[str]:
    """That many words, the same in every run."""
    chance = random.Random(24)
    found = ("zq" + "".join(chance.choices("abcdefghijklmnopqrstuvwxy", k=8)) for _ in range(count))
    return list(dict.fromkeys(found))


def found_in(folders: Iterable[Path], planted: Iterable[str]) -> dict[str, set[str]]:
    """Which of the words lie readable in files of these folders, or in names of files, by file."""
    wanted = {word.encode() for word in planted}
    found: dict[str, set[str]] = {}
    for folder in folders:
        for path in folder.rglob("*"):
            data = str(path.relative_to(folder)).encode() + (path.read_bytes() if path.is_file() else b"")
            if hits := {word.lower() for word in _WORD.findall(data)} & wanted:
                found[str(path)] = {word.decode() for word in hits}
    return found
