"""What a ranking needs to know of the pool besides scores, as parts of the answer of one statement."""

from __future__ import annotations

from typing import Any

from ricordo.store.asking import Ask
from ricordo.store.postgres import asking_sql as sql
from ricordo.store.postgres import linked
from ricordo.store.sql.jobs import STRAYS
from ricordo.store.sql.languages import DISTINCT
from ricordo.store.sql.times import micros


def add_needs(ask: Ask, answers: dict[str, str], after: list[Any]) -> None:
    """Add the parts of an answer that an ask needs, and their values."""
    needs = ask.needs
    answers["neighbours"] = "SELECT json_agg(json_build_array(n, other, away)) FROM neighbours"
    answers["joined"] = "SELECT json_agg(item) FROM joined"
    if needs.items or needs.tfidf or ask.phrases or ask.excluded_phrases or (ask.prefixes and not ask.words):
        answers["items"] = sql.ITEMS
    if needs.link_seeds and needs.link_depth <= linked.DEPTH_AT_HAND:
        answers["edges"] = linked.EDGES
    answers["refs"] = sql.REFS.format(version=sql.NO_VERSION if ask.as_of is None else sql.VERSION_AT)
    after += [] if ask.as_of is None else [micros(ask.as_of)]
    if needs.feedback:
        answers["feedback"] = sql.FEEDBACK
    if needs.learned_by:
        answers["learned"] = "SELECT shift FROM learned WHERE profile = ?"
        after.append(needs.learned_by)
    answers["active"] = "SELECT name FROM fingerprints WHERE active"
    answers["languages"] = f"SELECT json_agg(code) FROM ({DISTINCT}) found"
    answers["models"] = sql.MODELS
    if ask.model:
        answers["waiting"] = (
            "SELECT count(*) FROM jobs j JOIN fingerprints f ON f.id = j.fingerprint WHERE f.name IN (?, ?)"
        )
        answers["strays"] = STRAYS
        after += [ask.model, ask.second, ask.model, ask.second]
