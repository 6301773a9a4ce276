"""Commands that make a store or write, and differ from their verbs: init, add, watch, save, edit, migrate."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, Any

import click

from ricordo.cli.call import Call, ask_for_passphrases
from ricordo.cli.command import verb
from ricordo.cli.generated import command, run, tell, text_from
from ricordo.cli.show_reports import show_refresh, show_trust
from ricordo.cli.terminal import ProgressLine, Screen, person_answers
from ricordo.errors import StaleVersion, UsageError
from ricordo.values.items import Ref
from ricordo.verbs.index import verb_named
from ricordo.verbs.rows import call as call_verb

if TYPE_CHECKING:
    from ricordo.values.reports import WatchEvent


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
            from ricordo.config.loading import ConfigProvider, locate_store
            from ricordo.engine.encryption import make_encrypted

            ask_for_passphrases()
            make_encrypted(locate_store(named or str(place), ConfigProvider()(), place.parent).path, key)
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


def _spoken() -> str:
    """The language of the user's locale, if it is one that a question may be in besides English."""
    from ricordo.config.settings import SPOKEN

    named = next((os.environ[name] for name in ("LC_ALL", "LC_MESSAGES", "LANG") if os.environ.get(name)), "")
    code = named[:2].lower()
    return code if code in SPOKEN and code != "en" and not named[2:3].isalnum() else ""


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

    with call.engine(create=True) as engine:
        screen.note(f"watching {', '.join(paths) or 'the knowledge folder'}; stop with Ctrl-C")
        try:
            engine.watch(*paths, on_event=tell)
        except KeyboardInterrupt:  # this is how it is stopped, so it is not a failure
            screen.note("stopped")
    return 0


_SAVE = verb_named("save")._replace(params=verb_named("remember").params)


@command("save", row=_SAVE, without=("text",), extra=(click.Argument(["words"], nargs=-1, metavar="[REF] TEXT|-"),))
def _save(call: Call, words: tuple[str, ...] = (), **given: Any) -> int:
    """Like remember, for any kind and under a ref that you choose. Of two arguments, the first is the name of the
    item: keys stands for memory:/keys. With a ref alone, the text is read from standard input. If the ref exists,
    nothing is written; use edit to change it.
    """
    names_item = len(words) == 2 and words[0] != "-" and not any(map(str.isspace, words[0]))
    if words and "ref" not in given and (Ref.looks_like(words[0]) or names_item):
        given["ref"] = words[0]
        words = words[1:] or ("-",)
    return run(call, "remember", {"text": text_from(words), **given})


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


@command(
    "migrate",
    without=("target",),
    extra=(
        click.Argument(["source"], metavar="[FROM]", required=False),
        click.Argument(["target"], metavar="[TO]", required=False),
        click.Option(["--rekey"], is_flag=True, help="Keep the key of an encrypted store elsewhere (--key)."),
    ),
)
def _migrate(call: Call, source: str = "", target: str = "", rekey: bool = False, **given: Any) -> int:
    """Everything is copied: items with all versions, links, logs, what was learned, and vectors. FROM is only read. TO
    is empty, or was begun by an earlier run, which is taken up again. At the end both are compared, by counts and by
    hashes. Without TO, --encrypt and --decrypt change the store where it lies; nobody else may use it meanwhile.
    """
    from ricordo import Ricordo

    ask_for_passphrases()
    if not target:
        return _in_place(call, source, rekey=rekey, **given)
    if rekey:
        raise UsageError("--rekey changes a store where it lies", hint="Leave out TO.")
    with Ricordo.open(source, create=False) as engine, ProgressLine.for_call(call) as progress:
        report = engine.migrate(target, progress=progress, **given)

    def draw(screen: Screen) -> None:
        screen.line(f"{report.items:,} items are in {report.target}, {report.written:,} of them copied now")
        screen.note(f"{report.vectors:,} vectors came along; counts and hashes agree ({report.seconds:.1f} s)")

    return call.answer(report.to_dict(), draw)


def _in_place(
    call: Call, source: str, *, rekey: bool, encrypt: bool = False, decrypt: bool = False, key: str = ""
) -> int:
    """Encrypt or decrypt a store where it lies, or keep its key elsewhere."""
    from ricordo.config.loading import ConfigProvider
    from ricordo.config.places import locate
    from ricordo.engine import encryption

    if encrypt + decrypt + rekey != 1:
        raise UsageError(
            "there is no store to copy into", hint="Name it, or pass one of --encrypt, --decrypt, --rekey."
        )
    location = locate(source or call.store, ConfigProvider()(), Path.cwd(), call.tier).location
    if source and not location.address and not location.path.exists():
        raise UsageError(
            f"there is no store at {location.path}", hint="Name one that exists; a copy is made by ‹:migrate FROM TO›."
        )
    how = ""
    if encrypt:
        how = encryption.encrypt_in_place(location, key)
    elif rekey:
        how = encryption.keep_key_elsewhere(location, key)
    else:
        encryption.decrypt_in_place(location)

    def draw(screen: Screen) -> None:
        if how:
            screen.line(f"the store {location.name} is encrypted; its key is {how}")
            screen.note(
                "without the key nothing of it can be read: keep a copy of it, and of the file beside the store"
            )
        else:
            screen.line(f"the store {location.name} is no longer encrypted")

    return call.answer({"store": location.name, "encrypted": how or None}, draw)
