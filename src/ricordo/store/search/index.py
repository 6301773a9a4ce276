"""The part of a store that answers searches. It writes nothing. What a page shows of its items is read in a few
statements.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

from ricordo.errors import UsageError
from ricordo.store.arrays import Array
from ricordo.store.backlog import ACTIVE
from ricordo.store.query import Aim, Ask, Candidates, Passages, PassageText, Shown, WordShare
from ricordo.store.search.caches import SearchedStore
from ricordo.store.search.candidates import MODELS, Gathering, masks
from ricordo.store.search.vectors import MeaningSide, aimed_cosines, vectors_of
from ricordo.store.search.words import KeywordSide
from ricordo.store.sql import items
from ricordo.store.sql.database import Connection
from ricordo.store.sql.filters import DISTINCT
from ricordo.store.sql.items import chunk_texts
from ricordo.store.sql.links import replacements
from ricordo.values.items import Item, Ref
from ricordo.values.kinds import SESSION


def passages(
    opened: SearchedStore,
    connection: Connection,
    entries: Sequence[Shown],
    ask: Ask | None,
    *,
    contents: bool,
    vectors: str,
) -> Passages:
    """Everything that is shown of some items; see ``SearchIndex.passages``."""
    numbers = [entry.n for entry in entries]
    asked = [chunk for entry in entries for chunk in entry.chunks]
    best = [entry.chunks[0] for entry in entries if entry.chunks]
    connection.prefetch(
        lambda: items.page_rows(connection, numbers),
        lambda: chunk_texts(connection, asked),
        lambda: replacements(connection, numbers) if ask is not None and ask.as_of is not None else {},
        lambda: _shares(opened, connection, ask, entries) if ask is not None else {},
        lambda: vectors_of(opened, connection, vectors, best) if vectors else {},
    )
    rows = items.page_rows(connection, numbers)
    entries = [entry for entry in entries if entry.n in rows]
    versions = {entry.n: entry.version for entry in entries if entry.version is not None}
    by_number = {n: row.item for n, row in rows.items()}
    connection.prefetch(
        *(partial(items.at_version, connection, entry.n, entry.version) for entry in entries if contents),
        lambda: {} if contents else items.as_versions(connection, by_number, versions),
        lambda: items.layouts_of(connection, versions),
        lambda: _sessions(connection, [row.item for row in rows.values()]),
    )
    if contents:
        by_number = {entry.n: items.at_version(connection, entry.n, entry.version) for entry in entries}
    elif versions:
        by_number |= items.as_versions(connection, by_number, versions)
    layouts = {n: row.layout for n, row in rows.items()} | items.layouts_of(connection, versions)
    wanted = {entry.n: entry.chunks or tuple(layouts[entry.n][0][:1, 0].tolist()) for entry in entries}
    first = [chunk for entry in entries if not entry.chunks for chunk in wanted[entry.n]]
    texts = chunk_texts(connection, asked) | chunk_texts(connection, first)
    return Passages(
        items=by_number,
        texts={n: _placed(chunks, texts, layouts[n][0]) for n, chunks in wanted.items()},
        marks={n: labels for n, (_, labels) in layouts.items()},
        shares=_shares(opened, connection, ask, entries) if ask is not None else {},
        vectors=vectors_of(opened, connection, vectors, best) if vectors else {},
        sessions=_sessions(connection, list(by_number.values())),
        replaced=replacements(connection, numbers) if ask is not None and ask.as_of is not None else {},
        contradicted={n: row.contradiction for n, row in rows.items() if row.contradiction is not None},
    )


def _placed(chunks: Sequence[int], texts: Mapping[int, tuple[int, str, str]], layout: Array) -> tuple[PassageText, ...]:
    """Some passages of an item with their places in it; those that its version does not hold are left out."""
    order = layout[:, 0].tolist()
    passages = []
    for chunk in chunks:
        if chunk in texts and chunk in order:
            at = order.index(chunk)
            _, heading, text = texts[chunk]
            _, start, first, last = layout[at].tolist()
            passages.append(
                PassageText(
                    chunk=chunk,
                    heading=heading,
                    text=text,
                    start=start,
                    lines=(first, last),
                    position=at,
                    of=len(order),
                )
            )
    return tuple(passages)


def _shares(
    opened: SearchedStore, connection: Connection, ask: Ask, entries: Sequence[Shown]
) -> Mapping[int, Sequence[WordShare]]:
    """What each word of the query added to the passage that matched best."""
    _, times = masks(opened, connection, ask)
    keywords = KeywordSide(opened.lexical, connection, ask, times)
    chunks = [entry.matched for entry in entries if entry.matched is not None]
    return {
        chunk: [WordShare(*row) for row in rows] for chunk, rows in keywords.shares(keywords.wanted, chunks).items()
    }


def _sessions(connection: Connection, page_items: Sequence[Item]) -> dict[str, str]:
    """The titles of the sessions whose turns are shown."""
    threads = dict.fromkeys(item.fields.thread for item in page_items if item.is_untitled_turn and item.fields.thread)
    refs = [Ref(SESSION, f"/{thread}") for thread in threads if thread]
    numbers = connection.gather(*(partial(items.number_of, connection, ref) for ref in refs))
    by_number = items.by_numbers(connection, [n for n in numbers if n is not None])
    return {ref.path[1:]: by_number[n].title for ref, n in zip(refs, numbers, strict=True) if n is not None}


_HAS_VECTORS = (
    "SELECT 1 FROM fingerprints f WHERE name=? AND EXISTS (SELECT 1 FROM vector_blocks b WHERE b.fingerprint = f.id)"
)


class SearchIndex:
    """Search by word and by meaning. What it says of a store on a server is what the last answer had, so that nobody
    waits for it.
    """

    def __init__(self, opened: SearchedStore) -> None:
        self._opened = opened
        self._database = opened.database
        self._last = self._read() if opened.is_remote else None

    def _read(self) -> tuple[str | None, tuple[str, ...], tuple[str, ...]]:
        """The fingerprint that searches use, the languages of passages, and the models that there are."""
        with self._database.read() as connection:
            active, languages, models = connection.gather(
                lambda: connection.once(ACTIVE), lambda: connection.once(DISTINCT), lambda: connection.once(MODELS)
            )
        return active[0][0], tuple(row[0] for row in languages), tuple(row[0] for row in models)

    def snapshot(self) -> AbstractContextManager[object]:
        """While it is open, this thread reads the store at one moment; opening it once is faster than for each call."""
        return self._database.read()

    def together(self, *calls: Callable[[], Any]) -> list[Any]:
        """What some calls answer that only read this store and do not depend on each other; on a server they take as
        many trips as the longest of them, and may be made several times.
        """
        with self._database.read() as connection:
            return connection.gather(*calls)

    @property
    def fingerprint(self) -> str | None:
        """The fingerprint whose vectors searches use."""
        if self._last:
            return self._last[0]
        with self._database.read() as connection:
            active: str | None = connection.once(ACTIVE)[0][0]
        return active

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages of passages that are not in the store's own."""
        if self._last:
            return self._last[1]
        with self._database.read() as connection:
            return tuple([row[0] for row in connection.once(DISTINCT)])

    @property
    def models(self) -> tuple[str, ...]:
        """The models that have vectors, or texts that wait for theirs, on a server; empty for a file, which is asked
        each time.
        """
        return self._last[2] if self._last else ()

    def has_vectors_of(self, fingerprint: str) -> bool:
        """Whether a model has vectors or, on a server, texts that wait for theirs."""
        if self._last:
            return fingerprint in self._last[2]
        with self._database.read() as connection:
            return bool(connection.once(_HAS_VECTORS, fingerprint))

    def candidates(self, ask: Ask) -> Candidates:
        if ask.per_side < 1:
            raise UsageError("a limit is at least 1")
        with self._database.read() as connection:
            candidates = Gathering(self._opened, connection, ask).candidates()
        if self._last:
            self._last = candidates.active, candidates.languages, candidates.models
        return candidates

    def load_vectors(self, fingerprint: str, dimensions: int) -> None:
        """Bring what is kept of a model's vectors up to date, before something is compared with them."""
        with self._database.read() as connection:
            MeaningSide(self._opened, connection, fingerprint, dimensions).load()

    def similar(self, n: int, ask: Ask) -> Candidates:
        with self._database.read() as connection:
            return Gathering(self._opened, connection, ask).similar(n)

    def cosines(self, fingerprint: str, aim: Aim, chunks: Sequence[int]) -> list[float] | None:
        with self._database.read() as connection:
            return aimed_cosines(self._opened, connection, fingerprint, aim, chunks=chunks)

    def passages(
        self, entries: Sequence[Shown], ask: Ask | None = None, *, contents: bool = False, vectors: str = ""
    ) -> Passages:
        with self._database.read() as connection:
            return passages(self._opened, connection, entries, ask, contents=contents, vectors=vectors)

    def document_frequencies(self, terms: Collection[str]) -> tuple[int, dict[str, int]]:
        """How many live chunks there are, and in how many of them each term occurs."""
        with self._database.read() as connection:
            return self._opened.lexical.document_frequencies(connection, terms)

    def posting_sizes(self, terms: Collection[str]) -> Counter[str]:
        """How many bytes the postings of each term take that occurs: told sooner than in how many chunks it does."""
        with self._database.read() as connection:
            return self._opened.lexical.posting_sizes(connection, terms)
