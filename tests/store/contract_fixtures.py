"""What the tests of the contract of a store need: items ready to be written, opened stores, a plain keyword score."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ricordo.store.base import Store
from ricordo.store.prepare import prepare
from ricordo.store.query import Candidates, chunk_at
from ricordo.store.values import FileState, PreparedItem, Scoring
from ricordo.text.words import Analyzer
from ricordo.values.items import Draft, Fields, Passage, Ref
from ricordo.values.kinds import kind_of_drive


def prepared(
    ref: str,
    text: str,
    *,
    kind: str | None = None,
    file: FileState | None = None,
    language: str = "english",
    **fields: Any,
) -> PreparedItem:
    """An item with one passage for each paragraph: ``prepared("note:/a", "One.\\n\\nTwo.", tags=["x"])``."""
    named = Ref.parse(ref)
    passages, lines = [], []
    start = 0
    parts = text.split("\n\n") if text else []
    for at, part in enumerate(parts):
        end = start + len(part) + (2 if at < len(parts) - 1 else 0)
        first = text[:start].count("\n") + 1
        passages.append(Passage(start, end))
        lines.append((first, first + text[start:end].rstrip("\n").count("\n")))
        start = end
    draft = Draft(
        named, kind or kind_of_drive(named.drive), text, Fields().with_changes(fields), passages=tuple(passages)
    )
    return prepare(draft, Analyzer(language), prefixes=[""] * len(passages), lines=lines, file=file)


@dataclass(frozen=True)
class Candidate:
    """A row of the columns that a store answers with."""

    n: int
    ref: str
    lexical: float
    cosine: float
    lexical_chunk: int | None
    vector_chunk: int | None
    chunks: Mapping[int, tuple[float, float]]
    version: int | None
    joined: bool


def listed(answer: Candidates) -> list[Candidate]:
    """The candidates of an answer, one by one."""
    found, passages = answer.found, answer.found.passages
    rows = []
    for place, n in enumerate(found.numbers):
        part = slice(*passages.starts[place : place + 2].tolist())
        values = zip(passages.scores[part].tolist(), passages.cosines[part].tolist(), strict=True)
        lexical, cosine = float(found.lexical[place]), float(found.cosines[place])
        own = (chunk_at(found.lexical_chunks, place), chunk_at(found.vector_chunks, place))
        chunks = dict(zip(passages.chunks[part].tolist(), values, strict=True))
        joined = bool(found.joined[place])
        rows.append(Candidate(n, found.refs[place], lexical, cosine, *own, chunks, found.versions.get(n), joined))
    return rows


class StoreFixtures:
    """Opens stores for tests, and closes them."""

    def open_store(self, folder: Path, **options: object) -> Store:
        """A store in an empty folder, or the one that is there already. ``options``: language, keep_versions."""
        raise NotImplementedError

    def open_copy(self, target: Path) -> Store:
        """The store that a backup at ``target`` holds."""
        raise NotImplementedError

    @pytest.fixture
    def opened(self) -> Iterator[list[Store]]:
        """The stores that a test opened; those that are still open are closed after it."""
        stores: list[Store] = []
        yield stores
        for store in stores:
            store.close()

    @pytest.fixture
    def open_again(self, tmp_path: Path, opened: list[Store]) -> Callable[..., Store]:
        """Opens the same store as often as it is called."""

        def open_one(**options: object) -> Store:
            opened.append(self.open_store(tmp_path, **options))
            return opened[-1]

        return open_one

    @pytest.fixture
    def open_elsewhere(self, tmp_path: Path, opened: list[Store]) -> Callable[[], Store]:
        """Opens an empty store beside the first."""

        def open_one() -> Store:
            folder = tmp_path / f"elsewhere-{len(opened)}"
            folder.mkdir()
            opened.append(self.open_store(folder))
            return opened[-1]

        return open_one

    @pytest.fixture
    def open_backup(self, opened: list[Store]) -> Callable[[Path], Store]:
        """Opens a backup that a store made."""

        def open_one(target: Path) -> Store:
            opened.append(self.open_copy(target))
            return opened[-1]

        return open_one

    @pytest.fixture
    def store(self, open_again: Callable[..., Store]) -> Store:
        """An empty store."""
        return open_again()


FIELDS = ("title", "path", "description", "tags", "context", "body")


def bm25f(
    items: Mapping[str, PreparedItem], terms: Sequence[str], scoring: Scoring | None = None
) -> tuple[dict[str, float], float]:
    """By ref, the best score of each item that contains any of the terms; and the highest possible score."""
    scoring = scoring or Scoring()
    passages = [(ref, chunk.counts) for ref, item in items.items() for chunk in item.chunks if chunk.counts is not None]
    count = len(passages)
    lengths = [[sum(field.values()) for field in counts] for _, counts in passages]
    filled = [sum(length[at] > 0 for length in lengths) for at in range(len(FIELDS))]
    average = [sum(length[at] for length in lengths) / max(filled[at], 1) for at in range(len(FIELDS))]
    maximum = 0.0
    totals = [0.0] * count
    for term, times in Counter(terms).items():
        holding = sum(any(term in field for field in counts) for _, counts in passages)
        idf = math.log(1 + (count - holding + 0.5) / (holding + 0.5)) * (1 + math.log(times))
        maximum += idf
        for place, (_, counts) in enumerate(passages):
            x = 0.0
            for at, field in enumerate(counts):
                norm = 1 - scoring.b + scoring.b * lengths[place][at] / average[at] if average[at] else 1.0
                x += scoring.weights[at] * field.get(term, 0) / norm
            totals[place] += idf * x / (scoring.k1 + x)
    best: dict[str, float] = {}
    for (ref, _), total in zip(passages, totals, strict=True):
        if total > 0:
            best[ref] = max(best.get(ref, 0.0), total)
    return best, maximum
