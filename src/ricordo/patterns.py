"""Regular expressions that are compiled when they are first used, so that a process that needs none waits for none."""

from __future__ import annotations

import re
from typing import Any, cast

_METHODS = ("search", "match", "fullmatch", "finditer", "findall", "sub", "subn", "split")


def late(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Like ``re.compile``, which takes milliseconds for a long pattern; this one takes them at its first use.

    >>> digits = late(r"[0-9]+")
    >>> digits.findall("7 of 20"), digits.pattern
    (['7', '20'], '[0-9]+')
    """
    return cast("re.Pattern[str]", _Late(pattern, flags))


class _Late:
    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern, self._flags = pattern, flags

    def __getattr__(self, name: str) -> Any:
        """Only called for what is not there yet: the first use puts all methods of the compiled pattern there."""
        compiled = re.compile(self.pattern, self._flags)
        self.__dict__.update({method: getattr(compiled, method) for method in _METHODS})
        return getattr(compiled, name)
