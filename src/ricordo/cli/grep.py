"""The verb grep: lines of stored text by a pattern, without ranking."""

from __future__ import annotations

from typing import Any

import click

from ricordo.cli.call import Call
from ricordo.cli.options import limited
from ricordo.cli.present_items import show_matches
from ricordo.cli.terminal import Screen
from ricordo.cli.verb import verb


@verb(
    "grep",
    examples=["ricordo grep 'TODO|FIXME' -C 2", "ricordo grep -i -F 'c++' --glob '*.md' --drive disk"],
)
@click.argument("pattern")
@click.option(
    "--context",
    "-C",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="Lines before and after each match.",
)
@click.option("--ignore-case", "-i", is_flag=True, help="Ignore the difference between capital and small letters.")
@click.option("--fixed", "-F", is_flag=True, help="The pattern is plain text, not a regular expression.")
@click.option("--glob", "globs", multiple=True, metavar="PATTERN", help="Only paths that match.")
@click.option("--drive", "-d", "drives", multiple=True, metavar="DRIVE", help="Only this drive.")
@limited(100, "How many matches at most")
def grep(call: Call, pattern: str, **given: Any) -> int:
    """It prints ref:line:text for each match. Without a match it prints nothing, and the exit code is 0."""
    with call.engine() as engine:
        matches = engine.grep(pattern, **given)

    def draw(screen: Screen) -> None:
        show_matches(screen, matches, context=given["context"])
        if len(matches) >= given["limit"]:
            screen.note(f"stopped at {given['limit']} matches; --limit shows more")

    return call.answer({"matches": [match.to_dict() for match in matches]}, draw)
