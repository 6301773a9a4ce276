"""Commands about settings: config, profiles, models. They need no store."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ricordo.cli.call import Call
from ricordo.cli.command import verb
from ricordo.cli.generated import command
from ricordo.cli.terminal import ProgressLine, Screen, one_line, person_answers, span_of_time
from ricordo.config.files import current_folder, project_file, user_file
from ricordo.config.loading import (
    SETTINGS,
    find_setting,
    is_trusted,
    load_config,
    locate_store,
    profile_entry,
    trust,
)
from ricordo.config.places import locate
from ricordo.config.settings import DROPPED
from ricordo.errors import NotFound

if TYPE_CHECKING:
    from ricordo import Profile
    from ricordo.engine.models import Models
    from ricordo.values.reports import ModelState, ModelSwitch

_SCOPE = click.option("--project", is_flag=True, help="Use the project's settings file, not your own.")


def _scope(project: bool) -> str:
    return "project" if project else "user"


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


@verb("config get", line="Print one setting.", examples=["ricordo config get search.limit"])
@click.argument("name")
def get(call: Call, name: str) -> int:
    """With --verbose, also where the value comes from."""
    settings = load_config()
    if entry := profile_entry(name):
        name, value = entry.name, entry.value(settings.profiles)
        source = settings.sources.get(f"profiles.{entry.profile}", "default")
    else:
        known = find_setting(name)
        name, value, source = known.name, known.shown(settings.get(known.name)), settings.source(known.name)

    def draw(screen: Screen) -> None:
        screen.line(_text(value))
        if screen.verbose:
            screen.note(f"from {source}")

    return call.answer({"name": name, "value": value, "source": source}, draw)


@verb(
    "config set",
    line="Change one setting.",
    examples=[
        "ricordo config set search.limit 20",
        "ricordo config set search.backend lexical --project",
        "ricordo config set profiles.mine.weights.recency 0.5",
    ],
)
@click.argument("name")
@click.argument("value")
@_SCOPE
def set_setting(call: Call, name: str, value: str, project: bool) -> int:
    """The value is checked before it is written. Write a list with commas. Put -- before a value that starts with a
    dash.
    """
    from ricordo.engine.setting_changes import change_setting

    changed = change_setting(name, value, scope=_scope(project))
    note = _language_note(call, changed.value) if changed.name == "lexical.language" else ""

    def draw(screen: Screen) -> None:
        screen.line(f"{changed.name} = {_text(changed.value)}")
        if not changed.in_force:
            screen.warn(f"it was written, but {changed.source} overrides it")
        if note:
            screen.note(note)

    plain = {"name": changed.name, "value": changed.value, "in_force": changed.in_force}
    return call.answer(plain | ({"note": note} if note else {}), draw)


def _language_note(call: Call, language: str) -> str:
    """What a new language means for a store that exists already: its words keep the language it was made with."""
    if not locate_store(call.store, load_config(), current_folder()).path.exists():
        return ""
    with call.engine() as engine:
        before = engine.store.language
    if before == language:
        return ""
    return (
        f"new stores are indexed as {language}. The words of this store stay indexed as {before} until"
        " 'ricordo doctor --repair' indexes them again; its texts and vectors stay as they are."
    )


@verb("config unset", line="Go back to the default of a setting.", examples=["ricordo config unset search.limit"])
@click.argument("name")
@_SCOPE
def unset(call: Call, name: str, project: bool) -> int:
    """If the setting was not set there, nothing changes."""
    from ricordo.engine.setting_changes import remove_setting

    now = remove_setting(name, scope=_scope(project))
    if profile_entry(name):
        text = "removed" if now.removed else "it was not set there"
        return call.answer(
            {"name": now.name, "removed": now.removed}, lambda screen: screen.line(f"{now.name}: {text}")
        )

    def draw(screen: Screen) -> None:
        screen.line(f"{now.name} = {_text(now.value)}")
        screen.note(f"from {now.source}" if now.removed else f"it was not set there; the value is from {now.source}")

    plain = {"name": now.name, "removed": now.removed, "value": now.value, "source": now.source}
    return call.answer(plain, draw)


@verb(
    "config list",
    line="Print the settings that most people need, and those that were changed.",
    examples=["ricordo config list", "ricordo config list --all", "ricordo config list search --changed"],
)
@click.argument("section", required=False)
@click.option("--changed", is_flag=True, help="Only settings that differ from their default.")
@click.option("--all", "everything", is_flag=True, help="Print the advanced ones, too.")
def list_settings(call: Call, section: str | None, changed: bool, everything: bool) -> int:
    """With --json, and of a section, all are printed. Secrets are masked. --verbose says what each setting is for."""
    settings = load_config()
    names = [name for name in SETTINGS if section is None or name.startswith(f"{section}.")]
    if not names:
        find_setting(section or "")
    everything = everything or section is not None
    by_level = [name for name in names if everything or call.json or SETTINGS[name].level == "basic"]
    shown = [name for name in names if settings.source(name) != "default" or (name in by_level and not changed)]
    rows = [
        {
            "name": name,
            "value": SETTINGS[name].shown(settings.get(name)),
            "source": settings.source(name),
            "variable": SETTINGS[name].variable,
            "doc": SETTINGS[name].doc,
            "level": SETTINGS[name].level,
        }
        for name in shown
    ]

    def draw(screen: Screen) -> None:
        last = "doc" if screen.verbose else "source"
        screen.table(
            ("setting", "value", "for" if screen.verbose else "from"),
            [(row["name"], _text(row["value"]), row[last]) for row in rows],
            empty="every setting is at its default",
        )
        if rows and not (changed or everything):
            screen.note(f"{len(SETTINGS) - len(rows)} more are at their defaults; --all shows them")
        if settings.untrusted:
            screen.warn(f"not trusted, so not used: {', '.join(settings.untrusted)} (ricordo config trust)")
        for name in settings.dropped:
            screen.warn(f"{name} is ignored: {DROPPED[name]} (ricordo config unset {name})")

    return call.answer({"settings": rows, "untrusted": list(settings.untrusted)}, draw)


@verb(
    "config trust",
    line="Let the project's settings run commands and reach hosts.",
    examples=["ricordo config trust", "ricordo config trust .ricordo/config.toml"],
)
@click.argument("file", required=False, type=click.Path(path_type=Path))
def trust_project(call: Call, file: Path | None) -> int:
    """Read the file first. When it changes, it must be trusted again."""
    path = file or project_file(current_folder())
    if path is None:
        raise NotFound("this folder belongs to no project with a config.toml", hint="Name the file to trust.")
    trust(path)
    return call.answer({"trusted": str(path)}, lambda screen: screen.line(f"trusted {one_line(str(path))}"))


@verb("config path", line="Print where settings and the store are.", examples=["ricordo config path"])
def path(call: Call) -> int:
    """The project's settings file is listed if there is one."""
    here = current_folder()
    theirs = project_file(here)
    store = locate_store(call.store, load_config(), here)
    plain = {
        "user": str(user_file(os.environ)),
        "project": str(theirs) if theirs else None,
        "project_is_trusted": is_trusted(theirs) if theirs else None,
        "store": store.name,
        "store_from": store.origin,
    }

    def draw(screen: Screen) -> None:
        screen.line(f"user     {plain['user']}")
        if theirs:
            screen.line(f"project  {theirs}{'' if plain['project_is_trusted'] else '  (not trusted)'}")
        screen.line(f"store    {store.name}  ({store.origin})")

    return call.answer(plain, draw)


