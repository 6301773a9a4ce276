"""Cutting a text into passages that fit an embedder's window, along the text's own structure.

Sections that are small stay together, sections that are large are cut between blocks, then lines, sentences
and words. Passages follow one another without a gap, so joining them gives the text back. This module embeds
and stores nothing, and reads no files; ``structure`` finds the boundaries it chooses from.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from itertools import pairwise, zip_longest
from math import ceil

from ricordo.ingest.cut.prefix import PASSAGE_TOKENS, WINDOW_TOKENS, Estimate
from ricordo.ingest.cut.structure import (
    Outline,
    Section,
    outline_code,
    outline_markdown,
    outline_rows,
    outline_rst,
    outline_text,
)
from ricordo.models.base import TokenCounter
from ricordo.patterns import late
from ricordo.values.items import Passage

Span = tuple[int, int]

TARGET_CHARS = 800
_WHOLE_BELOW_CHARS = 200
_STRETCH = 1.2  # a block may outgrow the target by this much rather than be cut
_FULL = 0.5  # a chunk this full does not take in the next section
_LONGEST_TOKEN = 100  # characters; a text with more characters per token is not counted as a whole
_SPACE = late(r"\s*")
_SENTENCE = late(r"[.!?…][\"'”’)\]*_]*\s+(?![a-z])|[。！？][\"”’）」』]*\s*")
_ITEM_START = late(r"\n(?=(?:[-*+]|\d{1,9}[.)])[ \t])")


def chunk(
    text: str,
    *,
    structure: str = "text",
    language: str = "",
    counter: TokenCounter | None,
    single: bool = False,
) -> tuple[Passage, ...]:
    """The passages of a text, in order and without a gap.

    Each fits the window together with any prefix, so that a new title moves no cut. ``single`` asks for one passage if
    the text fits the window; its prefix takes what is left. Without a ``counter``, three bytes count as one token.

    >>> chunk("# Guide", structure="markdown", counter=None)
    (Passage(start=0, end=7, heading='Guide'),)
    """
    if not text:
        return ()
    outline = _outline(text, structure, language)
    heading = outline.sections[0].heading
    measure = counter or Estimate()
    words = text.strip()
    whole = not words or (len(text) < _WHOLE_BELOW_CHARS and _fits(measure, words, PASSAGE_TOKENS))
    if single and not whole and len(text) <= _LONGEST_TOKEN * WINDOW_TOKENS:
        whole = _fits(measure, words, WINDOW_TOKENS)
    if whole:
        return (Passage(0, len(text), heading),)
    limit = TARGET_CHARS if counter else min(TARGET_CHARS, PASSAGE_TOKENS * 3)
    spans = _fit(text, _pack(text, outline, limit), outline, counter=measure)
    return _named(spans, outline.sections)


def chunk_at(
    text: str,
    places: Iterable[int],
    *,
    structure: str = "text",
    language: str = "",
    counter: TokenCounter | None,
) -> tuple[Passage, ...]:
    """The passages of a text cut at the given places; a passage that is too large is cut again by its structure.

    >>> chunk_at("one\\ntwo\\n", [4, 99], counter=None)
    (Passage(start=0, end=4, heading=''), Passage(start=4, end=8, heading=''))
    """
    starts = [0]
    last = len(text.rstrip())
    for place in sorted(set(places)):
        # No passage is only white space: white space belongs to the passage before it.
        if 0 < place < last and text[starts[-1] : place].strip():
            starts.append(place)
    outline = _outline(text, structure, language)
    spans = list(pairwise([*starts, len(text)])) if text else []
    spans = _fit(text, spans, outline, counter=counter or Estimate())
    return _named(spans, outline.sections)


def line_ranges(text: str, passages: Sequence[Passage], first_line: int = 1) -> list[tuple[int, int]]:
    """The first and last line of each passage (1-based, inclusive), in one pass.

    >>> line_ranges("a\\nb\\n", [Passage(0, 2), Passage(2, 4)])
    [(1, 1), (2, 2)]
    """
    ranges = []
    line, position = first_line, 0
    for passage in passages:
        line += text.count("\n", position, passage.start)
        newlines = text.count("\n", passage.start, passage.end)
        ends_line = newlines > 0 and text[passage.end - 1] == "\n"
        ranges.append((line, line + newlines - ends_line))
        line, position = line + newlines, passage.end
    return ranges


def _outline(text: str, structure: str, language: str) -> Outline:
    if structure in ("markdown", "html"):
        return outline_markdown(text)
    if structure == "rst":
        return outline_rst(text)
    if structure == "code":
        return outline_code(text, language)
    if structure == "table" or language == "json":
        return outline_rows(text, quotes=structure == "table")
    return outline_text(text)


def _fits(counter: TokenCounter, text: str, budget: int) -> bool:
    # In ASCII a token is at least one character; elsewhere one may be several: a Hangul syllable is three.
    return (len(text) <= budget and text.isascii()) or counter.count_tokens([text])[0] <= budget


def _pack(text: str, outline: Outline, limit: int) -> list[Span]:
    """Join sections while they are small, and cut a section that is too large alone."""
    packed: list[Span] = []
    opened: Section | None = None
    sections = _without_stubs(text, outline.sections)
    for position, section in enumerate(sections):
        end = sections[position + 1].start if position + 1 < len(sections) else len(text)
        if opened is not None:
            room = end - opened.start <= limit and section.start - opened.start < limit * _FULL
            if room and section.level >= opened.level:
                packed[-1] = (opened.start, end)
                continue
        if end - section.start <= limit:
            packed.append((section.start, end))
            opened = section
        else:
            packed += _cut(text, section.start, end, outline, limit=limit, stretch=_STRETCH)
            opened = None
    return packed


def _without_stubs(text: str, sections: Sequence[Section]) -> list[Section]:
    """The sections; a heading without a text of its own is joined to the first section below it."""
    joined: list[Section] = []
    stub: Section | None = None
    for section, following in zip_longest(sections, sections[1:]):
        first = stub or section
        if following and following.level > section.level and not text[section.body : following.start].strip():
            stub = first
            continue
        joined.append(Section(first.start if joined else 0, section.body, first.level, first.heading))
        stub = None
    return joined


def _fit(text: str, spans: list[Span], outline: Outline, *, counter: TokenCounter) -> list[Span]:
    """The spans, with those that exceed ``PASSAGE_TOKENS`` cut again; each round counts all tokens in one batch."""
    done: list[Span] = []
    pending = spans
    while pending:
        uncertain: list[tuple[int, int, str]] = []
        for start, end in pending:
            words = text[start:end].strip()
            if len(words) <= PASSAGE_TOKENS and words.isascii():
                done.append((start, end))
            else:
                uncertain.append((start, end, words))
        pending = []
        counts = counter.count_tokens([words for _, _, words in uncertain]) if uncertain else []
        for (start, end, words), tokens in zip(uncertain, counts, strict=True):
            if tokens <= PASSAGE_TOKENS or len(words) <= 1:
                done.append((start, end))
                continue
            limit = max(1, min(len(words) - 1, int(len(words) * PASSAGE_TOKENS / tokens * 0.95)))
            pending += _cut(text, start, end, outline, limit=limit, stretch=1.0)
    done.sort()
    return done


def _named(spans: Sequence[Span], sections: Sequence[Section]) -> tuple[Passage, ...]:
    """The spans with the breadcrumb of the section in which each starts."""
    passages = []
    at = 0
    for start, end in spans:
        while at + 1 < len(sections) and sections[at + 1].start <= start:
            at += 1
        passages.append(Passage(start, end, sections[at].heading))
    return tuple(passages)


def _cut(text: str, start: int, end: int, outline: Outline, *, limit: int, stretch: float) -> list[Span]:
    """Cut one span into several of at most ``limit`` characters; a whole block may take ``stretch`` times as many."""
    parts: list[Span] = []
    solid = _next_solid(text, start)
    last = start + len(text[start:end].rstrip())
    while last - solid > limit:
        place = _best_place(text, solid, last, outline, limit=limit, stretch=stretch)
        if last - place <= limit // 8 and last - solid <= limit * stretch:
            break  # the rest is small and still fits
        place, solid = _behind_space(text, place)
        parts.append((start, place))
        start = place
    parts.append((start, end))
    return parts


def _next_solid(text: str, start: int) -> int:
    """The position of the first character that is not white space."""
    match = _SPACE.match(text, start)
    return match.end() if match else start


def _behind_space(text: str, place: int) -> tuple[int, int]:
    """Move the cut behind white space, which belongs to the text before it, but not behind an indentation."""
    solid = _next_solid(text, place)
    newline = text.rfind("\n", place, solid)
    if newline >= 0:
        return newline + 1, solid
    return (place if text[place - 1] == "\n" else solid), solid


def _best_place(text: str, solid: int, last: int, outline: Outline, *, limit: int, stretch: float) -> int:
    """Where to cut next: between blocks, between lines or sentences, between words, or anywhere.

    Among equally good places, the first one that lets the rest be cut evenly is taken, so that no tiny piece is left.
    """
    high = solid + limit
    low = solid + max(1, limit // 3)
    even = solid + (last - solid) // ceil((last - solid) / limit)
    blocks = outline.blocks
    after = bisect_right(blocks, high)
    before = bisect_left(blocks, low, 0, after)
    if before < after:
        return _even(blocks, before, after, even)
    following = min(blocks[after] if after < len(blocks) else last, last)
    if following <= solid + limit * stretch:
        return following
    if after and blocks[after - 1] > solid and following - blocks[after - 1] <= limit:
        return blocks[after - 1]
    after = bisect_right(outline.joints, high)
    before = bisect_left(outline.joints, low, 0, after)
    if before < after:
        return _even(outline.joints, before, after, even)
    return _place_inside(text, outline, low=max(low, solid + limit // 2), high=high, even=even)


def _even(places: Sequence[int], before: int, after: int, even: int) -> int:
    chosen = bisect_left(places, even, before, after)
    return places[chosen] if chosen < after else places[after - 1]


def _place_inside(text: str, outline: Outline, *, low: int, high: int, even: int) -> int:
    """A place inside one block: by line where lines mean something, else by sentence; then by word."""
    window = text[low:high]
    block = bisect_left(outline.begins, high) - 1
    if block >= 0 and outline.rigid[block]:
        ends = [low + match.end() for match in _ITEM_START.finditer(window)]
        if ends:
            return _even(ends, 0, len(ends), even)
        if (line := _separator(window, "\n", even - low)) >= 0:
            return low + line
    ends = [low + match.end() for match in _SENTENCE.finditer(window)]
    if ends:
        return _even(ends, 0, len(ends), even)
    for space in ("\n", " ", "\t"):
        if (word := _separator(window, space, even - low)) >= 0:
            return low + word
    return _between_characters(text, low, high)


def _separator(window: str, separator: str, even: int) -> int:
    """Where to cut after a separator: the first from ``even`` on, else the last before it; -1 without any."""
    offset = window.find(separator, max(0, even - 1))
    if offset < 0:
        offset = window.rfind(separator)
    return offset + 1 if offset >= 0 else -1


def _between_characters(text: str, low: int, high: int) -> int:
    """Move the cut, if possible, so that a character stays with its accents, joiners or selectors."""
    for place in range(high, max(low, high - 16), -1):
        if text[place].isalnum() or text[place].isascii():
            return place
    return high
