"""A conversation of the OpenAI Agents SDK: it is kept, read in part, taken back and forgotten."""

from __future__ import annotations

import asyncio

import pytest

from ricordo import Ricordo

pytest.importorskip("agents", reason="openai-agents is not installed (dependency group 'integrations')")
pytestmark = pytest.mark.filterwarnings("default")

from ricordo.integrations.openai_agents import RicordoSession  # noqa: E402 - only where the framework is

SAID = [{"role": "user", "content": f"Sentence {number}."} for number in range(3)]


def test_a_conversation_is_kept_read_in_part_taken_back_and_forgotten(engine: Ricordo) -> None:
    async def converse() -> None:
        session, other = (RicordoSession(name, engine) for name in ("a/b", "c"))
        assert await session.get_items() == []
        assert await session.pop_item() is None
        await session.add_items(SAID[:1])
        await session.add_items(SAID[1:])
        assert await session.get_items() == SAID
        assert await session.get_items(2) == SAID[1:]
        assert await session.get_items(9) == SAID
        assert await other.get_items() == []
        assert await session.pop_item() == SAID[2]
        assert await RicordoSession("a/b", engine).get_items() == SAID[:2]
        await session.clear_session()
        assert await session.get_items() == []

    asyncio.run(converse())
