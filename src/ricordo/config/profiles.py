"""The user's own profiles as settings: ``profiles.mine.base``, ``profiles.mine.weights.recency`` and so on.

It reads and writes entries of the settings files. ``search`` checks whether a profile makes sense as a whole.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ricordo.config.files import Environment, current_folder, remove_entry, write_entry
from ricordo.config.loading import edited, file_of
from ricordo.errors import UsageError
from ricordo.frozen import frozen

PREFIX = "profiles."
KEYS = ("base", "description", "min_score", "guard", "sides")
TABLES = ("weights", "per_side")
_TEXTS = ("base", "description")


@frozen
class ProfileEntry:
    """One entry of a profile's table, by its keys; without keys, the whole table."""

    profile: str
    keys: tuple[str, ...]

    @property
    def name(self) -> str:
        return ".".join(("profiles", self.profile, *self.keys))

    def read(self, text: str) -> Any:
        """The value that a text stands for."""
        if not self.keys:
            raise UsageError(f"{self.name} is a whole profile", hint=f"Set its parts: {self.name}.base brain")
        text = text.strip()
        if self.keys[0] in _TEXTS:
            return text
        if self.keys[0] == "sides":
            return [part.strip() for part in text.split(",") if part.strip()]
        try:
            return float(text) if self.keys[0] in ("weights", "min_score") else int(text)
        except ValueError:
            raise UsageError(f"{self.name} cannot be '{text}'", hint="Give a number.") from None

    def value(self, profiles: Mapping[str, Mapping[str, Any]]) -> Any:
        """The value of the entry; None if it is not set."""
        found: Any = profiles.get(self.profile)
        for key in self.keys:
            found = found.get(key) if isinstance(found, Mapping) else None
        return found

    def put(self, profiles: Mapping[str, Mapping[str, Any]], value: Any) -> dict[str, Any]:
        """The profiles with this entry changed."""
        changed = copy.deepcopy(dict(profiles))
        table: Any = changed.setdefault(self.profile, {})
        for key in self.keys[:-1]:
            table = table.setdefault(key, {})
            if not isinstance(table, dict):
                where = f"profiles.{self.profile}.{key}"
                raise UsageError(f"{where} is not a table", hint=f"Write it as [{where}] in the settings file.")
        table[self.keys[-1]] = value
        return changed


def profile_entry(name: str) -> ProfileEntry | None:
    """The entry that a setting's name means; None if it does not name a profile."""
    if not name.startswith(PREFIX):
        return None
    profile, *keys = name.removeprefix(PREFIX).split(".", 2)
    known = not keys or (len(keys) == 1 and keys[0] in (*KEYS, *TABLES)) or (len(keys) == 2 and keys[0] in TABLES)
    if not profile or not known:
        parts = ", ".join((*KEYS, "weights.NAME", "per_side.factor", "per_side.minimum"))
        raise UsageError(
            f"a profile has no setting '{name}'",
            hint=f"After profiles.NAME. comes one of: {parts}. The file can hold more.",
        )
    return ProfileEntry(profile, tuple(keys))


def set_entry(
    entry: ProfileEntry, value: Any, *, scope: str = "user", env: Environment | None = None, start: Path | None = None
) -> None:
    """Write one entry into the user's or the project's file."""
    env = os.environ if env is None else env
    path = file_of(scope, env, current_folder() if start is None else start)
    with edited(path, scope, env):
        write_entry(path, ("profiles", entry.profile, *entry.keys[:-1]), entry.keys[-1], value)


def unset_entry(
    entry: ProfileEntry, *, scope: str = "user", env: Environment | None = None, start: Path | None = None
) -> bool:
    """Remove one entry, or the whole profile, from the file; returns whether it was there."""
    env = os.environ if env is None else env
    path = file_of(scope, env, current_folder() if start is None else start)
    names = ("profiles", entry.profile, *entry.keys)
    with edited(path, scope, env):
        return remove_entry(path, names[:-1], names[-1])
