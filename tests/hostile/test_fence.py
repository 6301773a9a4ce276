"""Words that the user did not write stand inside a fence, wherever they come from and however an agent is told.

Places and channels are enumerated from the code: fields of items, hooks, MCP tools and methods, functions
for frameworks. A new one is asked here without being named, or the test says what it does not know how to ask.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from ricordo import ConfigProvider, Ricordo
from ricordo.cli.program import program
from ricordo.context.build import Builder, Material
from ricordo.hooks.answers import run as run_hook
from ricordo.hooks.payload import NAMES
from ricordo.hooks.pipe import Outlet
from ricordo.mcp_server.protocol import Handlers
from ricordo.mcp_server.service import TOOLSETS, ToolService
from ricordo.mcp_server.tool import Tool
from ricordo.plugins.skills.values import Skill
from ricordo.plugins.skills.verbs import section_of
from ricordo.registry import token_counter
from ricordo.trust import fence
from ricordo.values.context import LeftOut
from ricordo.values.log import Happening

from .planted import GROUP, MARK, STRINGS, group_of, opened, outer_lines, plant

HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e01ef]"
)
QUOTED = re.compile(r"'[^'\n]*'")
OURS = {
    "message",
    "next_action_hint",
    "hint",
    "note",
    "notes",
    "warnings",
    "degraded",
    "why_not",
    "stopped",
    "problem",
    "reason",
}
"""The names in answers under which stand sentences of ours, not data."""
GROUPS = [group_of(number) for number in range(0, len(STRINGS), GROUP)]
BUDGET = 100_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with a store that holds every string in every place."""
    place = tmp_path_factory.mktemp("planted")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("DATA", "STATE", "CONFIG"):
            patch.setenv(f"RICORDO_{name}_HOME", str(place / name.lower()))
        with opened(place) as engine:
            plant(engine, place)
        yield place


@pytest.fixture
def engine(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ricordo]:
    at_home(folder, monkeypatch)
    with opened(folder) as engine:
        yield engine


