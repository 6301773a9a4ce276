"""Links between items: those in texts, mentions of entities, and those that somebody made by hand.

A link in a text is kept by the name it uses, and leads to whichever item has that name now.
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from ricordo.frozen import frozen
from ricordo.speaking import is_person
from ricordo.store.sql import history
from ricordo.store.sql.database import Connection, Database, Row, StorePart, in_parts, moment, now_micros
from ricordo.store.sql.items import content_of, entity_titles, shown_ref
from ricordo.store.values import PreparedItem, Replacement, StoredLink
from ricordo.text.links import LinkCandidate, LinkTarget, best_candidate, carries_links, mentioned, names_of, targets_in
from ricordo.values.items import Fields, Ref
from ricordo.values.kinds import MENTIONING_KINDS
from ricordo.values.reports import Check

MOST_NEIGHBOURS = 1_000
"""The walk ends at this many neighbours, because an item that everything links to says nothing."""


MOST_CANDIDATES = 1_000
"""At most this many items with the same name are compared, the oldest first."""


@frozen
class Ends:
    """What links need to know about an item: its names, the targets in its text, and the entities it mentions."""

    names: Collection[str]
    targets: Sequence[LinkTarget]
    mentions: Sequence[tuple[int, str]] = ()
    is_new: bool = False
    """Whether the item was just made, so that nothing of it is stored yet."""


CONTRADICTS = "contradicts"
FOUND = "found"
"""The origin of contradictions that nobody confirmed: they wait in ``review``, and change nothing else."""


UNCONFIRMED_LINKS = (
    "UPDATE links SET origin = 'found', name = (SELECT i.id FROM items i WHERE i.n = links.target)"
    " WHERE origin = 'manual' AND type = 'contradicts'"
)
"""Contradictions that were noted by comparing could not be told from those that the user confirmed."""


def add(connection: Connection, source: int, target: int, type_: str, *, is_new: bool = False) -> bool:
    """Link two items by hand; returns whether the link is new, as it is where the caller knows that it ``is_new``.

    That items contradict each other is confirmed by the user alone.
    """
    if type_ == CONTRADICTS and not is_person():
        return add_found(connection, source, [target])
    connection.run(
        "INSERT INTO links(source, target, type, origin, text, name, created_at)"
        " SELECT ?, n, ?, 'manual', '', '', ? FROM items WHERE n=? ON CONFLICT DO NOTHING",
        (source, type_, now_micros(), target),
    )
    is_new = is_new or bool(connection.changes())
    if is_new:
        history.note_link(connection, source, target, type_, added=True)
    return is_new


def add_found(connection: Connection, source: int, targets: Iterable[int]) -> bool:
    """Note which items another one seems to contradict as they are now; returns whether any of this is new."""
    now, numbers = now_micros(), [target for target in targets if target != source]
    connection.run_many(
        "DELETE FROM links WHERE source=? AND target=? AND origin=?", [(source, n, FOUND) for n in numbers]
    )
    connection.run_many(
        "INSERT INTO links(source, target, type, origin, text, name, created_at)"
        " SELECT ?, n, ?, ?, '', id, ? FROM items WHERE n=? ON CONFLICT DO NOTHING",
        [(source, CONTRADICTS, FOUND, now, n) for n in numbers],
    )
    return bool(numbers)


def remove(connection: Connection, source: int, target: int, type_: str | None) -> int:
    """Remove links between two items that are not in a text, of one type or of all; returns how many there were."""
    removed = connection.rows(
        "DELETE FROM links WHERE source=? AND target=? AND origin IN ('manual', ?) AND type=coalesce(?, type)"
        " RETURNING type, origin",
        (source, target, FOUND, type_),
    )
    for identity, origin in removed:
        if origin == "manual":
            history.note_link(connection, source, target, identity, added=False)
    return len(removed)


def neighbours(connection: Connection, numbers: Sequence[int], depth: int) -> dict[int, int]:
    """Items within ``depth`` links of the given ones, whichever way the links point, with their distances."""
    distances = dict.fromkeys(numbers, 0)
    frontier = list(distances)
    for distance in range(1, depth + 1):
        reached: set[int] = set()
        for places, part in in_parts(frontier):
            rows = connection.rows(
                f"SELECT l.target FROM links l JOIN items i ON i.n = l.target AND i.state = 'live'"
                f" WHERE l.source IN ({places}) UNION SELECT l.source FROM links l"
                f" JOIN items i ON i.n = l.source AND i.state = 'live' WHERE l.target IN ({places})",
                (*part, *part),
            )
            reached.update(row[0] for row in rows)
        frontier = sorted(reached.difference(distances))[: max(0, MOST_NEIGHBOURS + len(numbers) - len(distances))]
        distances |= dict.fromkeys(frontier, distance)
        if not frontier:
            break
    return distances


def names(ref: Ref, fields: Fields) -> set[str]:
    """The names an item goes by."""
    return names_of(ref, fields.title, fields.source_url, fields.metadata)


def update_saved(connection: Connection, written: Mapping[int, PreparedItem], new: Collection[int] = ()) -> None:
    """Bring the links in line with items that were just written, by number, some of them ``new``, and write those that
    come with them.
    """
    ends = {
        n: Ends(names(item.draft.ref, item.draft.fields), item.links, item.mentions, is_new=n in new)
        for n, item in written.items()
    }
    update(connection, ends)
    for n, item in written.items():
        for type_, target in item.relations:
            if target != n:
                add(connection, n, target, type_)
        if item.contradicts:
            add_found(connection, n, item.contradicts)
        if item.named_by is not None:
            _set_mentions(connection, n, item.draft.fields.title, item.named_by)


def update(connection: Connection, ends: Mapping[int, Ends]) -> None:
    """Write names and targets of items, then look up what their links, and links to them, mean."""
    stored = [n for n, end in ends.items() if not end.is_new]
    touched = _write_names(connection, ends, stored)
    _write_targets(connection, ends, stored)
    _write_mentions(connection, ends, stored)
    _resolve(connection, sources=[n for n, end in ends.items() if end.targets], names=touched)


def forget_names(connection: Connection, n: int) -> None:
    """Forget an item's names, so that no link in a text leads to it; its own links stay."""
    names = {row[0] for row in connection.rows("SELECT name FROM item_names WHERE item=?", (n,))}
    connection.run("DELETE FROM item_names WHERE item=?", (n,))
    _resolve(connection, sources=(), names=names)


