"""Undoes steps: puts every item that a step changed back as it was before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ricordo.errors import Conflict, Error, NotFound
from ricordo.steps import current_step
from ricordo.store.sql import items, links
from ricordo.store.sql.changes import Changes
from ricordo.store.sql.database import Connection, Database, NewChunk, Row, StorePart, moment
from ricordo.store.values import Backlog, PreparedItem
from ricordo.values.items import Saved
from ricordo.values.log import MOST_NAMED, Step, StepItem, step_words
from ricordo.values.provenance import read

_STEP = (
    "SELECT s.id, s.at, s.verb, s.provenance, s.undone, s.erased,"
    " (SELECT count(*) FROM step_items i WHERE i.step = s.id), (SELECT count(*) FROM step_links l WHERE l.step = s.id)"
    " FROM steps s"
)
_IS_LEFT = (
    "(s.erased > 0 OR EXISTS (SELECT 1 FROM step_items i WHERE i.step = s.id)"
    " OR EXISTS (SELECT 1 FROM step_links l WHERE l.step = s.id))"
)
"""Something is known of the step: what it changed was not erased since."""
_ITEMS = "SELECT item, version, state, new_version, new_state, vouched, provenance FROM step_items WHERE step=?"


class Steps(StorePart):
    """The steps of one store."""

    def __init__(self, database: Database, changes: Changes) -> None:
        super().__init__(database)
        self._changes = changes

    def newest(self, limit: int) -> list[Step]:
        with self._database.read() as connection:
            rows = connection.rows(f"{_STEP} WHERE {_IS_LEFT} ORDER BY s.at DESC, s.id LIMIT ?", (limit,))
            return [_step(connection, row) for row in rows]

    def get(self, identity: str) -> Step | None:
        with self._database.read() as connection:
            rows = connection.rows(f"{_STEP} WHERE s.id=?", (identity,))
            return _step(connection, rows[0]) if rows else None

    def items(self, identity: str) -> list[StepItem]:
        """What a step changed, without what was erased since: first what it made, so that its refs become free."""
        with self._database.read() as connection:
            rows = connection.rows(f"{_ITEMS} ORDER BY version <> 0, item", (identity,))
        return [StepItem(*row) for row in rows]

    def put_back(
        self,
        identity: str,
        items: Sequence[StepItem],
        prepared: Mapping[int, PreparedItem],
        *,
        backlog: Backlog | None = None,
    ) -> list[Saved]:
        """Undo a step in one transaction. ``prepared`` are the earlier versions of the items that had one.

        What was changed since, and what may not be changed, stays as it is and says why.
        """

        def write() -> list[Saved]:
            texts = list(prepared.values())
            with self._changes.writing(texts, durable=True, backlog=backlog) as (connection, placed, fresh):
                earlier = dict(zip(prepared, placed, strict=True))
                answers = []
                for item in items:
                    try:
                        saved, chunks = self._put_back_item(connection, item, earlier.get(item.n))
                    except Error as error:
                        saved, chunks = Saved(_ref(connection, item.n), "skipped", reason=str(error)), []
                    else:
                        _note_same_again(connection, item)
                    answers.append(saved)
                    fresh.extend(chunks)
                has_links = _put_links_back(connection, identity)
                if has_links or any(answer.status != "skipped" for answer in answers):
                    _mark(connection, identity)
            return answers

        return self._changes.tried_again(write)

    def _put_back_item(
        self, connection: Connection, item: StepItem, earlier: PreparedItem | None
    ) -> tuple[Saved, list[NewChunk]]:
        if not connection.rows("SELECT 1 FROM items WHERE n=?", (item.n,)):
            raise NotFound("it was erased since")
        head = items.head_of(connection, item.n)
        ref = head.ref
        if (head.version, head.state) != (item.new_version, item.new_state):
            raise Conflict("it was changed since", hint=f"‹:history {ref}› shows its versions.")
        if item.state in ("", "deleted"):
            connection.run(
                "UPDATE proposals SET state='waiting', became='' WHERE state='accepted' AND became=?", (ref,)
            )  # what was accepted as this memory waits again
            return self._changes.bin_item(connection, item.n, ref), []
        chunks: list[NewChunk] = []
        if head.state == "deleted" or (item.version, item.state) != (head.version, head.state):
            if item.state == "live" or head.state == "deleted":
                if earlier is None:
                    raise NotFound("its earlier version is no longer kept")
                items.refuse_immutable(head)
                chunks = self._changes.rewrite_item(connection, head, earlier)
                _keep_author(connection, item)
            if item.state == "archived":
                self._changes.archive_item(connection, item.n)
        if item.provenance is not None:
            connection.run(
                "UPDATE items SET vouched=?, provenance=? WHERE n=?", (item.vouched, item.provenance, item.n)
            )
            connection.run("UPDATE knowledge_files SET mark='' WHERE item=?", (item.n,))
            connection.touched.add(item.n)
        return Saved(_ref(connection, item.n), "archived" if item.state == "archived" else "restored"), chunks


def _keep_author(connection: Connection, item: StepItem) -> None:
    """Who takes a step back has not written the text that is there again."""
    rows = connection.rows("SELECT provenance FROM versions WHERE item=? AND number=?", (item.n, item.version))
    for (provenance,) in rows:
        connection.run("UPDATE items SET provenance=? WHERE n=?", (provenance, item.n))
        connection.run(
            "UPDATE versions SET provenance=? WHERE item=? AND number=(SELECT version FROM items WHERE n=?)",
            (provenance, item.n, item.n),
        )


def _ref(connection: Connection, n: int) -> str:
    rows = connection.rows("SELECT drive || ':' || path FROM items WHERE n=?", (n,))
    return str(rows[0][0]) if rows else ""


def _step(connection: Connection, row: Row) -> Step:
    identity, at, verb, provenance, undone, erased, items, linked = row
    refs = tuple(
        ref
        for (ref,) in connection.rows(
            "SELECT i.drive || ':' || i.path FROM step_items s JOIN items i ON i.n = s.item WHERE s.step=?"
            f" ORDER BY s.item LIMIT {MOST_NAMED}",
            (identity,),
        )
    )
    words = step_words(verb, refs, items=items, links=linked, erased=erased)
    return Step(
        id=identity,
        at=moment(at),
        verb=verb,
        words=words,
        changes=items + linked,
        provenance=read(provenance),
        refs=refs,
        is_undone=bool(undone),
        erased=erased,
    )


def _note_same_again(connection: Connection, item: StepItem) -> None:
    """An item is again what it was before a step: the step before that one can be undone, too."""
    connection.run(
        "UPDATE step_items SET new_version=(SELECT version FROM items WHERE n=?) WHERE item=? AND new_version=?"
        " AND new_state=?",
        (item.n, item.n, item.version, item.state),
    )


def _put_links_back(connection: Connection, identity: str) -> bool:
    """Remove links that a step made, and make those that it removed, where both ends are still there; returns whether
    there were any.
    """
    made = connection.rows("SELECT source, target, type, added FROM step_links WHERE step=?", (identity,))
    ends = {end for source, target, _, _ in made for end in (source, target)}
    there = {n for (n,) in connection.rows_in("SELECT n FROM items WHERE n IN (*)", sorted(ends))}
    for source, target, type_, added in made:
        if added:
            links.remove(connection, source, target, type_)
        elif source in there and target in there:
            links.add(connection, source, target, type_)
    return bool(made)


def _mark(connection: Connection, identity: str) -> None:
    """Write down that a step is undone; one that it had undone itself holds again."""
    by = current_step()
    connection.run("UPDATE steps SET undone='' WHERE undone=?", (identity,))
    connection.run("UPDATE steps SET undone=? WHERE id=?", (by.id if by is not None else "by hand", identity))
