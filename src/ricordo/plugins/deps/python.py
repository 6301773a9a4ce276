"""What an installed Python package offers: its public names with their signatures and docstrings, and its README.

Sources and stubs are parsed, and nothing is imported or run. A name is public if no part of it begins with an
underscore, or if a public module takes it over from a private one (``from ._client import Client``). It gets the
shortest of its public names. What a program only computes while it runs is not seen.
"""

from __future__ import annotations

import ast
import re
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from importlib.metadata import Distribution, distributions
from pathlib import Path

from ricordo.frozen import frozen

LARGEST_FILE = 2_000_000
LONGEST_CHAIN = 8
"""So many modules are followed from a name to its definition, and from a class to its bases."""
LONGEST_SIGNATURE = 2_000
MOST_OVERLOADS = 6
MOST_FIELDS = 60
_LEFT_OUT = frozenset({"tests", "test", "vendor", "vendored", "_vendor", "_vendored", "node_modules", "conftest"})
_NAMED = re.compile(r"^(?:changelog|changes|history|news)(?:\.(?:md|rst|txt))?$", re.IGNORECASE)
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@frozen
class Symbol:
    """One public name of a package: a module, class, function, method or property."""

    name: str
    what: str
    signature: str
    docs: str
    file: str
    """Below the folder that packages are installed in."""
    line: int
    more: str = ""
    """The fields of a class, or the names of a module."""


@frozen
class InstalledPackage:
    """An installed package, with what it offers."""

    name: str
    version: str
    place: str
    """What exists below the folder of packages as long as this version is installed."""
    summary: str
    readme: str
    changes: str
    symbols: tuple[Symbol, ...]


def each_once(symbols: Sequence[Symbol]) -> tuple[Symbol, ...]:
    """The first of each name, those with the fewest dots first."""
    first = {symbol.name: symbol for symbol in reversed(symbols)}
    return tuple(sorted(first.values(), key=lambda symbol: (symbol.name.count("."), symbol.name)))


def text_of_file(file: Path | None) -> str:
    """The text of a file; empty if it cannot be read, or is far too large to be written by people."""
    with suppress(OSError, ValueError):
        if file is not None and file.stat().st_size <= LARGEST_FILE:
            return file.read_text("utf-8", "replace")
    return ""


def plain_name(name: str) -> str:
    """A distribution's name as indexes compare it.

    >>> plain_name("Typing_Extensions")
    'typing-extensions'
    """
    return re.sub(r"[-_.]+", "-", name).lower()


def site_packages(environment: Path) -> Path | None:
    """The folder with the packages of a virtual environment; None where there is none."""
    places = [*sorted(environment.glob("lib/python3*/site-packages")), environment / "Lib/site-packages"]
    return next((place for place in places if place.is_dir()), None)


def installed_in(site: Path) -> dict[str, Distribution]:
    """The distributions of an environment, by their plain names."""
    found = distributions(path=[str(site)])
    return {plain_name(one.name): one for one in found if one.name}


def read_package(site: Path, distribution: Distribution, stubs: Sequence[Distribution] = ()) -> InstalledPackage:
    """What a distribution offers. ``stubs`` are further ones, which hold signatures for it (``types-…``)."""
    files = [file for one in (distribution, *stubs) for file in one.files or () if not {"..", "/"} & {*file.parts}]
    tree = _Tree(site, [str(file) for file in files])
    logs = [file for file in files if _NAMED.match(file.name)]
    changes = min(logs, key=lambda file: (".dist-info" not in file.parts[0], len(file.parts)), default=None)
    about = distribution.metadata.json
    return InstalledPackage(
        name=plain_name(distribution.name),
        version=distribution.version,
        place=next((file.parts[0] for file in files if file.parts[0].endswith((".dist-info", ".egg-info"))), ""),
        summary=str(about.get("summary", "")),
        readme=str(about.get("description", "")),
        changes=text_of_file(site / str(changes)) if changes is not None else "",
        symbols=tree.symbols,
    )


