"""What every compared engine is given, and what it must offer.

A collection is one folder: the passages as Ricordo cut them (in its own store), a vector for each, the questions with
their vectors, and, where the collection is a judged set, which documents answer which question. Every engine indexes
the same passages and the same vectors, so that a difference between two engines is a difference between the engines.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

import apsw
import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float32]
Vector = npt.NDArray[np.float32]

_PASSAGES = (
    "SELECT chunks.id, items.drive || ':' || items.path, items.title, chunks.heading, chunks.text,"
    " (SELECT tag FROM item_tags WHERE item = items.n AND tag LIKE 'slice%')"
    " FROM chunks JOIN items ON items.n = chunks.item WHERE chunks.state = 0"
)


@dataclass(frozen=True, slots=True)
class Passage:
    """One text to index. ``slice`` is one of a hundred labels: a filter on one lets 1 % pass."""

    number: int
    ref: str
    title: str
    heading: str
    text: str
    slice: str

    @property
    def whole(self) -> str:
        """All the words of the passage, for engines that index one text."""
        return f"{self.title}\n{self.heading}\n{self.text}"


class Collection:
    """A folder that ``compare.py`` made, and that every engine reads."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        about = json.loads((folder / "about.json").read_text(encoding="utf-8"))
        self.about: Mapping[str, Any] = about
        self.questions: Sequence[str] = about["questions"]
        self.words: Sequence[Sequence[str]] = about["words"]
        """The words of each question without stop words: what keyword engines look for, joined by OR."""
        self.judgements: Sequence[Mapping[str, float]] = about["judgements"]

    @property
    def store(self) -> Path:
        """The store that Ricordo made of the texts."""
        return self.folder / "ricordo" / "store.db"

    @cached_property
    def vectors(self) -> Matrix:
        """A vector of length 1 for each passage, by its number."""
        return np.load(self.folder / "vectors.npy", mmap_mode="r")

    @cached_property
    def query_vectors(self) -> Matrix:
        return np.load(self.folder / "queries.npy")

    @cached_property
    def refs(self) -> Sequence[str]:
        """The document of each passage."""
        return (self.folder / "refs.txt").read_text(encoding="utf-8").split("\n")

    def passages(self) -> Iterator[Passage]:
        """All passages in the order of their numbers."""
        numbers = {int(chunk): number for number, chunk in enumerate(np.load(self.folder / "chunks.npy"))}
        connection = apsw.Connection(str(self.store), flags=apsw.SQLITE_OPEN_READONLY)
        rows = connection.execute(_PASSAGES + " ORDER BY chunks.id")
        for chunk, ref, title, heading, text, label in rows:
            yield Passage(numbers[chunk], ref, title, heading, text, label or "")
        connection.close()

    def batches(self, size: int) -> Iterator[list[Passage]]:
        """The passages, so many at a time."""
        passages = self.passages()
        while batch := list(islice(passages, size)):
            yield batch


class ComparedEngine(ABC):
    """One engine over one folder of its own. Answers are refs of documents, best first.

    The docstring of a subclass is its line in the table of engines.
    """

    name: ClassVar[str]
    kinds: ClassVar[tuple[str, ...]] = ("keyword", "vector", "hybrid", "filtered")
    """What it can be asked."""
    packages: ClassVar[tuple[str, ...]] = ()
    """The packages that it needs, by the names they are imported by."""
    shares_folder: ClassVar[bool] = False
    """Whether another process may write while this one searches."""

    def __init__(self, collection: Collection, folder: Path) -> None:
        self.collection = collection
        self.folder = folder

    @classmethod
    def missing(cls) -> str:
        """Why this engine cannot run here; empty when it can."""
        absent = [name for name in cls.packages if find_spec(name) is None]
        return f"not installed: {', '.join(absent)}" if absent else ""

    @abstractmethod
    def load(self) -> None:
        """Index the whole collection, so that another process can open it."""

    @abstractmethod
    def open(self) -> None:
        """Make ready to search what was loaded."""

    def check(self) -> None:  # noqa: B027 - most engines have nothing to check
        """Stop the run when what was loaded is not whole."""

    @abstractmethod
    def ask(self, kind: str, question: int, limit: int) -> list[str]:
        """Search for a question by its number. ``filtered`` is the hybrid search within one slice."""

    def nearest(self, question: int, limit: int, label: str = "") -> list[str] | None:
        """The documents with the nearest passages, to count recall; None where the engine cannot say."""
        return None

    def write(self, number: int) -> None:
        """Add one new passage, committed."""
        raise NotImplementedError

    def close(self) -> None:  # noqa: B027 - most engines have nothing to close
        """Let go of files."""

    def refs(self, numbers: Sequence[int], limit: int) -> list[str]:
        """The documents of passages, each once."""
        known = self.collection.refs
        return list(dict.fromkeys(known[number] for number in numbers))[:limit]


def depth(limit: int, label: str) -> int:
    """How many passages to ask for, so that ``limit`` documents are among them; a slice has fewer documents."""
    return (30 if label else 4) * limit


def slice_of(question: int) -> str:
    """The label that a question is filtered by."""
    return f"slice{question % 100:02d}"


def fused(*rankings: Sequence[int], k: int = 60) -> list[int]:
    """Reciprocal rank fusion, as people write it around two lookups."""
    scores: dict[int, float] = {}
    for ranking in rankings:
        for place, number in enumerate(ranking):
            scores[number] = scores.get(number, 0.0) + 1 / (k + place)
    return sorted(scores, key=lambda number: -scores[number])
