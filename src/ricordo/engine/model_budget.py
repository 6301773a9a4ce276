"""The tokens and dollars that the user's language model may cost in a day to look after the memory."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TypeVar

from ricordo.config.loading import Config
from ricordo.engine.context import EngineContext
from ricordo.models.base import LLM, LlmUsage
from ricordo.values.proposals import MODEL, Spent

MILLION = 1_000_000
T = TypeVar("T")


class OverBudget(Exception):  # noqa: N818 - it is no fault
    """A call could cost more than is left of the day's budget; ``tokens`` is the most that it can take."""

    def __init__(self, tokens: int) -> None:
        super().__init__(tokens)
        self.tokens = tokens


class ModelBudget:
    """Lets calls be made that cannot pass what is left of the day's budget."""

    def __init__(self, context: EngineContext) -> None:
        self._context = context

    @property
    def is_open(self) -> bool:
        """Whether there is a model, and a budget for it."""
        settings = self._context.config
        return bool(settings.memory.model_tokens_per_day) and settings.llm.provider != "none"

    def spend(self, llm: LLM, most_read: int, ask: Callable[[], T]) -> T:
        """Ask the model: the most it can cost is reserved before, and what it did cost is noted afterwards."""
        settings = self._context.config
        spending = self._context.store.spending
        expected = _expected(settings, most_read)
        number = spending.reserve(
            MODEL,
            expected,
            since=_midnight(),
            tokens=settings.memory.model_tokens_per_day,
            dollars=settings.memory.model_dollars_per_day,
        )
        if number is None:
            raise OverBudget(expected.tokens)
        before = llm.usage
        try:
            return ask()
        finally:
            spending.settle(number, _difference(before, llm.usage))


def _expected(settings: Config, read: int) -> Spent:
    """The most that a call can cost."""
    from ricordo.models.llm import price_of
    from ricordo.models.llm_providers import PROVIDERS

    written = settings.llm.max_tokens
    model = settings.llm.model or PROVIDERS[settings.llm.provider].model
    price = price_of(model, settings.llm.input_price, settings.llm.output_price)
    dollars = (read * price.read + written * price.written) / MILLION if price is not None else None
    return Spent(MODEL, 1, read, written, 0.0 if dollars is None and settings.llm.provider == "ollama" else dollars)


def _difference(before: LlmUsage, after: LlmUsage) -> Spent:
    cost = None if after.cost is None else after.cost - (before.cost or 0.0)
    read, written = after.input_tokens - before.input_tokens, after.output_tokens - before.output_tokens
    return Spent(MODEL, after.calls - before.calls, read, written, cost)


def _midnight() -> datetime:
    """When the day of the user's clock began."""
    return datetime.now().astimezone().replace(hour=0, minute=0, second=0, microsecond=0)
