"""Looks for what sessions teach after they were taken in, and lets it wait for a review or keeps it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ricordo.config.files import PROJECT_FOLDER, is_left_alone
from ricordo.config.repository import repository_around
from ricordo.engine.context import EngineContext
from ricordo.engine.review import (
    NEVER,
    ProposalDesk,
    ReviewVerbs,
    compared_memories,
    contradicted_memory,
    own_engine,
    rule_name,
)
from ricordo.speaking import speaker, speaking
from ricordo.values.items import Item, Ref
from ricordo.values.kinds import SESSION
from ricordo.values.log import CORRECTION, Proposal
from ricordo.values.provenance import AGENT, Provenance

if TYPE_CHECKING:
    from ricordo.models.local_onnx import LocalEmbedder

MOST_TURNS = 4_000
"""Of a longer session, the last ones are looked at."""
MOST_SESSIONS = 20
"""Of many sessions that are taken in at once, as when Ricordo is set up, the last ones are looked at."""
LAST = 2**31 - 1


def propose(engine: ReviewVerbs, refs: Sequence[str]) -> tuple[str, ...]:
    """Propose what these sessions teach, and accept what the user wants kept by itself; returns notes for the user."""
    context, desk = engine._context, engine._desk
    store, capture = context.unsynced_store, context.config.memory.capture
    if capture == "off" or store.foreign:
        return ()
    numbers = store.items.numbers([Ref.parse(ref) for ref in dict.fromkeys(refs)])
    items = store.items.get_many(list(numbers.values())).values()
    sessions = [item for item in items if item.fields.category == SESSION and item.fields.thread]
    sessions.sort(key=lambda item: item.updated_at)
    made: list[Proposal] = []
    for item in sessions[-MOST_SESSIONS:]:
        folder = str(item.fields.metadata.get("folder") or "")
        if not (folder and is_left_alone(Path(folder))):
            made += _lessons(context, desk, item, folder)
    if not made:
        return ()
    context.store.proposals.add(made)
    with speaking(Provenance(AGENT, "capture", made[0].session, speaker().via)):  # nobody has looked at it
        accepted = desk.accept_by_rule(made, everything=capture == "accept")
    waiting = len(made) - accepted
    notes = []
    if accepted:
        notes.append(f"{_count(accepted)} kept by {'itself' if accepted == 1 else 'themselves'}")
    if waiting:
        notes.append(f"{_count(waiting)} proposed: ricordo review")
    return tuple(notes)


def _lessons(context: EngineContext, desk: ProposalDesk, item: Item, folder: str) -> list[Proposal]:
    """What a session teaches that is new to the user: not stored, not proposed before, and not refused as a kind."""
    from ricordo.plugins.lessons.finder import MOST, found_in, fresh, turn_of

    store, session = context.unsynced_store, item.fields.thread or ""
    count = store.threads.spans([session])[session].count
    items = store.threads.items(session, max(1, count - MOST_TURNS + 1), LAST)
    turns = [turn for turn in map(turn_of, items) if turn is not None]
    branch = str(item.fields.metadata.get("branch") or "")
    proposals = found_in(turns, session=session, branch=branch, embedder=_shipped_model(context))
    is_of_here, rules = _is_of_here(context, folder), desk.rules()
    wanted = [one for one in proposals if (is_of_here or one.scope == "user") and rules.get(rule_name(one)) != NEVER]
    if not wanted:
        return []
    room = MOST - len(store.proposals.listing(session=session))
    before = [one.text for one in store.proposals.listing()]
    return [
        _against_memory(context, one) for one in fresh(wanted, before, lambda text: _is_stored(context, text), room)
    ]


def _shipped_model(context: EngineContext) -> LocalEmbedder | None:
    """The model in the package, whose vectors the weights are for; None if vectors are switched off."""
    if context.config.embedding.provider == "none":
        return None
    from ricordo.models.local_onnx import LocalEmbedder

    embedder = context.models.embedder()
    return embedder if isinstance(embedder, LocalEmbedder) else LocalEmbedder()


def _is_of_here(context: EngineContext, folder: str) -> bool:
    """Whether a session in a folder is about the project whose store is in use. What another project's session says
    of that project is no lesson for this one.
    """
    place = context.located.location.path.parent
    if not folder or context.located.location.address or place.name != PROJECT_FOLDER:
        return True
    if Path(folder).is_relative_to(place.parent):
        return True
    here, there = repository_around(place.parent), repository_around(Path(folder))
    return here is not None and there is not None and here.name == there.name


def _is_stored(context: EngineContext, text: str) -> bool:
    """Whether a memory says the same, here or in the user's own store."""
    from ricordo.memory.compare import SAME

    own = own_engine(context)
    stores = (context.store, *([own.store] if own is not None else []))
    return any(found.relation == SAME for store in stores for _, found in compared_memories(context, store, text))


def _against_memory(context: EngineContext, proposal: Proposal) -> Proposal:
    """The proposal; as a correction, if a memory of this store says the contrary."""
    contradicts = proposal.kind not in ("fix", "answer") and contradicted_memory(context, proposal.text)
    return replace(proposal, kind=CORRECTION) if contradicts else proposal


def _count(many: int) -> str:
    return "1 lesson is" if many == 1 else f"{many} lessons are"
