"""Lets the user's language model say what a new memory contradicts, within the day's budget; else the rules decide."""

from __future__ import annotations

from collections.abc import Sequence

from ricordo.engine.context import EngineContext
from ricordo.engine.model_budget import ModelBudget, OverBudget
from ricordo.errors import ContractError, Unavailable


class ModelJudge:
    """Judges a text against stored ones; the same question is asked once."""

    def __init__(self, context: EngineContext) -> None:
        self._context = context
        self._budget = ModelBudget(context)
        self._known: dict[tuple[str, ...], list[str] | None] = {}

    def __call__(self, newer: str, older: Sequence[str]) -> list[str] | None:
        """Why the newer text contradicts each of some older ones; None if no model can say it now."""
        key = (newer, *older)
        if key not in self._known:
            self._known[key] = self._asked(newer, older) if older and self._budget.is_open else None
        return self._known[key]

    def _asked(self, newer: str, older: Sequence[str]) -> list[str] | None:
        from ricordo.memory.contradictions_by_model import judged, most_tokens, prompt_for

        try:
            llm = self._context.models.llm()
            return self._budget.spend(llm, most_tokens(prompt_for(newer, older)), lambda: judged(newer, older, llm))
        except (OverBudget, ContractError, Unavailable):
            return None
