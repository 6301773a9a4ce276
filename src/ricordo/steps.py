"""Which step is being taken now: all that one call of a verb changes is undone together.

A verb that changes items is marked with ``undoable``. The store asks ``current_step`` at every write, and keeps what
an item was before. What happens on the side, such as taking in edited files, belongs to no step (``no_step``).
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar, cast

from ricordo.frozen import frozen

Function = TypeVar("Function", bound=Callable[..., Any])


@frozen
class CurrentStep:
    """A step that is being taken."""

    id: str
    verb: str


_NOW: ContextVar[CurrentStep | None] = ContextVar("ricordo_step", default=None)


def current_step() -> CurrentStep | None:
    """The step that is being taken, if what is written now can be undone."""
    return _NOW.get()


@contextmanager
def one_step(verb: str) -> Iterator[CurrentStep]:
    """Let everything in the block be one step; inside another step it is a part of that."""
    outer = _NOW.get()
    if outer is not None:
        yield outer
        return
    step = CurrentStep(os.urandom(4).hex(), verb)
    before = _NOW.set(step)
    try:
        yield step
    finally:
        _NOW.reset(before)


@contextmanager
def no_step() -> Iterator[None]:
    """What is written in the block is no part of the step around it."""
    before = _NOW.set(None)
    try:
        yield
    finally:
        _NOW.reset(before)


def undoable(function: Function) -> Function:
    """Make each call of a verb one step; if it calls other verbs, their changes belong to it."""

    @functools.wraps(function)
    def call_as_step(*args: Any, **options: Any) -> Any:
        with one_step(function.__name__.strip("_")):
            return function(*args, **options)

    return cast("Function", call_as_step)
