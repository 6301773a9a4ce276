"""Merging two texts: every fact of both stays, and nothing is said twice."""

from __future__ import annotations

import pytest

from ricordo import Fields
from ricordo.memory.duplicates import holds_all, merged_fields, merged_text


@pytest.mark.parametrize(
    ("old", "new", "merged"),
    [
        ("Keys rotate quarterly.", "The keys rotate quarterly!", "Keys rotate quarterly."),
        ("Keys rotate quarterly.", "KEYS ROTATE QUARTERLY. Ask Ada.", "Keys rotate quarterly. Ask Ada."),
        ("A is true. C is true.", "B is true. C is true.", "A is true. C is true. B is true."),
        ("We recieve mail daily.", "We receive mail daily.", "We recieve mail daily."),
        ("- one thing\n- two things\n", "- two things\n- three things", "- one thing\n- two things\n- three things\n"),
        ("no end to this", "A second line.", "no end to this\nA second line."),
        ("Run:\n```\nmake all\n```", "Run:\n```\nmake all\n```\nThen rest.", "Run:\n```\nmake all\n```\nThen rest."),
        ("办公室在里斯本。", "办公室在里斯本。钥匙在大厅。", "办公室在里斯本。 钥匙在大厅。"),
    ],
)
def test_a_statement_stands_in_the_merged_text_once(old: str, new: str, merged: str) -> None:
    assert merged_text(old, new) == merged


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Deploy on 2026-01-01.", "Deploy on 2026-01-02."),
        ("The office is in Lisbon.", "The office is in London."),
        ("Deploy on Fridays.", "Never deploy on Fridays."),
        ("Ask Hansen first.", "Ask Hanson first."),
        ("The service is legal here.", "The service is illegal here."),
        ("Backups run daily.", "Backups run daily, unless the disk is full."),
        ("Ada reports to Bob.", "Bob reports to Ada."),
    ],
)
def test_statements_that_differ_in_a_fact_both_stay(old: str, new: str) -> None:
    assert merged_text(old, new) == f"{old} {new}"


def test_what_is_said_in_other_words_stands_once_and_what_is_opposite_is_never_dropped() -> None:
    kept = "Priya reviews all auth changes."
    assert merged_text(kept, "Auth changes must be reviewed by Priya.") == kept
    for one, other in (
        ("Host db1 has 64 GB.", "Host db2 has 64 GB."),
        ("Use pnpm, not npm.", "Use npm, not pnpm."),
        ("Never push to main.", "Never force-push to main."),
    ):
        assert merged_text(one, other) == f"{one} {other}"


def test_merging_the_same_again_changes_nothing() -> None:
    once = merged_text("Keys rotate quarterly. Ask Ada.", "Ask Bob.\n- also the list")
    assert merged_text(once, "Ask Bob.\n- also the list") == once
    assert holds_all(once, "Ask Bob. Keys rotate quarterly.")
    assert not holds_all(once, "Ask Bob. Keys rotate monthly.")


def test_fields_complete_each_other_and_remember_every_merge() -> None:
    old = Fields(title="Old", tags=("a", "b"), importance=2, metadata={"merged_from": [{"ref": "x"}], "k": 1})
    new = {"title": "New", "tags": ("b", "c"), "importance": 4, "domain": "ops", "metadata": {"k": 2, "j": 3}}
    merged = merged_fields(old, new, {"ref": "y"})
    assert (merged.title, merged.tags, merged.importance, merged.domain) == ("Old", ("a", "b", "c"), 4, "ops")
    assert merged.metadata == {"k": 1, "j": 3, "merged_from": [{"ref": "x"}, {"ref": "y"}]}
