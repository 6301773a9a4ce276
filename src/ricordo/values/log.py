"""What happened and what was changed, and the steps that can be undone; what waits for a decision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from typing import Any

from ricordo.digests import hash_of
from ricordo.frozen import frozen
from ricordo.plugin import installed
from ricordo.values.items import Item, Saved
from ricordo.values.plain import LEFT_OUT_WHEN_EMPTY, NOT_SHOWN, Plain
from ricordo.values.provenance import Provenance

DRIVE = "proposal:/"
"""How the name of a proposal begins; it is no item, and lives on no drive."""
CORRECTION = "correction"
KINDS = ("rule", "preference", CORRECTION, "decision", "fact", "fix", "answer")
"""What a proposal can be: a rule, how the user wants things done, a correction of the agent, a decision, a fact, a
command that worked after another one failed, a question that a file answered."""
IN_FORCE = ("rule", "preference", CORRECTION)
"""Of these kinds, what the user accepted is told whenever a session starts."""
SCOPES = ("file", "project", "user")
WAYS = PATTERN, _ = "pattern", "model"
"""How proposals were found; language models found some that older stores still hold."""
WAITING, ACCEPTED, REFUSED = "waiting", "accepted", "refused"


@frozen
class Proposal(Plain):
    """One sentence that a session seems to teach, with the words of the turn that it comes from."""

    text: str
    kind: str
    """rule, preference, correction, decision, fact, fix or answer."""
    scope: str
    """What it is about: a file, the project or the user."""
    quote: str
    session: str
    turn: int
    at: datetime
    """When the turn was said."""
    way: str = PATTERN
    """How it was found."""
    file: str = field(default="", metadata=LEFT_OUT_WHEN_EMPTY)
    """The file that it is about, if its scope is one."""
    branch: str = field(default="", metadata=LEFT_OUT_WHEN_EMPTY)
    """The branch that the session worked on."""
    corrects: str = field(default="", metadata=LEFT_OUT_WHEN_EMPTY)
    """The memory that a correction contradicts now, which is looked up when it is listed or decided: accepted, it takes
    its place.
    """
    state: str = field(default=WAITING, metadata=NOT_SHOWN)
    became: str = field(default="", metadata=NOT_SHOWN)
    """The memory that it was kept as, if it was accepted."""

    @property
    def id(self) -> str:
        """The same sentence of the same turn has the same name, however often and by whomever the turn is read."""
        return proposal_id(self.session, self.turn, self.text)

    @property
    def ref(self) -> str:
        return f"{DRIVE}{self.id}"

    def to_dict(self) -> dict[str, Any]:
        return {"ref": self.ref, **Plain.to_dict(self)}


@frozen
class ProposalRule(Plain):
    """What the user said about a whole kind of proposals: always keep such, or never propose them."""

    way: str
    kind: str
    rule: str
    """always or never."""

    @property
    def ref(self) -> str:
        """Under which name ``review`` changes it."""
        return f"{DRIVE}{self.way}/{self.kind}"

    def to_dict(self) -> dict[str, Any]:
        return {"ref": self.ref, **Plain.to_dict(self)}


def proposal_id(session: str, turn: int, text: str) -> str:
    """The name of a sentence of a turn."""
    return hash_of(f"{session}\n{turn}\n{text}".encode())[:8]


def finding_kinds() -> dict[str, str]:
    """What plugins look for that something should be done about: the names of the kinds, each with a few words."""
    return {kind: words for plugin in installed().values() for kind, words in plugin.findings.items()}


@frozen
class Finding(Plain):
    """One thing to do something about."""

    id: str
    kind: str
    refs: tuple[str, ...]
    why: str
    """One sentence."""
    action: str
    """What accepting it does."""
    alone: bool = field(default=False, metadata=NOT_SHOWN)
    """Whether it is accepted for itself only, never together with all of its kind."""
    versions: tuple[tuple[int, int], ...] = field(default=(), metadata=NOT_SHOWN)
    """The numbers of the items and the versions that were looked at."""

    @classmethod
    def about(cls, kind: str, items: Mapping[int, Item], why: str, action: str) -> Finding:
        """A finding about items, by number; its id is the same as long as they are."""
        refs = tuple(str(item.ref) for item in items.values())
        versions = tuple((n, item.version) for n, item in items.items())
        digest = hash_of(repr((kind, refs, versions)).encode("utf-8", "surrogatepass"))
        return cls(digest[:8], kind, refs, why, action=action, versions=versions)


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
    gone: str = field(default="", metadata=LEFT_OUT_WHEN_EMPTY)
    """The knowledge file of yours that went, which is the question: is the item to go, too?"""
    diff: str = field(default="", metadata=LEFT_OUT_WHEN_EMPTY)


@frozen
class SessionStart(Plain):
    """What of the user's words is told whenever a session starts, and what that takes."""

    tokens: int
    budget: int
    told: tuple[str, ...] = ()
    """The refs, in the order in which they are told."""
    left_out: tuple[str, ...] = ()
    """Those that have no room; they are told where they fit a prompt."""
    proposed: int = 0
    """The tokens that would be added if all proposals were accepted."""


