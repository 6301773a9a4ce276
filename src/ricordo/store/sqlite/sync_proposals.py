"""Proposals, and what the user decided about whole kinds of them, among machines that sync through a folder.

Each state of a proposal is an entry, made on top of those that its writer knew. Of what was said apart, a decision
counts more than none, so that what was refused or accepted on one machine is not asked on another. If a session is
erased, so is what it taught.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from ricordo.exchange.codec import encode
from ricordo.exchange.entries import ERASED, PROPOSAL, PROPOSAL_RULE, LogEntry, proposal_body
from ricordo.exchange.merging import heads
from ricordo.exchange.records import ProposalRecord
from ricordo.store.sql.exporting import proposal_records
from ricordo.store.sql.proposals import COLUMNS, keep_rules, kept_rules
from ricordo.store.sql.times import micros, moment
from ricordo.store.sqlite import sync_rows
from ricordo.store.sqlite.connection import Connection
from ricordo.values.proposals import DRIVE, WAITING, proposal_id

Say = Callable[[str, str, Sequence[str], Mapping[str, Any]], str]
_RULE = f"{DRIVE}rule "
_NOTHING = ProposalRecord("", "", "", "", "", 0, moment(0), "", "", "", ERASED, "")


def capture(connection: Connection, say: Say) -> None:
    """Write down what was proposed and decided here since the last time."""
    known = _known(connection)
    for item, one in _stored(connection).items():
        entries = known.get(item, {})
        now = _meant(entries)
        if now is None or (now.state, now.became) != (one.state, one.became):
            say(PROPOSAL, item, sorted(heads(entries)), encode(one))
    said = _rules(connection)
    here = kept_rules(connection)
    for name in sorted(said.keys() | here.keys()):
        if said.get(name, "") != here.get(name, ""):
            say(PROPOSAL_RULE, f"{_RULE}{name}", (), {"rule": here.get(name, "")})


def capture_erased(connection: Connection, say: Say, arrived: Collection[str] = ()) -> None:
    """Write down that proposals were erased together with their session; those that just ``arrived`` are not there
    yet.
    """
    stored = _stored(connection)
    for item, entries in _known(connection).items():
        if item not in stored and item not in arrived and _meant(entries) is not None:
            say(PROPOSAL, item, sorted(heads(entries)), encode(_NOTHING))
            sync_rows.erase(connection, sorted(entries))


def settle(connection: Connection, *, is_chosen: bool) -> None:
    """Make proposals what the entries say; where they do not travel, what was decided here stays."""
    stored = _stored(connection)
    for item, entries in _known(connection).items():
        one, identity = _meant(entries), item.removeprefix(DRIVE)
        if one is None:
            connection.run("DELETE FROM proposals WHERE id=?", (identity,))
            sync_rows.erase(connection, sorted(uid for uid, entry in entries.items() if entry.body["state"] != ERASED))
        elif item not in stored:
            row = {"id": identity, **{name: getattr(one, name) for name in COLUMNS[1:]}, "at": micros(one.at)}
            connection.insert("proposals", tuple(row), [tuple(row.values())])
        elif is_chosen and one != stored[item]:
            connection.run("UPDATE proposals SET state=?, became=? WHERE id=?", (one.state, one.became, identity))
    if is_chosen:
        keep_rules(connection, {name: rule for name, rule in _rules(connection).items() if rule})


def _stored(connection: Connection) -> dict[str, ProposalRecord]:
    return {f"{DRIVE}{proposal_id(one.session, one.turn, one.text)}": one for one in proposal_records(connection)}


def _known(connection: Connection) -> dict[str, dict[str, LogEntry]]:
    """The entries of each proposal, by their uids."""
    found: dict[str, dict[str, LogEntry]] = {}
    for uid, entry in sync_rows.of_items_like(connection, DRIVE):
        if entry.kind == PROPOSAL:
            found.setdefault(entry.item, {})[uid] = entry
    return found


def _meant(entries: Mapping[str, LogEntry]) -> ProposalRecord | None:
    """What the entries of a proposal say together; None if there are none, or it was erased."""
    if any(entry.body["state"] == ERASED for entry in entries.values()):
        return None
    ends = [(uid, entries[uid]) for uid in heads(entries)]
    last = max(ends, key=lambda one: (one[1].body["state"] != WAITING, *one[1].order, one[0]), default=None)
    return None if last is None else proposal_body(last[1])


def _rules(connection: Connection) -> dict[str, str]:
    """What was said last about each kind; empty if that was taken back."""
    found: dict[str, tuple[tuple[int, str, str], str]] = {}
    for uid, entry in sync_rows.of_items_like(connection, _RULE):
        name, order = entry.item.removeprefix(_RULE), (*entry.order, uid)
        if entry.kind == PROPOSAL_RULE and (name not in found or order > found[name][0]):
            found[name] = (order, str(entry.body["rule"]))
    return {name: rule for name, (_, rule) in found.items()}
