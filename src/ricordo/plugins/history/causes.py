"""Which turn of a session wrote a line: the turns that wrote its text, ranked by what speaks for each.

What speaks for a turn: it wrote the very line, or the same statement in another form; what stands around the line
stands around it in the turn, too; it wrote into the same file; and it was said between the commit before and the
commit of the line. A turn that came after the commit did not write it. Of turns for which the same speaks, the last
one counts, unless it wrote a whole file again or moved what another turn had written.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from math import log2
from pathlib import Path

from ricordo.frozen import frozen
from ricordo.plugins.history.lines import AROUND, BlamedFile
from ricordo.store.base import Store
from ricordo.text.line_marks import STATEMENT, TAKEN_OUT, WHOLE, WRITTEN, bare, signs_and_marks
from ricordo.values.kinds import WROTE

SLACK = timedelta(minutes=2)
NEVER = datetime.max.replace(tzinfo=UTC) - SLACK
FEW = 6
"""A line with fewer characters than this could be anybody's: what stands around it decides."""
TELLING = 18
"""A line with so many characters is known again in another file."""
MOVE = 40
"""What a session takes out and writes within so many turns, it moved."""
MOST_TURNS = 3


@frozen
class Writing:
    """What one turn wrote into one file."""

    tier: str
    n: int
    session: str
    seq: int
    at: datetime
    file: str
    tool: str
    lines: tuple[tuple[str, str], ...]
    """Signs and marks, without those of statements."""
    marks: frozenset[str] = frozenset()
    """Those of lines that stand there afterwards, and of statements."""
    is_whole: bool = False

    @property
    def turn(self) -> tuple[str, int]:
        return self.session, self.seq

    def has(self, mark: str) -> bool:
        return bool(mark) and mark in self.marks


@frozen
class Found:
    """A turn that may have written a line: how much speaks for it, and how its text is like the line's."""

    writing: Writing
    score: float
    match: str


class Writings:
    """All that the turns of stored sessions wrote, by the marks of lines."""

    def __init__(self, stores: Mapping[str, Store]) -> None:
        self._wrote: dict[str, list[tuple[Writing, int]]] = defaultdict(list)
        self._statements: dict[str, list[tuple[Writing, int]]] = defaultdict(list)
        self._taken_out: dict[str, list[Writing]] = defaultdict(list)
        self.all: list[Writing] = []
        for tier, store in stores.items():
            for n, session, seq, at, metadata in store.threads.turns_with(WROTE):
                plain = json.loads(metadata)
                wrote = plain.get(WROTE)
                for file, kept in wrote.items() if isinstance(wrote, dict) else ():
                    if isinstance(kept, str):
                        self._take(Writing(tier, n, session, seq, at, file, str(plain.get("tool") or ""), ()), kept)

    def _take(self, bare_writing: Writing, kept: str) -> None:
        lines: list[tuple[str, str]] = []
        statements: list[tuple[str, int]] = []
        for sign, mark in signs_and_marks(kept):
            if sign == STATEMENT:
                statements.append((mark, len(lines) - 1))
            else:
                lines.append((sign, mark))
        about = {name: getattr(bare_writing, name) for name in ("tier", "n", "session", "seq", "at", "file", "tool")}
        marks = frozenset((*(mark for sign, mark in lines if sign != TAKEN_OUT), *(mark for mark, _ in statements)))
        writing = Writing(**about, lines=tuple(lines), marks=marks, is_whole=kept.startswith(WHOLE))
        self.all.append(writing)
        for at, (sign, mark) in enumerate(lines):
            if sign == WRITTEN:
                self._wrote[mark].append((writing, at))
            elif sign == TAKEN_OUT:
                self._taken_out[mark].append(writing)
        for mark, at in statements:
            self._statements[mark].append((writing, at))

    def of_line(self, source: BlamedFile, at: int) -> list[Found]:
        """The turns that may have written a line, the best first."""
        own, whole = source.marks[at], source.statements[at]
        ways = [("line", 2.0, self._wrote.get(own, ())), ("reformatted", 1.6, self._statements.get(own, ()))]
        if whole:
            ways.append(("reformatted", 1.6, self._wrote.get(whole, ())))
            ways.append(("reformatted", 1.8, self._statements.get(whole, ())))
        found: dict[tuple[str, int], Found] = {}
        for match, worth, writings in ways if own else ():
            for writing, place in writings:
                around = self._around(source, at, writing, place) if match == "line" else _near_by(source, at, writing)
                size = TELLING if match == "reformatted" else len(bare(source.lines[at]))
                more = _score(source, at, writing, around, size=size)
                if more is not None and (writing.turn not in found or found[writing.turn].score < worth + more):
                    found[writing.turn] = Found(writing, worth + more, match)
        ranked = sorted(found.values(), key=lambda one: one.writing.at)
        ranked = [self._lowered(one, ranked[:number], own) for number, one in enumerate(ranked)]
        ranked.sort(key=lambda one: (one.score, one.writing.at), reverse=True)
        return ranked[:MOST_TURNS]

    def _around(self, source: BlamedFile, at: int, writing: Writing, place: int) -> float:
        """How much of what stands around a line stands around it in what a turn wrote, from 0 to 1. What is near and
        what was seldom written counts more.
        """
        kept = [mark for sign, mark in writing.lines if sign != TAKEN_OUT]
        here = sum(sign != TAKEN_OUT for sign, _ in writing.lines[:place])
        same = possible = 0.0
        for step in (-1, 1):
            beyond = range(here + step, -1 if step < 0 else len(kept), step)
            units = _units(source, at, step)
            for away, (there, unit) in enumerate(zip(beyond, units, strict=False), start=1):
                worth = 1 / away / (1 + log2(1 + len(self._wrote.get(kept[there], ()))))
                possible += worth
                same += worth * (kept[there] in unit)
        return (same + 0.05) / (possible + 0.1)

    def _lowered(self, one: Found, earlier: Sequence[Found], mark: str) -> Found:
        """The same with less for it where an earlier turn had written the line already."""
        writing = one.writing
        if earlier and self._had_it(writing, earlier, mark):
            return Found(writing, one.score - 1.5, one.match)
        return one

    def _had_it(self, writing: Writing, earlier: Sequence[Found], mark: str) -> bool:
        removed = self._taken_out.get(mark, ())
        if writing.is_whole:
            last = max(old.writing.at for old in earlier)
            return not any(last < gone.at < writing.at and gone.file == writing.file for gone in removed)
        return any(
            gone.session == writing.session and abs(gone.seq - writing.seq) <= MOVE and gone.turn != writing.turn
            and gone.file != writing.file
            for gone in removed
        )  # fmt: skip


