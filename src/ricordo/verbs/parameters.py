"""Parameters that several verbs share, each declared once; the signatures of the engine name them.

Engine modules import these names for the type checker alone. ``read`` evaluates the signatures with this module's
names at hand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

from ricordo.values.field_checks import LOADINGS, SEVERITIES
from ricordo.values.items import Ref
from ricordo.values.kinds import (
    KINDS,
    By,
    LogSummary,
    LogWhat,
    Mode,
    OnConflict,
    OnDuplicate,
    ReviewDecision,
    Verdict,
    Writer,
)
from ricordo.verbs.declare import ADDED_TEXT, BY_FACE, Say

__all__ = [
    "ADDED_TEXT",
    "BY_FACE",
    "KINDS",
    "LOADINGS",
    "SEVERITIES",
    "Any",
    "By",
    "LogSummary",
    "LogWhat",
    "Mapping",
    "Mode",
    "OnConflict",
    "OnDuplicate",
    "Path",
    "Ref",
    "ReviewDecision",
    "Say",
    "Sequence",
    "Verdict",
    "Writer",
    "datetime",
    "timedelta",
]  # fmt: skip

LONG_TEXT = 20_000_000
QUERY_TEXT = 100_000
REF_TEXT = 4096
NAME_TEXT = 1000
DATE_TEXT = 40
MOST_VERSIONS = 2**31

# Which item.
ItemName = Annotated[str | Ref, Say("A ref, an item's id, a URL or a path.", longest=REF_TEXT, example="note:/keys")]
NewRef = Annotated[str | Ref, Say("Its new ref.", longest=REF_TEXT, example="note:/security/keys")]
VersionNumber = Annotated[int, Say("This version instead of the current one.", 1, most=MOST_VERSIONS, shown="N")]
PathName = Annotated[str | Path, Say("A file or folder.", longest=REF_TEXT)]

# How much, and since when.
Limit = Annotated[int, Say("How many at most.", 1, most=1000, short="-n", shown="N")]
LimitFlag = Annotated[int, Say("How many at most.", 1, most=1000, short="-n", shown="N", argument=False)]
ManyLimit = Annotated[int, Say("How many at most.", 1, most=10_000, short="-n", shown="N")]
ManyLimitFlag = Annotated[int, Say("How many at most.", 1, most=10_000, short="-n", shown="N", argument=False)]
Offset = Annotated[int, Say("Skip the first N.", 0, most=1_000_000, shown="N")]
AsOf = Annotated[datetime | str, Say("Search the versions that were current then.", longest=DATE_TEXT, shown="DATE")]
Since = Annotated[
    str | datetime,
    Say(
        "Since when: 36h, 7d, 2w, or a date (local).", kind="since", longest=DATE_TEXT, shown="SPAN|DATE", example="7d"
    ),
]
Until = Annotated[
    str | datetime,
    Say("Until when: 36h, 7d, 2w ago, or a date (local).", kind="since", longest=DATE_TEXT, shown="SPAN|DATE"),
]
OlderThan = Annotated[
    str | timedelta,
    Say("Only items not changed for this long: 36h, 90d, 12w, 6m, 1y.", longest=DATE_TEXT, shown="SPAN", example="90d"),
]
UnusedSince = Annotated[
    str | timedelta, Say("Only items not found, opened or changed for this long.", longest=DATE_TEXT, shown="SPAN")
]
ThreadName = Annotated[str, Say("Only this session or series, with its tool calls.", longest=NAME_TEXT, shown="ID")]
OnlyKinds = Annotated[Sequence[str], Say("Only this kind.", name="kind", short="-k", shown="KIND", choices=KINDS)]
OnlyTags = Annotated[
    Sequence[str], Say("Only items with one of these tags.", name="tag", short="-t", shown="TAG", longest=NAME_TEXT)
]
KindsToTake = Annotated[
    Sequence[str], Say("Only this kind.", name="kind", http="kinds", short="-k", shown="KIND", choices=KINDS)
]
TagsToTake = Annotated[
    Sequence[str],
    Say("Only items with one of these tags.", name="tag", http="tags", short="-t", shown="TAG", longest=NAME_TEXT),
]

# What is looked for, and how.
QueryText = Annotated[
    str,
    Say(
        'What to look for: plain words, "phrases", -words, prefix*, kind: tag: path: and other filters.',
        longest=QUERY_TEXT, http="q", shown="QUERY", example="how are tokens validated?",
    ),
]  # fmt: skip
TaskText = Annotated[
    str, Say("What is to be done.", longest=QUERY_TEXT, shown="TASK", example="rotate the keys", argument=True)
]
Track = Annotated[bool, Say("Record what was found (default) or not.")]
MinScore = Annotated[float, Say("Leave out hits below this score.", 0, 1, shown="0-1")]
ProfileName = Annotated[
    str, Say("Rank with this profile.", longest=100, not_on={"cli": "--profile is a flag of every verb that ranks"})
]
Weights = Annotated[
    Mapping[str, float],
    Say("Use other weights for these signals of the profile.", longest=NAME_TEXT, shown="A=1,B=0"),
]
SearchBy = Annotated[By, Say("By words and meaning, one of them, or text that contains the query.")]
Diverse = Annotated[bool, Say("Prefer hits that differ from one another.")]
WithMemories = Annotated[bool, Say("Also search memories and sessions (profile vault).")]
SessionsWithRest = Annotated[bool, Say("Rank sessions with the rest, not after what fits.")]
BoostTags = Annotated[Sequence[str], Say("Rank items with these tags higher.", shown="A,B", longest=NAME_TEXT)]
BoostDomain = Annotated[str, Say("Rank items of this domain higher.", shown="NAME", longest=NAME_TEXT)]
Rerank = Annotated[
    str,
    Say(
        "Rank the best hits again with a cross-encoder or llm.",
        shown="KIND",
        choices=("none",),
        seam="rerankers",
    ),
]

# What is written, and how.
TextToKeep = Annotated[
    str,
    Say("The text.", longest=LONG_TEXT, shown="TEXT|-", example="Rotate the signing keys every quarter."),
]
KindOfItem = Annotated[str, Say("What it is.", short="-k", shown="KIND", choices=KINDS)]
FieldsToSet = Annotated[
    Mapping[str, Any],
    Say(
        "Fields of the item, such as title and tags.",
        kind="fields",
        argument=False,
        example={"title": "Keys", "tags": ["security"]},
    ),
]
KeepAs = Annotated[
    str | Ref,
    Say(
        "The ref; otherwise it is made from the title or first words.",
        name="as", http="ref", shown="REF", longest=REF_TEXT,
    ),
]  # fmt: skip
Links = Annotated[
    Sequence[tuple[str, str | Ref]],
    Say(
        "Link it to an item (repeatable); types: mentions, relates_to, supersedes, or a word of your own.",
        name="link", http="links", shown="TYPE REF",
    ),
]  # fmt: skip
TellWhen = Annotated[
    str, Say("Tell it when a prompt is about this.", shown="WHAT", longest=NAME_TEXT, plugin="reminders")
]
TellAgainAfter = Annotated[
    str,
    Say(
        "With --when: tell it again after this long at the earliest (default 1d).",
        shown="SPAN", longest=DATE_TEXT, example="7d", plugin="reminders",
    ),
]  # fmt: skip
TellTimes = Annotated[int, Say("With --when: tell it so often at most (default 0: always).", 0, plugin="reminders")]
Cites = Annotated[
    Sequence[str],
    Say(
        "It rests on this, besides what its text names (repeatable): a file or lines of this project, a symbol, a"
        " command, a stored item or page.",
        name="cite", http="cites", shown="WHAT", longest=REF_TEXT,
    ),
]  # fmt: skip
AllowSecrets = Annotated[bool, Say("Do not redact keys, tokens and passwords.")]
DryRun = Annotated[bool, Say("Only say what would be done.")]
Force = Annotated[bool, Say("Replace a file that exists.")]
Wait = Annotated[
    bool,
    Say(
        "Make vectors now (default), or later with embed.",
        not_on={"http": "the server makes them afterwards", "mcp": "the server makes them afterwards"},
    ),
]
WhoSays = Annotated[Writer, Say("Who says it.", not_on={"mcp": "what an agent writes is the agent's"})]
IfTaken = Annotated[OnConflict, Say("What to do if the ref exists.")]
IfDuplicate = Annotated[OnDuplicate, Say("What to do if nearly the same, or the contrary, is stored.")]
Prune = Annotated[bool, Say("Also remove items whose file is gone.")]
