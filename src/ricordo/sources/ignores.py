"""Ignore files: ``.gitignore``, ``.ricordoignore`` and ``.git/info/exclude``.

The rules of a folder are read once. As in Git, the nearest ignore file with a matching pattern decides. Hidden files,
sizes and links are handled by ``disk``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ricordo.frozen import frozen

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

IGNORE_FILES = (".gitignore", ".ricordoignore")
_LARGEST_FILE = 1_000_000
_ANYWHERE = "^(?:.+/)?"  # how pathspec begins a pattern that has no slash


@frozen
class Rules:
    """The patterns of one ignore file, and the folder (with a trailing separator) they are relative to."""

    folder: str
    spec: GitIgnoreSpec
    any_name: re.Pattern[str]
    any_path: re.Pattern[str] | None

    def opinion(self, path: str, *, is_folder: bool) -> bool | None:
        """True if the path is ignored, False if it is kept, None if no pattern matches.

        The folders above are known to be kept, so a pattern without a slash needs the name only. Most files match
        nothing. One combined expression finds that out quickly; trying each pattern would be slow.
        """
        end = "/" if is_folder else ""
        if self.any_path is None and not self.any_name.match(path[path.rfind(os.sep) + 1 :] + end):
            return None
        relative = path[len(self.folder) :].replace(os.sep, "/") + end
        if self.any_path is not None and not (
            self.any_path.match(relative) or self.any_name.match(relative[relative.rfind("/", 0, -1) + 1 :])
        ):
            return None
        return self.spec.check_file(relative).include


def opinion(path: str, rules: Sequence[Rules], *, is_folder: bool) -> bool | None:
    """True if the rules, the nearest last, ignore this path; False if they keep it; None if they do not mention it."""
    for rule in reversed(rules):
        said = rule.opinion(path, is_folder=is_folder)
        if said is not None:
            return said
    return None


def rules_in(folder: str, names: Iterable[str]) -> list[Rules]:
    """The rules of the ignore files in a folder, given the names in it."""
    present = set(names)
    found = [_read(folder, Path(folder, name)) for name in IGNORE_FILES if name in present]
    return [rules for rules in found if rules is not None]


def rules_above(root: str) -> list[Rules]:
    """The rules of the folders above, up to the one that holds ``.git``; none without a repository.

    A folder that the user named is added even if a folder above ignores it, so such rules are left out.
    """
    found: list[list[Rules]] = []
    for folder in (Path(root), *Path(root).parents):
        is_top = (folder / ".git").exists()
        if str(folder) != root:
            found.append(rules_in(str(folder), [name for name in IGNORE_FILES if (folder / name).is_file()]))
        if is_top:
            exclude = _read(str(folder), folder / ".git" / "info" / "exclude")
            found.append([exclude] if exclude else [])
            rules = [rule for group in reversed(found) for rule in group]
            return [] if _covers(rules, root, str(folder)) else rules
    return []


def _covers(rules: Sequence[Rules], root: str, top: str) -> bool:
    """Whether the rules ignore the root, or a folder between it and the top."""
    folder = Path(root)
    while str(folder) != top and folder != folder.parent:
        above = [rule for rule in rules if str(folder).startswith(rule.folder)]
        if opinion(str(folder), above, is_folder=True):
            return True
        folder = folder.parent
    return False


def glob_rules(folder: str, globs: Sequence[str]) -> Rules | None:
    """Globs as rules: what they match is wanted. If all globs exclude something, everything else is wanted."""
    lines = list(globs)
    if lines and all(line.startswith("!") for line in lines):
        lines.insert(0, "*")
    return _rules(folder, lines)


def _read(folder: str, path: Path) -> Rules | None:
    try:
        if not path.is_file() or path.stat().st_size > _LARGEST_FILE:
            return None
        text = path.read_text(encoding="utf-8-sig", errors="replace")
    except OSError:
        return None
    return _rules(folder, text.splitlines())


def _rules(folder: str, lines: Iterable[str]) -> Rules | None:
    from pathspec import GitIgnoreSpec  # only when files are walked: a search names files, too

    spec = GitIgnoreSpec.from_lines(line for line in lines if _is_valid(line))
    regexes = [pattern.regex.pattern for pattern in spec.patterns if pattern.regex is not None]
    if not regexes:
        return None
    names = [regex.removeprefix(_ANYWHERE) for regex in regexes if regex.startswith(_ANYWHERE)]
    paths = [regex for regex in regexes if not regex.startswith(_ANYWHERE)]
    any_path = _any_of(paths) if paths else None
    return Rules(folder.rstrip(os.sep) + os.sep, spec, _any_of(names), any_path)


def _any_of(regexes: Sequence[str]) -> re.Pattern[str]:
    unnamed = [re.sub(r"[(][?]P<[^>]*>", "(?:", regex) for regex in regexes]
    return re.compile("|".join(f"(?:{regex})" for regex in unnamed) or r"(?!)")


def _is_valid(line: str) -> bool:
    """Whether Git would take the line for a pattern; it skips the others, and so do we."""
    from pathspec import GitIgnoreSpec

    try:
        GitIgnoreSpec.from_lines([line])
    except (ValueError, re.error):
        return False
    return True