@command("profiles list")
def list_profiles(call: Call) -> int:
    """The profile marked * is the default. With --verbose, it shows their weights."""
    from ricordo import registry

    settings = load_config()
    known, used = registry.profiles(settings), call.profile or settings.search.profile

    def about(profile: Profile, *, verbose: bool) -> str:
        weights = profile.weights(vectors=True).items() if verbose else ()
        return " ".join(f"{label}={weight:.2g}" for label, weight in weights if weight) or profile.description

    def draw(screen: Screen) -> None:
        rows = [
            (f"{name}{' *' if name == used else ''}", one.source, about(one, verbose=screen.verbose))
            for name, one in known.items()
        ]
        screen.table(("profile", "from", "weights" if screen.verbose else "what it does"), rows)

    return call.answer({"profiles": [one.to_dict() for one in known.values()], "default": used}, draw)


@verb(
    "profiles show",
    line="Show one profile: its signals, weights and limits.",
    examples=["ricordo profiles show vault", "ricordo profiles show vault --json"],
)
@click.argument("name")
def show_one_profile(call: Call, name: str) -> int:
    """Weights are shown so that they add up to 1. To see what feedback changed: ricordo learn status"""
    from ricordo import registry

    found = registry.profile(name, load_config())
    return call.answer(found.to_dict(), lambda screen: _show_profile(screen, found))


