"""Checks whether stored texts are still what was saved: every version is compared with its hashes.

A database notices a broken page, but not a changed letter. The hashes that were saved with each version and passage
show both, so they are computed again here. A row that cannot be read counts as damaged and does not stop the check.
"""

from __future__ import annotations

import numpy as np

from ricordo.store.prepare import embed_hash, text_hash
from ricordo.store.sql.database import Connection, Database, Row
from ricordo.store.sql.items import draft_of
from ricordo.values.items import Draft, version_hash
from ricordo.values.reports import Check, Damage

MOST_NAMED = 20
"""How many damaged items are named."""


def find_damage(connection: Connection) -> list[Damage]:
    """All damaged versions; if the versions of an item cannot be listed, its current one."""
    damages: list[Damage] = []
    for n, ref, head in stored_items(connection):
        try:
            numbers = [row[0] for row in connection.rows("SELECT number FROM versions WHERE item=?", (n,))]
        except connection.unreadable as error:
            damages.append(
                Damage(n=n, ref=ref, number=head, is_head=True, problem=f"its versions cannot be read ({error})")
            )
            continue
        problems = {number: problem for number in numbers if (problem := version_problem(connection, n, number))}
        if head not in numbers:
            problems[head] = "it is missing"
        sound = max((number for number in numbers if number not in problems), default=None)
        damages += [
            Damage(n=n, ref=ref, number=number, is_head=number == head, problem=what, sound=sound)
            for number, what in sorted(problems.items())
        ]
    return damages


def stored_items(connection: Connection) -> list[Row]:
    """Number, ref and current version of each item, even if a part of the table cannot be read."""
    sql = "SELECT n, drive || ':' || path, version FROM items"
    try:
        return connection.rows(f"{sql} ORDER BY n")
    except connection.unreadable:
        rows: list[Row] = []
        for n in range(1, connection.last_item_number() + 1):
            try:
                rows += connection.rows(f"{sql} WHERE n=?", (n,))
            except connection.unreadable:
                rows.append((n, f"item:/{n}", 0))
        return rows


def version_problem(connection: Connection, n: int, number: int) -> str:
    """What is wrong with a version; empty when nothing is."""
    try:
        draft = draft_of(connection, n, number)
        hashes = connection.rows("SELECT hash, text_hash, layout FROM versions WHERE item=? AND number=?", (n, number))
        if draft is None or not hashes:
            return "it is missing"
        digest, content_digest, layout = hashes[0]
        if text_hash(draft.content, draft.blob) != content_digest:
            return "its text is not what was saved"
        if version_hash(draft, content_digest) != digest:
            return "its fields are not what was saved"
        return _passages_problem(connection, n, draft, layout)
    except connection.unreadable as error:
        return f"it cannot be read ({error or type(error).__name__})"


def _passages_problem(connection: Connection, n: int, draft: Draft, layout: bytes) -> str:
    places = np.frombuffer(layout, np.int64).reshape(-1, 4)
    stored = {
        row[0]: row[1:] for row in connection.rows("SELECT id, prefix, text, embed_hash FROM chunks WHERE item=?", (n,))
    }
    reached = 0
    for chunk, start, first, last in places.tolist():
        prefix, text, digest = stored[chunk]
        if start != reached or first > last:
            return "its passages are not where they were"
        if embed_hash(prefix, text) != digest:
            return "what is embedded for a passage is not what was saved"
        reached += len(text)
    return "" if reached == len(draft.content) else "its passages do not cover its text"


def texts(database: Database) -> tuple[Check, list[Damage]]:
    """Every version of every item against the hashes it was saved with."""
    with database.read() as connection:
        damages = find_damage(connection)
        heads = _head_problems(connection)
    if not damages and not heads:
        return Check("texts", True, "are what was saved, in every version"), []
    lines = [f"{damage.ref} version {damage.number}: {damage.problem}" for damage in damages] + heads
    more = f" and {len(lines) - MOST_NAMED:,} more" if len(lines) > MOST_NAMED else ""
    return Check("texts", False, f"damaged: {'; '.join(lines[:MOST_NAMED])}{more}. {WHAT_TO_DO}"), damages


WHAT_TO_DO = "Restore a backup, or save what can be read with 'ricordo export --salvage FILE'."


def _head_problems(connection: Connection) -> list[str]:
    """Items whose row differs from that of their current version, in values that no other check compares."""
    try:
        rows = connection.rows(
            "SELECT i.drive || ':' || i.path FROM items i JOIN versions v ON v.item = i.n AND v.number = i.version"
            " WHERE i.hash <> v.hash OR i.text_hash <> v.text_hash OR i.size <> v.size OR i.kind <> v.kind"
            " OR (i.state <> 'deleted' AND (i.drive <> v.drive OR i.path <> v.path))"
            " OR i.state NOT IN ('live', 'archived', 'deleted')"
        )
    except connection.unreadable as error:
        return [f"items cannot be compared with their versions ({error})"]
    return [f"{row[0]}: its row is not that of its current version" for row in rows]


def mend(database: Database, n: int, number: int, content: str) -> bool:
    """Write the text of a version into its passages again, if its hash shows that it is the right text."""
    with database.write(durable=True, mirrored=False) as connection:
        rows = connection.rows("SELECT text_hash, layout FROM versions WHERE item=? AND number=?", (n, number))
        if not rows or text_hash(content) != rows[0][0]:
            return False
        places = np.frombuffer(rows[0][1], np.int64).reshape(-1, 4)
        starts = [*places[:, 1].tolist(), len(content)]
        for at, chunk in enumerate(places[:, 0].tolist()):
            connection.run(
                "UPDATE chunks SET text=? WHERE id=? AND item=?", (content[starts[at] : starts[at + 1]], chunk, n)
            )
        return not version_problem(connection, n, number)
