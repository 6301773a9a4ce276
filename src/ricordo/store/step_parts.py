"""The protocol of the part of a store that undoes steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ricordo.store.values import Backlog, PreparedItem
    from ricordo.values.items import Saved
    from ricordo.values.steps import Step, StepItem


class Steps(Protocol):
    """What each step changed, so that it can be undone."""

    def newest(self, limit: int) -> list[Step]: ...
    def get(self, identity: str) -> Step | None: ...
    def items(self, identity: str) -> list[StepItem]: ...
    def put_back(
        self,
        identity: str,
        items: Sequence[StepItem],
        prepared: Mapping[int, PreparedItem],
        *,
        backlog: Backlog | None = None,
    ) -> list[Saved]:
        """Undo a step in one transaction; ``prepared`` are the earlier versions of the items that had one."""
        ...
