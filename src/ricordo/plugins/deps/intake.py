"""Takes in what the installed packages of a project offer: an item for each name, under ``api:/MODULE.NAME``.

Which packages are meant is said by ``pyproject.toml``, ``requirements*.txt`` and ``package.json``; which version, by
what is installed. The items are archived from the start, so that no other search sees them (``DRIVES_APART``). The
metadata of each says which version it is of, and where that is installed.
"""

from __future__ import annotations

import os
import re
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ricordo.config.files import current_folder
from ricordo.errors import NotFound
from ricordo.ingest.pipeline import Incoming, Pipeline
from ricordo.plugins.deps import node, python
from ricordo.plugins.deps.python import InstalledPackage
from ricordo.store.base import Store
from ricordo.store.values import Backlog
from ricordo.values.hits import Filters
from ricordo.values.items import Item, Parsed, Ref, Saved
from ricordo.values.reports import Progress, Refreshed

if TYPE_CHECKING:
    from ricordo.ingest.refresh import Refresher

DRIVE = "api"
PACKAGE = "package"
"""What the item of a package as a whole is, and the tag by which it is found among the others."""
MOST_SYMBOLS = 2_000
"""So many names of one package are taken in, those with the fewest dots first."""
LONGEST_DOCS = 2_000
LONGEST_TEXT = 30_000
"""So much of a README or a changelog is taken in."""
BATCH = 500
_MANIFESTS = ("pyproject.toml", "package.json")
_ENVIRONMENTS = (".venv", "venv", "env", ".env")
_REQUIREMENT = re.compile(r"^\s*([A-Za-z0-9][\w.-]*)")
_EVERYTHING = 1 << 30


def environment_of(project: Path) -> Path | None:
    """The folder with the Python packages of a project: of its own virtual environment, or of the active one."""
    active = [Path(os.environ[name]) for name in ("VIRTUAL_ENV", "CONDA_PREFIX") if os.environ.get(name)]
    places = [*(project / name for name in _ENVIRONMENTS), *active]
    return next((site for place in places if (site := python.site_packages(place)) is not None), None)


def required_by(project: Path) -> set[str]:
    """The Python packages that a project names, by their plain names."""
    lines: list[str] = []
    about: dict[str, Any] = {}
    with suppress(OSError, ValueError):
        about = tomllib.loads((project / "pyproject.toml").read_text("utf-8"))
    own, poetry = _table(about, "project"), _table(about, "tool", "poetry")
    extras, groups = _table(own, "optional-dependencies"), _table(about, "dependency-groups")
    for group in (own.get("dependencies"), *extras.values(), *groups.values()):
        lines += [line for line in group if isinstance(line, str)] if isinstance(group, list) else []
    for part in (poetry, *_table(poetry, "group").values()):
        lines += _table(part, "dependencies")
    for file in sorted(project.glob("requirements*.txt")):
        with suppress(OSError, ValueError):
            lines += file.read_text("utf-8").splitlines()
    names = {python.plain_name(found[1]) for line in lines if (found := _REQUIREMENT.match(line))}
    return names - {"python", python.plain_name(str(own.get("name") or poetry.get("name") or "python"))}


def _table(about: Any, *names: str) -> dict[str, Any]:
    """A table of a manifest; an empty one where the manifest has something else in its place."""
    for name in names:
        about = about.get(name) if isinstance(about, dict) else None
    return about if isinstance(about, dict) else {}


