"""The one language model of an engine: made when it is first needed, and what was asked of it so far."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ricordo.engine.context import OpenEngine

if TYPE_CHECKING:
    from ricordo.engine.models_in_use import ModelsInUse
    from ricordo.plugins.llm.language_model import LLM, LlmUsage


def language_model(models: ModelsInUse, *, unset: str = "none") -> LLM:
    """The language model that is set, not called yet; an error says what is missing.

    ``unset`` is the provider to use where the settings name none: a setting such as ``rerank.kind = llm`` asks for one.
    """
    from ricordo.plugins.llm.language_model import provided

    settings, is_unset = models.config.llm, models.config.source("llm.provider") == "default"
    chosen = replace(settings, provider=unset) if is_unset else settings
    return models.model("llm", chosen, lambda: provided(chosen))


class LanguageModelUse(OpenEngine):
    """Says how much the language model was used."""

    @property
    def llm_usage(self) -> LlmUsage | None:
        """What was asked of a language model since the store was opened; None when nothing was."""
        model: LLM | None = self._context.models.made("llm")
        return model.usage if model is not None and model.usage.calls else None
