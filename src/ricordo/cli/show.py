"""How what was found looks to a person: hits and why, items, versions, trees, contexts, what happened."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ricordo.cli.terminal import Screen, cells, clean, clip, clip_left, counted, one_line, wrap, wrap_lines
from ricordo.config.files import current_folder
from ricordo.errors import NotFound
from ricordo.patterns import late
from ricordo.values.items import FRESH

if TYPE_CHECKING:
    from ricordo.values.context import ContextReport
    from ricordo.values.hits import Answer, Explain, Explanation, GrepMatch, Hit, Link, LinkReport
    from ricordo.values.items import Item, Listing, TreeNode, Version, Versions
    from ricordo.values.log import Happening, Timeline

Function = TypeVar("Function", bound=Callable[..., None])
PRESENTERS: dict[str, Callable[..., None]] = {}
"""What writes a value for a person, by the name of its type (``Answer``, ``Sequence[Root]``) or else of its verb."""


def shows(function: Function) -> Function:
    """Let a function write the values of the types that its second parameter may have."""
    kinds = list(function.__annotations__.values())[1].replace("reports.", "")
    PRESENTERS.update(dict.fromkeys(kinds.split(" | "), function))
    return function


BAR = 24
"""Columns of the longest bar."""

_EIGHTHS = " ▏▎▍▌▋▊▉"
_WORD = late(r"[^\W_]+(?:['’_-][^\W_]+)*")
_FILTER = late(r"(?<!\S)(?:kind|tag|drive|path|domain|severity|category|importance|tier|after|before):\S+")
_LEFT_OUT = late(r"(?<!\S)-(?:\"[^\"]*\"?|\S+)")

Highlight = Callable[[Sequence[str]], Sequence[str]]
"""Marks words in the lines of a passage."""

FORMS = ("whole", "passage", "place", "line")
"""How much of the hits after the first is shown: everything, one line of the passage, the place, one line in all."""

_LINES_BELOW = 3
"""Lines of the window that are kept free below the hits: the counts, a note, and the shell's prompt."""


@shows
def show_answer(screen: Screen, answer: Answer, *, query: str = "", first: int = 1, form: str = "") -> None:
    """All hits on standard output; counts, notes and what was degraded on standard error.

    ``form`` is ``brief`` or ``files``. Without one, a terminal gets the fullest form whose lines fit the window, so
    that the best hit can be seen when the command ends; what fits in no form goes through a pager.
    """
    highlight = highlighter(screen, query)
    several = len(answer.meta.tiers) > 1  # with one store, its name need not be shown
    hits = answer.hits if several else tuple(replace(hit, tier="") for hit in answer.hits)

    def drawn(shown: str) -> str:
        return screen.drawn(lambda: _show_hits(screen, hits, first, shown, highlight=highlight))

    if form == "files":
        for place in dict.fromkeys(short_ref(hit.ref) for hit in hits):
            screen.line(place)
    elif form == "brief":
        _show_hits(screen, hits, first, "line", highlight=highlight)
    elif screen.is_terminal and hits:
        asked_for_more = any(hit.explain is not None or hit.item is not None for hit in hits)
        room = screen.height - _LINES_BELOW
        texts = map(drawn, FORMS[:1] if asked_for_more else FORMS)
        fitting = next((text for text in texts if text.count("\n") <= room), None)
        screen.page(fitting or drawn("whole"), is_long=fitting is None)
    else:
        _show_hits(screen, hits, first, "whole", highlight=highlight)
    _show_meta(screen, answer, query)


def _show_hits(screen: Screen, hits: Sequence[Hit], first: int, form: str, *, highlight: Highlight) -> None:
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
    if hit.context:
        screen.line(margin + screen.dim(one_line(hit.context)))
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
        for line in clean(hit.item.content).splitlines():
            screen.line(f"{margin}{screen.dim('│')} {line}")
    if hit.explain is not None:
        show_why(screen, hit.explain, hit.score, margin)


def replaced_text(one: Item | Hit | Happening | Versions) -> str:
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
        from ricordo.values.items import PLAIN

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
    steps = [f"value {why.value:.4f}", *(f"{name} {value:.4f}" for name, value in why.steps), f"score {score:.4f}"]
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


@shows
def show_explanation(screen: Screen, explained: Explanation) -> None:
    """Why an item is where it is, or why it is not found."""
    screen.line(f"{screen.bold(short_ref(explained.ref))}: {one_line(explained.reason)}")
    if explained.hit is not None:
        screen.line()
        rank = str(explained.rank) if explained.rank is not None else "–"
        show_hit(screen, explained.hit, rank=rank, highlight=highlighter(screen, explained.query))


def highlighter(screen: Screen, query: str) -> Highlight:
    """A function that marks the words a query asks for, by the stems of the index, and the sentence with most."""
    if not screen.color:
        return lambda lines: lines
    from ricordo.text.sentences import answering
    from ricordo.text.words import Analyzer

    words = Analyzer(screen.language)
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


_DIFF_COLORS = {"+": "green", "-": "red", "@": "cyan"}


