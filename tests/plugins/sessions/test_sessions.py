"""Sessions: transcripts become threads of events, each once, however they are read."""

from __future__ import annotations

import json
import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import import_trusted

from ricordo import Filters, NotFound, Ricordo, UsageError

FIXTURES = Path(__file__).with_name("fixtures")
CLAUDE = "3f2a91c0-6a60-4d34-9d0e-2f1f0a7b6c11"
CODEX = "019a2d7a-41c4-78b1-b7cc-a45d62a89cd5"


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    """A copy of the Claude Code transcript, to grow and to break."""
    return Path(shutil.copy(FIXTURES / f"{CLAUDE}.jsonl", tmp_path / f"{CLAUDE}.jsonl"))


def lines_of(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


def texts(engine: Ricordo, session: str = CLAUDE) -> list[str]:
    return [turn.text for turn in engine.session(session).turns]


def write_later(path: Path, data: bytes) -> None:
    """Write a file so that it is seen to have changed, however coarse its time is."""
    before = path.stat().st_mtime_ns if path.exists() else 0
    path.write_bytes(data)
    os.utime(path, ns=(before + 1_000_000_000, before + 1_000_000_000))


def talk(path: Path, *said: dict[str, Any]) -> Path:
    write_later(path, "".join(json.dumps(line) + "\n" for line in said).encode())
    return path


def user(text: str, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": text, **more}


def agent(text: str, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": text, **more}


def test_a_claude_code_transcript_becomes_turns_in_order_with_their_own_times(engine: Ricordo) -> None:
    report = engine.sessions_add(FIXTURES / f"{CLAUDE}.jsonl")
    assert [(saved.ref, saved.status) for saved in report.items] == [(f"session:/{CLAUDE}", "created")]
    session = engine.session(CLAUDE)
    assert [turn.seq for turn in session.turns] == list(range(1, 19))
    first, read, result = session.turns[0], session.turns[2], session.turns[3]
    assert (first.role, first.direction) == ("user", "received")
    assert first.text.endswith("Find out why and fix it."), "what the program added is not the person's"
    assert (read.tool, read.direction, read.files) == ("Read", "sent", ("/home/ada/shop/src/payment.py",))
    assert (result.tool, result.direction) == ("Read", "received")
    assert first.at.isoformat() == "2026-10-05T09:01:00+00:00"
    assert engine.get(first.ref, track=False).created_at == first.at
    said = " ".join(turn.text for turn in session.turns)
    assert "Let me look at" not in said, "thinking is left out"
    assert "Caveat" not in said
    assert any("1 brand-new-kind" in note for note in report.notes)


def test_the_title_is_that_of_this_session_and_not_of_another_one_summed_up_in_its_file(engine: Ricordo) -> None:
    engine.sessions_add(FIXTURES / f"{CLAUDE}.jsonl")
    session = engine.session(CLAUDE)
    assert session.facets.title == "Double charge on the checkout page"
    assert session.facets.summary.startswith("The checkout page charges customers twice")
    assert session.facets.tools == ("Bash", "Edit", "Read", "Write")
    assert session.facets.files[0] == "/home/ada/shop/src/payment.py"
    assert "testing" in session.facets.topics
    assert {"click", "button"} <= set(session.facets.keywords)
    assert (session.folder, session.branch, session.adapter) == ("/home/ada/shop", "main", "claude-code")


def test_a_codex_transcript_is_read_without_what_the_program_says_for_the_person(engine: Ricordo) -> None:
    engine.sessions_add(*FIXTURES.glob("rollout-2026*.jsonl"))
    session = engine.session(CODEX)
    assert session.turns[0].text == "Make the grain importer read gzip files."
    assert [turn.role for turn in session.turns] == ["user", "tool", "tool", "tool", "tool", "assistant"]
    assert session.turns[1].text == "shell: bash -lc rg -n open mill.py"
    assert session.turns[2].text == "12: with open(path) as f:"
    assert session.facets.files == ("mill.py", "gz.py")
    assert (session.folder, session.branch) == ("/home/ada/mill", "grain")


def test_an_older_codex_transcript_keeps_words_that_were_said_twice(engine: Ricordo) -> None:
    engine.sessions_add(FIXTURES / "rollout-2025-05-01-old.jsonl")
    session = engine.session("aa11bb22")
    assert [turn.text for turn in session.turns][-3:] == ["Renamed.", "ok", "ok"]
    assert {turn.at.isoformat() for turn in session.turns} == {"2025-05-01T08:00:00+00:00"}


def test_plain_lines_may_name_their_thread_and_are_then_sessions_of_their_own(engine: Ricordo) -> None:
    engine.sessions_add(FIXTURES / "chat.jsonl")
    by_title = {session.facets.title: session for session in engine.sessions()}
    assert [turn.text for turn in engine.session(by_title["And for rye?"].id).turns][-1] == "Rye ferments faster still."
    bread = engine.session(by_title["Bread at altitude"].id)
    assert [turn.role for turn in bread.turns] == ["user", "assistant", "user"]


def test_a_transcript_taken_in_twice_has_each_event_once(engine: Ricordo, transcript: Path) -> None:
    engine.sessions_add(FIXTURES)
    before = engine.count(), engine.session(CLAUDE)
    again = engine.sessions_add(FIXTURES)
    assert {saved.status for saved in again.items} == {"skipped"}
    copied = engine.sessions_add(transcript)  # the same session in another place
    assert copied.items[0].status == "skipped"
    assert (engine.count(), engine.session(CLAUDE)) == before
    assert len(engine.history(f"session:/{CLAUDE}")) == 1


def test_a_transcript_that_grows_line_by_line_has_each_event_once(engine: Ricordo, transcript: Path) -> None:
    engine.sessions_add(FIXTURES / f"{CLAUDE}.jsonl")
    whole = texts(engine)
    engine.rm(f"session:/{CLAUDE}/", purge=True)
    lines = lines_of(transcript)
    for end in range(1, len(lines) + 1):
        # the next line is there, but not whole yet
        cut = lines[end][: len(lines[end]) // 2] if end < len(lines) else b""
        write_later(transcript, b"".join(lines[:end]) + cut)
        engine.sessions_add(transcript)
    assert texts(engine) == whole
    assert engine.session(CLAUDE).facets.title == "Double charge on the checkout page"


def test_only_what_is_new_is_read(engine: Ricordo, transcript: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ricordo.plugins.sessions.transcripts import claude

    lines = lines_of(transcript)
    write_later(transcript, b"".join(lines[:10]))
    engine.sessions_add(transcript)
    read: list[Any] = []
    original = claude.ClaudeFormat.read

    def counting(self: Any, line: Any) -> Any:
        read.append(line)
        return original(self, line)

    monkeypatch.setattr(claude.ClaudeFormat, "read", counting)
    write_later(transcript, b"".join(lines[:12]))
    engine.sessions_add(transcript)
    assert len(read) == 2
    engine.sessions_add(transcript)
    assert len(read) == 2, "a file that did not change is not read"


def test_growing_notes_how_far_it_was_read_without_making_versions(engine: Ricordo, transcript: Path) -> None:
    lines = lines_of(transcript)
    write_later(transcript, b"".join(lines[:9]))
    engine.sessions_add(transcript)
    write_later(transcript, b"".join(lines[:9]) + b'{"type":"progress","sessionId":"x"}\n')
    assert engine.sessions_add(transcript).items[0].status == "skipped"
    assert len(engine.history(f"session:/{CLAUDE}")) == 1


def test_a_transcript_that_was_rewritten_is_read_anew_without_repeating_anything(
    engine: Ricordo, transcript: Path
) -> None:
    engine.sessions_add(transcript)
    before = texts(engine)
    lines = lines_of(transcript)
    summary = json.loads(lines[-4]) | {"uuid": "00000000-0000-4000-8000-00000000ffff", "isCompactSummary": True}
    summary |= {"type": "user", "message": {"role": "user", "content": "What came before: a double charge."}}
    write_later(transcript, json.dumps(summary).encode() + b"\n" + b"".join(lines[12:]))
    engine.sessions_add(transcript)
    assert texts(engine) == [*before, "What came before: a double charge."]


def test_plain_lines_said_twice_survive_growing_rewriting_and_a_process_that_died(
    engine: Ricordo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "talk.jsonl"
    engine.sessions_add(talk(path, user("again"), agent("yes")))
    name = engine.sessions()[0].id
    said = [user("again"), agent("yes"), user("again"), user("again")]
    with monkeypatch.context() as dying:  # written, but how far it was read is not noted
        dying.setattr(type(engine.store.files), "note", lambda self, states: None)
        engine.sessions_add(talk(path, *said))
    engine.sessions_add(talk(path, *said))
    engine.sessions_add(talk(path, *said, agent("yes")))
    assert texts(engine, name) == ["again", "yes", "again", "again", "yes"]
    engine.sessions_add(talk(path, user("first"), *said, agent("yes")))
    assert texts(engine, name) == ["again", "yes", "again", "again", "yes", "first"]


def test_a_process_that_dies_in_between_loses_and_repeats_nothing(
    engine: Ricordo, transcript: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ricordo.plugins.sessions import intake

    monkeypatch.setattr(intake, "BATCH", 4)
    calls = []

    def dies(self: Any, fresh: Any, original: Any = intake.SessionTaker._save) -> None:
        calls.append(fresh)
        if len(calls) == 3:
            raise KeyboardInterrupt
        original(self, fresh)

    monkeypatch.setattr(intake.SessionTaker, "_save", dies)
    with pytest.raises(KeyboardInterrupt):
        engine.sessions_add(transcript)
    engine.sessions_add(transcript)
    assert len(texts(engine)) == len(set(texts(engine))) == 18
    assert engine.session(CLAUDE).facets.tools == ("Bash", "Edit", "Read", "Write")


def test_a_long_transcript_gets_in_even_if_every_reader_is_stopped_early(
    engine: Ricordo, transcript: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ricordo.plugins.sessions import intake
    from ricordo.plugins.sessions.transcripts import claude

    monkeypatch.setattr(intake, "BATCH", 3)
    original = claude.ClaudeFormat.read
    read = 0

    def stops_early(self: Any, line: Any) -> Any:
        nonlocal read
        read += 1
        if read > 11:
            raise KeyboardInterrupt
        return original(self, line)

    monkeypatch.setattr(claude.ClaudeFormat, "read", stops_early)
    for _ in range(9):
        read = 0
        try:
            engine.sessions_add(transcript)
        except KeyboardInterrupt:
            continue
        break
    else:
        pytest.fail("it never got to the end")
    assert [turn.seq for turn in engine.session(CLAUDE).turns] == list(range(1, 19))
    assert len(set(texts(engine))) == 18
    assert engine.session(CLAUDE).facets.tools == ("Bash", "Edit", "Read", "Write")
    assert engine.route("customers charged twice").forks[0].turn == 7
    assert {fork.turn for fork in engine.route("test the double click").forks[:2]} == {14, 18}


def test_two_processes_at_once_take_each_event_once(open_engine: Callable[..., Ricordo], transcript: Path) -> None:
    engines = [open_engine(), open_engine()]
    barrier = threading.Barrier(2)

    def take(one: Ricordo) -> None:
        barrier.wait()
        one.sessions_add(transcript)

    workers = [threading.Thread(target=take, args=(one,)) for one in engines]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(texts(engines[0])) == len(set(texts(engines[0]))) == 18


def test_secrets_are_taken_out_and_counted_unless_they_are_allowed(engine: Ricordo, transcript: Path) -> None:
    report = engine.sessions_add(transcript)
    assert report.items[0].redacted == ("aws key",)
    assert any("1 secret was taken out (aws key)" in note for note in report.notes)
    assert engine.grep("AKIAIOSFODNN7EXAMPLE") == []
    engine.rm(f"session:/{CLAUDE}/", purge=True)
    engine.sessions_add(transcript, allow_secrets=True)
    assert len(engine.grep("AKIAIOSFODNN7EXAMPLE")) == 1


def test_a_secret_at_the_cut_of_a_long_output_is_found(engine: Ricordo, tmp_path: Path) -> None:
    padding = "x " * 362
    output = {"role": "tool", "tool": "Bash", "content": f"{padding}ghp_{'a1B2' * 9}{' y' * 4000}"}
    engine.sessions_add(talk(tmp_path / "talk.jsonl", user("show it"), output))
    stored = engine.session(engine.sessions()[0].id).turns[1].text
    assert "ghp_a1" not in stored
    assert "[redacted: github token]" in stored
    assert "characters left out" in stored


def test_bad_lines_are_reported_and_the_rest_is_kept(engine: Ricordo, tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    good = json.dumps(user("caf\u00e9 \ud83d and \u0000 nothing"))
    path.write_bytes(
        good.encode() + b"\nnot json\n[1, 2]\n\n" + b'{"role": "user", "content": "na\xefve"}\r\n'
        b'{"role": "user", "content": {"deep": 1}}\n{"role": "user", "content": "last", "timestamp": "someday"}'
    )
    report = engine.sessions_add(path)
    assert any("2 lines that cannot be read" in note for note in report.notes)
    said = texts(engine, engine.sessions()[0].id)
    assert said == ["caf\u00e9 \ufffd and \ufffd nothing", "na\u00efve", "last"]


def test_a_transcript_in_utf_16_is_read_too(engine: Ricordo, tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    said = [json.dumps(user(f"Grüße {n}"), ensure_ascii=False) for n in range(3)]
    write_later(path, "\n".join(said[:2]).encode("utf-16"))
    engine.sessions_add(path)
    write_later(path, "\n".join(said).encode("utf-16"))
    engine.sessions_add(path)
    assert texts(engine, engine.sessions()[0].id) == ["Grüße 0", "Grüße 1", "Grüße 2"]


def test_what_is_no_transcript_fails_when_named_and_is_passed_over_in_a_folder(engine: Ricordo, tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('{"price": 3}\n')
    (tmp_path / "empty.jsonl").write_text("")
    talk(tmp_path / "talk.jsonl", user("hello there"), agent("good day"))
    named = engine.sessions_add(tmp_path / "rows.jsonl", tmp_path / "missing.jsonl")
    assert [saved.status for saved in named.items] == ["failed", "failed"]
    assert [saved.error["code"] for saved in named.items if saved.error] == ["unreadable", "not_found"]
    below = engine.sessions_add(tmp_path)
    assert (below.count("created"), below.count("skipped"), below.failed) == (1, 2, 0)


def test_without_a_path_the_known_places_are_looked_at(
    engine: Ricordo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))
    assert "no transcripts" in engine.sessions_add().notes[0]
    project = tmp_path / "claude" / "projects" / "-home-ada-shop"
    project.mkdir(parents=True)
    shutil.copy(FIXTURES / f"{CLAUDE}.jsonl", project)
    shutil.copy(FIXTURES / f"{CLAUDE}.jsonl", project / "agent-1a2b.jsonl")
    day = tmp_path / "codex" / "sessions" / "2026" / "10" / "06"
    day.mkdir(parents=True)
    for file in FIXTURES.glob("rollout-2026*"):
        shutil.copy(file, day)
    assert engine.sessions_add().count("created") == 2
    assert {session.id for session in engine.sessions()} == {CLAUDE, CODEX}, "no helper's talk with the agent"


def test_a_session_that_was_removed_does_not_come_back_by_growing(engine: Ricordo, transcript: Path) -> None:
    lines = lines_of(transcript)
    write_later(transcript, b"".join(lines[:12]))
    engine.sessions_add(transcript)
    engine.rm(f"session:/{CLAUDE}/")
    write_later(transcript, b"".join(lines))
    report = engine.sessions_add(transcript)
    assert report.items[0].status == "skipped"
    assert "it was removed" in (report.items[0].reason or "")
    assert engine.sessions() == ()
    assert engine.route("double charge on the checkout page").forks == ()


def test_a_session_goes_with_its_turns_and_points_and_comes_back_with_them(engine: Ricordo, transcript: Path) -> None:
    engine.sessions_add(transcript)
    before = texts(engine)
    forks = [(fork.turn, fork.title) for fork in engine.route("double charge on the checkout page").forks]
    would = engine.rm(f"session:/{CLAUDE}", dry_run=True)
    assert len(would.items) == len(before) + 1
    assert engine.rm(f"session:/{CLAUDE}").count("removed") == len(before) + 1
    assert engine.search("checkout", track=False).hits == ()
    assert engine.doctor().ok
    engine.restore(f"session:/{CLAUDE}")
    assert texts(engine) == before
    assert [(fork.turn, fork.title) for fork in engine.route("double charge on the checkout page").forks] == forks
    assert not [hit for hit in engine.search("checkout", limit=100, track=False).hits if "checkpoints" in hit.ref]
    assert engine.sessions_add(transcript).count("skipped") == 1
    assert engine.doctor().ok


@pytest.mark.parametrize("name", [f"session:/{CLAUDE}/", f"session:/{CLAUDE}"])
def test_purging_a_session_leaves_none_of_its_words(engine: Ricordo, transcript: Path, name: str) -> None:
    engine.sessions_add(transcript)
    engine.rm(name, purge=True)
    assert engine.count(Filters(states=("live", "archived", "deleted"))) == 0
    assert "idempotency" not in Path(engine.location).read_bytes().decode("latin-1")


def test_turns_are_found_and_lend_each_other_their_scores(engine: Ricordo) -> None:
    engine.sessions_add(FIXTURES)
    refs = [hit.ref for hit in engine.search("idempotency key", track=False).hits]
    assert f"session:/{CLAUDE}/7" in refs[:2]
    in_thread = engine.search("test", filters=Filters(threads=(CLAUDE,)), limit=50, track=False).hits
    assert {hit.ref.split("/")[1] for hit in in_thread} == {CLAUDE}


def test_a_turn_is_shown_under_its_sessions_title_and_gets_no_version_by_it(engine: Ricordo, tmp_path: Path) -> None:
    engine.sessions_add(talk(tmp_path / "walk.jsonl", user("Plan a walk in the Harz"), agent("Start at Torfhaus.")))
    assert [hit.title for hit in engine.search("Torfhaus").hits[:1]] == ["Plan a walk in the Harz (assistant, turn 2)"]
    context = engine.context("Torfhaus")
    assert context.parts[0].title == "Plan a walk in the Harz (assistant, turn 2)"
    shown = (
        f"```text\n[{context.parts[0].ref} line 1] Plan a walk in the Harz (assistant, turn 2)\nStart at Torfhaus.\n```"
    )
    assert shown in context.text
    assert engine.get(context.parts[0].ref).version == 1
    engine.save("session:/gone/3", "They met at Brocken", kind="session", fields={"thread": "gone", "seq": 3})
    assert engine.search("Brocken").hits[0].title == "gone (turn 3)"


def test_a_session_is_named_by_the_beginning_of_its_id(engine: Ricordo) -> None:
    engine.sessions_add(FIXTURES)
    assert engine.session("3f2a").id == CLAUDE
    assert engine.session(f"session:/{CLAUDE}/4").id == CLAUDE
    assert [turn.seq for turn in engine.session("3f2a", first=5, limit=2).turns] == [5, 6]
    with pytest.raises(NotFound):
        engine.session("nobody")
    with pytest.raises(UsageError):
        engine.session("  ")


def test_sessions_survive_an_export(open_engine: Callable[..., Ricordo], transcript: Path, tmp_path: Path) -> None:
    first, second = open_engine("a"), open_engine("b")
    lines = lines_of(transcript)
    write_later(transcript, b"".join(lines[:14]))
    first.sessions_add(transcript)
    first.export(tmp_path / "all.jsonl")
    import_trusted(second, tmp_path / "all.jsonl")
    write_later(transcript, b"".join(lines))
    second.sessions_add(transcript)
    assert len(texts(second)) == 18
    assert second.route("customers are charged twice").forks[0].turn == 7
    assert second.doctor().ok


def test_a_forgotten_session_takes_its_turns_out_of_search_and_brings_them_back(
    engine: Ricordo, transcript: Path
) -> None:
    engine.sessions_add(transcript)
    [session] = engine.sessions()
    listed = {str(item.ref) for item in engine.list(limit=1000)}
    assert len(listed) > 2
    engine.forget(session.ref)
    assert engine.list(limit=1000) == []
    engine.restore(session.ref)
    assert {str(item.ref) for item in engine.list(limit=1000)} == listed
