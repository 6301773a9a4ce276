"""What was spent on language models to find proposals, call by call."""

from __future__ import annotations

from datetime import datetime

from ricordo.store.sql.protocols import Database
from ricordo.store.sql.times import micros, now_micros
from ricordo.values.proposals import Spent

_TURN = "spending_turn"
_COSTS = ("calls", "input_tokens", "output_tokens", "dollars")


class Spending:
    """The calls that cost something."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def reserve(
        self, purpose: str, expected: Spent, *, since: datetime, tokens: int, dollars: float | None
    ) -> int | None:
        """One transaction, so that two processes cannot both take what is left."""
        with self._database.write(durable=True) as connection:
            connection.set_meta(_TURN, now_micros())  # others wait at this row until this one has reserved
            used, cost = connection.rows(
                "SELECT coalesce(sum(input_tokens + output_tokens), 0), coalesce(sum(dollars), 0) FROM spending"
                " WHERE purpose=? AND at>=?",
                (purpose, micros(since)),
            )[0]
            if used + expected.tokens > tokens:
                return None
            if dollars is not None and (expected.dollars is None or cost + expected.dollars > dollars):
                return None
            (number,) = connection.rows(
                "INSERT INTO spending(at, purpose, session, calls, input_tokens, output_tokens, dollars)"
                " VALUES(?,?,'',?,?,?,?) RETURNING id",
                (
                    now_micros(), purpose, expected.calls, expected.input_tokens, expected.output_tokens,
                    expected.dollars,
                ),
            )[0]  # fmt: skip
            return int(number)

    def settle(self, number: int, real: Spent) -> None:
        with self._database.write(durable=True) as connection:
            connection.run(
                "UPDATE spending SET calls=?, input_tokens=?, output_tokens=?, dollars=? WHERE id=?",
                (real.calls, real.input_tokens, real.output_tokens, real.dollars, number),
            )

    def add(self, spent: Spent, session: str = "") -> None:
        with self._database.write(durable=True) as connection:
            connection.insert(
                "spending",
                ("at", "purpose", "session", *_COSTS),
                [
                    (
                        now_micros(), spent.purpose, session, spent.calls, spent.input_tokens, spent.output_tokens,
                        spent.dollars,
                    )
                ],
            )  # fmt: skip

    def since(self, start: datetime) -> list[Spent]:
        with self._database.read() as connection:
            rows = connection.rows(
                "SELECT purpose, sum(calls), sum(input_tokens), sum(output_tokens), sum(dollars) FROM spending"
                " WHERE at>=? GROUP BY purpose ORDER BY purpose",
                (micros(start),),
            )
        return [
            Spent(purpose, int(calls), int(read), int(written), cost) for purpose, calls, read, written, cost in rows
        ]

    def has(self, purpose: str, session: str) -> bool:
        with self._database.read() as connection:
            return bool(
                connection.rows("SELECT 1 FROM spending WHERE purpose=? AND session=? LIMIT 1", (purpose, session))
            )
