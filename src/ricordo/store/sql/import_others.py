"""Imports what refers to items: links, verdicts, what was learned, logs, folders.

The same file may be imported twice, so an entry of a log that was there before is not written again. Records of one
type are taken together: what is there already is read once for all of them, because over a network trips take most of
the time.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import Any, ClassVar

from ricordo.config.machine import Machine
from ricordo.exchange.records import ROWS, FoundRecord, Row, Rows
from ricordo.store.sql import machines
from ricordo.store.sql.batches import in_parts
from ricordo.store.sql.proposals import keep_rules, kept_rules
from ricordo.store.sql.protocols import Connection
from ricordo.store.sql.protocols import Row as Columns
from ricordo.store.sql.times import micros
from ricordo.values.review import WAITING, proposal_id

_MANUAL_LINKS = "SELECT count(*) FROM links WHERE origin <> 'text'"


class OtherRecords:
    """The records of one import that are not items."""

    def __init__(self, stands_for: Mapping[str, str], *, is_overwriting: bool) -> None:
        self._stands_for = stands_for
        """Ids of the file whose item has another id here."""
        self._is_overwriting = is_overwriting
        self._verdicts: list[int] = []
        """Where each verdict of the file is kept."""
        self._before: dict[str, int] = {}
        """The last entry of each log before this import."""

    def take(self, connection: Connection, batch: Sequence[Row]) -> Counter[str]:
        """Write records; returns how many of each type were new."""
        written: Counter[str] = Counter()
        for name, some in groupby(batch, key=lambda one: one.type):
            take = self._log if ROWS[name].known_by else self._TAKES[name].__get__(self)
            written[name] += take(connection, list(some))
        return written

    def _log(self, connection: Connection, records: Sequence[Row]) -> int:
        """Write the entries of a log that were not there before this import."""
        name, rows = records[0].type, ROWS[records[0].type]
        numbers = self._numbers(connection, (one[column] for one in records for column in rows.items))
        found = []
        for one in records:
            row = {column: _stored(column, value) for column, value in one.values.items() if column != "found"}
            if name == "audit":
                row["item"] = self._stands_for.get(one["item"], one["item"])
            row |= {column: numbers.get(one[column]) for column in rows.items}
            if name != "opening" or row["item"] is not None:
                found.append((one, row, tuple(row.get(column) for column in rows.known_by)))
        known = self._known(connection, rows.table, rows.known_by, [key for *_, key in found])
        new = [(one, row) for one, row, key in found if key not in known]
        made = self._numbered(connection, rows, [row for _, row in new])
        if name == "query":
            self._found(connection, {number: one["found"] for number, (one, _) in zip(made, new, strict=True)})
        if name == "feedback":
            fresh = iter(made)
            self._verdicts += [known[key] if key in known else next(fresh) for *_, key in found]
        return len(new)

    def _found(self, connection: Connection, found: Mapping[int, Sequence[FoundRecord]]) -> None:
        """Write what queries found."""
        numbers = self._numbers(connection, (one.item for some in found.values() for one in some))
        connection.insert(
            "retrieval_log",
            ("item", "ref", "version", "query", "score", "at", "asker"),
            [
                (numbers[one.item], one.ref, one.version, query, one.score, micros(one.at), "")
                for query, some in found.items()
                for one in some
                if one.item in numbers
            ],
        )

    def _numbers(self, connection: Connection, identities: Iterable[str | None]) -> dict[str | None, int]:
        """The items here that belong to items of the file, by their ids there."""
        wanted = {one for one in identities if one is not None}
        here: dict[str, int] = {}
        for marks, part in in_parts({self._stands_for.get(one, one) for one in wanted}):
            here |= {
                identity: n for n, identity in connection.rows(f"SELECT n, id FROM items WHERE id IN ({marks})", part)
            }
        found = {one: here.get(self._stands_for.get(one, one)) for one in wanted}
        return {one: n for one, n in found.items() if n is not None}

    def _known(
        self, connection: Connection, table: str, columns: Sequence[str], keys: Iterable[Columns]
    ) -> dict[Columns, int]:
        """Entries of a log that were there before this import, by these columns; the first of them is a time."""
        before = self._last_before(connection, table)
        wanted = set(keys)
        found: dict[Columns, int] = {}
        for marks, part in in_parts({key[0] for key in wanted} if before else ()):
            for identity, *key in connection.rows(
                f"SELECT id, {', '.join(columns)} FROM {table} WHERE id<=? AND {columns[0]} IN ({marks})",
                (before, *part),
            ):
                found[tuple(key)] = identity
        return {key: found[key] for key in wanted if key in found}

    def _last_before(self, connection: Connection, table: str) -> int:
        if table not in self._before:
            self._before[table] = connection.rows(f"SELECT coalesce(max(id), 0) FROM {table}")[0][0]
        return self._before[table]

    def _numbered(self, connection: Connection, rows: Rows, new: Sequence[Mapping[str, Any]]) -> list[int]:
        """Write entries of a log and return their numbers."""
        if not new:
            return []
        [(last,)] = connection.rows(f"SELECT coalesce(max(id), 0) FROM {rows.table}")
        connection.insert(rows.table, tuple(new[0]), [tuple(row.values()) for row in new])
        key = [name for name in rows.known_by if name in new[0]]
        numbers: dict[Columns, list[int]] = {}
        for identity, *said in connection.rows(
            f"SELECT id, {', '.join(key)} FROM {rows.table} WHERE id>? ORDER BY id DESC", (last,)
        ):
            numbers.setdefault(tuple(said), []).append(identity)
        return [numbers[tuple(row[name] for name in key)].pop() for row in new]

    def _links(self, connection: Connection, records: Sequence[Row]) -> int:
        numbers = self._numbers(connection, (end for one in records for end in (one["source"], one["target"])))
        rows: dict[str, list[Columns]] = {"''": [], "id": []}
        for one in records:
            source, target = numbers.get(one["source"]), numbers.get(one["target"])
            if source is not None and target is not None and source != target:
                row = (source, one["type"], one["origin"], one["text"], micros(one["created_at"]), target)
                rows["''" if one["origin"] == "manual" else "id"].append(row)
        [(before,)] = connection.rows(_MANUAL_LINKS)
        for name, some in rows.items():
            connection.run_many(
                "INSERT INTO links(source, target, type, origin, text, name, created_at)"
                f" SELECT ?, n, ?, ?, ?, {name}, ? FROM items WHERE n=? ON CONFLICT DO NOTHING",
                some,
            )
        [(after,)] = connection.rows(_MANUAL_LINKS)
        return int(after - before)

    def _learned(self, connection: Connection, records: Sequence[Row]) -> int:
        return sum(self._learn(connection, one) for one in records)

    def _learn(self, connection: Connection, record: Row) -> bool:
        since = max(self._verdicts[: record["since"]], default=0)
        learned = (record["profile"], record["shift"], since)
        connection.run("INSERT INTO learned(profile, shift, since) VALUES(?,?,?) ON CONFLICT DO NOTHING", learned)
        if connection.changes() or not self._is_overwriting:
            return bool(connection.changes())
        connection.run(
            "UPDATE learned SET shift=?, since=? WHERE profile=? AND (shift<>? OR since<>?)",
            (record["shift"], since, *learned),
        )
        return bool(connection.changes())

    def _roots(self, connection: Connection, records: Sequence[Row]) -> int:
        return sum(self._root(connection, one) for one in records)

    def _root(self, connection: Connection, record: Row) -> bool:
        name, _, machine = record["machine"].rpartition("#")
        connection.run(
            "INSERT INTO roots(machine, path, globs, added_at) VALUES(?,?,?,?) ON CONFLICT DO NOTHING",
            (
                machine or machines.refs_of(connection).home,
                record["path"],
                json.dumps(list(record["globs"])),
                micros(record["added_at"]),
            ),
        )
        is_new = bool(connection.changes())
        if machine and name:
            machines.note_name(connection, Machine(machine, name))
        return is_new

    def _freezes(self, connection: Connection, records: Sequence[Row]) -> int:
        return sum(connection.set_meta("learning_frozen", int(record["frozen"]), replace=False) for record in records)

    def _proposals(self, connection: Connection, records: Sequence[Row]) -> int:
        """Proposals that are new here; one that waits here and was decided there is decided."""
        names = ("text", "kind", "scope", "quote", "session", "turn", "way", "file", "branch", "state", "became")
        before = {
            identity for marks, part in in_parts(map(_identity, records))
            for (identity,) in connection.rows(f"SELECT id FROM proposals WHERE id IN ({marks})", part)
        }  # fmt: skip
        new = {identity: one for one in records if (identity := _identity(one)) not in before}
        rows = [(identity, micros(one["at"]), *(one[name] for name in names)) for identity, one in new.items()]
        connection.insert("proposals", ("id", "at", *names), rows)
        connection.run_many(
            "UPDATE proposals SET state=?, became=? WHERE id=? AND state=?",
            [
                (one["state"], one["became"], identity, WAITING)
                for one in records
                if (identity := _identity(one)) in before and one["state"] != WAITING
            ],
        )
        return len(new)

    def _proposal_rules(self, connection: Connection, records: Sequence[Row]) -> int:
        kept = kept_rules(connection)
        said = {one["name"]: one["rule"] for one in records if self._is_overwriting or one["name"] not in kept}
        new = {name: rule for name, rule in said.items() if kept.get(name) != rule}
        if new:
            keep_rules(connection, {**kept, **new})
        return len(new)

    _TAKES: ClassVar[Mapping[str, Callable[[OtherRecords, Connection, Any], int]]] = {
        "link": _links,
        "learned": _learned,
        "root": _roots,
        "freeze": _freezes,
        "proposal": _proposals,
        "proposal_rule": _proposal_rules,
    }


def _identity(one: Row) -> str:
    return proposal_id(one["session"], one["turn"], one["text"])


def _stored(name: str, value: Any) -> Any:
    """The value of a record's field as a column holds it; who asked or acted is empty for unknown."""
    if isinstance(value, datetime):
        return micros(value)
    if isinstance(value, tuple):
        return json.dumps(value)
    if isinstance(value, Mapping):
        return json.dumps(dict(value), ensure_ascii=False) if value or name not in ("asker", "provenance") else ""
    return value
