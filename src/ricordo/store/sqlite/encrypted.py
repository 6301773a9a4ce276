"""Opens files with a key (SQLite3 Multiple Ciphers, package ``apsw-sqlite3mc``), and encrypts or decrypts one in place.

The log, the journal and the copies that SQLite makes for itself are encrypted with the same key.
"""

from __future__ import annotations

from pathlib import Path

import apsw

from ricordo.errors import DamagedHeader, Unavailable
from ricordo.keys.finding import StoreKey
from ricordo.keys.scratch import keep_temporary_files_in_memory
from ricordo.log import is_kept, leave_out_texts


def unlock(connection: apsw.Connection, key: StoreKey | None) -> None:
    """Give a connection the key, before anything is read. From then on, logs of this process hold no texts."""
    if key is None:
        return
    _refuse_without_ciphers(connection)
    leave_out_texts()
    if is_kept():  # a program that uses us as a library decides itself where its files go
        keep_temporary_files_in_memory()
    _say(connection, f"PRAGMA cipher='{key.cipher}'")
    _say(connection, f"PRAGMA key='raw:{key.key.hex()}'")


def damaged(path: Path, error: Exception) -> DamagedHeader:
    """The error for a file that the right key does not open."""
    return DamagedHeader(
        f"the beginning of the encrypted store {path} is damaged ({error}); its key is right",
        hint="Nothing was written. Restore a backup, with the file beside it whose name ends in -key.",
    )


def change_key(path: Path, before: StoreKey | None, after: StoreKey | None, seconds: float) -> None:
    """Encrypt a plain file, or decrypt one, in place and in one transaction; nobody else may have it open."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        unlock(connection, before)
        connection.set_busy_timeout(int(seconds * 1000))
        try:
            connection.pragma("journal_mode", "delete")  # fails while anybody else has the file open
        except apsw.BusyError:
            raise Unavailable(
                f"another process uses the store {path}",
                hint="End servers and agents that use it (‹:serve stop›), and try again.",
            ) from None
        connection.pragma("temp_store", "MEMORY")
        connection.pragma("secure_delete", 1)
        if after is None:
            _say(connection, "PRAGMA rekey=''")
        else:
            _refuse_without_ciphers(connection)
            _say(connection, f"PRAGMA cipher='{after.cipher}'")
            _say(connection, f"PRAGMA rekey='raw:{after.key.hex()}'")
        connection.pragma("journal_mode", "wal")
    finally:
        connection.close()


def _say(connection: apsw.Connection, statement: str) -> None:
    connection.execute(statement).fetchall()


def _refuse_without_ciphers(connection: apsw.Connection) -> None:
    """SQLite without ciphers would take no notice of the key, and write plain text."""
    if not connection.execute("PRAGMA cipher").fetchall():
        raise Unavailable(
            "the installed package 'apsw' cannot encrypt",
            hint="Put the other one in its place: pip uninstall apsw; pip install --force-reinstall apsw-sqlite3mc",
        )
