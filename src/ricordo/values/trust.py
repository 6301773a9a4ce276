"""What trust in a place grants, and what became of it."""

from __future__ import annotations

from dataclasses import field

from ricordo.frozen import frozen
from ricordo.values.plain import LEFT_OUT_WHEN_EMPTY, Plain


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
    """The answer to ``trust``: ``status`` is listed, would be trusted, trusted, withdrawn or not trusted before.

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
