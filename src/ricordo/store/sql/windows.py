"""What lowers the value of an item: from when until when it holds, and the branch that it was saved on."""

from __future__ import annotations

import json

from ricordo.store.asking import Window
from ricordo.values import provenance
from ricordo.values.provenance import Provenance

DATED_FIELDS = (
    """CASE WHEN instr(i.fields, '"valid_from": "') > 0 OR instr(i.fields, '"valid_until": "') > 0 THEN i.fields END"""
)
"""The fields of an item, if dates may stand in them that say when it holds: most items have none."""


HAS_BRANCH = """instr(i.provenance, '"branch": "') > 0"""
MARKED_BRANCH = f"CASE WHEN {HAS_BRANCH} THEN i.provenance END"
"""Who wrote an item, if it was saved on a branch: most were not."""


def said_of(text: str) -> Provenance:
    """Who wrote an item, given what the store keeps of it."""
    return provenance.read(text)


def window_of(text: str) -> Window:
    """From when and until when an item holds, given the JSON of its fields."""
    fields = json.loads(text)
    return fields.get("valid_from"), fields.get("valid_until")
