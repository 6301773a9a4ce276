"""Lets the user's language model read sessions for lessons, within a budget per day that is never passed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from ricordo.config.ignored import is_left_alone
from ricordo.config.loading import Config
from ricordo.engine.capturing import Capturer
from ricordo.engine.context import EngineContext
from ricordo.engine.model_budget import ModelBudget, OverBudget
from ricordo.errors import ContractError, Unavailable
from ricordo.memory.capture import by_model
from ricordo.models.base import LLM
from ricordo.values.hits import Filters
from ricordo.values.items import Item
from ricordo.values.kinds import SESSION
from ricordo.values.proposals import Proposal

MOST_SESSIONS = 50
DAYS = 7
"""Sessions that ended longer ago are not read."""


class ModelReader:
    """Reads what no model has read yet, and goes on the next day where the budget ended."""

    def __init__(self, context: EngineContext, capturer: Capturer) -> None:
        self._context = context
        self._capturer = capturer
        self._budget = ModelBudget(context)

    def read(self) -> tuple[str, ...]:
        """Read as much as today's budget allows; returns notes, of which the first says what may be spent."""
        settings = self._context.config
        if not self._budget.is_open or not self._capturer.is_wanted:
            return ()
        parts = self._parts()
        if not parts:
            return ()
        notes = [budget_in_words(settings)]
        try:
            llm = self._context.models.llm()
        except Unavailable as error:
            return (*notes, f"the language model cannot be asked: {error.message}")
        for group in by_model.batches(parts):
            stopped, found = self._ask(llm, group)
            notes += self._kept(group, found)
            if stopped:
                return (*notes, stopped)
        return tuple(notes)

    def _ask(self, llm: LLM, group: list[by_model.Part]) -> tuple[str, list[Proposal]]:
        """One call: why no other may follow (empty if one may), and what was found."""
        before, found = llm.usage, list[Proposal]()
        most = by_model.most_tokens(by_model.prompt_for(group))
        try:
            found = self._budget.spend(llm, most, lambda: by_model.asked(group, llm))
        except OverBudget as over:
            return f"the rest waits: a call of up to {over.tokens:,} tokens could pass today's budget", []
        except (ContractError, Unavailable) as error:
            if llm.usage == before:  # an answer that cannot be used was paid for, and would be the same again
                return f"the language model did not answer: {error.message}", []
        for part in group:
            self._context.store.proposals.note_read(part.session, part.last)
        return "", found

    def _kept(self, group: list[by_model.Part], found: list[Proposal]) -> tuple[str, ...]:
        notes: tuple[str, ...] = ()
        for part in group:
            own = [one for one in found if one.session == part.session]
            notes += self._capturer.keep(self._capturer.unknown(own, part.session))
        return notes

    def _parts(self) -> list[by_model.Part]:
        """What is unread, the oldest first."""
        store = self._context.unsynced_store
        read = store.proposals.read_by_model()
        filters = Filters(kinds=(SESSION,), categories=(SESSION,))
        recent = datetime.now(UTC) - timedelta(days=DAYS)
        found = []
        for _, item in reversed(store.items.listing(filters, MOST_SESSIONS, 0)):
            session = item.fields.thread or ""
            if item.updated_at < recent or _is_left_alone(item):
                continue
            turns = self._capturer.turns(session, read.get(session, 0) + 1)
            part = by_model.part_of(session, str(item.fields.metadata.get("branch") or ""), turns)
            if part is not None:
                found.append(part)
        return found


def budget_in_words(settings: Config) -> str:
    """What a model may cost in a day, which is said before it is asked."""
    dollars = settings.memory.model_dollars_per_day
    limit = f"{settings.memory.model_tokens_per_day:,} tokens" + ("" if dollars is None else f" and ${dollars:g}")
    return f"the language model may read and write up to {limit} a day to find lessons"


def _is_left_alone(item: Item) -> bool:
    folder = str(item.fields.metadata.get("folder") or "")
    return bool(folder) and is_left_alone(Path(folder))
