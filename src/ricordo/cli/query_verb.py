"""Commands whose words may begin with a dash: ``ricordo search -draft plan`` leaves drafts out."""

from __future__ import annotations

from collections.abc import Mapping

import click

from ricordo.cli.verb import Verb


class QueryVerb(Verb):
    """A verb whose words may start with a dash: ``ricordo search -draft plan`` leaves drafts out."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, self._words_after_options(ctx, args))

    def _words_after_options(self, ctx: click.Context, args: list[str]) -> list[str]:
        options = {
            name: param
            for param in self.get_params(ctx)
            if isinstance(param, click.Option)
            for name in (*param.opts, *param.secondary_opts)
        }
        flags: list[str] = []
        words: list[str] = []
        takes_value = False
        for index, arg in enumerate(args):
            if takes_value:
                flags.append(arg)
                takes_value = False
            elif arg == "--":
                words += args[index + 1 :]
                break
            elif _is_word(arg, options):
                words.append(arg)
            else:
                flags.append(arg)
                option = options.get(arg)
                takes_value = option is not None and not (option.is_flag or option.count)
        return [*flags, "--", *words]


def _is_word(arg: str, options: Mapping[str, click.Option]) -> bool:
    """Whether this is part of the query: ``plan``, ``-draft``, ``-``; not ``-n``, ``-n5``, ``-qv`` or ``--x``."""
    if not arg.startswith("-") or arg == "-":
        return True
    if arg.startswith("--") or len(arg) == 2:
        return False
    if arg[2:].isdigit():
        return arg[:2] not in options
    return not all(f"-{letter}" in options and options[f"-{letter}"].is_flag for letter in arg[1:])
