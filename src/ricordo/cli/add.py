"""Verbs that bring content in: init, add, refresh, watch, sync, and the folders that were added: roots."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, Any

import click

from ricordo.cli.call import Call, some_failed
from ricordo.cli.generated import command
from ricordo.cli.present_reports import show_refreshed, show_saved_report, show_synced
from ricordo.cli.running import Problem, run
from ricordo.cli.terminal import Screen
from ricordo.cli.verb import verb
from ricordo.cli.verb_group import verb_group
from ricordo.errors import UsageError

if TYPE_CHECKING:
    from ricordo.values.reports import SyncReport, WatchEvent


@verb("init", examples=["ricordo init", "ricordo init ~/projects/site", "ricordo init --encrypt"])
@click.argument("folder", required=False, type=click.Path(path_type=Path))
@click.option("--encrypt", is_flag=True, help="Encrypt the new store.")
@click.option("--key", metavar="WHERE", default="", help="With --encrypt: keyring, passphrase or a key file.")
def init(call: Call, folder: Path | None, encrypt: bool, key: str) -> int:
    """It makes a folder .ricordo with a store. Every command that runs in this folder or below it then uses that
    store. Without one, items go to your own store. With --store, such as the address of a team's store, the project
    uses that one. Running it again changes nothing. In a git repository, it asks on a
    terminal whether the commits shall be found, too (add . --history).
    """
    from ricordo.config.files import PROJECT_FOLDER
    from ricordo.config.loading import init_project, set_value

    if key and not encrypt:
        raise UsageError("‹key› says how a new store is encrypted", hint="Give ‹encrypt›, too, or leave out ‹key›.")
    is_new = not ((folder or Path()) / PROJECT_FOLDER).exists()
    place = init_project(folder or Path())
    named = call.store
    with ExitStack() as failing:
        if is_new:  # an empty project's folder would get a plain store from whatever is saved next
            failing.callback(rmtree, place, ignore_errors=True)
        if encrypt:
            _encrypt(named or str(place), key, place.parent)
        call.store = named or str(place)
        with call.engine(create=True) as engine:
            failing.pop_all()
            if named:  # the project's commands use it from now on, and not a file in the project's folder
                set_value("store.location", named, scope="project", start=place.parent)
            location, mine, spoken = engine.location, engine.config.language.mine, _spoken()
            if _wants_history(call, place.parent):
                engine.add(place.parent, history=True, wait=False)

    def draw(screen: Screen) -> None:
        screen.line(f"the store of this project is {location}{', encrypted' if encrypt else ''}")
        screen.note("next: ricordo add PATH")
        if spoken and not mine:
            screen.note(
                f"your system speaks {spoken}: 'ricordo config set language.mine {spoken},en' lets questions in it find"
                " English texts by meaning (pip install 'ricordo[multilingual]'; a second vector for each passage)"
            )

    return call.answer({"store": location, "folder": str(place)}, draw)


def _encrypt(store: str, key: str, project: Path) -> None:
    from ricordo.cli.passphrases import asking_at_terminal
    from ricordo.config.loading import ConfigProvider, locate_store
    from ricordo.engine.encrypted import make_encrypted

    asking_at_terminal()
    make_encrypted(locate_store(store, ConfigProvider()(), project).path, key)


def _spoken() -> str:
    """The language of the user's locale, if it is one that a question may be in besides English."""
    from ricordo.config.settings import SPOKEN

    named = next((os.environ[name] for name in ("LC_ALL", "LC_MESSAGES", "LANG") if os.environ.get(name)), "")
    code = named[:2].lower()
    return code if code in SPOKEN and code != "en" and not named[2:3].isalnum() else ""


def _wants_history(call: Call, folder: Path) -> bool:
    """Ask whether a new project's files and commits shall be added; only where a person answers."""
    from ricordo.config.repository import repository_at

    if call.json or not (sys.stdin.isatty() and sys.stderr.isatty()) or repository_at(folder) is None:
        return False
    return click.confirm("Add the files of this repository and its commits, so that both are found?", err=True)


