"""From lines to what they come from: commit, turn, what the user asked, and what the agent had been told.

And the other way: from a memory that was corrected to the lines that were written by agents who had been told it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ricordo.config.repository import repository_around
from ricordo.errors import Error, NotFound, UsageError
from ricordo.patterns import late
from ricordo.permissions import is_admin, refuse_files
from ricordo.plugins.history.causes import Found, Writing, Writings, of_lines, same_file
from ricordo.plugins.history.lines import BlamedFile, WroteLine, read
from ricordo.plugins.history.told import MOST_TOLD, Telling, ToldLog, clipped, correction, outdated
from ricordo.plugins.history.values import BlameReport, Cause, Correction, WritingTurn
from ricordo.secrets.find import redact
from ricordo.sources.git import output_of
from ricordo.text.line_marks import marks_of_lines
from ricordo.text.sentences import sentences_with

if TYPE_CHECKING:
    from ricordo.engine.context import EngineContext
    from ricordo.engine.ricordo import Ricordo
    from ricordo.store.base import Store

_PLACE = late(r"(?P<file>.+?):(?P<first>\d+)(?:-(?P<last>\d+))?")
_WORD = late(r"[A-Za-z]{3,}|\d{2,}")
_PART = late(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
MOST_FILES = 3_000
"""Files of a repository that are looked through for lines that were moved to them."""
CALLS_BEFORE = 20
"""A tool answers within so many turns: a program may call several at once."""
KNOWN_AGAIN = 3
"""So many lines that a turn wrote say that a file may hold what it wrote."""


def read_place(engine: Ricordo, name: str) -> dict[str, Any] | None:
    """Why lines are there, for an agent that gets ``FILE:LINE``; None for names of anything else."""
    match = _PLACE.fullmatch(name)
    if match is None or not is_admin() or not Path(match["file"]).expanduser().suffix:
        return None
    with suppress(NotFound):
        return engine.blame(name).to_dict()
    return None


class Blaming:
    """Looks for the causes of lines in the stores that can be reached."""

    def __init__(self, context: EngineContext) -> None:
        self._context = context
        self.notes: list[str] = []
        self.stores: Mapping[str, Store] = context.tiers.reachable(self.notes)
        self.writings = Writings(self.stores)
        self._told: ToldLog | None = None
        self._requests: dict[str, list[tuple[int, str, str, bool]]] = {}
        self._calls: dict[str, list[tuple[int, datetime, str, Sequence[str]]]] = {}

    @property
    def told(self) -> ToldLog:
        if self._told is None:
            self._told = ToldLog(self._context, self.stores)
        return self._told

    def lines(self, place: str) -> BlameReport:
        """Why lines are there: ``FILE:LINE``, ``FILE:FIRST-LAST``, or all lines of a file."""
        refuse_files([place])
        path, wanted = self._named(place)
        source = read(path, wanted)
        numbers = list(wanted or range(len(source.lines)))
        found = of_lines(self.writings, source, numbers)
        causes = [self._cause(source, group, found[group[0]]) for group in _groups(source, numbers, found)]
        self._say_what_is_not_known(source, causes)
        return BlameReport(tuple(causes), notes=tuple(self.notes))

    def _named(self, place: str) -> tuple[Path, range | None]:
        text = place.removeprefix("disk:")
        whole = (self._context.start / Path(text).expanduser()).resolve()
        match = None if whole.is_file() else _PLACE.fullmatch(text)
        if match is None:
            return whole, None
        first = int(match["first"])
        last = int(match["last"] or first)
        if first < 1 or last < first:
            raise UsageError(f"{text} names no lines", hint="Lines are counted from 1: src/app.py:10-20")
        return (self._context.start / Path(match["file"]).expanduser()).resolve(), range(first - 1, last)

    def _cause(self, source: BlamedFile, group: Sequence[int], found: Sequence[Found]) -> Cause:
        commit = source.commits[group[0]]
        text = "\n".join(source.lines[at] for at in group)
        best = found or self._same_file(source, commit)
        turns = [self._turn(one, text, source.name, with_told=number == 0) for number, one in enumerate(best)]
        return Cause(
            source.name, group[0] + 1, group[-1] + 1, redact(text)[0], commit.hash, commit.author, commit.committed,
            commit.summary, commit.name if commit.name != source.name else "", tuple(turns),
        )  # fmt: skip

    def _same_file(self, source: BlamedFile, commit: WroteLine) -> list[Found]:
        """The turn that changed the file last before a commit, where none is known to have written a line."""
        turns = [
            one
            for one in self.writings.all
            if same_file(one.file, source, source.name) >= 0.9
            and (
                commit.committed is None or (one.at <= commit.committed and (not commit.since or one.at > commit.since))
            )
        ]
        return [Found(max(turns, key=lambda one: one.at), 0.0, "file")] if turns else []

    def _turn(self, found: Found, text: str, name: str, *, with_told: bool) -> WritingTurn:
        writing = found.writing
        store = self.stores[writing.tier]
        request, asked = self._asked(store, writing, f"{text} {name}")
        seq, at = self._call(store, writing)
        is_told = with_told and found.match != "file"
        return WritingTurn(
            f"session:/{writing.session}/{seq}", writing.session, seq, at, writing.tool, writing.file, found.match,
            found.score, asked, request,
            self.told.before(writing.session, store, at, f"{text} {asked}") if is_told else (),
        )  # fmt: skip

    def _asked(self, store: Store, writing: Writing, like: str) -> tuple[str, str]:
        """The turn with the request on which a turn worked, and the sentence of it that fits some lines best."""
        if writing.session not in self._requests:
            rows = store.threads.turns_with("request", writing.session)
            texts = store.items.contents([n for n, *_ in rows])
            self._requests[writing.session] = [
                (seq, f"session:/{writing.session}/{seq}", texts.get(n, ""), bool(json.loads(about).get("goes_on")))
                for n, _, seq, _, about in rows
            ]
        before = [one for one in self._requests[writing.session] if one[0] < writing.seq]
        asked = next((one for one in reversed(before) if not one[3]), before[-1] if before else None)
        if asked is None:
            return "", ""
        words = _names(like)
        return asked[1], clipped(sentences_with(asked[2], lambda said: len(words & _names(said))))

    def _call(self, store: Store, writing: Writing) -> tuple[int, datetime]:
        """The place and the time of the call, where what a turn wrote is known from the answer of the tool."""
        if writing.session not in self._calls:
            rows = (
                (seq, at, json.loads(about))
                for _, _, seq, at, about in store.threads.turns_with("sent", writing.session)
            )
            self._calls[writing.session] = [
                (seq, at, str(about.get("tool")), about.get("files") or ())
                for seq, at, about in rows
                if about.get("direction") == "sent" and about.get("role") == "tool"
            ]
        before = [
            (seq, at)
            for seq, at, tool, files in self._calls[writing.session]
            if seq <= writing.seq <= seq + CALLS_BEFORE
            and tool == writing.tool
            and (writing.file in files or not files)
        ]
        return before[-1] if before else (writing.seq, writing.at)

    def _say_what_is_not_known(self, source: BlamedFile, causes: Sequence[Cause]) -> None:
        if source.top is None:
            self.notes.append(
                f"{source.path} is in no git repository, so no commit is known: git init, git add, git commit"
            )
        elif not source.is_known:
            self.notes.append(f"{source.name} is in no commit yet: git add {source.name}, git commit")
        elif any(not cause.commit for cause in causes):
            self.notes.append("lines without a commit are not committed yet: git diff shows them")
        if not self.writings.all:
            self.notes.append(self._why_no_turns())
        elif unknown := [cause for cause in causes if not cause.turns or cause.turns[0].match == "file"]:
            which = ", ".join(_span(cause) for cause in unknown[:5]) + (" …" if len(unknown) > 5 else "")
            self.notes.append(
                f"no stored turn wrote line {which}: a person did, a command, or a session that is not stored:"
                " ricordo sessions add"
            )
        if any(len(turn.told) == MOST_TOLD for cause in causes for turn in cause.turns):
            self.notes.append(
                f"of what an agent had been told, the {MOST_TOLD} that fit best are shown: ricordo log told"
            )
        best = [cause.turns[0] for cause in causes if cause.turns and cause.turns[0].match != "file"]
        if best and not any(turn.told for turn in best):
            self.notes.append(
                "nothing is known of what the agent had been told before: hooks and the MCP server tell it"
                " (ricordo install), and usage.log keeps it"
            )

    def _why_no_turns(self) -> str:
        for store in self.stores.values():
            if store.threads.turns_with("role"):
                return (
                    "no stored session wrote a file, or they were read by an older version, which kept no lines:"
                    " ricordo sessions add reads what is new"
                )
        return "no session is stored, so no turn is known: ricordo sessions add"

    def resting_on(self, name: str, place: str = "") -> BlameReport:
        """The lines that agents wrote after they had been told a memory that does not hold any more as it was told."""
        tier, n = self._context.tiers.holder(name)
        store = tier.store
        corrections: list[Correction] = []
        tellings: list[Telling] = []
        for number in outdated(store, n):
            item = store.items.get_many([number])[number]
            told = self.told.of_item(store, number, item)
            past = [one for one in told if correction(store, number, [one.version]) is not None]
            first = min((one.version for one in past), default=1)
            if (what := correction(store, number, [first])) is not None:
                corrections.append(what)
            tellings += past
        if not corrections:
            self.notes.append(f"{name} was not corrected, superseded, changed or removed: nothing rests on what was")
        elif not tellings:
            self.notes.append("it is not known that an agent was told it before: ricordo log told shows what is known")
        writers = self._writers_after(tellings)
        causes = [cause for path in self._files(place, writers) for cause in self._resting_in(path, writers)]
        if writers and not causes:
            self.notes.append("no line is left of what the agents wrote who had been told it")
        words = _names(" ".join(one.was for one in corrections))
        causes.sort(key=lambda one: -min(3, len(words & _names(one.text))))
        return BlameReport(tuple(causes), tuple(corrections), tuple(self.notes))

    def _writers_after(self, tellings: Sequence[Telling]) -> dict[tuple[str, int], Writing]:
        """The turns that wrote something after one of some tellings, in the same session."""
        spans: dict[str, tuple[datetime, datetime]] = {}
        for one in self.writings.all:
            if one.session not in spans:
                span = self.stores[one.tier].threads.spans([one.session])[one.session]
                spans[one.session] = span.first or one.at, span.last or one.at
        told_at: dict[str, datetime] = {}
        for told in tellings:
            during = [name for name, (first, last) in spans.items() if first <= told.at <= last]
            for session in [told.session] if told.session else during:
                told_at[session] = min(told.at, told_at.get(session, told.at))
        after = (one for one in self.writings.all if one.session in told_at and one.at > told_at[one.session])
        return {one.turn: one for one in after}

    def _files(self, place: str, writers: Mapping[tuple[str, int], Writing]) -> Iterator[Path]:
        """The files that may hold what some turns wrote: those that they named, and those to which it was moved."""
        if not writers:
            return
        start = (self._context.start / Path(place or ".").expanduser()).resolve()
        if start.is_file():
            yield start
            return
        if not start.is_dir():
            raise NotFound(f"there is no folder {start}", hint="Name a folder of your work tree.")
        repository = repository_around(start)
        if repository is None:
            raise UsageError(f"{start} is in no git repository", hint="Go to a repository, or name one.")
        top = repository.top
        listed = output_of(top, 30, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
        paths = [top / name for name in listed.split("\0")[:MOST_FILES] if name]
        named = {one.file.replace("\\", "/").rpartition("/")[2] for one in writers.values()}
        marks = set().union(*(one.marks for one in writers.values()))
        for path in paths:
            if path.is_relative_to(start) and path.is_file() and (path.name in named or _holds(path, marks)):
                yield path

    def _resting_in(self, path: Path, writers: Mapping[tuple[str, int], Writing]) -> list[Cause]:
        try:
            source = read(path)
        except Error:  # it is not a text
            return []
        numbers = list(range(len(source.lines)))
        found = of_lines(self.writings, source, numbers)
        resting = [at for at in numbers if found[at] and found[at][0].writing.turn in writers and source.marks[at]]
        return [
            Cause(
                source.name, group[0] + 1, group[-1] + 1, redact("\n".join(source.lines[at] for at in group))[0],
                commit.hash, commit.author, commit.committed, commit.summary,
                turns=(self._turn(found[group[0]][0], source.lines[group[0]], source.name, with_told=False),),
            )
            for group in _groups(source, resting, found)
            if (commit := source.commits[group[0]])
        ]  # fmt: skip


def _groups(source: BlamedFile, numbers: Sequence[int], found: Mapping[int, Sequence[Found]]) -> list[list[int]]:
    """Numbers of lines that follow each other and have the same commit and the same best turn."""
    groups: list[list[int]] = []
    for at in numbers:
        last = groups[-1][-1] if groups else -2
        if last == at - 1 and source.commits[last] == source.commits[at] and _best(found[last]) == _best(found[at]):
            groups[-1].append(at)
        else:
            groups.append([at])
    return groups


def _best(found: Sequence[Found]) -> tuple[str, int] | None:
    return found[0].writing.turn if found else None


def _holds(path: Path, marks: set[str]) -> bool:
    """Whether a file may hold lines with some of these marks."""
    try:
        text = path.read_text("utf-8") if path.stat().st_size < 1_000_000 else ""
    except (OSError, ValueError):
        return False
    own, _ = marks_of_lines(text.splitlines())
    return sum(mark in marks for mark in own if mark) >= KNOWN_AGAIN


def _names(text: str) -> set[str]:
    """The words of a text and the parts of the names in it, in lower case."""
    return {part.lower() for word in _WORD.findall(text) for part in _PART.findall(word) if len(part) > 2}


def _span(cause: Cause) -> str:
    return str(cause.first) if cause.first == cause.last else f"{cause.first}-{cause.last}"