def _score(source: BlamedFile, at: int, writing: Writing, around: float, *, size: int) -> float | None:
    """What else speaks for a turn that wrote the text of a line, which has this many characters; None if it cannot have
    been this turn.
    """
    commit = source.commits[at]
    window = 0.6
    if commit.committed is not None and commit.written is not None:
        if writing.at > _latest(source, at, commit.committed):
            return None
        is_after = commit.since is None or writing.at > commit.since
        window = (1.0 if writing.at <= commit.written + SLACK else 0.7) if is_after else 0.3
        window = 0.0 if writing.at > commit.committed + SLACK else window
    where = max(same_file(writing.file, source, name) for name in {source.name, commit.name or source.name})
    if not where and (around < (0.3 if size >= TELLING else 0.8) or not _is_near(writing.file, source)):
        return None
    if size < FEW and around < 0.5:
        return None
    return window + where + 3 * around


def _latest(source: BlamedFile, at: int, committed: datetime) -> datetime:
    """When a line was written at the latest. Git may take a line that occurs often for one that was there before: what
    stands beside it tells more.
    """
    beside = (source.commits.get(at + away) for away in (-2, -1, 1, 2))
    times = [one.committed or NEVER for one in beside if one is not None]
    return max([committed, *times]) + SLACK


def _units(source: BlamedFile, at: int, step: int) -> Iterator[tuple[str, str]]:
    """The marks of the lines before or behind a line, the nearest first; a wrapped statement is one, as if it stood in
    one line.
    """
    number = at + step
    for _ in range(AROUND):
        while 0 <= number < len(source.marks) and not source.marks[number]:
            number += step
        if not 0 <= number < len(source.marks):
            return
        whole = source.statements[number] if source.statements[number] != source.statements[at] else ""
        yield source.marks[number], whole
        number += step
        while whole and 0 <= number < len(source.marks) and source.statements[number] == whole:
            number += step


def _near_by(source: BlamedFile, at: int, writing: Writing) -> float:
    """The same for a line in another form: how much of what is near is in what the turn wrote, wherever it stands."""
    near = [number for number in range(max(0, at - 8), min(len(source.marks), at + 9)) if source.marks[number]]
    same = sum(writing.has(source.marks[number]) or writing.has(source.statements[number]) for number in near)
    return (same + 0.3) / (max(1, min(len(near), len(writing.marks))) + 0.6)


def same_file(written: str, source: BlamedFile, name: str) -> float:
    """How surely a file that a turn wrote is the one with this name in the repository, from 0 to 1."""
    plain = written.replace("\\", "/").removeprefix("./")
    if source.top is None:
        return 1.0 if Path(plain) == source.path else 0.6 * (Path(plain).name == source.path.name)
    if plain == name or plain == f"{source.top.as_posix()}/{name}":
        return 1.0
    if plain.endswith(f"/{name}"):
        return 0.9 if "/" in name else 0.6
    return 0.7 if "/" in plain and not plain.startswith("/") and name.endswith(f"/{plain}") else 0.0


def _is_near(written: str, source: BlamedFile) -> bool:
    """Whether a file that a turn wrote may be one of the same repository."""
    plain = written.replace("\\", "/")
    if not plain.startswith("/"):
        return True
    return source.top is not None and (source.top.name in plain.split("/"))


def of_lines(writings: Writings, source: BlamedFile, wanted: Iterable[int]) -> dict[int, list[Found]]:
    """By line, the turns that may have written it. One that says little by itself goes with what stands around it, if
    no turn wrote it between the same lines.
    """
    numbers = list(wanted)
    found = {at: writings.of_line(source, at) for at in numbers}
    alone = [at for at in numbers if not found[at] and len(bare(source.lines[at])) < FEW]
    for at in alone:
        near = [at + step * away for away in range(1, AROUND + 1) for step in (-1, 1)]
        near = [one for one in near if one in source.commits and len(bare(source.lines[one])) >= FEW]
        near.sort(key=lambda one: source.commits[one] != source.commits[at])
        others = (found[one] if one in found else writings.of_line(source, one) for one in near)
        found[at] = [Found(one.writing, one.score, "around") for one in next(filter(None, others), [])]
    return found
