"""Verdicts on items and what profiles learned from them. The caller decides how far weights are changed."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ricordo.store.sql.batches import in_parts
from ricordo.store.sql.protocols import Connection, Database
from ricordo.store.sql.times import moment, now_micros
from ricordo.store.sql.usage import writable
from ricordo.values.use import feedback_prior

if TYPE_CHECKING:
    from ricordo.values.use import Learned, Move, WeightChange

_CHANGE = "SELECT id, profile, at, reason, before, after, counted, shift_before, shift_after FROM weight_log "


class Lessons:
    """Feedback, the weight shifts in force, and the log of every change."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add_feedback(self, query: str, n: int, verdict: str, *, counted: bool) -> None:
        """Keep a verdict on an item; with ``counted`` the profiles learn from it."""
        with self._database.write(durable=True) as connection:
            connection.run(
                "INSERT INTO feedback(query, item, ref, verdict, counted, at)"
                " SELECT ?, n, drive || ':' || path, ?, ?, ? FROM items WHERE n = ?",
                (writable(query), verdict, counted, now_micros(), n),
            )

    def feedback_counts(self) -> dict[str, int]:
        """How often each verdict was given, whether it counted or not."""
        with self._database.read() as connection:
            return dict(connection.rows("SELECT verdict, count(*) FROM feedback GROUP BY verdict ORDER BY verdict"))

    def learned(self, profile: str) -> Learned:
        """What a profile has learned, and the verdicts that count for it."""
        with self._database.read() as connection:
            return _learned(connection, profile)

    def move_weights(self, profile: str, decide: Callable[[Learned], Move | None]) -> WeightChange | None:
        """Let ``decide`` look at what was learned; if it wants another shift, apply and log it."""
        if decide(self.learned(profile)) is None:
            return None  # most verdicts change no weights, and need no second transaction
        with self._database.write(durable=True) as connection:
            state = _learned(connection, profile)
            move = decide(state)
            if move is None:
                return None
            since = connection.rows("SELECT coalesce(max(id), 0) FROM feedback")[0][0] if move.restart else 0
            connection.run(
                "INSERT INTO learned(profile, shift, since) VALUES(?, 0, 0) ON CONFLICT DO NOTHING", (profile,)
            )
            connection.run(
                "UPDATE learned SET shift=?, since=CASE WHEN since > ? THEN since ELSE ? END WHERE profile=?",
                (move.shift, since, since, profile),
            )
            before, after = json.dumps(dict(move.before)), json.dumps(dict(move.after))
            (number,) = connection.rows(
                "INSERT INTO weight_log(profile, at, reason, before, after, shift_before, shift_after, counted)"
                " VALUES(?,?,?,?,?,?,?,?) RETURNING id",
                (profile, now_micros(), move.reason, before, after, state.shift, move.shift, move.counted),
            )
            return _change(connection.rows(f"{_CHANGE} WHERE id = ?", number)[0])

    def weight_changes(self, *, limit: int = 50) -> list[WeightChange]:
        """The latest changes of weights, the newest first."""
        with self._database.read() as connection:
            return [_change(row) for row in connection.rows(f"{_CHANGE} ORDER BY id DESC LIMIT ?", (limit,))]

    def weight_change(self, identity: int) -> WeightChange | None:
        """One change by its number."""
        with self._database.read() as connection:
            rows = connection.rows(f"{_CHANGE} WHERE id = ?", (identity,))
        return _change(rows[0]) if rows else None

    def learning_frozen(self) -> bool:
        """Whether this store's weights stay as they are, whatever verdicts come."""
        with self._database.read() as connection:
            return bool(connection.meta("learning_frozen"))

    def freeze_learning(self, frozen: bool) -> None:
        """Freeze the weights, or let them change again, for every process that uses the store."""
        with self._database.write(durable=True) as connection:
            connection.set_meta("learning_frozen", int(frozen))


def feedback_priors(connection: Connection, numbers: Sequence[int]) -> dict[int, float]:
    """What the verdicts on items say, in [0, 1]; 0.5 is no opinion. See ``use.feedback_prior``."""
    counts: dict[int, dict[str, int]] = {n: {} for n in numbers}
    for marks, part in in_parts(numbers):
        for n, verdict, count in connection.rows(
            f"SELECT item, verdict, count(*) FROM feedback WHERE item IN ({marks}) GROUP BY item, verdict", part
        ):
            counts[n][verdict] = count
    return {n: feedback_prior(given) for n, given in counts.items()}


def learned_shift(connection: Connection, profile: str) -> float:
    """How far the text weight of a profile was moved; 0 if nothing was learned."""
    rows = connection.rows("SELECT shift FROM learned WHERE profile = ?", (profile,))
    return float(rows[0][0]) if rows else 0.0


def _learned(connection: Connection, profile: str) -> Learned:
    from ricordo.values.use import Learned

    rows = connection.rows("SELECT shift, since FROM learned WHERE profile = ?", (profile,))
    shift, since = rows[0] if rows else (0.0, 0)
    verdicts: dict[str, int] = dict(
        connection.rows("SELECT verdict, count(*) FROM feedback WHERE counted AND id > ? GROUP BY verdict", (since,))
    )
    return Learned(profile, shift, verdicts)


def _change(row: tuple[Any, ...]) -> WeightChange:
    from ricordo.values.use import WeightChange

    identity, profile, at, reason, before, after, counted, shift_before, shift_after = row
    return WeightChange(
        identity, profile, moment(at), reason, json.loads(before), json.loads(after), counted, shift_before, shift_after
    )
