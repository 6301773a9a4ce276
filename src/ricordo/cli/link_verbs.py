"""Verbs for links between items: link, unlink, links, suggest-links."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ricordo.cli.call import Call
from ricordo.cli.options import REF, limited
from ricordo.cli.present_hits import short_ref, show_answer
from ricordo.cli.terminal import Screen, one_line
from ricordo.cli.verb import verb
from ricordo.values.links import LINK_TYPES

if TYPE_CHECKING:
    from ricordo.values.links import Link, LinkReport

_TYPES = f"{', '.join(LINK_TYPES)}, or a word of your own"


@verb(
    "link",
    examples=[
        "ricordo link notes/plan.md notes/keys.md",
        "ricordo link memory:/login-fix memory:/login-bug --type corrects",
    ],
)
@click.argument("source", type=REF)
@click.argument("target", type=REF)
@click.option("--type", "-t", "type_", default="mentions", metavar="TYPE", help=f"{_TYPES} (mentions).")
def link(call: Call, source: str, target: str, type_: str) -> int:
    """Links that are written in a text ([[wiki]] and Markdown links) are found automatically."""
    with call.engine() as engine:
        made = engine.link(source, target, type_)
    return call.answer(made.to_dict(), lambda screen: screen.line(_sentence(screen, made)))


@verb(
    "unlink",
    examples=[
        "ricordo unlink notes/plan.md notes/keys.md",
        "ricordo unlink memory:/login-fix memory:/login-bug --type corrects",
    ],
)
@click.argument("source", type=REF)
@click.argument("target", type=REF)
@click.option("--type", "-t", "type_", metavar="TYPE", help="Only links of this type; otherwise all between the two.")
def unlink(call: Call, source: str, target: str, type_: str | None) -> int:
    """To remove a link that is written in a text, edit the text."""
    with call.engine() as engine:
        removed = engine.unlink(source, target, type_)
    text = f"{removed} link{'' if removed == 1 else 's'} removed"
    return call.answer({"removed": removed}, lambda screen: screen.line(text))


@verb("links", examples=["ricordo links notes/plan.md", "ricordo links memory:/login-bug --depth 1 --json"])
@click.argument("ref", type=REF)
@click.option("--depth", type=click.IntRange(min=1), default=2, metavar="N", help="Follow links N steps (2).")
def links(call: Call, ref: str, depth: int) -> int:
    """It shows links in both directions, and links in the text whose target does not exist yet."""
    with call.engine() as engine:
        report = engine.links(ref, depth=depth)
    return call.answer(report.to_dict(), lambda screen: _show(screen, report))


@verb("suggest-links", examples=["ricordo suggest-links notes/plan.md", "ricordo suggest-links note:/a --limit 3"])
@click.argument("ref", type=REF)
@limited(10)
def suggest_links(call: Call, ref: str, limit: int) -> int:
    """Items are compared by meaning, or by the words of their titles where there are no vectors."""
    with call.engine() as engine:
        answer = engine.suggest_links(ref, limit=limit)
    return call.answer(answer.to_dict(), lambda screen: show_answer(screen, answer, query=""))


def _show(screen: Screen, report: LinkReport) -> None:
    """One line per link, the near ones first; farther ones are indented."""
    screen.line(screen.bold(short_ref(report.ref)))
    for one in report.links:
        screen.line("  " * one.distance + _line(screen, one))
    for target in report.unresolved:
        screen.line(f"  → {screen.dim('mentions')} {one_line(target)} {screen.dim('(not in the store)')}")
    if not report.links and not report.unresolved:
        screen.note("no links; 'ricordo suggest-links' finds what may belong together")


def _line(screen: Screen, one: Link) -> str:
    arrow = "→" if one.direction == "out" else "←"
    near = one.source if one.direction == "out" else one.target
    title = f"  {screen.dim(one_line(one.title))}" if one.title else ""
    via = f"  {screen.dim(f'via {short_ref(near)}')}" if one.distance > 1 else ""
    return f"{arrow} {screen.style(one_line(one.type), fg='cyan')} {short_ref(one.ref)}{title}{via}"


def _sentence(screen: Screen, one: Link) -> str:
    return f"{short_ref(one.source)} {screen.style(one_line(one.type), fg='cyan')} {short_ref(one.target)}"
