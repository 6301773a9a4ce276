"""Turns stored items back into sessions and turns."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from ricordo.values.items import Item
from ricordo.values.sessions import Session, SessionFacets, ThreadSpan, Turn, TurnFacets


def session_of(item: Item, span: ThreadSpan, turns: tuple[Turn, ...] = ()) -> Session:
    """The session that an item holds."""
    metadata = item.fields.metadata
    return Session(
        item.fields.thread or item.ref.path[1:],
        str(item.ref),
        SessionFacets(
            item.title,
            item.fields.description,
            **{name: _texts(metadata.get(name)) for name in ("keywords", "entities", "topics", "tools", "files")},
        ),
        span.count,
        span.first or item.created_at,
        span.last or item.updated_at,
        item.fields.source_adapter or "",
        str(metadata.get("folder", "")),
        str(metadata.get("branch", "")),
        str(metadata.get("path", "")),
        turns,
    )


def turn_of(item: Item) -> Turn:
    """The turn that an item holds."""
    metadata = item.fields.metadata
    return Turn(
        str(item.ref),
        item.fields.seq or 0,
        str(metadata.get("role", "")),
        str(metadata.get("direction", "")),
        _time(metadata.get("at")) or item.created_at,
        item.content,
        str(metadata.get("tool", "")),
        _texts(metadata.get("files")),
        facets_in(metadata),
    )


def facets_in(metadata: Mapping[str, Any]) -> TurnFacets:
    """How a turn judges the answer before it; neutral if nothing is recorded."""
    facets = metadata.get("facets")
    if not isinstance(facets, Mapping):
        return TurnFacets()
    mood = facets.get("sentiment")
    return TurnFacets(
        float(mood) if isinstance(mood, (int, float)) else 0.0,
        **{name: facets.get(name) is True for name in ("correction", "frustration", "praise")},
    )


def _texts(value: object) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, (list, tuple)) else ()


def _time(value: object) -> datetime | None:
    try:
        return datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
