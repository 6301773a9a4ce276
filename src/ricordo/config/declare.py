"""How a setting is declared: its type, default, bounds and one-line description, and how text is read as its value."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from ricordo.errors import UsageError
from ricordo.frozen import frozen
from ricordo.masking import MASK, is_masked, masked

HEAVIEST = 1000  # weights count relative to each other; much larger ones would overflow in a sum
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


def setting(default: Any, doc: str, **notes: Any) -> Any:
    """A dataclass field that carries what users and checks need to know about it: the fields of ``Setting``."""
    return field(default=default, metadata={"doc": doc, **notes}, repr=not notes.get("secret"))


@frozen
class Setting:
    """One setting: its name, type and bounds, and how a value for it is checked and read from text."""

    section: str
    key: str
    type: str
    default: Any
    doc: str
    basic: bool = False
    """Most people should know it; all others are for those who look for them."""
    harmless: bool = False
    """Agents, tokens and project files that are not trusted may set it: it changes nothing of what is contacted, run,
    kept or told.
    """
    secret: bool = False
    """It is also never shown."""
    own: bool = False
    """It is never taken from a project file, trusted or not."""
    is_path: bool = False
    choices: tuple[str, ...] = ()
    aliases: Mapping[str, str] = field(default_factory=dict)
    minimum: float | None = None
    maximum: float | None = None

    @property
    def name(self) -> str:
        return f"{self.section}.{self.key}"

    @property
    def keys(self) -> tuple[str, ...]:
        return self.section, self.key

    @property
    def level(self) -> str:
        return "basic" if self.basic else "advanced"

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
        if kind == "tuple[str, ...]" and isinstance(value, list):
            value = tuple(value)
        expected = {"bool": bool, "int": int, "float": float, "str": str}.get(kind, tuple)
        wrong = not isinstance(value, expected) or (expected is int and isinstance(value, bool))
        if wrong or (isinstance(value, tuple) and not all(isinstance(part, str) for part in value)):
            raise self._refuse(value, f"Give {_TYPE_WORDS[kind]}.")
        if isinstance(value, tuple):
            return tuple(self._checked_text(part, "Each is one of") for part in value)
        if isinstance(value, str):
            if self.type.endswith("| None") and not value.strip():
                raise self._refuse(value, f"To go back to the default, use ‹:config unset {self.name}›.")
            return self._checked_text(value, "One of")
        if expected is not bool:
            self._check_bounds(value)
        return value

    def _checked_text(self, value: str, allowed: str) -> str:
        """A text that a file can hold, and that was not masked when it was shown; by its own name, if it has others."""
        if "\x00" in value:
            raise self._refuse(value, "Remove the NUL character.")
        if any("\ud800" <= sign <= "\udfff" for sign in value):
            raise self._refuse(value, "Write it in UTF-8.")
        if is_masked(value):
            raise self._refuse(value, f"{MASK} stands for what is not shown: write the whole value.")
        value = self.aliases.get(value, value)
        if self.choices and value not in self.choices:
            near = nearest(value, (*self.choices, *self.aliases))
            offer = f"Did you mean {near[0]}? " if near else ""
            raise self._refuse(value, f"{offer}{allowed}: {', '.join(self.choices)}.")
        return value

    def _check_bounds(self, value: float) -> None:
        low, high = self.minimum, self.maximum
        if math.isfinite(value) and (low is None or value >= low) and (high is None or value <= high):
            return
        allowed = "any finite number"
        if low is not None:
            allowed = f"from {low:g} to {high:g}" if high is not None else f"{low:g} or more"
        raise self._refuse(value, f"Allowed: {allowed}.")

    def _refuse(self, value: Any, hint: str) -> UsageError:
        text = "this value" if self.secret else repr(masked(value) if isinstance(value, str) else value)
        return UsageError(f"{self.name} cannot be {text}", hint=hint)


def nearest(name: str, names: tuple[str, ...], *, cutoff: float = 0.6) -> list[str]:
    """Up to three known names that are spelled much like this one."""
    from difflib import get_close_matches  # only when something is misspelled

    return get_close_matches(name, names, n=3, cutoff=cutoff)


def weight(default: float | None, doc: str) -> Any:
    """A setting that weighs something."""
    return setting(default, doc, minimum=0, maximum=HEAVIEST)