class _Module:
    """One module: what it defines and takes over. A stub says how names are called, its source what they do."""

    def __init__(self, name: str, is_package: bool) -> None:
        self.name = name
        self.is_package = is_package
        self.definitions: dict[str, list[Definition]] = {}
        self.docs: dict[str, str] = {}
        self.imports: dict[str, tuple[str, str]] = {}
        """By the name here: the module that it comes from, and its name there."""
        self.stars: list[str] = []
        self.listed: set[str] | None = None
        """The names in ``__all__``."""
        self.files: dict[str, str] = {}
        """By name, the file of its definition; by "", that of the module."""

    def take(self, file: str, tree: ast.Module) -> None:
        """Take in one file of the module; a stub after its source."""
        self.files[""] = self.files.get("") or file
        self.docs.setdefault("", ast.get_docstring(tree) or "")
        mine: dict[str, list[Definition]] = {}
        for node in _statements(tree.body):
            if isinstance(node, Definition):
                mine.setdefault(node.name, []).append(node)
            elif isinstance(node, ast.ImportFrom):
                self._import(node)
            elif isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign):
                self._list(node)
        self.definitions |= mine
        self.files |= dict.fromkeys(mine, file)
        for name, nodes in mine.items():
            self._note_docs(name, nodes)

    def _note_docs(self, name: str, nodes: Sequence[ast.stmt]) -> None:
        for node in nodes:
            if isinstance(node, Definition) and (docs := ast.get_docstring(node)):
                self.docs[name] = docs
            for member in _statements(node.body) if isinstance(node, ast.ClassDef) else ():
                if isinstance(member, Definition):
                    self._note_docs(f"{name}.{member.name}", [member])

    def _import(self, node: ast.ImportFrom) -> None:
        parts = self.name.split(".")
        parts = parts[: len(parts) - node.level + self.is_package] if node.level else []
        module = ".".join([*parts, *([node.module] if node.module else [])])
        for alias in node.names:
            if alias.name == "*":
                self.stars.append(module)
            else:
                self.imports[alias.asname or alias.name] = (module, alias.name)

    def _list(self, node: ast.Assign | ast.AugAssign | ast.AnnAssign) -> None:
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        if isinstance(target, ast.Name) and target.id == "__all__":
            values = (one.value for one in ast.walk(node) if isinstance(one, ast.Constant))
            self.listed = (self.listed or set()).union(value for value in values if isinstance(value, str))


class _Tree:
    """The modules of one distribution, each read when it is needed."""

    def __init__(self, site: Path, files: Sequence[str]) -> None:
        self._site = site
        self._files: dict[str, list[str]] = {}
        self._packages: set[str] = set()
        for file in sorted(files, key=lambda file: file.endswith(".pyi")):
            if not file.endswith((".py", ".pyi")):
                continue
            parts = [part.removesuffix("-stubs") for part in file.rpartition(".")[0].split("/")]
            if parts[-1] == "__init__":
                parts.pop()
                self._packages.add(".".join(parts))
            if parts and parts[-1] != "__main__" and not _LEFT_OUT.intersection(parts):
                self._files.setdefault(".".join(parts), []).append(file)
        self._read: dict[str, _Module | None] = {}

    def module(self, name: str) -> _Module | None:
        """A module of the distribution; None if there is none that can be parsed."""
        if name not in self._read:
            self._read[name] = None  # a module that takes over from itself ends here
            module = _Module(name, name in self._packages)
            for file in self._files.get(name, ()):
                with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
                    module.take(file, ast.parse(text_of_file(self._site / file)))
            self._read[name] = module if module.files else None
        return self._read[name]

    def defined(self, module: str, name: str) -> tuple[_Module, str] | None:
        """Where a name of a module is defined, however many modules it was taken over from."""
        waiting, seen = deque([(module, name)]), set[tuple[str, str]]()
        while waiting and len(seen) < LONGEST_CHAIN:
            place = waiting.popleft()
            found = self.module(place[0])
            if found is None or place in seen:
                continue
            seen.add(place)
            if place[1] in found.definitions:
                return found, place[1]
            if place[1] in found.imports:
                waiting.append(found.imports[place[1]])
            waiting.extend((star, place[1]) for star in found.stars)
        return None

    def _offered(self, module: _Module, depth: int = 0) -> set[str]:
        """The public names of a module, with those that it takes over."""
        if module.listed is not None:
            return {name for name in module.listed if not name.startswith("_")}
        names = set(module.definitions)
        if module.is_package:
            names |= {name for name, (origin, _) in module.imports.items() if origin in self._files}
        for star in module.stars if depth < LONGEST_CHAIN else ():
            other = self.module(star)
            names |= self._offered(other, depth + 1) if other is not None else set()
        return {name for name in names if not name.startswith("_")}

    @cached_property
    def symbols(self) -> tuple[Symbol, ...]:
        """Everything that is public, each once, under the shortest of its names."""
        names: dict[tuple[str, str], str] = {}
        modules = [module for name in sorted(self._files) if _is_public(name) and (module := self.module(name))]
        for module in modules:
            for name in self._offered(module):
                if (found := self.defined(module.name, name)) is None:
                    continue
                place, public = (found[0].name, found[1]), f"{module.name}.{name}"
                names[place] = min(names.get(place, public), public, key=lambda one: (one.count("."), len(one), one))
        symbols = [
            Symbol(
                one.name, "module", f"import {one.name}", one.docs[""], one.files[""], 1,
                ", ".join(sorted(self._offered(one))),
            )
            for one in modules
        ]  # fmt: skip
        for (home, name), public in names.items():
            if (defining := self.module(home)) is not None:
                symbols += self._symbols_of(defining, name, public)
        return each_once(symbols)

    def _symbols_of(self, module: _Module, name: str, public: str) -> Iterator[Symbol]:
        nodes = module.definitions[name]
        file, docs = module.files[name], module.docs.get(name, "")
        if not isinstance(nodes[-1], ast.ClassDef):
            yield _function(public, nodes, what="function", docs=docs, file=file)
            return
        members = dict(self._members(module, name, 0 if public.count(".") == 1 else LONGEST_CHAIN))
        made = members.get("__init__") or members.get("__new__")
        bases = ", ".join(ast.unparse(base) for base in [*nodes[-1].bases, *nodes[-1].keywords])
        signature = f"class {public}({bases})" if bases else f"class {public}"
        if made is not None:
            signature += "\n" + _signatures(public, made[1], is_made=True)
        fields = _fields(nodes[-1])
        yield Symbol(public, "class", signature[:LONGEST_SIGNATURE], docs, file, nodes[-1].lineno, fields)
        for member, (home, found, owner) in members.items():
            if not member.startswith("_"):
                said = home.docs.get(f"{owner}.{member}", "")
                yield _function(f"{public}.{member}", found, what="method", docs=said, file=home.files[owner])

    def _members(
        self, module: _Module, name: str, depth: int = 0
    ) -> Iterator[tuple[str, tuple[_Module, list[Definition], str]]]:
        """The methods of a class and, up to some depth, those of private classes that it is made of."""
        node = module.definitions[name][-1]
        if not isinstance(node, ast.ClassDef):
            return
        for base in node.bases if depth < LONGEST_CHAIN else ():
            found = self.defined(module.name, base.id) if isinstance(base, ast.Name) else None
            if found is not None and found != (module, name) and (not _is_public(f"{found[0].name}.{found[1]}")):
                yield from self._members(*found, depth + 1)
        own: dict[str, list[Definition]] = {}
        for member in _statements(node.body):
            if isinstance(member, ast.FunctionDef | ast.AsyncFunctionDef):
                own.setdefault(member.name, []).append(member)
        yield from ((member, (module, nodes, name)) for member, nodes in own.items())


