"""Who speaks now: each face says it once per process or request, and the store writes it into every version.

A server answers many callers in one process, so a request's speaker is a context variable, which the threads of the
request share. Threads that belong to no request speak as the process does.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ricordo.errors import NotFound
from ricordo.values.provenance import AGENT, IMPORT, LOADER, NOBODY, PERSON, Provenance, stored

if TYPE_CHECKING:
    from ricordo.config.machine import Machine

_OF_REQUEST: ContextVar[Provenance | None] = ContextVar("ricordo_speaker", default=None)
_KNOWN_AS: ContextVar[str] = ContextVar("ricordo_known_as", default="")
_of_process: Provenance | None = None
"""Who speaks in this process; None as long as nobody said it."""
_last_named: tuple[Provenance | None, Machine | None, str, Provenance] = (None, None, "", NOBODY)
"""Who spoke last, on which machine, under which name, and the whole record of it: one speaker writes many versions."""
_last_branch: tuple[Provenance | None, Path | None, float, Provenance] = (None, None, 0.0, NOBODY)
BRANCH_SECONDS = 0.05
"""How long a branch is taken for the one that is checked out, while the same speaker writes."""


@cache
def user_name() -> str:
    """The login name of the person whose process this is; empty where the system knows none."""
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return ""


def request_speaker() -> Provenance | None:
    """Who a request of a server comes from, for work in another process; None where no server serves."""
    return _OF_REQUEST.get()


def is_person() -> bool:
    """Whether the user speaks, and no agent or program. Unlike ``speaker``, it gives this machine no id."""
    return (_OF_REQUEST.get() or _process()).author == PERSON


def speaker() -> Provenance:
    """Who speaks now."""
    global _last_named
    from ricordo.config.machine import this_machine

    author, machine, alias = _OF_REQUEST.get() or _process(), this_machine(), _KNOWN_AS.get()
    last_author, last_machine, last_alias, record = _last_named
    if author is not last_author or machine is not last_machine or alias != last_alias:
        name = author.name or ((alias or user_name()) if author.author == PERSON else "")
        record = replace(author, name=name, machine=author.machine or str(machine))
        _last_named = (author, machine, alias, record)
    return record


@contextmanager
def known_as(name: str) -> Iterator[None]:
    """Within the block, the person whose process this is has this name: the one by which a team's server knows them."""
    before = _KNOWN_AS.set(name)
    try:
        yield
    finally:
        _KNOWN_AS.reset(before)


def author_now(origin: str = "") -> Provenance:
    """Who writes a version now; ``origin`` is where a loader read its text."""
    record = speaker()
    if not origin:
        return record
    return replace(record, author=IMPORT if record.author == IMPORT else LOADER, origin=origin)


@contextmanager
def as_agent(name: str = "") -> Iterator[None]:
    """Say that an agent speaks, through the adapter of its framework or a program that says so."""
    record = speaker()
    with speaking(record if record.author == AGENT else replace(record, author=AGENT, name=name, via="adapter")):
        yield


def on_branch(record: Provenance) -> Provenance:
    """The record with the branch that is checked out where the caller is, unless it is the one that all share.

    Nothing is known of where the callers of a server are, nor on which branch a text was written that is imported or
    was found in a file.
    """
    global _last_branch
    from ricordo.config.files import current_folder

    if record.author in (IMPORT, LOADER) or record.via in ("page", "http", "file") or record.token:
        return record
    try:
        folder = current_folder()
    except NotFound:  # the folder was removed
        return record
    before, where, at, placed = _last_branch
    if record is not before or folder != where or time.monotonic() - at > BRANCH_SECONDS:
        placed = _on_branch_of(folder, record)
        _last_branch = (record, folder, time.monotonic(), placed)
    return placed


def _on_branch_of(folder: Path, record: Provenance) -> Provenance:
    from ricordo.config.repository import repository_around

    repository = repository_around(folder)
    branch = repository.branch() if repository is not None else ""
    if repository is None or branch in ("", repository.default_branch()):
        return record
    commit = repository.checked_out()
    has_own = commit not in repository.default_commits()
    return replace(record, branch=branch, repository=repository.name, commit=commit if has_own else "")


def asker() -> str:
    """Who asks now, as the log of queries keeps it."""
    return stored(_OF_REQUEST.get() or _process())


def _process() -> Provenance:
    """Who speaks in this process. One that says nothing is a program of the person who runs it, or of the agent's
    program that runs it.
    """
    if _of_process is None:
        from ricordo.programs.table import running_program

        program = running_program(os.environ)
        speak_as(Provenance(AGENT, program, via="python") if program else Provenance(PERSON, via="python"))
    return _of_process or NOBODY


def speak_as(record: Provenance) -> None:
    """Say for the whole process who speaks."""
    global _of_process
    _of_process = record


@contextmanager
def speaking(record: Provenance) -> Iterator[None]:
    """Say for one request who speaks."""
    before = _OF_REQUEST.set(record)
    try:
        yield
    finally:
        _OF_REQUEST.reset(before)
