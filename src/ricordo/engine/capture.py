"""Looks for what sessions teach after they were taken in, and lets it wait for a review or keeps it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ricordo.config.files import PROJECT_FOLDER, is_left_alone
from ricordo.config.repository import repository_around
from ricordo.engine.context import EngineContext
from ricordo.engine.review import NEVER, ProposalDesk, own_engine, rule_name
from ricordo.speaking import speaker, speaking
from ricordo.values.items import Item, Parsed, Ref
from ricordo.values.kinds import SESSION
from ricordo.values.provenance import AGENT, Provenance
from ricordo.values.review import Proposal

if TYPE_CHECKING:
    from ricordo.memory.capture.finder import SaidTurn
    from ricordo.store.base import Store


MOST_TURNS = 4_000
"""Of a longer session, the last ones are looked at."""
MOST_SESSIONS = 20
"""Of many sessions that are taken in at once, as when Ricordo is set up, the last ones are looked at."""
LAST = 2**31 - 1


class Capturer:
    """Makes proposals from the sessions of one store."""

    def __init__(self, context: EngineContext, desk: ProposalDesk) -> None:
        self._context = context
        self._desk = desk

    @property
    def is_wanted(self) -> bool:
        return self._context.config.memory.capture != "off" and not self._context.unsynced_store.foreign

    def propose(self, refs: Sequence[str]) -> tuple[str, ...]:
        """Propose what these sessions teach; returns notes for the user."""
        if not self.is_wanted:
            return ()
        made: list[Proposal] = []
        for item in self._sessions(refs):
            made += self._found_in(item)
        return self.keep(made)

    def keep(self, made: Sequence[Proposal]) -> tuple[str, ...]:
        """Store proposals, and accept those that the user wants kept by themselves."""
        if not made:
            return ()
        self._context.store.proposals.add(made)
        everything = self._context.config.memory.capture == "accept"
        with speaking(Provenance(AGENT, "capture", made[0].session, speaker().via)):  # nobody has looked at it
            kept = self._desk.accept_by_rule(made, everything=everything)
        waiting = len(made) - kept
        told = []
        if kept:
            told.append(f"{_count(kept)} kept by {'itself' if kept == 1 else 'themselves'}")
        if waiting:
            told.append(f"{_count(waiting)} proposed: ricordo review")
        return tuple(told)

    def turns(self, session: str, first: int = 1) -> list[SaidTurn]:
        """What was said and done in a session from a turn on."""
        from ricordo.memory.capture.finder import turn_of

        store = self._context.unsynced_store
        count = store.threads.spans([session])[session].count
        items = store.threads.items(session, max(first, count - MOST_TURNS + 1), LAST)
        return [turn for turn in map(turn_of, items) if turn is not None]

    def unknown(self, found: Sequence[Proposal], session: str) -> list[Proposal]:
        """Those that the user does not know yet: not stored, not proposed before, and not refused as a kind."""
        from ricordo.memory.capture.finder import MOST, fresh

        rules = self._desk.rules()
        wanted = [one for one in found if rules.get(rule_name(one)) != NEVER]
        if not wanted:
            return []
        proposals = self._context.unsynced_store.proposals
        room = MOST - len(proposals.listing(session=session))
        return fresh(wanted, [one.text for one in proposals.listing()], self._is_stored, room)

    def _found_in(self, item: Item) -> list[Proposal]:
        from ricordo.memory.capture.finder import found_in

        session = item.fields.thread or ""
        found = found_in(self.turns(session), session=session, branch=str(item.fields.metadata.get("branch") or ""))
        if not self._is_of_here(str(item.fields.metadata.get("folder") or "")):
            found = [one for one in found if one.scope == "user"]
        return self.unknown(found, session)

    def _is_of_here(self, folder: str) -> bool:
        """Whether a session in a folder is about the project whose store is in use. What another project's session says
        of that project is no lesson for this one.
        """
        place = self._context.located.location.path.parent
        if not folder or self._context.located.location.address or place.name != PROJECT_FOLDER:
            return True
        if Path(folder).is_relative_to(place.parent):
            return True
        here, there = repository_around(place.parent), repository_around(Path(folder))
        return here is not None and there is not None and here.name == there.name

    def _sessions(self, refs: Sequence[str]) -> Iterator[Item]:
        """The stored sessions with these refs, without those in folders that the user wants left alone."""
        for item in self.stored(refs)[-MOST_SESSIONS:]:
            folder = str(item.fields.metadata.get("folder") or "")
            if not (folder and is_left_alone(Path(folder))):
                yield item

    def stored(self, refs: Sequence[str]) -> list[Item]:
        """The sessions themselves, in the order of their last change."""
        store = self._context.unsynced_store
        numbers = store.items.numbers([Ref.parse(ref) for ref in dict.fromkeys(refs)])
        items = store.items.get_many(list(numbers.values())).values()
        found = [item for item in items if item.fields.category == SESSION and item.fields.thread]
        return sorted(found, key=lambda item: item.updated_at)

    def _is_stored(self, text: str) -> bool:
        """Whether a memory says nearly the same, here or in the user's own store."""
        own = own_engine(self._context)
        stores = [self._context.store, *([own.store] if own is not None else [])]
        return any(self._is_in(store, text) for store in stores)

    def _is_in(self, store: Store, text: str) -> bool:
        from ricordo.ingest.pipeline import Incoming
        from ricordo.memory.capture.finder import says_the_same
        from ricordo.memory.duplicates import DuplicateFinder
        from ricordo.text.alike import plain_text

        item = self._context.pipeline.prepare(Incoming(Ref("memory", "/proposal"), Parsed(text), "memory", {}))
        alike = store.items.get_many(DuplicateFinder(store).alike(item)).values()
        contents = [store.items.get(store.items.require(one.ref)).content for one in alike]
        return any(says_the_same(text, content) or plain_text(text) in plain_text(content) for content in contents)


def _count(many: int) -> str:
    return "1 lesson is" if many == 1 else f"{many} lessons are"
