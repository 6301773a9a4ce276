"""How the PostgreSQL store answers an ask: one statement, whose answer fills the same pool as in the SQLite store.

Some checks are done in Python: phrases in texts, and words that share a stem. Linked items and TF-IDF, which one
profile needs, cost a second trip; so do texts that contain the query as a substring, if no word was found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ricordo.errors import ContractError
from ricordo.store.asking import MATCHES, NEWEST, Ask, Candidates
from ricordo.store.postgres import asking_sql as sql
from ricordo.store.postgres import judging
from ricordo.store.postgres.connection import unescaped
from ricordo.store.postgres.opened import Opened
from ricordo.store.sqlite import items, links
from ricordo.store.sqlite.briefs import window_of
from ricordo.store.sqlite.filters import where
from ricordo.store.sqlite.lessons import feedback_priors
from ricordo.store.sqlite.matches import Matches, VectorMatches
from ricordo.store.sqlite.pool import GatheredPool
from ricordo.text.words import fold
from ricordo.values.items import Item
from ricordo.values.use_scores import feedback_prior

MOST_RESPELLED = 1_000


class Gathering:
    """Answers one ask, with one connection, as the store is at one moment."""

    def __init__(self, opened: Opened, connection: Any, ask: Ask) -> None:
        self.opened = opened
        self.connection = connection
        self.ask = ask
        self.pool = GatheredPool()
        self.answer: dict[str, Any] = {}
        self.barred: list[int] = []
        self.respelled: dict[str, tuple[str, ...]] = {}

    def candidates(self) -> Candidates:
        """Everything that was found, with what the ranking needs to know about it."""
        ask, pool = self.ask, self.pool
        self.barred = judging.barred_by_phrases(self.connection, ask) if ask.excluded_phrases else []
        if ask.find == MATCHES:
            self._take_both_sides()
            pool.total = max(pool.total, len(pool))
        else:
            if ask.find == NEWEST:
                self._take_newest()
            else:
                self._take_substrings()
            pool.total = len(pool)
            self._ask_about(pool.numbers, joining=bool(ask.needs.thread_reach))
        near = _pairs(self.answer.get("neighbours"))
        self._join([n for n in _numbers(self.answer.get("joined")) if n not in pool])
        distances = self._join_linked() if ask.needs.link_seeds else {}
        return self.answered(near, distances)

    def _take_both_sides(self) -> None:
        ask, pool = self.ask, self.pool
        by_word = ask.by_word or bool(ask.phrases)
        limit = ask.per_side
        while True:
            self.run(limit, by_word=by_word)
            if not by_word:
                break
            if not self.respelled and self._respell():
                continue  # ask again, with the words that were most likely meant
            matches = self._matches()
            total = matches.total
            checked = judging.verified(ask, matches, self.answer["lexical"] or [], self._items)
            if checked is matches or len(set(checked.items.tolist())) >= limit or len(matches.chunks) >= total:
                break
            limit *= 4
        if ask.vector is not None and not ask.phrases:
            pool.add_cosines(cosines_of(self.answer["near"]))
        if by_word:
            pool.take_matches(checked)
            if any(word.spelled for word in ask.words):
                pool.take_back(judging.lost_to_other_words(ask, self.answer["lexical"] or [], pool.maximum))
            times = ask.as_of is not None or ask.filters.states == ("archived",)
            if not self.answer.get("lexical") and not times and not ask.excluded:
                pool.by_substring = self._take_substrings()
                if pool.by_substring:
                    self._ask_about(pool.numbers, joining=False)
        if ask.vector is not None:
            kept = cosines_of(self.answer.get("cosines"))
            inside = np.array([n in pool for n in kept.items.tolist()], bool)
            pool.add_cosines(VectorMatches(kept.chunks[inside], kept.items[inside], kept.cosines[inside]))
            pool.fill_missing_cosines()

    def run(self, limit: int, *, by_word: bool) -> None:
        """Ask the server: everything in one statement."""
        ask = self.ask
        statement = sql.Statement()
        limited, seen = sql.add_conditions(statement, ask, self.barred)
        sides = []
        answers: dict[str, str] = {}
        after: list[Any] = []
        if by_word:
            sql.add_words(statement, ask, seen, self.respelled)
            sql.add_scores(statement, ask, limited=limited, seen=seen, respelled=self.respelled)
            sql.add_best(statement, limit)
            sides.append("matched")
        vectors = self._vectors() if ask.vector is not None else None
        if vectors is not None and not ask.phrases:
            sql.add_nearest(statement, vectors, ask, limited=limited, seen=seen)
            sides.append("near")
        sql.add_pool(statement, ask, sides, limited=limited)
        if by_word:
            answers["lexical"] = self._lexical_sql(seen)
            answers["joined_lexical"] = sql.SCORES.format(items="SELECT item FROM joined")
            answers["words"] = sql.WORDS
            answers["total"] = "SELECT count(*) FROM scored"
            if ask.prefixes:
                answers["prefixes"] = sql.PREFIXES.format(plain=len(ask.words))
        if "near" in sides:
            answers["near"] = "SELECT json_agg(json_build_array(chunk, item, cosine)) FROM near"
        if vectors is not None and ask.vector is not None:
            answers["cosines"] = sql.COSINES.format(number=vectors.number, counted=sql.visible("c", seen, "id"))
            after.append(sql.as_text(ask.vector.values))
        self._add_needs(answers, after)
        rows = self.connection.rows(statement.text(answers), (*statement.values, *after))
        self.answer = {"near": None, **rows[0][0]}

    def _respell(self) -> bool:
        """Find what words that occur nowhere most likely mean; returns whether there is anything."""
        ask = self.ask
        if not ask.by_word or ask.as_of is not None or ask.filters.states == ("archived",):
            return False
        held = {label for _, label, _, _, df, _ in self.answer["words"] or [] if df}
        unknown = [word.written for word in ask.words if word.written and word.term not in held]
        self.respelled = judging.respelled(self.connection, unknown) if unknown else {}
        if len(self.opened.respelled) > MOST_RESPELLED:
            self.opened.respelled.clear()
        self.opened.respelled.update(self.respelled)
        return bool(self.respelled)

    def _lexical_sql(self, seen: str) -> str:
        """The best chunks, and those of the items that the other side found; with texts where they must be read."""
        ask = self.ask
        texts = ""
        if judging.reads_texts(self.ask) or any(word.spelled for word in ask.words):
            texts = ", (SELECT json_build_array(c.heading, c.text) FROM chunks c WHERE c.id = s.chunk)"
            if any(word.spelled for word in ask.words):
                shares, x = sql.shares(ask, seen, self.respelled)
                texts += f", (SELECT json_object_agg(i.label, {x}) FROM {shares} WHERE h.chunk = s.chunk)"
        return (
            f"SELECT json_agg(json_build_array(chunk, item, score, {sql.COVERAGE}{texts}) ORDER BY score DESC, chunk)"
            " FROM (SELECT chunk, item, score, held FROM matched UNION"
            " SELECT chunk, item, score, held FROM scored WHERE item IN (SELECT item FROM pool)) s"
        )

    def _add_needs(self, answers: dict[str, str], after: list[Any]) -> None:
        ask, needs = self.ask, self.ask.needs
        answers["neighbours"] = "SELECT json_agg(json_build_array(n, other, away)) FROM neighbours"
        answers["joined"] = "SELECT json_agg(item) FROM joined"
        if needs.items or needs.tfidf or judging.reads_texts(self.ask):
            answers["items"] = sql.ITEMS
        answers["refs"] = sql.REFS.format(when="?")
        from ricordo.store.sqlite.times import micros

        after.append(micros(ask.as_of) if ask.as_of is not None else 0)
        if needs.feedback:
            answers["feedback"] = sql.FEEDBACK
        if needs.learned_by:
            answers["learned"] = "SELECT shift FROM learned WHERE profile = ?"
            after.append(needs.learned_by)
        answers["active"] = "SELECT name FROM fingerprints WHERE active"
        if ask.model:
            answers["waiting"] = (
                "SELECT count(*) FROM jobs j JOIN fingerprints f ON f.id = j.fingerprint WHERE f.name = ?"
            )
            after.append(ask.model)

    def _vectors(self) -> sql.VectorIndex | None:
        vector = self.ask.vector
        assert vector is not None, "asked only where there is one"
        known = self.opened.fingerprint(self.connection, vector.fingerprint)
        if known is None:
            return None
        if known.dimensions != len(vector.values):
            raise ContractError(
                f"the query vector has {len(vector.values)} numbers, the stored ones {known.dimensions}",
                hint="The embedder changed without changing its fingerprint; run 'ricordo reembed'.",
            )
        return known

    def _matches(self) -> Matches:
        """What the keyword side found, as arrays."""
        rows = self.answer["lexical"] or []
        words = self.answer["words"] or []
        attainable = {place: idf * weight for place, _, weight, _, _, idf in words}
        maximum = sum(attainable.values())
        here = sum(attainable[place] for place, _, _, _, df, _ in words if df)
        return Matches(
            np.array([row[0] for row in rows], np.int64),
            np.array([row[1] for row in rows], np.int64),
            np.array([row[2] for row in rows], np.float64),
            maximum,
            self.answer["total"],
            {label: idf for _, label, _, _, _, idf in words},
            np.array([row[3] or 0.0 for row in rows], np.float64),
            here / maximum if maximum else 1.0,
        )

    def _take_substrings(self) -> bool:
        """Take in the texts that hold the query as it is written, newest items first; returns whether there are any."""
        ask = self.ask
        wanted = fold(ask.text.strip())
        if not wanted:
            return False
        condition, values = where(ask.filters)
        rows = self.connection.rows(
            "SELECT min(c.id), c.item FROM chunks c JOIN items i ON i.n = c.item WHERE c.state = 0"
            f" AND strpos(folded(c.text), ?) > 0 AND {condition} AND i.n <> ALL(?)"
            " GROUP BY c.item, i.updated_at ORDER BY i.updated_at DESC, min(c.id) LIMIT ?",
            (wanted, *values, self.barred, ask.per_side),
        )
        self.pool.add_substrings([(chunk, n) for chunk, n in rows])
        return bool(rows)

    def _take_newest(self) -> None:
        """Everything that passes the filters and holds nothing that is excluded, newest first."""
        ask = self.ask
        statement = sql.Statement()
        limited, _ = sql.add_conditions(statement, ask, self.barred)
        if limited:
            steps = f"WITH {', '.join(statement.steps)} "
            condition, values = "i.n IN (SELECT n FROM allowed)", statement.values
        else:
            steps = ""
            condition, values = where(ask.filters)
        rows = self.connection.rows(
            f"{steps}SELECT i.n FROM items i WHERE {condition} ORDER BY i.updated_at DESC, i.drive, i.path LIMIT ?",
            (*values, ask.per_side),
        )
        self.pool.add([n for (n,) in rows])

    def _ask_about(self, numbers: Sequence[int], *, joining: bool) -> None:
        """Ask for the values of items that neither words nor vectors found."""
        ask = self.ask
        statement = sql.Statement()
        limited, seen = sql.add_conditions(statement, ask, self.barred)
        statement.step("found", "SELECT unnest(?::bigint[]) AS item", (list(numbers),))
        sql.add_pool(statement, ask, ["found"], limited=limited)
        answers: dict[str, str] = {}
        after: list[Any] = []
        vectors = self._vectors() if ask.vector is not None else None
        if vectors is not None and ask.vector is not None:
            answers["cosines"] = sql.COSINES.format(number=vectors.number, counted=sql.visible("c", seen, "id"))
            after.append(sql.as_text(ask.vector.values))
        self._add_needs(answers, after)
        rows = self.connection.rows(statement.text(answers), (*statement.values, *after))
        self.answer |= rows[0][0]

    def _join(self, numbers: Sequence[int]) -> None:
        """Add items that neither side found, with their values."""
        ask, pool = self.ask, self.pool
        if not numbers:
            return
        wanted = set(numbers)
        if ask.by_word or ask.phrases:
            rows = [row for row in self.answer.get("joined_lexical") or [] if row[1] in wanted]
            scored = Matches(
                np.array([row[0] for row in rows], np.int64),
                np.array([row[1] for row in rows], np.int64),
                np.array([row[2] for row in rows], np.float64),
                pool.maximum,
                len(rows),
                coverage=np.array([row[3] or 0.0 for row in rows], np.float64),
            )
            pool.add_scores(scored, joined=True)
            if ask.phrases:
                wanted &= {row[1] for row in rows}
        pool.add([n for n in numbers if n in wanted], joined=True)
        if ask.vector is not None:
            kept = [row for row in self.answer.get("cosines") or [] if row[1] in wanted]
            pool.add_cosines(cosines_of(kept))
            pool.fill_missing_cosines()

    def _join_linked(self) -> Mapping[int, int]:
        """Items linked with the best candidates: found by a walk, then asked about like the others."""
        needs, pool = self.ask.needs, self.pool
        seeds = pool.best(needs.link_seeds)
        distances = links.neighbours(self.connection, seeds, needs.link_depth) if seeds else {}
        new = [n for n in distances if n not in pool]
        if new:
            self._ask_values_of(new)
        return distances

    def _ask_values_of(self, numbers: Sequence[int]) -> None:
        ask = self.ask
        statement = sql.Statement()
        limited, seen = sql.add_conditions(statement, ask, self.barred)
        inside = " WHERE item IN (SELECT n FROM allowed)" if limited else ""
        statement.step("pool", f"SELECT item FROM unnest(?::bigint[]) item{inside}", (list(numbers),))
        statement.step("joined", "SELECT NULL::bigint AS item LIMIT 0")
        answers: dict[str, str] = {"joined": "SELECT json_agg(item) FROM pool", "items": sql.ITEMS}
        after: list[Any] = []
        if ask.by_word or ask.phrases:
            sql.add_words(statement, ask, seen, self.respelled)
            sql.add_scores(statement, ask, limited=limited, seen=seen, respelled=self.respelled)
            answers["joined_lexical"] = sql.SCORES.format(items="SELECT item FROM pool")
        vectors = self._vectors() if ask.vector is not None else None
        if vectors is not None and ask.vector is not None:
            answers["cosines"] = sql.COSINES.format(number=vectors.number, counted=sql.visible("c", seen, "id"))
            after.append(sql.as_text(ask.vector.values))
        answers["refs"] = sql.REFS.format(when="?")
        after.append(0)
        found = self.connection.rows(statement.text(answers), (*statement.values, *after))[0][0]
        earlier = {name: self.answer.get(name) or [] for name in ("items", "refs")}
        self.answer |= found | {name: [*rows, *(found.get(name) or [])] for name, rows in earlier.items()}
        self._join(_numbers(found["joined"]))

    def _items(self) -> dict[int, Item]:
        rows = self.answer.get("items") or []
        return {
            row[0]: items.item_of(tuple(unescaped(one) if isinstance(one, str) else one for one in row)) for row in rows
        }

    def answered(self, near: Mapping[int, list[tuple[int, int]]], distances: Mapping[int, int]) -> Candidates:
        ask, pool, needs, answer = self.ask, self.pool, self.ask.needs, self.answer
        known = {n: item for n, item in self._items().items() if n in pool}
        rows = answer.get("refs") or []
        refs = {n: unescaped(ref) for n, ref, *_ in rows}
        versions = {n: version for n, _, version, _ in rows if version is not None}
        feedback: Mapping[int, float] = {}
        if needs.feedback:
            counts: dict[int, dict[str, int]] = {n: {} for n in pool.numbers}
            for n, verdict, count in answer.get("feedback") or []:
                counts.setdefault(n, {})[verdict] = count
            feedback = {n: feedback_prior(given) for n, given in counts.items()}
            if distances:
                feedback = feedback_priors(self.connection, pool.numbers)
        active = answer.get("active")
        if active != self.opened.active:
            self.opened.active = active
            self.opened.forget_fingerprints()
        return Candidates(
            pool.candidates(refs, versions if ask.as_of else {}),
            pool.total,
            pool.maximum,
            pool.share,
            {},
            pool.has_vectors,
            pool.by_substring,
            tuple(dict.fromkeys(answer.get("prefixes") or ())),
            {n: others for n, others in near.items() if n in pool},
            distances,
            known if needs.items or needs.tfidf else {},
            judging.tfidf(self.connection, self.opened.analyzer, ask, pool, known) if needs.tfidf else {},
            feedback,
            float(answer.get("learned") or 0.0),
            active,
            int(answer.get("waiting") or 0) if active else 0,
            self.respelled,
            {n: window_of(unescaped(dated)) for n, *_, dated in rows if dated is not None},
        )


def cosines_of(rows: Sequence[Sequence[Any]] | None) -> VectorMatches:
    """Cosines as arrays, the nearest first."""
    rows = sorted(rows or [], key=lambda row: -row[2])
    return VectorMatches(
        np.array([row[0] for row in rows], np.int64),
        np.array([row[1] for row in rows], np.int64),
        np.array([row[2] for row in rows], np.float64),
    )


def _numbers(values: Sequence[int] | None) -> list[int]:
    return list(values or [])


def _pairs(rows: Sequence[Sequence[int]] | None) -> dict[int, list[tuple[int, int]]]:
    found: dict[int, list[tuple[int, int]]] = {}
    for n, other, away in rows or []:
        found.setdefault(n, []).append((other, away))
    return found
