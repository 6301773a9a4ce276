"""Who wrote a version, through which door, on which machine, and where its text came from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import field, fields
from functools import lru_cache
from typing import Any

from ricordo.frozen import frozen
from ricordo.patterns import late
from ricordo.values.plain import LEFT_OUT_WHEN_EMPTY, Plain

PERSON, AGENT, IMPORT, LOADER, UNKNOWN = "person", "agent", "import", "loader", "unknown"
AUTHORS = (PERSON, AGENT, IMPORT, LOADER, UNKNOWN)
DOORS = ("cli", "page", "mcp", "http", "hook", "adapter", "file", "python")


@frozen
class Provenance(Plain):
    """The record of one version. Only the face that a text came through fills it in, never the text or its caller.

    ``author`` is what kind of author wrote it: a person, an agent, an import (an export of another store, or of another
    program), or a loader that read a file or page. ``name`` is who exactly: a login name, an agent's program.
    """

    author: str = UNKNOWN
    name: str = field(default="", metadata=LEFT_OUT_WHEN_EMPTY)
    session: str = field(default="", metadata=LEFT_OUT_WHEN_EMPTY)
    """The session of an agent's program."""
    via: str = field(default="", metadata=LEFT_OUT_WHEN_EMPTY)
    """The door: cli, page, mcp, http, hook, adapter, file (an edit of a knowledge file) or python."""
    token: str = field(default="", metadata=LEFT_OUT_WHEN_EMPTY)
    """The name of the token that opened the door."""
    machine: str = field(default="", metadata=LEFT_OUT_WHEN_EMPTY)
    """The name that the machine had then, ``#``, and its id."""
    origin: str = field(default="", metadata=LEFT_OUT_WHEN_EMPTY)
    """The file, the address, the session and turn, or the export that the text came from."""
    branch: str = field(default="", metadata=LEFT_OUT_WHEN_EMPTY)
    """The branch of the repository that a memory, note or article was saved on; empty for the one that all share."""
    repository: str = field(default="", metadata=LEFT_OUT_WHEN_EMPTY)
    """The main checkout of that repository."""
    commit: str = field(default="", metadata=LEFT_OUT_WHEN_EMPTY)
    """The commit that was checked out then; empty if the branch had none of its own yet."""
    claimed: Mapping[str, Any] = field(default_factory=dict, metadata=LEFT_OUT_WHEN_EMPTY)
    """What an export says about who wrote it, which is kept and not believed."""

    @property
    def is_known(self) -> bool:
        return self.author != UNKNOWN

    @property
    def short(self) -> str:
        """Who and through which door, for tables: ``agent claude-code (mcp)``; empty for unknown."""
        if not self.is_known:
            return ""
        door = self.token or self.via
        return f"{self.author} {self.name}".rstrip() + (f" ({door})" if door else "")

    def in_words(self) -> str:
        """One line for people.

        >>> Provenance("agent", "claude-code", via="mcp", machine="laptop").in_words()
        'agent claude-code, through mcp, on laptop'
        >>> Provenance().in_words()
        'unknown'
        """
        door = f"{self.via} (token {self.token})" if self.token else self.via
        author = self.claimed.get("author")
        parts = (
            f"{self.author} {self.name}".rstrip(),
            f"session {self.session}" if self.session else "",
            f"through {door}" if door else "",
            f"on {self.machine.partition('#')[0]}" if self.machine else "",
            f"from {self.origin}" if self.origin else "",
            f"on the branch {self.branch}" if self.branch else "",
            f"which says: {_provenance(self.claimed).in_words()}" if author and author != UNKNOWN else "",
        )
        return ", ".join(filter(None, parts))


NOBODY = Provenance()
"""What is said of versions that were written before this was recorded."""


_last_stored: tuple[Provenance, str] = (NOBODY, "")


def stored(provenance: Provenance) -> str:
    """The text that a store keeps; empty for what is unknown. One author writes many versions, so the last is kept."""
    global _last_stored
    before, text = _last_stored
    if provenance is not before:
        text = json.dumps(provenance.to_dict(), ensure_ascii=False, default=str) if provenance != NOBODY else ""
        _last_stored = (provenance, text)
    return text


@lru_cache(maxsize=1024)
def read(text: str) -> Provenance:
    """The record from what a store kept; of one that is damaged, nobody knows who it was."""
    try:
        return _provenance(json.loads(text)) if text else NOBODY
    except (ValueError, AttributeError, TypeError):
        return NOBODY


def _provenance(plain: Mapping[str, Any]) -> Provenance:
    """A record from JSON; names that this version does not know are left out."""
    return Provenance(**{name: plain[name] for name in _NAMES if name in plain})


_NAMES = tuple(one.name for one in fields(Provenance))


@frozen
class TrustedPlace(Plain):
    """A store that counts as the user's, by its file, or a folder of files (without ``store_id``).

    ``how`` is "made here" if this user made the store here: what is in the store counts then, and of its knowledge
    files those with a seal. "trusted" means that the user said so: then all of it counts.
    """

    place: str
    how: str
    since: str
    store_id: str = field(default="", metadata=LEFT_OUT_WHEN_EMPTY)


@frozen
class TrustReport(Plain):
    """The answer to ``trust``: ``status`` is listed, would be trusted, trusted, would be withdrawn,
    withdrawn or not trusted before.

    The rest says what is in the place and counts as the user's while it is trusted.
    """

    status: str
    place: str = ""
    store: str = field(default="", metadata=LEFT_OUT_WHEN_EMPTY)
    repository: str = field(default="", metadata=LEFT_OUT_WHEN_EMPTY)
    """The folder of the Git repository that the place belongs to: whoever writes to that writes here."""
    always: tuple[str, ...] = field(default=(), metadata=LEFT_OUT_WHEN_EMPTY)
    """Items of its store that every agent would get."""
    knowledge: tuple[str, ...] = field(default=(), metadata=LEFT_OUT_WHEN_EMPTY)
    """Knowledge files that say that the user wrote them, or that every agent gets them."""
    files: tuple[str, ...] = field(default=(), metadata=LEFT_OUT_WHEN_EMPTY)
    """Files that were added from it and say that every agent gets them."""
    skills: tuple[str, ...] = field(default=(), metadata=LEFT_OUT_WHEN_EMPTY)
    settings: tuple[str, ...] = field(default=(), metadata=LEFT_OUT_WHEN_EMPTY)
    """Settings that run commands, reach hosts or name folders, as its settings file has them."""
    places: tuple[TrustedPlace, ...] = field(default=(), metadata=LEFT_OUT_WHEN_EMPTY)
    """What is on the list, if that was asked for."""


_OWN_TOOL = late(r"(?:^|[_./:-])ricordo(?:_{1,2}|[./:-])[a-z]")


def is_own_tool(name: str) -> bool:
    """Whether a tool is one of this program's own, as agents' programs name them.

    ``mcp__ricordo__search`` (Claude Code), ``mcp__plugin_ricordo_ricordo__search`` (its plugin), ``ricordo__search``
    (Codex), ``mcp_ricordo_search`` (Gemini CLI), ``ricordo_search`` (opencode).
    """
    return _OWN_TOOL.search(name) is not None
