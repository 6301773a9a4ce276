"""What should be done about what a store holds: findings, and doing what they suggest."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING

from ricordo.engine.removal import is_protected, last_use
from ricordo.errors import CorruptStore, NotFound
from ricordo.frozen import frozen
from ricordo.memory.compare import OPPOSITE, SAME, compare_closely
from ricordo.memory.duplicates import CLAIMING, OUR_MODEL, DuplicateFinder, overlap
from ricordo.memory.remember import BESIDE
from ricordo.memory.statements import statements
from ricordo.plugins.upkeep.citations import CitationCheck
from ricordo.secrets.redaction import redact_item
from ricordo.speaking import as_agent
from ricordo.store.base import Store
from ricordo.store.query import Shown
from ricordo.store.sql.links import CONTRADICTS, FOUND
from ricordo.store.values import PreparedItem
from ricordo.text.alike import plain_text
from ricordo.trust.level import is_vouched
from ricordo.values.hits import Filters
from ricordo.values.items import CITATIONS, FRESH, GONE, CitedNow, Item, Ref, Saved
from ricordo.values.kinds import REDACTED_KINDS
from ricordo.values.log import Finding
from ricordo.values.times import parse_time

if TYPE_CHECKING:
    from ricordo.engine.review import ReviewVerbs
    from ricordo.models.base import Vectors

MOST_TEXTS = 100
"""If more texts than this change at once, only the first ones are compared; ``review`` finds the rest."""
RARE = 40
"""A word that more memories have than this joins no pair."""
RAREST = 4
"""By so many of its rarest words is a memory compared."""
MOST_COMPARED = 20
"""With so many others, those that share the most words first."""
LONGEST = 2_000
"""Longer texts are no single facts: only whether they are the same is looked at."""
NEAR = 0.75
"""Memories whose meanings are at least so near are compared, …"""
READ_FROM = 0.6
"""Those whose meanings are at least so near are read together, which takes five milliseconds."""
SURE = 0.8
"""How likely two memories say the same, by words and meaning, if one is offered for archiving."""
MOST_NEAR = 10_000
"""… unless there are more than this; then a rare word must join them."""
_ROWS = 1_000


@frozen
class Pair:
    """Two memories, the older first. ``contradiction`` says how they contradict each other; it is empty for two that
    say the same.
    """

    older: int
    newer: int
    contradiction: str = ""


def pairs(
    memories: Mapping[int, Item], contents: Mapping[int, str], vectors: Mapping[int, Vectors], kept: Collection[Pair]
) -> Iterator[Pair]:
    """The pairs among some memories that say the same or contradict each other, but for those that are kept both.

    A memory is the older of one pair at most, so that each can be dealt with for itself.
    """
    texts = {n: plain_text(content) for n, content in contents.items()}
    paired: set[int] = set()
    for candidates in _candidates(texts, vectors):
        older, newer = sorted(candidates, key=lambda n: (memories[n].updated_at, n))
        if older in paired or Pair(older, newer) in kept or Pair(newer, older) in kept:
            continue
        cosine = float(vectors[older] @ vectors[newer]) if older in vectors and newer in vectors else None
        found = compare_closely(contents[older], contents[newer], cosine, READ_FROM)
        is_same = found.relation == SAME and (cosine is None or found.same >= SURE)
        if is_same or (found.relation == OPPOSITE and overlap(memories[older].fields, memories[newer].fields)):
            paired.add(older)
            yield Pair(older, newer, found.why)


def _candidates(texts: Mapping[int, str], vectors: Mapping[int, Vectors]) -> Iterator[tuple[int, int]]:
    """Pairs worth comparing: those with the same text, those that share a rare word, and those of near meanings."""
    by_text: defaultdict[str, list[int]] = defaultdict(list)
    for n, text in texts.items():
        by_text[text].append(n)
    for group in by_text.values():
        yield from ((n, group[-1]) for n in group[:-1])
    words_of = {
        n: frozenset(stem for said in statements(text) for stem in said.stems)
        for n, text in texts.items()
        if len(text) <= LONGEST
    }
    count = Counter(word for words in words_of.values() for word in words)
    by_word: defaultdict[str, list[int]] = defaultdict(list)
    for n, words in words_of.items():
        for word in sorted(words, key=lambda word: (count[word], word))[:RAREST]:
            if 1 < count[word] <= RARE:
                by_word[word].append(n)
    near = _near(vectors)
    for n, words in words_of.items():
        shared = Counter(other for word in words for other in by_word.get(word, ()) if other > n)
        shared.update(dict.fromkeys(near.get(n, ()), MOST_COMPARED))
        for other, _ in sorted(shared.items(), key=lambda pair: (-pair[1], pair[0]))[:MOST_COMPARED]:
            if texts[n] != texts[other]:
                yield n, other


def _near(vectors: Mapping[int, Vectors]) -> dict[int, list[int]]:
    """Of each memory the later ones whose meaning is near."""
    import numpy as np

    numbers = sorted(vectors)
    if len(numbers) > MOST_NEAR:
        return {}
    near: dict[int, list[int]] = {}
    table = np.array([vectors[n] for n in numbers])
    for start in range(0, len(numbers), _ROWS):
        cosines = table[start : start + _ROWS] @ table[start:].T
        for row, column in np.argwhere(np.triu(cosines, 1) >= NEAR).tolist():
            near.setdefault(numbers[start + row], []).append(numbers[start + column])
    return near


def link_contradicted(store: Store, prepared: Mapping[int, PreparedItem]) -> dict[int, str]:
    """Link items that got another text and what they contradict now, the newer to the older; returns notes."""
    finder, notes = DuplicateFinder(store), {}
    for n, text in list(prepared.items())[:MOST_TEXTS]:
        if text.draft.kind not in CLAIMING:
            continue
        alike = finder.alike(text.draft.content, text.draft.kind)
        refs = [candidate.ref for candidate in finder.near(text, alike) if candidate.contradiction]
        for ref in refs:
            other = store.items.require(Ref.parse(ref))
            items = store.items.get_many([n, other])
            is_newer = items[n].updated_at >= items[other].updated_at  # a file may be older than what was saved since
            link(store, *((n, other) if is_newer else (other, n)))
        if refs:
            notes[n] = f"contradicts {', '.join(refs)}"
    return notes


def link(store: Store, newer: int, older: int) -> None:
    """Link a memory to one that it contradicts; that both were kept, was said of other texts."""
    for pair in ((newer, older), (older, newer)):
        store.links.remove(*pair, BESIDE)
    store.links.add_found(newer, [older])


UNUSED_DAYS = 365
MOST_MEMORIES = 20_000
"""In a store with more memories, an import is not looked through; ``review`` finds what it brought."""
_ALL = 1 << 30
_AT_ONCE = 500


def findings(store: Store, kinds: Sequence[str]) -> list[Finding]:
    """What there is of some kinds, in an order that stays the same."""
    look = Look(store)
    return [finding for kind in kinds if (find := look.by_kind.get(kind)) for finding in find()]


def accept(engine: ReviewVerbs, finding: Finding) -> Saved | None:
    """Do what a finding suggests."""
    store = engine._context.unsynced_store
    n = finding.versions[0][0]
    match finding.kind:
        case "duplicates" | "contradictions":
            return store.changes.archive([n], successor=finding.versions[1][0])[0]
        case "gone" | "expired" | "unused":
            return store.changes.archive([n])[0]
        case "secrets":
            item = store.items.get(n)
            with nullcontext() if is_vouched(item) else as_agent(item.provenance.name):  # it stays whose it is
                return engine.edit(finding.refs[0], content=item.content)
        case "changed":
            metadata = store.items.get(n).fields.metadata
            renewed = CitationCheck(store).renewed(metadata.get(CITATIONS) or [])
            return engine.edit(finding.refs[0], fields={"metadata": {**metadata, CITATIONS: renewed}})
    return None


def refuse(engine: ReviewVerbs, finding: Finding) -> Saved | None:
    """Remember that both of a pair are to be kept."""
    if finding.kind not in ("duplicates", "contradictions"):
        return None
    store = engine._context.unsynced_store
    (older, _), (newer, _) = finding.versions
    store.links.add(newer, older, BESIDE)
    return Saved(finding.refs[0], "unchanged", reason=f"kept beside {finding.refs[1]}")


def link_imported(store: Store, refs: Collection[str]) -> list[str]:
    """Link memories that contradict each other, of which at least one was just imported; says how many pairs."""
    look = Look(store)
    numbers = {n for n, item in look.memories.items() if str(item.ref) in refs}
    if not numbers or len(look.memories) > MOST_MEMORIES:
        return []
    linked = [pair for pair in look.pairs if pair.contradiction and (pair.older in numbers or pair.newer in numbers)]
    for pair in linked:
        link(store, pair.newer, pair.older)
    return [f"pairs of memories that contradict each other: {len(linked):,}; tidy lists them"] if linked else []


class Look:
    """One look at a store; what several kinds need is read once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._chunks: dict[int, int] = {}
        """Of the texts that were read, the passage, where it is the only one."""
        self.by_kind = {
            "duplicates": self._duplicates,
            "contradictions": self._contradictions,
            "gone": self._gone,
            "changed": self._changed,
            "expired": self._expired,
            "unused": self._unused,
            "secrets": self._secrets,
        }

    @cached_property
    def _users(self) -> dict[int, Item]:
        """Items that somebody else changed, as the user wrote them or agreed to them last: what others made of them is
        judged once the user accepted it.
        """
        items = self._store.items
        current = items.get_many([] if self._store.foreign else self._store.audit.waiting())
        users: dict[int, Item] = {}
        for n, item in current.items():
            if item.vouched is not None:
                with suppress(NotFound, CorruptStore):  # it is no longer kept, or damaged
                    users[n] = replace(items.get(n, version=item.vouched), ref=item.ref, version=item.version)
        return users

    def _listed(self, filters: Filters) -> dict[int, Item]:
        return {n: self._users.get(n, item) for n, item in self._store.items.listing(filters, _ALL, 0)}

    @cached_property
    def memories(self) -> dict[int, Item]:
        """All memories by their numbers."""
        return self._listed(Filters(kinds=("memory",)))

    @cached_property
    def _texts(self) -> dict[int, str]:
        """The texts of memories: of a long one, its first passage."""
        users = {n: item.content for n, item in self._users.items() if n in self.memories}
        return self._read([n for n in self.memories if n not in users]) | users

    @cached_property
    def _vectors(self) -> dict[int, Vectors]:
        """The vectors of memories of one passage, if they are of the model in the package."""
        fingerprint = self._store.vectors.active_fingerprint() or ""
        if not fingerprint.startswith(OUR_MODEL):
            return {}
        whole = {n: self._chunks[n] for n in self._texts if n in self._chunks}
        vectors: dict[int, Vectors] = {}
        for at in range(0, len(whole), _AT_ONCE):
            some = dict(list(whole.items())[at : at + _AT_ONCE])
            passages = self._store.index.passages(
                [Shown(n, (chunk,)) for n, chunk in some.items()], vectors=fingerprint
            )
            vectors |= {n: passages.vectors[chunk] for n, chunk in some.items() if chunk in passages.vectors}
        return vectors

    def _read(self, numbers: Sequence[int]) -> dict[int, str]:
        texts: dict[int, str] = {}
        for at in range(0, len(numbers), _AT_ONCE):
            passages = self._store.index.passages([Shown(n) for n in numbers[at : at + _AT_ONCE]])
            texts |= {n: parts[0].text for n, parts in passages.texts.items() if parts}
            self._chunks |= {n: parts[0].chunk for n, parts in passages.texts.items() if parts and parts[0].of == 1}
        return texts

    @cached_property
    def pairs(self) -> list[Pair]:
        """Those that say the same or contradict each other, unless the older is protected."""
        found = pairs(self.memories, self._texts, self._vectors, self._kept)
        return [pair for pair in found if not is_protected(self.memories[pair.older])]

    @cached_property
    def _kept(self) -> set[Pair]:
        """Those that a person wants both kept."""
        links = self._store.links.of(list(self.memories))
        return {Pair(edge.target, edge.source) for edge in links if edge.type == BESIDE and edge.target is not None}

    def _of_pair(self, kind: str, pair: Pair, why: str) -> Finding:
        finding = Finding.about(kind, {n: self.memories[n] for n in (pair.older, pair.newer)}, why, "archive the older")
        is_same = plain_text(self._texts[pair.older]) == plain_text(self._texts[pair.newer])
        return replace(finding, alone=not is_same)

    def _duplicates(self) -> Iterator[Finding]:
        for pair in self.pairs:
            if not pair.contradiction:
                is_same = self._texts[pair.older] == self._texts[pair.newer]
                why = "They say the same." if is_same else "They say nearly the same."
                yield self._of_pair("duplicates", pair, why)

    def _contradictions(self) -> Iterator[Finding]:
        listed: set[tuple[int, int]] = set()
        for pair in self.pairs:
            if pair.contradiction:
                listed.add((pair.older, pair.newer))
                yield self._of_pair("contradictions", pair, f"The newer contradicts the older: {pair.contradiction}.")
        for edge in self._store.links.of(list(self.memories)):
            newer, older = edge.source, edge.target
            if edge.type != CONTRADICTS or older not in self.memories or newer not in self.memories:
                continue
            if any(edge.created_at >= self._changed_at[n] for n in (older, newer) if n in self._changed_at):
                continue
            if edge.origin == FOUND and any(edge.created_at < self.memories[n].updated_at for n in (older, newer)):
                continue  # it was found of another text
            is_kept = not self._kept.isdisjoint((Pair(older, newer), Pair(newer, older)))
            if (older, newer) not in listed and not is_kept and not is_protected(self.memories[older]):
                listed.add((older, newer))
                yield self._of_pair("contradictions", Pair(older, newer), "The newer contradicts the older.")

    @cached_property
    def _changed_at(self) -> dict[int, datetime]:
        """When somebody else gave items of the user another text: what was found of that is not of the user's."""
        current = self._store.items.get_many(list(self._users))
        return {n: item.updated_at for n, item in current.items() if item.updated_at > self._users[n].updated_at}

    @cached_property
    def _stale(self) -> dict[int, tuple[CitedNow, ...]]:
        """What became of what memories cite, of those of which something is not as it was."""
        check = CitationCheck(self._store)
        stale: dict[int, tuple[CitedNow, ...]] = {}
        for n, item in self.memories.items():
            states = check.states(item.fields.metadata.get(CITATIONS))
            if changed := tuple(cited for cited in states if cited.state != FRESH):
                stale[n] = changed
        return stale

    def _gone(self) -> Iterator[Finding]:
        for n, states in self._stale.items():
            gone = [cited.what for cited in states if cited.state == GONE]
            if gone and not is_protected(self.memories[n]):
                yield Finding.about(
                    "gone", {n: self.memories[n]}, f"It cites {', '.join(gone)}, which is gone.", "archive"
                )

    def _changed(self) -> Iterator[Finding]:
        for n, states in self._stale.items():
            if n not in self._users and not any(cited.state == GONE for cited in states):
                why = f"What it cites is no longer as it was: {'; '.join(map(str, states))}."
                yield Finding.about("changed", {n: self.memories[n]}, why, "say that it still holds")

    def _expired(self) -> Iterator[Finding]:
        now = datetime.now(UTC)
        for n, item in self._listed(Filters()).items():
            until = item.fields.valid_until
            if until and not is_protected(item) and parse_time(until) < now:
                yield Finding.about("expired", {n: item}, f"It held until {until[:10]}.", "archive")

    def _unused(self) -> Iterator[Finding]:
        before = datetime.now(UTC) - timedelta(days=UNUSED_DAYS)
        for n, item in self.memories.items():
            if last_use(item) < before and not is_protected(item) and item.fields.loading != "always":
                why = f"Nobody found, opened or changed it since {last_use(item):%Y-%m-%d}."
                yield Finding.about("unused", {n: item}, why, "archive")

    def _secrets(self) -> Iterator[Finding]:
        kinds = tuple(sorted(REDACTED_KINDS))
        items = dict(self._store.items.listing(Filters(kinds=kinds), _ALL, 0))
        for n, text in self._read(list(items)).items():
            secrets = redact_item(items[n].kind, text, {}, allow_secrets=False)[2]
            if secrets and not items[n].fields.immutable:
                why = f"Its text holds what looks like a secret ({', '.join(sorted(set(secrets)))})."
                yield Finding.about("secrets", {n: items[n]}, why, "take it out of the text")
