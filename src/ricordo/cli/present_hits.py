"""How hits look to a person: title, place, snippet, and the bars that say why."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ricordo.cli.terminal import Screen, cells, clean, clip, one_line, wrap

if TYPE_CHECKING:
    from ricordo.values.hits import Answer, Explain, Explanation, Hit

BAR = 24
"""Columns of the longest bar."""

_EIGHTHS = " ▏▎▍▌▋▊▉"
_WORD = re.compile(r"[^\W_]+(?:['’_-][^\W_]+)*")
_FILTER = re.compile(r"(?<!\S)(?:kind|tag|drive|path|domain|severity|category|importance|tier|after|before):\S+")
_LEFT_OUT = re.compile(r"(?<!\S)-(?:\"[^\"]*\"?|\S+)")

Highlight = Callable[[str], str]


def show_answer(screen: Screen, answer: Answer, *, query: str, language: str = "english", first: int = 1) -> None:
    """All hits on standard output; counts, notes and what was degraded on standard error."""
    highlight = highlighter(screen, query, language)
    for rank, hit in enumerate(answer.hits, first):
        if rank > first:
            screen.line()
        shown = hit if len(answer.meta.tiers) > 1 else replace(hit, tier="")  # one store needs no telling apart
        show_hit(screen, shown, rank=str(rank), highlight=highlight)
    meta = answer.meta
    for problem in meta.degraded:
        screen.warn(f"degraded: {problem}")
    for note in meta.notes:
        screen.note(f"note: {note}")
    if not answer.hits:
        screen.note("nothing found; try other words, fewer filters, or: ricordo list")
        return
    parts = [f"{meta.returned} of {meta.candidates:,} candidates", f"profile {meta.profile}"]
    if len(meta.tiers) > 1:
        parts.append(f"tiers {', '.join(meta.tiers)}")
    if screen.verbose and meta.weights:
        parts.append("weights " + ", ".join(f"{name}={weight:.3g}" for name, weight in meta.weights.items()))
    screen.note(" · ".join([*parts, f"{meta.milliseconds:.0f} ms"]))


def show_hit(screen: Screen, hit: Hit, *, rank: str, highlight: Highlight) -> None:
    """One hit: rank, score and title; where; the passage; and why, when asked."""
    margin = " " * 4
    labels = [label for label in (hit.kind, hit.severity, hit.tier, *(f"#{tag}" for tag in hit.tags)) if label]
    tail = one_line(" ".join(labels))
    title = one_line(hit.title)
    if screen.is_terminal:
        title = clip(title, max(screen.width - 14 - cells(tail), 20))
    score = screen.style(f"{hit.score:.3f}", fg="green")
    screen.line(f"{rank:>2}  {score}  {screen.bold(title)}  {screen.dim(tail)}")
    screen.line(margin + screen.style(location(hit), fg="cyan"))
    for line in wrap(hit.snippet or hit.description, screen.width - len(margin)):
        screen.line(margin + highlight(line))
    others = [_span(part.lines, part.place) for part in hit.evidence if part.lines != hit.lines]
    if others:
        screen.line(margin + screen.dim(f"also {', '.join(others)}"))
    if hit.item is not None:
        show_whole(screen, hit, margin)
    if hit.explain is not None:
        show_why(screen, hit.explain, hit.score, margin)


def show_whole(screen: Screen, hit: Hit, margin: str) -> None:
    """The whole text of a hit, for ``--mode full``."""
    if hit.item is not None:
        for line in clean(hit.item.content).splitlines():
            screen.line(f"{margin}{screen.dim('│')} {line}")


def location(hit: Hit) -> str:
    """``notes/a.md:12-18`` for a file, ``memory:/slug`` for what lives here, and the page if there is one."""
    where = short_ref(hit.ref)
    if hit.place:
        return f"{where}  {one_line(hit.place)}"
    first, last = hit.lines
    if first <= 0:
        return where
    return f"{where}:{first}" if first == last else f"{where}:{first}-{last}"


def short_ref(ref: str) -> str:
    """A ref as short as every command still understands it: a file below here is its relative path."""
    drive, _, path = ref.partition(":")
    if drive == "disk":
        try:
            return one_line(str(Path(path).relative_to(Path.cwd())))
        except (ValueError, OSError):
            pass
    return one_line(ref)


def _span(lines: tuple[int, int], place: str) -> str:
    if place:
        return one_line(place)
    return f"line {lines[0]}" if lines[0] == lines[1] else f"lines {lines[0]}-{lines[1]}"


def show_why(screen: Screen, why: Explain, score: float, margin: str) -> None:
    """Each signal as value × weight = contribution and a bar; each word's share; the steps to the score."""
    largest = max((abs(share.contribution) for share in why.signals), default=0.0)
    width = max((len(share.name) for share in why.signals), default=0)
    for share in why.signals:
        sum_of_it = f"{share.value:7.4f} × {share.weight:.4f} = {share.contribution:7.4f}"
        drawn = screen.style(bar(share.contribution, largest), fg="green" if share.contribution >= 0 else "red")
        screen.line(f"{margin}{share.name.ljust(width)}  {sum_of_it}  {drawn}".rstrip())
    total = sum(abs(word.contribution) for word in why.terms)
    for word in why.terms:
        part = abs(word.contribution) / total if total else 0.0
        fields = ", ".join(f"{name} {count}" for name, count in word.frequencies.items() if count)
        fields = f"  in {fields}" if fields else ""
        screen.line(
            f"{margin}{screen.dim('word')} {one_line(word.term)}  {word.contribution:.4f} ({part:.0%})"
            + screen.dim(f"  idf {word.idf:.2f}{fields}")
        )
    steps = [
        f"value {why.value:.4f}",
        *(f"{name} {value:.4f}" for name, value in why.steps),
        f"score {score:.4f}",
    ]
    screen.line(margin + screen.dim(" → ".join(steps)))


