"""The shapes of answers, as OpenAPI describes them. Answers are made directly from the engine's values, so that new
fields appear without a change here; tests check that they fit these shapes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from ricordo.verbs.rows import VerbRow


class Shape(BaseModel):
    """An answer; it may hold more than is named here."""

    model_config = ConfigDict(extra="allow")


class ErrorPart(Shape):
    """What went wrong, in a stable code, a message, and a hint what to do next."""

    code: str = Field(examples=["not_found"])
    message: str
    hint: str


class Failure(Shape):
    """The one shape of every failure."""

    error: ErrorPart


class EvidenceShape(Shape):
    """A passage, with its first and last line in the original."""

    lines: list[int] = Field(min_length=2, max_length=2)
    heading: str
    place: str
    text: str
    score: float


class HitShape(Shape):
    """One ranked item."""

    ref: str
    id: str
    title: str
    description: str
    kind: str
    domain: str | None
    severity: str | None
    tags: list[str]
    tier: str
    score: float | None
    fit: float | None
    snippet: str
    lines: list[int]
    token_estimate: int
    evidence: list[EvidenceShape]
    item: dict[str, Any] | None = None
    explain: dict[str, Any] | None = None


class MetaShape(Shape):
    """How an answer was found."""

    candidates: int
    returned: int
    milliseconds: float
    profile: str
    weights: dict[str, float]
    tiers: list[str]
    degraded: list[str]
    notes: list[str]
    fit: float | None


class AnswerShape(Shape):
    """Ranked hits."""

    hits: list[HitShape]
    meta: MetaShape


class ItemShape(Shape):
    """An item; lists leave its content out."""

    ref: str
    id: str
    kind: str
    version: int
    title: str
    description: str
    tags: list[str]
    state: str
    content_hash: str
    created_at: str
    updated_at: str
    content: str | None = None
    metadata: dict[str, Any]


class ItemsShape(Shape):
    """A page of a list, and how many there are in all."""

    items: list[ItemShape]
    total: int
    limit: int
    offset: int


class SavedShape(Shape):
    """The result for one text."""

    ref: str
    status: Literal["created", "updated", "skipped", "failed", "needs_decision"] | str
    id: str | None
    version: int | None
    previous_version: int | None
    content_hash: str | None


class SavedManyShape(Shape):
    """The results for several items."""

    created: int
    updated: int
    skipped: int
    failed: int
    items: list[SavedShape]
    notes: list[str]


class VersionShape(Shape):
    """One version of an item."""

    version: int
    previous: int | None
    content_hash: str
    created_at: str
    ref: str
    kind: str
    size: int
    is_head: bool


class HistoryShape(Shape):
    """An item's versions, the newest first."""

    versions: list[VersionShape]


class DiffShape(Shape):
    """A unified diff."""

    diff: str


class PassagesShape(Shape):
    """The passages of an item."""

    passages: list[EvidenceShape]


class NodeShape(Shape):
    """A folder of refs."""

    name: str
    path: str
    items: int
    children: list[dict[str, Any]] = []


class MatchesShape(Shape):
    """Lines that a pattern matches."""

    matches: list[dict[str, Any]]


class LinksShape(Shape):
    """The links around an item."""

    ref: str
    depth: int
    links: list[dict[str, Any]]
    unresolved: list[str]


class LinkShape(Shape):
    """One link."""

    source: str
    target: str
    type: str
    origin: str


class ExplanationShape(Shape):
    """Why an item is where it is, or why it is not found."""

    query: str
    ref: str
    found: bool
    rank: int | None
    reason: str
    hit: HitShape | None


class ContextShape(Shape):
    """What an agent should know for a task."""

    text: str
    tokens: int
    budget: int
    parts: list[dict[str, Any]]
    left_out: list[dict[str, Any]]
    warnings: list[str]


class SkillsShape(Shape):
    """Skills, without their texts."""

    skills: list[dict[str, Any]]


class SessionShape(Shape):
    """A session."""

    id: str
    ref: str
    title: str
    turn_count: int


class SessionsShape(Shape):
    """Sessions, the latest first."""

    sessions: list[SessionShape]


class TimelineShape(Shape):
    """What happened."""

    since: str | None
    more: bool
    events: list[dict[str, Any]]


class RoutesShape(Shape):
    """Points in sessions to fork from."""

    task: str
    routes: list[dict[str, Any]]
    notes: list[str]


class FeedbackShape(Shape):
    """What a verdict did."""

    query: str
    ref: str
    verdict: str
    counted: bool
    changes: list[dict[str, Any]]


class TaskShape(Shape):
    """Long work; ``result`` is the answer of the verb once it is done."""

    id: str
    verb: str
    about: str
    state: Literal["waiting", "running", "done", "failed"]
    progress: dict[str, Any] | None
    result: Any
    error: ErrorPart | None
    created: str
    ended: str | None


class TasksShape(Shape):
    """Tasks since the server began, the newest first."""

    tasks: list[TaskShape]


class StatusShape(Shape):
    """What the store holds and how it is."""

    store: str
    items: int
    chunks: int
    kinds: dict[str, int]
    drives: dict[str, int]


class StatsShape(Shape):
    """What was asked and found."""

    days: float
    by: str
    queries: int
    rows: list[dict[str, Any]]
    zero_result: list[dict[str, Any]]
    most_retrieved: list[dict[str, Any]]
    never_retrieved: list[str]


class ListOf(Shape):
    """Several things of one kind under one name."""


class CountShape(Shape):
    """How many."""

    count: int


class TokensShape(Shape):
    """Tokens and signed-in browsers, without their secrets."""

    tokens: list[dict[str, Any]]


class TokenShape(Shape):
    """A token that was just made; its secret is shown only now."""

    id: str
    name: str
    scope: str
    token: str


class HealthShape(Shape):
    """The server is up."""

    status: Literal["ok"]
    version: str


BY_VALUE: Mapping[str, type[Shape]] = {
    "AddReport": SavedManyShape,
    "Answer": AnswerShape,
    "ContextReport": ContextShape,
    "Explanation": ExplanationShape,
    "FeedbackReport": FeedbackShape,
    "Item": ItemShape,
    "Link": LinkShape,
    "LinkReport": LinksShape,
    "Routes": RoutesShape,
    "Saved": SavedShape,
    "Session": SessionShape,
    "StatsReport": StatsShape,
    "Timeline": TimelineShape,
    "TreeNode": NodeShape,
}
"""The shape of what a verb returns, by the name of its type."""
BY_ANSWER: Mapping[str, type[Shape]] = {
    "count": CountShape,
    "diff": DiffShape,
    "items": ItemsShape,
    "matches": MatchesShape,
    "passages": PassagesShape,
    "sessions": SessionsShape,
    "skills": SkillsShape,
    "versions": HistoryShape,
}
"""The same, by the name under which a list or a number stands in the answer."""


def shape_of(row: VerbRow) -> type[Shape]:
    """How the answer of a verb looks."""
    if row.path == "status":
        return StatusShape
    return BY_ANSWER.get(row.answers) or BY_VALUE.get(row.returns, ListOf)
