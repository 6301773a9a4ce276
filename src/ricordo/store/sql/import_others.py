"""Imports what refers to items: links, verdicts, what was learned, logs, folders.

The same file may be imported twice, so an entry of a log that was there before is not written again. Records of one
type are taken together: what is there already is read once for all of them, because over a network trips take most of
the time.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, ClassVar

from ricordo.config.machine import Machine
from ricordo.exchange.records import (
    TYPE_NAMES,
    AuditRecord,
    FeedbackRecord,
    FreezeRecord,
    LearnedRecord,
    LinkRecord,
    OpeningRecord,
    ProposalRecord,
    ProposalRuleRecord,
    QueryRecord,
    Record,
    RootRecord,
    WeightRecord,
)
from ricordo.store.sql import machines
from ricordo.store.sql.audit import AUDIT_COLUMNS
from ricordo.store.sql.batches import in_parts
from ricordo.store.sql.proposals import keep_rules, kept_rules
from ricordo.store.sql.protocols import Connection, Row
from ricordo.store.sql.times import micros
from ricordo.values.proposals import WAITING, proposal_id

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

    def take(self, connection: Connection, batch: Sequence[Record]) -> Counter[str]:
        """Write records; returns how many of each type were new."""
        written: Counter[str] = Counter()
        for kind, records in groupby(batch, key=type):
            written[TYPE_NAMES[kind]] += self._TAKES[kind](self, connection, list(records))
        return written

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

    def _known(self, connection: Connection, table: str, columns: Sequence[str], keys: Iterable[Row]) -> dict[Row, int]:
        """Entries of a log that were there before this import, by these columns; the first of them is a time."""
        before = self._last_before(connection, table)
        wanted = set(keys)
        found: dict[Row, int] = {}
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

    def _numbered(
        self, connection: Connection, table: str, columns: Sequence[str], rows: Sequence[Row], key: Sequence[str]
    ) -> list[int]:
        """Write entries of a log and return their numbers; ``key`` are the columns that tell one from another."""
        if not rows:
            return []
        [(last,)] = connection.rows(f"SELECT coalesce(max(id), 0) FROM {table}")
        connection.insert(table, columns, rows)
        numbers: dict[Row, list[int]] = {}
        for identity, *said in connection.rows(
            f"SELECT id, {', '.join(key)} FROM {table} WHERE id>? ORDER BY id DESC", (last,)
        ):
            numbers.setdefault(tuple(said), []).append(identity)
        places = [columns.index(name) for name in key]
        return [numbers[tuple(row[at] for at in places)].pop() for row in rows]

    def _links(self, connection: Connection, records: Sequence[LinkRecord]) -> int:
        numbers = self._numbers(connection, (end for one in records for end in (one.source, one.target)))
        rows: dict[str, list[Row]] = {"''": [], "id": []}
        for one in records:
            source, target = numbers.get(one.source), numbers.get(one.target)
            if source is not None and target is not None and source != target:
                row = (source, one.type, one.origin, one.text, micros(one.created_at), target)
                rows["''" if one.origin == "manual" else "id"].append(row)
        [(before,)] = connection.rows(_MANUAL_LINKS)
        for name, some in rows.items():
            connection.run_many(
                "INSERT INTO links(source, target, type, origin, text, name, created_at)"
                f" SELECT ?, n, ?, ?, ?, {name}, ? FROM items WHERE n=? ON CONFLICT DO NOTHING",
                some,
            )
        [(after,)] = connection.rows(_MANUAL_LINKS)
        return int(after - before)

    def _feedback(self, connection: Connection, records: Sequence[FeedbackRecord]) -> int:
        columns = ("at", "query", "ref", "verdict")
        keys = [(micros(one.at), one.query, one.ref, one.verdict) for one in records]
        known = self._known(connection, "feedback", columns, keys)
        numbers = self._numbers(connection, (one.item for one in records))
        rows = [
            (one.query, numbers.get(one.item), one.ref, one.verdict, one.counted, key[0])
            for one, key in zip(records, keys, strict=True)
            if key not in known
        ]
        new = iter(
            self._numbered(connection, "feedback", ("query", "item", "ref", "verdict", "counted", "at"), rows, columns)
        )
        self._verdicts += [known[key] if key in known else next(new) for key in keys]
        return len(rows)

    def _learned(self, connection: Connection, records: Sequence[LearnedRecord]) -> int:
        return sum(self._learn(connection, one) for one in records)

    def _learn(self, connection: Connection, record: LearnedRecord) -> bool:
        since = max(self._verdicts[: record.since], default=0)
        learned = (record.profile, record.shift, since)
        connection.run("INSERT INTO learned(profile, shift, since) VALUES(?,?,?) ON CONFLICT DO NOTHING", learned)
        if connection.changes() or not self._is_overwriting:
            return bool(connection.changes())
        connection.run(
            "UPDATE learned SET shift=?, since=? WHERE profile=? AND (shift<>? OR since<>?)",
            (record.shift, since, *learned),
        )
        return bool(connection.changes())

    def _weights(self, connection: Connection, records: Sequence[WeightRecord]) -> int:
        known = self._known(
            connection, "weight_log", ("at", "profile"), [(micros(one.at), one.profile) for one in records]
        )
        rows = [
            (
                one.profile, micros(one.at), one.reason, json.dumps(dict(one.before)), json.dumps(dict(one.after)),
                one.shift_before, one.shift_after, one.counted,
            )
            for one in records
            if (micros(one.at), one.profile) not in known
        ]  # fmt: skip
        connection.insert(
            "weight_log",
            ("profile", "at", "reason", "before", "after", "shift_before", "shift_after", "counted"),
            rows,
        )
        return len(rows)

    def _queries(self, connection: Connection, records: Sequence[QueryRecord]) -> int:
        columns = ("at", "text", "tool")
        known = self._known(connection, "query_log", columns, [(micros(one.at), one.text, one.tool) for one in records])
        new = [one for one in records if (micros(one.at), one.text, one.tool) not in known]
        rows = [
            (
                one.text, one.tool, one.profile, one.results, json.dumps(one.refs), one.ms, micros(one.at),
                _stored(one.asker), one.fit,
            )
            for one in new
        ]  # fmt: skip
        names = ("text", "tool", "profile", "results", "refs", "ms", "at", "asker", "fit")
        numbers = self._numbers(connection, (found.item for one in new for found in one.found))
        connection.insert(
            "retrieval_log",
            ("item", "ref", "version", "query", "score", "at", "asker"),
            [
                (numbers[found.item], found.ref, found.version, query, found.score, micros(found.at), "")
                for query, one in zip(self._numbered(connection, "query_log", names, rows, columns), new, strict=True)
                for found in one.found
                if found.item in numbers
            ],
        )
        return len(new)

    def _openings(self, connection: Connection, records: Sequence[OpeningRecord]) -> int:
        numbers = self._numbers(connection, (one.item for one in records))
        here = [(micros(one.at), numbers[one.item], one) for one in records if one.item in numbers]
        known = self._known(connection, "retrieval_log", ("at", "item", "query"), [(at, n, None) for at, n, _ in here])
        rows = [
            (n, one.ref, one.version, one.score, at, _stored(one.asker))
            for at, n, one in here
            if (at, n, None) not in known
        ]
        connection.insert("retrieval_log", ("item", "ref", "version", "score", "at", "asker"), rows)
        return len(rows)

    def _roots(self, connection: Connection, records: Sequence[RootRecord]) -> int:
        return sum(self._root(connection, one) for one in records)

    def _root(self, connection: Connection, record: RootRecord) -> bool:
        name, _, machine = record.machine.rpartition("#")
        connection.run(
            "INSERT INTO roots(machine, path, globs, added_at) VALUES(?,?,?,?) ON CONFLICT DO NOTHING",
            (
                machine or machines.refs_of(connection).home,
                record.path,
                json.dumps(list(record.globs)),
                micros(record.added_at),
            ),
        )
        is_new = bool(connection.changes())
        if machine and name:
            machines.note_name(connection, Machine(machine, name))
        return is_new

    def _freezes(self, connection: Connection, records: Sequence[FreezeRecord]) -> int:
        return sum(connection.set_meta("learning_frozen", int(record.frozen), replace=False) for record in records)

    def _audit(self, connection: Connection, records: Sequence[AuditRecord]) -> int:
        keys = [(micros(one.at), self._stands_for.get(one.item, one.item), one.what) for one in records]
        known = self._known(connection, "audit", ("at", "item", "what"), keys)
        rows = [
            (at, what, item, one.ref, one.version, _stored(one.provenance))
            for one, (at, item, what) in zip(records, keys, strict=True)
            if (at, item, what) not in known
        ]
        connection.insert("audit", AUDIT_COLUMNS, rows)
        return len(rows)

    def _proposals(self, connection: Connection, records: Sequence[ProposalRecord]) -> int:
        """Proposals that are new here; one that waits here and was decided there is decided."""
        names = ("text", "kind", "scope", "quote", "session", "turn", "way", "file", "branch", "state", "became")
        before = {
            identity for marks, part in in_parts(map(_identity, records))
            for (identity,) in connection.rows(f"SELECT id FROM proposals WHERE id IN ({marks})", part)
        }  # fmt: skip
        new = {identity: one for one in records if (identity := _identity(one)) not in before}
        rows = [(identity, micros(one.at), *(getattr(one, name) for name in names)) for identity, one in new.items()]
        connection.insert("proposals", ("id", "at", *names), rows)
        connection.run_many(
            "UPDATE proposals SET state=?, became=? WHERE id=? AND state=?",
            [
                (one.state, one.became, identity, WAITING)
                for one in records
                if (identity := _identity(one)) in before and one.state != WAITING
            ],
        )
        return len(new)

    def _proposal_rules(self, connection: Connection, records: Sequence[ProposalRuleRecord]) -> int:
        kept = kept_rules(connection)
        said = {one.name: one.rule for one in records if self._is_overwriting or one.name not in kept}
        new = {name: rule for name, rule in said.items() if kept.get(name) != rule}
        if new:
            keep_rules(connection, {**kept, **new})
        return len(new)

    _TAKES: ClassVar[Mapping[type[Any], Callable[[OtherRecords, Connection, Any], int]]] = {
        LinkRecord: _links,
        FeedbackRecord: _feedback,
        LearnedRecord: _learned,
        WeightRecord: _weights,
        QueryRecord: _queries,
        OpeningRecord: _openings,
        RootRecord: _roots,
        FreezeRecord: _freezes,
        AuditRecord: _audit,
        ProposalRecord: _proposals,
        ProposalRuleRecord: _proposal_rules,
    }


def _identity(one: ProposalRecord) -> str:
    return proposal_id(one.session, one.turn, one.text)


def _stored(plain: Mapping[str, Any]) -> str:
    """Who asked or acted, as a store keeps it; empty for unknown."""
    return json.dumps(dict(plain), ensure_ascii=False) if plain else ""
