"""What should be looked after in a store: memories that agree, contradict, are unused, or may be forgotten."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ricordo.errors import UsageError
from ricordo.frozen import frozen
from ricordo.memory.citations import CITING_KINDS, NAME, CitationCheck, cited_again
from ricordo.memory.contradictions import Claim, first_conflict, statements
from ricordo.memory.duplicates import CLAIMING, DuplicateFinder, hold_together
from ricordo.secrets.find import redact_item
from ricordo.store.base import Store
from ricordo.store.query import Shown
from ricordo.text.alike import NEAR, plain_text, ratio
from ricordo.values.hits import Filters
from ricordo.values.items import FRESH, GONE, CitedNow, Item, Ref
from ricordo.values.kinds import REDACTED_KINDS
from ricordo.values.review import Finding, finding
from ricordo.values.times import parse_duration, parse_time

if TYPE_CHECKING:
    from ricordo.memory.citations import Names
    from ricordo.memory.files.format import KnowledgeFile
    from ricordo.store.values import PreparedItem


RARE = 40
"""A word that more memories have than this joins no pair."""
TELLING = 4
"""By so many of its rarest words is a memory compared."""
MOST_COMPARED = 20
"""With so many others, those that share the most words first."""
LONGEST = 2_000
"""Longer texts are no single facts: only whether they are the same is looked at."""


@frozen
class Pair:
    """Two memories, the older first. ``contradiction`` says how they contradict each other; it is empty for two that
    say the same.
    """

    older: int
    newer: int
    contradiction: str = ""


def pairs(memories: Mapping[int, Item], contents: Mapping[int, str]) -> Iterator[Pair]:
    """The pairs among some memories that say the same or contradict each other.

    A memory is the older of one pair at most, so that each can be dealt with for itself.
    """
    texts = {n: plain_text(content) for n, content in contents.items()}
    claims = {n: statements(contents[n]) for n, text in texts.items() if len(text) <= LONGEST}
    seen: set[int] = set()
    for one, other in _candidates(texts, claims):
        older, newer = sorted((one, other), key=lambda n: (memories[n].updated_at, n))
        if older in seen:
            continue
        why = ""
        if texts[one] != texts[other]:
            if hold_together(memories[one].fields, memories[other].fields):
                why = first_conflict(claims[older], claims[newer])
            if not why and not ratio(texts[one], texts[other], NEAR):
                continue
        seen.add(older)
        yield Pair(older, newer, why)


def _candidates(texts: Mapping[int, str], claims: Mapping[int, Sequence[Claim]]) -> Iterator[tuple[int, int]]:
    """Pairs worth comparing: those with the same text, and those that share a rare word."""
    by_text: defaultdict[str, list[int]] = defaultdict(list)
    for n, text in texts.items():
        by_text[text].append(n)
    for group in by_text.values():
        yield from ((n, group[-1]) for n in group[:-1])
    words = {n: frozenset(word for claim in some for word in claim.words) for n, some in claims.items()}
    count = Counter(word for some in words.values() for word in some)
    having: defaultdict[str, list[int]] = defaultdict(list)
    for n, some in words.items():
        for word in sorted(some, key=lambda word: (count[word], word))[:TELLING]:
            if 1 < count[word] <= RARE:
                having[word].append(n)
    for n, some in words.items():
        shared = Counter(other for word in some for other in having.get(word, ()) if other > n)
        for other, _ in sorted(shared.items(), key=lambda one: (-one[1], one[0]))[:MOST_COMPARED]:
            if texts[n] != texts[other]:
                yield n, other


@frozen
class Criteria:
    """The conditions under which an item is forgotten."""

    older_than: timedelta | None = None
    unused_since: timedelta | None = None
    kinds: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()

    def is_empty(self) -> bool:
        return self == Criteria()

    def filters(self, now: datetime) -> Filters:
        """The conditions that the store can check."""
        oldest = max(self.older_than or timedelta(0), self.unused_since or timedelta(0))
        return Filters(kinds=self.kinds, tags_any=self.tags, before=now - oldest)

    def meets(self, item: Item, now: datetime) -> bool:
        """Whether an item that passed the filters was also unused for long enough."""
        return self.unused_since is None or last_use(item) <= now - self.unused_since


def last_use(item: Item) -> datetime:
    """When an item was last found, opened or changed."""
    moments = (item.created_at, item.updated_at, item.last_retrieved_at, item.last_accessed_at)
    return max(moment for moment in moments if moment is not None)


def is_protected(item: Item) -> bool:
    """Whether an item is selected only if it is named."""
    return item.fields.immutable or item.fields.decay_protected


def check_selection(names: Sequence[object], criteria: Criteria) -> None:
    """Refuse a call with neither names nor criteria, because it must not mean all items."""
    if not names and criteria.is_empty():
        raise UsageError(
            "nothing was named", hint="Name refs, or say which: ‹older_than=90d›, ‹unused_since=30d›, ‹kind›, ‹tag›."
        )


def age(value: str | timedelta | None) -> timedelta | None:
    """An age from a value, or from a text as people write it."""
    span = parse_duration(value) if isinstance(value, str) else value
    if span is not None and not isinstance(span, timedelta):
        raise UsageError(f"an age cannot be {type(span).__name__} ({span})", hint="Give 90d, 2w or a timedelta.")
    if span is not None and span < timedelta(0):
        raise UsageError("an age cannot be negative", hint="Nothing would be spared; give 90d, 2w or a timedelta.")
    return span


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
        found = pairs(self.memories, self._texts)
        return [pair for pair in found if not is_protected(self.memories[pair.older])]

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
            stale = tuple(one for one in check.states(item.fields.metadata.get(NAME)) if one.state != FRESH)
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

    def _secrets(self) -> Iterator[Finding]:
        kinds = tuple(sorted(REDACTED_KINDS))
        items = dict(self._store.items.listing(Filters(kinds=kinds), _ALL, 0))
        for n, text in self._read(list(items)).items():
            found = redact_item(items[n].kind, text, {}, allow_secrets=False)[2]
            if found and not items[n].fields.immutable:
                why = f"Its text holds what looks like a secret ({', '.join(sorted(set(found)))})."
                yield self._one("secrets", n, items[n], why, "take it out of the text")


CONTRADICTS = "contradicts"
MOST_MEMORIES = 20_000
"""In a store with more memories, an import is not looked through; ``tidy`` finds what it brought."""
SECONDS = 2.0
"""How long it is looked for what files cite that are taken in together; they are taken in all the same."""
MOST_FILES = 100
"""If more files than this were taken in at once, only the first ones are compared; ``tidy`` finds the rest."""


class FileNoticing:
    """What is noticed when a person wrote or edited files of memories: the same as when a verb did it.

    No language model is asked, and the time is limited, because files are taken in while a search waits.
    """

    def __init__(self, store: Store, names: Names) -> None:
        self.store = store
        self._names = names
        self._until = time.monotonic() + SECONDS

    def fields(self, says: KnowledgeFile, item: Item | None) -> Mapping[str, Any]:
        """The fields that a file gives its item. What Ricordo wrote into it about citations holds for the text that it
        wrote; a text by hand cites what it names, and as long as that text stays, what it cites stays.
        """
        if not says.is_by_hand or says.kind not in CITING_KINDS:
            return says.fields
        about = {**says.fields.get("metadata", {})}
        if item is not None and item.content == says.text:
            about.pop(NAME, None)
            about |= {name: value for name, value in item.fields.metadata.items() if name == NAME}
        elif time.monotonic() < self._until:
            about = cited_again(self.store, self._names, says.kind, says.text, about)
        return {**says.fields, "metadata": about}

    def contradictions(self, written: Mapping[int, PreparedItem]) -> list[str]:
        """Link what was taken in and what contradicts it, the newer to the older; says which."""
        said = []
        for n, prepared in list(written.items())[:MOST_FILES]:
            item = self.store.items.get_many([n]).get(n)
            if item is not None and item.state == "live":
                against = note_after_edit(self.store, n, prepared)
                said += [f"{item.ref} contradicts {', '.join(against)}"] if against else []
        return said


def note_after_edit(store: Store, n: int, edited: PreparedItem) -> list[str]:
    """Link an item that got another text to what it contradicts now; returns the refs of that."""
    if edited.draft.kind not in CLAIMING:
        return []
    finder = DuplicateFinder(store)
    against = [one.ref for one in finder.near(edited, finder.alike(edited)) if one.contradiction]
    for ref in against:
        other = store.items.require(Ref.parse(ref))
        items = store.items.get_many([n, other])
        is_newer = items[n].updated_at >= items[other].updated_at  # a file may be older than what was saved meanwhile
        _link(store, *((n, other) if is_newer else (other, n)))
    return against


def note_after_import(store: Store, imported: Collection[str]) -> int:
    """Link memories that contradict each other, of which at least one was just imported; returns how many pairs."""
    look = Look(store)
    numbers = {n for n, item in look.memories.items() if str(item.ref) in imported}
    if not numbers or len(look.memories) > MOST_MEMORIES:
        return 0
    found = [pair for pair in look.pairs if pair.contradiction and (pair.older in numbers or pair.newer in numbers)]
    for pair in found:
        _link(store, pair.newer, pair.older)
    return len(found)


def _link(store: Store, newer: int, older: int) -> None:
    store.links.remove(newer, older, CONTRADICTS)  # one from before an edit says nothing any more
    store.links.add(newer, older, CONTRADICTS)
