"""Hooks: JSON in, JSON out, always exit 0, always in time, and never a word of what went wrong but in the log."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from ricordo import Ricordo, hook_log
from ricordo.config.loading import trust
from ricordo.engine.context import LEFT_OUT, SETTINGS_LEFT_OUT, TOO_SLOW, UNREAD
from ricordo.hooks.answers import NO_STORE, NOTHING_TOLD, run
from ricordo.hooks.pipe import Outlet

KEYS = "The signing keys rotate every quarter, on the first Monday."
RULE = "Run the linter before every commit."
PATIENCE = 300
"""Seconds after which a process hangs for certain; work in these tests that should be cut off takes longer."""


class Hooks:
    """Calls hooks as an agent's program does, in a project of its own."""

    def __init__(self, house: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        self.house = house
        self.patch = monkeypatch
        self.set(RICORDO_EMBEDDING_PROVIDER="none", RICORDO_HOOKS_SECONDS="30")

    def set(self, **variables: str) -> None:
        for name, value in variables.items():
            self.patch.setenv(name, value)

    def call(self, *args: str, content: bytes | None = None, code: str = "", **payload: Any) -> Any:
        """The answer of a process; its exit code is 0 and standard error empty, whatever happens."""
        command = [sys.executable, "-c", code] if code else [sys.executable, "-P", "-m", "ricordo", "hook"]
        waits = [] if code else ["--within", "120"]  # a busy machine may take long to start the process
        content = json.dumps(payload).encode() if content is None else content
        done = subprocess.run(
            [*command, *args, *waits], input=content, capture_output=True, check=False, timeout=PATIENCE
        )
        assert (done.returncode, done.stderr) == (0, b"")
        if not done.stdout:
            return None
        assert done.stdout.count(b"\n") == 1
        return json.loads(done.stdout)

    def answer(self, event: str, content: bytes | None = None, **payload: Any) -> Any:
        """The answer as it would be said, without the process around it."""
        content = json.dumps(payload).encode() if content is None else content
        said: list[bytes] = [b"answer {}\n"]
        run(event, content, Outlet(said.append, time.monotonic()))
        return json.loads([line for line in said if line.startswith(b"answer ")][-1][7:])

    def shown(self, event: str, **payload: Any) -> str:
        answer = self.answer(event, **payload)
        return str(answer["hookSpecificOutput"]["additionalContext"]) if answer else ""

    @property
    def log(self) -> str:
        path = Path(os.environ["RICORDO_STATE_HOME"], "hooks.log")
        return path.read_text(encoding="utf-8") if path.exists() else ""


@pytest.fixture
def hooks(house: Any, monkeypatch: pytest.MonkeyPatch) -> Hooks:
    """Where nothing is known yet."""
    return Hooks(house, monkeypatch)


@pytest.fixture
def known(hooks: Hooks) -> Hooks:
    """Where a project knows a rule and a fact."""
    hooks.house.run("init")
    hooks.house.run("remember", KEYS, "--tag", "ops")
    hooks.house.run("remember", RULE, "--loading", "always")
    return hooks


def test_a_prompt_is_told_what_is_known_about_it(known: Hooks) -> None:
    assert known.answer("user-prompt", prompt="When do we rotate the signing keys?", cwd="/") == {}  # another store
    folder = str(known.house.folder)
    answer = known.call("user-prompt", prompt="When do we rotate the signing keys?", session_id="s", cwd=folder)
    assert list(answer) == ["hookSpecificOutput"]
    assert list(answer["hookSpecificOutput"]) == ["hookEventName", "additionalContext"]
    assert answer["hookSpecificOutput"]["hookEventName"] == "UserPromptSubmit"
    shown = answer["hookSpecificOutput"]["additionalContext"]
    assert KEYS in shown
    assert RULE not in shown  # that was told when the session started
    assert known.shown("user-prompt", prompt="Paint the garden fence green tomorrow") == ""


def test_a_prompt_with_many_quotation_marks_is_read_as_prose(known: Hooks) -> None:
    prompt = 'When do we "rotate" the signing "keys"? "Nobody" said "when", -again.'
    assert KEYS in known.shown("user-prompt", prompt=prompt)


def test_a_prompt_in_a_project_is_answered_late_rather_than_never(known: Hooks) -> None:
    """The user has a store of their own besides, so that two are searched, each for a part of the time."""
    with Ricordo.open(start=known.house.folder.parent) as own:
        own.remember("The harbour opens at seven.")
    said: list[bytes] = []
    content = json.dumps({"prompt": "When do we rotate the signing keys?", "cwd": str(known.house.folder)}).encode()
    run("user-prompt", content, Outlet(said.append, time.monotonic() - 40, within=120))  # the 30 seconds have passed
    assert KEYS.encode() in b"".join(said), known.log


def test_a_session_and_an_agent_are_told_what_is_always_to_be_known(known: Hooks) -> None:
    assert RULE in known.shown("session-start", hook_event_name="SessionStart", source="startup")
    shown = known.shown(
        "before-agent-start", hook_event_name="SubagentStart", prompt="Find when the signing keys rotate"
    )
    assert RULE in shown
    assert KEYS in shown


def test_an_agent_is_told_what_its_task_in_the_transcript_needs(known: Hooks) -> None:
    def call(kind: str, prompt: str) -> str:
        block = {"type": "tool_use", "name": "Task", "input": {"subagent_type": kind, "prompt": prompt}}
        return json.dumps({"type": "assistant", "message": {"role": "assistant", "content": [block]}})

    lines = [call("Explore", "Look up how the signing keys rotate"), '{"half', call("Plan", "Paint the fence")]
    transcript = known.house.write("t.jsonl", "\n".join(lines))
    payload = {"hook_event_name": "SubagentStart", "agent_id": "a", "transcript_path": str(transcript)}
    assert KEYS in known.shown("before-agent-start", agent_type="Explore", **payload)
    assert KEYS not in known.shown("before-agent-start", agent_type="Plan", **payload)
    assert RULE in known.shown("before-agent-start", agent_type="Unknown", **payload)


def test_agents_started_in_one_message_are_all_told_what_their_own_tasks_need(known: Hooks) -> None:
    """Claude Code does not say which of the tasks an agent is for, so each is told about all that are open."""
    known.house.run("remember", "The garden fence is painted with linseed oil paint.")

    def call(number: int, prompt: str) -> dict[str, Any]:
        given = {"subagent_type": "Explore", "prompt": prompt}
        return {"type": "tool_use", "id": f"call-{number}", "name": "Task", "input": given}

    def line(role: str, *blocks: dict[str, Any]) -> str:
        return json.dumps({"type": role, "message": {"role": role, "content": list(blocks)}})

    done = {"type": "tool_result", "tool_use_id": "call-0", "content": "It was found."}
    lines = [
        line("assistant", call(0, "Find the deployment checklist")),
        line("user", done),
        line("assistant", call(1, "Look up how the signing keys rotate")),
        line("assistant", call(2, "Find out how the garden fence is painted")),
    ]
    transcript = known.house.write("t.jsonl", "\n".join(lines))
    for agent in ("a", "b"):
        shown = known.shown("before-agent-start", agent_id=agent, agent_type="Explore", transcript_path=str(transcript))
        assert KEYS in shown
        assert "linseed oil" in shown
        assert "# If your task is: 'Look up how the signing keys rotate'" in shown
        assert "deployment checklist" not in shown
        assert shown.count(RULE) == 1


def test_what_hooks_answered_before_is_no_part_of_a_prompt(known: Hooks) -> None:
    context = "<hook_context>## From memory: the signing keys rotate</hook_context>"
    assert known.shown("user-prompt", prompt=f"Paint the garden fence green\n\n{context}") == ""
    assert known.shown("user-prompt", prompt=f"yes, go on\n{context}") == ""
    assert KEYS in known.shown("user-prompt", prompt=f"When do we rotate the signing keys?\n\n{context}")


def _session(known: Hooks, name: str, *turns: dict[str, Any]) -> None:
    lines = [json.dumps({"timestamp": "2026-11-14T10:00:00Z", "thread": name} | turn) for turn in turns]
    transcript = known.house.write(f"{name}.jsonl", "\n".join(lines) + "\n")
    known.house.run("sessions", "add", str(transcript))


def test_a_question_is_not_answered_with_itself_from_earlier_sessions(known: Hooks) -> None:
    for number in range(60):
        _session(known, f"s{number}", {"role": "user", "content": f"When do we rotate the signing keys? ({number})"})
    shown = known.shown("user-prompt", prompt="When do we rotate the signing keys?")
    assert KEYS in shown
    assert "session:/" not in shown


def test_a_session_is_not_told_what_was_said_in_it(known: Hooks) -> None:
    said = [
        {"role": "user", "content": "Why does the zebra importer drop a row?"},
        {"role": "assistant", "content": "The zebra importer reads one row too few because of its header."},
    ]
    _session(known, "mine", *said)
    question = {"prompt": "What was wrong with the zebra importer's header row?"}
    assert "one row too few" in known.shown("user-prompt", session_id="another", **question)
    assert known.shown("user-prompt", session_id="mine", **question) == ""
    assert "zebra" in known.shown("session-start", session_id="another", source="startup")
    assert "zebra" not in known.shown("session-start", session_id="mine", source="compact")


def test_results_of_our_own_tools_are_not_taken_in(known: Hooks) -> None:
    def line(role: str, block: dict[str, Any]) -> dict[str, Any]:
        message = {"role": role, "content": [block]}
        return {"type": role, "uuid": f"{role}-{block['type']}", "sessionId": "own", "message": message}

    call = {"type": "tool_use", "id": "c1", "name": "mcp__ricordo__search", "input": {"query": "zebra importer"}}
    result = {"type": "tool_result", "tool_use_id": "c1", "content": "hits: the zebra importer drops a row"}
    asked = {"type": "text", "text": "Look it up, please."}
    lines = [line("user", asked), line("assistant", call), line("user", result)]
    transcript = known.house.write("own.jsonl", "".join(json.dumps(one) + "\n" for one in lines))
    known.house.run("sessions", "add", str(transcript))
    assert [hit["ref"] for hit in known.house.json("search", "zebra importer")["hits"]] == []


def test_an_empty_transcript_is_no_error(known: Hooks) -> None:
    snapshot = '{"type": "file-history-snapshot", "messageId": "m", "snapshot": {}}\n'
    for name, content in (("a.jsonl", ""), ("b.jsonl", "\n"), ("c.jsonl", snapshot)):
        added = known.house.json("sessions", "add", str(known.house.write(name, content)))
        assert (added["failed"], added["items"][0]["status"]) == (0, "skipped")
    assert known.house.json("sessions", "list")["sessions"] == []


def test_the_answer_has_the_name_and_the_shape_that_the_program_knows(known: Hooks) -> None:
    prompt = "How often are signing keys rotated?"
    gemini = known.answer("user-prompt", hook_event_name="BeforeAgent", prompt=prompt)
    assert gemini["hookSpecificOutput"]["hookEventName"] == "BeforeAgent"
    odd = known.answer("user-prompt", hook_event_name="<script>", prompt=prompt)
    assert odd["hookSpecificOutput"]["hookEventName"] == "UserPromptSubmit"
    roots = [str(known.house.folder)]
    cursor = known.answer("session-start", hook_event_name="sessionStart", workspace_roots=roots, conversation_id="c")
    assert list(cursor) == ["additional_context"]
    assert RULE in cursor["additional_context"]
    asked = known.answer("user-prompt", hook_event_name="beforeSubmitPrompt", workspace_roots=roots, prompt=prompt)
    assert asked["continue"] is True, "a prompt is never held back"
    assert KEYS in asked["additional_context"]


def test_a_command_word_is_no_part_of_what_is_asked(known: Hooks) -> None:
    assert known.shown("user-prompt", prompt="/compact") == ""
    assert KEYS in known.shown("user-prompt", prompt="/explain the rotation of signing keys")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b" \n",
        b"nope",
        b"[]",
        b'"text"',
        b'{"prompt": "half',
        b"\xff\xfe\x00",
        "{'prompt': 'é'}".encode("latin-1"),
        b'{"a":' * 100_000,
        b'{"prompt": {"nested": 1}, "cwd": 3, "transcript_path": ["x"], "hook_event_name": null}',
        b'{"prompt": "' + b"x" * 9_000_000 + b'"}',
    ],
    ids=range(11),
)
def test_a_bad_payload_is_answered_with_nothing(known: Hooks, content: bytes) -> None:
    assert known.answer("user-prompt", content) == {}
    assert known.log.count("user-prompt: ") == (0 if b"nested" in content else 1)


