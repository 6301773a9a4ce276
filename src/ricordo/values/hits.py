"""The input and output of a search: filters, hits, their passages and their explanation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from datetime import datetime
from typing import Annotated, Any, TypedDict

from ricordo.frozen import frozen
from ricordo.values.items import Item
from ricordo.values.kinds import KINDS
from ricordo.values.plain import LEFT_OUT_WHEN_EMPTY, NOT_SHOWN, Plain, rounded
from ricordo.values.provenance import NOBODY, Provenance
from ricordo.verbs.declare import Say

LIVE = ("live",)


@frozen
class Filters(Plain):
    """Conditions on items, applied before the best are picked. Empty means no condition.

    Faces have parameters for those that say something about themselves here; a query can say the others, too.
    """

    kinds: Annotated[tuple[str, ...], Say("Only this kind.", name="kind", short="-k", shown="KIND", choices=KINDS)] = ()
    tags_any: Annotated[
        tuple[str, ...], Say("Only items with one of these tags.", name="tag", short="-t", shown="TAG", longest=1000)
    ] = ()
    tags_all: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    severities: tuple[str, ...] = ()
    drives: Annotated[
        tuple[str, ...],
        Say("Only this drive: disk, url, memory, …", name="drive", short="-d", shown="DRIVE", longest=1000),
    ] = ()
    paths: Annotated[
        tuple[str, ...],
        Say("Only paths that start with this or match it.", name="path", short="-p", shown="PREFIX|GLOB", longest=1000),
    ] = ()
    also_paths: tuple[str, ...] = ()
    """A second group of paths; an item must be below one path of each group."""
    not_drives: tuple[str, ...] = ()
    """None of these drives."""
    threads: tuple[str, ...] = ()
    authors: tuple[str, ...] = ()
    """Who wrote the present version: a name, or person, agent, import, loader."""
    loadings: tuple[str, ...] = ()
    tiers: Annotated[
        tuple[str, ...],
        Say("Only this tier.", name="tier", longest=1000, not_on={"cli": "--tier is a flag of every command"}),
    ] = ()
    importance_min: int | None = None
    after: Annotated[
        datetime | None,
        Say("Only items changed since then: 7d, 36h, or a date (local).", shown="SPAN|DATE", longest=40),
    ] = None
    before: Annotated[
        datetime | None,
        Say("Only items changed before then: 7d, 36h, or a date (local).", shown="SPAN|DATE", longest=40),
    ] = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    facets: tuple[str, ...] = ()
    """What a turn of a session is: ``correction``, ``frustration``, ``praise``; all of them."""
    states: tuple[str, ...] = LIVE

    def is_empty(self) -> bool:
        return self == Filters()


class SearchDetails(TypedDict, total=False):
    """How a program searches, beyond what a person can say."""

    literal: bool
    """The query is plain words, without operators."""
    turns: bool
    """Each turn of a session is a hit of its own."""
    opens: bool
    """Being found counts as being opened."""
    tool: str
    """The name under which the query is logged."""
    snippets: bool
    """False leaves out the snippets of the hits."""
    evidence: bool
    """False leaves out which passages of each hit matched."""
    respell: bool
    """False looks for no words that are spelt alike."""
    shown: Callable[[Sequence[Hit]], Sequence[Hit]]
    """Says which of the hits are shown, and in which order; only these are logged."""


@frozen
class TermShare(Plain):
    """What one query word added to a hit: in which fields it occurs, how rare it is, and its part of the score."""

    term: str
    frequencies: Mapping[str, int]
    idf: float
    contribution: float


@frozen
class SignalShare(Plain):
    """One signal's raw value, its weight, and their product: what it added to the ranking value."""

    name: str
    value: float
    weight: float
    contribution: float


@frozen
class FitPart(Plain):
    """What one side knows of a hit (``meaning``: a cosine; ``words``: a share of the query), and what that adds to its
    fit, in the logarithm of odds. ``repeats`` marks a turn of a session that says nothing but what was asked.
    """

    name: str
    value: float
    contribution: float


