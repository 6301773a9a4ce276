"""What the tables of kinds and drives say. Each set is spelled out: a new row shows here what it changes."""

from __future__ import annotations

from ricordo.values import kinds


def test_kinds_are_those_of_the_specification() -> None:
    assert set(kinds.KINDS) == {
        "document", "article", "memory", "note", "entity", "resource", "entry", "skill", "session", "tool",
    }  # fmt: skip


def test_what_people_and_agents_remember_is_redacted_and_one_chunk() -> None:
    assert set(kinds.REMEMBERED_KINDS) == {"memory", "note", "entity", "resource", "entry"}
    assert {"memory", "note", "entity", "resource", "entry", "session"} == kinds.REDACTED_KINDS


def test_speech_and_notes_mention_entities() -> None:
    assert {"memory", "note", "entry", "session"} == kinds.MENTIONING_KINDS


def test_three_kinds_live_in_markdown_files() -> None:
    assert kinds.KNOWLEDGE_FOLDERS == {"memory": "memories", "note": "notes", "article": "articles"}
    assert {"agent", "memory", "note", "article", "entity", "resource", "entry"} == kinds.DRIVES_WITH_FILES


def test_only_files_and_pages_can_be_read_again() -> None:
    assert set(kinds.DRIVES) - kinds.DRIVES_WITHOUT_ORIGIN == {"disk", "url", "github", "google-docs"}


def test_pages_commits_sessions_tools_and_notes_of_programs_come_from_outside() -> None:
    assert {"url", "github", "google-docs", "git", "session", "tool", "program"} == kinds.OUTSIDE_DRIVES


def test_a_drive_named_after_a_kind_gives_that_kind() -> None:
    assert [kinds.kind_of_drive(drive) for drive in ("note", "skill", "disk", "url", "agent")] == [
        "note", "skill", "document", "document", "document",
    ]  # fmt: skip
