"""The shapes of answers, as OpenAPI describes them. Answers are made directly from the engine's values, so that new
fields appear without a change here; tests check that they fit these shapes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

from ricordo.verbs.rows import VerbRow


class Shape(BaseModel):
    """An answer; it may hold more than is named here."""

    model_config = ConfigDict(extra="allow")


def _shape(name: str, doc: str, fields: Mapping[str, Any] = {}) -> type[Shape]:
    """A shape of fields by their types; of a pair, the second is the default. All others are required."""
    made: dict[str, Any] = {}
    for names, kind in fields.items():
        made |= dict.fromkeys(names.split(), kind if isinstance(kind, tuple) else (kind, ...))
    return create_model(name, __base__=Shape, __doc__=doc, **made)


def _list(shape: type[Shape]) -> Any:
    return list[shape]  # type: ignore[valid-type]


def _optional(shape: type[Shape]) -> Any:
    return shape | None


ErrorPart = _shape(
    "ErrorPart",
    "What went wrong, in a stable code, a message, and a hint what to do next.",
    {"code": (str, Field(examples=["not_found"])), "message hint": str},
)
Failure = _shape("Failure", "The one shape of every failure.", {"error": ErrorPart})
EvidenceShape = _shape(
    "EvidenceShape",
    "A passage, with its first and last line in the original.",
    {"lines": (list[int], Field(min_length=2, max_length=2)), "heading place text": str, "score": float},
)
HitShape = _shape(
    "HitShape",
    "One ranked item.",
    {
        "ref id title description kind tier snippet": str,
        "domain severity": str | None,
        "tags": list[str],
        "score fit": float | None,
        "lines": list[int],
        "token_estimate": int,
        "evidence": _list(EvidenceShape),
        "item explain": (dict[str, Any] | None, None),
    },
)
MetaShape = _shape(
    "MetaShape",
    "How an answer was found.",
    {
        "candidates returned": int,
        "milliseconds": float,
        "profile": str,
        "weights": dict[str, float],
        "tiers degraded notes": list[str],
        "fit": float | None,
    },
)
AnswerShape = _shape("AnswerShape", "Ranked hits.", {"hits": _list(HitShape), "meta": MetaShape})
ItemShape = _shape(
    "ItemShape",
    "An item; lists leave its content out.",
    {
        "ref id kind title description state content_hash created_at updated_at": str,
        "version": int,
        "tags": list[str],
        "content": (str | None, None),
        "metadata": dict[str, Any],
    },
)
ItemsShape = _shape(
    "ItemsShape",
    "A page of a list, and how many there are in all.",
    {"items": _list(ItemShape), "total limit offset": int},
)
SavedShape = _shape(
    "SavedShape",
    "The result for one text.",
    {
        "ref": str,
        "status": Literal["created", "updated", "skipped", "failed", "needs_decision"] | str,
        "id content_hash": str | None,
        "version previous_version": int | None,
    },
)
SavedManyShape = _shape(
    "SavedManyShape",
    "The results for several items.",
    {"created updated skipped failed": int, "items": _list(SavedShape), "notes": list[str]},
)
VersionShape = _shape(
    "VersionShape",
    "One version of an item.",
    {"version size": int, "previous": int | None, "content_hash created_at ref kind": str, "is_head": bool},
)
HistoryShape = _shape(
    "HistoryShape", "An item's versions, the newest first.", {"ref": str, "versions": _list(VersionShape)}
)
DiffShape = _shape("DiffShape", "A unified diff.", {"diff": str})
PassagesShape = _shape("PassagesShape", "The passages of an item.", {"passages": _list(EvidenceShape)})
NodeShape = _shape(
    "NodeShape", "A folder of refs.", {"name path": str, "items": int, "children": (list[dict[str, Any]], [])}
)
MatchesShape = _shape("MatchesShape", "Lines that a pattern matches.", {"matches": list[dict[str, Any]]})
LinksShape = _shape(
    "LinksShape",
    "The links around an item.",
    {"ref": str, "depth": int, "links": list[dict[str, Any]], "unresolved": list[str]},
)
LinkShape = _shape("LinkShape", "One link.", {"source target type origin": str})
ExplanationShape = _shape(
    "ExplanationShape",
    "Why an item is where it is, or why it is not found.",
    {"query ref reason": str, "found": bool, "rank": int | None, "hit": _optional(HitShape)},
)
ContextShape = _shape(
    "ContextShape",
    "What an agent should know for a task.",
    {"text": str, "tokens budget": int, "parts left_out": list[dict[str, Any]], "warnings": list[str]},
)
SkillsShape = _shape("SkillsShape", "Skills, without their texts.", {"skills": list[dict[str, Any]]})
SessionShape = _shape("SessionShape", "A session.", {"id ref title": str, "turn_count": int})
SessionsShape = _shape("SessionsShape", "Sessions, the latest first.", {"sessions": _list(SessionShape)})
TimelineShape = _shape(
    "TimelineShape", "What happened.", {"since": str | None, "more": bool, "events": list[dict[str, Any]]}
)
RoutesShape = _shape(
    "RoutesShape", "Points in sessions to fork from.", {"task": str, "routes": list[dict[str, Any]], "notes": list[str]}
)
FeedbackShape = _shape(
    "FeedbackShape", "What a verdict did.", {"query ref verdict": str, "counted": bool, "changes": list[dict[str, Any]]}
)
TaskShape = _shape(
    "TaskShape",
    "Long work; ``result`` is the answer of the verb once it is done.",
    {
        "id verb about created": str,
        "state": Literal["waiting", "running", "done", "failed"],
        "progress": dict[str, Any] | None,
        "result": Any,
        "error": _optional(ErrorPart),
        "ended": str | None,
    },
)
TasksShape = _shape("TasksShape", "Tasks since the server began, the newest first.", {"tasks": _list(TaskShape)})
StatusShape = _shape(
    "StatusShape",
    "What the store holds and how it is.",
    {"store": str, "items chunks": int, "kinds drives": dict[str, int]},
)
StatsShape = _shape(
    "StatsShape",
    "What was asked and found.",
    {
        "days": float,
        "by": str,
        "queries": int,
        "rows zero_result most_retrieved": list[dict[str, Any]],
        "never_retrieved": list[str],
    },
)
ListOf = _shape("ListOf", "Several things of one kind under one name.")
CountShape = _shape("CountShape", "How many.", {"count": int})
TokensShape = _shape(
    "TokensShape", "Tokens and signed-in browsers, without their secrets.", {"tokens": list[dict[str, Any]]}
)
TokenShape = _shape(
    "TokenShape", "A token that was just made; its secret is shown only now.", {"id name scope token": str}
)
HealthShape = _shape("HealthShape", "The server is up.", {"status": Literal["ok"], "version": str})

BY_VALUE: Mapping[str, type[Shape]] = {
    "AddReport": SavedManyShape,
    "Answer": AnswerShape,
    "ContextReport": ContextShape,
    "Explanation": ExplanationShape,
    "FeedbackReport": FeedbackShape,
    "Versions": HistoryShape,
    "Item": ItemShape,
    "Link": LinkShape,
    "Listing": ItemsShape,
    "LinkReport": LinksShape,
    "RemovalReport": SavedManyShape,
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
    "matches": MatchesShape,
    "passages": PassagesShape,
    "sessions": SessionsShape,
    "skills": SkillsShape,
}
"""The same, by the name under which a list or a number stands in the answer."""


def shape_of(row: VerbRow) -> type[Shape]:
    """How the answer of a verb looks."""
    if row.path == "status":
        return StatusShape
    return BY_ANSWER.get(row.answers) or BY_VALUE.get(row.returns, ListOf)