class PackageIntake:
    """Reads the packages of one project, and takes in those whose version the store does not have."""

    def __init__(self, store: Store, pipeline: Pipeline, backlog: Backlog | None, project: Path) -> None:
        self.store = store
        self.pipeline = pipeline
        self.backlog = backlog
        self.project = project
        self.notes: list[str] = []
        self.done: list[Saved] = []

    def collect(self, progress: Callable[[Progress], None] | None = None) -> None:
        """Take in what is new, and put away what is no longer installed."""
        started = time.monotonic()
        known = {item.fields.category or "": item.fields.metadata for item in packages_in(self.store)}
        before = {name: about for name, about in known.items() if about.get("project") == str(self.project)}
        readers = self._readers()
        if not readers and not before:
            raise NotFound(
                f"no packages are installed for {self.project}",
                hint="Go to the project's folder, or name it; its packages are read from .venv and node_modules there,"
                " or from the environment that is active.",
            )
        for count, (name, (version, place, read)) in enumerate(readers.items(), start=1):
            about = before.pop(name, {})
            if (about.get("version"), about.get("site")) == (version, place):
                self.done.append(Saved(f"{DRIVE}:/{name}", "skipped", reason=f"{version} is known already"))
            else:
                self._take(read(), place)
            if progress is not None:
                rate = count / max(time.monotonic() - started, 1e-6)
                progress(Progress(count, len(readers), name, "reading", rate, (len(readers) - count) / rate))
        for name in before:
            self._put_away(name, set())
            self.done.append(Saved(f"{DRIVE}:/{name}", "removed", reason="it is not installed any more"))

    def _readers(self) -> dict[str, tuple[str, str, Callable[[], InstalledPackage]]]:
        """By name: the version that is installed, where, and what reads the package."""
        found: dict[str, tuple[str, str, Callable[[], InstalledPackage]]] = {}
        site = environment_of(self.project)
        if site is not None:
            installed = python.installed_in(site)
            wanted = required_by(self.project) or set(installed)
            for name in sorted(wanted & installed.keys()):
                one = installed[name]
                stubs = [installed[other] for other in (f"types-{name}", f"{name}-stubs") if other in installed]
                reads = partial(python.read_package, site, one, stubs)
                found[name] = one.version, str(site), reads
            if missing := sorted(wanted - installed.keys()):
                self.notes.append(f"not installed in {site}: {', '.join(missing)}")
        modules = self.project / "node_modules"
        for name in node.dependencies(self.project / "package.json"):
            if version := node.version_of(modules / name):
                found[f"npm/{name}"] = version, str(modules), partial(node.read_package, modules, name)
        return found

    def _take(self, package: InstalledPackage, site: str) -> None:
        """Save what a package offers, and put away what an earlier version offered besides."""
        if len(package.symbols) > MOST_SYMBOLS:
            self.notes.append(f"of {package.name}, {MOST_SYMBOLS:,} of {len(package.symbols):,} names are taken in")
        incoming = {one.ref: one for one in self._incoming(package, site)}
        for n, item in self._items(package.name, "deleted"):
            if item.ref in incoming:
                self.store.changes.remove(n, purge=True)
        self._put_away(package.name, set(incoming))
        refs = list(incoming)
        saved: list[Saved] = []
        for at in range(0, len(refs), BATCH):
            prepared = [self.pipeline.prepare(incoming[ref]) for ref in refs[at : at + BATCH]]
            saved += self.store.changes.save_archived(prepared, backlog=self.backlog)
        chunks = sum(one.chunks for one in saved)
        self.done.append(replace(saved[-1], reason=f"{package.version}, {len(saved):,} names", chunks=chunks))

    def _items(self, package: str, state: str) -> list[tuple[int, Item]]:
        filters = Filters(drives=(DRIVE,), categories=(package,), states=(state,))
        return self.store.items.listing(filters, _EVERYTHING, 0)

    def _put_away(self, name: str, kept: set[Ref]) -> None:
        gone = [n for n, item in self._items(name, "archived") if item.ref not in kept]
        for at in range(0, len(gone), BATCH):
            self.store.changes.remove_many(gone[at : at + BATCH])

    def _incoming(self, package: InstalledPackage, site: str) -> Iterator[Incoming]:
        modules = {symbol.name: symbol for symbol in package.symbols if symbol.what == "module"}
        names = [package.name, *(name for name in modules if "." not in name)]
        ordinary = {
            name: count <= 1 for name, count in zip(names, self.pipeline.counter.count_tokens(names), strict=True)
        }
        own = modules.get(package.name)
        docs = "\n\n".join(filter(None, (own.docs, f"Names: {own.more}" if own.more else ""))) if own else ""
        text = "\n\n".join(filter(None, (f"{package.name} {package.version}: {package.summary}", docs, package.readme)))
        whole = {
            "what": PACKAGE, "ordinary": ordinary[package.name], "site": site, "place": package.place,
            "project": str(self.project),
        }  # fmt: skip
        texts: list[tuple[str, str, str, dict[str, Any]]] = []
        for symbol in package.symbols[:MOST_SYMBOLS]:
            if symbol.name != package.name:
                place = {"what": symbol.what, "file": symbol.file, "line": symbol.line}
                place |= {"ordinary": ordinary[symbol.name]} if symbol.name in ordinary else {}
                parts = (symbol.signature, symbol.docs[:LONGEST_DOCS], symbol.more[:LONGEST_DOCS])
                texts.append((symbol.name, "\n\n".join(filter(None, parts)), "text", place))
        if package.changes:
            changes = package.changes[:LONGEST_TEXT]
            texts.append((f"{package.name}/CHANGELOG", changes, "markdown", {"what": "changes"}))
        texts.append((package.name, text[:LONGEST_TEXT], "markdown", whole))  # the last, which says that all are there
        for name, text, structure, about in texts:
            where = f", {about['file']}:{about['line']}" if "file" in about else ""
            fields = {
                "title": name.removeprefix("npm/"),
                "description": f"{package.name.removeprefix('npm/')} {package.version}{where}",
                "category": package.name,
                "tags": (PACKAGE,) if name == package.name else (),
                "metadata": {"version": package.version, **about},
            }
            origin = f"{package.name} {package.version}"
            parsed = Parsed(text, structure=structure)
            yield Incoming(Ref(DRIVE, f"/{name}"), parsed, DRIVE, fields, origin=origin, is_clean=True)


def packages_in(store: Store) -> list[Item]:
    """The packages that a store knows."""
    filters = Filters(drives=(DRIVE,), states=("archived",), tags_all=(PACKAGE,))
    return [item for _, item in store.items.listing(filters, _EVERYTHING, 0)]


def is_of_here(package: Item) -> bool:
    """Whether a package counts where the call runs: in the project that has it, or outside of other projects."""
    try:
        folder = current_folder().resolve()
    except NotFound:
        return True
    if folder.is_relative_to(str(package.fields.metadata.get("project") or "")):
        return True
    return not any((above / name).exists() for above in (folder, *folder.parents) for name in _MANIFESTS)


def is_installed(package: Item) -> bool:
    """Whether the version of a package that the store knows is still the one that is installed."""
    about = package.fields.metadata
    site, place = Path(str(about.get("site") or "")), str(about.get("place") or "")
    if place.endswith("package.json"):
        return node.version_of((site / place).parent) == about.get("version")
    return bool(place) and (site / place).is_dir()


def refresh(refresher: Refresher, items: Mapping[int, Ref]) -> None:
    """Follow what was installed, upgraded and removed in the projects whose packages the store knows."""
    for project in sorted({str(one.fields.metadata.get("project")) for one in packages_in(refresher.store)}):
        intake = PackageIntake(refresher.store, refresher.pipeline, refresher.backlog, Path(project))
        intake.collect()
        refresher.notes += intake.notes
        for saved in intake.done:
            status = "unchanged" if saved.status == "skipped" else saved.status
            refresher.note(Refreshed(saved.ref, status, saved.error, saved.chunks))
