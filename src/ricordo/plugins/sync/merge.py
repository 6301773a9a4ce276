"""What a set of entries about one item means: which versions it has, in which order, which is current, its state.

This is a function of the set alone, so that machines that know the same entries show the same item, in whatever order
the entries came. Nothing is stored here, and nothing is asked.

- Entries that no other one was made on top of are *heads*. Several heads are changes that were made apart.
- If a text is among the heads, the item is live, and the last such text in the common order is current. So a change
  wins over a removal that did not know it. Otherwise the last head says the state: archived or in the bin.
- An erasure takes away what its writer knew, and no other text: one that it never saw stays.
- The others are versions too, in the common order; the current one is the last.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ricordo.frozen import frozen
from ricordo.plugins.sync.log import ERASE, STATE, VERSION, WORD, LogEntry, text_mark


@frozen
class Merged:
    """An item as a set of entries says it is; the last of ``versions`` is the current one."""

    versions: tuple[tuple[str, LogEntry], ...]
    """The uid and the entry of each version."""
    numbers: tuple[int, ...]
    state: str
    put_away: LogEntry | None
    """The entry that archived it or put it into the bin."""
    vouched: str | None
    """The uid of the newest version that the user wrote or agreed to."""
    apart: tuple[str, ...]
    """The uids of current texts that were written apart from each other and differ, the one that is shown last."""
    heads: tuple[str, ...]
    """The uids of what nothing was made on top of: the parents of the next change."""


def heads(nodes: Mapping[str, LogEntry]) -> set[str]:
    """The uids of entries that no other one was made on top of."""
    return set(nodes) - {parent for entry in nodes.values() for parent in entry.parents}


def erased(known: Mapping[str, LogEntry]) -> set[str]:
    """The uids of what was erased: what its eraser knew, and other versions with a text that its eraser knew, such as
    those that a machine made by renaming the item meanwhile. What was written by somebody who knew of it stays.
    """
    found: set[str] = set()
    for uid, eraser in known.items():
        if eraser.kind != ERASE:
            continue
        found.update(eraser.body["uids"])
        texts = set(eraser.body["texts"])
        found.update(
            name
            for name, entry in known.items()
            if entry.kind == VERSION
            and entry.body
            and uid not in entry.parents
            and text_mark(entry.item, entry.body["version"]["text_hash"]) in texts
        )
    return found


def merged(entries: Iterable[tuple[str, LogEntry]]) -> Merged | None:
    """The item that these entries describe; None if no text of it is left, or none has arrived yet."""
    known = dict(entries)
    gone = erased(known)
    nodes = {
        uid: entry for uid, entry in known.items() if entry.kind in (VERSION, STATE) and entry.body and uid not in gone
    }
    ends = heads(nodes)
    texts = [uid for uid, entry in nodes.items() if entry.kind == VERSION]
    if not texts:
        return None
    in_order = _in_order(nodes)
    current = [uid for uid in in_order if uid in ends and nodes[uid].kind == VERSION]
    put_away = None
    if not current:
        last = next(nodes[uid] for uid in reversed(in_order) if uid in ends)
        put_away = last if last.body["state"] != "live" else None
    winner = current[-1] if current else next(uid for uid in reversed(in_order) if nodes[uid].kind == VERSION)
    versions = [uid for uid in in_order if nodes[uid].kind == VERSION and uid != winner] + [winner]
    return Merged(
        tuple((uid, nodes[uid]) for uid in versions),
        _numbers([nodes[uid] for uid in versions]),
        "live" if put_away is None else str(put_away.body["state"]),
        put_away,
        _vouched(versions, nodes, [(uid, entry) for uid, entry in known.items() if entry.kind == WORD]),
        _apart(current, nodes),
        tuple(sorted(ends)),
    )


def _in_order(nodes: Mapping[str, LogEntry]) -> list[str]:
    return sorted(nodes, key=lambda uid: (*nodes[uid].order, uid))


def _numbers(versions: Sequence[LogEntry]) -> tuple[int, ...]:
    """The number that its writer gave each version, or the next free one."""
    numbers: list[int] = []
    for entry in versions:
        said = int(entry.body["version"]["number"])
        numbers.append(max(said, numbers[-1] + 1) if numbers else max(said, 1))
    return tuple(numbers)


def _vouched(
    versions: Sequence[str], nodes: Mapping[str, LogEntry], words: Sequence[tuple[str, LogEntry]]
) -> str | None:
    """The last version with the user's word: given with it, or later; what was said last counts."""
    said = {uid: ((*nodes[uid].order, uid), bool(nodes[uid].body["vouched"])) for uid in versions}
    for name, word in words:
        uid = word.body["uid"]
        if uid in said and (*word.order, name) > said[uid][0]:
            said[uid] = ((*word.order, name), bool(word.body["given"]))
    return next((uid for uid in reversed(versions) if said[uid][1]), None)


def _apart(current: Sequence[str], nodes: Mapping[str, LogEntry]) -> tuple[str, ...]:
    by_hash = {nodes[uid].body["version"]["hash"]: uid for uid in current}
    return tuple(uid for uid in current if uid in by_hash.values()) if len(by_hash) > 1 else ()
