"""Which variables of the environment an answer may depend on. It imports nothing, because every hook waits for it."""

from __future__ import annotations

import os

SURROUNDINGS = (
    "HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "TZ",
)  # fmt: skip
"""Variables that an answer may depend on, besides those that begin with RICORDO_."""

KEYS = ("RICORDO_PASSPHRASE", "RICORDO_KEY_FILE")
"""Variables that open stores: they are sent to nobody, and whoever has a store open needs none."""


def is_surrounding(name: str) -> bool:
    """Whether a variable must be the same for whoever asks and whoever answers."""
    return (name.startswith("RICORDO_") and not name.startswith(KEYS)) or name in SURROUNDINGS


def own_surroundings() -> list[str]:
    """The variables of this process that must be the same, with their values."""
    return [f"{name}={value}" for name, value in os.environ.items() if is_surrounding(name)]
