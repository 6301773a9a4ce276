"""What waits for a decision: proposals from sessions, and findings about what is stored."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from typing import Any

from ricordo.frozen import frozen
from ricordo.values.plain import LEFT_OUT_WHEN_EMPTY, NOT_SHOWN, Plain

DRIVE = "proposal:/"
"""How the name of a proposal begins; it is no item, and lives on no drive."""
KINDS = ("rule", "correction", "decision", "fix", "answer")
"""What a proposal can be: a rule or fact that the user wants kept, a correction of the agent, a decision and its
reason, a command that worked after another one failed, a question that a file answered."""
SCOPES = ("file", "project", "user")
WAYS = PATTERN, _ = "pattern", "model"
"""How proposals were found; language models found some that older stores still hold."""
WAITING, ACCEPTED, REFUSED = "waiting", "accepted", "refused"


@frozen
class Proposal(Plain):
    """One sentence that a session seems to teach, with the words of the turn that it comes from."""

    text: str
    kind: str
    """rule, correction, decision, fix or answer."""
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


FINDING_KINDS: Mapping[str, str] = {
    "duplicates": "memories that say the same, or nearly so",
    "contradictions": "memories of which one contradicts the other",
    "gone": "memories that cite a file which is gone",
    "changed": "memories that cite a file which was changed or moved since",
    "expired": "items that held until a date which is past",
    "unused": "memories that nobody found, opened or changed for a year",
    "secrets": "texts that hold what looks like a secret",
}
"""What is looked for, by the name of the kind."""


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
    versions: tuple[tuple[int, int], ...] = field(default=(), metadata=NOT_SHOWN)
    """The numbers of the items and the versions that were looked at."""


def finding(
    kind: str, refs: tuple[str, ...], why: str, action: str, versions: tuple[tuple[int, int], ...] = ()
) -> Finding:
    """A finding; its id is the same as long as the items are."""
    digest = hashlib.sha256(repr((kind, refs, versions)).encode("utf-8", "surrogatepass")).hexdigest()
    return Finding(digest[:8], kind, refs, why, action, versions)
