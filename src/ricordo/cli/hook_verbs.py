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
def hook(call: Call, event: str) -> int:
    """EVENT is session-start, user-prompt, before-agent-start (these answer with what the agent should know),
    pre-compact or session-end (these take in the transcript). The payload is a JSON object on standard input, the
    answer one on standard output, in the shape that Claude Code, Codex, Gemini CLI, VS Code and Cursor read. It always
    exits 0, within hooks.seconds; when there is nothing to say or something is wrong, it says {} and the reason is
    written to hooks.log in the platform's folder for state. 'ricordo install' sets the hooks up.
    """
    from ricordo.cli.hook_process import answer

    answer(event, store=call.store, tier=call.tier, started=time.monotonic())
    return 0