def local_time(moment: datetime | None) -> str:
    """A time as the reader's clock shows it, to the minute."""
    return moment.astimezone().strftime("%Y-%m-%d %H:%M") if moment else "–"


def size_text(size: int) -> str:
    """``812``, ``4.1k``, ``3.2M``: characters or bytes at a glance."""
    if size < 1000:
        return str(size)
    for unit, scale in (("k", 1e3), ("M", 1e6)):
        if size < 999.5 * scale:
            return f"{size / scale:.1f}{unit}"
    return f"{size / 1e9:.1f}G"


@shows
def show_items(screen: Screen, items: Listing) -> None:
    """One line per item, and which of all they are."""
    rows = [(_where(item), item.kind, f"v{item.version}", local_time(item.updated_at), item.title) for item in items]
    screen.table(("ref", "kind", "version", "changed", "title"), rows, paths=(0,))
    if items.offset or len(items) < items.total:
        first, last = items.offset + 1 if items else 0, items.offset + len(items)
        screen.note(f"{first}-{last} of {items.total:,}; --limit and --offset show others")
    elif not items:
        screen.note("nothing found")


def _where(item: Item) -> str:
    """The ref, and the other machine that has the file."""
    return f"{one_line(str(item.ref))} on {one_line(item.machine)}" if item.machine else short_ref(str(item.ref))


def show_content(screen: Screen, item: Item, original: bytes | None = None) -> None:
    """The text as it is stored; on a terminal without control characters, and ended by a new line.

    ``original`` are the bytes of an item without text: for files and pipes, never for a terminal.
    """
    if original is not None and not screen.is_terminal:
        screen.write_bytes(original)
        return
    text = item.content
    if screen.is_terminal:
        text = clean(text)
        text += "" if text.endswith("\n") or not text else "\n"
    screen.out.write(text)
    if not item.fields.is_textual:
        kind = item.fields.mime_type or "unknown type"
        screen.note(f"{one_line(str(item.ref))} is kept without text ({kind}); its bytes go to files and pipes only")


def show_stale_citations(screen: Screen, item: Item) -> None:
    """What an item cites that is no longer as it was."""
    for one in item.cites:
        if one.state != FRESH:
            screen.warn(f"it cites {one_line(str(one))}")


def show_several(screen: Screen, items: Iterable[Item]) -> None:
    """Several texts, each under a line with its ref."""
    for number, item in enumerate(items):
        if number:
            screen.line()
        screen.line(screen.bold(f"==> {one_line(str(item.ref))} <=="))
        show_content(screen, item)
        if not screen.is_terminal and item.content and not item.content.endswith("\n"):
            screen.line()


def show_fields(screen: Screen, item: Item) -> None:
    """All fields of an item that are not empty."""
    plain = item.to_dict(with_content=False) | {"cites": list(map(str, item.cites))}
    shown = {name: _field_text(name, value) for name, value in plain.items() if value not in (None, "", [], {})}
    width = max(map(len, shown))
    for name, value in shown.items():
        screen.line(f"{screen.dim(name.ljust(width))}  {one_line(value)}")


def _field_text(name: str, value: Any) -> str:
    if name.endswith("_at"):
        return local_time(datetime.fromisoformat(value))
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, (dict, bool)):
        return json.dumps(value, ensure_ascii=False)
    return str(value)


@shows
def show_versions(screen: Screen, versions: Versions) -> None:
    """The versions of an item; the current one is marked."""
    machines = {version.provenance.machine.partition("#")[0] for version in versions if not version.commit}

    def by(version: Version) -> str:
        if version.commit:
            return str(version.fields.metadata.get("author", ""))
        machine = version.provenance.machine.partition("#")[0] if len(machines) > 1 else ""
        return (version.provenance.short or "unknown") + (f" on {machine}" if machine else "")

    rows = [
        (
            "commit" if version.commit else f"{version.number}{' *' if version.is_head else ''}",
            local_time(version.created_at),
            size_text(version.size),
            (version.commit or version.content_hash)[:12],
            "written apart" if version.apart else version.state if version.state != "live" else "",
            by(version),
            version.fields.title,
        )
        for version in versions
    ]
    screen.table(("version", "made", "size", "hash", "state", "by", "title"), rows, right=(2,))
    if versions.state == "archived":
        screen.note(f"archived: {replaced_text(versions) or 'restore brings it back'}")


@shows
def show_tree(screen: Screen, node: TreeNode) -> None:
    """The tree of refs with how many items each branch holds."""
    screen.line(f"{screen.bold(one_line(node.path or node.name))} {screen.dim(f'({node.items:,})')}")
    _show_branches(screen, node.children, "")


def _show_branches(screen: Screen, nodes: Sequence[TreeNode], indent: str) -> None:
    for number, given in enumerate(nodes, 1):
        node = _folded(given)
        is_last = number == len(nodes)
        tail = screen.dim(f" ({node.items:,})") if node.children or not node.ref else ""
        if node.ref and node.title and node.title != node.name:
            tail = screen.dim(f"  {one_line(node.title)}") + tail
        screen.line(f"{screen.dim(indent + ('└── ' if is_last else '├── '))}{one_line(node.name)}{tail}")
        _show_branches(screen, node.children, indent + ("    " if is_last else "│   "))


