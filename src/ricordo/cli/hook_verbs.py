"""The verb that agents' programs call while they run: hook."""

from __future__ import annotations

import time

import click

from ricordo.cli.call import Call
from ricordo.cli.verb import verb


@verb(
    "hook",
    examples=[
        "ricordo hook session-start < payload.json",
        """echo '{"prompt": "How are the signing keys rotated?"}' | ricordo hook user-prompt""",
        "ricordo hook session-end < payload.json",
    ],
)
@click.argument("event", metavar="EVENT")
@click.option("--within", type=float, default=0.0, metavar="SECONDS", help="How long the calling program waits.")
def hook(call: Call, event: str, within: float) -> int:
    """Agents' programs call this; 'ricordo install' sets it up. EVENT is session-start, user-prompt or
    before-agent-start, which answer with what the agent should know, or pre-compact or session-end, which read the
    transcript and print nothing. The payload is a JSON object on standard input; the answer is a JSON object on
    standard output, in the form that Claude Code, Codex, Gemini CLI, Qwen Code, VS Code and Cursor read. The exit code
    is always 0. After hooks.seconds it prints the answer it has; without an answer it goes on for as long as --within
    allows. When there is nothing to say or something is wrong, it prints {} and writes the reason to hooks.log.
    """
    from ricordo.hooks.process import answer

    answer(event, store=call.store, tier=call.tier, started=time.monotonic(), within=within)
    return 0
