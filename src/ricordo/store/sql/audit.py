"""The record of changes that make no version: what was archived, removed or erased, and what the user agreed to.

Changes of texts and fields need no row here, because each version says who wrote it.
"""

from __future__ import annotations

from ricordo import speaking
from ricordo.store.sql.protocols import Connection
from ricordo.store.sql.times import now_micros
from ricordo.values.provenance import stored

AUDIT_COLUMNS = ("at", "what", "item", "ref", "version", "provenance")


def note(connection: Connection, what: str, n: int) -> None:
    """Write down who does something to an item now."""
    said = stored(speaking.speaker())
    connection.run(
        "INSERT INTO audit(at, what, item, ref, version, provenance)"
        " SELECT ?, ?, id, drive || ':' || path, version, ? FROM items WHERE n=?",
        (now_micros(), what, said, n),
    )


def note_erased(connection: Connection, n: int) -> None:
    """Write down that an item is erased, and forget its name, which may say what it was about."""
    note(connection, "erased", n)
    connection.run("UPDATE audit SET ref='' WHERE item=(SELECT id FROM items WHERE n=?)", (n,))
