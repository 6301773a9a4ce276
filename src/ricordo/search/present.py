"""Turns ranked items into hits: the passages that matched, their lines and pages, and a snippet around the match."""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import accumulate, chain
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from ricordo.patterns import late
from ricordo.search.ranking import Ranked
from ricordo.store.query import MOST_PREFIX_TERMS, Ask, Candidates, Passages, PassageText, Shown, WordShare
from ricordo.store.sql.files import Machines
from ricordo.store.values import Replacement
from ricordo.text.alike import likely_words
from ricordo.text.sentences import sentence_starts
from ricordo.text.words import Analyzer, fold, runs, runs_of_each, words_in
from ricordo.values.hits import Evidence, Hit
from ricordo.values.items import CITATIONS, Item

ENOUGH = 300
"""So many characters of prose are as good as more."""
WITHOUT_PROSE = 0.1
"""The part of its value that a passage without any prose loses."""
ASIDE = 0.2
"""The part that a passage loses which leads elsewhere or stands at the end for form's sake."""

_LINK = late(r"\[[^\]]*\]\([^)]*\)|`[^`]*<[^>]*>`__?|https?://\S+")
_FIELD = late(r"[A-Z][A-Za-z-]+: ")
_MARKS = "[`*:"
"""A line that is not all prose has one of these; no other needs a closer look."""
_FENCE = ("```", "~~~")
_NO_PROSE = frozenset("#|<{+=-~^.:")
"""What a line begins with that is a heading, a row of a table, a tag or a mark."""
_ASIDES = {
    r"what.?s ?next": ("s next", "snext"),
    "see also": ("see also",),
    "further reading": ("further reading",),
    "references": ("references",),
    "footnotes": ("footnotes",),
    r"acknowledge?ments?": ("acknowledg",),
    "copyright": ("copyright",),
    "change ?log|change history": ("change log", "changelog", "change history"),
    "table of contents": ("table of contents",),
    "previous discussion": ("previous discussion",),
}
"""Headings above passages that lead elsewhere, as patterns. Every match has one of the pieces behind its pattern."""
_ASIDE = "|".join(_ASIDES)
_PIECES = tuple(piece for pieces in _ASIDES.values() for piece in pieces)
_HEADED_ASIDE = late(rf"(?:{_ASIDE})", re.IGNORECASE)
_LINE_ASIDE = late(rf"^(?:#+ )?[\W_]*(?:heading )?[\W_]*(?:{_ASIDE})[\W_]*$", re.IGNORECASE | re.MULTILINE)


def kept_beside(heading: str, text: str) -> float:
    """The part of its value that a passage keeps when it is compared with others of its item, by what it is about.

    >>> kept_beside("Usage", "## What's next\\n\\n* [Pods](/pods)\\n"), kept_beside("Usage", "It runs.")
    (0.8, 1.0)
    """
    last = heading.rpartition(" › ")[2]
    lowered = f"{last}\n{text}".lower()
    for piece in _PIECES:  # few have one, and looking for them in a plain loop is far faster than the patterns
        if piece in lowered:
            return 1.0 - ASIDE if _HEADED_ASIDE.search(last) or _LINE_ASIDE.search(text) else 1.0
    return 1.0


def kept_by_prose(text: str) -> float:
    """The part of its value that a passage keeps when it is compared with others of its item, by its sentences.

    >>> kept_by_prose("* [Pods](/pods)\\n* [Nodes](/nodes)\\n"), kept_by_prose("They match. " * 40)
    (0.9, 1.0)
    """
    return 1.0 - WITHOUT_PROSE * (1.0 - min(1.0, prose_in(text) / ENOUGH))


def prose_in(text: str) -> int:
    """How many characters of sentences a text has, without links, headings, tables and code; it stops at ``ENOUGH``.

    >>> prose_in("Patterns\\n~~~~~~~~\\nThey match."), prose_in("~~~\\nThey match.\\n~~~\\n")
    (19, 0)
    """
    size = 0
    fenced = False
    before = ""
    for line in text.splitlines():
        bare = line.strip()
        if bare[:3] in _FENCE and not (before and not fenced and not bare.strip("~")):  # a heading is underlined so
            fenced = not fenced
        elif bare and not fenced and bare[0] not in _NO_PROSE and line[:4] != "    " and line[0] != "\t":
            if not any(map(bare.__contains__, _MARKS)):
                size += len(bare)
            elif not _FIELD.match(bare):  # a field with its value is no sentence
                size += len(_LINK.sub("", bare).strip("* "))
            if size >= ENOUGH:
                break
        before = bare
    return size