def test_odd_characters_and_long_prompts_are_still_answered(known: Hooks) -> None:
    odd = b'{"prompt": "when are \\ud800 signing keys \\u0000 rotated", "cwd": "relative", "transcript_path": "/no"}'
    assert KEYS in known.answer("user-prompt", odd)["hookSpecificOutput"]["additionalContext"]
    wide = json.dumps({"prompt": "when are the signing keys rotated"}).encode("utf-16")
    assert KEYS in known.answer("user-prompt", wide)["hookSpecificOutput"]["additionalContext"]
    known.answer("user-prompt", prompt="signing keys " * 200_000)
    assert known.log == ""


@pytest.mark.parametrize("args", [("bogus",), (), ("user-prompt", "--bogus", "x", "--store"), ("--tier", "none", "x")])
def test_a_wrong_call_is_answered_with_nothing_too(hooks: Hooks, args: tuple[str, ...]) -> None:
    assert hooks.call(*args, prompt="When do we rotate the keys?") == {}
    assert hooks.log


def test_where_there_is_no_store_none_is_made(hooks: Hooks) -> None:
    transcript = hooks.house.write("t.jsonl", "{}\n")
    for event in ("session-start", "user-prompt", "before-agent-start", "pre-compact", "session-end"):
        told = hooks.shown(event, prompt="When do we rotate the keys?", transcript_path=str(transcript))
        assert told == (f"Ricordo: {NO_STORE}" if event == "session-start" else "")
    made = [path.name for path in hooks.house.folder.parent.rglob("*") if path.is_file()]
    assert sorted(made) == ["hooks.log", "t.jsonl"]
    assert hooks.log.count("there is no store") == 5


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals")
def test_a_person_at_a_terminal_is_told_where_the_reason_for_no_answer_is(hooks: Hooks) -> None:
    lead, follow = os.openpty()
    command = [sys.executable, "-P", "-m", "ricordo", "hook", "user-prompt"]
    done = subprocess.run(command, input=b'{"prompt": "How?"}', stdout=subprocess.PIPE, stderr=follow, check=True)
    os.close(follow)
    assert (done.stdout, b"hooks.log" in os.read(lead, 4096)) == (b"{}\n", True)
    os.close(lead)


