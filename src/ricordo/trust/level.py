"""Says whose words an item holds. Every part that tells something to an agent asks here, and decides nothing itself."""

from __future__ import annotations

from ricordo.values.items import Item
from ricordo.values.kinds import OUTSIDE_DRIVES


def is_outside(item: Item) -> bool:
    """Whether an item's text may have been written by somebody else than the user.

    Only what the user wrote by hand is trusted: files may come with a repository, pages and sessions from anywhere, and
    an agent may have been tricked into writing something.
    """
    return item.fields.source != "user" or item.ref.drive in OUTSIDE_DRIVES or item.kind == "session"
