"""The verb tidy: on a terminal, each finding is asked about with one key."""

from __future__ import annotations

import sys
from typing import Any

import click

from ricordo.cli.call import Call
from ricordo.cli.generated import command
from ricordo.cli.present_tidy import show_finding, show_tidy
from ricordo.cli.running import run
from ricordo.values.review import TidyReport

KEYS = "[d]o it, [s]kip, [a]ll of this kind, [k]eep the rest of this kind, [q]uit"


@command("tidy")
def tidy(call: Call, **given: Any) -> int:
    """Looks for duplicates, contradictions, gone and changed (files that memories cite), expired, unused (for a year),
    proposals and secrets. On a terminal you are asked about each finding,
    with one key: d does what is suggested, s skips it, a does it for all of this kind, k keeps the rest of this kind, q
    ends. Elsewhere, and with --json, they are only listed. What you chose is done at the end, as one step:
    'ricordo undo' takes it back.
    """
    asks = not given.get("do") and not call.json and sys.stdin.isatty() and sys.stdout.isatty()
    if not asks:
        return run(call, "tidy", given, show_tidy)
    with call.engine(create=False) as engine:
        report = engine.tidy(**{name: value for name, value in given.items() if value not in (None, (), [])})
    chosen = _asked(call, report)
    if not chosen:
        call.screen().note("nothing was changed")
        return 0
    return run(call, "tidy", {"do": tuple(chosen)}, show_tidy)


def _asked(call: Call, report: TidyReport) -> list[str]:
    """The ids of the findings that something is to be done about."""
    screen = call.screen()
    screen.note(KEYS if report.findings else "there is nothing to tidy")
    chosen: list[str] = []
    always, never = set[str](), set[str]()
    for one in report.findings:
        if one.kind in never:
            continue
        key = "d"
        if one.kind not in always:
            show_finding(screen, one)
            key = _key()
        if key == "q":
            break
        if key == "a":
            always.add(one.kind)
        if key == "k":
            never.add(one.kind)
        if key in ("d", "a"):
            chosen.append(one.id)
    return chosen


def _key() -> str:
    """The next key that means something; the end of input means to quit."""
    while True:
        try:
            key = click.getchar().lower()
        except (EOFError, KeyboardInterrupt):
            return "q"
        if key in ("d", "s", "a", "k", "q"):
            return str(key)
