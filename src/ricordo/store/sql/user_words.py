"""Which versions have the user's word, and the gate that every transaction passes before it commits."""

from __future__ import annotations

from collections.abc import Collection

from ricordo.store.sql.database import Connection, Database, json_or
from ricordo.trust.gate import Word, check_words, is_users


def user_words(connection: Connection, numbers: Collection[int]) -> dict[int, Word]:
    """The versions of some items that have the user's word, by number."""
    rows = connection.rows_in(
        "SELECT i.n, v.drive || ':' || v.path, v.hash, i.state, v.fields FROM items i"
        " JOIN versions v ON v.item = i.n AND v.number = i.vouched WHERE i.n IN (*)",
        sorted(numbers),
    )
    return {
        n: Word(ref, digest, state == "live" and json_or(fields, {}).get("loading") == "always")
        for n, ref, digest, state, fields in rows
    }


def pass_gate(database: Database, writer: Connection) -> None:
    """Before a transaction commits: what its items tell as the user's words changes by the user's word alone.

    A reader does not see what the transaction wrote.
    """
    if not writer.touched or database.foreign or is_users():  # nothing of a foreign store counts before ``trust``
        return
    with database.read() as reader:
        before = user_words(reader, writer.touched)
    withheld = check_words(before, user_words(writer, writer.touched), writer.granted)
    writer.run_many("UPDATE items SET vouched=NULL WHERE n=?", [(n,) for n in withheld])
