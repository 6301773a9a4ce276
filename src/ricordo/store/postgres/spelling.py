"""What words that occur nowhere most likely mean. The words that may be meant come with the answer to a search."""

from __future__ import annotations

from collections.abc import Sequence

from ricordo.store.asking import Ask
from ricordo.store.sql.protocols import Values
from ricordo.text.spelling import MOST_LIKELY, MOST_LOOKED_UP, likely_words


def known_words(ask: Ask) -> tuple[str, Values]:
    """The part of a statement that lists the words, with their terms, that the unknown ones of an ask may mean.

    These are words in use with the same first letter and about the same length; codes may be longer, and words of other
    scripts may end otherwise.
    """
    written = [word for word in ask.words if word.written]
    return (
        "SELECT json_agg(DISTINCT jsonb_build_array(v.word, v.term))"
        " FROM unnest(?::text[], ?::text[], ?::bool[], ?::bool[]) u(word, term, code, ascii)"
        " JOIN vocabulary v ON v.word >= left(u.word, 1) AND v.word < left(u.word, 1) || ?"
        " AND CASE WHEN u.code THEN starts_with(v.word, u.word)"
        " ELSE NOT u.ascii OR abs(length(v.word) - length(u.word)) <= 2 END"
        " JOIN term_counts t ON t.term = v.term AND t.passages > 0"
        " WHERE u.term NOT IN (SELECT label FROM idfs WHERE df > 0)",
        (
            [word.written for word in written],
            [word.term for word in written],
            [any(sign.isdigit() for sign in word.written) for word in written],
            [word.written.isascii() for word in written],
            "\U0010ffff",
        ),
    )


def respelled(unknown: Sequence[str], words: Sequence[Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """For words that occur nowhere, the index terms that they most likely mean."""
    known: dict[str, list[str]] = {}
    for known_word, term in words:
        known.setdefault(known_word, []).append(term)
    found: dict[str, tuple[str, ...]] = {}
    for word in unknown:
        near = (one for one in known if one[0] == word[0])
        likely = dict.fromkeys(term for one in likely_words(word, near, MOST_LOOKED_UP) for term in known[one])
        if likely:
            found[word] = tuple(likely)[:MOST_LIKELY]
    return found
