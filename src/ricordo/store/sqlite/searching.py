"""The searching half of the store: masks, keyword search, and the texts that hits are shown with."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import datetime

import numpy as np

from ricordo.errors import UsageError
from ricordo.store.base import Matches, Scoring, Wanted
from ricordo.store.sqlite import items
from ricordo.store.sqlite.filters import allowed_items
from ricordo.store.sqlite.open_file import OpenFile
from ricordo.store.sqlite.postings import Array
from ricordo.store.sqlite.times import micros
from ricordo.values.hits import Filters


class Index:
    """Keyword search. Writes nothing."""

    def __init__(self, file: OpenFile) -> None:
        self._file = file
        self._database = file.database

    def snapshot(self) -> AbstractContextManager[object]:
        """While it is open, everything this thread reads is of one moment, and opening it once saves doing so often."""
        return self._database.read()

    def allowed(self, filters: Filters, *, as_of: bool = False) -> Array | None:
        with self._database.read() as connection:
            return allowed_items(connection, filters, as_of=as_of)

    def live_items(self) -> Array:
        """Numbers of all live items."""
        with self._database.read() as connection:
            rows = connection.rows("SELECT n FROM items WHERE state='live'")
        return np.fromiter((row[0] for row in rows), np.int64, len(rows))

    def chunks_at(self, when: datetime) -> Array:
        """Ids of the chunks that were live at a time and are not deleted."""
        with self._database.read() as connection:
            rows = connection.rows(
                "SELECT id FROM chunks WHERE state<2 AND live_from<=?1 AND (live_until IS NULL OR live_until>?1)",
                (micros(when),),
            )
        return np.fromiter((row[0] for row in rows), np.int64, len(rows))

    def keyword_search(
        self,
        wanted: Sequence[Wanted],
        *,
        scoring: Scoring,
        limit: int,
        allowed: Array | None = None,
        required: Sequence[Sequence[str]] = (),
        excluded: Sequence[Sequence[str]] = (),
        times: Array | None = None,
        also: Array | None = None,
        cover: bool = False,
    ) -> Matches:
        """The best chunks by keyword, and every matching chunk of the items in ``also``."""
        if limit < 1:
            raise UsageError("a limit is at least 1")
        with self._database.read() as connection:
            return self._file.lexical.search(
                connection,
                wanted,
                scoring=scoring,
                items=limit,
                allowed=allowed,
                required=required,
                excluded=excluded,
                times=times,
                also=also,
                cover=cover,
            )

    def keyword_shares(
        self, wanted: Sequence[Wanted], chunks: Sequence[int], *, scoring: Scoring, times: Array | None = None
    ) -> dict[int, list[tuple[str, dict[str, int], float, float]]]:
        with self._database.read() as connection:
            return self._file.lexical.shares(connection, wanted, chunks, scoring=scoring, times=times)

    def document_frequencies(self, terms: Collection[str]) -> tuple[int, dict[str, int]]:
        """How many live chunks there are, and in how many of them each term stands."""
        with self._database.read() as connection:
            return self._file.lexical.document_frequencies(connection, terms)

    def terms_starting_with(self, prefix: str) -> list[str]:
        with self._database.read() as connection:
            return self._file.lexical.terms_starting_with(connection, prefix)

    def chunk_texts(self, chunks: Sequence[int]) -> dict[int, tuple[int, str, str]]:
        """Item number, heading and text of chunks."""
        found: dict[int, tuple[int, str, str]] = {}
        with self._database.read() as connection:
            for at in range(0, len(chunks), 500):
                part = list(chunks[at : at + 500])
                marks = ",".join("?" * len(part))
                for chunk, n, heading, text in connection.rows(
                    f"SELECT id, item, heading, text FROM chunks WHERE id IN ({marks})", part
                ):
                    found[chunk] = (n, heading, text)
        return found

    def current_chunks(self, numbers: Array) -> Array:
        layouts: list[bytes] = []
        with self._database.read() as connection:
            for part in items.batched(numbers.tolist()):
                layouts += (
                    row[0]
                    for row in connection.rows(
                        "SELECT v.layout FROM items i JOIN versions v ON v.item = i.n AND v.number = i.version"
                        f" WHERE i.n IN ({','.join('?' * len(part))})",
                        part,
                    )
                )
        return np.frombuffer(b"".join(layouts), np.int64).reshape(-1, 4)[:, 0].copy()

    def places(self, n: int, version: int | None = None) -> tuple[Array, list[tuple[int, str]]]:
        """Layout and marks of an item's current (or given) version."""
        with self._database.read() as connection:
            if version is None:
                version = connection.rows("SELECT version FROM items WHERE n=?", (n,))[0][0]
            return items.layout_of(connection, n, version)

    def live_chunks(self, allowed: Array | None = None) -> Iterator[tuple[int, int, str]]:
        """Chunk id, item number and text of every live chunk, newest item first: for substring scans."""
        wanted = None if allowed is None else set(allowed.tolist())
        with self._database.read() as connection:
            for chunk, n, text in connection.stream(
                "SELECT c.id, c.item, c.text FROM chunks c JOIN items i ON i.n = c.item WHERE c.state=0"
                " ORDER BY i.updated_at DESC, c.id"
            ):
                if wanted is None or n in wanted:
                    yield chunk, n, text
