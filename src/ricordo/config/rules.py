"""How one setting is declared, what values it takes, and how text is read as a value of its type.

``settings`` lists all settings.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from ricordo.errors import UsageError
from ricordo.frozen import frozen
from ricordo.masking import MASK, is_masked, masked

_LARGEST = 2**31 - 1  # the largest count that every library we use accepts
_TRUE = ("true", "yes", "on", "1")
_FALSE = ("false", "no", "off", "0")
_TYPE_WORDS = {
    "bool": "true or false",
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "tuple[str, ...]": "a list of texts",
}


def setting(
    default: Any,
    doc: str,
    *,
    sensitive: bool = False,
    secret: bool = False,
    own: bool = False,
    is_path: bool = False,
    choices: tuple[str, ...] = (),
    aliases: Mapping[str, str] | None = None,
    minimum: float | None = None,
    maximum: float | None = None,
) -> Any:
    """A dataclass field that carries what users and checks need to know about it.

    ``sensitive`` settings are not taken from a project file that is not trusted, and agents do not change them: they
    choose models, hosts and folders, or what is kept and told. ``secret`` ones are also never shown. ``own`` settings
    are never taken from a project file, trusted or not.
    """
    notes = {
        "doc": doc,
        "sensitive": sensitive or secret or own,
        "secret": secret,
        "own": own,
        "is_path": is_path,
        "choices": choices,
        "aliases": dict(aliases or {}),
        "minimum": minimum,
        "maximum": maximum,
    }
    return field(default=default, metadata=notes, repr=not secret)


BASIC = frozenset(
    {
        "store.location", "lexical.language", "search.limit", "search.backend", "search.profile", "embedding.provider",
        "embedding.model", "embedding.api_keys", "knowledge.enabled", "knowledge.folder",
        "knowledge.of_programs", "tiers.agent",
        "tiers.project", "tiers.team", "usage.log", "rerank.kind", "llm.provider", "llm.model", "llm.api_keys",
        "hooks.enabled", "tools.allow", "serve.host", "serve.port",
    }
)  # fmt: skip
"""The settings that most people should know; all others are for those who look for them."""


@frozen
class Setting:
    """One setting: its name, type and bounds, and how a value for it is checked and read from text."""

    section: str
    key: str
    type: str
    default: Any
    doc: str
    sensitive: bool
    secret: bool
    own: bool
    is_path: bool
    choices: tuple[str, ...]
    aliases: Mapping[str, str]
    minimum: float | None
    maximum: float | None

    @property
    def name(self) -> str:
        return f"{self.section}.{self.key}"

    @property
    def level(self) -> str:
        """``basic`` or ``advanced``."""
        return "basic" if self.name in BASIC else "advanced"

    @property
    def variable(self) -> str:
        return f"RICORDO_{self.section}_{self.key}".upper()

    @property
    def base_type(self) -> str:
        """The type without ``| None``: unset is the absence of a value, never a value one can write."""
        return self.type.removesuffix(" | None")

    def shown(self, value: Any) -> Any:
        """The value as it may be printed: secrets and passwords in addresses masked, lists as lists."""
        if self.secret:
            return [MASK for _ in value] if isinstance(value, tuple) else MASK if value else value
        if isinstance(value, str):
            return masked(value)
        return [masked(part) for part in value] if isinstance(value, tuple) else value

    def read(self, text: str) -> Any:
        """The value that a piece of text (a variable, a flag, ``config set``) stands for."""
        text = text.strip()
        kind = self.base_type
        if kind == "bool" and text.lower() in _TRUE + _FALSE:
            return text.lower() in _TRUE
        if kind == "tuple[str, ...]":
            return self.check([part.strip() for part in text.split(",") if part.strip()])
        if kind in ("int", "float"):
            try:
                return self.check(int(text) if kind == "int" else float(text))
            except ValueError:
                raise self._refuse(text, f"Give {_TYPE_WORDS[kind]}.") from None
        return self.check(text)

    def check(self, value: Any) -> Any:
        """The value in the form the section holds, or a usage error that says what is allowed."""
        kind = self.base_type
        if isinstance(value, int) and abs(value) > _LARGEST:
            raise self._refuse(value, f"Allowed: at most {_LARGEST}.")
        if kind == "float" and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if kind == "tuple[str, ...]" and isinstance(value, (list, tuple)):
            value = tuple(value)
        expected = {"bool": bool, "int": int, "float": float, "str": str}.get(kind, tuple)
        wrong = not isinstance(value, expected) or (expected is int and isinstance(value, bool))
        if wrong or (isinstance(value, tuple) and not all(isinstance(part, str) for part in value)):
            raise self._refuse(value, f"Give {_TYPE_WORDS[kind]}.")
        for part in value if isinstance(value, tuple) else (value,):
            self._check_characters(part)
            if isinstance(value, tuple) and self.choices and part not in self.choices:
                raise self._refuse(part, f"Each is one of: {', '.join(self.choices)}.")
        if isinstance(value, str):
            return self._checked_text(value)
        if isinstance(value, (int, float)) and expected is not bool:
            self._check_bounds(value)
        return value

    def _check_characters(self, value: Any) -> None:
        """Refuse a text that no file can hold, and one that was masked when it was shown."""
        if not isinstance(value, str):
            return
        if "\x00" in value:
            raise self._refuse(value, "Remove the NUL character.")
        if any("\ud800" <= sign <= "\udfff" for sign in value):
            raise self._refuse(value, "Write it in UTF-8.")
        if is_masked(value):
            raise self._refuse(value, f"{MASK} stands for what is not shown: write the whole value.")

    def _checked_text(self, value: str) -> str:
        if self.type.endswith("| None") and not value.strip():
            raise self._refuse(value, f"To go back to the default, use ‹:config unset {self.name}›.")
        value = self.aliases.get(value, value)
        if self.choices and value not in self.choices:
            near = nearest(value, (*self.choices, *self.aliases))
            offer = f"Did you mean {near[0]}? " if near else ""
            raise self._refuse(value, f"{offer}One of: {', '.join(self.choices)}.")
        return value

    def _check_bounds(self, value: float) -> None:
        low, high = self.minimum, self.maximum
        too_low = low is not None and value < low
        too_high = high is not None and value > high
        if too_low or too_high or not math.isfinite(value):
            allowed = "any finite number"
            if low is not None:
                allowed = f"from {low:g} to {high:g}" if high is not None else f"{low:g} or more"
            raise self._refuse(value, f"Allowed: {allowed}.")

    def _refuse(self, value: Any, hint: str) -> UsageError:
        shown = "this value" if self.secret else repr(masked(value) if isinstance(value, str) else value)
        return UsageError(f"{self.name} cannot be {shown}", hint=hint)


def nearest(name: str, known: tuple[str, ...]) -> list[str]:
    """Up to three known names that are spelled much like this one."""
    from difflib import get_close_matches  # only when something is misspelled

    return get_close_matches(name, known, n=3, cutoff=0.6)
