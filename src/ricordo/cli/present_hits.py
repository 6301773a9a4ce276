"""How hits look to a person: title, place, snippet, and the bars that say why."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ricordo.cli.terminal import Screen, cells, clean, clip, clip_left, one_line, wrap, wrap_lines
from ricordo.config.files import current_folder
from ricordo.errors import NotFound

if TYPE_CHECKING:
    from ricordo.values.hits import Answer, Explain, Explanation, Hit
    from ricordo.values.items import Item
    from ricordo.values.sessions import Happening

BAR = 24
"""Columns of the longest bar."""

_EIGHTHS = " ▏▎▍▌▋▊▉"
_WORD = re.compile(r"[^\W_]+(?:['’_-][^\W_]+)*")
_FILTER = re.compile(r"(?<!\S)(?:kind|tag|drive|path|domain|severity|category|importance|tier|after|before):\S+")
_LEFT_OUT = re.compile(r"(?<!\S)-(?:\"[^\"]*\"?|\S+)")

Highlight = Callable[[Sequence[str]], Sequence[str]]
"""Marks words in the lines of a passage."""

FORMS = ("whole", "passage", "place", "line")
"""How much of the hits after the first is shown: everything, one line of the passage, the place, one line in all."""

_LINES_BELOW = 3
"""Lines of the window that are kept free below the hits: the counts, a note, and the shell's prompt."""


def show_answer(
    screen: Screen, answer: Answer, *, query: str, language: str = "english", first: int = 1, form: str = ""
) -> None:
    """All hits on standard output; counts, notes and what was degraded on standard error.

    ``form`` is ``brief`` or ``files``. Without one, a terminal gets the fullest form whose lines fit the window, so
    that the best hit can be seen when the command ends; what fits in no form goes through a pager.
    """
    highlight = highlighter(screen, query, language)
    several = len(answer.meta.tiers) > 1  # with one store, its name need not be shown
    hits = answer.hits if several else tuple(replace(hit, tier="") for hit in answer.hits)

    def drawn(shown: str) -> str:
        return screen.drawn(lambda: _show_hits(screen, hits, first, shown, highlight))

    if form == "files":
        for place in dict.fromkeys(short_ref(hit.ref) for hit in hits):
            screen.line(place)
    elif form == "brief":
        _show_hits(screen, hits, first, "line", highlight)
    elif screen.is_terminal and hits:
        asked_for_more = any(hit.explain is not None or hit.item is not None for hit in hits)
        room = screen.height - _LINES_BELOW
        texts = map(drawn, FORMS[:1] if asked_for_more else FORMS)
        fitting = next((text for text in texts if text.count("\n") <= room), None)
        screen.page(fitting or drawn("whole"), is_long=fitting is None)
    else:
        _show_hits(screen, hits, first, "whole", highlight)
    _show_meta(screen, answer, query)


def _show_hits(screen: Screen, hits: Sequence[Hit], first: int, form: str, highlight: Highlight) -> None:
    for rank, hit in enumerate(hits, first):
        if form == "whole" and rank > first:
            screen.line()
        if form == "line":
            _show_hit_line(screen, hit, rank=str(rank))
        else:
            shown = "whole" if rank == first else form
            show_hit(screen, hit, rank=str(rank), highlight=highlight, form=shown)


