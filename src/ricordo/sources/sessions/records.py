"""A transcript that is read whole, as a list of records: for programs that keep sessions in databases or JSON files.

Reading goes on behind the last record that was complete, as it does behind the last whole line of a file of lines.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path

from ricordo.frozen import frozen
from ricordo.sources.sessions.lines import LineContent
from ricordo.values.sessions import ReadCounts, SessionEvent, SessionHint, is_own_tool


@frozen
class Record:
    """One record: its id, what it says (None: it is of an unknown kind), and whether it is still being written."""

    id: str
    events: Iterable[LineContent] | None
    kind: str
    is_unfinished: bool = False


class RecordsTranscript:
    """One session, as ``context.sessions`` reads it. ``is_helpers`` says that the person took no part in it.

    ``mtime`` and ``size`` tell whether it changed; only then are the records loaded.
    """

    def __init__(
        self,
        path: Path,
        adapter: str,
        session: str,
        mtime: int,
        size: int,
        load: Callable[[], Sequence[Record]],
        hints: Sequence[SessionHint] = (),
        *,
        is_helpers: bool = False,
    ) -> None:
        self.path = path
        self.adapter = adapter
        self.session = session
        self.mtime = mtime
        self.size = size
        self.counts = ReadCounts()
        self.offset = 0
        self.check = ""
        self.before = 0
        self.is_helpers = is_helpers
        self._load = load
        self._hints = hints

    @cached_property
    def _records(self) -> Sequence[Record]:
        return self._load()

    def check_at(self, offset: int) -> str:
        """A check value for the records before a position."""
        ids = "\n".join(record.id for record in self._records[:offset])
        return hashlib.blake2b(ids.encode("utf-8", "replace"), digest_size=16).hexdigest()

    def grew_from(self, offset: int, check: str) -> bool:
        """Whether the session begins with the records that were read before."""
        return 0 < offset <= len(self._records) and self.check_at(offset) == check

    def events(self, start: int = 0) -> Iterator[LineContent]:
        """The events of the records from a position on, without calls and results of Ricordo's own tools."""
        self.offset = start
        yield from self._hints
        for place, record in enumerate(self._records[start:], start=start):
            if record.is_unfinished:
                break
            self.before = place
            self.offset = place + 1
            if record.events is None:
                self.counts.skip(record.kind[:40])
                continue
            for one in record.events:
                if not (isinstance(one, SessionEvent) and is_own_tool(one.tool)):
                    yield one
        self.check = self.check_at(self.offset)
