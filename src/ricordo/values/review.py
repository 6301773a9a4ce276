"""What waits for a decision: proposals from sessions, and findings about what is stored."""

from __future__ import annotations

import hashlib
from dataclasses import field
from datetime import datetime
from typing import Any

from ricordo.frozen import frozen
from ricordo.plugin import installed
from ricordo.values.plain import LEFT_OUT_WHEN_EMPTY, NOT_SHOWN, Plain

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
    return hashlib.sha256(f"{session}\n{turn}\n{text}".encode()).hexdigest()[:8]


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
