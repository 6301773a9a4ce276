"""What a verb refuses because of who asks for it: files of this machine and settings are for administrators alone.

A server says with ``asked_with`` on whose behalf it works; then the engine holds these rules, whichever way the request
came in (API, page, MCP). Whoever says nothing is the user of this machine and may do everything.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from ricordo.errors import Forbidden

if TYPE_CHECKING:
    from pathlib import Path

    from ricordo.values.items import Ref

FILE_DRIVES = ("disk", "git")
"""Their refs name files and repositories of the machine."""
RECORDS = "session"
"""The drive of what was said in sessions."""
_SCOPE: ContextVar[str] = ContextVar("scope", default="admin")


@contextmanager
def asked_with(scope: str) -> Iterator[None]:
    """Work for a caller with this scope. Work that goes on in another thread has to take the context along."""
    before = _SCOPE.set(scope)
    try:
        yield
    finally:
        _SCOPE.reset(before)


def refuse_files(sources: Sequence[str | Path]) -> None:
    """Refuse files of the machine, because a caller that may only write must not read them."""
    files = [one for one in map(str, sources) if not one.lower().startswith(("http://", "https://"))]
    if files and _SCOPE.get() != "admin":
        raise Forbidden(
            f"'{files[0][:200]}' is on the server's machine, which needs the scope 'admin'",
            hint="Give a URL, or send the text itself.",
        )


def refuse_written_ref(ref: Ref) -> None:
    """Refuse to write under a ref that names a file or a repository, because a later refresh would read it, and an
    agent to write a record.
    """
    if ref.drive in FILE_DRIVES and _SCOPE.get() != "admin":
        what = "a file" if ref.drive == "disk" else "a repository of this machine"
        raise Forbidden(f"{ref} names {what}, which needs the scope 'admin'", hint="Use another drive, such as note:/.")
    refuse_record(ref)


def refuse_record(ref: Ref) -> None:
    """Refuse an agent to write a turn of a session, because turns tell what people said."""
    from ricordo.speaking import speaker
    from ricordo.values.provenance import AGENT

    if ref.drive == RECORDS and speaker().author == AGENT:
        raise Forbidden(
            f"{ref} is a record of a session, which an agent does not write",
            hint="Use another drive, such as note:/. ‹:sessions add› takes in a transcript.",
        )


def refuse_agents(what: str) -> None:
    """Refuse what only the user may do, because it gives trust: at the terminal, on the page, or in Python."""
    from ricordo.speaking import speaker
    from ricordo.values.provenance import PERSON

    if speaker().author != PERSON:
        raise Forbidden(f"only you may {what}, not an agent or a program", hint="Do it yourself, at a terminal.")


def refuse_settings(name: str) -> None:
    """Refuse to change settings."""
    if _SCOPE.get() != "admin":
        raise Forbidden(
            f"to change {name} needs the scope 'admin'",
            hint="‹:serve tokens add NAME --scope admin› makes such a token.",
        )
