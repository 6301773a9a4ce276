"""Finds the links of stored items in their texts again, and checks the stored links."""

from __future__ import annotations

import json
from collections.abc import Iterator

from ricordo.store.sql import links
from ricordo.store.sql.items import content_of, entity_titles
from ricordo.store.sql.protocols import Connection, Database
from ricordo.text.links import carries_links, mentioned, names_of, targets_in
from ricordo.values.items import Ref
from ricordo.values.kinds import MENTIONING_KINDS
from ricordo.values.reports import Check

_BATCH = 200
_SAMPLE = 200

_ITEM = (
    "SELECT n, drive, path, title, source_url, metadata, version, kind,"
    " json_extract(fields, '$.mime_type') FROM items"
    " WHERE state <> 'deleted' AND n > ? ORDER BY n LIMIT ?"
)


def relink(database: Database) -> int:
    """Write the links of all items again, a batch per transaction; items that were saved meanwhile are left as they
    are.
    """
    looked_at = 0
    last = 0
    with database.write() as connection:
        connection.run("DELETE FROM item_names WHERE item NOT IN (SELECT n FROM items WHERE state <> 'deleted')")
    while True:
        with database.read() as connection:
            batch = list(_ends(connection, last))
        if not batch:
            return looked_at
        with database.write() as connection:
            current = {n: version for n, version, _ in batch if _version(connection, n) == version}
            links.update(connection, {n: ends for n, _, ends in batch if n in current})
        looked_at += len(batch)
        last = batch[-1][0]


def _version(connection: Connection, n: int) -> int | None:
    rows = connection.rows("SELECT version FROM items WHERE n=? AND state <> 'deleted'", (n,))
    return rows[0][0] if rows else None


def _ends(connection: Connection, after: int) -> Iterator[tuple[int, int, links.Ends]]:
    """Number, version and ends of the items that follow one."""
    entities = entity_titles(connection)
    rows = connection.rows(_ITEM, (after, _BATCH))
    for n, drive, path, title, source_url, metadata, version, kind, mime_type in rows:
        ref = Ref(drive, path)
        speaks = kind in MENTIONING_KINDS
        content = content_of(connection, n, version)[0] if speaks or carries_links(mime_type) else ""
        names = names_of(ref, title, source_url, json.loads(metadata))
        found = mentioned(content, entities) if speaks else ()
        yield n, version, links.Ends(names, targets_in(content, ref, mime_type), found)


def check(database: Database, repair: bool) -> Check:
    """Check the names of all items, the links of a sample of texts, and that all links lead to the right item."""
    problem = _problem(database)
    if problem is None:
        return Check("links", True, "agree with the stored texts")
    if repair:
        relink(database)
    return Check("links", False, problem, repaired=repair)


def _problem(database: Database) -> str | None:
    with database.read() as connection:
        named: dict[int, set[str]] = {}
        for n, name in connection.stream("SELECT item, name FROM item_names"):
            named.setdefault(n, set()).add(name)
        known = connection.rows(
            "SELECT n, drive, path, title, source_url, metadata FROM items WHERE state <> 'deleted'"
        )
        off = sum(
            named.pop(n, set()) != names_of(Ref(drive, path), title, source_url, json.loads(metadata))
            for n, drive, path, title, source_url, metadata in known
        )
        if off or named:
            return f"{off + len(named)} items go by other names than they should"
        numbers = [row[0] for row in known]
        for n in numbers[:: max(1, len(numbers) // _SAMPLE)]:
            _, _, ends = next(_ends(connection, n - 1))
            rows = connection.rows("SELECT text, name FROM links WHERE source=? AND origin='text'", (n,))
            if set(rows) != {(target.text, target.name) for target in ends.targets}:
                return "some links are not those in the texts"
        astray = links.count_astray(connection)
    return f"{astray} links do not lead to what they mean" if astray else None
