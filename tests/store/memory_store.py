"""A second store, of plain dictionaries, that keeps the contract of items and search: it proves that both can be kept
without anything of SQLite's. Everything is computed again at each call; nothing here is meant to be fast.
"""

from __future__ import annotations

import copy
import difflib
import fnmatch
import math
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from ricordo.config.machine import this_machine
from ricordo.errors import Conflict, ContractError, Error, NotFound, PathConflict, StaleVersion
from ricordo.store.asking import (
    NEWEST,
    SUBSTRING,
    Aim,
    Ask,
    Candidate,
    Candidates,
    Passages,
    PassageText,
    Shown,
    WordShare,
)
from ricordo.store.base import Mirror
from ricordo.store.prepare import embedded_text
from ricordo.store.values import (
    EVERY_LANGUAGE,
    Backlog,
    FileState,
    Job,
    Languages,
    PreparedChunk,
    PreparedItem,
    Scoring,
    StoredLink,
)
from ricordo.text.phrases import holds_phrase, holds_prefix
from ricordo.text.spelling import likely_words
from ricordo.text.words import Analyzer, fold
from ricordo.values.file_refs import FileRefs
from ricordo.values.hits import Filters
from ricordo.values.items import Item, Ref, Saved, Version
from ricordo.values.use_scores import feedback_prior

FIELDS = ("title", "path", "description", "tags", "context", "body")


@dataclass
class Row:
    n: int
    id: str
    state: str
    created: datetime
    updated: datetime
    versions: dict[int, tuple[PreparedItem, datetime]]
    file: FileState | None = None

    @property
    def head(self) -> int:
        return max(self.versions)

    @property
    def item(self) -> PreparedItem:
        return self.versions[self.head][0]

    @property
    def ref(self) -> Ref:
        return self.item.draft.ref


@dataclass
class Tables:
    rows: dict[int, Row] = field(default_factory=dict)
    links: set[tuple[int, int, str]] = field(default_factory=set)
    verdicts: list[tuple[int, str]] = field(default_factory=list)
    roots: dict[str, tuple[str, ...]] = field(default_factory=dict)
    jobs: dict[tuple[str, bytes], str] = field(default_factory=dict)
    vectors: dict[tuple[str, bytes], Any] = field(default_factory=dict)
    active: str | None = None
    next_number: int = 1
    epoch: int = 0
    clock: datetime = datetime(2026, 1, 1, tzinfo=UTC)


class MemoryStore:
    """Items and search, in dictionaries."""

    store_id = "in memory"
    foreign = False

    def __init__(self, saved: dict[str, Tables], *, language: str = "english", keep_versions: int = 20) -> None:
        self._saved = saved
        self.language = language
        self.analyzer = Analyzer(language)
        self.keep_versions = keep_versions
        self._open: Tables | None = None
        self._touched: set[int] = set()
        self.mirror: Mirror | None = None
        self.items, self.changes, self.index = _Items(self), _Changes(self), _Index(self)
        self.vectors, self.jobs, self.links = _Vectors(self), _Jobs(self), _Links(self)
        self.lessons, self.files, self.machines = _Lessons(self), _Files(self), _Machines(self)

    @property
    def tables(self) -> Tables:
        """What was committed."""
        return self._saved.setdefault("tables", Tables())

    @contextmanager
    def transaction(self, *, durable: bool = False, wait: float | None = None, mirrored: bool = True) -> Iterator[None]:
        with self.writing(mirrored=mirrored):
            yield

    @contextmanager
    def writing(self, *, mirrored: bool = True) -> Iterator[Tables]:
        if self._open is not None:
            yield self._open
            return
        self._open, self._touched = copy.deepcopy(self.tables), set()
        try:
            yield self._open
            asked = mirrored and self.mirror is not None and self._touched
            with self.mirror.committing(frozenset(self._touched), durable=True) if asked else nullcontext():  # type: ignore[union-attr]
                self._saved["tables"] = self._open
        finally:
            self._open = None

    def touch(self, n: int) -> None:
        assert self._open is not None
        self._touched.add(n)
        self._open.epoch += 1

    def mirror_to(self, mirror: Mirror) -> None:
        self.mirror = mirror

    def changes_seen(self) -> int:
        return self.tables.epoch

    def counts(self) -> dict[str, Any]:
        return {"chunks": sum(len(row.item.chunks) for row in self.tables.rows.values() if row.state == "live")}

    def close(self) -> None:
        """Nothing is open."""

    def maintain(self) -> None:
        """There is nothing to tidy."""


