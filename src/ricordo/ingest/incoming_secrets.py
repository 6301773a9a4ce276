"""Removes secrets from what is saved under the ref of a memory or note, new or read again.

Files and pages that keep their own refs are not changed. ``redact`` decides what a secret is.
"""

from __future__ import annotations

from dataclasses import replace

from ricordo.ingest.preparing import Incoming
from ricordo.sources.base import VALIDATORS
from ricordo.store.values import FileState
from ricordo.values.kinds import kind_of_drive

_WITH_ORIGIN = frozenset({"disk", "url", "github", "google-docs"})


def without_secrets(one: Incoming, *, allow: bool) -> tuple[Incoming, tuple[str, ...]]:
    """The item without its secrets, and the kinds of secrets; files and pages are not changed, whatever their kind."""
    from ricordo.ingest.redact import redact_item

    if one.ref.drive in _WITH_ORIGIN:
        return one, ()
    given = {**one.parsed.fields, **one.fields}
    if one.parsed.title:
        given = {"title": one.parsed.title, **given}
    kind = kind_of_drive(one.ref.drive) if one.kind == "document" else one.kind
    text, fields, found = redact_item(kind, one.parsed.text, given, allow_secrets=allow)
    if not found:
        return one, ()
    parsed = replace(one.parsed, text=text, title="", fields={}, marks=())
    return replace(one, parsed=parsed, fields=fields, file=_state_without(one.file)), found


def _state_without(state: FileState | None) -> FileState | None:
    """The remembered state of a file or page, without the secrets in its fields."""
    from ricordo.ingest.redact import redact_values

    if state is None:
        return None
    said = {name: value for name, value in state.fields.items() if name != VALIDATORS}
    kept = {name: value for name, value in state.fields.items() if name == VALIDATORS}
    return replace(state, fields={**redact_values(said)[0], **kept})
