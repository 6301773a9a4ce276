"""Completion: the script of a shell, and what it offers: refs of the store, and names of profiles.

Completion must never fail or make a store: if anything goes wrong, nothing is offered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from ricordo.engine.ricordo import Ricordo

REFS_OFFERED = 60
"""How many refs are offered at once."""

BASH = r"""# Completion of ricordo for bash 4.4 or newer.
_ricordo_completion() {
    local IFS=$'\n' response completion type value word current before="" i glue=""
    local -a words=()
    # Bash ends a word at a colon, and refs have one: put the pieces together again.
    for ((i = 0; i <= COMP_CWORD; i++)); do
        word="${COMP_WORDS[i]}"
        if [[ ${#words[@]} -gt 0 && ($glue == yes || $word == ":") ]]; then
            words[${#words[@]}-1]+="$word"
        else
            words+=("$word")
        fi
        [[ $word == ":" ]] && glue=yes || glue=""
    done
    current="${words[${#words[@]}-1]}"
    if [[ $current == *:* && $current != [\"\']* && $COMP_WORDBREAKS == *:* ]]; then
        before="${current%"${current##*:}"}"
    fi
    response=$(env COMP_WORDS="${words[*]}" COMP_CWORD=$((${#words[@]} - 1)) _RICORDO_COMPLETE=bash_complete "$1")
    for completion in $response; do
        IFS=',' read -r type value <<< "$completion"
        if [[ $type == dir ]]; then
            compopt -o dirnames
        elif [[ $type == file ]]; then
            compopt -o default
        elif [[ $type == plain ]]; then
            [[ $value == */ ]] && compopt -o nospace
            value="${value#"$before"}"
            [[ $current == [\"\']* ]] || printf -v value '%q' "$value"
            COMPREPLY+=("$value")
        fi
    done
}
complete -o nosort -F _ricordo_completion ricordo
"""


class RefType(click.Path):
    """A ref, an item's id, a URL or a path; shells offer refs that begin so, and files.

    Of an item that is there already, the number of a hit of the last search is a name, too.
    """

    def __init__(self, *, hits: bool = False) -> None:
        super().__init__(allow_dash=True)
        self._hits = hits

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return super().convert(self.hit(value) if self._hits else value, param, ctx)

    @staticmethod
    def hit(value: Any) -> Any:
        """The ref of a hit of the last search; any other name as it is."""
        if not (isinstance(value, str) and value[:1].isdigit()):
            return value
        from ricordo.cli.last_search import ref_of

        return ref_of(value)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        refs = [] if incomplete.startswith(("/", ".", "~")) else _refs(ctx, incomplete)
        return refs if ":" in incomplete else [*refs, *super().shell_complete(ctx, param, incomplete)]


def profile_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The profiles whose names begin so."""
    from click.shell_completion import CompletionItem

    from ricordo.errors import Error

    try:
        with _opened(ctx) as engine:
            known = engine.profiles()
    except (Error, OSError):
        return []
    found = [(name, profile) for name, profile in sorted(known.items()) if name.startswith(incomplete)]
    return [CompletionItem(name, help=profile.description) for name, profile in found]


def _refs(ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    """A drive is completed to its name, a path to refs below it."""
    from click.shell_completion import CompletionItem

    from ricordo.cli.terminal import one_line
    from ricordo.errors import Error
    from ricordo.values.hits import Filters
    from ricordo.values.kinds import DRIVES

    drive, colon, path = incomplete.partition(":")
    if not colon:
        return [CompletionItem(f"{name}:/") for name in DRIVES if incomplete and name.startswith(incomplete)]
    try:
        with _opened(ctx) as engine:
            below = Filters(drives=(drive,), paths=(f"{path}*",) if path.strip("/") else ())
            items = engine.list(filters=below, limit=REFS_OFFERED)
    except (Error, OSError):
        return []
    return [CompletionItem(str(item.ref), help=one_line(item.title)) for item in items]


def _opened(ctx: click.Context) -> Ricordo:
    """The store that the command line means; a missing store is not made."""
    from ricordo.engine.ricordo import Ricordo

    call = ctx.find_root().obj  # with the global flags on the line so far
    return Ricordo.open(getattr(call, "store", None), tier=getattr(call, "tier", None), create=False)
