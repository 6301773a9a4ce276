"""Says whose words an item holds. Every part that tells something to an agent asks here, and decides nothing itself.

A version is the user's own if a person wrote it through a door of the user's (terminal, page, own files), or agreed to
it in a review. Everybody else's words are told as data: an agent may have been tricked into writing them, files may
come with a repository, pages and sessions from anywhere.
"""

from __future__ import annotations

from ricordo.values.items import Item
from ricordo.values.kinds import OUTSIDE_DRIVES
from ricordo.values.provenance import LOADER


def is_vouched(item: Item) -> bool:
    """Whether the user wrote this version, or agreed to it; only then every agent may get it.

    What stands in a project's store that the user does not trust says nothing about that.
    """
    return not item.foreign and item.vouched == item.version


def told_versions(item: Item) -> tuple[int | None, bool]:
    """The user's own newest version of an item whose current one is not the user's; and whether the user is asked.

    Nobody is asked about files and pages that were read again, unless every agent would get them.
    """
    is_asked = item.fields.loading == "always" or item.provenance.author != LOADER
    return item.vouched, not is_vouched(item) and is_asked


def is_outside(item: Item) -> bool:
    """Whether an item's text may have been written by somebody else than the user."""
    is_users = item.fields.source == "user" and is_vouched(item)
    return not is_users or item.ref.drive in OUTSIDE_DRIVES or item.kind == "session"