def test_a_store_that_cannot_be_read_is_said_when_a_session_starts_and_prompts_get_nothing(known: Hooks) -> None:
    store = known.house.folder / ".ricordo" / "ricordo.db"
    for beside in store.parent.glob("ricordo.db*"):
        beside.unlink()
    store.write_bytes(b"not a database" * 1000)
    before = store.read_bytes()
    assert known.call("user-prompt", prompt="When do we rotate the signing keys?") == {}
    assert store.read_bytes() == before
    assert "CorruptStore" in known.log
    (store.parent / "config.toml").write_text("hooks = ")
    assert known.shown("session-start") == f"Ricordo: {NOTHING_TOLD}"


@pytest.mark.parametrize("is_trusted", [False, True])
@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("config.toml", "hooks = ", SETTINGS_LEFT_OUT),
        ("config.toml", "[hooks]\nbudget = -7\n", SETTINGS_LEFT_OUT),
        ("config.toml", "[search]\nlimt = 3\n", SETTINGS_LEFT_OUT),
        ("ricordo.db", "not a database" * 1000, LEFT_OUT),
    ],
)
def test_what_is_broken_in_a_project_keeps_nothing_of_the_users_own_from_being_told(
    hooks: Hooks, name: str, text: str, said: str, is_trusted: bool
) -> None:
    with Ricordo.open(start=hooks.house.folder.parent) as own:
        own.remember(RULE, loading="always")
    place = hooks.house.folder / ".ricordo"
    place.mkdir(exist_ok=True)
    (place / name).write_text(text)
    if is_trusted:
        trust(place / name)
    shown = hooks.shown("session-start", cwd=str(hooks.house.folder))
    assert RULE in shown
    assert shown.endswith(f"Ricordo: {said}")


