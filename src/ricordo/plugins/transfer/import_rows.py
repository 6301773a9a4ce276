"""Writes the records of an export that refer to items: links, verdicts, logs, what was learned and decided.

Records about an item that was skipped, or got another id, are written for the item that is here in its place.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import TYPE_CHECKING, Any

from ricordo.plugins.transfer.export_file import ROWS, FoundRecord, Row, Rows
from ricordo.store.sql import files
from ricordo.store.sql.database import Connection, micros
from ricordo.store.sql.database import Row as Columns
from ricordo.store.sql.item_records import ItemImporter
from ricordo.store.sql.proposals import COLUMNS, keep_rules, proposal_rules
from ricordo.store.tables import column_names
from ricordo.store.values import Backlog
from ricordo.values.review import WAITING, proposal_id

if TYPE_CHECKING:
    from ricordo.store.base import OpenStore

_MANUAL_LINKS = "SELECT count(*) FROM links WHERE origin <> 'text'"


def _stored(name: str, value: Any) -> Any:
    """The value of a record's field as a column holds it; who asked or acted is empty for unknown."""
    if isinstance(value, datetime):
        return micros(value)
    if isinstance(value, tuple):
        return json.dumps(value)
    if isinstance(value, Mapping):
        return json.dumps(dict(value), ensure_ascii=False) if value or name not in ("asker", "provenance") else ""
    return value


