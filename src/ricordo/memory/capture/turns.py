"""A session as the rules read it: who said or did what, in order."""

from __future__ import annotations

import re
from datetime import datetime

from ricordo.frozen import frozen
from ricordo.values.items import Item

_SHELLS = re.compile(
    r"^(?:bash|shell|sh|zsh|powershell|terminal|exec\w*|run_\w*|local_shell\w*|bashoutput)$", re.IGNORECASE
)
_EDITS = re.compile(r"^(?:\w*edit\w*|write\w*|apply_patch|patch|create_file|replace|str_replace\w*)$", re.IGNORECASE)
_READS = re.compile(r"^(?:read\w*|view|open|cat|get_file\w*)$", re.IGNORECASE)


@frozen
class SaidTurn:
    """One thing that was said or done in a session."""

    seq: int
    role: str
    text: str
    at: datetime
    tool: str = ""
    files: tuple[str, ...] = ()
    is_call: bool = False
    is_error: bool = False

    @property
    def is_users(self) -> bool:
        return self.role == "user"

    @property
    def is_agents(self) -> bool:
        return self.role == "assistant"

    @property
    def runs(self) -> bool:
        return bool(_SHELLS.match(self.tool))

    @property
    def edits(self) -> bool:
        return self.is_call and bool(_EDITS.match(self.tool))

    @property
    def reads(self) -> bool:
        return self.is_call and bool(_READS.match(self.tool))

    @property
    def command(self) -> str:
        """What a call of a shell runs."""
        return self.text.partition(": ")[2].strip()


def turn_of(item: Item) -> SaidTurn | None:
    """A stored turn; None for what was said between agents, which concerns no user."""
    about = item.fields.metadata
    if about.get("aside") or item.fields.seq is None:
        return None
    return SaidTurn(
        item.fields.seq,
        str(about.get("role") or ""),
        item.content,
        item.created_at,
        str(about.get("tool") or ""),
        tuple(about.get("files") or ()),
        is_call=about.get("direction") == "sent",
        is_error=bool(about.get("error")),
    )
