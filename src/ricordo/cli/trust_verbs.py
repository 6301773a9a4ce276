"""The verb trust: shows what it grants, and asks."""

from __future__ import annotations

import sys
from typing import Any

import click

from ricordo.cli.call import Call
from ricordo.cli.generated import command
from ricordo.cli.removing import YES
from ricordo.cli.running import run
from ricordo.cli.terminal import Screen, one_line
from ricordo.errors import UsageError
from ricordo.values.provenance import TrustReport

MOST_NAMED = 10


@command("trust", extra=[YES])
def trust(call: Call, yes: bool = False, **given: Any) -> int:
    """What came with a repository is searched, and told to agents as data. Once you trust a project, what its store
    and its knowledge files say counts as your own words, and its settings may run commands and reach hosts. You are
    shown what it brings, and asked. The trust is kept in your data folder, by the place and the id of the store, and
    ends when either changes; a settings file must be trusted again when it changes. With a FOLDER of your own, files
    in it with 'loading: always' are instructions.
    """
    asks = not yes and not any(given.get(name) for name in ("list", "withdraw", "dry_run"))
    if asks:
        with call.engine(create=True) as engine:
            report = engine.trust(given.get("folder"), dry_run=True)
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise UsageError(
                "whether you trust a place is asked on a terminal",
                hint="See what it would grant with --dry-run; --yes does not ask.",
            )
        confirm_trust(call.screen(), report)
    return run(call, "trust", given, show_trust)


def confirm_trust(screen: Screen, report: TrustReport) -> None:
    """Show what trust in a place grants, and ask whether it is meant."""
    show_trust(screen, report)
    if not click.confirm(f"Trust {one_line(report.place)}?", err=True):
        raise UsageError("you did not confirm, so nothing is trusted", hint="Answer y, or use --yes.")


def show_trust(screen: Screen, report: TrustReport) -> None:
    """What is trusted, or would be, and what that grants."""
    if report.status == "listed":
        screen.table(("place", "since", "how"), [(one.place, one.since, one.how) for one in report.places])
        if not report.places:
            screen.note("no project and no folder is trusted; your own store always is")
        return
    screen.line(f"{report.status}: {one_line(report.place)}")
    if report.status not in ("trusted", "would be trusted"):
        return
    if report.repository:
        screen.line(f"  it belongs to the repository {one_line(report.repository)}: others may write to it")
    for what, names in (
        ("told to every agent", report.always),
        ("knowledge files that say that you wrote them, or that every agent gets them", report.knowledge),
        ("added files that every agent gets", report.files),
        ("skills in its store", report.skills),
        ("settings that run commands, reach hosts or name folders", report.settings),
    ):
        if names:
            screen.line(f"  {len(names):,} {what}:")
            for name in names[:MOST_NAMED]:
                screen.line(f"    {one_line(name)}")
            if len(names) > MOST_NAMED:
                screen.line(f"    and {len(names) - MOST_NAMED:,} more")
