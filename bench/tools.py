"""What a gateway to other servers' tools saves an agent, and whether it finds the right ones.

``python bench/tools.py --servers FILE`` takes in the MCP servers of a settings file (``{"mcpServers": {...}}``) and
says

- what listing all their tools costs an agent, in tokens of the shipped tokenizer, beside the gateway's three;
- for the tasks of ``bench/tool_tasks.tsv`` whose servers are there, how often the right tool is the first, and
  among the first five, that ``tools find`` answers;
- with ``--call``, what became of calling each tool that can be called without arguments or with those of ``CALLS``.

The tasks are written for eight servers by these names: ``time``, ``git``, ``fetch``, ``sqlite`` (packages
``mcp-server-NAME``; sqlite needs ``mcp<2`` beside it) and ``filesystem``, ``everything``, ``memory``,
``sequential-thinking`` (npm packages ``@modelcontextprotocol/server-NAME``). Nothing is installed here.

``python bench/tools.py --sets DIR...`` takes judged sets (corpus.jsonl with a tool a line, queries.jsonl, qrels.tsv),
and reports recall@5 and @10 of ``tools find`` beside plain BM25 and meaning alone on the same items.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ricordo import ConfigProvider, Error, Filters, Ricordo, registry
from ricordo.mcp_server.protocol import described
from ricordo.plugins.evaluate.datasets import Dataset, read_dataset
from ricordo.plugins.gateway import mcp_tools
from ricordo.plugins.gateway.mcp_config import ServerTool
from ricordo.plugins.gateway.values import ToolEntry
from timing import print_json

TASKS = Path(__file__).with_name("tool_tasks.tsv")
DEPTHS = (1, 5, 10)
CALLS: Mapping[str, Mapping[str, Any]] = {
    "time/get_current_time": {"timezone": "UTC"},
    "time/convert_time": {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"},
    "everything/echo": {"message": "hello"},
    "everything/get-sum": {"a": 17, "b": 25},
    "everything/get-annotated-message": {"messageType": "success"},
    "everything/get-structured-content": {"location": "Chicago"},
    "everything/trigger-long-running-operation": {"duration": 1, "steps": 1},
    "everything/prompts/args-prompt": {"city": "Rome"},
    "everything/prompts/completable-prompt": {"department": "Sales", "name": "Alice"},
    "everything/prompts/resource-prompt": {"resourceType": "Text", "resourceId": "1"},
    "memory/search_nodes": {"query": "tea"},
    "memory/open_nodes": {"names": ["Ada"]},
    "sqlite/read_query": {"query": "SELECT 1"},
    "sqlite/describe_table": {"table_name": "sqlite_master"},
    "sqlite/prompts/mcp-demo": {"topic": "shops"},
    "sequential-thinking/sequentialthinking": {
        "thought": "one", "nextThoughtNeeded": False, "thoughtNumber": 1, "totalThoughts": 1,
    },
}  # fmt: skip
"""Arguments for tools that need some; those of git and filesystem are made from the servers' own settings."""


def opened(folder: Path) -> Ricordo:
    return Ricordo.open(folder / "store.db", config=ConfigProvider({"knowledge.enabled": False}))


def tokens(plain: Sequence[Mapping[str, Any]]) -> int:
    text = json.dumps(list(plain), ensure_ascii=False, separators=(",", ":"))
    return registry.token_counter().count_tokens([text])[0]


def costs(engine: Ricordo) -> dict[str, Any]:
    """Tokens of all lists, as clients read them, and of the gateway's."""
    every = engine.tools.list()
    listed = [
        {"name": one.name.partition("/")[2], "description": _description(engine, one), "inputSchema": dict(one.schema)}
        for one in every
        if one.what == "tool"
    ]
    gateway = tokens([described(tool) for tool in mcp_tools.TOOLS])
    return {
        "servers": len({one.server for one in every}),
        "tools": len(listed),
        "resources_and_prompts": len(every) - len(listed),
        "tokens_of_all_lists": tokens(listed),
        "tokens_of_the_gateway": gateway,
    }


def _description(engine: Ricordo, one: ToolEntry) -> str:
    """The item's text without the lines of parameters at its end, which the schema has, too."""
    lines = engine.get(one.ref).content.splitlines()
    return "\n".join(lines[: len(lines) - len(one.schema.get("properties") or ())])


def on_tasks(engine: Ricordo, show: Callable[[str], None]) -> dict[str, Any]:
    """How often the right tool is the first, and among the first five."""
    known = {one.name for one in engine.tools.list()}
    ranks: list[int | None] = []
    left_out = 0
    for line in TASKS.read_text(encoding="utf-8").splitlines():
        right, _, task = line.partition("\t")
        names = set(right.split("|")) & known
        if not names:
            left_out += 1
            continue
        found = [one.name for one in engine.tools.find(task, 5, track=False)]
        ranks.append(next((place for place, name in enumerate(found) if name in names), None))
        if ranks[-1] is None:
            show(f"missed: {task} (wanted {right}; found {', '.join(found)})")
    first = sum(rank == 0 for rank in ranks)
    five = sum(rank is not None for rank in ranks)
    share = {"first": round(first / len(ranks), 3), "first_five": round(five / len(ranks), 3)} if ranks else {}
    return {"tasks": len(ranks), "left_out_for_want_of_servers": left_out, **share}


