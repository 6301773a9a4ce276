"""What a verb refuses because of who asks for it: files of this machine and settings are for administrators alone.

A server says with ``asked_with`` on whose behalf it works; then the engine holds these rules, whichever way the request
came in (API, page, MCP). Whoever says nothing is the user of this machine and may do everything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from ricordo.errors import Forbidden
from ricordo.values.kinds import SESSION

if TYPE_CHECKING:
    from pathlib import Path

    from ricordo.values.items import Item, Ref

FILE_DRIVES = ("disk", "git")
"""Their refs name files and repositories of the machine."""
_BY_USER = "Ask the user to do it, at a terminal."
_SCOPE: ContextVar[str] = ContextVar("scope", default="admin")


@contextmanager
def asked_with(scope: str) -> Iterator[None]:
    """Work for a caller with this scope. Work that goes on in another thread has to take the context along."""
    before = _SCOPE.set(scope)
    try:
        yield
    finally:
        _SCOPE.reset(before)


def asking_scope() -> str:
    """The scope of whoever asks now, for work in another process."""
    return _SCOPE.get()


def refuse_files(sources: Sequence[str | Path]) -> None:
    """Refuse files of the machine, because a caller that may only write must not read them."""
    files = [source for source in map(str, sources) if not source.lower().startswith(("http://", "https://"))]
    if files and not is_admin():
        raise Forbidden(
            f"'{files[0][:200]}' is on the server's machine, which needs the scope 'admin'",
            hint="Give a URL, or send the text itself.",
        )


def refuse_written_ref(ref: Ref) -> None:
    """Refuse to write under a ref that names a file or a repository, because a later refresh would read it, and an
    agent to write a record.
    """
    if ref.drive in FILE_DRIVES and not is_admin():
        what = "a file" if ref.drive == "disk" else "a repository of this machine"
        raise Forbidden(f"{ref} names {what}, which needs the scope 'admin'", hint="Use another drive, such as note:/.")
    refuse_record(ref)


def refuse_record(ref: Ref) -> None:
    """Refuse an agent to write a turn of a session, because turns tell what people said."""
    from ricordo.speaking import speaker
    from ricordo.values.provenance import AGENT

    if ref.drive == SESSION and speaker().author == AGENT:
        raise Forbidden(
            f"{ref} is a record of a session, which an agent does not write",
            hint="Use another drive, such as note:/. ‹:sessions add› takes in a transcript.",
        )


def is_admin() -> bool:
    """Whether the caller may do everything that its author may."""
    return _SCOPE.get() == "admin"


def is_agent() -> bool:
    """Whether an agent asks. A token with the scope 'admin' was made to look after the store, and counts as no agent
    here; only what needs the user's own word (``refuse_agents``) is closed to it, too.
    """
    from ricordo.speaking import speaker
    from ricordo.values.provenance import AGENT

    record = speaker()
    return record.author == AGENT and not (record.via == "http" and is_admin())


def refuse_erasing(item: Item) -> None:
    """Refuse an agent to erase what the user wrote or agreed to; it may put it into the bin."""
    if item.vouched is not None and is_agent():
        raise Forbidden(
            f"{item.ref} has the user's word, and an agent does not erase it", hint="Remove it without ‹purge›."
        )


def refuse_freezing(item: Item | None, fields: Mapping[str, Any]) -> None:
    """Refuse an agent to make immutable what the user wrote, because the user could not change it back."""
    if fields.get("immutable") and item is not None and item.vouched is not None and is_agent():
        raise Forbidden(f"{item.ref} has the user's word, and an agent does not make it immutable", hint=_BY_USER)


def refuse_secrets(*, allowed: bool) -> None:
    """Refuse an agent that asks for it to keep secrets in clear."""
    if allowed and is_agent():
        raise Forbidden("secrets are removed from what agents write", hint=_BY_USER)


def refuse_agents(what: str) -> None:
    """Refuse what only the user may do, because it gives trust: at the terminal, on the page, or in Python."""
    from ricordo.speaking import is_person

    if not is_person():
        raise Forbidden(f"only the user may {what}, not an agent or a program", hint=_BY_USER)


def refuse_replacing(path: Path, *, force: bool) -> None:
    """Refuse everybody but the user to replace a file: it may be one of settings, or a copy that was to be kept."""
    if force and path.exists():
        refuse_agents(f"replace {path}")


def refuse_settings(name: str) -> None:
    """Refuse to change settings."""
    if not is_admin():
        raise Forbidden(
            f"to change {name} needs the scope 'admin'",
            hint="‹:serve tokens add NAME --scope admin› makes such a token.",
        )
