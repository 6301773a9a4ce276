"""Looks for what should be done about the memories of one store, kind by kind. Nothing is written here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import cached_property

from ricordo.memory.alike import ComparedMemory, Pair, pairs
from ricordo.memory.citations import NAME as CITATIONS
from ricordo.memory.citations import CitationCheck
from ricordo.memory.forgetting import is_protected, last_use
from ricordo.secrets.find import redact_item
from ricordo.store.asking import Shown
from ricordo.store.base import Store
from ricordo.values.citations import ELSEWHERE, FRESH, GONE, CitedNow
from ricordo.values.days import parse_time
from ricordo.values.hits import Filters
from ricordo.values.items import Item
from ricordo.values.kinds import REDACTED_KINDS
from ricordo.values.proposals import WAITING
from ricordo.values.tidy import Finding, finding

UNUSED_DAYS = 365
MOVED_SECONDS = 2.0
"""How long it is looked for what was moved."""
_ALL = 1 << 30
_AT_ONCE = 500


class Look:
    """One look at a store; what several kinds need is read once."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def findings(self, kind: str) -> list[Finding]:
        """What there is of a kind, in an order that stays the same."""
        return list(getattr(self, f"_{kind}")())

    @cached_property
    def memories(self) -> dict[int, Item]:
        """All memories by their numbers."""
        return dict(self._store.items.listing(Filters(kinds=("memory",)), _ALL, 0))

    @cached_property
    def _texts(self) -> dict[int, str]:
        """The texts of memories: of a long one, its first passage."""
        return self._read(list(self.memories))

    def _read(self, numbers: Sequence[int]) -> dict[int, str]:
        found: dict[int, str] = {}
        for at in range(0, len(numbers), _AT_ONCE):
            shown = self._store.index.passages([Shown(n) for n in numbers[at : at + _AT_ONCE]])
            found |= {n: parts[0].text for n, parts in shown.texts.items() if parts}
        return found

    @cached_property
    def pairs(self) -> list[Pair]:
        """Those that say the same or contradict each other, unless the older is protected."""
        memories = self.memories
        told = {n: ComparedMemory(text, memories[n].updated_at, memories[n].fields) for n, text in self._texts.items()}
        return [pair for pair in pairs(told) if not is_protected(memories[pair.older])]

    def _paired(self, kind: str, pair: Pair, why: str) -> Finding:
        older, newer = self.memories[pair.older], self.memories[pair.newer]
        versions = ((pair.older, older.version), (pair.newer, newer.version))
        return finding(kind, (str(older.ref), str(newer.ref)), why, "archive the older", versions)

    def _duplicates(self) -> Iterator[Finding]:
        for pair in self.pairs:
            if not pair.contradiction:
                is_same = self._texts[pair.older] == self._texts[pair.newer]
                why = "They say the same." if is_same else "They say nearly the same."
                yield self._paired("duplicates", pair, why)

    def _contradictions(self) -> Iterator[Finding]:
        seen: set[tuple[int, int]] = set()
        for pair in self.pairs:
            if pair.contradiction:
                seen.add((pair.older, pair.newer))
                yield self._paired("contradictions", pair, f"The newer contradicts the older: {pair.contradiction}.")
        for link in self._store.links.of(list(self.memories)):
            newer, older = link.source, link.target
            if link.type == "contradicts" and older in self.memories and newer in self.memories:
                pair = Pair(older, newer)
                if (older, newer) not in seen and not is_protected(self.memories[older]):
                    seen.add((older, newer))
                    yield self._paired("contradictions", pair, "The newer contradicts the older.")

    @cached_property
    def _cited(self) -> dict[int, tuple[CitedNow, ...]]:
        """What became of what memories cite, of those of which something is not as it was."""
        check = CitationCheck(self._store, MOVED_SECONDS)
        found: dict[int, tuple[CitedNow, ...]] = {}
        for n, item in self.memories.items():
            stale = tuple(
                one for one in check.states(item.fields.metadata.get(CITATIONS)) if one.state not in (FRESH, ELSEWHERE)
            )
            if stale:
                found[n] = stale
        return found

    def _gone(self) -> Iterator[Finding]:
        for n, states in self._cited.items():
            gone = [one.what for one in states if one.state == GONE]
            if gone and not is_protected(self.memories[n]):
                yield self._one("gone", n, self.memories[n], f"It cites {', '.join(gone)}, which is gone.", "archive")

    def _changed(self) -> Iterator[Finding]:
        for n, states in self._cited.items():
            if not any(one.state == GONE for one in states):
                why = f"What it cites is no longer as it was: {'; '.join(map(str, states))}."
                yield self._one("changed", n, self.memories[n], why, "say that it still holds")

    def _one(self, kind: str, n: int, item: Item, why: str, action: str) -> Finding:
        return finding(kind, (str(item.ref),), why, action, ((n, item.version),))

    def _expired(self) -> Iterator[Finding]:
        now = datetime.now(UTC)
        for n, item in self._store.items.listing(Filters(), _ALL, 0):
            until = item.fields.valid_until
            if until and not is_protected(item) and parse_time(until) < now:
                yield self._one("expired", n, item, f"It held until {until[:10]}.", "archive")

    def _unused(self) -> Iterator[Finding]:
        before = datetime.now(UTC) - timedelta(days=UNUSED_DAYS)
        for n, item in self.memories.items():
            if last_use(item) < before and not is_protected(item) and item.fields.loading != "always":
                why = f"Nobody found, opened or changed it since {last_use(item):%Y-%m-%d}."
                yield self._one("unused", n, item, why, "archive")

    def _proposals(self) -> Iterator[Finding]:
        if not self._store.foreign:
            for one in self._store.proposals.listing(WAITING):
                yield finding("proposals", (one.ref,), f"A session seems to teach: {one.text}", "keep it as a memory")

    def _secrets(self) -> Iterator[Finding]:
        kinds = tuple(sorted(REDACTED_KINDS))
        items = dict(self._store.items.listing(Filters(kinds=kinds), _ALL, 0))
        for n, text in self._read(list(items)).items():
            found = redact_item(items[n].kind, text, {}, allow_secrets=False)[2]
            if found and not items[n].fields.immutable:
                why = f"Its text holds what looks like a secret ({', '.join(sorted(set(found)))})."
                yield self._one("secrets", n, items[n], why, "take it out of the text")
