"""How the PostgreSQL store answers an ask: one statement, whose answer fills the same pool as in the SQLite store.

Some checks are done in Python: phrases in texts, and words that share a stem. A second trip is made for excluded
phrases, for words that occur nowhere, for texts that contain the query as a substring, and for linked items and TF-IDF,
which one profile needs. Then the answer brings the vectors that the ranking may ask for, so that a whole search makes
three trips at most.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ricordo.store.asking import MATCHES, NEWEST, Ask, Candidates
from ricordo.store.found import CHUNKS_KEPT
from ricordo.store.postgres import asking_sql as sql
from ricordo.store.postgres import judging, linked, spelling
from ricordo.store.postgres import other_asks as others
from ricordo.store.postgres.connection import Connection, unescaped
from ricordo.store.postgres.nearest_sql import add_nearest
from ricordo.store.postgres.nearness import at_hand, cosines_of
from ricordo.store.postgres.open_workspace import OpenWorkspace
from ricordo.store.sql import items
from ricordo.store.sql.jobs import STRAYS
from ricordo.store.sql.languages import DISTINCT
from ricordo.store.sql.matches import Matches, VectorMatches
from ricordo.store.sql.pool import GatheredPool
from ricordo.store.sql.times import micros
from ricordo.store.sql.windows import said_of, window_of
from ricordo.values.items import Item
from ricordo.values.use_scores import feedback_prior

MOST_RESPELLED = 1_000
_ABOUT_ITEMS = ("items", "refs", "feedback", "cosines")


class Gathering:
    """Answers one ask, with one connection, as the store is at one moment."""

    def __init__(self, opened: OpenWorkspace, connection: Connection, ask: Ask) -> None:
        self.opened = opened
        self.connection = connection
        self.ask = ask
        self.pool = GatheredPool()
        self.answer: dict[str, Any] = {}
        self.barred: list[int] = []
        self.respelled: dict[str, tuple[str, ...]] = {}
        self.at_hand = judging.AtHand()
        self.asked_before = False
        """Whether a trip was made already; then the next answer brings the vectors that the ranking may ask for."""

    def candidates(self) -> Candidates:
        """Everything that was found, with what the ranking needs to know about it."""
        ask, pool = self.ask, self.pool
        self.connection.vectors_at_hand = None
        self.barred = judging.barred_by_phrases(self.connection, ask) if ask.excluded_phrases else []
        self.asked_before = bool(ask.excluded_phrases)
        if ask.find == MATCHES:
            self._take_both_sides()
            pool.total = max(pool.total, len(pool))
        elif ask.find == NEWEST:
            self._ask_about(others.newest)
            pool.add([n for _, n in self.answer["found"] or []])
            pool.total = len(pool)
        else:
            self._take_substrings()
            pool.total = len(pool)
        near = _pairs(self.answer.get("neighbours"))
        self._join([n for n in self.answer.get("joined") or [] if n not in pool])
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
        vectors = self.vectors()
        if vectors and not ask.phrases:
            add_nearest(statement, vectors, ask, limited=limited, seen=seen)
            sides.append("near")
        sql.add_pool(statement, ask, sides, limited=limited)
        if ask.needs.link_seeds:
            linked.add_around(statement)
        if by_word:
            answers["lexical"] = self._lexical_sql(statement, seen)
            answers["joined_lexical"] = sql.SCORES.format(items="SELECT item FROM joined")
            answers["words"] = sql.WORDS
            answers["total"] = "SELECT count(*) FROM scored"
            answers["item_total"] = "SELECT count(DISTINCT item) FROM scored"
            if ask.prefixes:
                answers["prefixes"] = sql.PREFIXES.format(plain=len(ask.words))
            if self._may_respell():
                answers["spellings"], values = spelling.known_words(ask)
                after += values
        if "near" in sides:
            answers["near"] = "SELECT json_agg(json_build_array(chunk, item, cosine)) FROM near"
        if vectors:
            answers["cosines"], values = sql.cosines(vectors, sql.visible("c", seen, "id"))
            after += values
        self._add_needs(answers, after)
        self.answer = {"near": None} | self._asked(statement, answers, after)

    def _asked(self, statement: sql.Statement, answers: dict[str, str], after: Sequence[Any]) -> dict[str, Any]:
        """Send a statement, and keep the vectors that it brings."""
        vector = self.ask.vector
        if self.asked_before and (known := self.vectors()) and known[0][1] is vector:
            answers["vectors"] = sql.VECTORS.format(number=known[0][0].number)
        self.asked_before = True
        answer: dict[str, Any] = self.connection.rows(statement.text(answers), (*statement.values, *after))[0][0]
        if "vectors" in answer and vector is not None:
            self.connection.vectors_at_hand = vector.fingerprint, at_hand(answer.pop("vectors") or {})
        return answer

    def _may_respell(self) -> bool:
        ask = self.ask
        now = ask.as_of is None and ask.filters.states != ("archived",)
        return ask.by_word and now and not self.respelled and any(word.written for word in ask.words)

    def _respell(self) -> bool:
        """Find what words that occur nowhere most likely mean; returns whether there is anything."""
        if not self._may_respell():
            return False
        held = {label for _, label, _, _, df, _ in self.answer["words"] or [] if df}
        unknown = [word.written for word in self.ask.words if word.written and word.term not in held]
        self.respelled = spelling.respelled(unknown, self.answer.get("spellings") or []) if unknown else {}
        if len(self.opened.respelled) > MOST_RESPELLED:
            self.opened.respelled.clear()
        self.opened.respelled.update(self.respelled)
        return bool(self.respelled)

    def _lexical_sql(self, statement: sql.Statement, seen: str) -> str:
        """The best chunks, and those of the items that the other side found; with texts where they must be read.

        Of each item as many as are kept are enough, unless their texts decide which ones count.
        """
        ask = self.ask
        found = (
            "SELECT chunk, item, score, held FROM matched UNION"
            " SELECT chunk, item, score, held FROM scored WHERE item IN (SELECT item FROM pool)"
        )
        if not judging.reads_texts(ask):
            found = (
                "SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY item ORDER BY score DESC, chunk) AS place"
                f" FROM ({found}) s) s WHERE place <= {CHUNKS_KEPT}"
            )
        statement.step("picked", found)
        texts, given = "", ""
        spelled = [word.term for word in ask.words if word.spelled]
        if judging.reads_texts(ask) or spelled:
            texts = ", (SELECT json_build_array(c.heading, c.text) FROM chunks c WHERE c.id = s.chunk)"
        if spelled:
            shares, x = sql.shares(ask, seen, self.respelled)
            statement.step(
                "given",
                f"SELECT h.chunk, json_object_agg(i.label, {x}) AS shares FROM {shares}"
                " WHERE i.label = ANY(?) AND h.chunk IN (SELECT chunk FROM picked) GROUP BY h.chunk",
                (spelled,),
            )
            texts, given = f"{texts}, g.shares", " LEFT JOIN given g ON g.chunk = s.chunk"
        row = f"s.chunk, s.item, s.score, s.{sql.COVERAGE}{texts}"
        return f"SELECT json_agg(json_build_array({row}) ORDER BY s.score DESC, s.chunk) FROM picked s{given}"

    def _add_needs(self, answers: dict[str, str], after: list[Any]) -> None:
        ask, needs = self.ask, self.ask.needs
        answers["neighbours"] = "SELECT json_agg(json_build_array(n, other, away)) FROM neighbours"
        answers["joined"] = "SELECT json_agg(item) FROM joined"
        if needs.items or needs.tfidf or judging.reads_texts(self.ask):
            answers["items"] = sql.ITEMS
        if needs.link_seeds and needs.link_depth <= linked.DEPTH_AT_HAND:
            answers["edges"] = linked.EDGES
        answers["refs"] = sql.REFS.format(when="?")
        after.append(micros(ask.as_of) if ask.as_of is not None else 0)
        if needs.feedback:
            answers["feedback"] = sql.FEEDBACK
        if needs.learned_by:
            answers["learned"] = "SELECT shift FROM learned WHERE profile = ?"
            after.append(needs.learned_by)
        answers["active"] = "SELECT name FROM fingerprints WHERE active"
        answers["languages"] = f"SELECT json_agg(code) FROM ({DISTINCT}) found"
        if ask.model:
            answers["waiting"] = (
                "SELECT count(*) FROM jobs j JOIN fingerprints f ON f.id = j.fingerprint WHERE f.name IN (?, ?)"
            )
            answers["strays"] = STRAYS
            after += [ask.model, ask.second, ask.model, ask.second]

    def vectors(self) -> list[sql.Compared]:
        """The query's vectors that there is something to compare with."""
        found = ((self.opened.fingerprint(self.connection, one.fingerprint), one) for one in self.ask.vectors)
        return [(known.checked(len(vector.values)), vector) for known, vector in found if known is not None]

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
            self.answer["item_total"],
        )

    def _take_substrings(self) -> bool:
        """Take in the texts that hold the query as it is written, newest items first; returns whether there are any."""
        if not self.ask.text.strip():
            return False
        self._ask_about(others.with_substring)
        found = [(chunk, n) for chunk, n in self.answer["found"] or []]
        self.pool.add_substrings(found)
        return bool(found)

    def _ask_about(self, find: others.Find) -> None:
        """Find items otherwise than by words and vectors, and ask for their values, in one trip."""
        ask = self.ask
        statement = sql.Statement()
        limited, seen = sql.add_conditions(statement, ask, self.barred)
        answers = {"found": find(statement, ask, self.barred, limited=limited)}
        sql.add_pool(statement, ask, ["found"], limited=limited)
        if ask.needs.link_seeds:
            linked.add_around(statement)
        after: list[Any] = []
        vectors = self.vectors()
        if vectors:
            answers["cosines"], values = sql.cosines(vectors, sql.visible("c", seen, "id"))
            after += values
        self._add_needs(answers, after)
        before = {name: self.answer.get(name) or [] for name in _ABOUT_ITEMS}
        self.answer |= self._asked(statement, answers, after)
        self.answer |= {name: [*rows, *(self.answer.get(name) or [])] for name, rows in before.items() if rows}

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
        """Add the items that are linked with the best candidates; returns how many links away each is.

        Their values are asked for in one trip, together with what TF-IDF needs.
        """
        ask, needs, pool = self.ask, self.ask.needs, self.pool
        edges = self.answer.get("edges") or []
        distances = linked.distances(self.connection, pool.best(needs.link_seeds), needs.link_depth, edges)
        new = [n for n in distances if n not in pool]
        vectors = self.vectors()
        asked = [linked.values_of(ask, new, self.barred, self.respelled, vectors)] if new else []
        if needs.tfidf:
            asked += judging.asked_for_tfidf(self.opened.analyzer, ask, pool, new, self.respelled)
        found = self.connection.together(asked) if asked else []
        if new:
            values = found[0][0][0]
            earlier = {name: self.answer.get(name) or [] for name in ("items", "refs", "feedback")}
            self.answer |= values | {name: [*rows, *(values.get(name) or [])] for name, rows in earlier.items()}
            self._join(values["joined"] or [])
        if needs.tfidf:
            self.at_hand = judging.AtHand.of(found[-3:])
        return distances

    def _items(self) -> dict[int, Item]:
        rows = self.answer.get("items") or []
        return {
            row[0]: items.item_of(tuple(unescaped(one) if isinstance(one, str) else one for one in row)) for row in rows
        }

    def _tfidf(self, known: Mapping[int, Item]) -> dict[int, float]:
        analyzer = self.opened.analyzer
        return judging.tfidf(self.connection, analyzer, self.ask, self.pool, known, self.at_hand, self.respelled)

    def answered(self, near: Mapping[int, list[tuple[int, int]]], distances: Mapping[int, int]) -> Candidates:
        ask, pool, needs, answer = self.ask, self.pool, self.ask.needs, self.answer
        known = {n: item for n, item in self._items().items() if n in pool}
        rows = answer.get("refs") or []
        refs = {n: unescaped(ref) for n, ref, *_ in rows}
        versions = {n: version for n, _, version, *_ in rows if version is not None}
        feedback: Mapping[int, float] = {}
        if needs.feedback:
            counts: dict[int, dict[str, int]] = {n: {} for n in pool.numbers}
            for n, verdict, count in answer.get("feedback") or []:
                counts.setdefault(n, {})[verdict] = count
            feedback = {n: feedback_prior(given) for n, given in counts.items()}
        active = answer.get("active")
        if active != self.opened.active:
            self.opened.active = active
            self.opened.forget_fingerprints()
        self.opened.languages = tuple(answer.get("languages") or ())
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
            self._tfidf(known) if needs.tfidf else {},
            feedback,
            float(answer.get("learned") or 0.0),
            active,
            int(answer.get("waiting") or 0) if active else 0,
            self.respelled,
            {n: window_of(unescaped(dated)) for n, *_, dated, _ in rows if dated is not None},
            {n: said_of(unescaped(said)) for n, *_, said in rows if said is not None},
            self.opened.languages,
            bool(answer.get("strays")),
        )


def _pairs(rows: Sequence[Sequence[int]] | None) -> dict[int, list[tuple[int, int]]]:
    found: dict[int, list[tuple[int, int]]] = {}
    for n, other, away in rows or []:
        found.setdefault(n, []).append((other, away))
    return found
