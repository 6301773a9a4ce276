"""What the agent of a session had been told at a moment, and what became of that since."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from ricordo import told_log
from ricordo.engine.items import replacement
from ricordo.errors import Error
from ricordo.frozen import frozen
from ricordo.plugins.history.values import Correction, ToldThen
from ricordo.values import provenance
from ricordo.values.items import Ref, first_words
from ricordo.values.kinds import RECORD_DRIVES
from ricordo.values.provenance import AGENT, Provenance

if TYPE_CHECKING:
    from ricordo.engine.context import EngineContext
    from ricordo.store.base import Store
    from ricordo.values.items import Item

SECOND = timedelta(seconds=1)
"""Logs of hooks count seconds."""
MOST_ENTRIES = 20_000
MOST_TOLD = 12
LONGEST = 400
_REPLACING = ("corrects", "supersedes")


@frozen
class Telling:
    """That an item was told to an agent; ``version`` is 0 and the session empty where the log does not name them."""

    ref: str
    at: datetime
    session: str
    version: int
    through: str


class ToldLog:
    """The logs of what agents were told, by hooks and by answers."""

    def __init__(self, context: EngineContext, stores: Mapping[str, Store]) -> None:
        self._context = context
        self.stores = stores
        context.flush_use()
        self._hooks = sorted(self._of_hooks(), key=lambda one: one.at)

    def _of_hooks(self) -> Iterator[Telling]:
        for line in told_log.lines(0):
            session, at = provenance.read(line.get("asker") or "").session, datetime.fromtimestamp(line["at"], UTC)
            for ref in line["refs"]:
                yield Telling(str(ref), at, session, 0, str(line["event"]))

    def before(self, session: str, store: Store, at: datetime, like: str) -> tuple[ToldThen, ...]:
        """What the agent had been told in a session before a moment: what has words of ``like`` first, then the
        latest.
        """
        start = store.threads.spans([session])[session].first or at
        tellings = [one for one in self._hooks if one.session == session and one.at <= at]
        for other in self.stores.values():
            entries = other.audit.entries(
                item=None, since=start, until=at, by="", told=True, limit=MOST_ENTRIES
            )  # fmt: skip
            tellings += [
                Telling(one.ref, one.at, one.provenance.session, one.version, f"{one.what}: {one.query}".rstrip(": "))
                for one in entries
                if _is_of(one.provenance, session)
            ]
        latest = {one.ref: one for one in sorted(tellings, key=lambda one: one.at)}
        told = [shown for one in latest.values() if (shown := self._shown(one)) is not None]
        words = set(_words(like))
        told.sort(key=lambda one: (len(words & set(_words(one.text))), one.at), reverse=True)
        return tuple(told[:MOST_TOLD])

    def _shown(self, one: Telling) -> ToldThen | None:
        """A telling with the version of that day; none for what is erased, and for records of what was done."""
        if Ref.looks_like(one.ref) and Ref.parse(one.ref).drive in RECORD_DRIVES:
            return None
        with suppress(Error):
            tier, n = self._context.tiers.holder(one.ref)
            store = tier.store
            version = one.version or store.items.version_at(n, one.at + SECOND) or 1
            now = store.items.get_many([n])[n]
            then = store.items.get(n, version=version)
            return ToldThen(
                one.ref, version, one.at, then.title or first_words(then.content), clipped(then.content), one.through,
                since(store, n, now, then), session_known=bool(one.session),
            )  # fmt: skip
        return None

    def of_item(self, store: Store, n: int, item: Item) -> list[Telling]:
        """When an item was told to agents, each with the version of then."""
        names = {str(item.ref), *(str(version.ref) for version in store.items.history(n))}
        entries = store.audit.entries(item=item.id, since=None, until=None, by="", told=True, limit=MOST_ENTRIES)
        found = [one for one in self._hooks if one.ref in names]
        found += [
            Telling(one.ref, one.at, one.provenance.session, one.version, one.what)
            for one in entries
            if one.provenance.author == AGENT
        ]
        return [
            Telling(one.ref, one.at, one.session, one.version or store.items.version_at(n, one.at + SECOND) or 1, "")
            for one in found
        ]


def _is_of(asker: Provenance, session: str) -> bool:
    """Whether an agent asked in a session, or in one that the log does not name."""
    return asker.author == AGENT and asker.session in ("", session)


def since(store: Store, n: int, now: Item, then: Item) -> str:
    """What became of an item since a version of it; empty if it still says the same."""
    if now.state == "deleted":
        return "removed"
    for how, ref in replacement(store, n, now).items():
        return f"{how.replace('_', ' ')} {ref}"
    if now.state != "live":
        return "forgotten"
    return f"changed: now version {now.version}" if then.content_hash != now.content_hash else ""


def outdated(store: Store, n: int) -> list[int]:
    """An item with those that it corrects or supersedes, also through others."""
    found, todo = [n], [n]
    while todo:
        links = store.links.of([todo.pop()])
        new = {link.target for link in links if link.type in _REPLACING and link.source in found}
        more = [one for one in new if one is not None and one not in found]
        todo += more
        found += more
    return found


def correction(store: Store, n: int, versions: Sequence[int]) -> Correction | None:
    """What became of an item since these versions of it; None if nothing did."""
    now = store.items.get_many([n])[n]
    for version in sorted(versions):
        then = store.items.get(n, version=version)
        how = since(store, n, now, then)
        if not how:
            continue
        by = next(iter(replacement(store, n, now).values()), "")
        if by:
            text = clipped(store.items.get(store.items.require(Ref.parse(by))).content)
        else:
            text = clipped(store.items.get(n).content) if now.state == "live" else ""
        return Correction(str(now.ref), how, clipped(then.content), text, by)
    return None


def clipped(text: str) -> str:
    """The beginning of a text in one line."""
    plain = " ".join(text.split())
    return plain if len(plain) <= LONGEST else f"{plain[:LONGEST].rsplit(' ', 1)[0]} …"


def _words(text: str) -> list[str]:
    return [word for word in text.lower().replace("_", " ").split() if len(word) > 3]
