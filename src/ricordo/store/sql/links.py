"""Links between items: the tables ``links`` and ``item_names``, and the distances they span.

A manual link holds both ends. A link from a text holds the target's name. The item with that name is looked up when the
text is saved, and again whenever an item with such a name is added, removed or renamed.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from ricordo.frozen import frozen
from ricordo.store.sql import steps
from ricordo.store.sql.batches import in_parts
from ricordo.store.sql.protocols import Connection
from ricordo.store.sql.times import now_micros
from ricordo.store.values import PreparedItem
from ricordo.text.links import LinkCandidate, LinkTarget, best_candidate, names_of
from ricordo.values.items import Fields, Ref

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


def add(connection: Connection, source: int, target: int, type_: str) -> bool:
    """Link two items by hand; returns whether the link is new."""
    connection.run(
        "INSERT INTO links(source, target, type, origin, text, name, created_at)"
        " VALUES(?,?,?,'manual','','',?) ON CONFLICT DO NOTHING",
        (source, target, type_, now_micros()),
    )
    is_new = bool(connection.changes())
    if is_new:
        steps.note_link(connection, source, target, type_, added=True)
    return is_new


def remove(connection: Connection, source: int, target: int, type_: str | None) -> int:
    """Remove links by hand between two items, of one type or of all; returns how many there were."""
    removed = connection.rows(
        "DELETE FROM links WHERE source=? AND target=? AND origin='manual' AND type=coalesce(?, type) RETURNING type",
        (source, target, type_),
    )
    for (one,) in removed:
        steps.note_link(connection, source, target, one, added=False)
    return len(removed)


def neighbours(connection: Connection, numbers: Sequence[int], depth: int) -> dict[int, int]:
    """Items within ``depth`` links of the given ones, whichever way the links point, with their distances."""

    def reach(frontier: Collection[int]) -> set[int]:
        reached: set[int] = set()
        for marks, part in in_parts(frontier):
            rows = connection.rows(
                f"SELECT l.target FROM links l JOIN items i ON i.n = l.target AND i.state = 'live'"
                f" WHERE l.source IN ({marks}) UNION SELECT l.source FROM links l"
                f" JOIN items i ON i.n = l.source AND i.state = 'live' WHERE l.target IN ({marks})",
                (*part, *part),
            )
            reached.update(row[0] for row in rows)
        return reached

    return walk(numbers, depth, reach)


def walk(numbers: Sequence[int], depth: int, reach: Callable[[Collection[int]], set[int]]) -> dict[int, int]:
    """Items within ``depth`` steps of the given ones; ``reach`` answers where one step from some items leads."""
    found = dict.fromkeys(numbers, 0)
    frontier: Collection[int] = list(found)
    for distance in range(1, depth + 1):
        reached = reach(frontier)
        frontier = sorted(reached.difference(found))[: max(0, MOST_NEIGHBOURS + len(numbers) - len(found))]
        found |= dict.fromkeys(frontier, distance)
        if not frontier:
            break
    return found


def names(ref: Ref, fields: Fields) -> set[str]:
    """The names an item goes by."""
    return names_of(ref, fields.title, fields.source_url, fields.metadata)


def update_saved(connection: Connection, written: Iterable[tuple[str, PreparedItem]]) -> None:
    """Bring the links in line with items that were just written, named by their ids."""
    items = dict(written)
    ends: dict[int, Ends] = {}
    for marks, part in in_parts(items):
        for n, identity, version in connection.rows(f"SELECT n, id, version FROM items WHERE id IN ({marks})", part):
            draft = items[identity].draft
            ends[n] = Ends(
                names(draft.ref, draft.fields), items[identity].links, items[identity].mentions, is_new=version == 1
            )
    update(connection, ends)


def update(connection: Connection, ends: Mapping[int, Ends]) -> None:
    """Write names and targets of items, then look up what their links, and links to them, mean."""
    touched = _write_names(connection, ends)
    has_links = _write_targets(connection, ends)
    _replace_mentions(connection, ends)
    _resolve(connection, sources=has_links, names=touched)


def _stored(ends: Mapping[int, Ends]) -> list[int]:
    """The items of which names and links may be stored."""
    return [n for n, end in ends.items() if not end.is_new]


def forget_names(connection: Connection, n: int) -> None:
    """Forget an item's names, so that no link in a text leads to it; its own links stay."""
    names = {row[0] for row in connection.rows("SELECT name FROM item_names WHERE item=?", (n,))}
    connection.run("DELETE FROM item_names WHERE item=?", (n,))
    _resolve(connection, sources=(), names=names)


def reconsider(connection: Connection, n: int) -> None:
    """Look up links to an item's names again, because it was archived or restored, and live items take precedence."""
    names = [row[0] for row in connection.rows("SELECT name FROM item_names WHERE item=?", (n,))]
    _resolve(connection, sources=(), names=names)


def _replace_mentions(connection: Connection, ends: Mapping[int, Ends]) -> None:
    """Items name exactly these entities now; links that stay keep their rows."""
    stored: dict[tuple[int, int], int] = {}
    for marks, part in in_parts(_stored(ends)):
        rows = connection.rows(
            f"SELECT source, target, id FROM links WHERE source IN ({marks}) AND origin='mention'", part
        )
        stored |= {(source, target): identity for source, target, identity in rows}
    wanted = {(n, entity): title for n, end in ends.items() for entity, title in end.mentions if entity != n}
    connection.run_many("DELETE FROM links WHERE id=?", [(stored[key],) for key in stored.keys() - wanted.keys()])
    write_mentions(connection, [(*key, wanted[key]) for key in sorted(wanted.keys() - stored.keys())])


