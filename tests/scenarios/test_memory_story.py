"""A memory's life, as an agent and its user go through it."""

from __future__ import annotations

import time
from datetime import UTC, datetime

from ricordo import Ricordo


def moment() -> datetime:
    """A time that lies strictly between what was done before and what is done after."""
    time.sleep(0.002)
    now = datetime.now(UTC)
    time.sleep(0.002)
    return now


def test_what_an_agent_learns_stays_true(meaning: Ricordo) -> None:
    agent = meaning

    def answers(question: str, **options: object) -> list[str]:
        hits = agent.search(question, mode="full", **options).hits  # type: ignore[arg-type]
        return [hit.item.content for hit in hits if hit.item is not None]

    # On Monday the agent learns where the office is, and files it under a name a person can read.
    learned = agent.remember("The office is in Lisbon, near the river.", tags=["office"], source="agent")
    assert learned.ref == "memory:/the-office-is-in-lisbon-near-the-river"
    assert answers("where is the office") == ["The office is in Lisbon, near the river."]

    # It hears the same again, and does not keep it twice.
    heard_again = agent.remember("the office is in Lisbon,  near the river.", source="agent")
    assert (heard_again.status, heard_again.ref) == ("skipped", learned.ref)

    # Something very close comes up. It is asked what to do, and until then nothing is written.
    close = agent.remember("The office is in Lisbon, near the river. It has a terrace.", source="agent")
    assert close.status == "needs_decision"
    assert [one.ref for one in close.candidates] == [learned.ref]
    assert agent.count() == 1
    merged = agent.remember(
        "The office is in Lisbon, near the river. It has a terrace.", source="agent", on_duplicate="merge"
    )
    assert (merged.ref, merged.status, merged.version) == (learned.ref, "updated", 2)
    assert "terrace" in agent.get(learned.ref).content

    before_the_move = moment()

    # The company moves. The correction takes the old memory's place.
    corrected = agent.correct(learned.ref, "The office is in Porto, above the bakery.", source="agent")
    assert answers("where is the office") == ["The office is in Porto, above the bakery."]
    assert agent.get(corrected.ref).fields.tags == ("office",)
    assert [(link.type, link.ref) for link in agent.links(corrected.ref).links] == [("corrects", learned.ref)]

    after_the_move = moment()

    # What was true then is still known: as of then, and in the history of the old memory.
    assert "Lisbon" in answers("where is the office", as_of=before_the_move)[0]
    assert answers("where is the office", as_of=after_the_move) == ["The office is in Porto, above the bakery."]
    assert [version.number for version in agent.history(learned.ref)] == [2, 1]
    assert agent.get(learned.ref, version=1).content == "The office is in Lisbon, near the river."

    # The lease ends; the user has it forgotten. Searches find nothing, but nothing is lost.
    assert [saved.status for saved in agent.forget(corrected.ref).items] == ["archived"]
    assert answers("where is the office") == []
    assert answers("where is the office", as_of=after_the_move) == ["The office is in Porto, above the bakery."]

    # The lease is renewed after all.
    restored = agent.restore(corrected.ref)
    assert (restored.ref, restored.status, restored.version) == (corrected.ref, "updated", 2)
    assert answers("where is the office") == ["The office is in Porto, above the bakery."]
    assert answers("which building are we in", by="meaning") == ["The office is in Porto, above the bakery."]
    assert agent.doctor().ok
