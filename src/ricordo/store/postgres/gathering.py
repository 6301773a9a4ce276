"""How the PostgreSQL store answers an ask, in two trips: first the index is brought up to date and words are scored
here, then one statement finds the nearest by meaning and brings what the ranking needs.

The statement also brings the vectors that the ranking may ask for, and the texts in which phrases and words that share
a stem are looked for, so that a whole search makes three trips. More are made for TF-IDF, and where phrases leave too
little of what was brought.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ricordo.store.asking import MATCHES, NEWEST, Ask, Candidates
from ricordo.store.found import CHUNKS_KEPT
from ricordo.store.index.entries import Visible
from ricordo.store.index.lexical import Scored
from ricordo.store.index.matching import KeywordSide
from ricordo.store.postgres import asking_sql as sql
from ricordo.store.postgres import judging, linked
from ricordo.store.postgres import other_asks as others
from ricordo.store.postgres.bringing import Bringing
from ricordo.store.postgres.connection import Connection, unescaped
from ricordo.store.postgres.loading import ARCHIVED, load
from ricordo.store.postgres.nearest_sql import Picks, VectorsMovedError, add_nearest
from ricordo.store.postgres.nearness import cosines_of, nearest_items
from ricordo.store.postgres.needed import NO_TEXTS, WantedTexts, add_needs
from ricordo.store.postgres.open_workspace import OpenWorkspace
from ricordo.store.postgres.picking import Picked
from ricordo.store.postgres.sketching import Kept, SketchWish
from ricordo.store.sql import items
from ricordo.store.sql.arrays import Array, distinct, few_per_group
from ricordo.store.sql.asked_words import item_texts
from ricordo.store.sql.matches import Matches, VectorMatches
from ricordo.store.sql.pool import GatheredPool
from ricordo.store.sql.windows import window_of
from ricordo.values.items import Item

MOST_SUSPECTS = 500
"""If at most this many items hold the words of an excluded phrase, so many more candidates are asked for, and those
that hold the phrase are dropped; of more, the texts are read first.
"""
TEXTS_FACTOR = 4
"""How many times as many matches are brought if their texts decide which of them count."""
_ABOUT_ITEMS = ("items", "refs", "feedback", "cosines", "texts")


class Gathering:
    """Answers one ask, with one connection, as the store is at one moment."""

    def __init__(self, opened: OpenWorkspace, connection: Connection, ask: Ask, *, by_place: bool = True) -> None:
        self.opened, self.by_place = opened, by_place
        self.connection = connection
        self.ask = ask
        self.pool = GatheredPool()
        self.answer: dict[str, Any] = {}
        self.keywords: KeywordSide | None = None
        self.scored: Scored | None = None
        self.allowed: Array | None = None
        self.barred: list[int] = []
        self.sketches: dict[int, Kept] | None = None
        self.picked = Picked()
        """What a search engine beside the server picked, if there is one."""

    def candidates(self) -> Candidates:
        """Everything that was found, with what the ranking needs to know about it."""
        ask, pool = self.ask, self.pool
        self.connection.vectors_at_hand = None
        if self.opened.outside is not None:
            self.picked = self.opened.outside.picked(self.connection, ask, self.vectors)
        sketches = self._wished_sketches()
        if self.picked.picking is not None:
            self.keywords, self.allowed = self.picked.picking.keywords, self.picked.picking.allowed
        elif sketches is not None or ask.excludes or (ask.find == MATCHES and (ask.by_word or ask.phrases)):
            also = sketches.asked if sketches is not None else ()
            loaded = load(self.opened.words, self.opened.passing, self.connection, ask, also)
            self.keywords, self.allowed = loaded.keywords, loaded.allowed
            if sketches is not None:
                self.sketches = self.opened.sketches.take(sketches, loaded.rest)
        if ask.find == MATCHES:
            self._take_both_sides()
            pool.total = max(pool.total, len(pool))
        else:
            if self.keywords is not None:
                self.barred = sorted(self.keywords.barred_items(ask.excluded, ask.excluded_phrases))
            self.run(ask.per_side, (), find=others.newest if ask.find == NEWEST else others.with_substring)
            found = self.answer["found"] or []
            if ask.find == NEWEST:
                pool.add([n for _, n in found])
                pool.total = found[0][0] if found else 0
            else:
                pool.add_substrings([(chunk, n) for chunk, n in found])
                pool.total = len(pool)
        near = linked.pairs(self.answer.get("neighbours"))
        self._join([other for others in near.values() for other, _ in others])
        distances = self._join_linked() if ask.needs.link_seeds else {}
        return self.answered(near, distances)

    def _take_both_sides(self) -> None:
        ask, pool = self.ask, self.pool
        keywords = self.keywords if ask.by_word or ask.phrases else None
        suspects = self._suspects()
        limit = ask.per_side + len(suspects)
        self.scored = scored = keywords.scored(self.allowed) if keywords is not None else None
        if keywords is None or scored is None:
            self.run(limit, ())
        else:
            rough = scored.best(limit * (TEXTS_FACTOR if keywords.reads_texts else 1))
            likely = self.picked.picking.likely(limit) if self.picked.picking is not None else []
            find = others.with_substring if not likely and self._may_be_substring(rough) else None
            texts = WantedTexts.of(ask, keywords, rough)
            self.run(limit, [*distinct(rough.items).tolist(), *suspects, *likely], texts, find=find)
        near = cosines_of(self.answer["near"])
        if suspects and self.keywords is not None:
            self._bar(self.keywords.barred_items((), ask.excluded_phrases))
            near = nearest_items(near, self.barred, ask.per_side)
        if ask.vector is not None and not ask.phrases:
            pool.add_cosines(near)
        if keywords is not None and scored is not None:
            also = distinct(near.items)
            if self.picked.picking is not None:
                scored = self.picked.picking.covering(also)
            if keywords.reads_texts or suspects:
                matches = keywords.matches(ask.per_side, self.allowed, also)
            else:
                matches = scored.best(ask.per_side, also)
            self._take_matches(keywords, matches)
        self._complete()
        if ask.vector is not None:
            kept = cosines_of(self.answer.get("cosines"))
            inside = np.array([n in pool for n in kept.items.tolist()], bool)
            pool.add_cosines(VectorMatches(kept.chunks[inside], kept.items[inside], kept.cosines[inside]))
            pool.fill_missing_cosines()

    def _wished_sketches(self) -> SketchWish | None:
        """What brings the sketches up to date, if this ask compares the vectors of live chunks."""
        ask, past = self.ask, self.ask.as_of is not None or self.ask.filters.states == ARCHIVED
        if self.picked.picking is not None or ask.find != MATCHES or ask.phrases or past:
            return None
        return self.opened.sketches.wish([model for model, _ in self.vectors()])

    def _picked(self, vectors: Sequence[sql.Compared], limit: int) -> dict[int, Picks] | None:
        """By model, the chunks that the server compares exactly; None if it looks for them itself."""
        if self.picked.picking is not None:
            return {model: Picks(chunks, chunks[:0], None) for model, chunks in self.picked.picking.near.items()}
        if self.sketches is None:
            return None
        allowed = self.allowed
        if self.barred:
            assert self.connection.snapshot is not None, "it came with the sketches"
            allowed = distinct(self.connection.snapshot.items) if allowed is None else allowed
            allowed = allowed[~np.isin(allowed, np.array(self.barred, np.int64))]
        visible = Visible(self.opened.words.alive(self.connection), allowed)
        return self.opened.sketches.nearest(self.sketches, vectors, visible, limit, by_place=self.by_place)

    def _suspects(self) -> Sequence[int]:
        """Bar the items with excluded words; returns those that may hold an excluded phrase, if these are few."""
        ask, keywords = self.ask, self.keywords
        if keywords is None or not ask.excludes:
            return ()
        self.barred = sorted(keywords.barred_items(ask.excluded, ()))
        phrases = [phrase for phrase in ask.excluded_phrases if phrase.terms]
        suspects = {n for phrase in phrases for n in keywords.holding(phrase.terms).items.tolist()}
        if len(suspects) <= MOST_SUSPECTS:
            return sorted(suspects)
        self._bar(keywords.barred_items((), ask.excluded_phrases))
        return ()

    def _bar(self, numbers: set[int]) -> None:
        """Leave some items out, also of what is found by words."""
        self.barred = sorted({*self.barred, *numbers})
        if self.allowed is None:
            assert self.connection.snapshot is not None, "words were looked up"
            self.allowed = distinct(self.connection.snapshot.items)
        self.allowed = self.allowed[~np.isin(self.allowed, np.array(self.barred, np.int64))]

    def _may_be_substring(self, found: Matches) -> bool:
        """Whether texts are searched that hold the query as it is written, because no word was found."""
        ask = self.ask
        times = ask.as_of is not None or ask.filters.states == ARCHIVED
        return not len(found.chunks) and not times and not ask.excluded and bool(ask.text.strip())

    def _take_matches(self, keywords: KeywordSide, matches: Matches) -> None:
        ask, pool = self.ask, self.pool
        pool.take_matches(matches)
        if any(word.spelled for word in ask.words):
            lost = keywords.lost_to_other_words(pool.worded_chunks())
            pool.take_back({chunk: share / pool.maximum for chunk, share in lost.items()})
        if self._may_be_substring(matches):
            if "found" not in self.answer:
                self.run(ask.per_side, (), find=others.with_substring)
            found = self.answer["found"] or []
            pool.add_substrings([(chunk, n) for chunk, n in found])
            pool.by_substring = bool(found)

    def run(
        self,
        limit: int,
        given: Sequence[int],
        texts: WantedTexts = NO_TEXTS,
        find: others.Find | None = None,
    ) -> None:
        """Ask the server: the nearest, what ``find`` finds, and everything about these and the given items."""
        ask = self.ask
        statement = sql.Statement()
        limited, seen = sql.add_conditions(statement, ask, self.barred)
        statement.step("given", "SELECT unnest(?::bigint[]) AS item", (list(given),))
        sides = ["given"]
        answers: dict[str, str] = {}
        after: list[Any] = []
        vectors, placed, long_items = self.vectors(), 0, None
        brings = bool(vectors) and ask.needs.vectors and self.connection.begun and vectors[0][1] is ask.vector
        in_one = brings and len(vectors) == 1 and seen == "live"
        if vectors and ask.find == MATCHES and not ask.phrases and "near" not in self.answer:
            picked = self._picked(vectors, limit)
            if picked is not None and self.sketches is not None:
                texts = texts.among(np.concatenate([picks.items for picks in picked.values()]))
            asked = replace(ask, per_side=limit)
            placed = add_nearest(statement, vectors, asked, limited=limited, seen=seen, picked=picked)
            if placed and in_one and picked is not None:
                long_items = self._of_long_items(vectors[0], picked[vectors[0][0].number].items, given)
            sides.append("near")
            answers["near"] = "SELECT json_agg(json_build_array(chunk, item, cosine)) FROM near"
            answers["compared"] = "SELECT count(*) FROM compared_0"
        else:
            statement.step("near", "SELECT NULL::bigint AS item LIMIT 0")
        if find is not None:
            answers["found"] = find(statement, ask, limited=limited, seen=seen)
            sides.append("found")
        sql.add_pool(statement, ask, sides, limited=limited)
        if vectors and not in_one:
            answers["cosines"], values = sql.cosines(vectors, sql.visible("c", seen, "id"))
            after += values
        more, picked_by = self.picked.picking.add_passages(statement, answers) if self.picked.picking else ("", [])
        more += sql.ALL_TEXTS if ask.needs.tfidf else ""
        texts.add_to(answers, after, more)
        after += picked_by
        add_needs(ask, answers, after)
        bringing = Bringing.of(vectors[0], long_items) if brings else None
        answer = {"near": self.answer.get("near")} | self._asked(statement, answers, after, bringing)
        if placed and answer["compared"] != placed:
            raise VectorsMovedError
        self._take(answer)

    def _take(self, answer: dict[str, Any]) -> None:
        """Add an answer to those before, and let the keyword side know the texts that came with it."""
        before = {name: self.answer.get(name) or [] for name in _ABOUT_ITEMS}
        if self.picked.picking is not None:
            self.picked.picking.take_answer(answer)
        self.answer |= answer
        self.answer |= {name: [*rows, *(answer.get(name) or [])] for name, rows in before.items() if rows}
        if self.keywords is not None:
            self.keywords.texts |= {
                chunk: (n, unescaped(heading), unescaped(text)) for chunk, n, heading, text in answer.get("texts") or []
            }
            self.keywords.titles |= {n: item_texts(item) for n, item in self._items().items()}

    def _of_long_items(self, compared: sql.Compared, near: Array, given: Sequence[int]) -> tuple[Picks, Array] | None:
        """The items that may come into the pool, and which of their passages are brought; None if all are."""
        assert self.sketches is not None, "places of vectors come with them"
        by_words = distinct(np.array(given, np.int64))
        items = distinct(np.concatenate((near, by_words)))

        def worded() -> Array:
            if self.scored is None:
                return near[:0]
            best = self.scored.best(self.ask.per_side, items, cover=False)
            return best.chunks[few_per_group(best.items, best.scores, CHUNKS_KEPT)[0]]

        alive = self.opened.words.alive(self.connection)
        picks = self.opened.sketches.of_long_items(self.sketches, compared, alive, items, by_words, worded)
        return None if picks is None else (picks, items)

    def _asked(
        self, statement: sql.Statement, answers: dict[str, str], after: Sequence[Any], bringing: Bringing | None
    ) -> dict[str, Any]:
        """Send a statement, and keep the vectors of the pool that it brings, if it is to bring some."""
        beside, values = (bringing.statement, bringing.values) if bringing is not None else ("", ())
        values = (*statement.values, *after, *values)
        [(answer, *parts)] = self.connection.rows(statement.text(answers, beside), values, binary=True)
        if bringing is not None:
            found = bringing.read(parts[0], answer)
            found.keep(self.connection, bringing.vector.fingerprint)
            answer = answer if "cosines" in answers else {**answer, "cosines": found.cosines(bringing.vector)}
        return dict(answer)

    def vectors(self) -> list[sql.Compared]:
        """The query's vectors that there is something to compare with."""
        found = ((self.opened.fingerprint(self.connection, one.fingerprint), one) for one in self.ask.vectors)
        return [(known.checked(len(vector.values)), vector) for known, vector in found if known is not None]

    def _complete(self) -> None:
        """Ask for the values of items of the pool that no answer brought yet; seldom there are any."""
        known = {row[0] for row in self.answer.get("refs") or []}
        missing = [n for n in self.pool.numbers if n not in known]
        if missing:
            self._take(self._asked_about(missing))

    def _asked_about(self, numbers: Sequence[int]) -> dict[str, Any]:
        statement, values = linked.values_of(self.ask, numbers, self.barred, self.vectors())
        answer: dict[str, Any] = self.connection.rows(statement, values)[0][0]
        return {**answer, "joined": [*(self.answer.get("joined") or []), *(answer["joined"] or [])]}

    def _join(self, numbers: Sequence[int]) -> None:
        """Add items that neither side found, with their values, as far as the ask allows them."""
        ask, pool = self.ask, self.pool
        inside = set(self.answer.get("joined") or [])
        numbers = [n for n in dict.fromkeys(numbers) if n in inside and n not in pool and n not in self.barred]
        if not numbers:
            return
        if self.keywords is not None and (ask.by_word or ask.phrases):
            if self.picked.picking is not None:
                self.picked.picking.cover(numbers)
            matches = self.keywords.matches(len(numbers), np.array(numbers, np.int64))
            pool.add_scores(matches, joined=True)
            if ask.phrases:
                found = set(matches.items.tolist())
                numbers = [n for n in numbers if n in found]
        pool.add(numbers, joined=True)
        if ask.vector is not None:
            wanted = set(numbers)
            pool.add_cosines(cosines_of([row for row in self.answer.get("cosines") or [] if row[1] in wanted]))
            pool.fill_missing_cosines()

    def _join_linked(self) -> Mapping[int, int]:
        """Add the items that are linked with the best candidates; returns how many links away each is."""
        needs, pool = self.ask.needs, self.pool
        edges = self.answer.get("edges") or []
        distances = linked.distances(self.connection, pool.best(needs.link_seeds), needs.link_depth, edges)
        known = {row[0] for row in self.answer.get("refs") or []}
        if unknown := [n for n in distances if n not in known]:
            self._take(self._asked_about(unknown))
        self._join(list(distances))
        return distances

    def _items(self) -> dict[int, Item]:
        rows = self.answer.get("items") or []
        return {
            row[0]: items.item_of(tuple(unescaped(one) if isinstance(one, str) else one for one in row)) for row in rows
        }

    def _tfidf(self, known: Mapping[int, Item]) -> dict[int, float]:
        texts, respelled = (self.keywords.texts, self.keywords.respelled) if self.keywords is not None else ({}, {})
        return judging.tfidf(self.opened, self.connection, self.ask, self.pool, known, texts, respelled)

    def answered(self, near: Mapping[int, list[tuple[int, int]]], distances: Mapping[int, int]) -> Candidates:
        ask, pool, needs, answer, keywords = self.ask, self.pool, self.ask.needs, self.answer, self.keywords
        known = {n: item for n, item in self._items().items() if n in pool}
        rows = answer.get("refs") or []
        refs = {n: unescaped(ref) for n, ref, *_ in rows}
        versions = {n: version for n, _, version, *_ in rows if version is not None}
        active = answer.get("active")
        if active != self.opened.active:
            self.opened.active = active
            self.opened.forget_fingerprints()
        self.opened.languages, self.opened.models = (tuple(answer.get(name) or ()) for name in ("languages", "models"))
        return Candidates(
            pool.candidates(refs, versions if ask.as_of else {}),
            pool.total,
            pool.maximum,
            pool.share,
            {},
            pool.has_vectors,
            pool.by_substring,
            keywords.prefix_terms if keywords is not None else (),
            {n: others for n, others in near.items() if n in pool},
            distances,
            known if needs.items or needs.tfidf else {},
            self._tfidf(known) if needs.tfidf else {},
            judging.feedback(pool.numbers, answer.get("feedback") or []) if needs.feedback else {},
            float(answer.get("learned") or 0.0),
            active,
            int(answer.get("waiting") or 0) if active else 0,
            keywords.respelled if keywords is not None else {},
            {n: window_of(unescaped(dated)) for n, *_, dated in rows if dated is not None},
            self.opened.languages,
            bool(answer.get("strays")),
            (self.picked.problem,) if self.picked.problem else (),
            self.opened.models,
        )
