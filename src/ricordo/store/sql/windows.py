"""From when until when an item holds."""

from __future__ import annotations

import json

from ricordo.store.asking import Window

DATED_FIELDS = (
    """CASE WHEN instr(i.fields, '"valid_from": "') > 0 OR instr(i.fields, '"valid_until": "') > 0 THEN i.fields END"""
)
"""The fields of an item, if dates may stand in them that say when it holds: most items have none."""


def window_of(text: str) -> Window:
    """From when and until when an item holds, given the JSON of its fields."""
    fields = json.loads(text)
    return fields.get("valid_from"), fields.get("valid_until")
