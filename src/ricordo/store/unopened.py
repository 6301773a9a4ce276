"""A store that could not be opened, where others can still answer: every use of it says why."""

from __future__ import annotations

from typing import NoReturn

from ricordo.errors import Error


class UnopenedStore:
    """Stands in a store's place; only closing it, and asking whether it can remember use, do not fail."""

    def __init__(self, error: Error) -> None:
        self._error = error

    def __getattr__(self, name: str) -> NoReturn:
        raise self._error

    @property
    def usage(self) -> UnopenedStore:
        return self

    def can_record(self) -> bool:
        return False

    def close(self) -> None:
        """Nothing is open."""
