"""What stands in <private> tags is kept nowhere: not in texts, vectors, logs, sessions or exports."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.memory.conftest import Opens

from ricordo import Ricordo, UsageError
from ricordo.secrets.private import without_private
from ricordo.speaking import speaking
from ricordo.values.provenance import Provenance

HIDDEN = "Zanzibarine"
SAID = f"The launch is on Monday. <private>Do not tell {HIDDEN} of it.</private> Ask Ada first."
FORMS: dict[str, list[dict[str, Any]]] = {
    "plain": [{"role": "user", "content": SAID}, {"role": "assistant", "content": f"Yes. <PRIVATE>{HIDDEN}"}],
    "claude": [
        {"type": "user", "uuid": "u1", "sessionId": "s1", "timestamp": "2026-11-01T10:00:00Z",
         "message": {"role": "user", "content": SAID}},
        {"type": "assistant", "uuid": "u2", "sessionId": "s1", "timestamp": "2026-11-01T10:00:05Z",
         "message": {"role": "assistant", "content": [{"type": "text", "text": f"Fine <private>{HIDDEN}</private>."}]}},
    ],
}  # fmt: skip


def bytes_of(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def everything(engine: Ricordo) -> str:
    """All that a store holds, as text, with its free pages cleared."""
    engine.close()
    with closing(sqlite3.connect(engine.location)) as db:
        return "\n".join(db.iterdump())


def test_what_is_private_is_kept_nowhere_and_the_rest_is(opens: Opens, tmp_path: Path) -> None:
    engine = opens()
    memory = engine.remember(SAID, tags=[f"<private>{HIDDEN}</private>"])
    assert memory.redacted == ("private", "private")
    assert engine.get(memory.ref).content == "The launch is on Monday. [private] Ask Ada first."
    engine.save("note:/launch", SAID, allow_secrets=True)
    engine.edit("note:/launch", SAID.replace("Monday", "Friday"))
    assert engine.search(f"launch <private>{HIDDEN}</private> Ada").hits[0].ref in (str(memory.ref), "note:/launch")
    engine.context(f"When is the launch? <private>{HIDDEN}")
    engine.feedback(f"launch <private>{HIDDEN}</private>", "note:/launch", "accepted")
    with speaking(Provenance("agent", "pi", via="mcp")):
        engine.save("article:/launch", SAID)
        engine.search(f"launch <private>{HIDDEN}")
    exported = tmp_path / "out.jsonl"
    engine.export(exported)
    assert HIDDEN.encode() not in bytes_of(tmp_path)
    assert "launch" in str(engine.log().questions)
    assert HIDDEN not in everything(engine)


@pytest.mark.parametrize("form", sorted(FORMS))
@pytest.mark.parametrize("allow_secrets", [False, True])
def test_what_is_private_in_a_session_is_not_read(opens: Opens, tmp_path: Path, form: str, allow_secrets: bool) -> None:
    engine = opens()
    transcript = tmp_path / "s1.jsonl"
    transcript.write_text("".join(f"{json.dumps(line)}\n" for line in FORMS[form]), encoding="utf-8")
    engine.sessions_add(transcript, allow_secrets=allow_secrets)
    stored = everything(engine)
    assert "The launch is on Monday. [private] Ask Ada first." in stored
    assert HIDDEN not in stored
    transcript.unlink()
    assert HIDDEN.encode() not in bytes_of(tmp_path)


def test_a_memory_of_nothing_but_what_is_private_is_refused(opens: Opens) -> None:
    with pytest.raises(UsageError, match="all of it is private"):
        opens().remember(f"<private>{HIDDEN}</private>")


def test_files_are_read_as_they_are(opens: Opens, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("The tag <private> begins a part that is left out.", encoding="utf-8")
    engine = opens()
    engine.add(page)
    assert "begins a part" in engine.search("tag begins part").hits[0].snippet


@given(st.lists(st.sampled_from(["<private>", "</private>", "<Private >", "a", " ", "<", "b<c"]), max_size=12))
def test_nothing_of_a_private_part_is_left(parts: list[str]) -> None:
    depth, public = 0, ""
    for part in parts:
        if part.lower().startswith(("<private", "</private")):
            depth = depth + 1 if part[1] != "/" else max(0, depth - 1)
        elif depth == 0:
            public += part
    assert without_private("".join(parts), "").replace("</private>", "") == public
