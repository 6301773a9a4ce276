"""Stores for benchmarks, filled through the engine as users fill theirs, without vectors."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import apsw

from corpus import SourceDocument, documents_with
from ricordo.cli import GARBAGE
from ricordo.config.loading import Config
from ricordo.engine.ricordo import Ricordo
from ricordo.store.sqlite.store import SqliteStore
from ricordo.values.items import Entry

SLICE = 200
"""Documents handed over at once: a folder's worth."""


@dataclass(frozen=True, slots=True)
class Growth:
    """How adding went. ``seconds`` count from parsed text to commit, not the making up of text."""

    chunks: int
    added: int
    characters: int
    seconds: float
    longest_lock_ms: float
    processor_seconds: float

    @property
    def rate(self) -> float:
        """Chunks added per second."""
        return self.added / self.seconds if self.seconds else 0.0

    def to_dict(self) -> dict[str, float]:
        return {
            "chunks": self.chunks,
            "characters_per_chunk": round(self.characters / max(self.chunks, 1)),
            "chunks_per_second": round(self.rate),
            "per_700_characters": round(self.rate * self.characters / max(self.chunks, 1) / 700),
            "chunks_per_processor_second": round(self.added / max(self.processor_seconds, 1e-9)),
            "longest_write_lock_ms": round(self.longest_lock_ms, 1),
        }


class GrowingStore:
    """A store that is filled with the documents of a corpus, further and further."""

    def __init__(
        self,
        file: Path,
        documents: Sequence[SourceDocument],
        *,
        most: int,
        seed: int = 1,
        entry: Callable[[SourceDocument], Entry] | None = None,
    ) -> None:
        self.file = file
        self._entry = entry or entry_of
        # The engine's chunks are not our sections, so there is more text at hand than should be needed.
        self._source: Iterator[SourceDocument] = documents_with(documents, 3 * most, seed=seed)
        config = Config()
        self._config = replace(config, embedding=replace(config.embedding, provider="none"))
        with Ricordo.open(file, config=self._config):
            pass

    def grow(self, chunks: int) -> Growth:
        """Add documents until there are at least so many chunks."""
        gc.set_threshold(GARBAGE)  # as the command does
        before, _ = count_chunks(self.file)
        held = before
        seconds = processor = 0.0
        with Ricordo.open(self.file, config=self._config) as engine:
            while held < chunks:
                part = [self._entry(document) for document in islice(self._source, SLICE)]
                if not part:
                    raise SystemExit("the corpus ran out of text")
                started, busy = time.perf_counter(), time.process_time()
                report = engine.save_many(part, wait=False)
                seconds += time.perf_counter() - started
                processor += time.process_time() - busy
                if report.failed:
                    raise SystemExit(f"{report.failed} documents were not saved, e.g. {report.items[0]}")
                held += sum(saved.chunks for saved in report.items)
            longest = longest_write_lock(engine)
        held, characters = count_chunks(self.file)
        return Growth(held, held - before, characters, seconds, longest, processor)


def longest_write_lock(engine: Ricordo) -> float:
    """How long this process held the write lock at most, in milliseconds."""
    store = engine.store
    assert isinstance(store, SqliteStore)
    return store.database.longest_write * 1000


def count_chunks(file: Path) -> tuple[int, int]:
    """How many live chunks a store holds, and their characters."""
    connection = apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READONLY)
    found = connection.execute("SELECT count(*), coalesce(sum(length(text)), 0) FROM chunks WHERE state = 0")
    count, characters = found.fetchall()[0]
    connection.close()
    return int(count), int(characters)


def entry_of(document: SourceDocument) -> Entry:
    """A document of the corpus as the engine takes it."""
    return Entry(
        ref=f"bench:{document.path}",
        content=document.text,
        structure="markdown",
        fields={"title": document.title, "description": document.description, "tags": document.tags},
    )
