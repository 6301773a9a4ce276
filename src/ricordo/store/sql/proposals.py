"""Proposals, and what was decided about them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from ricordo.store.sql.database import Connection, Database, micros, moment
from ricordo.values.review import WAITING, Proposal

COLUMNS = ("id", "at", "state", "kind", "way", "text", "quote", "scope", "file", "session", "turn", "branch", "became")
_RULES = "proposal_rules"


class Proposals:
    """Keeps proposals. Those that were decided stay, so that they are not made again."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, found: Sequence[Proposal]) -> int:
        added = 0
        with self._database.write(durable=True) as connection:
            for one in found:
                connection.run(
                    f"INSERT INTO proposals({', '.join(COLUMNS)}) VALUES({', '.join('?' * len(COLUMNS))})"
                    " ON CONFLICT DO NOTHING",
                    (
                        one.id, micros(one.at), one.state, one.kind, one.way, one.text, one.quote, one.scope, one.file,
                        one.session, one.turn, one.branch, "",
                    ),
                )  # fmt: skip
                added += connection.changes()
        return added

    def listing(self, state: str | None = None, session: str | None = None) -> list[Proposal]:
        conditions, values = ["1=1"], []
        for column, value in (("state", state), ("session", session)):
            if value is not None:
                conditions.append(f"{column}=?")
                values.append(value)
        with self._database.read() as connection:
            rows = connection.rows(
                f"SELECT {', '.join(COLUMNS)} FROM proposals WHERE {' AND '.join(conditions)}"
                " ORDER BY at, session, turn, id",
                values,
            )
        return [_proposal(row) for row in rows]

    def get(self, identity: str) -> Proposal | None:
        with self._database.read() as connection:
            rows = connection.rows(f"SELECT {', '.join(COLUMNS)} FROM proposals WHERE id=?", (identity,))
        return _proposal(rows[0]) if rows else None

    def decide(self, identity: str, state: str, became: str = "") -> bool:
        with self._database.write(durable=True) as connection:
            connection.run(
                "UPDATE proposals SET state=?, became=? WHERE id=? AND state=?", (state, became, identity, WAITING)
            )
            return bool(connection.changes())

    def ask_again(self, identity: str) -> bool:
        with self._database.write(durable=True) as connection:
            connection.run(
                "UPDATE proposals SET state=?, became='' WHERE id=? AND state<>?", (WAITING, identity, WAITING)
            )
            return bool(connection.changes())

    def rules(self) -> Mapping[str, str]:
        with self._database.read() as connection:
            return kept_rules(connection)

    def set_rule(self, name: str, rule: str) -> None:
        with self._database.write(durable=True) as connection:
            rules = {**kept_rules(connection), name: rule}
            keep_rules(connection, {name: rule for name, rule in rules.items() if rule})


def kept_rules(connection: Connection) -> dict[str, str]:
    """What the user said about whole kinds of proposals."""
    return dict(json.loads(str(connection.meta(_RULES) or "{}")))


def keep_rules(connection: Connection, rules: Mapping[str, str]) -> None:
    """Note what the user said about whole kinds of proposals."""
    connection.set_meta(_RULES, json.dumps(dict(rules)))


def _proposal(row: Sequence[object]) -> Proposal:
    _, at, state, kind, way, text, quote, scope, file, session, turn, branch, became = row
    return Proposal(text, kind, scope, quote, session, turn, moment(at), way, file, branch, state, became)  # type: ignore[arg-type]