def _folded(node: TreeNode) -> TreeNode:
    """A folder that holds only one folder is shown on one line with it: ``home/me/notes``."""
    while len(node.children) == 1 and not node.ref and node.children[0].children and not node.children[0].ref:
        child = node.children[0]
        gap = "" if node.name.endswith("/") else "/"
        node = replace(child, name=f"{node.name}{gap}{child.name}")
    return node


def show_diff(screen: Screen, diff: str) -> None:
    """A unified diff, additions green and removals red."""
    if not diff:
        screen.note("no difference")
    for line in diff.splitlines():
        shown = clean(line) if screen.is_terminal else line
        if line.startswith(("+++", "---")):
            screen.line(screen.bold(shown))
        else:
            color = _DIFF_COLORS.get(line[:1])
            screen.line(screen.style(shown, fg=color) if color else shown)


@shows
def show_matches(screen: Screen, matches: Sequence[GrepMatch]) -> None:
    """``ref:line:text`` per match, neighbours with dashes, groups separated, as grep prints it."""
    has_context = any(match.before or match.after for match in matches)
    for number, match in enumerate(matches):
        if number and has_context:
            screen.line(screen.dim("--"))
        ref = screen.style(short_ref(match.ref), fg="magenta")
        for offset, text in enumerate(match.before, -len(match.before)):
            screen.line(f"{ref}-{match.line + offset}-{_line(screen, text)}")
        screen.line(f"{ref}:{screen.style(str(match.line), fg='green')}:{_line(screen, match.text)}")
        for offset, text in enumerate(match.after, 1):
            screen.line(f"{ref}-{match.line + offset}-{_line(screen, text)}")


def _line(screen: Screen, text: str) -> str:
    return clean(text) if screen.is_terminal else text


@shows
def _show_links(screen: Screen, report: LinkReport) -> None:
    screen.line(screen.bold(short_ref(report.ref)))
    for one in report.links:
        screen.line("  " * one.distance + _link_line(screen, one))
    for target in report.unresolved:
        screen.line(f"  → {screen.dim('mentions')} {one_line(target)} {screen.dim('(not in the store)')}")
    if not report.links and not report.unresolved:
        screen.note("no links; 'ricordo similar REF --unlinked' finds what may belong together")


def _link_line(screen: Screen, one: Link) -> str:
    arrow = "→" if one.direction == "out" else "←"
    near = one.source if one.direction == "out" else one.target
    title = f"  {screen.dim(one_line(one.title))}" if one.title else ""
    via = f"  {screen.dim(f'via {short_ref(near)}')}" if one.distance > 1 else ""
    return f"{arrow} {screen.style(one_line(one.type), fg='cyan')} {short_ref(one.ref)}{title}{via}"


@shows
def _show_link(screen: Screen, one: Link) -> None:
    screen.line(f"{short_ref(one.source)} {screen.style(one_line(one.type), fg='cyan')} {short_ref(one.target)}")


LONGEST_LIST = 20
"""How many names of what was left out are shown without ``--verbose``."""


@shows
def _show_context(screen: Screen, report: ContextReport) -> None:
    if report.text:
        screen.line(report.text)
    for warning in report.warnings:
        screen.warn(one_line(warning))
    shown = report.left_out if screen.verbose else report.left_out[:LONGEST_LIST]
    for one in shown:
        screen.note(f"left out {one_line(one.ref)}: {one_line(one.reason)}")
    if len(report.left_out) > len(shown):
        screen.note(f"{len(report.left_out) - len(shown):,} more left out; --verbose lists them")
    screen.note(f"{report.tokens:,} of {report.budget:,} tokens, {counted(len(report.parts), 'part')}")


def scored_table(
    screen: Screen, head: Sequence[str], rows: Sequence[Sequence[str]], scores: Sequence[float | None]
) -> None:
    """A table whose first column is the score, if any row has one."""
    if any(score is not None for score in scores):
        head, rows = ("score", *head), [(f"{score or 0.0:.3f}", *row) for score, row in zip(scores, rows, strict=True)]
    screen.table(head, rows)


LINE = 300
"""Characters of a line that is not cut by the width of a terminal."""


@shows
def _show_timeline(screen: Screen, timeline: Timeline) -> None:
    rows = [
        (local_time(one.at), _what(one), clip(one_line(one.title), LINE), short_ref(one.ref)) for one in timeline.events
    ]
    screen.table(("when", "what", "title", "ref"), rows, empty="nothing happened in that time")
    if timeline.more:
        screen.note("there is more before that; --limit shows it")


def _what(event: Happening) -> str:
    if event.what == "event":
        return event.role or event.direction
    if event.what == "session":
        return "session"
    replaced = replaced_text(event)
    return f"{event.what} {event.kind}" + (f" ({replaced})" if replaced else "")
