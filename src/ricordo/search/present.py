"""From ranked items to hits: the passages that matched, their lines and places, and a snippet around the match."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence

from ricordo.frozen import frozen
from ricordo.store.base import Store
from ricordo.text.words import Analyzer
from ricordo.values.hits import Evidence, Explain, Hit
from ricordo.values.items import Item, Ref
from ricordo.values.kinds import SESSION

SNIPPET = 240
EVIDENCE = 3
LONGEST_SESSION_TITLE = 80
_WORD = re.compile(r"\w+(?:['’\-]\w+)*")


@frozen
class Ranked:
    """An item with its place in the ranking: the value it was ranked by, its score, its best chunks."""

    n: int
    item: Item
    value: float
    score: float
    chunks: tuple[tuple[int, float], ...]
    explain: Explain | None = None


def present(
    store: Store, ranked: Sequence[Ranked], *, terms: frozenset[str], analyzer: Analyzer, full: bool
) -> tuple[Hit, ...]:
    """Load what a reader needs to see of each hit, and nothing of the others."""
    wanted = [chunk for entry in ranked for chunk, _ in entry.chunks[:EVIDENCE]]
    texts = store.index.chunk_texts(wanted)
    marker = Marker(terms, analyzer)
    titles = turn_titles(store, [entry.item for entry in ranked])
    hits = []
    for entry in ranked:
        evidence = _evidence(store, entry, texts, marker)
        hits.append(_hit(store, entry, evidence, full, titles.get(entry.item.ref, entry.item.title)))
    return tuple(hits)


def turn_titles(store: Store, items: Sequence[Item]) -> dict[Ref, str]:
    """Turns have no title: shown is their session's, as it is now, with who spoke and when in it."""
    turns = [item for item in items if item.kind == SESSION and item.fields.seq is not None and not item.fields.title]
    sessions: dict[str, str] = {}
    for thread in dict.fromkeys(item.fields.thread or "" for item in turns):
        n = store.items.number(Ref(SESSION, f"/{thread}")) if thread else None
        sessions[thread] = store.items.get_many([n])[n].title if n is not None else thread or "a session"
    titles = {}
    for item in turns:
        title = " ".join(sessions[item.fields.thread or ""].split())
        if len(title) > LONGEST_SESSION_TITLE:
            title = title[: LONGEST_SESSION_TITLE - 1].rstrip() + "…"
        told = item.fields.metadata
        who = " ".join(str(told[name]) for name in ("role", "tool") if told.get(name))
        titles[item.ref] = f"{title} ({', '.join(filter(None, (who, f'turn {item.fields.seq}')))})"
    return titles


def _hit(store: Store, entry: Ranked, evidence: tuple[Evidence, ...], full: bool, title: str) -> Hit:
    item, fields = entry.item, entry.item.fields
    first = evidence[0] if evidence else None
    return Hit(
        ref=str(item.ref),
        id=item.id,
        title=title,
        description=fields.description,
        kind=item.kind,
        score=entry.score,
        snippet=first.text if first else fields.description[:SNIPPET],
        lines=first.lines if first else (item.first_line, item.first_line),
        place=first.place if first else "",
        domain=fields.domain,
        severity=fields.severity,
        tags=fields.tags,
        tier=item.tier,
        token_estimate=item.size // 4,
        version=item.version,
        evidence=evidence,
        item=store.items.get(entry.n, version=item.version) if full else None,
        explain=entry.explain,
    )


def _evidence(
    store: Store, entry: Ranked, texts: dict[int, tuple[int, str, str]], marker: Marker
) -> tuple[Evidence, ...]:
    layout, marks = store.index.places(entry.n, entry.item.version)
    parts = []
    for chunk, score in entry.chunks[:EVIDENCE] or [(row[0], 0.0) for row in layout[:1].tolist()]:
        here = (layout[:, 0] == chunk).nonzero()[0]
        if not len(here):
            continue
        row = layout[here[0]].tolist()
        found = texts.get(chunk) or store.index.chunk_texts([chunk]).get(chunk)
        if found is None:
            continue
        _, heading, text = found
        snippet, window = snippet_of(text, marker)
        place = place_of([(at - row[1], label) for at, label in marks], text, window, marker)
        parts.append(Evidence(chunk, (row[2], row[3]), snippet, heading, place, round(score, 6)))
    return tuple(parts)


def place_of(marks: Sequence[tuple[int, str]], text: str, window: tuple[int, int], marker: Marker) -> str:
    """The label of the page, slide or sheet in a stretch of text that has most of the words asked for."""
    start, end = window
    best, most = "", -1
    ends = [at for at, _ in marks[1:]] + [len(text)]
    for (at, label), following in zip(marks, ends, strict=False):
        first, last = max(at, start), min(following, end)
        if first < last:
            count = len(set(filter(marker.__getitem__, _WORD.findall(text[first:last]))))
            if count > most:
                best, most = label, count
    return best


class Marker(dict[str, bool]):
    """Which words of a text the query asked for; remembers each word it was asked about."""

    def __init__(self, terms: frozenset[str], analyzer: Analyzer) -> None:
        self.terms = terms
        self.analyzer = analyzer

    def __missing__(self, word: str) -> bool:
        found = self[word] = not self.terms.isdisjoint(self.analyzer.terms_of(word))
        return found

    def places(self, text: str) -> list[int]:
        """Where the words asked for stand."""
        wanted = set(filter(self.__getitem__, _WORD.findall(text)))
        spots = []
        for word in wanted:
            at = text.find(word)
            while at >= 0:
                spots.append(at)
                at = text.find(word, at + len(word))
        return sorted(spots)


def snippet_of(text: str, marker: Marker, size: int = SNIPPET) -> tuple[str, tuple[int, int]]:
    """The stretch of a text that holds most of the query's words, and where it starts and ends."""
    if len(text) <= size:
        return " ".join(text.split()), (0, len(text))
    places = marker.places(text)
    start = 0
    if places:
        best = max(range(len(places)), key=lambda i: (bisect_left(places, places[i] + size - 40) - i, -i))
        start = max(0, places[best] - 40)
    if start:
        cut = text.find(" ", start, start + 40)
        start = cut + 1 if cut >= 0 else start
    end = min(len(text), start + size)
    if end < len(text):
        cut = text.rfind(" ", start + size // 2, end)
        end = cut if cut > 0 else end
    body = " ".join(text[start:end].split())
    return f"{'…' if start else ''}{body}{'…' if end < len(text) else ''}", (start, end)
