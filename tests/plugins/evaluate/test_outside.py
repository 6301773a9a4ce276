"""The command that measures sets of others reads each of their forms, and says where they are had."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

BENCH = Path(__file__).parents[3] / "bench" / "outside.py"


def lines(rows: list[dict[str, Any]]) -> str:
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def write_sessions(folder: Path) -> None:
    texts = {"s1": "Ada: The crane at the harbour needs a gearbox.", "s2": "Bo: My sister plays the violin."}
    about = {"conversation": "c"}
    corpus = [{"_id": name, "title": "", "text": text, "metadata": about} for name, text in texts.items()]
    query: dict[str, Any] = {
        "_id": "q",
        "text": "What does the crane need?",
        "metadata": about | {"category": "single-hop"},
    }
    (folder / "corpus.jsonl").write_text(lines(corpus))
    (folder / "queries.jsonl").write_text(lines([query]))
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq\ts1\t1\n")


def write_livemcp(folder: Path) -> None:
    tools = [
        {"name": "get_weather", "description": "Temperature and rain of a place.", "inputSchema": {"type": "object"}},
        {"name": "play", "description": "Play a song.", "inputSchema": {"type": "object"}},
    ]
    task: dict[str, Any] = {"category": "Travel", "Question": "How is the weather in Vienna?"}
    task |= {"Annotator Metadata": {"Tools": "1. get_weather\n2. a_tool_of_nobody"}}
    (folder / "tools.json").write_text(json.dumps([{"name": "W", "tools": {"w": {"tools": tools}}}]))
    (folder / "all_annotations.json").write_text(json.dumps([task]))


def write_stabletool(folder: Path) -> None:
    field = {"name": "place", "type": "STRING", "description": "The name of a town."}
    api: dict[str, Any] = {"tool_name": "Weather & more", "api_name": "/weather", "required_parameters": [field]}
    other = {"tool_name": "Songs", "api_name": "Play", "api_description": "Play a song."}
    api["api_description"] = "Temperature and rain of a place."
    request: dict[str, Any] = {"query": "How is the weather?", "relevant APIs": [["Weather & more", "/weather"]]}
    (folder / "G1_tool.json").write_text(json.dumps([request | {"api_list": [api, other]}]))


def write_times(folder: Path) -> None:
    span = ["2025-03-07T00:00:00", "2025-03-07T23:59:59.999999"]
    golden = {"2026-11-18T09:00:00\x1fthe talk of 7 March 2025": span, "2026-11-18T09:00:00\x1fa plan": None}
    (folder / "query_analyzer_golden.json").write_text(json.dumps(golden))


SETS = {
    "sessions": (write_sessions, "default", "recall@1"),
    "livemcp": (write_livemcp, "tools_find", "recall@1"),
    "stabletool": (write_stabletool, "tools_find", "nDCG@1"),
    "times": (write_times, "default", "same days: recall"),
}


@pytest.mark.parametrize("name", SETS)
def test_each_set_of_others_is_read_and_measured(name: str, tmp_path: Path) -> None:
    write, way, figure = SETS[name]
    write(tmp_path)
    command = [sys.executable, str(BENCH), name, "--data", str(tmp_path), "--misses", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    report = json.loads(done.stdout)
    assert {row["asked"]: row[figure] for row in report["figures"]}[way] == 1.0
    assert report["missed"] == (
        ["no server has the tool a_tool_of_nobody, which a task was annotated with"] if name == "livemcp" else []
    )


def test_the_table_says_where_the_set_is_had_and_what_others_publish(tmp_path: Path) -> None:
    write_times(tmp_path)
    command = [sys.executable, str(BENCH), "times", "--data", str(tmp_path)]
    told = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300).stdout
    for part in ("vectorize-io/hindsight", "licence: MIT", "published:", "what differs:"):
        assert part in told