def reconsider(connection: Connection, n: int) -> Callable[[], None]:
    """What looks up links to an item's names again when it was archived or restored, as live items take precedence."""
    found = connection.ahead(f"{_TEXT_LINK} AND l.name IN (SELECT name FROM item_names WHERE item=?)", (n,))
    return lambda: _redirect(connection, found())


def _write_mentions(connection: Connection, ends: Mapping[int, Ends], numbers: Sequence[int]) -> None:
    """Items name exactly these entities now; links that stay keep their rows."""
    sql = "SELECT source, target, id FROM links WHERE origin='mention' AND source IN (*)"
    stored = {(source, target): identity for source, target, identity in connection.rows_in(sql, numbers)}
    wanted = {(n, entity): title for n, end in ends.items() for entity, title in end.mentions if entity != n}
    connection.run_many("DELETE FROM links WHERE id=?", [(stored[key],) for key in stored.keys() - wanted.keys()])
    write_mentions(connection, [(*key, wanted[key]) for key in sorted(wanted.keys() - stored.keys())])


def write_mentions(connection: Connection, mentions: Iterable[tuple[int, int, str]]) -> None:
    """Link items with entities they name, ``(item, entity, title)``; what is gone is left out."""
    now = now_micros()
    connection.run_many(
        "INSERT INTO links(source, target, type, origin, text, name, created_at)"
        " SELECT s.n, e.n, 'mentions', 'mention', ?, e.id, ? FROM items e JOIN items s ON s.n=?"
        " WHERE e.n=? AND e.state<>'deleted' ON CONFLICT DO NOTHING",
        [(title, now, source, entity) for source, entity, title in mentions],
    )


