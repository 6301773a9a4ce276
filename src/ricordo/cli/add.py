"""Verbs that bring content in: init, add, refresh, watch."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ricordo.cli.call import Call, some_failed
from ricordo.cli.options import REF, fields_from
from ricordo.cli.present_reports import show_refreshed, show_saved
from ricordo.cli.progress import ProgressLine
from ricordo.cli.terminal import Screen
from ricordo.cli.verb import verb
from ricordo.errors import UsageError
from ricordo.values.choices import ON_CONFLICT
from ricordo.values.kinds import KINDS

if TYPE_CHECKING:
    from ricordo.values.reports import WatchEvent


@verb("init", examples=["ricordo init", "ricordo init ~/projects/site"])
@click.argument("folder", required=False, type=click.Path(path_type=Path))
def init(call: Call, folder: Path | None) -> int:
    """It makes a folder .ricordo with a store. Every command that runs in this folder or below it then uses that
    store. Without one, items go to your own store. Running it again changes nothing.
    """
    from ricordo.config.loading import init_project

    place = init_project(folder or Path())
    call.store = call.store or str(place)
    with call.engine(create=True) as engine:
        location = engine.location

    def draw(screen: Screen) -> None:
        screen.line(f"the store of this project is {location}")
        screen.note("next: ricordo add PATH")

    return call.answer({"store": location, "folder": str(place)}, draw)


@verb(
    "add",
    examples=[
        "ricordo add notes/ report.pdf",
        "ricordo add src/ --glob '*.py' --tag code",
        "ricordo add https://example.org/guide --depth 2",
        "git log -20 | ricordo add - --as note:/recent-commits",
    ],
)
@click.argument("sources", nargs=-1, required=True, type=REF, metavar="PATH|GLOB|URL|-...")
@click.option("--kind", "-k", type=click.Choice(KINDS), metavar="KIND", help="The kind of the items: document, note, …")
@click.option(
    "--on-conflict",
    type=click.Choice(ON_CONFLICT),
    default="skip",
    show_default=True,
    help="What to do with an item that is stored already.",
)
@click.option("--as", "as_ref", metavar="REF", help="Store the one item under this ref.")
@click.option(
    "--glob", "globs", multiple=True, metavar="PATTERN", help="Of folders, add only files that match (repeatable)."
)
@click.option(
    "--follow-links/--no-follow-links",
    default=None,
    help="Of folders, also add what links in them lead to elsewhere (ingest.follow_symlinks does so always).",
)
@click.option(
    "--depth",
    type=click.IntRange(0, 20),
    default=0,
    metavar="N",
    help="Follow the links of a page N steps within its site.",
)
@click.option("--sitemap", is_flag=True, help="Add the pages that the sitemap of the site lists.")
@click.option("--max-pages", type=click.IntRange(1), metavar="N", help="Add at most N pages of a site.")
@click.option("--prompt-addition", default="", metavar="TEXT", help="A note to the language model that loads pages.")
@click.option("--title", help="The title of the item.")
@click.option("--tag", "-t", "tags", multiple=True, metavar="TAG", help="A tag for every item (repeatable).")
@click.option("--set", "pairs", multiple=True, metavar="FIELD=VALUE", help="Any other field (repeatable).")
@click.option("--allow-secrets", is_flag=True, help="Do not redact secrets in memories and notes.")
@click.option("--dry-run", is_flag=True, help="Only say what would be added.")
@click.option("--wait/--no-wait", default=True, help="Make vectors now (default), or later with embed.")
def add(call: Call, sources: tuple[str, ...], **given: Any) -> int:
    """Folders are added with everything in them, except what .gitignore and .ricordoignore exclude, and what the
    setting ingest.ignore names (node_modules, lock files and the like). A file or page
    that cannot be read does not stop the others; the exit code is 1 if any failed. Items that are stored already
    are skipped: use refresh to read changed files and pages again. A crash of the program loses nothing that was
    reported; after a power cut the last batch may be missing, and adding again brings it.
    """
    title, tags, pairs = given.pop("title"), given.pop("tags"), given.pop("pairs")
    fields = fields_from(pairs, title=title, tags=tags)
    text = _standard_input(sources, given["as_ref"])
    paths = () if text is not None else sources
    with call.engine(create=True) as engine, ProgressLine.for_call(call) as progress:
        transcript = call.screen().note if call.verbose else None
        report = engine.add(*paths, text=text, fields=fields or None, progress=progress, transcript=transcript, **given)
    plain = report.to_dict()
    return call.answer(
        plain,
        lambda screen: show_saved(screen, plain),
        exit_code=1 if report.failed else 0,
        error=some_failed(report.failed, len(report.items)) if report.failed else None,
    )


def _standard_input(sources: tuple[str, ...], as_ref: str | None) -> bytes | None:
    if "-" not in sources:
        return None
    if len(sources) > 1:
        raise UsageError("'-' (standard input) cannot be combined with other sources", hint="Add them in two commands.")
    if not as_ref:
        raise UsageError("standard input needs a ref", hint="ricordo add - --as note:/my-note")
    return sys.stdin.buffer.read()


@verb(
    "refresh",
    examples=[
        "ricordo refresh --all",
        "ricordo refresh notes/ url:/https://example.org/page",
        "ricordo refresh tool:/git",
    ],
)
@click.argument("refs", nargs=-1, type=REF, metavar="REF...")
@click.option(
    "--all", "everything", is_flag=True, help="Refresh every item that came from a file, a page or an MCP server."
)
@click.option("--prune", is_flag=True, help="Also remove items whose file is gone.")
def refresh(call: Call, refs: tuple[str, ...], everything: bool, prune: bool) -> int:
    """Items whose file or page did not change are left as they are. New files in added folders are added, too. MCP
    servers whose tools you took in are started and asked again for what they offer.
    """
    if not refs and not everything:
        raise UsageError("say what to refresh", hint="Name refs or folders, or use --all.")
    with call.engine() as engine, ProgressLine.for_call(call) as progress:
        report = engine.refresh(*refs, all=everything, prune=prune, progress=progress)
    plain = report.to_dict()
    failed = int(plain["failed"])
    return call.answer(
        plain,
        lambda screen: show_refreshed(screen, plain),
        exit_code=1 if failed else 0,
        error=some_failed(failed, len(plain["items"])) if failed else None,
    )


@verb("watch", examples=["ricordo watch notes/", "ricordo watch . --quiet", "ricordo watch"])
@click.argument("paths", nargs=-1, type=REF, metavar="[PATH...]")
def watch(call: Call, paths: tuple[str, ...]) -> int:
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
