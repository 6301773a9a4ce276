"""The one gate in front of what counts as the user's words.

Before a transaction commits, the store compares what its items tell as the user's words before and after. Whoever is
not the user adds nothing to that (the item waits in ``review``) and takes nothing away (the change is refused). So no
verb, import, restore, undo, sync or rename has to think of it. Trust is given by ``trust`` and ``review`` alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

from ricordo.errors import Forbidden
from ricordo.frozen import frozen
from ricordo.speaking import speaker
from ricordo.values.provenance import PERSON

ONLY_USER = "only the user puts away what the user tells every agent"
WAITS_FOR_USER = "every agent gets it once the user agrees, in review"
_TRUSTED_SOURCE: ContextVar[bool] = ContextVar("ricordo_trusted_source", default=False)
_WITHHELD: ContextVar[list[str] | None] = ContextVar("ricordo_withheld", default=None)


@frozen
class Word:
    """The version of an item that has the user's word."""

    ref: str
    hash: str
    is_told: bool
    """Whether every agent is told it."""


def is_users() -> bool:
    """Whether the user speaks, or a source that the user trusts."""
    return _TRUSTED_SOURCE.get() or speaker().author == PERSON


@contextmanager
def trusted_source() -> Iterator[None]:
    """In the block, what the user trusts speaks: a machine that was let in, a folder that is read again."""
    before = _TRUSTED_SOURCE.set(True)
    try:
        yield
    finally:
        _TRUSTED_SOURCE.reset(before)


@contextmanager
def withheld_refs() -> Iterator[list[str]]:
    """The refs of the items that have to wait for the user's word, of what is written in the block."""
    refs: list[str] = []
    before = _WITHHELD.set(refs)
    try:
        yield refs
    finally:
        _WITHHELD.reset(before)


def check_words(before: Mapping[int, Word], after: Mapping[int, Word], granted: Collection[int]) -> list[int]:
    """The items, by number, whose word somebody else than the user gave: it has to be taken back before the commit.

    Refuses a change by which the user's words would no longer be told. ``granted`` items were read just now from a
    place that the user trusts.
    """
    if is_users():
        return []
    told = {word.hash for word in after.values() if word.is_told}
    for n, word in before.items():
        if n in granted:
            continue
        if word.is_told and word.hash not in told:
            raise Forbidden(
                f"{word.ref} is what the user tells every agent, and only the user may put it away",
                hint="Edit it instead: the user then decides which version is told.",
            )
        if n in after and after[n].hash != word.hash:
            raise Forbidden(
                f"only the user may decide which version of {word.ref} is theirs, not an agent or a program",
                hint="Ask the user to do it, at a terminal: ‹:review›",
            )
    words = {(word.hash, word.is_told) for word in before.values()}
    words |= {(digest, False) for digest, _ in words}
    withheld = [n for n, word in after.items() if n not in granted and (word.hash, word.is_told) not in words]
    if (refs := _WITHHELD.get()) is not None:
        refs += [after[n].ref for n in withheld]
    return withheld