def write_mentions(connection: Connection, found: Iterable[tuple[int, int, str]]) -> None:
    """Link items with entities they name, ``(item, entity, title)``; an entity that is gone is left out."""
    now = now_micros()
    connection.run_many(
        "INSERT INTO links(source, target, type, origin, text, name, created_at)"
        " SELECT ?, n, 'mentions', 'mention', ?, id, ? FROM items WHERE n=? AND state<>'deleted'"
        " ON CONFLICT DO NOTHING",
        [(source, title, now, entity) for source, entity, title in found],
    )


def _write_names(connection: Connection, ends: Mapping[int, Ends]) -> set[str]:
    """Replace the names of items; returns every name of an item that changed any."""
    stored: dict[int, set[str]] = {n: set() for n in ends}
    for marks, part in in_parts(_stored(ends)):
        for n, name in connection.rows(f"SELECT item, name FROM item_names WHERE item IN ({marks})", part):
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


def _write_targets(connection: Connection, ends: Mapping[int, Ends]) -> list[int]:
    """Replace the links in texts, those that stay keep their rows; returns the items that have any."""
    stored: dict[tuple[int, str, str], int] = {}
    for marks, part in in_parts(_stored(ends)):
        rows = connection.rows(
            f"SELECT source, text, name, id FROM links WHERE source IN ({marks}) AND origin='text'", part
        )
        stored |= {(source, text, name): identity for source, text, name, identity in rows}
    wanted = {(n, target.text, target.name) for n, end in ends.items() for target in end.targets}
    connection.run_many("DELETE FROM links WHERE id=?", [(stored[key],) for key in stored.keys() - wanted])
    now = now_micros()
    connection.insert(
        "links",
        ("source", "text", "name", "type", "origin", "created_at"),
        [(*key, "mentions", "text", now) for key in sorted(wanted - stored.keys())],
    )
    return [n for n, end in ends.items() if end.targets]


def _resolve(connection: Connection, *, sources: Iterable[int], names: Iterable[str]) -> None:
    """Look up again what links mean: those of some items, and those that ask for some names."""
    found: dict[int, tuple[int, int | None, LinkTarget, Ref]] = {}
    for column, values in (("l.source", sources), ("l.name", names)):
        for marks, part in in_parts(values):
            for identity, source, target, text, name, drive, path in connection.rows(
                "SELECT l.id, l.source, l.target, l.text, l.name, s.drive, s.path FROM links l"
                f" JOIN items s ON s.n = l.source WHERE l.origin='text' AND {column} IN ({marks})",
                part,
            ):
                found[identity] = source, target, LinkTarget(text, name), Ref(drive, path)
    connection.run_many("UPDATE links SET target=? WHERE id=?", _redirected(connection, found))


def count_astray(connection: Connection) -> int:
    """How many links in texts lead to a wrong item, or to none although there is one."""
    rows = connection.rows(
        "SELECT l.id, l.source, l.target, l.text, l.name, s.drive, s.path FROM links l JOIN items s ON s.n = l.source"
        " WHERE l.origin='text' AND s.state <> 'deleted' ORDER BY l.name"
    )
    astray = 0
    for at in range(0, len(rows), 5_000):
        part = {
            identity: (source, target, LinkTarget(text, name), Ref(drive, path))
            for identity, source, target, text, name, drive, path in rows[at : at + 5_000]
        }
        astray += len(_redirected(connection, part))
    return astray


def _redirected(
    connection: Connection, found: Mapping[int, tuple[int, int | None, LinkTarget, Ref]]
) -> list[tuple[int | None, int]]:
    """The links ``{id: (source, target, what is wanted, ref of the source)}`` that mean another item now, with it."""
    candidates = _candidates(connection, {link[2].name for link in found.values()})
    meant: dict[tuple[LinkTarget, str, str], int | None] = {}
    changed = []
    for identity, (source, target, wanted, ref) in found.items():
        # Two links with the same words in the same folder mean the same item.
        key = (wanted, ref.drive, posixpath.dirname(ref.path))
        if key not in meant:
            meant[key] = best_candidate(wanted, ref, candidates.get(wanted.name, ()))
        best = meant[key] if meant[key] != source else None
        if best != target:
            changed.append((best, identity))
    return changed


def _candidates(connection: Connection, names: Iterable[str]) -> dict[str, list[LinkCandidate]]:
    found: dict[str, list[LinkCandidate]] = {}
    for marks, part in in_parts(names):
        for name, n, drive, path, title, state in connection.rows(
            "SELECT a.name, i.n, i.drive, i.path, i.title, i.state FROM item_names a JOIN items i ON i.n = a.item"
            f" WHERE a.name IN ({marks}) AND i.state <> 'deleted' ORDER BY i.n",
            part,
        ):
            known = found.setdefault(name, [])
            if len(known) < MOST_CANDIDATES:
                known.append(LinkCandidate(n, Ref(drive, path), title, state == "live"))
    return found