SNIPPET = 240
LEADING = 0.5
"""What a word counts more that stands in the first third of a snippet, because an answer follows what it is about."""
MARGIN = 40
"""So many characters before a word are shown where its sentence begins too far away."""


_NAMED = r"(?:--\w[\w-]*|(?>\w+(?:(?:[._]|::)\w+)+)|[a-z]+[A-Z]\w*)"
_NAME = late(rf"(?<![\w.-]){_NAMED}(?![\w-])")
"""The name of a setting, an option or a function, which no sentence has by chance."""
_BEFORE_A_NAME = r"^[^\w\n-]*(?:-\w, *)?"
_AFTER_A_NAME = r"(?![\w-])(?=[`*\"' ]*(?:$|[=:,;(<\[{|]|\s\s|\s[-\u2013\u2014]\s))"
"""What stands around a name on a line that begins to say what it is; other lines begin with one by chance."""
_DEFINITION = late(rf"(?m){_BEFORE_A_NAME}{_NAMED}{_AFTER_A_NAME}")
_WORD = late(r"\w")
MOST_NAMES = 8


class Marker:
    """Which words of a text the query asked for. The texts of a page are looked at together: they share most words.
    The ``query`` itself may name something that a text defines.
    """

    def __init__(self, terms: frozenset[str], analyzer: Analyzer, query: str = "") -> None:
        self.terms = terms
        self.analyzer = analyzer
        names = "|".join(map(re.escape, _NAME.findall(query)[:MOST_NAMES]))
        self.named = re.compile(f"(?mi){_BEFORE_A_NAME}(?:{names}){_AFTER_A_NAME}") if names else None
        self._bits = {term: 1 << place for place, term in enumerate(terms)}
        self._words: dict[str, dict[str, int]] = {}
        """By text: its words that were asked for, each with its terms, as bits."""
        self._counts: dict[str, int] = {}
        """By text: how many of the terms it has."""

    def defined_at(self, text: str) -> int | None:
        """Where the line of a text begins that says what something is that the query names; None if there is none."""
        found = self.named.search(text) if self.named is not None else None
        return found.start() if found is not None else None

    def definition_in(self, text: str) -> tuple[int, int] | None:
        """Where a text says what something is that the query names, up to where it does so of the next thing, whose
        value is not what was asked for. Lines that name several things at once are said of all of them.
        """
        found = self.named.search(text) if self.named is not None else None
        if found is None:
            return None
        following = (match.start() for match in _DEFINITION.finditer(text, found.end()))
        return found.start(), next((at for at in following if _WORD.search(text, found.end(), at)), len(text))

    def look_at(self, texts: Iterable[str]) -> None:
        """Find out which words of some texts were asked for."""
        fresh = list(dict.fromkeys(texts))
        runs_of = runs_of_each(fresh)
        asked_for = set(self.analyzer.words_with(set().union(*runs_of), self.terms))
        # Some runs are no single words: they have signs around them, or consist of several words.
        parts = {run: words_in(run) for run in asked_for if not run.isalnum()}
        among = self.analyzer.words_with(chain.from_iterable(parts.values()), self.terms) if parts else ()
        bits_of: dict[str, int] = {}
        for word in (*(asked_for - parts.keys()), *among):
            bits_of[word] = 0
            for term in self.analyzer.terms_of(word):
                bits_of[word] |= self._bits.get(term, 0)
        for text, in_text in zip(fresh, runs_of, strict=True):
            words: dict[str, int] = {}
            every = 0
            for run in asked_for.intersection(in_text):
                for word in parts.get(run, (run,)):
                    if word in bits_of:
                        words[word] = bits_of[word]
                        every |= bits_of[word]
            self._words[text], self._counts[text] = words, every.bit_count()

    def wanted(self, text: str) -> dict[str, int]:
        """The words of a text that the query asked for, each with the terms that it has, one bit for each."""
        if text not in self._words:
            self.look_at([text])
        return self._words[text]

    def count_in(self, text: str) -> int:
        """How many of the terms asked for stand in a text."""
        if text not in self._counts:
            self.look_at([text])
        return self._counts[text]

    def share_of(self, text: str) -> float:
        """How many of the terms asked for stand in a short text, of at most 1."""
        return self.count_in(text) / len(self.terms) if self.terms and text else 0.0

    def places(self, text: str) -> list[tuple[int, int]]:
        """Where words of the query stand in a text, each with its terms, as bits."""
        spots: list[tuple[int, int]] = []
        for word, bits in self.wanted(text).items():
            size, at = len(word), 0
            *before, _ = text.split(word)  # all places at once, as ``find`` would give them
            for end in accumulate(map(len, before)):
                spots += ((end + at, bits),)
                at += size
        spots.sort()
        return spots


