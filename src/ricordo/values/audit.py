"""Values about who did what: the entries of the audit, and versions that wait for the user."""

from __future__ import annotations

from dataclasses import field
from datetime import datetime

from ricordo.frozen import frozen
from ricordo.values.plain import LEFT_OUT_WHEN_EMPTY, Plain
from ricordo.values.proposals import Proposal, ProposalRule
from ricordo.values.provenance import Provenance


@frozen
class AuditEntry(Plain):
    """Something that was done to an item, or told of it: what, when, by whom, and through which door.

    ``what`` is created, changed, archived, removed, erased, accepted or refused; or found, opened or told.
    """

    at: datetime
    what: str
    ref: str
    version: int
    provenance: Provenance
    query: str = field(default="", metadata=LEFT_OUT_WHEN_EMPTY)
    """What was asked, where the item was found by a search; the event, where a hook told it."""


@frozen
class AuditReport(Plain):
    """The entries that were asked for, newest first; ``more`` says that the limit left something out."""

    entries: tuple[AuditEntry, ...]
    more: bool = False


@frozen
class Waiting(Plain):
    """A version that somebody else than the user wrote, and that is told as the user's words only after a yes."""

    ref: str
    title: str
    version: int
    provenance: Provenance
    yours: int | None = None
    """Your newest version, which agents are told until you decide; none if you wrote none."""
    is_always: bool = False
    """Whether every agent would get it."""
    diff: str = field(default="", metadata=LEFT_OUT_WHEN_EMPTY)


@frozen
class ReviewReport(Plain):
    """What waits for the user, and what was decided just now."""

    waiting: tuple[Waiting, ...]
    decided: str = field(default="", metadata=LEFT_OUT_WHEN_EMPTY)
    proposals: tuple[Proposal, ...] = ()
    """What sessions seem to teach."""
    rules: tuple[ProposalRule, ...] = field(default=(), metadata=LEFT_OUT_WHEN_EMPTY)
    """What was said about whole kinds of proposals."""