def _set_mentions(connection: Connection, entity: int, title: str, sources: Collection[int]) -> None:
    """Note which items name an entity; those that were noted before and are not among them no longer do."""
    stored: dict[int, int] = dict(
        connection.rows("SELECT source, id FROM links WHERE target=? AND origin='mention'", (entity,))
    )
    connection.run_many("DELETE FROM links WHERE id=?", [(stored[n],) for n in stored.keys() - set(sources)])
    write_mentions(connection, [(n, entity, title) for n in sources if n not in stored and n != entity])


def _write_names(connection: Connection, ends: Mapping[int, Ends], numbers: Sequence[int]) -> set[str]:
    """Replace the names of items; returns every name of an item that changed any."""
    stored: dict[int, set[str]] = {n: set() for n in ends}
    for n, name in connection.rows_in("SELECT item, name FROM item_names WHERE item IN (*)", numbers):
        stored[n].add(name)
    touched: set[str] = set()
    gone: list[tuple[str, int]] = []
    new: list[tuple[str, int]] = []
    for n, end in ends.items():
        names = set(end.names)
        if names != stored[n]:
            touched |= names | stored[n]
            gone += [(name, n) for name in stored[n] - names]
            new += [(name, n) for name in names - stored[n]]
    connection.run_many("DELETE FROM item_names WHERE name=? AND item=?", gone)
    connection.insert("item_names", ("name", "item"), sorted(new))
    return touched


def _write_targets(connection: Connection, ends: Mapping[int, Ends], numbers: Sequence[int]) -> None:
    """Replace the links in texts; those that stay keep their rows."""
    rows = connection.rows_in("SELECT id, source, text, name FROM links WHERE origin='text' AND source IN (*)", numbers)
    stored = {tuple(key): identity for identity, *key in rows}
    wanted = {(n, target.text, target.name) for n, end in ends.items() for target in end.targets}
    connection.run_many("DELETE FROM links WHERE id=?", [(stored[key],) for key in stored.keys() - wanted])
    now = now_micros()
    connection.insert(
        "links",
        ("source", "text", "name", "type", "origin", "created_at"),
        [(*key, "mentions", "text", now) for key in sorted(wanted - stored.keys())],
    )


_TEXT_LINK = (
    "SELECT l.id, l.source, l.target, l.text, l.name, s.drive, s.path FROM links l JOIN items s ON s.n = l.source"
    " WHERE l.origin='text'"
)


def _resolve(connection: Connection, *, sources: Collection[int], names: Collection[str]) -> None:
    """Look up again what links mean: those of some items, and those that ask for some names."""
    found = connection.gather(
        lambda: connection.rows_in(f"{_TEXT_LINK} AND l.source IN (*)", list(sources)),
        lambda: connection.rows_in(f"{_TEXT_LINK} AND l.name IN (*)", list(names)),
    )
    _redirect(connection, list({row[0]: row for rows in found for row in rows}.values()))


def _redirect(connection: Connection, links: Sequence[Row]) -> None:
    """Let links lead to what they mean now."""
    connection.run_many("UPDATE links SET target=? WHERE id=?", _redirected(connection, links))


def count_astray(connection: Connection) -> int:
    """How many links in texts lead to a wrong item, or to none although there is one."""
    rows = connection.rows(f"{_TEXT_LINK} AND s.state <> 'deleted' ORDER BY l.name")
    return sum(len(_redirected(connection, rows[at : at + 5_000])) for at in range(0, len(rows), 5_000))


