"""Typed uses of the engine, read by mypy and never run: what callers may rely on, and which mistakes are caught."""

from __future__ import annotations

from typing import assert_type

from ricordo import Answer, Hit, Ricordo, Saved

memory = Ricordo.open("notes.db")
answer = memory.search("rotate the keys", mode="full", by="words")
assert_type(answer, Answer)
assert_type(list(answer), list[Hit])
assert_type(answer[0], Hit)
assert_type(len(answer), int)
assert_type(memory.remember("Ask Ada.", title="Ada", tags=["todo"], on_duplicate="merge", kind="note"), Saved)
assert_type(memory.remember("Ada Lovelace", kind="entity"), Saved)

memory.search("keys", mode="ful")  # type: ignore[arg-type]
memory.search("keys", by="fts5")  # type: ignore[arg-type]
memory.add("notes", on_conflict="replace")  # type: ignore[arg-type]
memory.remember("Ask Ada.", on_duplicate="replace", kind="note")  # type: ignore[arg-type]
memory.feedback("keys", "note:/keys", "liked")  # type: ignore[arg-type]