@command("add")
def add(call: Call, sources: tuple[str, ...] = (), **given: Any) -> int:
    """Folders are added with everything in them, except what .gitignore and .ricordoignore exclude, and what the
    setting ingest.ignore names (node_modules, lock files and the like). A file or page
    that cannot be read does not stop the others; the exit code is 1 if any failed. Items that are stored already
    are skipped: use refresh to read changed files and pages again. A crash of the program loses nothing that was
    reported; after a power cut the last batch may be missing, and adding again brings it.
    """
    if not sources:
        raise UsageError("say what to add: PATH|GLOB|URL|-", hint="For example: ricordo add notes/")
    text = _standard_input(sources, given.get("as_ref"))
    given |= {"sources": sources} if text is None else {"text": text}
    if call.verbose:
        given["transcript"] = call.screen().note
    code = run(call, "add", given, show_saved_report)
    if not (call.json or given.get("dry_run")) and sys.stdin.isatty() and sys.stderr.isatty():
        folders = [one for one in sources if os.path.isdir(os.path.expanduser(one))]  # noqa: PTH111, PTH112 - any text
        _ask_about_folders(call, folders)
    return code


def _ask_about_folders(call: Call, folders: list[str]) -> None:
    """Ask whether the user trusts folders whose files say that every agent gets them."""
    from ricordo.cli.trust_verbs import show_trust
    from ricordo.config.trust_lists import is_in_trusted_folder

    wanted = [folder for folder in folders if not is_in_trusted_folder(Path(folder).expanduser())]
    if not wanted:
        return
    with call.engine() as engine:
        for folder in wanted:
            report = engine.trust(folder, dry_run=True)
            if report.files:
                show_trust(call.screen(), report)
                if click.confirm(f"Trust {report.place}?", err=True, default=False):
                    engine.trust(folder)


def _standard_input(sources: tuple[str, ...], as_ref: str | None) -> bytes | None:
    if "-" not in sources:
        return None
    if len(sources) > 1:
        raise UsageError("'-' (standard input) cannot be combined with other sources", hint="Add them in two commands.")
    if not as_ref:
        raise UsageError("standard input needs a ref", hint="ricordo add - --as note:/my-note")
    return sys.stdin.buffer.read()


@command("refresh")
def refresh(call: Call, **given: Any) -> int:
    """Items whose file or page did not change are left as they are. New files in added folders are added, too. MCP
    servers whose tools you took in are started and asked again for what they offer.
    """
    if not given.get("refs") and not given.get("all"):
        raise UsageError("say what to refresh", hint="Name refs or folders, or use --all.")
    return run(call, "refresh", given, lambda screen, report: show_refreshed(screen, report.to_dict()))


@command("watch")
def watch(call: Call, paths: tuple[str, ...] = ()) -> int:
    """It runs until you stop it with Ctrl-C. A changed file can be found within two seconds. The knowledge folder is
    always watched; without a PATH it is the only one. With --json, it prints one line for each batch of changes.
    """
    screen = call.screen()

    def tell(event: WatchEvent) -> None:
        plain = event.to_dict()
        call.answer(plain, lambda screen: show_refreshed(screen, plain))
        screen.out.flush()

    with call.engine(create=True) as engine:
        screen.note(f"watching {', '.join(paths) or 'the knowledge folder'}; stop with Ctrl-C")
        try:
            engine.watch(*paths, on_event=tell)
        except KeyboardInterrupt:  # this is how it is stopped, so it is not a failure
            screen.note("stopped")
    return 0


@command("sync")
def sync(call: Call, **given: Any) -> int:
    """Memories, notes and articles are Markdown files in the folder knowledge/ beside the store. You can change them
    with any editor. Every command reads changed files first; sync does only that, and shows what it found. If a file
    was deleted, its item goes to the bin. If both the file and the item changed, both texts are kept as versions.
    """

    def problem(report: SyncReport) -> Problem | None:
        return (1, some_failed(report.failed, int(report.to_dict()["checked"]))) if report.failed else None

    return run(call, "sync", given, show_synced, problem=problem)


roots = verb_group(
    "roots",
    examples=["ricordo roots", "ricordo roots rm ~/notes", "ricordo roots move ~/old/notes ~/new/notes"],
    details="refresh finds new files in these folders. 'roots rm' leaves a folder and keeps its items; 'rm FOLDER/'"
    " removes the items, too.",
)