class Importer(ItemImporter):
    """One import into one store."""

    def __init__(self, opened: OpenStore, on_conflict: str, backlog: Backlog | None) -> None:
        super().__init__(opened, on_conflict, backlog)
        self._verdicts: list[int] = []
        """Where each verdict of the file is stored."""
        self._before: dict[str, int] = {}
        """The last entry of each log before this import."""

    def others(self, batch: Sequence[Row]) -> Counter[str]:
        """Write what refers to items; returns how many of each type were new."""
        written: Counter[str] = Counter()
        with self.database.write(durable=True) as connection:
            for name, some in groupby(batch, key=lambda record: record.type):
                write = self._log if ROWS[name].known_by else getattr(self, f"_{name}")
                written[name] += write(connection, list(some))
        return written

    def _log(self, connection: Connection, records: Sequence[Row]) -> int:
        """Write the entries of a log that were not there before this import."""
        name, rows = records[0].type, ROWS[records[0].type]
        numbers = self._numbers(connection, (record[column] for record in records for column in rows.items))
        keyed = []
        for record in records:
            row = {column: _stored(column, value) for column, value in record.values.items() if column != "found"}
            if name == "audit":
                row["item"] = self.stands_for.get(record["item"], record["item"])
            row |= {column: numbers.get(record[column]) for column in rows.items}
            if name != "opening" or row["item"] is not None:
                keyed.append((record, row, tuple(row.get(column) for column in rows.known_by)))
        stored = self._stored_entries(connection, rows.table, rows.known_by, [key for *_, key in keyed])
        new = [(record, row) for record, row, key in keyed if key not in stored]
        made = self._numbered(connection, rows, [row for _, row in new])
        if name == "query":
            self._insert_hits(
                connection, {number: record["found"] for number, (record, _) in zip(made, new, strict=True)}
            )
        if name == "feedback":
            fresh = iter(made)
            self._verdicts += [stored[key] if key in stored else next(fresh) for *_, key in keyed]
        return len(new)

    def _insert_hits(self, connection: Connection, hits_of: Mapping[int, Sequence[FoundRecord]]) -> None:
        numbers = self._numbers(connection, (hit.item for some in hits_of.values() for hit in some))
        connection.insert(
            "retrieval_log",
            column_names("retrieval_log"),
            [
                (numbers[hit.item], hit.ref, hit.version, query, hit.score, micros(hit.at), "")
                for query, some in hits_of.items()
                for hit in some
                if hit.item in numbers
            ],
        )

    def _numbers(self, connection: Connection, identities: Iterable[str | None]) -> dict[str | None, int]:
        """The items here that belong to items of the file, by their ids there."""
        own = {i: self.stands_for.get(i, i) for i in identities if i is not None}
        rows = connection.rows_in("SELECT id, n FROM items WHERE id IN (*)", sorted(set(own.values())))
        here: dict[str, int] = dict(rows)
        return {i: here[identity] for i, identity in own.items() if identity in here}

    def _stored_entries(
        self, connection: Connection, table: str, columns: Sequence[str], keys: Iterable[Columns]
    ) -> dict[Columns, int]:
        """Entries of a log that were there before this import, by these columns; the first of them is a time."""
        if table not in self._before:
            self._before[table] = connection.rows(f"SELECT coalesce(max(id), 0) FROM {table}")[0][0]
        before, wanted = self._before[table], set(keys)
        sql = f"SELECT id, {', '.join(columns)} FROM {table} WHERE id<=? AND {columns[0]} IN (*)"
        rows = connection.rows_in(sql, list({key[0] for key in wanted}), before) if before else ()
        return {tuple(key): identity for identity, *key in rows if tuple(key) in wanted}

    def _numbered(self, connection: Connection, rows: Rows, new: Sequence[Mapping[str, Any]]) -> list[int]:
        """Write entries of a log and return their numbers."""
        if not new:
            return []
        [(last,)] = connection.rows(f"SELECT coalesce(max(id), 0) FROM {rows.table}")
        connection.insert(rows.table, tuple(new[0]), [tuple(row.values()) for row in new])
        key = [name for name in rows.known_by if name in new[0]]
        numbers: dict[Columns, list[int]] = {}
        for identity, *values in connection.rows(
            f"SELECT id, {', '.join(key)} FROM {rows.table} WHERE id>? ORDER BY id DESC", (last,)
        ):
            numbers.setdefault(tuple(values), []).append(identity)
        return [numbers[tuple(row[name] for name in key)].pop() for row in new]

    def _link(self, connection: Connection, records: Sequence[Row]) -> int:
        numbers = self._numbers(connection, (end for record in records for end in (record["source"], record["target"])))
        rows: dict[str, list[Columns]] = {"''": [], "id": []}
        for record in records:
            source, target = numbers.get(record["source"]), numbers.get(record["target"])
            if source is not None and target is not None and source != target:
                row = (source, record["type"], record["origin"], record["text"], micros(record["created_at"]), target)
                rows["''" if record["origin"] == "manual" else "id"].append(row)
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
        written = 0
        for record in records:
            since = max(self._verdicts[: record["since"]], default=0)
            learned = (record["profile"], record["shift"], since)
            connection.run("INSERT INTO learned(profile, shift, since) VALUES(?,?,?) ON CONFLICT DO NOTHING", learned)
            if self.on_conflict == "overwrite" and not connection.changes():
                connection.run(
                    "UPDATE learned SET shift=?, since=? WHERE profile=? AND (shift<>? OR since<>?)",
                    (record["shift"], since, *learned),
                )
            written += connection.changes()
        return written

    def _root(self, connection: Connection, records: Sequence[Row]) -> int:
        written = 0
        for record in records:
            name, _, machine = record["machine"].rpartition("#")
            home, globs = machine or files.refs_of(connection).home, json.dumps(list(record["globs"]))
            connection.run(
                "INSERT INTO roots(machine, path, globs, added_at) VALUES(?,?,?,?) ON CONFLICT DO NOTHING",
                (home, record["path"], globs, micros(record["added_at"])),
            )
            written += connection.changes()
            if machine and name:
                connection.set_meta(files.NAME + machine, name, replace=False)
        return written

    def _freeze(self, connection: Connection, records: Sequence[Row]) -> int:
        return sum(connection.set_meta("learning_frozen", int(record["frozen"]), replace=False) for record in records)

    def _proposal(self, connection: Connection, records: Sequence[Row]) -> int:
        """Proposals that are new here; one that waits here and was decided there is decided."""
        by_id = {proposal_id(record["session"], record["turn"], record["text"]): record for record in records}
        rows = connection.rows_in("SELECT id FROM proposals WHERE id IN (*)", list(by_id))
        existing = {identity for (identity,) in rows}
        new = [
            {**record.values, "id": i, "at": micros(record["at"])} for i, record in by_id.items() if i not in existing
        ]
        connection.insert("proposals", COLUMNS, [[row[name] for name in COLUMNS] for row in new])
        decided = [(i, record) for i, record in by_id.items() if i in existing and record["state"] != WAITING]
        connection.run_many(
            "UPDATE proposals SET state=?, became=? WHERE id=? AND state=?",
            [(record["state"], record["became"], identity, WAITING) for identity, record in decided],
        )
        return len(new)

    def _proposal_rule(self, connection: Connection, records: Sequence[Row]) -> int:
        rules = proposal_rules(connection)
        by_name = {record["name"]: record["rule"] for record in records}
        overwrites = self.on_conflict == "overwrite"
        new = {n: rule for n, rule in by_name.items() if rules.get(n) != rule and (overwrites or n not in rules)}
        if new:
            keep_rules(connection, {**rules, **new})
        return len(new)