def test_a_project_with_very_many_new_files_keeps_nothing_of_the_users_own_from_being_told(hooks: Hooks) -> None:
    with Ricordo.open(start=hooks.house.folder.parent) as own:
        own.remember(RULE, loading="always")
    hooks.house.run("init")
    notes = hooks.house.folder / ".ricordo" / "knowledge" / "notes"
    notes.mkdir(parents=True)
    for number in range(300):
        (notes / f"{number}.md").write_text(f"The otter {number} swims.")
    hooks.set(RICORDO_HOOKS_SECONDS="2")
    shown = hooks.shown("session-start", cwd=str(hooks.house.folder))
    assert RULE in shown
    assert shown.endswith(f"Ricordo: {UNREAD}")
    assert hooks.answer("user-prompt", prompt="Where does otter 17 swim?", cwd=str(hooks.house.folder)) == {}
    assert "300 created" in hooks.house.run("sync").output
    assert UNREAD not in hooks.shown("session-start", cwd=str(hooks.house.folder))


def test_what_the_user_tells_every_agent_is_offered_before_a_project_is_opened(
    known: Hooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Ricordo.open(start=known.house.folder.parent) as own:
        own.remember("Never push to main.", loading="always")
    opened: list[int] = []
    opens = Ricordo.open

    def counted(*args: Any, **options: Any) -> Ricordo:
        opened.append(len(offered))
        return opens(*args, **options)

    monkeypatch.setattr(Ricordo, "open", counted)
    offered: list[str] = []

    def hear(part: bytes) -> None:
        offered.extend(line for line in part.decode().splitlines() if line.startswith("answer "))

    content = json.dumps({"cwd": str(known.house.folder)}).encode()
    run("session-start", content, Outlet(hear, time.monotonic()))
    first, second = offered
    assert opened == [0, 1]  # the project was opened after the first answer
    assert ("Never push" in first, RULE in first, TOO_SLOW in first) == (True, False, True)
    assert ("Never push" in second, RULE in second, TOO_SLOW in second) == (True, True, False)


def test_broken_settings_of_the_users_own_are_said_when_a_session_starts(known: Hooks) -> None:
    home = Path(os.environ["RICORDO_CONFIG_HOME"])
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text("hooks = ")
    assert known.shown("session-start") == f"Ricordo: {NOTHING_TOLD}"
    assert "is not valid TOML" in known.log


def test_where_there_is_no_store_that_is_said_once_a_week(hooks: Hooks, monkeypatch: pytest.MonkeyPatch) -> None:
    assert [hooks.shown("session-start") for _ in range(2)] == [f"Ricordo: {NO_STORE}", ""]
    clock = time.time
    monkeypatch.setattr(time, "time", lambda: clock() + hook_log.WEEK + 60)
    assert hooks.shown("session-start") == f"Ricordo: {NO_STORE}"


def test_what_went_wrong_since_the_last_session_start_is_told_with_what_mends_it(
    hooks: Hooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.time()

    def noted(ago: float, event: str, outcome: str) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(time, "time", lambda: now - ago)
            hook_log.note_run(event, 1.5, outcome)

    noted(8 * 86_400, "user-prompt", hook_log.SAID_NOTHING)  # too long ago
    noted(600, "user-prompt", hook_log.SAID_NOTHING)  # told already
    noted(500, "session-start", hook_log.ANSWERED)
    for _ in range(9):
        noted(400, "user-prompt", hook_log.SILENT)
    hooks.answer("user-prompt", prompt="When do we rotate the keys?")
    hooks.house.run("init")
    told = "Ricordo: of the hooks since the last session started, "
    assert hooks.shown("session-start") == f"{told}1 found no store (ricordo init)"
    noted(300, "user-prompt", hook_log.SAID_LESS)
    hooks.answer("user-prompt", b"nope")
    third = hooks.shown("session-start")
    assert third.startswith(f"{told}1 failed (ricordo doctor), 1 ran out of time (ricordo config set hooks.seconds 60)")
    noted(200, "pre-compact", hook_log.SILENT)
    week = hooks.house.json("status")["hooks"]
    assert week == {"asked": 12, "answered": 1, "silent": 9, "late": 2, "failed": 2}
    assert "2 failed, the last at user-prompt: JSONDecodeError" in str(hooks.house.json("doctor"))
    noted(-5, "session-start", hook_log.ANSWERED)
    assert hooks.shown("session-start") == ""


def test_one_late_hook_of_many_is_not_told(known: Hooks) -> None:
    for _ in range(10):
        hook_log.note_run("user-prompt", 0.2, hook_log.ANSWERED)
    before = known.shown("session-start")
    hook_log.note_run("user-prompt", 2.0, hook_log.SAID_LESS)
    assert known.shown("session-start") == before
    hook_log.note_run("user-prompt", 2.0, hook_log.SAID_LESS)
    assert "2 ran out of time" in known.shown("session-start")


def test_a_hook_that_said_something_counts_as_answered(known: Hooks) -> None:
    known.call("user-prompt", prompt="When do we rotate the signing keys?")
    known.call("user-prompt", prompt="Which colour has the cat of the neighbour?")
    assert known.house.json("status")["hooks"] == {"asked": 2, "answered": 1, "silent": 1, "late": 0, "failed": 0}


def test_without_a_model_that_answers_the_words_do(known: Hooks) -> None:
    known.set(
        RICORDO_EMBEDDING_PROVIDER="openai",
        RICORDO_EMBEDDING_BASE_URL="http://127.0.0.1:9",
        RICORDO_EMBEDDING_API_KEYS="none",
    )
    assert KEYS in known.shown("user-prompt", prompt="When do we rotate the signing keys?")


def test_meaning_finds_what_the_words_do_not(hooks: Hooks) -> None:
    hooks.set(RICORDO_EMBEDDING_PROVIDER="local")
    hooks.house.run("init")
    hooks.house.run("remember", "Getting things done: notes on how I organise tasks.")
    assert "organise tasks" in hooks.shown("user-prompt", prompt="productivity advice")


@pytest.mark.parametrize("prompt", ["zzxqv blorptang", "draw a cat in ASCII for me", "order a pizza with mushrooms"])
def test_a_prompt_that_nothing_fits_is_told_nothing(hooks: Hooks, prompt: str) -> None:
    hooks.set(RICORDO_EMBEDDING_PROVIDER="local")
    hooks.house.run("init")
    hooks.house.run("remember", "colorsys converts between RGB and HSV; all of its values are from 0 to 1.")
    hooks.house.run("remember", "Performance: a search takes 8 ms; drawing the table of its hits takes one more.")
    hooks.house.run("remember", "In what order migrations run: by their number, each in a transaction.")
    assert hooks.shown("user-prompt", prompt=prompt) == ""
    assert "colorsys" in hooks.shown("user-prompt", prompt="how do I convert RGB colours to HSV")


def test_as_long_as_only_words_were_compared_few_of_them_are_not_enough(known: Hooks) -> None:
    prompt = "Write an essay on monarchs who rotate crowns among their heirs every generation"
    for provider in ("none", "openai"):
        known.set(RICORDO_EMBEDDING_PROVIDER=provider, RICORDO_EMBEDDING_BASE_URL="http://127.0.0.1:9")
        known.set(RICORDO_EMBEDDING_API_KEYS="none")
        assert known.shown("user-prompt", prompt=prompt) == ""
        assert KEYS in known.shown("user-prompt", prompt="When do we rotate the signing keys?")


def test_a_transcript_is_taken_in_behind_the_sessions_back(known: Hooks, tmp_path: Path) -> None:
    turns = [("user", "Why does the zebra importer drop a row?"), ("assistant", "It reads one row too few.")]
    lines = [{"role": role, "content": said, "timestamp": "2026-11-14T10:00:00Z"} for role, said in turns]
    transcript = tmp_path / "zebra.jsonl"
    transcript.write_text("".join(json.dumps(line) + "\n" for line in lines))
    ran = known.house.folder / "ran"
    for name in ("click.py", "ricordo.py"):  # a project's own files are not run
        known.house.write(name, f"open({str(ran)!r}, 'w')")
    known.set(RICORDO_HOOKS_TRANSCRIPTS="no")
    assert known.answer("session-end", transcript_path=str(transcript)) == {}
    known.set(RICORDO_HOOKS_TRANSCRIPTS="yes")
    for event in ("pre-compact", "session-end"):
        assert known.call(event, transcript_path=str(transcript)) is None, "its output would become part of a prompt"
    deadline = time.monotonic() + 60
    while not (found := known.house.json("sessions", "list")["sessions"]) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert ["zebra importer" in session["title"] for session in found] == [True]
    assert not ran.exists()


@pytest.mark.parametrize(
    "setting", [{"RICORDO_HOOKS_ENABLED": "no"}, {"RICORDO_HOOKS_BUDGET": "0"}], ids=["off", "no budget"]
)
def test_hooks_can_be_switched_off(known: Hooks, setting: dict[str, str]) -> None:
    known.set(**setting)
    assert known.answer("user-prompt", prompt="When do we rotate the signing keys?") == {}
    assert known.log == ""


START = """from ricordo.hooks import answers, pipe, process
import os, re, time, sys, ctypes
pipe.DEFAULT_SECONDS = 120
"""
"""Until the work sets a limit, it has as long as a busy machine may need to begin it."""
RUN = "answers.run = run\nprocess.main(['user-prompt'])"
STUCK = "outlet.limit(0.5); re.match('(a*)*b', 'a' * 60)"
"""C code that never lets go of the interpreter."""


@pytest.mark.parametrize(
    ("work", "answer", "words"),
    [
        (STUCK, {}, "out of time; said nothing"),
        (f"outlet.offer({{'a': 1}}); {STUCK}", {"a": 1}, "out of time; said less"),
        ("outlet.offer({'a': 1}); outlet.offer({'a': 2})", {"a": 2}, ""),
        ("ctypes.string_at(0)", {}, "ended by signal"),
        ("print('noise'); os.write(1, b'noise'); os.write(2, b'noise'); sys.exit(3)", {}, ""),
        ("outlet.limit(0.2); time.sleep(900)", {}, "out of time"),
    ],
)
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_the_answer_comes_in_time_whatever_the_work_does(
    hooks: Hooks, work: str, answer: dict[str, Any], words: str
) -> None:
    code = f"{START}def run(event, content, outlet, **_):\n    outlet.limit(30); {work}\n{RUN}"
    assert hooks.call(code=code) == answer
    assert words in hooks.log
    assert bool(words) == bool(hooks.log)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.parametrize(
    ("work", "within", "answer", "outcome"),
    [
        ("outlet.limit(60); outlet.offer({'a': 1})", 120, {"a": 1}, "in-time"),
        ("outlet.limit(60); outlet.offer({'a': outlet.at_most > 60})", 120, {"a": True}, "in-time"),
        ("time.sleep(1); outlet.offer({'a': 1})", 120, {"a": 1}, "said-less"),
        ("outlet.offer({'a': 1}); time.sleep(900)", 120, {"a": 1}, "said-less"),
        ("time.sleep(1); outlet.offer({'a': 1}); time.sleep(900)", 120, {"a": 1}, "said-less"),
        ("time.sleep(900)", 1, {}, "said-nothing"),
    ],
)
def test_without_an_answer_a_hook_uses_the_time_that_its_host_gives(
    hooks: Hooks, work: str, within: int, answer: dict[str, Any], outcome: str
) -> None:
    """And doctor says how often time ran out."""
    code = f"{START}def run(event, content, outlet, **_):\n    outlet.limit(0.5); {work}\n"
    code += f"answers.run = run\nprocess.main(['user-prompt', '--within', '{within}'])"
    assert hooks.call(code=code) == answer
    hooks.house.run("init")
    check = next(check for check in hooks.house.json("doctor")["checks"] if check["name"] == "hooks")
    words = {"in-time": "none ran out of time", "said-less": "0 said nothing, 1 said less"}
    assert check["detail"].startswith("1 calls in the last 7 days")
    assert words.get(outcome, "1 said nothing, 0 said less") in check["detail"]


@pytest.mark.parametrize(
    ("work", "answer"),
    [
        ("outlet.offer({'a': 1}); outlet.limit(0.5); time.sleep(900)", {"a": 1}),
        ("outlet.offer({'a': 1})", {"a": 1}),
        ("outlet.limit(0.5); time.sleep(900)", {}),
    ],
)
def test_where_there_is_no_fork_a_thread_watches_the_clock(hooks: Hooks, work: str, answer: dict[str, Any]) -> None:
    code = f"{START}del os.fork\ndef run(event, content, outlet, **_):\n    outlet.limit(30); {work}\n{RUN}"
    assert hooks.call(code=code) == answer


def test_a_program_that_never_ends_its_payload_is_not_waited_for(known: Hooks) -> None:
    command = [sys.executable, "-P", "-m", "ricordo", "hook", "user-prompt"]
    with subprocess.Popen(command, stdin=-1, stdout=-1) as process:
        hangs = threading.Timer(PATIENCE, process.kill)
        hangs.start()
        assert process.stdout is not None
        assert process.stdout.read() == b"{}\n"
        assert process.wait() == 0
        hangs.cancel()


def test_a_reader_that_is_gone_is_no_failure(known: Hooks) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-P", "-m", "ricordo", "hook", "session-start"]
    done = subprocess.run(command, input=b"{}", stdout=writer, stderr=-1, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


def test_the_log_is_private_and_stays_short(hooks: Hooks) -> None:
    path = Path(os.environ["RICORDO_STATE_HOME"], "hooks.log")
    path.parent.mkdir()
    path.write_text("old\n" * 100_000)
    hooks.answer("user-prompt", b"nope")
    assert path.with_name("hooks.log.1").read_text().startswith("old")
    assert hooks.log.count("\n") == 1
    if sys.platform != "win32":
        assert path.stat().st_mode & 0o077 == 0


def test_the_verb_behind_global_flags_answers_alike(known: Hooks) -> None:
    store = str(known.house.folder / ".ricordo" / "ricordo.db")
    code = "import sys; from ricordo.cli import main; sys.argv = sys.argv[1:]; main()"
    payload: dict[str, Any] = {"prompt": "When do we rotate the signing keys?", "cwd": "/"}
    after = known.call("user-prompt", "--store", store, **payload)
    before = known.call("ricordo", "--store", store, "hook", "user-prompt", code=code, **payload)
    assert KEYS in after["hookSpecificOutput"]["additionalContext"]
    assert before == after


def test_the_short_way_imports_no_other_verb() -> None:
    probe = "import sys, ricordo.hooks.process; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, check=True, text=True)
    loaded = set(done.stdout.split())
    assert not loaded & {"click", "numpy", "apsw", "json", "pathlib", "dataclasses", "ricordo.config.loading"}


def test_asking_what_runs_imports_no_library_for_connections(tmp_path: Path) -> None:
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(300)
        probe = (
            "import sys; from ricordo.hooks.process import ask_server; from ricordo.hosting.running import *;"
            " running = RunningServer(1, '127.0.0.1', int(sys.argv[1]), 'token', store='');"
            " print(ask(running, '/', b'', 300)); print(*sys.modules)"
        )
        port = str(server.getsockname()[1])
        with subprocess.Popen([sys.executable, "-c", probe, port], stdout=subprocess.PIPE, text=True) as asking:
            connection, _ = server.accept()
            with connection:
                connection.recv(65_536)
                connection.sendall(answer)
            said, _ = asking.communicate(timeout=300)
    first, loaded = said.splitlines()
    assert first == "(200, b'{}')"
    assert not set(loaded.split()) & {"socket", "encodings.idna", "re", "enum", "json", "pathlib"}
