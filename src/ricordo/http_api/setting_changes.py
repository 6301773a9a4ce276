"""Reads and changes settings for the page and the API, as ``ricordo config`` does."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ricordo.config.loading import SETTINGS, Config, find_setting, load_config, set_value, unset_value
from ricordo.config.profiles import profile_entry, set_entry, unset_entry


def settings_in_force(config: Config) -> list[dict[str, Any]]:
    """Every setting with its value, source and description; secrets are masked."""
    return [
        {
            "name": name,
            "value": known.shown(config.get(name)),
            "default": known.shown(known.default),
            "source": config.source(name),
            "variable": known.variable,
            "type": known.type,
            "choices": list(known.choices or ()),
            "secret": known.secret,
            "doc": known.doc,
        }
        for name, known in SETTINGS.items()
    ]


def change_setting(name: str, value: str | None) -> dict[str, Any]:
    """Write one setting or a part of a profile to the user's file; None removes it."""
    if entry := profile_entry(name):
        if value is None:
            return {"name": entry.name, "removed": unset_entry(entry, scope="user")}
        from ricordo import registry

        wanted, settings = entry.read(value), load_config()
        registry.profile(entry.profile, replace(settings, profiles=entry.put(settings.profiles, wanted)))
        set_entry(entry, wanted, scope="user")
        return {"name": entry.name, "value": wanted}
    known = find_setting(name)
    if value is None:
        return {"name": known.name, "removed": unset_value(name)}
    from ricordo.engine.checks import check_setting

    check_setting(load_config(), known.name, value)
    shown = known.shown(set_value(name, value))
    source = load_config().source(known.name)
    return {"name": known.name, "value": shown, "in_force": source.startswith("user:"), "source": source}
