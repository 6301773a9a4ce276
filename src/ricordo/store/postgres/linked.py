"""Items that are linked with the best candidates. The links around all candidates come with their answer, so that only
the values of new items are asked for, together with what TF-IDF needs.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ricordo.store.postgres import asking_sql as sql
from ricordo.store.postgres import judging
from ricordo.store.sqlite import links

if TYPE_CHECKING:
    from ricordo.store.postgres.gathering import Gathering

DEPTH_AT_HAND = 2
"""So many links away an answer reaches; farther ones are asked for step by step."""


_POOL = "SELECT item FROM pool UNION SELECT item FROM joined"
EDGES = (
    "SELECT json_agg(json_build_array(l.source, l.target, s.state = 'live', t.state = 'live')) FROM links l"
    " JOIN items s ON s.n = l.source JOIN items t ON t.n = l.target WHERE l.id IN (SELECT id FROM links WHERE source IN"
    " (SELECT item FROM around) UNION SELECT id FROM links WHERE target IN (SELECT item FROM around) LIMIT 20000)"
)


def add_around(statement: sql.Statement) -> None:
    """The step ``around``: the items of the pool, and those one link away; links of these lead two links away."""
    statement.step(
        "around",
        f"{_POOL} UNION SELECT target FROM links WHERE target IS NOT NULL AND source IN ({_POOL})"
        f" UNION SELECT source FROM links WHERE target IN ({_POOL})",
    )


def join(gathering: Gathering) -> Mapping[int, int]:
    """Add the items that are linked with the best candidates; returns how many links away each is."""
    needs, pool, connection = gathering.ask.needs, gathering.pool, gathering.connection
    seeds = pool.best(needs.link_seeds)
    if not seeds:
        distances: dict[int, int] = {}
    elif needs.link_depth <= DEPTH_AT_HAND:
        edges = gathering.answer.get("edges") or []
        distances = links.walked(seeds, needs.link_depth, lambda frontier: _reached(edges, frontier))
    else:
        distances = links.neighbours(connection, seeds, needs.link_depth)
    new = [n for n in distances if n not in pool]
    asked = [_values_of(gathering, new)] if new else []
    if needs.tfidf:
        asked += judging.asked_for_tfidf(gathering.opened.analyzer, gathering.ask, pool, new)
    if not asked:
        return distances
    found = connection.together(asked)
    if new:
        _take(gathering, found[0][0][0])
    if needs.tfidf:
        gathering.at_hand = judging.AtHand.of(found[-3:])
    return distances


def _reached(edges: Sequence[Sequence[Any]], frontier: Collection[int]) -> set[int]:
    inside = set(frontier)
    forward = {target for source, target, _, target_is_live in edges if source in inside and target_is_live}
    return forward | {source for source, target, source_is_live, _ in edges if target in inside and source_is_live}


def _values_of(gathering: Gathering, numbers: Sequence[int]) -> tuple[str, Sequence[Any]]:
    """The statement for the values of items that are not in the pool yet."""
    ask = gathering.ask
    statement = sql.Statement()
    limited, seen = sql.add_conditions(statement, ask, gathering.barred)
    inside = " WHERE item IN (SELECT n FROM allowed)" if limited else ""
    statement.step("pool", f"SELECT item FROM unnest(?::bigint[]) item{inside}", (list(numbers),))
    statement.step("joined", "SELECT NULL::bigint AS item LIMIT 0")
    answers: dict[str, str] = {"joined": "SELECT json_agg(item) FROM pool", "items": sql.ITEMS}
    after: list[Any] = []
    if ask.by_word or ask.phrases:
        sql.add_words(statement, ask, seen, gathering.respelled)
        sql.add_scores(statement, ask, limited=limited, seen=seen, respelled=gathering.respelled)
        answers["joined_lexical"] = sql.SCORES.format(items="SELECT item FROM pool")
    vectors = gathering.vectors() if ask.vector is not None else None
    if vectors is not None and ask.vector is not None:
        answers["cosines"] = sql.COSINES.format(number=vectors.number, counted=sql.visible("c", seen, "id"))
        after.append(sql.as_text(ask.vector.values))
    answers["refs"] = sql.REFS.format(when="?")
    after.append(0)
    if ask.needs.feedback:
        answers["feedback"] = sql.FEEDBACK
    return statement.text(answers), (*statement.values, *after)


def _take(gathering: Gathering, found: dict[str, Any]) -> None:
    earlier = {name: gathering.answer.get(name) or [] for name in ("items", "refs", "feedback")}
    gathering.answer |= found | {name: [*rows, *(found.get(name) or [])] for name, rows in earlier.items()}
    gathering.join(found["joined"] or [])