def on_calls(engine: Ricordo, entries: Mapping[str, Any], show: Callable[[str], None]) -> dict[str, int]:
    """Call every tool that can be called; what each came to."""
    outcomes = {"answered": 0, "its_own_error": 0, "not_called": 0, "refused_as_not_read_only": 0}
    for one in engine.tools.list():
        if not one.callable:
            outcomes["refused_as_not_read_only"] += 1
            continue
        given = dict(CALLS.get(one.name, {})) or _made(one.name, one.schema, entries)
        try:
            done = engine.tools.call(one.name, given)
        except Error as error:
            outcomes["not_called"] += 1
            show(f"{one.name}: {error.message}")
            continue
        outcomes["its_own_error" if done.failed else "answered"] += 1
        if done.failed:
            show(f"{one.name} answered with an error: {done.text[:120]}")
    return outcomes


def _made(name: str, schema: Mapping[str, Any], entries: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments from the last word of the server's own settings, which is its folder or repository."""
    server = name.partition("/")[0]
    args = entries.get(server, {}).get("args") or [""]
    folder = str(args[-1])
    inside = next((str(path) for path in sorted(Path(folder).glob("*")) if path.is_file()), folder) if folder else ""
    guesses = {
        "repo_path": folder, "path": inside if "/read" in name or "info" in name else folder, "paths": [inside],
        "pattern": "*", "revision": "HEAD", "target": "HEAD", "branch_type": "local", "url": "http://127.0.0.1:9/",
    }  # fmt: skip
    required = schema.get("required") or ()
    return {key: guesses[key] for key in required if key in guesses}


def recall(found: Callable[[str, int], Sequence[str]], dataset: Dataset) -> dict[str, float]:
    """Of the tools that serve a request, the share among the first few; the mean over requests."""
    sums = dict.fromkeys(DEPTHS[1:], 0.0)
    for query in dataset.questions:
        names = found(query.text, max(DEPTHS))
        right = {name for name, grade in dataset.judgements[query.id].items() if grade > 0}
        for depth in sums:
            sums[depth] += len(set(names[:depth]) & right) / len(right)
    return {f"recall@{depth}": round(total / len(dataset.questions), 3) for depth, total in sums.items()}


def ways_to_find(engine: Ricordo) -> dict[str, Callable[[str, int], Sequence[str]]]:
    """What finds the names of tools, SERVER/NAME, for a task: as agents do, by words alone and by meaning alone."""
    names = {one.ref: one.name for one in engine.tools.list()}

    def by_profile(profile: str, **how: Any) -> Callable[[str, int], Sequence[str]]:
        def find(task: str, limit: int) -> Sequence[str]:
            filters = Filters(kinds=("tool",))
            hits = engine.search(task, limit=limit, filters=filters, literal=True, track=False, profile=profile, **how)
            return [names[hit.ref] for hit in hits.hits]

        return find

    return {
        "tools_find": lambda task, limit: [one.name for one in engine.tools.find(task, limit, track=False)],
        "bm25": by_profile("bm25", by="words"),
        "meaning": by_profile("vector", by="meaning"),
    }


def on_set(folder: Path) -> dict[str, Any]:
    dataset = read_dataset(folder)
    nothing: dict[str, Any] = {"type": "object", "properties": {}}
    offered = [ServerTool("set", one.title or one.id, one.text, nothing) for one in dataset.documents]
    with tempfile.TemporaryDirectory() as place, opened(Path(place)) as engine:
        engine.tools.index("set", offered)
        ids = {f"set/{one.title or one.id}": one.id for one in dataset.documents}

        def judged(find: Callable[[str, int], Sequence[str]]) -> dict[str, float]:
            return recall(lambda task, limit: [ids[name] for name in find(task, limit)], dataset)

        return {
            "set": folder.name,
            "tools": len(ids),
            "requests": len(dataset.questions),
            **{way: judged(find) for way, find in ways_to_find(engine).items()},
        }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--servers", type=Path, metavar="FILE", help="a settings file with MCP servers")
    parser.add_argument("--call", action="store_true", help="call every tool that can be called")
    parser.add_argument("--sets", type=Path, nargs="*", default=[], metavar="DIR", help="judged sets of tools")
    arguments = parser.parse_args()
    report: dict[str, Any] = {}

    def show(line: str) -> None:
        print(line, file=sys.stderr)

    if arguments.servers:
        entries = json.loads(arguments.servers.read_text(encoding="utf-8"))["mcpServers"]
        with tempfile.TemporaryDirectory() as place, opened(Path(place)) as engine:
            taken = engine.tools.add(agree=lambda found: True, files=[arguments.servers])
            for one in taken.servers:
                if one.problem:
                    show(f"{one.server}: {one.problem}")
            report |= costs(engine) | on_tasks(engine, show)
            if arguments.call:
                report["calls"] = on_calls(engine, entries, show)
    report["sets"] = [on_set(folder) for folder in arguments.sets]
    print_json(report)
    return 0


if __name__ == "__main__":
    sys.exit(main())
