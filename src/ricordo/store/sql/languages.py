"""The languages of passages, in SQL."""

from __future__ import annotations

from collections.abc import Sequence

from ricordo.store.sql.batches import marks
from ricordo.store.values import Languages

DISTINCT = (
    "WITH RECURSIVE found(code) AS (SELECT min(language) FROM chunks WHERE language <> '' UNION ALL"
    " SELECT (SELECT min(language) FROM chunks WHERE language <> '' AND language > code) FROM found"
    " WHERE code IS NOT NULL) SELECT code FROM found WHERE code IS NOT NULL"
)
"""All languages that passages are noted with. It jumps from each to the next in their index, so it reads few rows."""


def in_languages(languages: Languages, column: str = "c.language") -> tuple[str, Sequence[str]]:
    """The condition that a passage is in one of some languages, to be put behind others, and its values."""
    if languages.only is not None:
        return f" AND {column} IN ({marks(languages.only)})", languages.only
    if languages.without:
        return f" AND {column} NOT IN ({marks(languages.without)})", languages.without
    return "", ()
