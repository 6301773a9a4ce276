"""Commands about settings: config, and one profile. They need no store."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ricordo.cli.call import Call
from ricordo.cli.command import verb
from ricordo.cli.terminal import Screen, one_line
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
from ricordo.config.settings import DROPPED
from ricordo.errors import NotFound

if TYPE_CHECKING:
    from ricordo import Profile

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
        for problem in settings.problems:
            screen.warn(f"left out: {problem}")
        if settings.untrusted:
            screen.warn(f"not trusted, so not used: {', '.join(settings.untrusted)} (ricordo config trust)")
        for name in settings.dropped:
            why = f"{DROPPED[name]} (ricordo config unset {name})" if name in DROPPED else "no plugin has this section"
            screen.warn(f"{name} is ignored: {why}")

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
