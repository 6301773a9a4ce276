"""The protocols of the parts of a store that keep proposals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ricordo.values.proposals import Proposal


class Proposals(Protocol):
    """What sessions seem to teach, until somebody decides, and what was decided."""

    def add(self, found: Sequence[Proposal]) -> int:
        """Keep new proposals; returns how many were not known yet."""
        ...

    def listing(self, state: str | None = None, session: str | None = None) -> list[Proposal]:
        """Those in a state, or of a session, in the order of their turns."""
        ...

    def get(self, identity: str) -> Proposal | None: ...

    def decide(self, identity: str, state: str, became: str = "") -> bool:
        """Note what became of a waiting proposal, and of the memory it became; False if it does not wait any more."""
        ...

    def rules(self) -> Mapping[str, str]:
        """By way and kind (``pattern rule``): whether such proposals are always accepted, or never made."""
        ...

    def ask_again(self, identity: str) -> bool:
        """Let a proposal that was decided wait again; False if it waits anyway."""
        ...

    def set_rule(self, name: str, rule: str) -> None:
        """Note what holds for such proposals; an empty rule takes back what was said before."""
        ...
