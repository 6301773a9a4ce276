"""The program: finds the verb, runs it, and turns every failure into a message and an exit code.

Exit codes: 0 fine, 1 some of it failed, 2 wrong usage, 3 not found, 4 conflict, 5 unavailable,
130 interrupted.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click
from click import formatting

from ricordo.cli.call import Call, write_envelope
from ricordo.cli.command import GLOBAL_OPTIONS, SECTIONS, first_commands, shown_commands, write_options
from ricordo.cli.terminal import prepare_streams
from ricordo.errors import Error
from ricordo.log import FILE_NAME, keep_log, report

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

ALL = "ricordo.all"
"""Whether the help shows all verbs."""

WIDEST_HELP = 100

_OPENING = """\
Ricordo keeps what you and your agents know, and finds it again.

\b
Examples:
  ricordo add notes/
  ricordo search how did we fix the login bug
  ricordo get notes/login.md
"""


class Program(click.Group):
    """``ricordo``: loads the module of a verb when that verb is used, and not before."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(shown_commands())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        from ricordo.cli.generated import find_command

        return find_command(cmd_name)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--all" in args and set(args) <= {"--all", "--help", "-h", "--no-color"}:
            ctx.meta[ALL] = True
            args = ["--help"]
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        command = self.get_command(ctx, args[0])
        if command is not None:
            return args[0], command, args[1:]
        if not args[0].startswith("-") and not ctx.resilient_parsing:
            from difflib import get_close_matches

            near = get_close_matches(args[0], shown_commands(), n=1)
            offer = f"; did you mean '{near[0]}'?" if near else ""
            raise click.UsageError(f"there is no verb '{args[0]}'{offer}", ctx)
        return super().resolve_command(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        commands = shown_commands() if ctx.meta.get(ALL) else first_commands()
        for wanted, title in SECTIONS.items():
            lines = [(name, line) for name, (section, line) in commands.items() if section == wanted]
            if lines:
                with formatter.section(title):
                    formatter.write_dl(lines)
        if not ctx.meta.get(ALL):
            formatter.write_paragraph()
            formatter.write_text("'ricordo --help --all' shows all verbs, and 'ricordo VERB --help' one of them.")
        write_options(self, ctx, formatter)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        known = shown_commands().items()
        names = [CompletionItem(name, help=line) for name, (_, line) in known if name.startswith(incomplete)]
        return names + click.Command.shell_complete(self, ctx, incomplete)

    def main(  # type: ignore[override]  # this one always ends the process
        self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any
    ) -> None:
        """Run a command line and end the process with its exit code."""
        prepare_streams()
        keep_log()
        call = Call()
        argv = list(sys.argv[1:] if args is None else args)
        code = 0
        try:
            extra |= {"standalone_mode": False, "obj": call, "terminal_width": _help_width()}
            code = super().main(args, prog_name or "ricordo", **extra)
            sys.stdout.flush()
        except BrokenPipeError:
            code = _let_the_reader_go(code)
        except Error as error:
            code = _fail(call, argv, error.to_dict("cli"), error.exit_code)
        except click.ClickException as error:
            code = _fail(call, argv, _usage_error(error), error.exit_code)
        except click.Abort:
            code = _fail(call, argv, _INTERRUPTED, 130)
        except OSError as error:
            code = _fail(call, argv, _system_error(error), 1)
        except Exception as error:  # noqa: BLE001 - the last boundary: a person gets one line, the log the trace
            code = _unexpected(call, argv, error)
        sys.exit(code)

    def invoke(self, ctx: click.Context) -> Any:
        # click ends the process with 1 on a closed pipe; but it is no failure if a reader has seen enough
        try:
            code = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            return _let_the_reader_go(0)
        return code


def _help_width() -> int:
    """How wide help is. Click would say the same, but it asks ``shutil``, which takes long to import."""
    if formatting.FORCED_WIDTH:
        return int(formatting.FORCED_WIDTH)
    columns = 0
    with suppress(KeyError, ValueError):
        columns = int(os.environ["COLUMNS"])
    if columns <= 0:
        with suppress(AttributeError, ValueError, OSError):
            columns = os.get_terminal_size(sys.__stdout__.fileno()).columns  # type: ignore[union-attr]
    return max(min(columns or 80, WIDEST_HELP) - 2, 50)


def _fail(call: Call, argv: Sequence[str], error: dict[str, str], code: int) -> int:
    flags = argv[: argv.index("--")] if "--" in argv else argv
    if call.json or "--json" in flags:  # the line may be one that could not be parsed to its end
        write_envelope(call, None, error)
    else:
        call.screen().error(error["message"], error["hint"])
    return code


_PLAINER = {
    "a valid integer range": "a whole number",
    "a valid integer": "a whole number",
    "a valid float range": "a number",
    "a valid float": "a number",
}
"""Plainer words for click's names of types; the longer ones first."""


def _usage_error(error: click.ClickException) -> dict[str, str]:
    context = error.ctx if isinstance(error, click.UsageError) else None
    hint = f"Try: {context.command_path if context else 'ricordo'} --help"
    if isinstance(error, click.BadParameter) and error.param is not None and isinstance(error.param.type, click.Choice):
        from difflib import get_close_matches

        given = error.message.partition("'")[2].partition("' is not")[0]
        if near := get_close_matches(given, [str(choice) for choice in error.param.type.choices], n=1):
            hint = f"Did you mean '{near[0]}'?"
    code = "usage" if error.exit_code == 2 else "error"
    message = " ".join(error.format_message().split()).rstrip(".")
    for theirs, ours in _PLAINER.items():
        message = message.replace(theirs, ours)
    return {"code": code, "message": message[:1].lower() + message[1:], "hint": hint}


def _system_error(error: OSError) -> dict[str, str]:
    where = f": {error.filename}" if error.filename else ""
    return {
        "code": "system",
        "message": f"{error.strerror or error}{where}",
        "hint": "Check that the file exists, that you may use it, and that the disk has room.",
    }


_INTERRUPTED = {
    "code": "interrupted",
    "message": "interrupted",
    "hint": "Nothing that was saved is lost. To go on, run it again: it skips what is saved, and makes the vectors that"
    " are missing.",
}


def _unexpected(call: Call, argv: Sequence[str], error: Exception) -> int:
    report(f"'ricordo {call.command}' failed", error)
    from ricordo.masking import masked_in

    message = masked_in(" ".join(str(error).split()))
    shown = {
        "code": "unexpected",
        "message": f"unexpected error: {type(error).__name__}{': ' + message if message else ''}",
        "hint": "" if call.verbose else f"Run with --verbose for the trace, or look into {FILE_NAME}.",
    }
    return _fail(call, argv, shown, 1)


def _let_the_reader_go(code: int) -> int:
    """The reader of our output is gone: discard the rest, so that closing the stream does not fail."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
    except (OSError, ValueError):  # not a real file, as in tests
        pass
    return code


@click.pass_context
def _start(ctx: click.Context, show_version: bool) -> int:
    """Without a verb: the version, or what to do first."""
    if ctx.invoked_subcommand is not None:
        return 0
    if show_version:
        from ricordo.cli.cmd_program import version

        return int(ctx.invoke(version))
    from ricordo.cli.cmd_program import welcome

    return welcome(ctx.ensure_object(Call))


program = Program(
    "ricordo",
    callback=_start,
    help=_OPENING,
    invoke_without_command=True,
    context_settings={"help_option_names": ["--help", "-h"], "max_content_width": WIDEST_HELP},
    params=[click.Option(["--version", "show_version"], is_flag=True, help="Print the version."), *GLOBAL_OPTIONS],
)