def _show_hit_line(screen: Screen, hit: Hit, *, rank: str) -> None:
    """Rank, score if there is one, place and title in one line; a terminal gets as much of it as fits."""
    where, title = location(hit), one_line(hit.title)
    if screen.is_terminal:
        where = clip_left(where, max(screen.width // 2, 20))
        title = clip(title, max(screen.width - 13 - cells(where), 10))
    screen.line(f"{rank:>2}  {_score(screen, hit)}{screen.style(where, fg='cyan')}  {title}")


def _score(screen: Screen, hit: Hit) -> str:
    return f"{screen.style(f'{hit.score:.3f}', fg='green')}  " if hit.is_ranked else ""


def _show_meta(screen: Screen, answer: Answer, query: str) -> None:
    meta = answer.meta
    for problem in meta.degraded:
        screen.warn(f"degraded: {problem}")
    for note in meta.notes:
        screen.note(f"note: {note}")
    if not answer.hits:
        advice = "; try other words, fewer filters, or: ricordo list" if query else ""  # similar takes no words
        screen.note(f"nothing found{advice}")
        return
    parts = [f"{meta.returned} of {meta.candidates:,} candidates", f"profile {meta.profile}"]
    if len(meta.tiers) > 1:
        parts.append(f"tiers {', '.join(meta.tiers)}")
    if screen.verbose and meta.weights:
        parts.append("weights " + ", ".join(f"{name}={weight:.3g}" for name, weight in meta.weights.items()))
    screen.note(" · ".join([*parts, f"{meta.milliseconds:.0f} ms"]))


def show_hit(screen: Screen, hit: Hit, *, rank: str, highlight: Highlight, form: str = "whole") -> None:
    """One hit: rank, score and title; where; the passage; and why, when asked. ``form`` may ask for less."""
    margin = " " * 4
    labels = [label for label in (hit.kind, hit.severity, hit.tier, *(f"#{tag}" for tag in hit.tags)) if label]
    tail = one_line(" ".join(labels))
    title = one_line(hit.title)
    if screen.is_terminal:
        title = clip(title, max(screen.width - 14 - cells(tail), 20))
    screen.line(f"{rank:>2}  {_score(screen, hit)}{screen.bold(title)}  {screen.dim(tail)}")
    screen.line(margin + screen.style(location(hit), fg="cyan"))
    if replaced := replaced_text(hit):
        screen.line(margin + screen.style(f"out of date: {replaced}", fg="yellow"))
    if hit.contradicted_by:
        told = f"contradicted by {short_ref(hit.contradicted_by)}, which is newer"
        screen.line(margin + screen.style(told, fg="yellow"))
    if hit.citations:
        screen.line(margin + screen.dim(one_line(f"cites {', '.join(hit.citations)}")))
    if hit.validity:
        screen.line(margin + screen.style(one_line(hit.validity), fg="yellow"))
    for other in hit.elsewhere:
        age = "a newer" if other.is_newer else "an older"
        screen.line(margin + screen.style(f"{other.tier} has {age} text of it (version {other.version})", fg="yellow"))
    if form == "place":
        return
    width = screen.width - len(margin)
    in_lines = hit.evidence[0].in_lines if hit.evidence and hit.evidence[0].text == hit.snippet else ""
    passage = wrap_lines(in_lines, width) if in_lines else wrap(hit.snippet or hit.description, width)
    if form == "passage":
        if passage:
            screen.line(margin + highlight([clip(passage[0] + " …", screen.width - len(margin))])[0])
        return
    for line in highlight(passage):
        screen.line(margin + line)
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


def replaced_text(one: Item | Hit | Happening) -> str:
    """``corrected by memory:/b`` for an item that was replaced; empty for others."""
    if one.corrected_by:
        return f"corrected by {short_ref(one.corrected_by)}"
    return f"superseded by {short_ref(one.superseded_by)}" if one.superseded_by else ""


def location(hit: Hit) -> str:
    """``notes/a.md:12-18`` for a file, ``memory:/slug`` for what lives here, and the page if there is one."""
    where = short_ref(hit.ref)
    if hit.machine:
        where = f"{one_line(hit.ref)} on {one_line(hit.machine)}, "
        return f"{where}{_span(hit.lines, hit.place)}" if hit.lines[0] > 0 or hit.place else where[:-2]
    if hit.place:
        return f"{where}  {one_line(hit.place)}"
    first, last = hit.lines
    if first <= 0:
        return where
    return f"{where}:{first}" if first == last else f"{where}:{first}-{last}"


def short_ref(ref: str) -> str:
    """A ref as short as every command still understands it: a file is its path, below here its relative one.

    A path without its drive is what terminals and editors make a link of.
    """
    drive, _, path = ref.partition(":")
    if drive != "disk":
        return one_line(ref)
    if path.startswith("/@"):
        from ricordo.config.machine import this_machine
        from ricordo.values.file_refs import PLAIN

        machine, place = PLAIN.split(path)
        if machine != this_machine().id:
            return one_line(ref)
        path = place
    try:
        return one_line(str(Path(path).relative_to(current_folder())))
    except (ValueError, NotFound):
        return one_line(path)


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
    if why.fit:
        parts = (f"{part.name} {part.value:.3f} → {part.contribution:+.2f}" for part in why.fit)
        screen.line(margin + screen.dim(f"fit: {', '.join(parts)}"))


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
    """A function that marks the words a query asks for, by the stems of the index, and the sentence with most."""
    if not screen.color:
        return lambda lines: lines
    from ricordo.text.sentences import answering
    from ricordo.text.words import Analyzer

    words = Analyzer(language)
    wanted = frozenset(words.query_terms(_LEFT_OUT.sub(" ", _FILTER.sub(" ", query))))
    # Scripts without spaces are indexed by pairs of characters: mark those pairs, not the whole run.
    pairs = [re.escape(term) for term in wanted if not term.isascii()]
    within = re.compile(f"(?:{'|'.join(pairs)})+") if pairs else None

    def bright(text: str) -> str:
        return screen.style(text, bold=True, fg="yellow")

    def marked(lines: Sequence[str]) -> Sequence[str]:
        text = "\n".join(lines)
        start, end = answering(text, lambda said: len(words.terms_among(said, wanted))) or (0, 0)

        def mark(match: re.Match[str]) -> str:
            word = match.group()
            if within is not None and not word.isascii() and within.search(word):
                return within.sub(lambda part: bright(part.group()), word)
            if wanted.intersection(words.terms_of(word)):
                return bright(word)
            return screen.bold(word) if start <= match.start() < end else word

        return _WORD.sub(mark, text).split("\n")

    return marked
