"""Commands that make a store or write, and differ from their verbs: init, add, watch, save, edit, migrate."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, Any

import click

from ricordo.cli.call import Call, said_at_terminal
from ricordo.cli.command import verb
from ricordo.cli.generated import command, run, tell, text_from
from ricordo.cli.show_reports import show_refresh, show_trust
from ricordo.cli.terminal import Screen, person_answers
from ricordo.errors import StaleVersion, UsageError
from ricordo.plugin import ask
from ricordo.values.items import Ref
from ricordo.verbs.index import verb_named
from ricordo.verbs.rows import call as call_verb

if TYPE_CHECKING:
    from ricordo.values.reports import WatchEvent


@verb("init", examples=["ricordo init", "ricordo init ~/projects/site"])
@click.argument("folder", required=False, type=click.Path(path_type=Path))
def init(call: Call, folder: Path | None, **options: Any) -> int:
    """It makes a folder .ricordo with a store. Every command that runs in this folder or below it then uses that
    store. Without one, items go to your own store. With --store, such as the address of a team's store, the project
    uses that one. Running it again changes nothing. In a git repository, it asks on a
    terminal whether the commits shall be found, too (add . --history).
    """
    from ricordo.config.files import CONFIG_NAME, PROJECT_FOLDER, nearest_project
    from ricordo.config.loading import init_project, load_config, set_value
    from ricordo.config.places import locate
    from ricordo.permissions import refuse_agents
    from ricordo.speaking import speaking

    is_new = not ((folder or Path()) / PROJECT_FOLDER).exists()
    if call.store or (is_new and nearest_project((folder or Path()).absolute())):
        with speaking(said_at_terminal(os.environ)):
            refuse_agents("have a project use another store")  # what the first one tells would not be told any more
    place = init_project(folder or Path())
    named = call.store
    with ExitStack() as failing:
        if is_new:  # an empty project's folder would get a plain store from whatever is saved next
            failing.callback(rmtree, place, ignore_errors=True)
        settings = load_config(start=place.parent)
        is_bound = settings.source("store.location") == f"project:{place / CONFIG_NAME}"
        wanted = named or (settings.store.location if is_bound else None) or str(place)
        properties = ask("before_store_is_made", wanted, place.parent, options)
        call.store = wanted
        with call.engine(create=True) as engine:
            failing.pop_all()
            if named:  # the project's commands use it from now on, and not a file in the project's folder
                set_value("store.location", named, scope="project", start=place.parent)
            location, notes = engine.location, [note for note in ask("store_made", engine) if note]
            if _wants_history(call, place.parent):
                engine.add(place.parent, history=True, wait=False)

    settings = load_config(start=place.parent)
    used = locate(None, settings, place.parent)
    is_used = used.location.name == location
    said = f"the store of this project is {location}"
    if not is_used:
        sources = (used.location.origin, settings.source(f"tiers.{used.tier}"))
        by = next((name for source in sources if (name := source.partition(":")[2])), "a setting")
        said = f"{location} is made, but commands in this folder use {used.location.name}: {by} names that one"

    def draw(screen: Screen) -> None:
        screen.line(", ".join((said, *filter(None, properties))))
        screen.note("next: ricordo add PATH")
        for note in notes:
            screen.note(note)

    answer = {"store": location, "folder": str(place)}
    return call.answer(answer if is_used else answer | {"used": used.location.name}, draw)


def _wants_history(call: Call, folder: Path) -> bool:
    """Ask whether a new project's files and commits shall be added; only where a person answers."""
    from ricordo.config.repository import repository_at

    if call.json or not person_answers() or repository_at(folder) is None:
        return False
    return click.confirm("Add the files of this repository and its commits, so that both are found?", err=True)


@command("add")
def _add(call: Call, sources: tuple[str, ...] = (), **given: Any) -> int:
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
    code = run(call, "add", given)
    if not (call.json or given.get("dry_run")) and person_answers():
        folders = [one for one in sources if os.path.isdir(os.path.expanduser(one))]  # noqa: PTH111, PTH112 - any text
        _ask_about_folders(call, folders)
    return code


