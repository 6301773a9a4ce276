"""What the MCP server costs an agent before it does anything: time to its first answers, and tokens of its tool list.

``python bench/mcp_cost.py`` starts ``ricordo mcp`` in fresh processes and measures, in turn with a process that does
nothing but import the SDK:

- seconds from the start of the process to its answers to ``initialize`` and ``tools/list`` (target: at most 0.25 s of
  processor time);
- how many tools ``tools/list`` shows, and how many tokens of the shipped tokenizer they take as compact JSON (target:
  fewer than 2,000 by default).

``--toolset NAME`` adds toolsets. Medians over ``--rounds``. Byte code and the file cache are warm; the processes are
not. ``--clock cpu`` counts the processor time of the process until it has answered, for a busy machine, on Linux.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from ricordo import registry
from timing import add_clock_option, aligned, keep_byte_code, percentile, print_json

MOST_SECONDS = 0.25
MOST_TOKENS = 2000
IMPORT_ALONE = [sys.executable, "-c", "import mcp"]
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "bench", "version": "1"},
    },
}


def server(folder: Path, toolsets: list[str]) -> list[str]:
    script = Path(sys.executable).with_name("ricordo")
    ricordo = [str(script)] if script.exists() else [sys.executable, "-m", "ricordo"]
    chosen = [word for name in toolsets for word in ("--toolset", name)]
    return [*ricordo, "mcp", "--store", str(folder / "store.db"), *chosen]


class Conversation:
    """A server in a process of its own, spoken to line by line."""

    def __init__(self, command: list[str], state: Path) -> None:
        env = {**os.environ, "RICORDO_STATE_HOME": str(state)}
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)

    def tell(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, message: dict[str, Any]) -> dict[str, Any]:
        assert self.process.stdout is not None
        self.tell(message)
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        return answer

    def end(self) -> None:
        self.process.communicate(timeout=30)


def seconds_to_tools(command: list[str], clock: str, state: Path) -> float:
    """Until the tools are listed."""
    started = time.perf_counter()
    talk = Conversation(command, state)
    talk.ask(HELLO)
    talk.tell({"jsonrpc": "2.0", "method": "notifications/initialized"})
    talk.ask({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})
    taken = time.perf_counter() - started if clock == "wall" else processor_time(talk.process.pid)
    talk.end()
    return taken


def processor_time(pid: int) -> float:
    """What a process has used so far."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def seconds_to_import(clock: str) -> float:
    before, started = children_time(), time.perf_counter()
    subprocess.run(IMPORT_ALONE, check=True)
    return (time.perf_counter() - started) if clock == "wall" else children_time() - before


def children_time() -> float:
    """Processor time of the processes that were started and have ended."""
    times = os.times()
    return times.children_user + times.children_system


def listed(command: list[str], state: Path) -> list[dict[str, Any]]:
    talk = Conversation(command, state)
    talk.ask(HELLO)
    answer = talk.ask({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})
    talk.end()
    tools: list[dict[str, Any]] = answer["result"]["tools"]
    return tools


def tokens_of(tools: list[dict[str, Any]]) -> int:
    text = json.dumps(tools, ensure_ascii=False, separators=(",", ":"))
    return registry.token_counter().count_tokens([text])[0]


def verdict(tokens: float) -> str:
    return "met" if tokens < MOST_TOKENS else "MISSED"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--toolset", action="append", default=[], metavar="NAME", help="offer these tools too")
    parser.add_argument("--rounds", type=int, default=7, help="processes of each kind (7)")
    add_clock_option(parser)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args()
    keep_byte_code()
    os.environ["RICORDO_EMBEDDING_PROVIDER"] = "none"
    imports: list[float] = []
    seconds: list[float] = []
    with tempfile.TemporaryDirectory(prefix="ricordo-bench-") as name:
        folder = Path(name)
        command = server(folder, options.toolset)
        tools = listed(command, folder / "state")
        for turn in range(options.rounds + 1):
            alone = seconds_to_import(options.clock)
            taken = seconds_to_tools(command, options.clock, folder / "state")
            if turn > 0:  # the first turn writes byte code and warms the file cache
                imports.append(alone)
                seconds.append(taken)
    figures = {
        "tools_s": percentile(seconds, 0.5),
        "import_sdk_s": percentile(imports, 0.5),
        "tools": len(tools),
        "tokens": tokens_of(tools),
    }
    if options.json:
        print_json(figures)
        return
    in_time = "met" if figures["tools_s"] <= MOST_SECONDS else "MISSED"
    rows = [
        ["seconds to the tools", f"{figures['tools_s']:.3f}", in_time],
        ["seconds to import the SDK alone", f"{figures['import_sdk_s']:.2f}", ""],
        ["tools", str(figures["tools"]), ""],
        ["tokens of the tool list", str(figures["tokens"]), "" if options.toolset else verdict(figures["tokens"])],
    ]
    print(aligned(("", "here", "target"), rows))


if __name__ == "__main__":
    main()
