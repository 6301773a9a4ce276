"""The verb models and its parts: list, test, use."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from ricordo.cli.call import Call
from ricordo.cli.generated import command
from ricordo.cli.progress import ProgressLine
from ricordo.cli.terminal import Screen, one_line
from ricordo.cli.verb_group import verb_group
from ricordo.config.files import current_folder
from ricordo.config.loading import load_config
from ricordo.config.places import locate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ricordo.engine.model_choice import Models
    from ricordo.values.reports import ModelState, ModelSwitch

models = verb_group(
    "models",
    examples=[
        "ricordo models list",
        "ricordo models test openai",
        "ricordo models use hub --model BAAI/bge-small-en-v1.5 --dry-run",
    ],
    details=(
        "What turns text into vectors. The model inside the package needs nothing; others need a key, a server or a "
        "download. Vectors of different models are never compared, so a switch means making them again."
    ),
)


@models.add_command
@command("models list")
def list_models(call: Call) -> int:
    """The provider in use is marked *, the fallback +."""
    with _models(call) as known:
        states = known.states()

    def draw(screen: Screen) -> None:
        rows = [(_marked(state), one_line(state.model), _number(state.dimensions), _needs(state)) for state in states]
        screen.table(("provider", "model", "dims", ""), rows, right=(2,))

    return call.answer({"models": [state.to_dict() for state in states]}, draw)


@models.add_command
@command("models test")
def try_model(call: Call, provider: str = "", model: str = "", dimensions: int = 0) -> int:
    """Without a provider, it tries the one in use. 'cross-encoder' tries the reranker. A hub model is downloaded."""
    with _models(call) as known:
        tested = known.test(provider, model=model, dimensions=dimensions)
    error = tested.error

    def draw(screen: Screen) -> None:
        if error is not None:
            screen.error(error["message"], error["hint"])
            return
        length = f"{tested.dimensions} dimensions, " if tested.dimensions else ""
        times = f"{tested.first_ms:,.0f} ms at first, {tested.again_ms:,.0f} ms then"
        screen.line(f"{tested.provider} {one_line(tested.model)} works: {length}{times}")

    return call.answer(tested.to_dict(), draw, exit_code=5 if error else 0, error=error)


_SWITCH = (
    click.Option(
        ["--reembed/--no-reembed"], default=None, help="Make all vectors again first; on a terminal you are asked."
    ),
    click.Option(["--project"], is_flag=True, help="Change the project's settings, not your own."),
)


@models.add_command
@command("models use", without=("reembed", "scope"), extra=_SWITCH)
def use_model(call: Call, provider: str, reembed: bool | None = None, project: bool = False, **options: Any) -> int:
    """The model is tried before anything is changed. Keys and addresses of the old provider are removed from the
    settings. With --reembed, searches use the old model until all new vectors are made.
    """
    scope = "project" if project else "user"
    place = locate(call.store, load_config(), current_folder(), call.tier).location
    if not place.is_there:
        switch = _used_without_store(call, provider, scope, **options)
    else:
        with call.engine() as engine, ProgressLine.for_call(call) as progress:
            decide = _ask(call) if reembed is None else reembed
            switch = engine.use_model(provider, reembed=decide, scope=scope, progress=progress, **options)
    report = switch.embedding
    problem, code = None, 0
    if report is not None and (report.stopped or report.failed):
        why = report.stopped or f"{report.failed} passages failed"
        problem = {"code": "unavailable", "message": why, "hint": "Nothing was switched; run the same command again."}
        code = 5

    def draw(screen: Screen) -> None:
        _show_switch(screen, switch)
        if problem:
            screen.error(problem["message"], problem["hint"])

    return call.answer(switch.to_dict(), draw, exit_code=code, error=problem)


@contextmanager
def _models(call: Call) -> Iterator[Models]:
    """The models as the settings have them; a store is not needed."""
    from ricordo.engine.model_choice import Models

    config, here = load_config(), current_folder()
    place = locate(call.store, config, here, call.tier).location.path
    folder = place.parent / "models"
    yield Models(config, type(place)(folder), here)


def _used_without_store(
    call: Call, provider: str, scope: str, *, model: str = "", dimensions: int = 0, dry_run: bool = False
) -> ModelSwitch:
    with _models(call) as known:
        switch, _ = known.plan(provider, model=model, dimensions=dimensions)
        return switch if dry_run else known.write(switch, scope)


def _ask(call: Call) -> Callable[[ModelSwitch], bool]:
    """Ask a person whether to make the vectors now; a script is not asked."""

    def decide(switch: ModelSwitch) -> bool:
        if call.json or not switch.chunks or not (sys.stdin.isatty() and sys.stderr.isatty()):
            return False
        return click.confirm(f"{_cost(switch)}. Make them now?", err=True)

    return decide


def _show_switch(screen: Screen, switch: ModelSwitch) -> None:
    name = f"{switch.provider} {one_line(switch.model)}".strip()
    length = f", {switch.dimensions} dimensions" if switch.dimensions else ""
    state = "uses" if switch.is_written else "would use"
    screen.line(f"{state} {name}{length}")
    if switch.embedding is not None and switch.is_written:
        made = switch.embedding.embedded + switch.embedding.cached
        got = "1 passage got" if made == 1 else f"{made:,} passages got"
        screen.line(f"{got} a vector of it" if made else "every passage has a vector of it already")
    elif switch.chunks:
        screen.line(_cost(switch))
        if switch.is_written:
            screen.note("until then, search goes by words: ricordo embed again")
    for note in switch.notes:
        screen.note(f"note: {one_line(note)}")


def _cost(switch: ModelSwitch) -> str:
    seconds = switch.seconds
    time = f", about {_duration(seconds)}" if seconds is not None else ""
    need = "1 passage needs" if switch.chunks == 1 else f"{switch.chunks:,} passages need"
    return f"{need} a vector of it: about {switch.tokens:,} tokens{time}"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _marked(state: ModelState) -> str:
    mark = {"in use": " *", "fallback": " +"}.get(state.role, "")
    return f"{state.provider}{mark}"


def _needs(state: ModelState) -> str:
    if state.lacks:
        return f"lacks {one_line(state.lacks)}"
    return state.about or ("has its key" if state.has_key else "")


def _number(value: int | None) -> str:
    return str(value) if value else ""
