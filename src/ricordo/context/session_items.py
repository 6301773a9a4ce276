"""Makes the items in which sessions, turns and checkpoints are stored."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from ricordo.context.checkpoints import goes_on
from ricordo.ingest.pipeline import Incoming
from ricordo.values.items import Item, Parsed, Ref, Saved
from ricordo.values.kinds import CHECKPOINT, SESSION
from ricordo.values.sessions import Checkpoint, SessionEvent, TurnFacets

DRIVE = "session"


def turn_item(
    session: str, seq: int, key: str, event: SessionEvent, text: str, at: datetime, facets: TurnFacets | None
) -> Incoming:
    """An event as an item; ``facets`` is how it takes what came before, None where nobody could tell."""
    metadata: dict[str, Any] = {
        "key": key,
        "role": event.role,
        "direction": event.direction,
        "at": at.isoformat(),
    }
    metadata |= {"tool": event.tool} if event.tool else {}
    metadata |= {"files": list(event.files)} if event.files else {}
    flags = {"request": event.is_request, "aside": event.is_aside, "error": event.is_error}
    metadata |= {name: True for name, held in flags.items() if held}
    if is_spoken(event):
        if facets is None:
            metadata["facets_unread"] = True
        elif not facets.is_neutral():
            metadata["facets"] = facets.to_dict()
        if goes_on(text):
            metadata["goes_on"] = True
    fields: dict[str, Any] = {"thread": session, "seq": seq, "source": "agent", "metadata": metadata}
    ref = Ref(DRIVE, f"/{session}/{seq}")
    return Incoming(ref, Parsed(text), SESSION, fields, times=(at, at), origin=f"session {session}, turn {seq}")


def is_spoken(event: SessionEvent) -> bool:
    """Whether a person said it."""
    return event.role == "user" and not event.is_aside


def at_place(one: Incoming, seq: int) -> Incoming:
    """The same event at another position in its thread."""
    base = one.ref.path.rpartition("/")[0]
    origin = f"{one.origin.rpartition(' ')[0]} {seq}"
    return replace(one, ref=Ref(DRIVE, f"{base}/{seq}"), fields={**one.fields, "seq": seq}, origin=origin)


def point_item(point: Checkpoint, folder: str) -> Incoming:
    """A checkpoint as an item. It is named by the position of its request, because how far the work got may change."""
    metadata = {
        "turn": point.turn,
        "request": point.request,
        "files": list(point.files),
        "folder": folder,
    }
    fields = {
        "title": point.title,
        "category": CHECKPOINT,
        "source": "agent",
        "thread": point.session,
        "metadata": {name: value for name, value in metadata.items() if value},
    }
    at = point.at or datetime.now(UTC)
    ref = Ref(DRIVE, f"/{point.session}/checkpoints/{point.request}")
    origin = f"session {point.session}, turn {point.turn}"
    return Incoming(ref, Parsed(point.text), SESSION, fields, times=(at, at), origin=origin)


def left_alone(item: Item) -> Saved:
    """The answer for a session that the user removed or forgot: new events do not bring it back."""
    how = "removed" if item.state == "deleted" else "forgotten"
    return Saved(str(item.ref), "skipped", reason=f"it was {how}; 'ricordo restore {item.ref}' brings it back")
