"""Notes at every write what an item was before, as long as a step is being taken, so that it can be undone.

Steps end after some weeks, and the oldest go when there are many. An item that is erased takes its rows with it, so
that nothing here tells what it was called.
"""

from __future__ import annotations

from ricordo import speaking
from ricordo.steps import CurrentStep, current_step
from ricordo.store.sql.batches import marks
from ricordo.store.sql.protocols import Connection
from ricordo.store.sql.times import DAY, now_micros
from ricordo.values.provenance import stored

MOST_STEPS = 1000
KEPT_DAYS = 30
NEW = (0, "")
_COLUMNS = ("step", "item", "version", "state", "new_version", "new_state")


def note(connection: Connection, n: int, before: tuple[int, str], after: tuple[int, str]) -> None:
    """Note the version and the state of an item before and after a change; before, a new one was ``NEW``."""
    step = _begun(connection)
    if step is None:
        return
    if before == NEW:
        connection.insert("step_items", _COLUMNS, [(step.id, n, *before, *after)])
        return
    connection.run(
        f"INSERT INTO step_items({', '.join(_COLUMNS)}) VALUES({marks(_COLUMNS)}) ON CONFLICT DO NOTHING",
        (step.id, n, *before, *after),
    )
    connection.run("UPDATE step_items SET new_version=?, new_state=? WHERE step=? AND item=?", (*after, step.id, n))


def note_said(connection: Connection, n: int) -> None:
    """Note whose words an item is before that changes without a new version."""
    step = _begun(connection)
    if step is not None:
        connection.run(
            "INSERT INTO step_items(step, item, version, state, new_version, new_state, vouched, provenance)"
            " SELECT ?, n, version, state, version, state, vouched, provenance FROM items WHERE n=?"
            " ON CONFLICT DO NOTHING",
            (step.id, n),
        )


def note_link(connection: Connection, source: int, target: int, type_: str, *, added: bool) -> None:
    """Note a link by hand that was made or removed."""
    step = _begun(connection)
    if step is not None:
        connection.run(
            "INSERT INTO step_links(step, source, target, type, added) VALUES(?,?,?,?,?) ON CONFLICT DO NOTHING",
            (step.id, source, target, type_, int(added)),
        )


def note_erased(connection: Connection) -> None:
    """Count an item that is erased, which nothing brings back."""
    step = _begun(connection)
    if step is not None:
        connection.run("UPDATE steps SET erased=erased+1 WHERE id=?", (step.id,))


def _begun(connection: Connection) -> CurrentStep | None:
    """The step that is being taken; a transaction writes it down once, so that many new items go in one batch."""
    step = current_step()
    if step is None or connection.step == step.id:
        return step
    connection.step = step.id
    now = now_micros()
    connection.run(
        "DELETE FROM steps WHERE at < ? OR at < (SELECT at FROM steps ORDER BY at DESC LIMIT 1 OFFSET ?)",
        (now - KEPT_DAYS * DAY, MOST_STEPS - 2),  # one more comes now
    )
    connection.run(
        "INSERT INTO steps(id, at, verb, provenance, undone, erased) VALUES(?,?,?,?,'',0) ON CONFLICT DO NOTHING",
        (step.id, now, step.verb, stored(speaking.speaker())),
    )
    return step
