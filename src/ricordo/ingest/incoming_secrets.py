"""Taking secrets out of what comes in under the ref of a memory or note, whether it is new or read again.

Files and pages under refs of their own are kept as they are; what counts as a secret is told by ``redact``.
"""

from __future__ import annotations

from dataclasses import replace

from ricordo.ingest.pipeline import Incoming
from ricordo.sources.base import VALIDATORS
from ricordo.store.base import FileState
from ricordo.values.items import Ref
from ricordo.values.kinds import kind_of_drive

_WITH_ORIGIN = frozenset({"disk", "url", "github", "google-docs"})


def kind_of(ref: Ref) -> str:
    """The kind that lives on a drive; everything else is a document."""
    return kind_of_drive(ref.drive)


def without_secrets(one: Incoming, *, allow: bool) -> tuple[Incoming, tuple[str, ...]]:
    """The same without its secrets, and their kinds; files and pages stay as they are, whatever kind they are given."""
    from ricordo.ingest.redact import redact_item

    if one.ref.drive in _WITH_ORIGIN:
        return one, ()
    given = {**one.parsed.fields, **one.fields}
    if one.parsed.title:
        given = {"title": one.parsed.title, **given}
    kind = kind_of(one.ref) if one.kind == "document" else one.kind
    text, fields, found = redact_item(kind, one.parsed.text, given, allow_secrets=allow)
    if not found:
        return one, ()
    parsed = replace(one.parsed, text=text, title="", fields={}, marks=())
    return replace(one, parsed=parsed, fields=fields, file=_state_without(one.file)), found


def _state_without(state: FileState | None) -> FileState | None:
    """What is remembered of a file or page, without the secrets in what it said of itself."""
    from ricordo.ingest.redact import redact_values

    if state is None:
        return None
    said = {name: value for name, value in state.fields.items() if name != VALIDATORS}
    kept = {name: value for name, value in state.fields.items() if name == VALIDATORS}
    return replace(state, fields={**redact_values(said)[0], **kept})
