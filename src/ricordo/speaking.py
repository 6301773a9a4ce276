"""Who speaks now: each face says it once per process or request, and the store writes it into every version.

A server answers many callers in one process, so a request's speaker is a context variable, which the threads of the
request share. Threads that belong to no request speak as the process does.
"""

from __future__ import annotations

import getpass
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import cache

from ricordo.errors import NotFound
from ricordo.values.provenance import AGENT, IMPORT, LOADER, PERSON, Provenance, stored

_OF_REQUEST: ContextVar[Provenance | None] = ContextVar("ricordo_speaker", default=None)
_of_process = Provenance(PERSON, via="python")


@cache
def user_name() -> str:
    """The login name of the person whose process this is; empty where the system knows none."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return ""


def speaker() -> Provenance:
    """Who speaks now. A process that says nothing is a program of the person who runs it."""
    from ricordo.config.machine import this_machine

    found = _OF_REQUEST.get() or _of_process
    name = found.name or (user_name() if found.author == PERSON else "")
    return replace(found, name=name, machine=found.machine or str(this_machine()))


def author_now(origin: str = "") -> Provenance:
    """Who writes a version now; ``origin`` is where a loader read its text."""
    found = speaker()
    if not origin:
        return found
    return replace(found, author=IMPORT if found.author == IMPORT else LOADER, origin=origin)


@contextmanager
def as_agent(name: str = "") -> Iterator[None]:
    """Say that an agent speaks, through the adapter of its framework or a program that says so."""
    found = speaker()
    lowered = found if found.author == AGENT else replace(found, author=AGENT, name=name, via="adapter")
    with speaking(lowered):
        yield


def on_branch(said: Provenance) -> Provenance:
    """The record with the branch that is checked out where the caller is, unless it is the one that all share.

    Nothing is known of where the callers of a server are, nor on which branch a text was written that is imported or
    was found in a file.
    """
    from ricordo.config.files import current_folder
    from ricordo.config.repository import repository_around

    if said.author in (IMPORT, LOADER) or said.via in ("page", "http", "file") or said.token:
        return said
    try:
        found = repository_around(current_folder())
    except NotFound:  # the folder was removed
        return said
    branch = found.branch() if found is not None else ""
    if found is None or branch in ("", found.default_branch()):
        return said
    commit = found.checked_out()
    has_own = commit not in found.default_commits()
    return replace(said, branch=branch, repository=found.name, commit=commit if has_own else "")


def asker() -> str:
    """Who asks now, as the log of queries keeps it."""
    return stored(_OF_REQUEST.get() or _of_process)


def speak_as(found: Provenance) -> None:
    """Say for the whole process who speaks."""
    global _of_process
    _of_process = found


@contextmanager
def speaking(found: Provenance) -> Iterator[None]:
    """Say for one request who speaks."""
    before = _OF_REQUEST.set(found)
    try:
        yield
    finally:
        _OF_REQUEST.reset(before)
