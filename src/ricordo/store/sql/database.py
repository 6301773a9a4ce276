"""What the shared statements need of a database: connections, transactions, a dialect.

The SQLite store and the PostgreSQL store fulfil these protocols, each in its own way. Times are whole microseconds
since 1970, UTC; lists of values come in parts that one statement takes.
"""

from __future__ import annotations

import json
import struct
import time
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol, TypeVar

from ricordo.errors import CorruptStore, UsageError, half_a_character
from ricordo.frozen import frozen
from ricordo.store.values import TermCounts

FIELDS = ("title", "path", "description", "tags", "context", "body")
"""The fields of a chunk whose words are indexed; ``counts`` and lengths are in this order."""
LIVE, SUPERSEDED, DELETED = 0, 1, 2


@frozen
class NewChunk:
    """A chunk that was just inserted, with what is indexed of it."""

    chunk: int
    item: int
    counts: TermCounts
    lengths: bytes
    """As ``lengths_of`` packs them."""
    state: int = LIVE
    embed_hash: bytes = b""


_LENGTHS = struct.Struct("=6I")


def lengths_of(counts: TermCounts) -> bytes:
    """How many terms each field of a chunk has, as they are stored: uint32."""
    return _LENGTHS.pack(*[sum(field.values()) for field in counts])


Row = tuple[Any, ...]
"""What a statement answers; which types its columns have, only the statement says."""
Values = Sequence[object]
"""What is bound to the question marks of a statement."""
UNREADABLE = (ValueError, KeyError, IndexError, TypeError, OverflowError, struct.error, zlib.error)
"""What decoding a damaged row raises: text that is not UTF-8, broken JSON, arrays of a wrong length, missing rows."""


class Dialect(Protocol):
    """What the two databases say differently."""

    def ignoring_case(self, column: str, /) -> str:
        """The condition that a column is a given text, in capital letters or small."""

    def day(self, column: str, /) -> str:
        """The local day of a stored time."""

    def json_is(self, column: str, place: str, value: object, /) -> tuple[str, list[object]]:
        """The condition that a place in a column of JSON holds a plain value, and what is bound in it."""

    def may_hold(self, column: str, folded: str, /) -> tuple[str, list[object]]:
        """A condition that a text holds another in whatever case; true where the database cannot tell."""

    def unclaimed(self) -> str:
        """What is put behind a query to pass over rows that another transaction is about to change."""


class Connection(Protocol):
    """One connection. Question marks stand for values."""

    touched: set[int]
    """In a transaction: the numbers of the items that it wrote, binned or erased."""
    granted: set[int]
    """In a transaction: those of them that were read from a place that the user trusts."""
    step: str
    """In a transaction: the step that it wrote down; empty if none."""

    @property
    def foreign(self) -> bool:
        """Whether the store came with a project that the user does not trust; items that are read say so."""

    @property
    def dialect(self) -> Dialect: ...
    @property
    def unreadable(self) -> tuple[type[Exception], ...]:
        """What reading a damaged row raises."""

    def rows(self, sql: str, values: Values | None = None, /) -> list[Row]:
        """Run a statement and read all its rows."""

    def once(self, sql: str, /, *values: object) -> list[Row]:
        """The rows of a query that is asked many times; within a snapshot they are read once."""

    def rows_in(self, sql: str, values: Sequence[object], /, *before: object) -> list[Row]:
        """The rows of a query with ``IN (*)`` at its end, where the star stands for any number of values."""

    def ahead(self, sql: str, values: Values | None = None, /) -> Callable[[], list[Row]]:
        """Run a statement in a transaction whose rows are needed later: over a network it travels with the next one
        that answers, and does not cost a trip.
        """

    def gather(self, *calls: Callable[[], Any]) -> list[Any]:
        """What some calls answer, which only read and do not depend on each other. Over a network, the statements of
        all of them travel together; so a call may be made several times.
        """

    def prefetch(self, *calls: Callable[[], Any]) -> None:
        """Over a network, let what some calls will read travel together; nothing where rows are near."""

    def run(self, sql: str, values: Values | None = None, /) -> None:
        """Run a statement that answers nothing."""

    def run_many(self, sql: str, values: Iterable[Values], /) -> None:
        """Run a statement once for each set of values."""

    def insert(self, table: str, columns: Sequence[str], rows: Iterable[Values], /) -> None:
        """Write new rows."""

    def stream(self, sql: str, values: Values | None = None, /) -> Iterator[Row]:
        """Run a query and read its rows as they are asked for."""

    def changes(self) -> int:
        """How many rows the last statement wrote."""

    def meta(self, name: str, /) -> str | int | None:
        """A value that concerns the whole store; None when it was never set."""

    def set_meta(self, name: str, value: str | int, /, *, replace: bool = True) -> bool:
        """Keep a value for the whole store, without ``replace`` only a first one; returns whether it was written."""

    def add_to_meta(self, name: str, amount: int, /) -> None:
        """Add to a number that concerns the whole store."""

    def reserve_chunks(self, count: int, /) -> int:
        """The first of ``count`` chunk ids that were never used, so that a new chunk inherits nothing."""

    def has_used_chunks(self) -> bool:
        """Whether any chunk was ever written."""

    def last_item_number(self) -> int:
        """The highest number that an item has, even if the table of items cannot be read; 0 if nothing tells."""

    def expect(self, *, items: int, chunks: int) -> None:
        """Say, before the first statement, how many items and chunks will be new at most; over a network, their numbers
        then come with the first answer.
        """

    def insert_numbered(self, table: str, columns: Sequence[str], values: Values, /) -> int:
        """Write a row of a table that numbers its rows; returns its number."""