class _Part:
    def __init__(self, store: MemoryStore) -> None:
        self.store = store


class _Items(_Part):
    def number(self, ref: Ref) -> int | None:
        return next((n for n, row in self.store.tables.rows.items() if row.ref == ref and row.state != "deleted"), None)

    def numbers(self, refs: Sequence[Ref]) -> dict[Ref, int]:
        return {ref: n for ref in refs if (n := self.number(ref)) is not None}

    def require(self, ref: Ref) -> int:
        n = self.number(ref)
        if n is None:
            refs = [str(row.ref) for row in self.store.tables.rows.values()]
            raise NotFound(f"there is no item {ref}", hint=", ".join(difflib.get_close_matches(str(ref), refs)))
        return n

    def ref_by_id(self, identity: str) -> Ref | None:
        return next((row.ref for row in self.store.tables.rows.values() if row.id == identity), None)

    def number_by_id(self, identity: str) -> int | None:
        return next((row.n for row in self.store.tables.rows.values() if row.id == identity), None)

    def known_ids(self, identities: Sequence[str]) -> set[str]:
        return {one for one in identities if self.ref_by_id(one) is not None}

    def get(self, n: int, *, version: int | None = None) -> Item:
        row = self.store.tables.rows[n]
        return _item(row, version or row.head)

    def get_many(self, numbers: Sequence[int]) -> dict[int, Item]:
        return {n: self.get(n) for n in numbers if n in self.store.tables.rows}

    def listing(self, filters: Filters, limit: int, offset: int) -> list[tuple[int, Item]]:
        rows = [row for row in self.store.tables.rows.values() if _passes(row, filters)]
        rows.sort(key=lambda row: (row.updated, row.n), reverse=True)
        return [(row.n, _item(row, row.head)) for row in rows[offset : offset + limit]]

    def count(self, filters: Filters) -> int:
        return len(self.listing(filters, 1 << 30, 0))

    def refs_below(
        self, drive: str | None, prefix: str, states: Sequence[str] = ("live",)
    ) -> list[tuple[int, Ref, str]]:
        folder = prefix.rstrip("/") + "/"
        found = [
            (row.n, row.ref, row.state)
            for row in self.store.tables.rows.values()
            if row.ref.drive == drive and row.ref.path.startswith(folder) and row.state in states
        ]
        return sorted(found, key=lambda one: one[1])

    def history(self, n: int) -> list[Version]:
        row = self.store.tables.rows[n]
        return [
            Version(
                number, made.hash, at, made.draft.ref, made.draft.kind, made.draft.fields, len(made.draft.content),
                number - 1 or None, number == row.head,
            )
            for number, (made, at) in sorted(row.versions.items(), reverse=True)
        ]  # fmt: skip

    def version_at(self, n: int, when: datetime) -> int | None:
        return max(
            (number for number, (_, at) in self.store.tables.rows[n].versions.items() if at <= when), default=None
        )

    def same_text(self, text_hash: str, kind: str) -> list[int]:
        rows = self.store.tables.rows.values()
        return [row.n for row in rows if (row.item.text_hash, row.item.draft.kind) == (text_hash, kind)]

    def paths_like(self, drive: str, path: str) -> set[str]:
        paths = {row.ref.path for row in self.store.tables.rows.values() if row.ref.drive == drive}
        return {one for one in paths if one == path or one.startswith(f"{path}-")}


