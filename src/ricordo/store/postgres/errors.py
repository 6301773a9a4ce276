"""Turns PostgreSQL's errors into ours: a server that may come back, a refused call, a broken store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import psycopg_pool

from ricordo.errors import CorruptStore, ReadOnlyStore, StoreError, Unavailable, UsageError
from ricordo.store.postgres.schema import NO_WRITER, OLD_CLIENT


@contextmanager
def translated(path: str) -> Iterator[None]:
    """Turn PostgreSQL's errors into ours."""
    try:
        yield
    except (psycopg_pool.PoolTimeout, psycopg.errors.ConnectionTimeout) as error:
        raise Unavailable(
            f"the store {path} does not answer", hint="Check that the server runs and can be reached."
        ) from error
    except psycopg.errors.QueryCanceled as error:
        raise Unavailable(
            f"the store {path} took too long and was stopped", hint="Try again; see docs/scaling.md."
        ) from error
    except psycopg.errors.ReadOnlySqlTransaction as error:
        raise ReadOnlyStore(f"the store {path} can only be read", hint="It is a replica: name the primary.") from error
    except psycopg.errors.InsufficientPrivilege as error:
        raise _refused(path, error) from error
    except psycopg.errors.DiskFull as error:
        raise StoreError(f"no space is left for the store {path}", hint="Free some; nothing is lost.") from error
    except psycopg.OperationalError as error:
        raise Unavailable(
            f"the store {path} cannot be reached ({_first_line(error)})",
            hint="Check that the server runs, and its address, user and password.",
        ) from error
    except (psycopg.errors.UndefinedTable, psycopg.errors.UndefinedColumn) as error:
        raise CorruptStore(
            f"the tables of the store {path} are not what they should be ({_first_line(error)})",
            hint="Were you removed from its team? Ask an owner. Otherwise restore a backup, or name another store with"
            " ‹store›.",
        ) from error
    except psycopg.DataError as error:
        if "NUL" not in str(error):
            raise
        raise UsageError(
            "a text holds the character U+0000, which PostgreSQL cannot hold", hint="Leave it out."
        ) from None
    except psycopg.DatabaseError as error:
        if error.sqlstate == OLD_CLIENT:
            raise ReadOnlyStore(
                f"the store {path} was upgraded, and this Ricordo is too old to write to it",
                hint="Upgrade Ricordo (pip install -U ricordo) and start this program again.",
            ) from error
        if error.sqlstate == NO_WRITER:
            raise ReadOnlyStore(
                f"you may not write to the store {path}",
                hint="An owner makes you a member who writes: ‹:team invite NAME --role writer›.",
            ) from error
        raise


def _refused(path: str, error: psycopg.errors.InsufficientPrivilege) -> StoreError:
    if "must be owner" in str(error):
        return StoreError(f"only an owner of the store {path} may do this", hint="‹:team status› lists the owners.")
    if "permission denied for database" in str(error):
        return StoreError(
            f"the store {path} has no tables yet, and this role may not make them ({_first_line(error)})",
            hint="Let an administrator run GRANT CREATE ON DATABASE … TO this role, or open it first as one that may.",
        )
    return StoreError(
        f"the store {path} refuses this ({_first_line(error)})",
        hint="Is this role in the team? An owner invites it. docs/scaling.md says what one needs without a team.",
    )


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0]