def _show_profile(screen: Screen, profile: Profile) -> None:
    """What it is, then a line per signal, then what else it does."""
    screen.line(f"{screen.bold(one_line(profile.name))}  {screen.dim(one_line(profile.source))}")
    if profile.description:
        screen.line(one_line(profile.description))
    screen.line()
    weights, without = profile.weights(vectors=True), profile.weights(vectors=False)
    differ = weights != without
    head = ("weight", *(("without vectors",) if differ else ()), "name", "signal", "what it is")
    rows = [
        (f"{weights[label]:.4f}", *((f"{without[label]:.4f}",) if differ else ()), label, term.signal, term.meaning)
        for label, term in profile.signals.items()
    ]
    screen.table(head, rows, right=(0, 1) if differ else (0,))
    screen.line()
    for line in _rest(profile):
        screen.line(line)


def _rest(profile: Profile) -> list[str]:
    lines = [f"candidates: {profile.per_side} by {' and as many by '.join(profile.sides)}, whatever page is asked for"]
    if profile.fusion == "spread":
        lines.append(
            "words and meaning share their weight: more goes to the side that separates the hits of a query better"
        )
    if profile.min_score:
        lines.append(f"leaves out what scores below {profile.min_score:g}")
    if profile.guard:
        lines.append(f"with fewer than {profile.guard} results by words, a limit does not cut away more than half")
    if profile.memory_score is not None:
        lines.append(
            f"with --memories, memories and sessions are searched separately and score {profile.memory_score:g}"
        )
    if profile.learns:
        lines.append(f"feedback moves the weight of {profile.learns}")
    if profile.counts_as_opening:
        lines.append("what it finds counts as opened")
    return lines


@command("models list")
def list_models(call: Call) -> int:
    """The provider in use is marked *, the fallback +."""
    states = _models(call).states()

    def needs(state: ModelState) -> str:
        return f"lacks {state.lacks}" if state.lacks else state.about or ("has its key" if state.has_key else "")

    def draw(screen: Screen) -> None:
        marks = {"in use": " *", "fallback": " +"}
        rows = [
            (f"{one.provider}{marks.get(one.role, '')}", one.model, str(one.dimensions or ""), needs(one))
            for one in states
        ]
        screen.table(("provider", "model", "dims", ""), rows, right=(2,))

    return call.answer({"models": [state.to_dict() for state in states]}, draw)


_SWITCH = (
    click.Option(
        ["--reembed/--no-reembed"], default=None, help="Make all vectors again first; on a terminal you are asked."
    ),
    click.Option(["--project"], is_flag=True, help="Change the project's settings, not your own."),
)


@command("models use", without=("reembed", "scope"), extra=_SWITCH)
def use_model(call: Call, provider: str, reembed: bool | None = None, project: bool = False, **options: Any) -> int:
    """The model is tried before anything is changed. Keys and addresses of the old provider are removed from the
    settings. With --reembed, searches use the old model until all new vectors are made.
    """
    scope = _scope(project)
    place = locate(call.store, load_config(), current_folder(), call.tier).location
    if not place.is_there:
        dry_run, known = options.pop("dry_run", False), _models(call)
        switch, _ = known.plan(provider, **{"model": "", "dimensions": 0, **options})
        switch = switch if dry_run else known.write(switch, scope)
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


def _models(call: Call) -> Models:
    """The models as the settings have them; a store is not needed."""
    from ricordo.engine.models import Models

    config, here = load_config(), current_folder()
    place = locate(call.store, config, here, call.tier).location.path
    folder = place.parent / "models"
    return Models(config, type(place)(folder), here)


def _ask(call: Call) -> Callable[[ModelSwitch], bool]:
    """Ask a person whether to make the vectors now; a script is not asked."""

    def decide(switch: ModelSwitch) -> bool:
        if call.json or not switch.chunks or not person_answers():
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
            screen.note("until then, search goes by words: ricordo embed")
    for note in switch.notes:
        screen.note(f"note: {one_line(note)}")


def _cost(switch: ModelSwitch) -> str:
    time = f", about {span_of_time(max(switch.seconds, 1))}" if switch.seconds is not None else ""
    need = "1 passage needs" if switch.chunks == 1 else f"{switch.chunks:,} passages need"
    return f"{need} a vector of it: about {switch.tokens:,} tokens{time}"
