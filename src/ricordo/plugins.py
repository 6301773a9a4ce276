"""Calls into plugins: packages of others that provide embedders, rerankers or sources.

A plugin may raise anything. It becomes one of our errors, which names the plugin, and its trace is logged.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ricordo.errors import ContractError, Error
from ricordo.log import report

T = TypeVar("T")


def call_plugin(call: Callable[[], T], problem: str, *, hint: str, kind: type[Error] = ContractError) -> T:
    """The result of a call into a plugin; ``problem`` says what it means if that fails: ``the plugin 'x' failed``."""
    try:
        return call()
    except Error:
        raise
    except Exception as error:  # a plugin may raise anything, and it must not end the whole command
        report(problem, error)
        raise kind(f"{problem}: {type(error).__name__}: {error}", hint=hint) from error