class _Changes(_Part):
    def save(
        self,
        prepared: Sequence[PreparedItem],
        *,
        on_conflict: str = "overwrite",
        durable: bool = False,
        backlog: Backlog | None = None,
        still_wanted: Callable[[], None] | None = None,
    ) -> list[Saved]:
        answers = []
        with self.store.writing() as tables:
            if still_wanted is not None:
                still_wanted()
            for item in prepared:
                try:
                    answers.append(self._save(tables, item, on_conflict, backlog))
                except Error as error:
                    answers.append(Saved(str(item.draft.ref), "failed", error=error.to_dict()))
        return answers

    def _save(self, tables: Tables, item: PreparedItem, on_conflict: str, backlog: Backlog | None) -> Saved:
        ref = item.draft.ref
        row = next((one for one in tables.rows.values() if one.ref == ref and one.state != "deleted"), None)
        if row is None:
            now = _tick(tables)
            made, changed = item.times or (now, now)
            n, tables.next_number = tables.next_number, tables.next_number + 1
            row = tables.rows[n] = Row(n, item.id or str(uuid.uuid4()), "live", made, changed, {1: (item, changed)})
            self._written(tables, row, backlog)
            return Saved(str(ref), "created", row.id, 1, None, item.hash)
        if on_conflict == "error":
            raise PathConflict(f"{ref} already exists")
        if on_conflict == "skip":
            return Saved(str(ref), "skipped", row.id, row.head, None, row.item.hash, reason="already in the store")
        if row.item.hash == item.hash and row.state == "live":
            return Saved(str(ref), "skipped", row.id, row.head, None, item.hash, reason="unchanged")
        _refuse_immutable(row)
        return self._version(tables, row, item, backlog)

    def _version(self, tables: Tables, row: Row, item: PreparedItem, backlog: Backlog | None) -> Saved:
        now = _tick(tables)
        row.updated = item.times[1] if item.times else now
        row.versions[row.head + 1] = (item, now)
        row.state = "live"
        for number in sorted(row.versions)[: -self.store.keep_versions]:
            del row.versions[number]
        self._written(tables, row, backlog)
        return Saved(str(item.draft.ref), "updated", row.id, row.head, row.head - 1, item.hash)

    def _written(self, tables: Tables, row: Row, backlog: Backlog | None) -> None:
        self.store.touch(row.n)
        for chunk in row.item.chunks if backlog is not None else ():
            key = (backlog.fingerprint, chunk.embed_hash) if backlog else ("", b"")
            if key not in tables.vectors and backlog is not None and chunk.language in backlog.languages:
                tables.jobs.setdefault(key, "")
        if backlog is not None and backlog.second is not None:
            self._written(tables, row, backlog.second)

    def rewrite(
        self,
        n: int,
        item: PreparedItem,
        *,
        durable: bool = False,
        backlog: Backlog | None = None,
        base: int | None = None,
    ) -> Saved:
        with self.store.writing() as tables:
            row = tables.rows[n]
            others = (one for one in tables.rows.values() if one.n != n and one.state != "deleted")
            if any(one.ref == item.draft.ref for one in others):
                raise Conflict(f"{item.draft.ref} is taken by another item")
            if base is not None and base != row.head:
                raise StaleVersion(f"{item.draft.ref} was changed meanwhile")
            _refuse_immutable(row)
            return self._version(tables, row, item, backlog)

    def remove(self, n: int, *, purge: bool = False) -> None:
        with self.store.writing() as tables:
            _refuse_immutable(tables.rows[n])
            self.store.touch(n)
            if purge:
                del tables.rows[n]
            else:
                tables.rows[n].state = "deleted"

    def check_removal(self, numbers: Sequence[int]) -> None:
        for n in numbers:
            _refuse_immutable(self.store.tables.rows[n])

    def remove_many(self, numbers: Sequence[int]) -> dict[int, Error]:
        refused: dict[int, Error] = {}
        with self.store.writing():
            for n in numbers:
                try:
                    self.remove(n)
                except Error as error:
                    refused[n] = error
        return refused

    def archive(self, numbers: Sequence[int], *, successor: int | None = None, link: str = "supersedes") -> list[Saved]:
        answers = []
        with self.store.writing() as tables:
            for n in numbers:
                row = tables.rows[n]
                reason = "already archived" if row.state == "archived" else None
                if reason is None:
                    _refuse_immutable(row)
                    row.state = "archived"
                    self.store.touch(n)
                answers.append(
                    Saved(str(row.ref), "skipped" if reason else "archived", row.id, row.head, reason=reason)
                )
                if successor is not None:
                    tables.links.add((successor, n, link))
        return answers

    def succeed(self, old: int, item: PreparedItem, link: str, *, backlog: Backlog | None = None) -> Saved:
        with self.store.writing() as tables:
            self.archive([old])
            saved = self._save(tables, item, "error", backlog)
            n = next(row.n for row in tables.rows.values() if row.id == saved.id)
            tables.links.add((n, old, link))
        return saved

    def touch(self, numbers: Sequence[int]) -> None:
        with self.store.writing():
            for n in numbers:
                self.store.touch(n)