@frozen
class ReviewReport(Plain):
    """What waits for the user, and what was decided just now."""

    waiting: tuple[Waiting, ...]
    decided: str = field(default="", metadata=LEFT_OUT_WHEN_EMPTY)
    proposals: tuple[Proposal, ...] = ()
    """What sessions seem to teach."""
    rules: tuple[ProposalRule, ...] = field(default=(), metadata=LEFT_OUT_WHEN_EMPTY)
    """What was said about whole kinds of proposals."""
    findings: tuple[Finding, ...] = field(default=(), metadata=LEFT_OUT_WHEN_EMPTY)
    """What should be done about memories."""
    counts: Mapping[str, int] = field(default_factory=dict, metadata=LEFT_OUT_WHEN_EMPTY)
    """How many findings there are of each kind."""
    done: tuple[Saved, ...] = field(default=(), metadata=LEFT_OUT_WHEN_EMPTY)
    """What was done about findings just now."""
    start: SessionStart | None = field(default=None, metadata=LEFT_OUT_WHEN_EMPTY)
    """What a session is told when it starts, if all that waits is listed."""


@frozen
class Happening(Plain):
    """One line of a timeline. ``what`` is event, session, remembered, created, updated, forgotten or removed."""

    at: datetime
    what: str
    ref: str
    title: str
    kind: str
    thread: str | None = None
    seq: int | None = None
    direction: str = ""
    role: str = ""
    version: int | None = None
    corrected_by: str = field(default="", metadata=LEFT_OUT_WHEN_EMPTY)
    superseded_by: str = field(default="", metadata=LEFT_OUT_WHEN_EMPTY)
    by: str = field(default="", metadata=LEFT_OUT_WHEN_EMPTY)
    """Who did it, and through which door; empty for unknown."""


@frozen
class Timeline(Plain):
    """What happened, in the order it was asked for; ``more`` says that the limit left something out."""

    events: tuple[Happening, ...]
    since: datetime | None = None
    more: bool = False


@frozen
class ThreadSpan:
    """How many turns a thread has, and from when to when."""

    count: int
    first: datetime | None = None
    last: datetime | None = None


UNDO = "undo"
"""The verb of steps that undo others."""
_DONE = {
    "remember": "remembered", "save": "saved", "save_many": "saved", "edit": "edited", "mv": "moved",
    "correct": "corrected", "supersede": "superseded", "forget": "archived", "rm": "removed", "restore": "restored",
    "link": "linked", "unlink": "unlinked", "review": "reviewed", "tidy": "tidied", "tag": "tagged",
    UNDO: "undid a step with",
}  # fmt: skip
MOST_NAMED = 3


@frozen
class Step(Plain):
    """What one call changed, and whether that can be taken back."""

    id: str
    at: datetime
    verb: str
    words: str
    """What was done, for people: ``edited note:/plan``."""
    changes: int
    """How many items and links it changed."""
    provenance: Provenance
    refs: tuple[str, ...] = ()
    """The items that it changed, as they are called now; the first ones, where there are many."""
    is_undone: bool = False
    erased: int = field(default=0, metadata=LEFT_OUT_WHEN_EMPTY)
    """How many items it erased, which nothing brings back."""

    @property
    def can_be_undone(self) -> bool:
        return self.changes > 0 and not self.is_undone


@frozen
class StepItem:
    """What an item was before a step, and what the step made of it."""

    n: int
    version: int
    """0 if the step made the item."""
    state: str
    new_version: int
    new_state: str
    vouched: int | None = None
    provenance: str | None = None
    """Who the version counted as written by; None where the step changed only texts and states."""


@frozen
class UndoReport(Plain):
    """What was undone, item by item; or the steps that can be, newest first."""

    undone: Step | None = None
    items: tuple[Saved, ...] = ()
    steps: tuple[Step, ...] = ()
    notes: tuple[str, ...] = field(default=(), metadata=LEFT_OUT_WHEN_EMPTY)


def step_words(verb: str, refs: tuple[str, ...], *, items: int, links: int, erased: int) -> str:
    """What a step did, in plain words.

    >>> step_words("forget", ("note:/a", "note:/b", "note:/c"), items=5, links=0, erased=0)
    'archived note:/a, note:/b, note:/c and 2 others'
    """
    if erased and not items:
        return f"erased {erased} item{'' if erased == 1 else 's'} for good"
    named = ", ".join(refs[:MOST_NAMED])
    rest = items - len(refs[:MOST_NAMED])
    if rest > 0 and named:
        named += f" and {rest} other{'' if rest == 1 else 's'}"
    if not named:
        named = f"{links} link{'' if links == 1 else 's'}"
    return f"{_DONE.get(verb, verb)} {named}"