def window_of(text: str, marker: Marker, size: int = SNIPPET) -> tuple[int, int]:
    """Where the part of a text starts and ends that contains most of the query's words.

    It begins where a sentence does, if it can: of several parts with as many words, the one that begins with them.
    """
    if (defined := marker.definition_in(text)) is not None:
        start, last = defined
    elif len(text) <= size:
        return 0, len(text)
    else:
        places = marker.places(text)
        start, last = _best_start(places, _starts(text, places, size), size) if places else 0, len(text)
    end = min(last, start + size)
    if end < last:
        cut = text.rfind(" ", start + size // 2, end)
        end = cut if cut > 0 else end
    return start, end


def _starts(text: str, places: Sequence[tuple[int, int]], size: int) -> list[int]:
    """Where a snippet may begin: with the sentence of a word, or a little before it if that begins too far away."""
    sentences = sentence_starts(text, places[-1][0] + MARGIN)
    starts: set[int] = set()
    sentence = 0
    for at, _ in places:
        while sentences[sentence + 1] <= at:
            sentence += 1
        start = sentences[sentence]
        if at >= start + size - MARGIN:
            cut = text.find(" ", at - MARGIN, at)
            start = cut + 1 if cut >= 0 else at - MARGIN
        starts |= {start}
    return sorted(starts)


def _best_start(places: Sequence[tuple[int, int]], starts: Sequence[int], size: int) -> int:
    """The start after which most terms stand; those near to it count more."""
    best, most = 0, -1.0
    for start in starts if len(starts) > 1 else ():
        near = all_of = 0
        for at, bits in places[bisect_left(places, (start,)) :]:
            if at >= start + size - MARGIN // 4:
                break
            all_of |= bits
            near = all_of if at < start + size // 3 else near
        terms_after = all_of.bit_count() + LEADING * near.bit_count()
        if terms_after > most:
            best, most = start, terms_after
    return best if most >= 0 else starts[0]


def place_of(marks: Sequence[tuple[int, str]], text: str, window: tuple[int, int], marker: Marker) -> str:
    """The label of the page, slide or sheet in a part of a text that contains most of the query's words."""
    start, end = window
    best, most = "", -1
    ends = [at for at, _ in marks[1:]] + [len(text)]
    for (at, label), following in zip(marks, ends, strict=False):
        first, last = max(at, start), min(following, end)
        if first < last:
            count = len(Marker(marker.terms, marker.analyzer).wanted(text[first:last]))
            if count > most:
                best, most = label, count
    return best


def cut_out(text: str, window: tuple[int, int]) -> str:
    """The part of a text between two places, with its lines; where more precedes or follows, an ellipsis says so."""
    start, end = window
    body = text[start:end].rstrip() if start else text[:end].strip("\n").rstrip()
    return f"{'…' if start else ''}{body.lstrip() if start else body}{'…' if end < len(text) else ''}"


if TYPE_CHECKING:
    import numpy.typing as npt

    from ricordo.store.search.index import SearchIndex

    Array = npt.NDArray[Any]

EVIDENCE = 3
HEADED = 0.15
"""The part of its value that a passage gains whose heading holds all that was asked for; it precedes its like then."""
OWN_WORDS = 0.1
"""What the passage gains whose own text has most of the query's words: the keyword score counts the title's, too."""
LONGEST_SESSION_TITLE = 80


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
        existing = self._whole if contents else self._read
        missing = [entry for entry in entries if entry.n not in existing]
        if not missing:
            return
        wanted = [
            Shown(entry.n, tuple([chunk for chunk, _ in entry.chunks[:EVIDENCE]]), entry.version, entry.matched)
            for entry in missing
        ]
        passages = self.index.passages(wanted, self.ask, contents=contents, vectors=self.vectors)
        numbers = [entry.n for entry in missing]
        self._read |= dict.fromkeys(numbers, passages)
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
        best = entry.best_chunk
        for part in self._read[entry.n].texts[entry.n]:
            if part.chunk == best:
                return part.text
        return ""

    def vector(self, entry: Ranked) -> Array | None:
        return None if entry.best_chunk is None else self._read[entry.n].vectors.get(entry.best_chunk)

    def shares(self, entry: Ranked) -> Sequence[WordShare]:
        """What the words of the query added to the passage that matched them best."""
        return () if entry.matched is None else self._read[entry.n].shares.get(entry.matched, ())

    def replacement(self, entry: Ranked) -> Replacement | None:
        """In an answer about the past: what replaced it since."""
        return self._read[entry.n].replaced.get(entry.n)

    def contradicted(self, entry: Ranked) -> tuple[int, str]:
        """The number and the ref of the newest item that contradicts it; 0 and nothing if there is none."""
        return self._read[entry.n].contradicted.get(entry.n, (0, ""))

    def holds_contradicted(self) -> bool:
        """Whether any item that was read is contradicted."""
        return any(read.contradicted for read in self._read.values())

    def title(self, entry: Ranked) -> str:
        """Its title. A turn has none, so it gets its session's present title, with the speaker and the number of the
        turn.
        """
        item = self.item(entry)
        if not item.is_untitled_turn:
            if item.fields.title:
                return item.fields.title
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
    machines: Machines,
    *,
    full: bool,
    snippets: bool = True,
    evidence: bool = True,
    tier: str = "",
    fits: Sequence[float | None] | None = None,
) -> tuple[Hit, ...]:
    """The hits of a page, with what a reader needs to see of each; ``full`` adds the whole items.

    Files of other machines say on which they are.
    """
    reader.read(page, contents=full)
    if snippets and evidence:
        parts = [part for entry in page for part in reader.texts(entry)]
        marker.look_at([text for part in parts for text in (part.text, _plain_heading(part.heading))])
    now = datetime.now(UTC)
    hits = [
        _hit(
            reader,
            entry,
            fit=fit,
            evidence=_evidence(reader, entry, marker, snippets) if evidence else (),
            now=now,
            tier=tier,
            full=full,
        )
        for entry, fit in zip(page, fits or [None] * len(page), strict=True)
    ]
    machine_of = machines.elsewhere([hit.ref for hit in hits])
    return tuple([replace(hit, machine=machine_of[hit.ref]) if hit.ref in machine_of else hit for hit in hits])