def _redirected(connection: Connection, rows: Collection[Row]) -> list[tuple[int | None, int]]:
    """The links, as ``_TEXT_LINK`` gives them, that mean another item now, with it."""
    candidates = _candidates(connection, {name for _, _, _, _, name, *_ in rows})
    meant: dict[tuple[str, str, str, str], int | None] = {}
    changed = []
    for identity, source, target, text, name, drive, path in rows:
        # Two links with the same words in the same folder mean the same item.
        key = (text, name, drive, posixpath.dirname(path))
        if key not in meant:
            ref = shown_ref(drive, path, source)
            meant[key] = best_candidate(LinkTarget(text, name), ref, candidates.get(name, ()))
        best = meant[key] if meant[key] != source else None
        if best != target:
            changed.append((best, identity))
    return changed


def _candidates(connection: Connection, names: Iterable[str]) -> dict[str, list[LinkCandidate]]:
    by_name: dict[str, list[LinkCandidate]] = {}
    for name, n, drive, path, title, state in connection.rows_in(
        "SELECT a.name, i.n, i.drive, i.path, i.title, i.state FROM item_names a JOIN items i ON i.n = a.item"
        " WHERE i.state <> 'deleted' AND a.name IN (*) ORDER BY i.n",
        list(names),
    ):
        existing = by_name.setdefault(name, [])
        if len(existing) < MOST_CANDIDATES:
            existing.append(LinkCandidate(n, shown_ref(drive, path, n), title, state == "live"))
    return by_name


_REPLACED_BY = {"corrects": "corrected_by", "supersedes": "superseded_by"}
_MAX_REPLACEMENTS = 100
_NEWEST = (
    "l.type IN ('corrects', 'supersedes') AND l.source <> l.target AND NOT EXISTS (SELECT 1 FROM links m"
    " JOIN items s ON s.n = m.source AND s.state <> 'deleted' WHERE m.target = l.target AND m.id > l.id"
    " AND m.type IN ('corrects', 'supersedes') AND m.source <> m.target)"
)
"""Condition: of the links that replace an item, ``l`` is the one that was made last."""


def replacements(connection: Connection, numbers: Sequence[int]) -> dict[int, Replacement]:
    """Find what replaced archived items: follow the newest replacement of each to one that was not replaced itself."""
    chains: dict[int, list[Replacement]] = {}
    ends: set[int] = set()
    for start, kind, n, state, drive, path in connection.rows_in(
        "WITH RECURSIVE later(start, n, type, depth) AS (SELECT l.target, l.source, l.type, 1 FROM links l"
        " JOIN items i ON i.n = l.target AND i.state = 'archived' JOIN items r ON r.n = l.source"
        f" WHERE l.target IN (*) AND r.state <> 'deleted' AND {_NEWEST} UNION ALL"
        " SELECT later.start, l.source, later.type, later.depth + 1 FROM later"
        " JOIN items i ON i.n = later.n AND i.state = 'archived' JOIN links l ON l.target = later.n"
        f" JOIN items r ON r.n = l.source WHERE r.state <> 'deleted' AND {_NEWEST}"
        f" AND later.depth < {_MAX_REPLACEMENTS})"
        " SELECT later.start, later.type, i.n, i.state, i.drive, i.path FROM later JOIN items i ON i.n = later.n"
        " ORDER BY later.depth",
        numbers,
    ):
        chain = chains.setdefault(start, [])
        if n in (start, *(later.n for later in chain)):  # two items that replaced each other
            ends.add(start)
        elif start not in ends:
            chain.append(Replacement(_REPLACED_BY[kind], n, str(shown_ref(drive, path, n)), state))
    return {start: chain[-1] for start, chain in chains.items() if chain}


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
            sql = "SELECT n, version FROM items WHERE state <> 'deleted' AND n IN (*)"
            current: dict[int, int] = dict(connection.rows_in(sql, [n for n, _, _ in batch]))
            update(connection, {n: ends for n, version, ends in batch if current.get(n) == version})
        looked_at += len(batch)
        last = batch[-1][0]


