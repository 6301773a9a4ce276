"""Runs a verb for a command: calls the engine with what was given, and prints what it returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ricordo.cli.call import Call, some_failed
from ricordo.cli.verbs import SHOWN
from ricordo.verbs.index import verb_named
from ricordo.verbs.rows import plain_answer, prepared

if TYPE_CHECKING:
    from ricordo.cli.progress import ProgressLine
    from ricordo.cli.terminal import Screen

Show = Callable[["Screen", Any], None]
"""Writes a result for a person."""
Problem = tuple[int, Mapping[str, str]]
"""An exit code, and what it stands for."""

MAKES_A_STORE = frozenset(
    {
        "add", "watch", "sync", "import", "remember", "note", "entity", "resource", "entry", "save", "skills add",
        "sessions add", "tools add", "machine", "trust", "sync-folder add", "team init",
    }
)  # fmt: skip
"""The verbs that bring something in, or name the machine before that; all others need a store that is there."""


def run(
    call: Call,
    path: str,
    given: Mapping[str, Any],
    show: Show | None = None,
    *,
    plain: Callable[[Any], dict[str, Any]] | None = None,
    problem: Callable[[Any], Problem | None] | None = None,
    meaning: bool = False,
) -> int:
    """Call a verb and print its answer: as JSON, or as ``show`` draws it, or as lines of names and values.

    ``plain`` is the answer as JSON has it, where the verb's own form is not meant; ``problem`` says what part of the
    work failed.
    """
    row = verb_named(path)
    given = with_globals(call, path, dict(given))
    progress: ProgressLine | None = None
    if any(param.name == "progress" for param in row.params):
        from ricordo.cli.progress import ProgressLine

        progress = ProgressLine.for_call(call)
        given["progress"] = progress
    ask = prepared(row, given)
    with call.engine(create=path in MAKES_A_STORE, meaning=meaning) as engine, progress or nullcontext():
        result = ask(engine)
        answer = plain(result) if plain is not None else plain_answer(row, result)
    return tell(call, path, result, answer, show, problem)


def tell(
    call: Call,
    path: str,
    result: Any,
    plain: dict[str, Any],
    show: Show | None = None,
    problem: Callable[[Any], Problem | None] | None = None,
) -> int:
    """Print what a verb returned, and what of it failed."""
    code, error = (problem or part_failed)(result) or (0, None)

    def draw(screen: Screen) -> None:
        if show is not None:
            show(screen, result)
        elif path in SHOWN:
            module, _, function = SHOWN[path].partition(".")
            getattr(import_module(f"ricordo.cli.{module}"), function)(screen, result)
        else:
            from ricordo.cli.present_plain import show_plain

            show_plain(screen, plain)

    return call.answer(plain, draw, exit_code=code, error=error)


def part_failed(report: Any) -> Problem | None:
    """How many of a report's items failed; the others are done."""
    failed = getattr(report, "failed", 0)
    return (1, some_failed(failed, len(report.items))) if failed else None


def with_globals(call: Call, path: str, given: dict[str, Any]) -> dict[str, Any]:
    """What was given, with the global flags that are parameters of the verb: the tier and the profile."""
    names = {param.name for param in verb_named(path).params if not param.is_on("cli")}
    if call.tier and "tiers" in names:
        given["tiers"] = (call.tier,)
    if call.profile and "profile" in names and path != "semantic":
        given["profile"] = call.profile
    return given
