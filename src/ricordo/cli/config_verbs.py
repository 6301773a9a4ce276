"""The verb config and its parts: get, set, list, unset, trust, path."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from ricordo.cli.call import Call
from ricordo.cli.terminal import Screen, one_line
from ricordo.cli.verb import verb
from ricordo.cli.verb_group import verb_group
from ricordo.config.files import current_folder, project_file, user_file
from ricordo.config.loading import (
    SETTINGS,
    Config,
    ProfileEntry,
    find_setting,
    is_trusted,
    load_config,
    locate_store,
    profile_entry,
    trust,
)
from ricordo.config.settings import DROPPED
from ricordo.errors import NotFound

config = verb_group(
    "config",
    examples=[
        "ricordo config list",
        "ricordo config set search.limit 20",
        "ricordo config get embedding.provider",
        "ricordo config set profiles.mine.base brain",
    ],
    details=(
        "A flag wins over a RICORDO_* variable, that over the project's file, that over yours. A change "
        "takes effect at the next query of every running process."
    ),
)

_SCOPE = click.option("--project", is_flag=True, help="Use the project's settings file, not your own.")


def _scope(project: bool) -> str:
    return "project" if project else "user"


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


@config.add_command
@verb("get", line="Print one setting.", examples=["ricordo config get search.limit"])
@click.argument("name")
def get(call: Call, name: str) -> int:
    """With --verbose, also where the value comes from."""
    settings = load_config()
    if entry := profile_entry(name):
        return _got_entry(call, entry, settings)
    known = find_setting(name)
    value, source = known.shown(settings.get(known.name)), settings.source(known.name)

    def draw(screen: Screen) -> None:
        screen.line(_text(value))
        if screen.verbose:
            screen.note(f"from {source}")

    return call.answer({"name": known.name, "value": value, "source": source}, draw)


@config.add_command
@verb(
    "set",
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


def _got_entry(call: Call, entry: ProfileEntry, settings: Config) -> int:
    value = entry.value(settings.profiles)
    source = settings.sources.get(f"profiles.{entry.profile}", "default")
    plain = {"name": entry.name, "value": value, "source": source}
    return call.answer(plain, lambda screen: screen.line(_text(value)))


@config.add_command
@verb("unset", line="Go back to the default of a setting.", examples=["ricordo config unset search.limit"])
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


@config.add_command
@verb(
    "list",
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
    rows = [_row(settings, name) for name in shown]

    def draw(screen: Screen) -> None:
        last = "doc" if screen.verbose else "source"
        screen.table(
            ("setting", "value", "for" if screen.verbose else "from"),
            [(row["name"], _text(row["value"]), str(row[last])) for row in rows],
        )
        if not rows:
            screen.note("every setting is at its default")
        elif not (changed or everything):
            screen.note(f"{len(SETTINGS) - len(rows)} more are at their defaults; --all shows them")
        if settings.untrusted:
            screen.warn(f"not trusted, so not used: {', '.join(settings.untrusted)} (ricordo config trust)")
        for name in settings.dropped:
            screen.warn(f"{name} is ignored: {DROPPED[name]} (ricordo config unset {name})")

    return call.answer({"settings": rows, "untrusted": list(settings.untrusted)}, draw)


def _row(settings: Config, name: str) -> dict[str, Any]:
    known = SETTINGS[name]
    return {
        "name": name,
        "value": known.shown(settings.get(name)),
        "source": settings.source(name),
        "variable": known.variable,
        "doc": known.doc,
        "level": known.level,
    }


@config.add_command
@verb(
    "trust",
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


@config.add_command
@verb("path", line="Print where settings and the store are.", examples=["ricordo config path"])
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