class _Index(_Part):
    @property
    def languages(self) -> tuple[str, ...]:
        rows = self.store.tables.rows.values()
        return tuple(sorted({chunk.language for row in rows for chunk in row.item.chunks if chunk.language}))

    @property
    def models(self) -> tuple[str, ...]:
        return ()

    def has_vectors_of(self, fingerprint: str) -> bool:
        return True

    def candidates(self, ask: Ask) -> Candidates:
        tables = self.store.tables
        rows = self._rows(ask)
        notes = Candidates(
            windows={row.n: _window(row) for row, _ in rows},
            active=tables.active,
            waiting=self.store.jobs.waiting(ask.model),
            learned_shift=0.0,
            languages=self.languages,
        )
        if ask.find == NEWEST:
            rows.sort(key=lambda row: (row[0].updated, row[0].n), reverse=True)
            newest = [(_candidate(row), version if ask.as_of else None) for row, version in rows[: ask.per_side]]
            found = tuple(replace(one, version=version) for one, version in newest)
            return replace(notes, found=found, total=len(rows))
        if ask.find == SUBSTRING:
            return replace(notes, found=self._substrings(rows, ask))
        scores, maximum, prefix_terms = self._scores(rows, ask)
        by_word = [n for n, chunks in scores.items() if max(chunks.values(), default=0.0) > 0]
        by_word.sort(key=lambda n: -max(scores[n].values()))
        chosen = dict.fromkeys(by_word[: ask.per_side] if ask.by_word else ())
        cosines = self._cosines(rows, ask)
        by_meaning = sorted(cosines, key=lambda n: -max(cosines[n].values()))
        chosen |= dict.fromkeys(by_meaning[: ask.per_side])
        if not by_word and ask.text and not ask.vector:
            return replace(notes, found=self._substrings(rows, ask), by_substring=True, maximum=maximum)
        joined = self._joined(list(chosen), by_word, ask)
        kept = {row.n: row for row, _ in rows} | {n: tables.rows[n] for n in joined}
        found = tuple(
            replace(
                _scored(kept[n], scores.get(n, {}), cosines.get(n, {}), maximum),
                joined=n in joined and n not in chosen,
                version=next((v for row, v in rows if row.n == n), None) if ask.as_of else None,
            )
            for n in {**chosen, **dict.fromkeys(joined)}
        )
        return replace(
            notes,
            found=found,
            total=len(by_word),
            maximum=maximum,
            has_vectors=bool(cosines),
            prefix_terms=prefix_terms,
            respelled=self._respelled(ask),
            distances=self.store.links.neighbours(by_word[: ask.needs.link_seeds]) if ask.needs.link_seeds else {},
            items={one.n: _item(kept[one.n], kept[one.n].head) for one in found} if ask.needs.items else {},
            tfidf={one.n: float(one.lexical > 0) for one in found} if ask.needs.tfidf else {},
            feedback={one.n: self.store.lessons.prior(one.n) for one in found} if ask.needs.feedback else {},
        )

    def _respelled(self, ask: Ask) -> dict[str, tuple[str, ...]]:
        rows = [row for row in self.store.tables.rows.values() if row.state == "live"]
        terms = {term for row in rows for chunk in row.item.chunks for one in chunk.counts or () for term in one}
        unknown = [word.written for word in ask.words if word.written and terms.isdisjoint(word.terms)]
        found = {word: tuple(likely_words(word, terms)) for word in unknown}
        return {word: likely for word, likely in found.items() if likely}

    def _rows(self, ask: Ask) -> list[tuple[Row, int]]:
        """The items that may be found, each with the version that counts."""
        filters = replace(ask.filters, states=("live", "archived")) if ask.as_of else ask.filters
        found = []
        for row in self.store.tables.rows.values():
            version = row.head if ask.as_of is None else self.store.items.version_at(row.n, ask.as_of)
            if version is None or not _passes(row, filters):
                continue
            chunks = row.versions[version][0].chunks
            if any(_holds_all(chunk, group) for group in ask.excluded for chunk in chunks):
                continue
            if any(holds_phrase([chunk.text], phrase.text) for phrase in ask.excluded_phrases for chunk in chunks):
                continue
            found.append((row, version))
        return found

    def _scores(
        self, rows: Sequence[tuple[Row, int]], ask: Ask
    ) -> tuple[dict[int, dict[int, float]], float, tuple[str, ...]]:
        """BM25F by item and passage; every live passage counts for the statistics, filtered or not."""
        live = [(row, row.head) for row in self.store.tables.rows.values() if row.state == "live"]
        counted = live if ask.as_of is None else rows
        passages = [chunk for row, version in counted for chunk in row.versions[version][0].chunks]
        statistics = _Statistics(passages, ask.scoring)
        meant = self._respelled(ask)
        groups = [
            (meant.get(word.written, word.terms), word.weight * (0.7 if word.written in meant else 1.0))
            for word in ask.words
        ]
        vocabulary = {term for chunk in passages for one in chunk.counts or () for term in one}
        expanded = [tuple(sorted(term for term in vocabulary if term.startswith(fold(one)))) for one in ask.prefixes]
        groups += [(terms, 1.0) for terms in expanded]
        scores: dict[int, dict[int, float]] = {}
        for row, version in rows:
            for at, chunk in enumerate(row.versions[version][0].chunks):
                if all(holds_phrase([chunk.text], phrase.text) for phrase in ask.phrases) and (
                    ask.words or not ask.prefixes or any(holds_prefix([chunk.text], one) for one in ask.prefixes)
                ):
                    value = sum(statistics.score(chunk, terms) * weight for terms, weight in groups)
                    scores.setdefault(row.n, {})[_chunk_id(row.n, at)] = value
        maximum = sum(statistics.idf(terms) * weight for terms, weight in groups)
        return scores, maximum, tuple(term for terms in expanded for term in terms)

    def _cosines(self, rows: Sequence[tuple[Row, int]], ask: Ask) -> dict[int, dict[int, float]]:
        found: dict[int, dict[int, float]] = {}
        for row, version in rows if ask.vector is not None else ():
            for at, chunk in enumerate(row.versions[version][0].chunks):
                held = (
                    (one, self.store.tables.vectors.get((one.fingerprint, chunk.embed_hash))) for one in ask.vectors
                )
                for asked, vector in held:
                    if vector is not None:
                        cosine = float(asked.comparable(vector @ asked.values))
                        found.setdefault(row.n, {})[_chunk_id(row.n, at)] = cosine
                        break
        return found

    def _substrings(self, rows: Sequence[tuple[Row, int]], ask: Ask) -> tuple[Candidate, ...]:
        needle = fold(ask.text.strip())
        newest = sorted(rows, key=lambda row: (row[0].updated, row[0].n), reverse=True)
        return tuple(
            replace(_candidate(row), lexical=0.5)
            for row, version in newest
            if needle in fold(row.versions[version][0].draft.content)
        )[: ask.per_side]

    def _joined(self, chosen: Sequence[int], by_word: Sequence[int], ask: Ask) -> list[int]:
        near: dict[int, int] = {}
        if ask.needs.link_seeds:
            near = self.store.links.neighbours(by_word[: ask.needs.link_seeds], ask.needs.link_depth)
        tables = self.store.tables
        for n in chosen if ask.needs.thread_reach else ():
            place = tables.rows[n].item.draft.fields
            for row in tables.rows.values():
                other = row.item.draft.fields
                if place.thread and place.thread == other.thread and None not in (place.seq, other.seq):
                    away = abs((place.seq or 0) - (other.seq or 0))
                    if 0 < away <= ask.needs.thread_reach:
                        near.setdefault(row.n, away)
        return [n for n in near if tables.rows[n].state == "live"]

    def cosines(self, fingerprint: str, aim: Aim, chunks: Sequence[int]) -> Sequence[float] | None:
        vectors = {}
        for chunk in {*chunks, *(one for one, _ in aim.towards)}:
            row = self.store.tables.rows.get(chunk // 1000)
            if row is None:
                continue
            vector = self.store.tables.vectors.get((fingerprint, row.item.chunks[chunk % 1000].embed_hash))
            if vector is not None:
                vectors[chunk] = vector
        moved = aim.moved(vectors)
        if moved is None:
            return None
        whole, *parts = (
            np.array([float(vectors[chunk] @ one) if chunk in vectors else -1.0 for chunk in chunks])
            for one in (moved, *aim.parts)
        )
        found: list[float] = aim.together(whole, parts).tolist()
        return found

    def passages(
        self, shown: Sequence[Shown], ask: Ask | None = None, *, contents: bool = False, vectors: str = ""
    ) -> Passages:
        tables = self.store.tables
        texts, shares = {}, {}
        for one in shown:
            row = tables.rows[one.n]
            whole = row.versions[one.version or row.head][0].chunks
            texts[one.n] = tuple(
                PassageText(chunk, whole[at].heading, whole[at].text, whole[at].start, whole[at].lines, at, len(whole))
                for chunk in one.chunks
                for at in (chunk % 1000,)
            )
            if ask is not None and one.matched is not None:
                live = [chunk for row in tables.rows.values() if row.state == "live" for chunk in row.item.chunks]
                statistics, chunk = _Statistics(live, ask.scoring), whole[one.matched % 1000]
                shares[one.matched] = [
                    WordShare(word.term, {}, statistics.idf((word.term,)), statistics.score(chunk, (word.term,)))
                    for word in ask.words
                ]
        items = {one.n: _item(tables.rows[one.n], tables.rows[one.n].head) for one in shown}
        return Passages(items=items, texts=texts, shares=shares)

    def similar(self, n: int, ask: Ask) -> Candidates:
        tables = self.store.tables
        own = [tables.vectors.get((ask.model, chunk.embed_hash)) for chunk in tables.rows[n].item.chunks]
        best: dict[int, float] = {}
        for row in tables.rows.values():
            for chunk in row.item.chunks if row.n != n and row.state == "live" else ():
                vector = tables.vectors.get((ask.model, chunk.embed_hash))
                near = [float(vector @ one) for one in own if vector is not None and one is not None]
                if near:
                    best[row.n] = max(best.get(row.n, -1.0), *near)
        nearest = sorted(best, key=lambda one: -best[one])[: ask.per_side]
        return Candidates(tuple(replace(_candidate(tables.rows[one]), cosine=best[one]) for one in nearest))


class _Statistics:
    """What BM25F needs to know of all live passages."""

    def __init__(self, passages: Sequence[PreparedChunk], scoring: Scoring) -> None:
        self.passages = passages
        self.scoring = scoring
        lengths = [self._lengths(chunk) for chunk in passages]
        filled = [sum(one[at] > 0 for one in lengths) for at in range(len(FIELDS))]
        self.average = [sum(one[at] for one in lengths) / max(filled[at], 1) for at in range(len(FIELDS))]

    def _lengths(self, chunk: PreparedChunk) -> list[int]:
        return [sum(one.values()) for one in chunk.counts or ()]

    def idf(self, terms: Collection[str]) -> float:
        df = sum(any(term in one for term in terms for one in chunk.counts or ()) for chunk in self.passages)
        return math.log(1 + (len(self.passages) - df + 0.5) / (df + 0.5))

    def score(self, chunk: PreparedChunk, terms: Collection[str]) -> float:
        x = 0.0
        for at, (counts, length) in enumerate(zip(chunk.counts or (), self._lengths(chunk), strict=True)):
            b, average = self.scoring.b, self.average[at]
            norm = 1 - b + b * length / average if average else 1.0
            x += self.scoring.weights[at] * sum(counts.get(term, 0) for term in terms) / norm
        return self.idf(terms) * x / (self.scoring.k1 + x)


class _Vectors(_Part):
    def counts(self, fingerprint: str, languages: Languages = EVERY_LANGUAGE) -> dict[str, int]:
        tables = self.store.tables
        live = [chunk for row in tables.rows.values() if row.state == "live" for chunk in row.item.chunks]
        return {
            "chunks": sum(chunk.language in languages for chunk in live),
            "embedded": sum((fingerprint, chunk.embed_hash) in tables.vectors for chunk in live),
        }

    def settle(self, first: str, second: str, languages: Sequence[str]) -> None:
        with self.store.writing() as tables:
            for chunk in (chunk for row in tables.rows.values() for chunk in row.item.chunks):
                if chunk.language in languages and (second, chunk.embed_hash) in tables.vectors:
                    tables.vectors.pop((first, chunk.embed_hash), None)

    def activate(self, fingerprint: str, keep: Collection[str] = ()) -> None:
        with self.store.writing() as tables:
            tables.active = fingerprint


class _Jobs(_Part):
    def waiting(self, fingerprint: str) -> int:
        tables = self.store.tables
        live = (row for row in tables.rows.values() if row.state == "live")
        return sum((fingerprint, chunk.embed_hash) in tables.jobs for row in live for chunk in row.item.chunks)

    def claim(
        self, fingerprint: str, dimensions: int, owner: str, limit: int, kind: str | None = None
    ) -> list[Job] | None:
        claimed: list[Job] = []
        with self.store.writing() as tables:
            for row in tables.rows.values():
                for at, chunk in enumerate(row.item.chunks):
                    key = (fingerprint, chunk.embed_hash)
                    if tables.jobs.get(key) == "" and len(claimed) < limit:
                        tables.jobs[key] = owner
                        text = embedded_text(chunk.prefix, chunk.text)
                        claimed.append(Job(_chunk_id(row.n, at), row.n, chunk.embed_hash, text))
        return claimed or None

    def finish(self, fingerprint: str, done: Sequence[Job], computed: Mapping[bytes, Any]) -> None:
        dimensions = int(fingerprint.rpartition("/")[2])
        with self.store.writing() as tables:
            for key, vector in computed.items():
                if vector.shape != (dimensions,) or not np.isfinite(vector).all():
                    raise ContractError("a bad vector")
                tables.vectors[fingerprint, key] = vector
            for job in done:
                tables.jobs.pop((fingerprint, job.hash), None)

    def fail(self, fingerprint: str, failed: Sequence[Job], error: str) -> None:
        with self.store.writing() as tables:
            for job in failed:
                tables.jobs[fingerprint, job.hash] = ""

    def release(self, owner: str) -> None:
        with self.store.writing() as tables:
            tables.jobs |= {key: "" for key, holder in tables.jobs.items() if holder == owner}

    def known_vectors(self, fingerprint: str, hashes: Sequence[bytes]) -> dict[bytes, Any]:
        vectors = self.store.tables.vectors
        return {one: vectors[fingerprint, one] for one in hashes if (fingerprint, one) in vectors}


class _Links(_Part):
    def add(self, source: int, target: int, type: str) -> bool:  # noqa: A002
        with self.store.writing() as tables:
            is_new = (source, target, type) not in tables.links
            tables.links.add((source, target, type))
        return is_new

    def of(self, numbers: Sequence[int]) -> list[StoredLink]:
        now = self.store.tables.clock
        return [
            StoredLink(source, target, kind, "manual", "", "", now)
            for source, target, kind in sorted(self.store.tables.links)
            if source in numbers
        ]

    def neighbours(self, numbers: Sequence[int], depth: int = 2) -> dict[int, int]:
        found = dict.fromkeys(numbers, 0)
        for distance in range(1, depth + 1):
            edge = [n for n, away in found.items() if away == distance - 1]
            for source, target, _ in self.store.tables.links:
                for one, other in ((source, target), (target, source)):
                    if one in edge:
                        found.setdefault(other, distance)
        return found


class _Lessons(_Part):
    def add_feedback(self, query: str, n: int, verdict: str, *, counted: bool) -> None:
        with self.store.writing() as tables:
            tables.verdicts.append((n, verdict))

    def prior(self, n: int) -> float:
        counts: dict[str, int] = {}
        for item, verdict in self.store.tables.verdicts:
            if item == n:
                counts[verdict] = counts.get(verdict, 0) + 1
        return feedback_prior(counts)


class _Files(_Part):
    def known(self, drive: str, paths: Collection[str]) -> dict[str, FileState | None]:
        rows = self.store.tables.rows.values()
        return {row.ref.path: row.file for row in rows if row.ref.drive == drive and row.ref.path in paths}

    def states(self, numbers: Collection[int]) -> dict[int, FileState]:
        return {n: row.file for n, row in self.store.tables.rows.items() if n in numbers and row.file is not None}

    def note(self, states: Mapping[int, FileState]) -> None:
        with self.store.writing() as tables:
            for n, state in states.items():
                tables.rows[n].file = state

    def remember_root(self, path: str, globs: Sequence[str]) -> None:
        with self.store.writing() as tables:
            tables.roots[path] = tuple(globs)

    def roots(self) -> list[tuple[str, tuple[str, ...]]]:
        return sorted(self.store.tables.roots.items())

    def all_roots(self) -> list[tuple[str, str, tuple[str, ...]]]:
        return [(this_machine().id, path, globs) for path, globs in self.roots()]

    def forget_root(self, path: str) -> bool:
        with self.store.writing() as tables:
            return tables.roots.pop(path, None) is not None

    def take_over_roots(self, machine: str) -> None:
        """All folders are this machine's."""


class _Machines(_Part):
    """Every file is on this machine, because the store lives in its memory."""

    def refs(self) -> FileRefs:
        return FileRefs(this_machine().id, this_machine().id)

    def note_this(self) -> None:
        """There is nobody else."""

    def names(self) -> dict[str, str]:
        return {}

    def elsewhere(self, refs: Iterable[str]) -> dict[str, str]:
        return {}


def _tick(tables: Tables) -> datetime:
    """Time passes with every change, and never stands still."""
    tables.clock = max(tables.clock + timedelta(microseconds=2), datetime.now(UTC))
    return tables.clock


def _chunk_id(n: int, at: int) -> int:
    return n * 1000 + at


def _item(row: Row, version: int) -> Item:
    made, _ = row.versions[version]
    draft = made.draft
    return Item(
        row.id,
        draft.ref,
        draft.kind,
        row.state,
        version,
        made.hash,
        draft.content,
        draft.fields,
        row.created,
        row.updated,
    )


def _window(row: Row) -> tuple[str | None, str | None]:
    return row.item.draft.fields.valid_from, row.item.draft.fields.valid_until


def _candidate(row: Row) -> Candidate:
    return Candidate(row.n, str(row.ref))


def _scored(row: Row, scores: Mapping[int, float], cosines: Mapping[int, float], maximum: float) -> Candidate:
    by_word = max(scores, key=lambda chunk: scores[chunk], default=None)
    by_meaning = max(cosines, key=lambda chunk: cosines[chunk], default=None)
    lexical = scores[by_word] / maximum if by_word is not None and maximum else 0.0
    return Candidate(
        row.n,
        str(row.ref),
        lexical,
        cosines[by_meaning] if by_meaning is not None else 0.0,
        by_word if lexical else None,
        by_meaning,
    )


def _refuse_immutable(row: Row) -> None:
    if row.item.draft.fields.immutable:
        raise Conflict(f"{row.ref} is immutable")


def _holds_all(chunk: PreparedChunk, terms: Sequence[str]) -> bool:
    return all(any(term in one for one in chunk.counts or ()) for term in terms)


def _passes(row: Row, filters: Filters) -> bool:
    fields = row.item.draft.fields
    tags = {tag.casefold() for tag in fields.tags}
    single = (
        (filters.states, row.state), (filters.kinds, row.item.draft.kind), (filters.categories, fields.category),
        (filters.domains, fields.domain), (filters.severities, fields.severity), (filters.drives, row.ref.drive),
        (filters.threads, fields.thread), (filters.loadings, fields.loading),
    )  # fmt: skip
    return (
        all(not wanted or value in wanted for wanted, value in single)
        and row.ref.drive not in filters.not_drives
        and (not filters.tags_any or bool(tags & {tag.casefold() for tag in filters.tags_any}))
        and tags >= {tag.casefold() for tag in filters.tags_all}
        and (not filters.paths or any(_path_fits(row.ref.path, path) for path in filters.paths))
        and (filters.importance_min is None or (fields.importance or 0) >= filters.importance_min)
        and (filters.after is None or row.updated >= filters.after)
        and (filters.before is None or row.updated < filters.before)
        and all(fields.metadata.get(name) == value for name, value in filters.metadata.items())
        and all(fields.metadata.get("facets", {}).get(facet) for facet in filters.facets)
    )


def _path_fits(path: str, wanted: str) -> bool:
    return fnmatch.fnmatchcase(path, wanted) if "*" in wanted else path.startswith(wanted)