class AroundCommit(Protocol):
    """Called just before a transaction commits; the commit happens inside the block it gives."""

    def __call__(self, touched: frozenset[int], *, durable: bool) -> AbstractContextManager[None]: ...


class Database(Protocol):
    """An open database. ``read()`` gives a snapshot, ``write()`` a transaction that commits if the block ends well."""

    around_commit: AroundCommit | None
    foreign: bool
    """Whether the store came with a project that the user does not trust."""

    @property
    def read_only(self) -> bool: ...
    def read(self) -> AbstractContextManager[Connection]: ...
    def write(
        self, *, durable: bool = False, wait: float | None = None, mirrored: bool = True
    ) -> AbstractContextManager[Connection]: ...
    def write_at_once(self, *, wait: float | None = None) -> AbstractContextManager[Connection]:
        """A transaction for rows whose writers do not disturb each other; on a server it waits for no other."""

    def is_writing(self) -> bool:
        """Whether this thread is inside a write transaction."""

    def is_mirrored(self) -> bool:
        """Whether writes of this thread are mirrored now: always, except in a transaction that switched it off."""

    def checkpoint(self) -> None:
        """Write the database's log into its file, if it has one."""

    def close(self) -> None: ...


class StorePart:
    """A part of a store: its methods read or write, each in a transaction of its own."""

    def __init__(self, database: Database) -> None:
        self._database = database


@contextmanager
def decoded(store: object) -> Iterator[None]:
    """Turn an exception from decoding a row into the error for damage of the store ``shown``; its trace is kept."""
    try:
        yield
    except UnicodeEncodeError:  # not a row that is damaged, but a text that was given to be stored or looked for
        raise half_a_character() from None
    except UNREADABLE as error:
        if isinstance(error, OverflowError) and str(error).endswith(" to convert"):  # a number that was given
            raise UsageError("a number is larger than any store holds", hint="Give a smaller one.") from None
        raise CorruptStore(
            f"something in the store {store} cannot be read ({type(error).__name__}: {error})",
            hint="‹:doctor› names what is damaged. If it finds nothing, this is a mistake in Ricordo.",
        ) from error


def mirroring(mirror: AroundCommit | None, touched: set[int], *, durable: bool) -> AbstractContextManager[None]:
    """The block in which a transaction commits that touched some items."""
    return nullcontext() if mirror is None or not touched else mirror(frozenset(touched), durable=durable)


def json_or(text: str, instead: Any) -> Any:
    """What a text of JSON says; something else if it cannot be read: a damaged row costs itself alone."""
    try:
        return json.loads(text)
    except ValueError:
        return instead


T = TypeVar("T")


def marks(values: Collection[object]) -> str:
    """A question mark for each value."""
    return ",".join("?" * len(values))


def in_parts(values: Iterable[T], size: int = 512) -> Iterator[tuple[str, list[T]]]:
    """The values in parts for ``IN``, each with its question marks.

    A part is filled up with its last value to a power of two: so there are few forms of a statement, and the database
    need not compile one for every number of values.
    """
    ordered = list(values)
    for at in range(0, len(ordered), size):
        part = ordered[at : at + size]
        part += part[-1:] * ((1 << (len(part) - 1).bit_length()) - len(part))
        yield marks(part), part


def not_in(column: str, values: Collection[T]) -> tuple[str, list[T]]:
    """The condition that a column has none of some values, to be put behind others, and what is bound in it."""
    return (f" AND {column} NOT IN ({marks(values)})", list(values)) if values else ("", [])


def all_of(*conditions: tuple[str, object]) -> tuple[str, list[object]]:
    """Those of some conditions whose value is not None, and the values that are bound in them."""
    pairs = [(condition, value) for condition, value in conditions if value is not None]
    return " AND ".join(condition for condition, _ in pairs) or "1=1", [value for _, value in pairs]


DAY = 86_400_000_000
_START = datetime(1970, 1, 1, tzinfo=UTC)


def micros(moment: datetime) -> int:
    """A moment as the store writes it."""
    return (moment.astimezone(UTC) - _START) // timedelta(microseconds=1)


def moment(value: int) -> datetime:
    """A stored time as a value."""
    return _START + timedelta(microseconds=value)


def optional_moment(value: int | None) -> datetime | None:
    """A stored time that may be missing."""
    return None if value is None else _START + timedelta(microseconds=value)


def now_micros() -> int:
    """The present."""
    return time.time_ns() // 1000