def at_home(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DATA", "STATE", "CONFIG"):
        monkeypatch.setenv(f"RICORDO_{name}_HOME", str(folder / name.lower()))


def check_text(text: str) -> set[str]:
    """No string stands outside a fence, and nothing hides; the strings that are told."""
    outside = [line for line in outer_lines(text) if MARK.search(QUOTED.sub("", line))]
    assert not outside, outside
    assert not (found := HIDDEN.search(text)), (found, text[:200])
    assert not re.search(r"</?(?:hook_context|system-reminder)>|<\|im_start", text)
    return marks_in(text)


def marks_in(text: str) -> set[str]:
    return set(MARK.findall(text))


def check_json(text: str, is_context: bool = False) -> set[str]:
    """An answer is one line of JSON, in which our own sentences only quote the strings."""
    assert "\n" not in text
    assert not (found := HIDDEN.search(text)), (found, text[:200])
    for name, said in strings_in(json.loads(text)):
        if name in OURS:
            assert not MARK.search(QUOTED.sub("", said)), (name, said)
        if name == "text" and is_context:
            check_text(said)
    return marks_in(text)


def strings_in(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield name, value
    for key, part in value.items() if isinstance(value, dict) else ():
        yield from strings_in(part, key)
    for part in value if isinstance(value, list) else ():
        yield from strings_in(part, name)


def test_there_are_three_hundred_strings_each_with_its_mark() -> None:
    assert len(STRINGS) >= 300
    assert len({mark for text in STRINGS for mark in marks_in(text)}) == len(STRINGS)


def test_a_context_tells_all_strings_inside_fences(engine: Ricordo) -> None:
    told: dict[str, set[str]] = {}
    for group in ("", *GROUPS):
        report = engine.context(group, budget=BUDGET if not group else 4000, recent=not group, always=not group)
        check_text(report.text)
        assert all(part.fenced for part in report.parts)
        for part in report.parts:
            told.setdefault(part.section, set()).update(marks_in(part.ref))
    everything = {mark for text in STRINGS for mark in marks_in(text)}
    assert len(told["always"]) == len(STRINGS) // 2
    assert len(told["passage"] | told["always"]) > 0.9 * len(everything)
    assert {"skill", "tool", "recent"} <= set(told)


def test_gathered_evidence_is_inside_one_fence(engine: Ricordo) -> None:
    told: set[str] = set()
    for group in GROUPS[::8]:
        found = engine.context(group, budget=8000, gather=True, always=False, skills=False)
        told |= check_text(found.text)
        assert len(list(outer_lines(found.text))) <= 3, "more than a heading, how to read one, and what the fence holds"
        check_text(engine.context(group, budget=4000, gather=True, always=False).text)
    assert told


def test_every_string_as_a_skill_an_event_or_a_name_left_out_stands_in_a_fence() -> None:
    counter = token_counter()
    for at in range(0, len(STRINGS), 4):
        some = STRINGS[at : at + 4]
        skills = [Skill(text, text, f"skill:/{text}") for text in some]
        events = [Happening(datetime(2026, 10, 1, tzinfo=UTC), text, f"note:/{text}", text, "note") for text in some]
        left_out = [LeftOut(f"note:/{text}", reason) for text in some for reason in ("no room", "no longer valid")]
        material = Material(lines=[section_of(skills)], events=events, left_out=left_out)
        told = Builder(material, BUDGET, counter).build().text
        assert len(check_text(told)) == len(some), told


@pytest.mark.parametrize("event", NAMES)
def test_every_hook_tells_strings_inside_fences_alone(
    event: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_home(folder, monkeypatch)
    for name in ("SESSION_START_BUDGET", "PROMPT_BUDGET", "AGENT_BUDGET"):
        monkeypatch.setenv(f"RICORDO_HOOKS_{name}", "20000")
    monkeypatch.setenv("RICORDO_EMBEDDING_PROVIDER", "none")
    monkeypatch.setenv("RICORDO_HOOKS_MIN_FIT", "0")
    monkeypatch.setenv("RICORDO_HOOKS_TRANSCRIPTS", "false")
    monkeypatch.setenv("RICORDO_HOOKS_SECONDS", "60")
    calls = [
        {"type": "tool_use", "id": f"c{at}", "name": "Task", "input": {"prompt": f"{group_of(at)} zebra {STRINGS[at]}"}}
        for at in (0, 40, 80)
    ]
    lines = [{"type": "assistant", "message": {"content": [call]}} for call in calls]
    transcript = folder / "calls.jsonl"
    transcript.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    sent: list[bytes] = []
    payload = {"cwd": str(folder), "prompt": f"{GROUPS[3]} zebra", "transcript_path": str(transcript)}
    if event == "before-agent-start":
        del payload["prompt"]
    run_hook(event, json.dumps(payload).encode(), Outlet(sent.append, 0.0), store=str(folder / "store.db"))
    answers = [json.loads(part.removeprefix(b"answer ")) for part in sent if part.startswith(b"answer ")]
    texts = [said for answer in answers for name, said in strings_in(answer) if name == "additionalContext"]
    told = {mark for text in texts for mark in check_text(text)}
    assert bool(told) == (event in ("session-start", "user-prompt", "before-agent-start"))


def argument(tool: Tool, name: str, number: int) -> Any:
    """What a tool is asked with: something planted."""
    text, group = STRINGS[number], group_of(number)
    ref = f"note:/{number}/{text}"
    values: dict[str, Any] = {
        "query": f"{group} zebra", "task": f"{group} zebra", "topic": f"{group} zebra", "pattern": "qz",
        "refs": [ref], "ref": ref, "id": ref,
        "from_ref": ref, "source": ref, "target": f"note:/{number + 1}/{STRINGS[number + 1]}", "old": ref,
        "new": f"note:/{number + 1}/{STRINGS[number + 1]}", "to_ref": f"agent:/copy/{tool.name}",
        "new_ref": f"agent:/moved/{tool.name}", "text": f"{text} said {tool.name}", "content": f"{text} by {tool.name}",
        "title": text, "description": f"{text} of {tool.name}", "name": text, "key": text, "value": text, "to": text,
    }  # fmt: skip
    if choices := tool.arguments[name].get("enum"):
        return choices[0]
    assert name in values, f"say what to ask {tool.name} for by its argument {name}"
    return values[name]


MORE: dict[str, list[dict[str, Any]]] = {
    "context": [{"task": " ", "recent": True, "budget": BUDGET}, {"task": GROUPS[5], "budget": 3000}],
    "describe_tool": [{"name": "raw/echo"}],
    "call_tool": [{"name": "raw/echo"}, {"name": "raw/fails"}, {"name": "raw/t1"}],
    "tools_call": [{"name": "raw/echo"}, {"name": "raw/fails"}],
    "get": [{"refs": [f"note:/{number}/{text}x"]} for number, text in enumerate(STRINGS[:9])],
    "rm": [{"refs": ["note:/319/", "note:/nothing"]}],
    "skill": [{"name": f"9 {STRINGS[9]}"[:-1]}],
}
"""Further calls of some tools, for what their required arguments do not bring up."""


def test_every_mcp_tool_answers_with_data_and_only_quotes_strings_in_its_sentences(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_home(folder, monkeypatch)
    told = 0
    for name, results in mcp(folder, ask_every_tool).items():
        for result in results:
            first, *others = result["content"]
            told += bool(check_json(first["text"], is_context=name == "context"))
            for block in others:
                assert check_text(block["resource"]["text"]), name
    assert told > 60


def ask_every_tool(handlers: Handlers) -> dict[str, list[dict[str, Any]]]:
    """Those that read first, because others change what there is."""
    tools = handlers.service.tools
    answers: dict[str, list[dict[str, Any]]] = {}
    for number, tool in enumerate(sorted(tools.values(), key=lambda one: (not one.effects.reads_only, one.name))):
        given = {name: argument(tool, name, 2 * number) for name in tool.required}
        if "limit" in tool.arguments:
            given["limit"] = min(50, tool.arguments["limit"].get("maximum", 50))
        further: list[dict[str, Any]] = MORE.get(tool.name, [])
        for asked in (given, *further):
            result = handlers.call_tool({"name": tool.name, "arguments": asked}, None)
            answers.setdefault(tool.name, []).append(result)
    return answers


def mcp(folder: Path, ask: Callable[[Handlers], Any]) -> Any:
    settings = {"embedding.provider": "none", "search.min_fit": 0.0, "tools.seconds": 120.0, "mcp.seconds": 60.0}
    config = ConfigProvider(settings, start=folder)
    service = ToolService(TOOLSETS, store=str(folder / "store.db"), config=config)
    try:
        return ask(Handlers(service))
    finally:
        service.close()


ASKED: dict[str, list[dict[str, Any]]] = {
    "tools/list": [{}],
    "tools/call": [],  # the test above
    "resources/list": [{}, {"cursor": "after-50"}, {"cursor": "after-500"}],
    "resources/templates/list": [{}],
    "resources/read": [],  # every resource that is listed
    "prompts/list": [{}],
    "prompts/get": [
        {"name": "recall", "arguments": {"topic": "x"}},
        {"name": "catch_up"},
        {"name": "save_lessons"},
        {"name": "review_lessons"},
    ],
    "completion/complete": [
        {"ref": {"type": "ref/prompt", "name": "recall"}, "argument": {"name": "topic", "value": ""}},
    ],
}


def test_every_other_mcp_method_tells_strings_inside_fences(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at_home(folder, monkeypatch)

    def ask_all(handlers: Handlers) -> None:
        answers = handlers.methods
        assert set(answers) == set(ASKED), "say what to ask of a new method"
        for method, asked in ASKED.items():
            for params in asked:
                said = answers[method](params, None)
                lines = [line for _, line in strings_in(said)]
                if method.startswith("resources/list"):
                    for resource in said["resources"]:
                        contents = answers["resources/read"]({"uri": resource["uri"]}, None)["contents"]
                        check_text(contents[0]["text"])
                        assert contents[0]["text"].startswith(f"[{fence.OUTSIDE}]")
                elif not method.startswith("completion"):
                    assert not [line for line in lines if MARK.search(line)], method
                assert not [line for line in lines if HIDDEN.search(line)], method
                if method.startswith(("resources", "completion")):
                    assert not [line for line in lines if "\n" in line], method

    mcp(folder, ask_all)


def test_the_command_context_tells_strings_inside_fences(engine: Ricordo, folder: Path) -> None:
    done = CliRunner().invoke(program, ["context", GROUPS[2], "--recent", "--store", str(folder / "store.db")])
    assert check_text(done.stdout)


def test_only_the_fence_makes_fences_and_words_that_are_told() -> None:
    """Whoever wants to tell something asks the fence; no other module writes one or claims that words may be told."""
    package = Path(fence.__file__).parents[1]
    others = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if path != Path(fence.__file__)
        and re.search(r"\bTold\(|`{3}text|not instructions[\"\]]", path.read_text("utf-8"))
    }
    assert others <= {"models/llm.py"}, others