def _hit(
    reader: HitReader,
    entry: Ranked,
    *,
    fit: float | None,
    evidence: tuple[Evidence, ...],
    now: datetime,
    full: bool,
    tier: str,
) -> Hit:
    item = reader.item(entry)
    fields = item.fields
    first = evidence[0] if evidence else None
    later = reader.replacement(entry)
    return Hit(
        ref=str(item.ref),
        id=item.id,
        title=reader.title(entry),
        description=fields.description,
        context=fields.context,
        kind=item.kind,
        score=entry.score,
        snippet=first.text if first else fields.description[:SNIPPET],
        lines=first.lines if first else (item.first_line, item.first_line),
        place=first.place if first else "",
        validity=item.validity(now),
        domain=fields.domain,
        severity=fields.severity,
        tags=fields.tags,
        tier=tier,
        token_estimate=item.size // 4,
        version=item.version,
        author=item.provenance,
        evidence=evidence,
        item=replace(item, tier=tier) if full else None,
        explain=entry.explain,
        contradicted_by=reader.contradicted(entry)[1],
        cited=tuple(cited) if isinstance(cited := fields.metadata.get(CITATIONS), list) else (),
        fit=fit,
        **(later.as_field() if later is not None else {}),
    )


def _evidence(reader: HitReader, entry: Ranked, marker: Marker, snippets: bool) -> tuple[Evidence, ...]:
    scores, marks, texts = dict(entry.chunks), reader.marks(entry), reader.texts(entry)
    parts = []
    for part in texts:
        # The stretch also decides which page or slide is named, where there are any.
        window = window_of(part.text, marker) if snippets or marks else (0, 0)
        inside = [(at - part.start, label) for at, label in marks]
        place = place_of(inside, part.text, window, marker) if marks else ""
        score = round(scores.get(part.chunk, 0.0), 6)
        in_lines = cut_out(part.text, window) if window[1] else ""
        snippet = " ".join(in_lines.split())
        parts.append(Evidence(part.chunk, part.lines, snippet, part.heading, place, score, in_lines))
    return answering_first(parts, [part.text for part in texts], marker) if len(parts) > 1 else tuple(parts)


