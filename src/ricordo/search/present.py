"""Turns ranked items into hits: the passages that matched, their lines and pages, and a snippet around the match."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ricordo.frozen import frozen
from ricordo.search.pool import Member
from ricordo.search.shape import WITHOUT_PROSE, kept_beside, kept_by_prose
from ricordo.search.snippets import SNIPPET, Marker, cut_out, place_of, window_of
from ricordo.store.asking import MOST_PREFIX_TERMS, Ask, Candidates, Passages, PassageText, Shown, WordShare
from ricordo.store.parts import SearchIndex
from ricordo.store.sql.machines import Machines
from ricordo.text.spelling import likely_words
from ricordo.text.words import Analyzer, runs, words_in
from ricordo.values.hits import Evidence, Explain, Hit
from ricordo.values.items import Item

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

EVIDENCE = 3
HEADED = 0.15
"""The part of its value that a passage gains whose heading holds all that was asked for; it precedes its like then."""
OWN_WORDS = 0.1
"""What the passage gains whose own text has most of the query's words: the keyword score counts the title's, too."""
LONGEST_SESSION_TITLE = 80


@frozen
class Ranked:
    """An item with its place in the ranking: the value it was ranked by, its score, its best passages.

    ``matched`` is the passage that the words of the query are explained by.
    """

    n: int
    value: float
    score: float
    member: Member
    version: int | None = None
    matched: int | None = None
    explain: Explain | None = None
    fit: float | None = None
    repeats: bool = False
    """Whether it is a turn of a session that says nothing but what was asked."""

    @property
    def chunks(self) -> tuple[tuple[int, float], ...]:
        return self.member.evidence()

    @property
    def best_chunk(self) -> int | None:
        return self.chunks[0][0] if self.chunks else None


class HitReader:
    """Reads from the store what is shown of ranked items, each item once.

    With ``ask``, what its words gave to each passage is read too, and for a moment in the past what replaced each item
    since; ``vectors`` is a fingerprint of which the vectors of
    the best passages are wanted.
    """

    def __init__(self, index: SearchIndex, *, ask: Ask | None = None, vectors: str = "") -> None:
        self.index = index
        self.ask = ask
        self.vectors = vectors
        self._read: dict[int, Passages] = {}
        self._whole: set[int] = set()

    def read(self, entries: Sequence[Ranked], *, contents: bool = False) -> None:
        """Read what is missing of these; ``contents`` reads their whole texts too."""
        known = self._whole if contents else self._read
        missing = [entry for entry in entries if entry.n not in known]
        if not missing:
            return
        shown = [
            Shown(entry.n, tuple(chunk for chunk, _ in entry.chunks[:EVIDENCE]), entry.version, entry.matched)
            for entry in missing
        ]
        found = self.index.passages(shown, self.ask, contents=contents, vectors=self.vectors)
        numbers = [entry.n for entry in missing]
        self._read |= dict.fromkeys(numbers, found)
        if contents:
            self._whole.update(numbers)

    def item(self, entry: Ranked) -> Item:
        return self._read[entry.n].items[entry.n]

    def texts(self, entry: Ranked) -> tuple[PassageText, ...]:
        return self._read[entry.n].texts[entry.n]

    def marks(self, entry: Ranked) -> Sequence[tuple[int, str]]:
        return self._read[entry.n].marks[entry.n]

    def best_text(self, entry: Ranked) -> str:
        """The text of its best passage; empty if no passage matched."""
        return next((part.text for part in self.texts(entry) if part.chunk == entry.best_chunk), "")

    def vector(self, entry: Ranked) -> Array | None:
        """The vector of its best passage."""
        return None if entry.best_chunk is None else self._read[entry.n].vectors.get(entry.best_chunk)

    def shares(self, entry: Ranked) -> Sequence[WordShare]:
        """What the words of the query added to the passage that matched them best."""
        return () if entry.matched is None else self._read[entry.n].shares.get(entry.matched, ())

    def replaced(self, entry: Ranked) -> tuple[str, str]:
        """In an answer about the past: how it was replaced since (``corrected_by``), and the ref of the newest one."""
        return self._read[entry.n].replaced.get(entry.n, ("", ""))

    def contradicted(self, entry: Ranked) -> tuple[int, str]:
        """The number and the ref of the newest item that contradicts it; 0 and nothing if there is none."""
        return self._read[entry.n].contradicted.get(entry.n, (0, ""))

    def title(self, entry: Ranked) -> str:
        """Its title. A turn has none, so it gets its session's present title, with the speaker and the number of the
        turn.
        """
        item = self.item(entry)
        if not item.is_untitled_turn:
            # A memory is one passage, so that its first words are those of the passage. Nothing matched in a list: the
            # store then gives the first passage.
            texts = self.texts(entry)
            return item.title_with(self.best_text(entry) or (texts[0].text if texts else ""))
        thread = item.fields.thread or ""
        title = " ".join((self._read[entry.n].sessions.get(thread) or thread or "a session").split())
        if len(title) > LONGEST_SESSION_TITLE:
            title = title[: LONGEST_SESSION_TITLE - 1].rstrip() + "…"
        about = item.fields.metadata
        who = " ".join(str(about[name]) for name in ("role", "tool") if about.get(name))
        return f"{title} ({', '.join(filter(None, (who, f'turn {item.fields.seq}')))})"


def present(
    reader: HitReader,
    page: Sequence[Ranked],
    marker: Marker,
    *,
    full: bool,
    snippets: bool = True,
    evidence: bool = True,
    tier: str = "",
) -> tuple[Hit, ...]:
    """The hits of a page, with what a reader needs to see of each; ``full`` adds the whole items."""
    reader.read(page, contents=full)
    if snippets and evidence:
        marker.look_at(part.text for entry in page for part in reader.texts(entry))
    now = datetime.now(UTC)
    shown = ((entry, _evidence(reader, entry, marker, snippets) if evidence else ()) for entry in page)
    return tuple(_hit(reader, entry, parts, now, full=full, tier=tier) for entry, parts in shown)


def with_machines(hits: tuple[Hit, ...], machines: Machines) -> tuple[Hit, ...]:
    """The hits; files of other machines say on which they are."""
    found = machines.elsewhere(hit.ref for hit in hits)
    return tuple(replace(hit, machine=found[hit.ref]) if hit.ref in found else hit for hit in hits) if found else hits


def _hit(
    reader: HitReader, entry: Ranked, evidence: tuple[Evidence, ...], now: datetime, *, full: bool, tier: str
) -> Hit:
    item = reader.item(entry)
    fields = item.fields
    first = evidence[0] if evidence else None
    how, replaced_by = reader.replaced(entry)
    return Hit(
        ref=str(item.ref),
        id=item.id,
        title=reader.title(entry),
        description=fields.description,
        kind=item.kind,
        score=entry.score,
        snippet=first.text if first else fields.description[:SNIPPET],
        lines=first.lines if first else (item.first_line, item.first_line),
        place=first.place if first else "",
        validity=item.validity(now),
        unmerged=entry.member.unmerged,
        domain=fields.domain,
        severity=fields.severity,
        tags=fields.tags,
        tier=tier,
        token_estimate=item.size // 4,
        version=item.version,
        evidence=evidence,
        item=replace(item, tier=tier) if full else None,
        explain=entry.explain,
        corrected_by=replaced_by if how == "corrected_by" else "",
        superseded_by=replaced_by if how == "superseded_by" else "",
        contradicted_by=reader.contradicted(entry)[1],
        cited=tuple(cited) if isinstance(cited := fields.metadata.get("citations"), list) else (),
        fit=entry.fit,
    )


def _evidence(reader: HitReader, entry: Ranked, marker: Marker, snippets: bool) -> tuple[Evidence, ...]:
    scores = dict(entry.chunks)
    marks = reader.marks(entry)
    parts = []
    for part in reader.texts(entry):
        # The stretch also decides which page or slide is named, where there are any.
        window = window_of(part.text, marker) if snippets or marks else (0, 0)
        inside = [(at - part.start, label) for at, label in marks]
        place = place_of(inside, part.text, window, marker) if marks else ""
        score = round(scores.get(part.chunk, 0.0), 6)
        in_lines = cut_out(part.text, window) if window[1] else ""
        snippet = " ".join(in_lines.split())
        parts.append(Evidence(part.chunk, part.lines, snippet, part.heading, place, score, in_lines))
    texts = [part.text for part in reader.texts(entry)]
    return answering_first(parts, texts, marker) if len(parts) > 1 else tuple(parts)


def answering_first(parts: Sequence[Evidence], texts: Sequence[str], marker: Marker) -> tuple[Evidence, ...]:
    """The passages of an item, first the one that answers by its heading, its own words and its shape.

    The title says the same of all passages of an item; which of them answers, their headings say. How much prose a
    passage has is looked at only where it can decide: most of its value is known without it.
    """
    counts = [marker.count_in(text) for text in texts]
    most = max(1, *counts)
    ranked = []
    for one, text, count in zip(parts, texts, counts, strict=True):
        headed = 1.0 + HEADED * marker.share_of(one.heading.replace(" › ", " ")) ** 3  # plain text is read faster
        value, own = one.score * headed * kept_beside(one.heading, text), OWN_WORDS * count / most
        ranked.append((value + own, value, own, text, one))
    ranked.sort(key=lambda row: -row[0])
    groups: list[list[tuple[float, float, float, str, Evidence]]] = []
    least = math.inf
    for row in ranked:  # only within a group can prose change the order
        if row[0] < least:
            groups.append([])
        groups[-1].append(row)
        least = min(least, (1.0 - WITHOUT_PROSE) * row[1] + row[2])
    for group in groups:
        if len(group) > 1:
            group.sort(key=lambda row: -(row[1] * kept_by_prose(row[3]) + row[2]))
    return tuple(row[-1] for group in groups for row in group)


def spelling_notes(reader: HitReader, page: Sequence[Ranked], answer: Candidates, analyzer: Analyzer) -> list[str]:
    """What was looked for in place of words that are nowhere, in words of the hits: the index has only their stems. And
    whether more words begin with a prefix than were looked for.
    """
    respelled = answer.respelled
    cut = f"only {MOST_PREFIX_TERMS:,} of the words that begin so were looked for; write more of the word before the *"
    notes = [cut] if len(answer.prefix_terms) >= MOST_PREFIX_TERMS else []
    if not respelled:
        return notes
    texts = [text for entry in page for text in (reader.title(entry), *(part.text for part in reader.texts(entry)))]
    shown = {word for text in texts for run in runs(text) for word in words_in(run)}

    def spelled(written: str, term: str) -> str:
        having = sorted(analyzer.words_with(shown, frozenset((term,))))
        return next(iter(likely_words(written, having, 1)), having[0] if having else term)

    return notes + [
        f"'{written}' was not found; looked for {' or '.join(dict.fromkeys(spelled(written, term) for term in terms))}"
        for written, terms in respelled.items()
    ]
