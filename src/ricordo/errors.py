"""Every error Ricordo raises on purpose, as one tree.

::

    Error                  something went wrong; .code, .message, .hint
    ├── UsageError         the call itself is wrong (bad option, weight, ref, date)
    ├── NotFound           no item, version or file by that name
    ├── Conflict           the ref is taken, the item is immutable, or versions disagree
    │   ├── PathConflict   the ref already holds an item and overwriting was not asked for
    │   └── StaleVersion   the item changed since it was read
    ├── Unavailable        a part that may come back: store locked, model or service missing
    │   └── MissingExtra   an optional dependency is not installed
    ├── StoreError         the store itself cannot be used as asked
    │   ├── NoStore        there is none in that place
    │   ├── ReadOnlyStore  the file or its folder cannot be written
    │   ├── CorruptStore   SQLite reports damage, or this is not a Ricordo store
    │   │   └── DamagedHeader  an encrypted store whose beginning, or the note on its key, is damaged
    │   ├── LockedStore    an encrypted store whose key is not at hand
    │   ├── WrongKey       a key or passphrase that is not that of the store
    │   └── NewerSchema    a newer Ricordo wrote this store
    ├── Unreadable         a file or page that cannot be turned into text
    ├── Forbidden          an address that may not be reached, or a page that needs a login
    └── ContractError      a provider or plugin broke its contract (wrong dimension, NaN, bad JSON)

``hint`` says what to do next. Faces print ``message`` and ``hint``; they never show a stack trace for an ``Error``.

A hint names parameters and commands in a form that each face writes in its own words (``hint_for``):
``‹on_conflict=overwrite›`` is ``--on-conflict overwrite`` on the command line and ``on_conflict="overwrite"`` in
Python; ``‹:list state:deleted›`` is the command ``ricordo list state:deleted``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

Face = Literal["cli", "http", "mcp", "python"]
_PARAMETER = re.compile(r"‹([a-z_]+)(?:=([^›]*))?›")
_FLAGS = {"as_ref": "--as", "format": "--from", "tier": "--to"}
"""Flags that are not called like the parameter."""
_COMMAND = re.compile(r"‹:([^›]*)›")


class Error(Exception):
    """Base of the tree. ``code`` is stable and meant for programs; ``exit_code`` is the CLI's."""

    code = "error"
    exit_code = 1

    def __init__(self, message: str, *, hint: str = "", parameter: str = "") -> None:
        from ricordo.masking import masked_in  # only here: commands that fail pay for it, help does not

        self._message = masked_in(message)
        self._hint = masked_in(hint)
        super().__init__(in_words_of("python", self._message))
        self.parameter = parameter
        """The parameter that is wrong, if one is."""

    def __reduce__(self) -> tuple[Any, ...]:
        # A copy from another process is made of what it holds, as some kinds are made from other arguments.
        return _remade, (type(self), self.args, self.__dict__)

    @property
    def message(self) -> str:
        """What is wrong, in the words of Python."""
        return in_words_of("python", self._message)

    @property
    def hint(self) -> str:
        """What to do next, in the words of Python."""
        return in_words_of("python", self._hint)

    def to_dict(self, face: Face = "python") -> dict[str, str]:
        """The error as plain values, in the words of a face."""
        return {"code": self.code, "message": in_words_of(face, self._message), "hint": in_words_of(face, self._hint)}


def _remade(kind: type[Error], arguments: tuple[Any, ...], state: dict[str, Any]) -> Error:
    error = kind.__new__(kind, *arguments)
    error.__dict__.update(state)
    return error


class UsageError(Error):
    code = "usage"
    exit_code = 2


class NotFound(Error):
    code = "not_found"
    exit_code = 3


class Conflict(Error):
    code = "conflict"
    exit_code = 4


class PathConflict(Conflict):
    code = "path_conflict"


class StaleVersion(Conflict):
    code = "stale_version"


class Unavailable(Error):
    code = "unavailable"
    exit_code = 5


class MissingExtra(Unavailable):
    """A feature needs an optional dependency: ``MissingExtra("documents", "PDF files")``."""

    code = "missing_extra"

    def __init__(self, extra: str, needed_for: str) -> None:
        super().__init__(
            f"{needed_for} need the extra '{extra}', which is not installed", hint=f"pip install 'ricordo[{extra}]'"
        )
        self.extra = extra


class StoreError(Error):
    code = "store"
    exit_code = 5


class NoStore(StoreError):
    pass


class ReadOnlyStore(StoreError):
    code = "read_only"


class CorruptStore(StoreError):
    code = "corrupt"


class DamagedHeader(CorruptStore):
    code = "damaged_header"


class LockedStore(StoreError):
    code = "locked"


class WrongKey(StoreError):
    code = "wrong_key"


class NewerSchema(StoreError):
    code = "newer_schema"


class Unreadable(Error):
    """A file or page that could not be turned into text; the reason is the message."""

    code = "unreadable"


class Forbidden(Error):
    code = "forbidden"


class ContractError(Error):
    code = "contract"


def in_words_of(face: Face, text: str) -> str:
    """A text in which the marks for parameters and commands are written as a face writes them.

    >>> in_words_of("cli", "Use ‹on_conflict=overwrite›, or look at ‹:list state:deleted›.")
    "Use --on-conflict overwrite, or look at 'ricordo list state:deleted'."
    >>> in_words_of("mcp", "Use ‹on_conflict=overwrite›.")
    'Use on_conflict "overwrite".'
    """
    if "‹" not in text:
        return text

    def parameter(found: re.Match[str]) -> str:
        name, value = found.group(1), found.group(2)
        if face == "cli":
            flag = _FLAGS.get(name, f"--{name.replace('_', '-')}")
            return flag if value is None else f"{flag} {value}"
        if value is None:
            return name
        return {"http": f"{name}={value}", "mcp": f'{name} "{value}"'}.get(face, f'{name}="{value}"')

    commands = "the user's command 'ricordo {}'" if face == "mcp" else "'ricordo {}'"
    return _COMMAND.sub(lambda found: commands.format(found.group(1)), _PARAMETER.sub(parameter, text))


def half_a_character() -> UsageError:
    """The error for a text that no store can hold, because a character in it was cut in two."""
    return UsageError(
        "a text holds half of a character (a lone surrogate), which is not Unicode",
        hint="Leave it out; text.encode('utf-8', 'replace').decode() puts a question mark in its place.",
    )


def from_dict(plain: Mapping[str, str]) -> Error:
    """The error that ``to_dict`` described, for callers that want to raise it again."""
    known = (UsageError, NotFound, Conflict, PathConflict, StaleVersion, Unavailable, Unreadable, Forbidden)
    kinds = {kind.code: kind for kind in known}
    return kinds.get(plain["code"], Error)(plain["message"], hint=plain.get("hint", ""))
