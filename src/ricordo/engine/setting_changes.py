"""Changes settings for every face: what is refused, what is written and what is then in force is decided here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from ricordo.config.loading import (
    Config,
    ProfileEntry,
    find_setting,
    load_config,
    profile_entry,
    set_value,
    unset_value,
)
from ricordo.config.settings import DROPPED, SETTINGS
from ricordo.errors import Forbidden
from ricordo.frozen import frozen
from ricordo.permissions import refuse_settings
from ricordo.search.profiles import find_profile
from ricordo.trust.gate import is_users


@frozen
class SettingChange:
    """A setting that was written: its value as it is shown (secrets are masked), and whether it counts now."""

    name: str
    value: Any
    scope: str
    source: str
    """Where the value that counts now comes from."""
    in_force: bool


@frozen
class SettingRemoval:
    """A setting that was removed from a file, and what counts now."""

    name: str
    removed: bool
    """Whether it was set there."""
    value: Any
    source: str


def change_setting(
    name: str,
    text: str,
    *,
    scope: str = "user",
    start: Path | None = None,
    config: Callable[[], Config] = load_config,
) -> SettingChange:
    """Check one setting, or a part of a profile, and write it into the file of ``scope``, the user's or the project's.

    ``config`` gives the settings in force. Agents and tokens change what is harmless alone.
    """
    refuse_settings(name)
    _refuse_others(name)
    if entry := profile_entry(name):
        return _change_entry(entry, text, scope, start, config=config)
    known = find_setting(name)
    if known.name == "search.profile":
        find_profile(config(), text)  # a profile that does not exist would break every search
    value = known.shown(set_value(known.name, text, scope=scope, start=start))
    source = config().source(known.name)
    return SettingChange(known.name, value, scope, source, source.startswith(f"{scope}:"))


def _change_entry(
    entry: ProfileEntry, text: str, scope: str, start: Path | None, *, config: Callable[[], Config]
) -> SettingChange:
    """Set a part of a profile, if the profile as a whole can still be used."""
    value, before = entry.read(text), config()
    find_profile(replace(before, profiles=entry.put(before.profiles, value)), entry.profile)
    set_value(entry.name, text, scope=scope, start=start)
    after = config()
    return SettingChange(entry.name, value, scope, _source(entry, after), entry.value(after.profiles) == value)


def remove_setting(
    name: str, *, scope: str = "user", start: Path | None = None, config: Callable[[], Config] = load_config
) -> SettingRemoval:
    """Remove one setting, or a part of a profile, from the file of ``scope``."""
    refuse_settings(name)
    _refuse_others(name)
    if entry := profile_entry(name):
        removed, after = unset_value(entry.name, scope=scope, start=start), config()
        return SettingRemoval(entry.name, removed, entry.value(after.profiles), _source(entry, after))
    if name in DROPPED:
        return SettingRemoval(name, unset_value(name, scope=scope, start=start), None, "default")
    known = find_setting(name)
    removed, after = unset_value(known.name, scope=scope, start=start), config()
    return SettingRemoval(known.name, removed, known.shown(after.get(known.name)), after.source(known.name))


def _refuse_others(name: str) -> None:
    """Refuse everybody but the user what is not harmless."""
    known = None if profile_entry(name) or name in DROPPED else find_setting(name)
    if not is_users() and not (known is not None and known.harmless):
        listed = ", ".join(setting.name for setting in SETTINGS.values() if setting.harmless)
        raise Forbidden(
            f"agents and tokens may not change {name}, only {listed}",
            hint=f"Ask the user to do it, at a terminal: ‹:config set {name} …›",
        )


def _source(entry: ProfileEntry, config: Config) -> str:
    return config.sources.get(f"profiles.{entry.profile}", "default")