@frozen
class Explain(Plain):
    """Why a hit has its rank. ``signals`` add up exactly to ``value``; ``steps`` lead from it to the score.

    ``fit`` is why it counts as having to do with the question: 1 / (1 + e^-sum of the contributions).
    """

    value: float
    signals: tuple[SignalShare, ...] = ()
    terms: tuple[TermShare, ...] = ()
    steps: tuple[tuple[str, float], ...] = ()
    fit: tuple[FitPart, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return Plain.to_dict(self) | {"steps": [{"step": name, "value": value} for name, value in self.steps]}


@frozen
class Evidence(Plain):
    """A passage of a hit that matched: its lines in the original, and the place's label (a page, say)."""

    chunk: int = field(metadata=NOT_SHOWN)
    lines: tuple[int, int]
    text: str
    heading: str = ""
    place: str = ""
    score: float = 0.0
    in_lines: str = field(default="", metadata=NOT_SHOWN)
    """The text with its line breaks and indentation, for people to read."""


@frozen
class Elsewhere(Plain):
    """Another version of a hit, in another tier: which one, whether it is newer, and what differs from the hit."""

    tier: str
    version: int
    is_newer: bool
    diff: str = ""


@frozen
class Hit(Plain):
    """One ranked item with its best passage."""

    ref: str
    id: str
    title: str
    description: str
    kind: str
    score: float
    snippet: str
    lines: tuple[int, int]
    domain: str | None = None
    severity: str | None = None
    tags: tuple[str, ...] = ()
    tier: str = ""
    context: str = field(default="", metadata=LEFT_OUT_WHEN_EMPTY)
    """What one must know to understand it, such as what its folder holds."""
    machine: str = field(default="", metadata=LEFT_OUT_WHEN_EMPTY)
    """The name of the other machine that has the file; empty for what is on this one, or no file."""
    place: str = ""
    validity: str = field(default="", metadata=LEFT_OUT_WHEN_EMPTY)
    """Why the item is not valid now: ``no longer valid`` or ``not valid yet``."""
    token_estimate: int = 0
    corrected_by: str = field(default="", metadata=LEFT_OUT_WHEN_EMPTY)
    superseded_by: str = field(default="", metadata=LEFT_OUT_WHEN_EMPTY)
    contradicted_by: str = field(default="", metadata=LEFT_OUT_WHEN_EMPTY)
    """The ref of a newer item that says the contrary."""
    cited: tuple[Any, ...] = field(default=(), metadata=NOT_SHOWN)
    """What it cites, as its metadata has it."""
    citations: tuple[str, ...] = field(default=(), metadata=LEFT_OUT_WHEN_EMPTY)
    """What became of what it cites: ``src/a.py: fresh``, ``changed``, ``moved to …``, ``replaced by …`` or ``gone``."""
    version: int = field(default=0, metadata=NOT_SHOWN)
    author: Provenance = field(default=NOBODY, metadata=NOT_SHOWN)
    """Who wrote the version."""
    evidence: tuple[Evidence, ...] = ()
    item: Item | None = field(default=None, metadata=LEFT_OUT_WHEN_EMPTY)
    explain: Explain | None = field(default=None, metadata=LEFT_OUT_WHEN_EMPTY)
    elsewhere: tuple[Elsewhere, ...] = field(default=(), metadata=LEFT_OUT_WHEN_EMPTY)
    """Other versions of it in the other tiers that were searched."""
    fit: float | None = field(default=None, metadata=rounded(3))
    """How sure we are that it has to do with the question, from 0 to 1; unlike the score, it compares between queries.
    None where nothing was asked, as in a list of what passes filters.
    """

    @property
    def is_ranked(self) -> bool:
        """Whether it has a score: in a list of what passes filters, hits have none, because nothing was asked."""
        return self.fit is not None or self.score != 0.0

    def to_dict(self) -> dict[str, Any]:
        return Plain.to_dict(self) | ({} if self.is_ranked else {"score": None})


@frozen
class SearchMeta(Plain):
    """How an answer was found: counts, time, profile, tiers, and what could not be used."""

    candidates: int
    returned: int
    milliseconds: float
    profile: str
    weights: Mapping[str, float] = field(default_factory=dict)
    tiers: tuple[str, ...] = ()
    degraded: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    fit: float | None = field(default=None, metadata=rounded(3))
    """The best fit of the hits; 0 if there are none, None where nothing was asked."""


@frozen
class Answer(Plain):
    """The answer to a search: its hits, best first, and how they were found. It can be iterated over."""

    hits: tuple[Hit, ...]
    meta: SearchMeta

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)

    def __bool__(self) -> bool:
        return bool(self.hits)

    def __getitem__(self, place: int) -> Hit:
        return self.hits[place]

    def __repr__(self) -> str:
        lines = [f"<Answer: {len(self.hits)} of {self.meta.candidates} candidates, profile {self.meta.profile}"]
        lines += [f"  {hit.score:.3f}  {hit.ref}:{hit.lines[0]}  {hit.title}" for hit in self.hits]
        return "\n".join(lines) + ">"


@frozen
class GrepMatch(Plain):
    """A line of a stored text that a pattern matches, with its neighbours."""

    ref: str
    line: int
    text: str
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


@frozen
class Explanation(Plain):
    """The answer to "why is this item where it is, or why is it not found?"."""

    query: str
    ref: str
    found: bool
    reason: str
    rank: int | None = None
    hit: Hit | None = None


LINK_TYPES: tuple[str, ...] = (
    "supports", "contradicts", "extends", "sequences", "supersedes", "corrects", "mentions",
)  # fmt: skip


@frozen
class Link(Plain):
    """A link between two items, seen from one: ``ref`` is the far end, ``distance`` the number of this step.

    A link between two neighbours of the item is a second step, although the item is linked with both its ends.

    ``origin`` is ``manual``, ``text``, ``mention`` (an entity's title in the text) or ``found`` (a contradiction that
    nobody confirmed); ``text`` is the target as the source's text has it.
    """

    source: str
    target: str
    type: str
    origin: str
    created_at: datetime
    distance: int = 1
    direction: str = "out"
    ref: str = ""
    title: str = ""
    text: str = ""


@frozen
class LinkReport(Plain):
    """The links around an item; ``unresolved`` are targets in its text for which there is no item yet."""

    ref: str
    depth: int
    links: tuple[Link, ...]
    unresolved: tuple[str, ...] = ()
