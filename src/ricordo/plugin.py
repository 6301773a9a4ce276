"""What a plugin is, and which ones are installed.

A plugin is a folder below ``plugins/``, or a package of somebody else that names its declaration in an entry point of
the group ``ricordo.plugins``. The declaration is one value, ``PLUGIN = Plugin(__name__, ...)``. It says what the plugin
brings to which seam, as ``module:name`` inside the plugin's package, and that is imported when it is first needed. So a
plugin that nobody uses costs the import of its declaration. That module imports of Ricordo only this one,
``config.declare`` and ``frozen``: the engine asks for the plugins while it is imported itself. The core imports no
plugin by its name.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple, TypeVar

GROUP = "ricordo.plugins"
FOLDER = f"{os.path.dirname(__file__)}/plugins"  # noqa: PTH120 - pathlib is slow

T = TypeVar("T")


class Command(NamedTuple):
    """A command that is no verb of the engine: one of the program, or a group of verbs."""

    section: str
    line: str
    alone: str = ""
    """The part of a group that it runs when it is called alone; its own name, if it is a command with options, too."""
    details: str = ""
    takes_profile: bool = False
    """Whether it ranks with a profile that ``--profile`` may name."""


class Toolset(NamedTuple):
    """Tools that ``ricordo mcp --toolset NAME`` offers, besides those of the core."""

    place: str
    """A sequence of ``mcp_server.tool.Tool``."""
    details: str = ""
    """What the help of ``mcp`` says about it."""
    alone: str = ""
    """What an agent is told about a server that offers this set alone, without the tools of the core."""
    reader: str = ""
    """The tool that reads an item, if errors should name it in place of ``get``."""


class FormatReader(NamedTuple):
    """What reads files of one format. Of a format that ``ingest/formats/file_types.toml`` lists, it says no more."""

    reader: str
    """A function of a ``Source`` (``ingest.formats.source``) that returns a ``Parsed``. It runs in a process of its
    own, within limits of time and memory.
    """
    needs: str = ""
    """A library of the extra "documents"; without it, files of this format fail, and the error names the extra."""
    mime: str = "application/octet-stream"
    extensions: str = ""
    """The endings of its files, with spaces between them."""
    signature: bytes = b""
    """How its files begin, if they are not texts."""
    structure: str = "text"
    """How its text is cut: text, markdown, rst, table or code."""


class SearchStep(NamedTuple):
    """A step of searches, for items that are not ranked as all others are."""

    place: str
    """A subclass of ``search.request.PluginStep``."""
    drives: tuple[str, ...]
    """It is done, and imported, if an item of one of these drives is among the candidates."""


class Plugin(NamedTuple):
    """What one plugin brings. All but the first two fields are optional."""

    package: str
    """``__name__``: the places below are looked up in it."""
    about: str
    """What it does, in one sentence."""
    needs: tuple[str, ...] = ()
    """The plugins that this one imports; without them it is left out."""
    verbs: tuple[str, ...] = ()
    """Classes whose methods that are declared with ``@verb`` become methods of ``Ricordo``, and verbs of every face."""
    groups: Mapping[str, str] = {}
    """Classes of further verbs, by the name under which ``Ricordo`` holds an object of each: ``memory.tools.call(…)``.
    One of the classes in ``verbs`` has a property of that name.
    """
    tools: Mapping[str, Toolset] = {}
    """Tools of the MCP server, by the names of their sets."""
    commands: Mapping[str, Command] = {}
    """Commands that are no verbs, and groups of verbs, by their words."""
    cli: str = ""
    """The module with the commands that are written by hand, and with what shows values to a person."""
    extends: Mapping[str, str] = {}
    """Functions that change a command of the core which is written by hand (``cli.command.Verb``), by its words."""
    settings: Mapping[str, type] = {}
    """Sections of the settings, by name; what it adds to a section of the core, by the name of that."""
    public: Mapping[str, str] = {}
    """Names that ``from ricordo import NAME`` gives."""
    page: str = ""
    """The module of the server's web page: ``install(app)`` adds it, ``failed`` answers a request that went wrong, and
    ``sign_in_page`` one of a browser that has not signed in."""
    pages: str = ""
    """The module with further pages of the web page: its ``pages`` is their router. Templates are in ``templates``
    beside it. Nothing else imports this module, so it may import the plugin ``page`` without needing it."""
    routes: str = ""
    """The module with routes of the HTTP API: its ``routes`` is their router. A verb at such a path gets no other."""
    tables: str = ""
    """A mapping of ``Table``: what a store in a file has besides the core's tables."""
    stores: Mapping[str, str] = {}
    """Stores on servers, by the scheme of their addresses: a function that takes an address and returns a
    ``values.store_addresses.ServerAddress``, which opens the store. It refuses an address that is not one.
    """
    embedders: Mapping[str, str] = {}
    """What makes an embedder (``models.base.Embedder``) of the settings ``[embedding]`` and the folder where models are
    kept, by the name of the provider. What it is named may have ``describe(state, settings, folder)``, too: the
    ``ModelState`` with which ``models list`` shows it, completed.
    """
    rerankers: Mapping[str, str] = {}
    """What makes a reranker (``models.base.Reranker``) of all settings, that folder and the engine's ``ModelsInUse``,
    by its kind. It may have ``describe(state, config, folder)``, too, and ``complete(config, folder)``, which
    downloads what its model needs.
    """
    chunkers: Mapping[str, str] = {}
    """Functions that say where to cut a text, by the name that ``ingest.chunker`` has. Each takes the engine's
    ``ModelsInUse`` and a text, and returns the positions where passages start; an ``Error`` leaves it to the structure.
    """
    formats: Mapping[str, FormatReader] = {}
    """What reads files, by the name of their format."""
    importers: Mapping[str, str] = {}
    """Functions that read what another program keeps, by the program's name, for ``import --from``. Each takes a path
    or an open file and a ``FileReader``, and returns a ``Foreign``. The plugin ``transfer`` saves that, without what it
    claims.
    """
    drives: Mapping[str, str] = {}
    """Functions that ``refresh`` calls with itself (``ingest.refresh.Refresher``) and the items of a drive, by number,
    to read them again from where they came; by the name of the drive.
    """
    vault: str = ""
    """What has the keys of encrypted stores, and encrypts with them: a class that fulfils ``vault.Vault``."""
    search_steps: tuple[SearchStep, ...] = ()
    """What it does to the candidates of a search and to their order; ``search/pipeline.py`` lists all steps."""
    second_model: str = ""
    """A subclass of ``models.base.SecondModel``, made with the engine's models: what embeds passages and questions in
    languages that the model which is set does not read."""
    findings: Mapping[str, str] = {}
    """What ``review`` lists that should be done about what is stored: kinds of findings, each with a few words. The
    events ``findings`` and ``accept_finding`` go with them."""
    checks: Mapping[str, str] = {}
    """What the doctor checks, by name: ``function(context, repair)`` returns a ``Check``, or None if there is nothing
    to say. It repairs only if it is told to."""
    on: Mapping[str, str] = {}
    """Functions that are called when something happens, by its name:

    - ``opened(context)``: a store was opened.
    - ``store_made(engine)``: ``init`` made a store; what the user should know of it, or nothing.
    - ``status(context, status)``: it may add to what the store's status says.
    - ``work_done(engine, now_and_then=False)``: a command is done, or a program that stays has done a call; such a
      program says so ``now_and_then``, too.
    - ``spent(engine)``: a command is answered; what it cost, by the name in JSON: each has ``to_dict`` and a text.
    - ``add_history(adding, sources)``: the history of what was added is wanted, too.
    - ``items_of_folder(refresher, ref, folder)``: items that are refreshed with a folder, by number.
    - ``item_files(refresher, items)``: the files that items with a state were read from, by number, where their refs
      do not name them.
    - ``further_versions(store, n, ref)``: versions of a file that are kept elsewhere than in the store.
    - ``versions_apart(store, id)``: the numbers of an item's versions that were written independently of each other.
    - ``embedding_settings(config)``: the settings of embeddings if others complete them, else None.
    - ``opened_on_server(store, config)``: a store on a server was opened.
    - ``before_store_is_made(store, start, options)``: ``init`` is about to make a store, whose name is looked up from
      the folder ``start``, with the options that plugins gave it; what there is to say of the store in a word, or "".
    - ``erased(store)``: items were erased for good from a store, with every word of them.
    - ``restore_from_copy(engine, name, version, day)``: bring an item back from the store's copy of a day (``Saved``).
    - ``before_copy(source, target, *, encrypt, decrypt, key)``: a store is about to be copied into another one; it may
      refuse that.
    - ``before_encryption(store)``: it may refuse that a store is encrypted.
    - ``context_lines(engine, task)``: a ``LineSection`` of the context for a task, or None.
    - ``contextual(passages, engine, task, stores)``: the passages of items that are loaded where they fit a task, if
      there are such items; returns those to tell, the best first.
    - ``reminder_fields(fields, when, pause, times)``: the fields of a text that is told when a prompt is about
      ``when``.
    - ``ref_of_address(config, address)``: the ref of what a URL leads to.
    - ``page_reader(context, prompt_addition, transcript)``: a ``PageSource``, which adds pages and reads them again.
    - ``page_loader(context, transcript)``: a ``Loader`` that pages are loaded with, or None; what it does is told to
      the function ``transcript``, if there is one.
    - ``uninstalled(call, pieces)``: what Ricordo wrote for an agent's program was removed; returns notes for the user.
    - ``transcripts_read(engine, refs)``: sessions were taken in; notes for the user.
    - ``metadata_of_text(metadata, store, ref_of, *, kind, text, cites=None)``: an item gets a text; returns the
      metadata that goes with it. A new item cites what ``cites`` names, too; with None, the text replaces another.
    - ``metadata_of_file(metadata, sync, content, item)``: the same for a text that comes from a knowledge file
      (``memory.files.format.KnowledgeFile``) and is not Ricordo's own; the item is None if it is new.
    - ``session_goes_on(engine, transcript)``: a session starts again that was compacted or resumed; what to tell it of
      its own transcript (``trust.fence.Told``).
    - ``texts_changed(store, prepared)``: items have other texts now; notes about them, by number.
    - ``imported(store, refs)``: items were imported; notes for the user.
    - ``answer_cites(answer, store_of)``: an answer of which hits cite something; returns the answer to give.
    - ``cited_by(store, item)``: what became of what an item cites (``CitedNow``).
    - ``cited_texts(store, item)``: of what an item cites and was changed since, the name, and the text and first line
      as it was cited (None if nothing kept it) and as it is.
    - ``findings(store, kinds)``: the findings of these kinds, which may be those of other plugins.
    - ``accept_finding(engine, finding)``: do what a finding suggests, and return what was ``Saved``; None for a kind of
      another plugin.
    - ``refuse_finding(engine, finding)``: remember that nothing is to be done about a finding; the same returns.
    - ``read_place(engine, name)``: what an agent gets to read at a name that is no item's (a mapping), or None.
    - ``page_of(item, query)``: the address of a page that shows an item in place of the page of every item, or "".
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
    """All plugins by name: our own, then those of others. One whose needs are not installed is left out."""
    plugins = {name: import_module(f"ricordo.plugins.{name}").PLUGIN for name in _own_names()}
    plugins |= {value.name: value for value in _of_others().values() if isinstance(value, Plugin)}
    return {name: plugin for name, plugin in plugins.items() if all(need in plugins for need in plugin.needs)}


def broken() -> Mapping[str, Exception]:
    """Why plugins of others cannot be used, by the names of their entry points."""
    return {name: value for name, value in _of_others().items() if not isinstance(value, Plugin)}


def brought(seam: str) -> Iterator[Any]:
    """What stands at the places that plugins name in a field such as ``verbs``."""
    for plugin in installed().values():
        for place in getattr(plugin, seam):
            yield plugin.load(place)


def modules_of(seam: str) -> list[Any]:
    """The modules that plugins name in a field such as ``pages``."""
    places = [(plugin.package, getattr(plugin, seam)) for plugin in installed().values()]
    return [import_module(f"{package}.{name}") for package, name in places if name]


def has_page() -> bool:
    """Whether a plugin brings the web page."""
    return any(plugin.page for plugin in installed().values())


def brought_as(seam: str, name: str) -> Any:
    """What a plugin brings by this name in a field such as ``embedders``; None if none does."""
    for plugin in installed().values():
        if name in (places := getattr(plugin, seam)):
            return plugin.load(places[name])
    return None


def search_steps(drives: Callable[[str], bool]) -> list[Any]:
    """The steps of searches that plugins bring for drives; ``drives`` says of each whether it is needed."""
    return [
        plugin.load(step.place)
        for plugin in installed().values()
        for step in plugin.search_steps
        if any(map(drives, step.drives))
    ]


def names_of(seam: str) -> list[str]:
    """The names in a field such as ``embedders`` of all plugins."""
    return [name for plugin in installed().values() for name in getattr(plugin, seam)]


def ask(event: str, *given: Any, **named: Any) -> list[Any]:
    """Tell an event to the plugins that have a function for it (``Plugin.on``), and return their answers."""
    return [handler(*given, **named) for handler in _handlers(event)]


def revise(event: str, value: T, *given: Any, **named: Any) -> T:
    """A value as the plugins leave it that have a function for an event: each gets what the one before returned."""
    for handler in _handlers(event):
        value = handler(value, *given, **named)
    return value


def _handlers(event: str) -> Iterator[Callable[..., Any]]:
    return (plugin.load(plugin.on[event]) for plugin in installed().values() if event in plugin.on)


@cache
def plugin_tables() -> Mapping[str, Any]:
    """The tables that plugins add to a store in a file."""
    plugins = [plugin for plugin in installed().values() if plugin.tables]
    return {name: table for plugin in plugins for name, table in plugin.load(plugin.tables).items()}


def attempt(call: Callable[[], T]) -> T | Exception:
    """The result of a call into a package of somebody else, or what it raised: that may be anything."""
    try:
        return call()
    except Exception as error:  # noqa: BLE001 - whoever calls decides what becomes of it
        return error


def are_all(names: Collection[str]) -> bool:
    """Whether just these plugins of our own are there, and none of somebody else's; nothing is imported to know it."""
    return set(_own_names()) == set(names) and not _of_others()


def _own_names() -> list[str]:
    return sorted(entry.name for entry in os.scandir(FOLDER) if entry.is_dir() and not entry.name.startswith("_"))


@cache
def _of_others() -> Mapping[str, Plugin | Exception]:
    """The plugins of other packages, or why one cannot be used. Files are looked into first, because asking Python
    costs a fresh process more.
    """
    if not any(b"[%s]" % GROUP.encode() in content for content in _entry_point_files()):
        return {}
    from importlib.metadata import entry_points

    loaded = {point.name: (point.value, attempt(point.load)) for point in entry_points(group=GROUP)}
    return {
        name: value if isinstance(value, (Plugin, Exception)) else TypeError(f"{place} is not a ricordo.plugin.Plugin")
        for name, (place, value) in loaded.items()
    }


def _entry_point_files() -> Iterator[bytes]:
    for folder in sys.path:
        try:
            entries = [entry.path for entry in os.scandir(folder or ".") if entry.name.endswith(".dist-info")]
        except OSError:
            continue
        for entry in entries:
            try:
                with open(f"{entry}/entry_points.txt", "rb") as file:  # noqa: PTH123 - pathlib is slow
                    yield file.read()
            except OSError:
                continue