def bar(value: float, largest: float, width: int = BAR) -> str:
    """A bar whose length is the value's part of the largest one, to an eighth of a column."""
    if largest <= 0:
        return ""
    eighths = round(min(abs(value) / largest, 1.0) * width * 8)
    return ("█" * (eighths // 8) + _EIGHTHS[eighths % 8]).rstrip()


def show_explanation(screen: Screen, explained: Explanation, *, language: str = "english") -> None:
    """Why an item is where it is, or why it is not found."""
    screen.line(f"{screen.bold(short_ref(explained.ref))}: {one_line(explained.reason)}")
    if explained.hit is not None:
        screen.line()
        rank = str(explained.rank) if explained.rank is not None else "–"
        show_hit(screen, explained.hit, rank=rank, highlight=highlighter(screen, explained.query, language))


def highlighter(screen: Screen, query: str, language: str) -> Highlight:
    """A function that marks the words a query asks for, by the same stems the index uses."""
    if not screen.color:
        return lambda line: line
    from ricordo.text.words import Analyzer

    words = Analyzer(language)
    wanted = set(words.query_terms(_LEFT_OUT.sub(" ", _FILTER.sub(" ", query))))
    # Scripts without spaces are indexed by pairs of characters: mark those pairs, not the whole run.
    pairs = [re.escape(term) for term in wanted if not term.isascii()]
    within = re.compile(f"(?:{'|'.join(pairs)})+") if pairs else None

    def bright(text: str) -> str:
        return screen.style(text, bold=True, fg="yellow")

    def mark(match: re.Match[str]) -> str:
        word = match.group()
        if within is not None and not word.isascii() and within.search(word):
            return within.sub(lambda part: bright(part.group()), word)
        return bright(word) if wanted.intersection(words.terms_of(word)) else word

    return lambda line: _WORD.sub(mark, line)