def _plain_heading(heading: str) -> str:
    """Headings below each other as plain text, which is read faster."""
    return heading.replace(" › ", " ")


def answering_first(parts: Sequence[Evidence], texts: Sequence[str], marker: Marker) -> tuple[Evidence, ...]:
    """The passages of an item, first the one that answers by its heading, its own words and its shape.

    The title says the same of all passages of an item; which of them answers, their headings say. How much prose a
    passage has is looked at only where it can decide: most of its value is known without it.
    """
    counts = [marker.count_in(text) for text in texts]
    most = max(1, *counts)
    ranked = []
    for part, text, count in zip(parts, texts, counts, strict=True):
        headed = 1.0 + HEADED * marker.share_of(_plain_heading(part.heading)) ** 3
        value, own = part.score * headed * kept_beside(part.heading, text), OWN_WORDS * count / most
        ranked.append((value + own, value, own, text, part))
    ranked.sort(key=itemgetter(0), reverse=True)
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
    order = [row for group in groups for row in group]
    if marker.named is not None:
        order.sort(key=lambda row: marker.defined_at(row[3]) is None)
    return tuple(row[-1] for row in order)


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
    words_on_page = {word for text in texts for run in runs(text) for word in words_in(run)}

    def spelled(written: str, term: str) -> str:
        having = sorted(analyzer.words_with(words_on_page, frozenset((term,))))
        return next(iter(likely_words(written, having, 1)), having[0] if having else term)

    return notes + [
        f"'{written}' was not found; looked for {' or '.join(dict.fromkeys(spelled(written, term) for term in terms))}"
        for written, terms in respelled.items()
    ]


_SPELLING = late("'(.+)' was not found; looked for (.+)")


def is_true_of(note: str, hits: Sequence[Hit]) -> bool:
    """Whether what one tier says of a word's spelling is true of hits of several tiers: another may have the word."""
    said = _SPELLING.fullmatch(note)
    if said is None:
        return True
    shown = fold(" ".join(text for hit in hits for text in (hit.title, hit.snippet, *(p.text for p in hit.evidence))))
    words = {word for run in runs(shown) for word in words_in(run)}
    written = fold(said[1])
    return not any(word.startswith(written) for word in words) and any(
        fold(word) in words for word in said[2].split(" or ")
    )


def newer_first(page: Sequence[Ranked], reader: HitReader) -> list[Ranked]:
    """The page, on which an item that stands above a newer one that contradicts it changes places with it.

    They change their scores as well, so that the order of all others stays as it is.
    """
    order = list(page)
    for _ in (
        page if reader.holds_contradicted() else ()
    ):  # a pair that changed places may do so to another pair, but each at most once a round
        places = {entry.n: place for place, entry in enumerate(order)}
        pairs = ((places.get(reader.contradicted(entry)[0]), place) for place, entry in enumerate(order))
        above = next(((newer, older) for newer, older in pairs if newer is not None and newer > older), None)
        if above is None:
            break
        newer, older = order[above[0]], order[above[1]]
        order[above[0]] = older.scored(
            newer.score, f"contradicted by {newer.member.ref}, which is newer: they change places"
        )
        order[above[1]] = newer.scored(
            older.score, f"newer than {older.member.ref}, which it contradicts: they change places"
        )
    return order