def _ends(connection: Connection, after: int) -> Iterator[tuple[int, int, Ends]]:
    """Number, version and ends of the items that follow one."""
    entities = entity_titles(connection)
    rows = connection.rows(_ITEM, (after, _BATCH))
    for n, drive, path, title, source_url, metadata, version, kind, mime_type in rows:
        ref = shown_ref(drive, path, n)
        speaks = kind in MENTIONING_KINDS
        content = content_of(connection, n, version).content if speaks or carries_links(mime_type) else ""
        names = names_of(ref, title, source_url, json.loads(metadata))
        mentions = mentioned(content, entities) if speaks else ()
        yield n, version, Ends(names, targets_in(content, ref, mime_type), mentions)


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
        stored = connection.rows(
            "SELECT n, drive, path, title, source_url, metadata FROM items WHERE state <> 'deleted'"
        )
        off = sum(
            named.pop(n, set()) != names_of(shown_ref(drive, path, n), title, source_url, json.loads(metadata))
            for n, drive, path, title, source_url, metadata in stored
        )
        if off or named:
            return f"{off + len(named)} items go by other names than they should"
        numbers = [row[0] for row in stored]
        for n in numbers[:: max(1, len(numbers) // _SAMPLE)]:
            _, _, ends = next(_ends(connection, n - 1))
            rows = connection.rows("SELECT text, name FROM links WHERE source=? AND origin='text'", (n,))
            if set(rows) != {(target.text, target.name) for target in ends.targets}:
                return "some links are not those in the texts"
        astray = count_astray(connection)
    return f"{astray} links do not lead to what they mean" if astray else None


_LINK = (
    "SELECT l.id, l.source, l.target, l.type, l.origin, l.text, l.name, l.created_at FROM links l"
    " JOIN items s ON s.n = l.source AND s.state <> 'deleted'"
    " LEFT JOIN items t ON t.n = l.target WHERE t.state IS DISTINCT FROM 'deleted' AND "
)


class Links(StorePart):
    """Links between the items of one store."""

    def add(self, source: int, target: int, type: str) -> bool:  # noqa: A002 - the domain's word
        with self._database.write(durable=True) as connection:
            return add(connection, source, target, type)

    def add_found(self, source: int, targets: Sequence[int]) -> None:
        """Note which items another one seems to contradict as they are now."""
        with self._database.write(durable=True) as connection:
            add_found(connection, source, targets)

    def add_many(self, source: int, relations: Sequence[tuple[str, int]]) -> int:
        """Link an item to several by hand; returns how many of the links are new."""
        with self._database.write(durable=True) as connection:
            return sum(add(connection, source, target, type_) for type_, target in relations if target != source)

    def remove(self, source: int, target: int, type: str | None = None) -> int:  # noqa: A002
        with self._database.write(durable=True) as connection:
            return remove(connection, source, target, type)

    def of(self, numbers: Sequence[int]) -> list[StoredLink]:
        """Links from and to some items, in the order they were made; an end in the bin hides a link."""
        with self._database.read() as connection:
            links = {
                row[0]: StoredLink(
                    source=row[1],
                    target=row[2],
                    type=row[3],
                    origin=row[4],
                    text=row[5],
                    name=row[6],
                    created_at=moment(row[7]),
                )
                for end in ("source", "target")
                for row in connection.rows_in(f"{_LINK} l.{end} IN (*)", numbers)
            }
        return [links[identity] for identity in sorted(links)]

    def replacement_of(self, n: int) -> Replacement | None:
        """The item that took the place of an archived one; see ``replacements``."""
        with self._database.read() as connection:
            return replacements(connection, [n]).get(n)

    def neighbours(self, numbers: Sequence[int], depth: int = 2) -> dict[int, int]:
        """Distances to all live items within ``depth`` links, whichever way they point; the given ones have 0."""
        with self._database.read() as connection:
            return neighbours(connection, numbers, depth)

    def relink(self) -> int:
        return relink(self._database)
