"""What an installed package of Node offers: what its ``*.d.ts`` files export, with the comments before it.

The files are looked through line by line, and nothing is run. Only what is exported by the files that the package names
as its types, and by those beside them, is seen.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from ricordo.plugins.deps.python import InstalledPackage, Symbol, each_once, text_of_file

MOST_FILES = 60
LONGEST_SIGNATURE = 2_000
_EXPORT = re.compile(
    r"^(?P<indent>\s*)(?:export\s+)?(?:declare\s+)?(?:default\s+)?(?:abstract\s+)?(?:async\s+)?"
    r"(?P<what>function|class|interface|type|enum|const|let|var|namespace|module)\s+(?P<name>[A-Za-z_$][\w$]*)"
)
_MEMBER = re.compile(
    r"^\s+(?:(?:public|static|readonly|abstract|get|set|async)\s+)*(?P<name>[A-Za-z_$][\w$]*)\??\s*(?P<open>[(<])"
)
_KINDS = {"function": "function", "class": "class", "interface": "class", "namespace": "module", "module": "module"}
_NAME = re.compile(r"(?:@[\w-][\w.-]*/)?[\w-][\w.-]*")
_NEVER = frozenset({"constructor", "if", "for", "while", "switch", "return", "function", "private", "protected"})


def dependencies(manifest: Path) -> list[str]:
    """The packages that a ``package.json`` names."""
    about = _json(manifest)
    parts = [about.get(f"{kind}ependencies") for kind in ("d", "devD", "optionalD", "peerD")]
    names = dict.fromkeys(str(name) for part in parts if isinstance(part, dict) for name in part)
    return [name for name in names if _NAME.fullmatch(name)]  # any other may lead out of node_modules


def version_of(folder: Path) -> str:
    """The version of the package that is installed in a folder; empty if none is."""
    return str(_json(folder / "package.json").get("version") or "")


def read_package(modules: Path, name: str) -> InstalledPackage:
    """What a package below ``node_modules`` offers, or the package ``@types/…`` says of it."""
    folder = modules / name
    types = modules / "@types" / name.lstrip("@").replace("/", "__")
    files = _types_of(folder) or _types_of(types)
    symbols = [symbol for file in files for symbol in _symbols(modules, file, name)]
    about = _json(folder / "package.json")
    texts = sorted(folder.glob("*.*"))
    readme = next((file for file in texts if file.stem.lower() == "readme"), None)
    changes = next((file for file in texts if file.stem.lower() in ("changelog", "changes", "history")), None)
    return InstalledPackage(
        name=f"npm/{name}",
        version=version_of(folder),
        place=f"{name}/package.json",
        summary=str(about.get("description") or ""),
        readme=text_of_file(readme),
        changes=text_of_file(changes),
        symbols=each_once(symbols),
    )


def _types_of(folder: Path) -> list[Path]:
    """The files with types of a package: the one that it names first, then those beside and below it."""
    about = _json(folder / "package.json")
    named = folder / str(about.get("types") or about.get("typings") or "index.d.ts")
    named = named if named.suffix == ".ts" else named.with_suffix(".d.ts")
    files = [file for file in sorted(folder.rglob("*.d.ts")) if "node_modules" not in file.relative_to(folder).parts]
    first = [file for file in files if file == named]
    beside = [file for file in files if file != named and named.parent in file.parents]
    return [*first, *beside][:MOST_FILES] if first else files[:MOST_FILES]


def _symbols(modules: Path, file: Path, package: str) -> Iterator[Symbol]:
    """What one file exports, and the methods of its classes and interfaces."""
    lines = text_of_file(file).splitlines()
    place, owner, docs = file.relative_to(modules).as_posix(), "", ""
    at = 0
    while at < len(lines):
        line = lines[at]
        if line.strip().startswith("/**"):
            docs, at = _comment(lines, at)
            continue
        if (found := _EXPORT.match(line)) and found["name"] not in _NEVER:
            signature, what = _declared(lines, at), _KINDS.get(found["what"], "value")
            name = f"npm/{package}.{found['name']}"
            is_body = what in ("class", "module")
            owner = name if is_body else owner if found["indent"] else ""
            head = signature.partition("{")[0].strip() if is_body else signature
            yield Symbol(name, what, head[:LONGEST_SIGNATURE], docs, place, at + 1)
        elif owner and (member := _MEMBER.match(line)) and member["name"] not in _NEVER:
            signature = f"{owner.removeprefix('npm/')}.{_declared(lines, at)}"
            yield Symbol(f"{owner}.{member['name']}", "method", signature[:LONGEST_SIGNATURE], docs, place, at + 1)
        elif line.startswith("}"):
            owner = ""
        docs = "" if line.strip() else docs
        at += 1


def _comment(lines: list[str], at: int) -> tuple[str, int]:
    """The text of a comment, and the line behind it."""
    said = []
    for place in range(at, len(lines)):
        said.append(lines[place].strip().removeprefix("/**").removesuffix("*/").strip().lstrip("*").strip())
        if "*/" in lines[place]:
            return "\n".join(said).strip(), place + 1
    return "", len(lines)


def _declared(lines: list[str], at: int) -> str:
    """A declaration from its first line to the end of its parameters and its type."""
    text, depth = "", 0
    for line in lines[at : at + 40]:
        text = f"{text} {line.strip()}".strip()
        depth = sum(map(text.count, "([")) - sum(map(text.count, ")]"))
        if depth <= 0 and (line.rstrip().endswith((";", "{", "}", ",")) or not line.strip()):
            break
    return text.rstrip(";{ ").strip()


def _json(file: Path) -> dict[str, Any]:
    with suppress(OSError, ValueError, RecursionError):
        value = json.loads(text_of_file(file) or "{}")
        return value if isinstance(value, dict) else {}
    return {}
