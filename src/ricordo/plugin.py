"""What a plugin is, and which ones are installed.

A plugin is a folder below ``plugins/``, or a package of somebody else that names its declaration in an entry point of
the group ``ricordo.plugins``. The declaration is one value, ``PLUGIN = Plugin(__name__, ...)``. It says what the plugin
brings to which seam, as ``module:name`` inside the plugin's package, and that is imported when it is first needed. So a
plugin that nobody uses costs the import of its declaration. The core imports no plugin by its name.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

GROUP = "ricordo.plugins"
FOLDER = Path(__file__).with_name("plugins")
BROKEN: dict[str, Exception] = {}
"""Why plugins of others cannot be loaded, by their names; ``doctor`` says so."""


class Command(NamedTuple):
    """A command that is no verb of the engine: one of the program, or a group of verbs."""

    section: str
    line: str
    alone: str = ""
    """The part of a group that it runs when it is called alone; its own name, if it is a command with options, too."""
    details: str = ""
    takes_profile: bool = False
    """Whether it ranks with a profile that ``--profile`` may name."""


class Plugin(NamedTuple):
    """What one plugin brings. All but the first two fields are optional."""

    package: str
    """``__name__``: names without a package are looked up in it."""
    about: str
    """What it does, in one sentence."""
    needs: tuple[str, ...] = ()
    """The plugins that this one imports; without them it is left out."""
    verbs: tuple[str, ...] = ()
    """Classes whose methods that are declared with ``@verb`` become methods of ``Ricordo``, and verbs of every face."""
    parts: Mapping[str, str] = {}
    """Classes with verbs of which ``Ricordo`` holds an object, by the name of the attribute."""
    commands: Mapping[str, Command] = {}
    """Commands that are no verbs, and groups of verbs, by their words."""
    cli: str = ""
    """The module with the commands that are written by hand, and with what shows values to a person."""
    settings: Mapping[str, type] = {}
    """Sections of the settings, by name."""
    tables: str = ""
    """A mapping of ``Table``: what a store in a file has besides the core's tables."""
    on: Mapping[str, str] = {}
    """Functions that are called when something happens, by its name:

    - ``opened(context)``: a store was opened.
    - ``work_done(engine, now_and_then=False)``: a command is done, or a program that stays has done a call; such a
      program says so ``now_and_then``, too.
    - ``versions_apart(store, id)``: the numbers of an item's versions that were written independently of each other.
    - ``before_encryption(store)``: it may refuse that a store is encrypted.
    """

    @property
    def name(self) -> str:
        """Its name: the last part of its package."""
        return self.package.rpartition(".")[2]

    def load_cli(self) -> None:
        """Import the commands that are written by hand, and what shows values; both register themselves."""
        if self.cli:
            import_module(f"{self.package}.{self.cli}")

    def load(self, place: str) -> Any:
        """What stands at ``module:name`` in the package; ``:name`` is in the package itself."""
        module, _, name = place.partition(":")
        return getattr(import_module(f"{self.package}.{module}" if module else self.package), name)


@cache
def installed() -> Mapping[str, Plugin]:
    """All plugins by name: our own, then those of others."""
    found = {name: import_module(f"ricordo.plugins.{name}").PLUGIN for name in _own_names()}
    found |= {plugin.name: plugin for plugin in _of_others()}
    return {name: plugin for name, plugin in found.items() if all(need in found for need in plugin.needs)}


def brought(seam: str) -> Iterator[Any]:
    """What all plugins bring to a seam that is a list of places."""
    for plugin in installed().values():
        for place in getattr(plugin, seam):
            yield plugin.load(place)


def ask(event: str, *given: Any, **named: Any) -> list[Any]:
    """What the plugins answer that care for an event."""
    handlers = [plugin.load(plugin.on[event]) for plugin in installed().values() if event in plugin.on]
    return [handler(*given, **named) for handler in handlers]


@cache
def plugin_tables() -> Mapping[str, Any]:
    """The tables that plugins add to a store in a file."""
    plugins = [plugin for plugin in installed().values() if plugin.tables]
    return {name: table for plugin in plugins for name, table in plugin.load(plugin.tables).items()}


def _own_names() -> list[str]:
    try:
        return sorted(
            entry.name
            for entry in os.scandir(FOLDER)
            if entry.is_dir() and entry.name.isidentifier() and not entry.name.startswith("_")
        )
    except FileNotFoundError:
        return []


def _of_others() -> Iterator[Plugin]:
    """The plugins of other packages. Files are looked into first, because asking Python costs a fresh process more."""
    if not any(f"[{GROUP}]" in text for text in _entry_point_files()):
        return
    from importlib.metadata import entry_points

    for point in entry_points(group=GROUP):
        try:
            plugin = point.load()
        except Exception as error:  # noqa: BLE001 - a package of others may raise anything, and the rest must go on
            BROKEN[point.name] = error
            continue
        if isinstance(plugin, Plugin):
            yield plugin


def _entry_point_files() -> Iterator[str]:
    for folder in sys.path:
        try:
            entries = [entry.path for entry in os.scandir(folder or ".") if entry.name.endswith(".dist-info")]
        except OSError:
            continue
        for entry in entries:
            try:
                yield Path(entry, "entry_points.txt").read_text(encoding="utf-8")
            except OSError:
                continue
