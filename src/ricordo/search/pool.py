"""The candidates of a search while they are ranked: their scores may be refined, everything else stays as found."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from ricordo.store.asking import Candidate, Candidates, QueryVector
from ricordo.values.items import validity_at

HELD = 0.5
"""The share of a query's words, weighted by rarity, that a passage must contain to count as an answer by its words."""
EMBEDDED = 0.5
"""If a smaller share of the items that the words found has a vector, only words count, because too few can be compared
by meaning.
"""


Comparing = tuple[float, float, Mapping[int, float]]
"""How passages of an item are compared: what words and meaning count for, and the cosines that are known by passage."""


class Member:
    """A candidate with the two scores that it is ranked by."""

    __slots__ = ("_evidence", "comparing", "cosine", "found", "lexical")

    def __init__(self, found: Candidate, lexical: float, cosine: float) -> None:
        self.found = found
        self.lexical = lexical
        self.cosine = cosine
        self.comparing: Comparing = (1.0, 1.0, {})
        self._evidence: tuple[tuple[int, float], ...] | None = None

    @property
    def chunks(self) -> Mapping[int, tuple[float, float]]:
        return self.found.chunks

    def evidence(self) -> tuple[tuple[int, float], ...]:
        """Its passages with their values, the most convincing first; worked out when it is first asked for."""
        if self._evidence is None:
            words, meaning, moved = self.comparing
            values = [
                (-(words * lexical + meaning * max(moved.get(chunk, cosine), 0.0)), chunk)
                for chunk, (lexical, cosine) in self.chunks.items()
            ]
            self._evidence = tuple((chunk, -value) for value, chunk in sorted(values))
        return self._evidence


class Pool:
    """The candidates of one search, by item number."""

    def __init__(
        self, answer: Candidates, members: dict[int, Member], vector: QueryVector | None, *, has_vectors: bool
    ) -> None:
        self.answer = answer
        self.members = members
        self.total = answer.total
        self.vector = vector
        self.has_vectors = has_vectors
        """Whether meaning counts: there are vectors, and most of what the words found has one."""
        self.moved: Mapping[int, float] = {}
        """By passage: its cosine with the moved query, known for those that only words found, too."""
        self.scale = 1.0
        """What keyword scores of passages are multiplied by, so that they compare with cosines as in the ranking."""
        self.belief = 1.0
        """How much of its share in the ranking the keyword side has earned, of at most 1."""
        self.notes: list[str] = []
        self.degraded: list[str] = []

    @classmethod
    def of(cls, answer: Candidates, vector: QueryVector | None = None) -> Pool:
        """What a store answered, ready to be ranked."""
        trusted = _are_embedded(answer)
        members = {one.n: Member(one, one.lexical, one.cosine if trusted else 0.0) for one in answer.found}
        return cls(answer, members, vector, has_vectors=answer.has_vectors and trusted)

    @property
    def has_words(self) -> bool:
        """Whether any word of the query was found."""
        return any(member.lexical > 0 for member in self.members.values())

    def validity(self, n: int, moment: datetime) -> str:
        """Why a member is not valid at a time; empty if it is valid."""
        window = self.answer.windows.get(n)
        return validity_at(*window, moment) if window is not None else ""

    def fits_badly(self, related: float) -> bool:
        """Whether nothing was found that answers the query: no passage is near it, and none contains half of its words.

        Words are weighted by how rare they are. Without vectors, words alone cannot decide this.
        """
        if not self.has_vectors or self.answer.by_substring:
            return False
        nearest = max((one.cosine for one in self.answer.found if one.vector_chunk is not None), default=0.0)
        held = self.best_coverage() * self.answer.share if self.has_words else 0.0
        return nearest < related and held < HELD

    def best_coverage(self) -> float:
        """How much of the query the best passage covers; all of it where that was not measured."""
        return max(self.answer.coverage.values(), default=1.0)

    def best_coverage_of_sides(self) -> float:
        """The same, without the items that were added only as neighbours or by links."""
        joined = {chunk for one in self.answer.found if one.joined for chunk in one.chunks}
        return max((value for chunk, value in self.answer.coverage.items() if chunk not in joined), default=1.0)

    def best_lexical_of_sides(self) -> float:
        """The best keyword score, without the items that were added only as neighbours or by links."""
        return max((one.lexical for one in self.answer.found if not one.joined), default=0.0)


def _are_embedded(answer: Candidates) -> bool:
    """Whether most of the items that the words found have a vector; the others wait for theirs."""
    by_word = [one for one in answer.found if one.lexical > 0 and not one.joined]
    embedded = sum(one.vector_chunk is not None for one in by_word)
    return not by_word or embedded >= EMBEDDED * len(by_word)
