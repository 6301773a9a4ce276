"""What transactions of both databases do alike: name what cannot be read, and let the mirror copy what changed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from ricordo.errors import CorruptStore, UsageError, half_a_character
from ricordo.store.sql.protocols import UNREADABLE, AroundCommit


@contextmanager
def decoded(shown: object) -> Iterator[None]:
    """Turn an exception from decoding a row into the error for damage of the store ``shown``; its trace is kept."""
    try:
        yield
    except UnicodeEncodeError:  # not a row that is damaged, but a text that was given to be stored or looked for
        raise half_a_character() from None
    except OverflowError as error:
        if not str(error).endswith(" to convert"):  # of a row; a number that was given does not fit into one
            raise _damaged(shown, error) from error
        raise UsageError("a number is larger than any store holds", hint="Give a smaller one.") from None
    except UNREADABLE as error:
        raise _damaged(shown, error) from error


def _damaged(shown: object, error: Exception) -> CorruptStore:
    return CorruptStore(
        f"something in the store {shown} cannot be read ({type(error).__name__}: {error})",
        hint="‹:doctor› names what is damaged. If it finds nothing, this is a mistake in Ricordo.",
    )


def mirroring(mirror: AroundCommit | None, touched: set[int], *, durable: bool) -> AbstractContextManager[None]:
    """The block in which a transaction commits that touched some items."""
    return nullcontext() if mirror is None or not touched else mirror(frozenset(touched), durable=durable)
