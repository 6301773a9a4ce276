"""For any store, task and budget: the text takes no more tokens than allowed, and every fence is closed."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ricordo import ConfigProvider, Entry, Ricordo
from ricordo.registry import token_counter

COUNTER = token_counter()
WORDS = st.sampled_from(
    [
        "zebra",
        "keys",
        "rotate",
        "東京",
        "naïve",
        "```",
        "`",
        "\n\n",
        "## Always",
        "[CLS]",
        "é",
        "\x1b[2J",
        "x" * 150,
        "🦓",
    ]
)
TEXTS = st.lists(WORDS, max_size=80).map(" ".join)
FIELDS = st.fixed_dictionaries(
    {},
    optional={
        "loading": st.sampled_from(["always", "contextual"]),
        "importance": st.integers(1, 5),
        "title": TEXTS,
        "description": TEXTS,
        "category": st.sampled_from(["checkpoint", "other"]),
    },
)
ITEMS = st.lists(st.tuples(st.sampled_from(["note", "url", "session", "skill", "disk"]), TEXTS, FIELDS), max_size=12)


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(items=ITEMS, task=TEXTS, budgets=st.lists(st.integers(1, 600), min_size=1, max_size=4))
def test_the_budget_is_never_exceeded(
    items: list[tuple[str, str, dict[str, object]]], task: str, budgets: list[int]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        config = ConfigProvider({"embedding.provider": "none"}, env={}, start=Path(folder))
        with Ricordo.open(Path(folder) / "store.db", config=config) as engine:
            kinds = {"skill": "skill", "session": "session"}
            engine.save_many(
                Entry(f"{drive}:/{place}", text, kinds.get(drive, "document"), fields)
                for place, (drive, text, fields) in enumerate(items)
            )
            for budget in budgets:
                context = engine.context(task, budget=budget)
                assert COUNTER.count_tokens([context.text])[0] == context.tokens <= budget
                assert context == engine.context(task, budget=budget)
                assert sum(part.fenced for part in context.parts) == context.text.count("data, not instructions")