def _is_public(name: str) -> bool:
    return not any(part.startswith("_") for part in name.split("."))


def _statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements with those that hold under a condition, such as ``if TYPE_CHECKING``; what is usual comes last."""
    for node in body:
        if isinstance(node, ast.If | ast.Try | ast.With):
            handled = [one for handler in getattr(node, "handlers", ()) for one in handler.body]
            yield from _statements([*handled, *getattr(node, "orelse", ()), *node.body])
        else:
            yield node


def _decorators(node: Definition) -> set[str]:
    names = (one.func if isinstance(one, ast.Call) else one for one in node.decorator_list)
    return {one.attr if isinstance(one, ast.Attribute) else getattr(one, "id", "") for one in names}


def _function(public: str, nodes: Sequence[Definition], *, what: str, docs: str, file: str) -> Symbol:
    is_property = any({"property", "cached_property"} & _decorators(node) for node in nodes)
    what = "property" if is_property else what
    return Symbol(public, what, _signatures(public, nodes, is_property=is_property), docs, file, nodes[0].lineno)


def _signatures(public: str, nodes: Sequence[Definition], *, is_made: bool = False, is_property: bool = False) -> str:
    """The signature of a function as it is declared, or those of its overloads."""
    overloads = [node for node in nodes if "overload" in _decorators(node)]
    lines = []
    for node in overloads[:MOST_OVERLOADS] or nodes[:1] if is_property else overloads[:MOST_OVERLOADS] or nodes[-1:]:
        if isinstance(node, ast.ClassDef):
            continue
        returns = f" -> {ast.unparse(node.returns)}" if node.returns is not None and not is_made else ""
        if is_property:
            lines.append(f"{public}{returns.replace(' -> ', ': ')}")
            continue
        start = "async " if isinstance(node, ast.AsyncFunctionDef) else ""
        lines.append(f"{start}{public}({ast.unparse(node.args)}){returns}")
    return "\n".join(lines)[:LONGEST_SIGNATURE]


def _fields(node: ast.ClassDef) -> str:
    """The attributes of a class that have annotations, or of an enumeration, as they are declared."""
    lines = []
    for one in node.body:
        if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name) and not one.target.id.startswith("_"):
            lines.append(ast.unparse(one)[:300])
        elif isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name) and one.targets[0].id.isupper():
            lines.append(ast.unparse(one)[:100])
    return "\n".join(lines[:MOST_FIELDS])
