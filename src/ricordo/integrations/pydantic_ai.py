"""Pydantic AI: a toolset, ``Agent(model, toolsets=[memory_toolset(memory)])``."""

from __future__ import annotations

from typing import Any

from ricordo.integrations.actions import actions, missing

try:
    from pydantic_ai import FunctionToolset
except ImportError:
    raise missing("pydantic-ai", "Pydantic AI") from None

__all__ = ["memory_toolset"]


def memory_toolset(memory: Any) -> FunctionToolset[Any]:
    """Tools for an agent: search_memory, read_memory, remember, memory_context."""
    return FunctionToolset(list(actions(memory)), docstring_format="google", require_parameter_descriptions=True)
