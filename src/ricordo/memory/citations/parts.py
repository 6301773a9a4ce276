"""Parts of a file that can be cited: lines, the definition of a symbol, and what a command runs."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

from ricordo.frozen import frozen
from ricordo.ingest.code_units import outline_code
from ricordo.ingest.parse.detect import language_of_name
from ricordo.ingest.structure import CRUMB

LONGEST_CODE = 1_000_000
COMMAND_FILES = ("Makefile", "makefile", "GNUmakefile", "justfile", "Justfile", "package.json", "pyproject.toml")
"""Where a project says what its commands run."""
_NO_CODE = frozenset({"yaml", "toml", "json", "css", "scss", "ini", "make", "just", "dockerfile", "hcl", ""})
_TARGET = re.compile(r"^([\w.%/-]+(?:[ \t]+[\w.%/-]+)*)[^\n:=]*:(?!=)", re.MULTILINE)
_SCRIPT_TABLES = (
    ("project", "scripts"), ("project", "gui-scripts"), ("tool", "poetry", "scripts"), ("tool", "pdm", "scripts"),
    ("tool", "poe", "tasks"), ("tool", "rye", "scripts"),
)  # fmt: skip


@frozen
class FilePart:
    """Some lines of a file, and the number of the first."""

    text: str
    line: int


def lines_of(text: str, first: int, last: int) -> FilePart | None:
    """Lines of a text; None if it does not have all of them."""
    lines = text.splitlines()
    return FilePart("\n".join(lines[first - 1 : last]), first) if 1 <= first <= last <= len(lines) else None


def is_code(path: str) -> bool:
    """Whether a file defines symbols, by its name."""
    return language_of_name(path) not in _NO_CODE


def symbol_in(path: str, text: str, symbol: str) -> FilePart | None:
    """The definition of a symbol in a source file, with all that it holds; None if it is not defined there.

    ``total`` and ``Cart.total`` both mean a method ``total`` of the class ``Cart``; the shorter must be the only one.
    """
    names = re.split(r"\.|::|#", symbol)
    if names[-1] not in text or len(text) > LONGEST_CODE:
        return None
    sections = outline_code(text, language_of_name(path)).sections
    found = []
    for at, section in enumerate(sections):
        trail = section.heading.split(CRUMB) if section.body > section.start else []
        if trail[-len(names) :] == names:
            end = next((one.start for one in sections[at + 1 :] if one.level <= section.level), len(text))
            line = 1 + text.count("\n", 0, section.start)
            found.append((len(trail), FilePart(text[section.start : end].rstrip(), line)))
    least = min((depth for depth, _ in found), default=0)
    best = [part for depth, part in found if depth == least]
    return best[0] if len(best) == 1 else None


def command_in(path: str, text: str, name: str) -> FilePart | None:
    """What a command runs, as one of ``COMMAND_FILES`` says it; None if that does not name it."""
    file = path.rpartition("/")[2]
    if file == "package.json":
        said = _scripts(json.loads, text, ("scripts",)).get(name)
    elif file == "pyproject.toml":
        tables = (_scripts(tomllib.loads, text, table) for table in _SCRIPT_TABLES)
        said = next((table[name] for table in tables if name in table), None)
    else:
        return _recipe(text, name)
    if said is None:
        return None
    line = next((at for at, row in enumerate(text.splitlines(), 1) if name in row and str(said)[:20] in row), 1)
    return FilePart(said if isinstance(said, str) else json.dumps(said), line)


def _recipe(text: str, name: str) -> FilePart | None:
    for match in _TARGET.finditer(text):
        if name in match[1].split():
            lines = text[match.start() :].splitlines()
            end = next((at for at, row in enumerate(lines[1:], 1) if row.strip() and row[0] not in " \t#"), len(lines))
            return FilePart("\n".join(lines[:end]).rstrip(), 1 + text.count("\n", 0, match.start()))
    return None


def _scripts(read: Any, text: str, names: tuple[str, ...]) -> Mapping[str, Any]:
    try:
        table = read(text)
        for name in names:
            table = table.get(name, {})
        return table if isinstance(table, Mapping) else {}
    except (ValueError, AttributeError, RecursionError):
        return {}


_RUNNERS = re.compile(
    r"\b(?P<maker>make|just|poe)(?:[ \t]+-\S+)*[ \t]+(?P<target>[\w][\w./:-]*)"
    r"|\b(?:npm|pnpm|yarn|bun)[ \t]+(?:run[ \t]+)?(?P<script>[\w][\w.:-]*)"
    r"|\b(?:uv|poetry|pdm|hatch|rye|pipenv)[ \t]+run[ \t]+(?P<run>[\w][\w.:-]*)"
)
_BARE = re.compile(r"`(?:\$ )?(?P<name>[\w][\w.-]*)(?:[ \t][^`\n]*)?`")


def commands_named(text: str) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """The commands that a text may mean: as it is written, the name of what is run, and the files that may say it."""
    for match in _RUNNERS.finditer(text):
        name = next(filter(None, (match["target"], match["script"], match["run"]))).rstrip(".:/-")
        if maker := match["maker"]:
            files = {"make": COMMAND_FILES[:3], "just": COMMAND_FILES[3:5]}.get(maker, ("pyproject.toml",))
        else:
            files = ("package.json",) if match["script"] else ("pyproject.toml",)
        yield match[0].rstrip(".:/-"), name, files
    for match in _BARE.finditer(text):
        yield match["name"], match["name"], ("pyproject.toml",)


def is_whole(one: Mapping[str, Any]) -> bool:
    """Whether a citation is of a whole file."""
    return not any(name in one for name in ("lines", "symbol", "command"))


def cited_part(one: Mapping[str, Any], path: str, text: str | None) -> FilePart | None:
    """The cited part in a text of its file; None for a whole file, or if the text does not have it."""
    if text is None:
        return None
    if "symbol" in one:
        return symbol_in(path, text, str(one["symbol"]))
    if "command" in one:
        return command_in(path, text, str(one.get("runs") or ""))
    return lines_of(text, *one["lines"]) if "lines" in one else None


def label(one: Mapping[str, Any]) -> str:
    """A citation as people write it."""
    if "lines" in one:
        first, last = one["lines"]
        return f"{one['path']}:{first}" + (f"-{last}" if last != first else "")
    return str(one.get("symbol") or one.get("command") or one["path"])
