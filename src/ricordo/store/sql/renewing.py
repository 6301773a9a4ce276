"""Brings the words of a store up to date that was made by a Ricordo which cut or stemmed them otherwise; once."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import groupby

from ricordo.patterns import late
from ricordo.store.prepare import kept_language
from ricordo.store.sql.database import Connection, Database
from ricordo.text.languages import passage_languages
from ricordo.text.scripts import JOINING
from ricordo.text.words import Analyzer

WORDS = "words"
"""The name under which a store notes by which rules its words were made."""
WORDS_VERSION = 2
"""The rules of now: marks belong to words, and passages are stemmed in their own language."""
_MADE_OTHERWISE = late(rf"[{JOINING}ıłøđæœ\u0370-\u1fff]", re.IGNORECASE)
"""What is in a text whose words are other ones by these rules, besides those in a language of their own."""


def renew_words(database: Database, analyzer: Analyzer, rebuild: Callable[[], None]) -> None:
    """Note the languages of passages, and index the words again where that changes any.

    That it was done is noted at the end: if it was interrupted, the next process that opens the store begins again.
    """
    with database.write() as connection:
        if connection.meta(WORDS) == WORDS_VERSION:
            return  # another process was faster
        changes = _note_languages(connection, analyzer)
    if changes:
        rebuild()
    with database.write() as connection:
        connection.set_meta(WORDS, WORDS_VERSION)


def _note_languages(connection: Connection, analyzer: Analyzer) -> bool:
    """Write down the language of every passage; returns whether the words of any are other ones now."""
    changes = False
    rows = connection.rows("SELECT item, id, heading, text FROM chunks WHERE state < 2 ORDER BY item, id")
    found: list[tuple[str, int]] = []
    for _, group in groupby(rows, key=lambda row: row[0]):
        passages = list(group)
        texts = [text for *_, text in passages]
        codes = passage_languages("\n".join(texts), texts)
        for (_, chunk, heading, text), code in zip(passages, codes, strict=True):
            kept = kept_language(code, analyzer)
            if kept:
                found.append((kept, chunk))
            changes = changes or bool(kept) or bool(_MADE_OTHERWISE.search(f"{heading}\n{text}"))
    connection.run_many("UPDATE chunks SET language=? WHERE id=?", found)
    return changes
