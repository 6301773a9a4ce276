"""Proposals, and what was decided about them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from ricordo.store.sql.database import Connection, Row, StorePart, all_of, marks, micros, moment
from ricordo.store.tables import column_names
from ricordo.values.log import ACCEPTED, WAITING, Proposal

COLUMNS = column_names("proposals")
_SELECT = f"SELECT {', '.join(COLUMNS)} FROM proposals"
_RULES = "proposal_rules"


class Proposals(StorePart):
    """Keeps proposals. Those that were decided stay, so that they are not made again."""

    def add(self, proposals: Sequence[Proposal]) -> int:
        added = 0
        with self._database.write(durable=True) as connection:
            for proposal in proposals:
                row = [micros(proposal.at) if name == "at" else getattr(proposal, name) for name in COLUMNS]
                connection.run(
                    f"INSERT INTO proposals({', '.join(COLUMNS)}) VALUES({marks(COLUMNS)}) ON CONFLICT DO NOTHING", row
                )
                added += connection.changes()
        return added

    def listing(self, state: str | None = None, session: str | None = None) -> list[Proposal]:
        condition, values = all_of(("state=?", state), ("session=?", session))
        with self._database.read() as connection:
            rows = connection.rows(f"{_SELECT} WHERE {condition} ORDER BY at, session, turn, id", values)
        return [_proposal(row) for row in rows]

    def count(self, state: str) -> int:
        with self._database.read() as connection:
            return int(connection.rows("SELECT count(*) FROM proposals WHERE state=?", (state,))[0][0])

    def get(self, identity: str) -> Proposal | None:
        with self._database.read() as connection:
            rows = connection.rows(f"{_SELECT} WHERE id=?", (identity,))
        return _proposal(rows[0]) if rows else None

    def decide(self, identity: str, state: str, became: str = "") -> bool:
        with self._database.write(durable=True) as connection:
            connection.run(
                "UPDATE proposals SET state=?, became=? WHERE id=? AND state=?", (state, became, identity, WAITING)
            )
            return bool(connection.changes())

    def ask_about_me_again(self, memories: Sequence[str]) -> None:
        """Let proposals about the user wait again whose acceptance as one of these memories, elsewhere, was undone."""
        with self._database.write(durable=True) as connection:
            connection.run_many(
                "UPDATE proposals SET state=?, became='' WHERE state=? AND scope='user' AND became=?",
                [(WAITING, ACCEPTED, ref) for ref in memories],
            )

    def ask_again(self, identity: str) -> bool:
        with self._database.write(durable=True) as connection:
            connection.run(
                "UPDATE proposals SET state=?, became='' WHERE id=? AND state<>?", (WAITING, identity, WAITING)
            )
            return bool(connection.changes())

    def rules(self) -> Mapping[str, str]:
        with self._database.read() as connection:
            return proposal_rules(connection)

    def set_rule(self, name: str, rule: str) -> None:
        with self._database.write(durable=True) as connection:
            rules = {**proposal_rules(connection), name: rule}
            keep_rules(connection, {name: rule for name, rule in rules.items() if rule})


def proposal_rules(connection: Connection) -> dict[str, str]:
    """What the user said about whole kinds of proposals."""
    return dict(json.loads(str(connection.meta(_RULES) or "{}")))


def keep_rules(connection: Connection, rules: Mapping[str, str]) -> None:
    """Note what the user said about whole kinds of proposals."""
    connection.set_meta(_RULES, json.dumps(dict(rules)))


def _proposal(row: Row) -> Proposal:
    values = dict(zip(COLUMNS, row, strict=True))
    del values["id"]
    return Proposal(**values | {"at": moment(values["at"])})
