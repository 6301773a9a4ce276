"""The protocol of the part of a store that gives an overview."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ricordo.values.overview import AskedQuestion, LinkGraph, TagCount


class Overview(Protocol):
    """What was asked, which tags there are, and what is linked with what."""

    def questions(
        self,
        *,
        since: datetime | None,
        until: datetime | None,
        by: str,
        opened_within: float,
        limit: int,
    ) -> list[AskedQuestion]:
        """Questions of the log, the latest first, with what they showed and what was opened so soon after."""
        ...

    def tags(self) -> list[TagCount]: ...

    def graph(self, limit: int, among: Collection[int] | None = None) -> LinkGraph:
        """The live items that are linked, or some of them, with all links between them; those with most links first."""
        ...
