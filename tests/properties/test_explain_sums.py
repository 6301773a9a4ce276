"""Whatever is stored, asked and weighed: explanations add up to the values that made the order."""

from __future__ import annotations

import math
import tempfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ricordo import Answer, ConfigProvider, Entry, Ricordo
from ricordo.search.profiles import built_in
from ricordo.search.signals import SIGNALS

WORDS = ["kettle", "copper", "tea", "steam", "the", "camelCase", "東京都", "été", "42", "pot"]
TAGS = ["metal", "Hot", "ops"]
DRIVES = {"note": "note", "memory": "memory", "document": "agent"}
DATES = ["1999-01-01", "2020-06-01", "2030-01-01", "2090-12-31"]
OWN = "own"
"""A user's profile in which every signal there is has its part."""


class Bag:
    """A text's vector is the sum of one fixed direction for each of its words."""

    fingerprint = "bag/1"
    is_remote = False
    dimensions = 8
    max_tokens = 256

    def embed_documents(self, texts: Sequence[str]) -> Any:
        rows = np.array([self.embed_query(text) for text in texts], np.float32)
        return rows.reshape(len(texts), self.dimensions)

    def embed_query(self, text: str) -> Any:
        total = np.full(self.dimensions, 1e-3)
        for word in text.lower().split():
            total += np.random.default_rng(zlib.crc32(word.encode())).normal(size=self.dimensions)
        return (total / np.linalg.norm(total)).astype(np.float32)


phrases = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
fields = st.fixed_dictionaries(
    {},
    optional={
        "title": phrases,
        "tags": st.lists(st.sampled_from(TAGS), max_size=3),
        "domain": st.sampled_from(["kitchen", "forge"]),
        "severity": st.sampled_from(["critical", "warning", "suggestion"]),
        "importance": st.integers(1, 5),
        "valid_from": st.sampled_from(DATES),
        "valid_until": st.sampled_from(DATES),
        "metadata": st.fixed_dictionaries({"mention_count": st.one_of(st.integers(-5, 500), st.text(max_size=3))}),
    },
)
items = st.lists(st.tuples(phrases, fields, st.sampled_from(list(DRIVES))), min_size=1, max_size=7)
links = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=4)
weight = st.one_of(st.just(0.0), st.floats(0.0, 1000.0), st.sampled_from([1.0, 0.1, 5e-324]))


@st.composite
def searches(draw: st.DrawFn) -> dict[str, Any]:
    profile = draw(st.sampled_from([*built_in(), OWN]))
    labels = list(built_in()[profile].signals) if profile != OWN else list(SIGNALS)
    chosen = draw(st.dictionaries(st.sampled_from(labels), weight, max_size=len(labels)))
    if chosen and not any(chosen.values()):
        chosen[labels[0]] = 1.0
    return {
        "query": draw(phrases) + draw(st.sampled_from(["", " -steam", " te*", ' "copper tea"', " kind:note"])),
        "profile": profile,
        "weights": chosen,
        "by": "both" if draw(st.booleans()) or profile == "vector" else "words",
        "boost_tags": draw(st.lists(st.sampled_from(TAGS), max_size=2)),
        "boost_domain": draw(st.sampled_from([None, "kitchen"])),
        "limit": draw(st.integers(1, 10)),
        "memories": profile == "vault" and draw(st.booleans()),
    }


def check(answer: Answer, search: dict[str, Any]) -> None:
    weights = answer.meta.weights
    assert math.isclose(math.fsum(weights.values()), 1.0, abs_tol=1e-9)
    assert all(value >= 0.0 for value in weights.values())
    assert all(weights[label] == 0.0 for label, value in search["weights"].items() if value == 0.0)
    order = []
    for hit in answer.hits:
        explain = hit.explain
        assert explain is not None
        for share in explain.signals:
            assert 0.0 <= share.value <= 1.0, share
            assert share.contribution == share.value * share.weight
            assert share.weight == weights.get(share.name, 1.0)
        assert sum(share.contribution for share in explain.signals) == explain.value
        assert hit.score == (explain.steps[-1][1] if explain.steps else min(1.0, explain.value))
        assert 0.0 <= hit.score <= 1.0
        counted = explain.steps[0][1] if hit.validity else explain.value
        order.append((-counted, "" if search["memories"] else hit.ref))
    assert order == sorted(order)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(items=items, waiting=phrases, links=links, asked=st.lists(searches(), min_size=3, max_size=6))
def test_contributions_add_up_to_the_value_that_orders_the_hits(
    items: list[tuple[str, dict[str, Any], str]],
    waiting: str,
    links: list[tuple[int, int]],
    asked: list[dict[str, Any]],
) -> None:
    with tempfile.TemporaryDirectory() as folder, patch("ricordo.registry.embedder", lambda config: Bag()):
        home = Path(folder)
        own = "\n".join(f'{name} = {{ signal = "{name}", weight = 1 }}' for name in SIGNALS)
        (home / "config.toml").write_text(f"[profiles.{OWN}.signals]\n{own}\n", encoding="utf-8")
        config = ConfigProvider(env={"RICORDO_CONFIG_HOME": folder, "RICORDO_DATA_HOME": folder}, start=home)
        with Ricordo.open(home / "store.db", config=config) as engine:
            engine.save_many(
                Entry(f"{DRIVES[kind]}:/{n}", text, kind, given) for n, (text, given, kind) in enumerate(items)
            )
            engine.save("note:/waiting", waiting, wait=False)
            refs = [item.ref for item in engine.list()]
            for source, target in links:
                if source % len(refs) != target % len(refs):
                    engine.link(refs[source % len(refs)], refs[target % len(refs)])
            for search in asked:
                check(engine.search(**search, explain=True, track=False), search)
