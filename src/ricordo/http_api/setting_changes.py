"""Settings as the page and the API show them, and the answers to their changes."""

from __future__ import annotations

from typing import Any

from ricordo.config.loading import SETTINGS, Config
from ricordo.engine.setting_changes import change_setting, remove_setting


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


def changed_setting(name: str, value: str | None) -> dict[str, Any]:
    """Write one setting or a part of a profile to the user's file; None removes it."""
    if value is None:
        removed = remove_setting(name)
        return {"name": removed.name, "removed": removed.removed}
    changed = change_setting(name, value)
    return {"name": changed.name, "value": changed.value, "in_force": changed.in_force, "source": changed.source}