def _ask_about_folders(call: Call, folders: list[str]) -> None:
    """Ask whether the user trusts folders whose files say that every agent gets them."""
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


@command("watch")
def _watch(call: Call, paths: tuple[str, ...] = ()) -> int:
    """It runs until you stop it with Ctrl-C. A changed file can be found within two seconds. The knowledge folder is
    always watched; without a PATH it is the only one. With --json, it prints one line for each batch of changes.
    """
    screen = call.screen()

    def tell(event: WatchEvent) -> None:
        call.answer(event.to_dict(), lambda screen: show_refresh(screen, event))
        screen.out.flush()

    call.check_named_store(create=True)
    with call.engine(create=True) as engine:
        screen.note(f"watching {', '.join(paths) or 'the knowledge folder'}; stop with Ctrl-C")
        try:
            engine.watch(*paths, on_event=tell)
        except KeyboardInterrupt:  # this is how it is stopped, so it is not a failure
            screen.note("stopped")
    return 0


_IF_TAKEN = next(param for param in verb_named("save").params if param.name == "on_conflict")
_SAVE = verb_named("save")._replace(params=(*verb_named("remember").params, _IF_TAKEN))
_WITH_IF_TAKEN = {"text", "ref", "kind", "fields", "on_conflict", "allow_secrets", "wait"}


@command("save", row=_SAVE, without=("text",), extra=(click.Argument(["words"], nargs=-1, metavar="[REF] TEXT|-"),))
def _save(call: Call, words: tuple[str, ...] = (), **given: Any) -> int:
    """Like remember, for any kind and under a ref that you choose. Of two arguments, the first is the name of the
    item: keys stands for memory:/keys. With a ref alone, the text is read from standard input. If the ref exists,
    nothing is written; use edit to change it, or --on-conflict overwrite to replace its text.
    """
    names_item = len(words) == 2 and words[0] != "-" and not any(map(str.isspace, words[0]))
    if words and "ref" not in given and (Ref.looks_like(words[0]) or names_item):
        given["ref"] = words[0]
        words = words[1:] or ("-",)
    given["text"] = text_from(words)
    if given.get("on_conflict", "error") == "error":
        given.pop("on_conflict", None)
        return run(call, "remember", given)
    if "ref" not in given or not given.keys() <= _WITH_IF_TAKEN:
        raise UsageError("--on-conflict goes with a ref, a kind and fields", hint="Leave out the other options.")
    drive = given.get("kind", "memory")
    ref = given["ref"] if Ref.looks_like(given["ref"]) else f"{drive}:/{given['ref']}"
    given |= {"ref": ref, "content": given.pop("text")}
    return run(call, "save", given)


@command("edit")
def _edit(call: Call, ref: str, **given: Any) -> int:
    """Without options, the text opens in your editor. An empty value clears a field: --set domain="""
    if given.get("content") == "-":
        given["content"] = sys.stdin.buffer.read().decode("utf-8", "replace")
    typed = given.keys().isdisjoint(("content", "fields"))
    with call.engine() as engine:
        if typed:
            item = engine.get(ref, track=False)
            given = {"base": item.version} | given | {"content": _edited(item.content)}
        try:
            saved = call_verb(engine, verb_named("edit"), {"ref": ref, **given})
        except StaleVersion as error:
            if not typed:
                raise
            raise StaleVersion(error.message, hint=f"What you wrote is kept in {_kept(given['content'])}") from None
    return tell(call, verb_named("edit"), saved)


def _kept(text: str) -> str:
    """Write a text that could not be saved to a file, so that nobody has to type it again; returns its name."""
    import tempfile

    with tempfile.NamedTemporaryFile("w", suffix=".md", prefix="ricordo-", delete=False, encoding="utf-8") as file:
        file.write(text)
    return file.name


def _edited(text: str) -> str:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("nothing to change", hint="Give --title, --tag, --set or --content.")
    changed = click.edit(text, extension=".md")
    return text if changed is None else changed
