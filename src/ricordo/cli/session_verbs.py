"""Verbs about what agents did and when: sessions, timeline, recent, route."""

from __future__ import annotations

from typing import Any

import click

from ricordo.cli.call import Call, some_failed
from ricordo.cli.options import together
from ricordo.cli.present_sessions import show_routes, show_session, show_sessions, show_timeline
from ricordo.cli.verb import verb, verb_group
from ricordo.values.kinds import KINDS

sessions = verb_group(
    "sessions",
    examples=["ricordo sessions add", "ricordo sessions list", "ricordo sessions show 3f2a91c0"],
    details="Alone, it lists the sessions that are kept.",
)
_NARROWED = together(
    click.option("--thread", metavar="ID", help="Only this session or series, with its tool calls."),
    click.option(
        "--kind", "-k", "kinds", multiple=True, type=click.Choice(KINDS), metavar="KIND", help="Only this kind."
    ),
)


@sessions.add_command
@verb(
    "add",
    line="Take in transcripts of agents' sessions.",
    examples=[
        "ricordo sessions add",
        "ricordo sessions add ~/.claude/projects/-home-me-app",
        "ricordo sessions add chat.jsonl --no-wait",
    ],
)
@click.argument("paths", nargs=-1, type=click.Path(), metavar="[PATH...]")
@click.option("--allow-secrets", is_flag=True, help="Do not redact keys, tokens and passwords.")
@click.option("--wait/--no-wait", default=True, help="Make vectors now (default), or later with embed.")
def add(call: Call, paths: tuple[str, ...], **given: Any) -> int:
    """Files or folders; without any, what Claude Code, Codex, Gemini CLI, Qwen Code and opencode keep on this machine.
    Each event is taken in once, so you can run this as often as you like, also during a session.
    """
    from ricordo.cli.present_reports import show_saved
    from ricordo.cli.progress import ProgressLine

    with call.engine(create=True) as engine, ProgressLine.for_call(call) as progress:
        report = engine.sessions_add(*paths, progress=progress, **given)
    plain = report.to_dict()
    error = some_failed(report.failed, len(report.items)) if report.failed else None
    return call.answer(plain, lambda screen: show_saved(screen, plain), exit_code=1 if error else 0, error=error)


@sessions.add_command
@verb("list", line="List the stored sessions, newest first.", examples=["ricordo sessions list --limit 5"])
@click.option("--limit", "-n", type=click.IntRange(min=1), default=20, metavar="N", help="Show at most N (20).")
@click.option("--offset", type=click.IntRange(min=0), default=0, metavar="N", help="Skip the first N.")
def list_sessions(call: Call, limit: int, offset: int) -> int:
    """Times are local."""
    with call.engine() as engine:
        found = engine.sessions(limit=limit, offset=offset)
    plain = {"sessions": [session.to_dict(with_turns=False) for session in found]}
    return call.answer(plain, lambda screen: show_sessions(screen, found))


@sessions.add_command
@verb(
    "show",
    line="Show a session: what it was about, and its turns.",
    examples=["ricordo sessions show 3f2a91c0", "ricordo sessions show 3f2a91c0 --from 40 --limit 20"],
)
@click.argument("name", metavar="ID")
@click.option("--from", "first", type=click.IntRange(min=1), default=1, metavar="TURN", help="From this turn on (1).")
@click.option("--limit", "-n", type=click.IntRange(min=1), default=100, metavar="N", help="Show at most N (100).")
def show(call: Call, name: str, first: int, limit: int) -> int:
    """The beginning of an id is enough. With --verbose, turns are printed whole."""
    with call.engine() as engine:
        session = engine.session(name, first=first, limit=limit)
    return call.answer(session.to_dict(), lambda screen: show_session(screen, session))


@verb(
    "timeline",
    examples=[
        "ricordo timeline --since 7d",
        "ricordo timeline --since 2026-11-01 --kind memory",
        "ricordo timeline --thread 3f2a91c0-6a60-4d34-9d0e-2f1f0a7b6c11",
    ],
)
@click.option("--since", metavar="SPAN|DATE", help="Since when: 36h, 7d, 2w, or a date (local).")
@_NARROWED
@click.option("--limit", "-n", type=click.IntRange(1, 10_000), default=50, metavar="N", help="The latest N (50).")
def timeline(call: Call, **given: Any) -> int:
    """It lists what was said, saved, changed and archived, oldest first; --limit keeps the latest."""
    with call.engine() as engine:
        found = engine.timeline(**given)
    return call.answer(found.to_dict(), lambda screen: show_timeline(screen, found))


@verb("recent", examples=["ricordo recent", "ricordo recent --limit 5 --kind memory"])
@click.option("--limit", "-n", type=click.IntRange(1, 10_000), default=20, metavar="N", help="Show at most N (20).")
@click.option("--since", metavar="SPAN|DATE", help="Since when: 36h, 7d, 2w, or a date (local).")
@_NARROWED
def recent(call: Call, limit: int, **given: Any) -> int:
    """Like timeline, but newest first."""
    with call.engine() as engine:
        found = engine.recent(limit, **given)
    return call.answer(found.to_dict(), lambda screen: show_timeline(screen, found))


@verb("route", examples=["ricordo route 'add a retry to the upload'", "ricordo route 'fix the login' --limit 3"])
@click.argument("task", nargs=-1, required=True, metavar="TASK")
@click.option("--limit", "-n", type=click.IntRange(min=1), default=5, metavar="N", help="Show at most N (5).")
def route(call: Call, task: tuple[str, ...], limit: int) -> int:
    """It finds checkpoints: points in earlier sessions to fork from, where similar work was done. Praise after a point
    raises its quality, corrections lower it.
    """
    with call.engine() as engine:
        found = engine.route(" ".join(task), limit=limit)
    return call.answer(found.to_dict(), lambda screen: show_routes(screen, found))
