"""Figures on sets of others, beside those that their authors or our peers publish.

    python bench/outside.py sessions --data locomo_sessions
    python bench/outside.py livemcp --data livemcpbench
    python bench/outside.py stabletool --data stabletoolbench/solvable_queries
    python bench/outside.py times --data time_expressions

``--data`` is the folder of a set, which you get yourself: nothing of the sets is in this repository, because they are
for measuring only. ``SETS`` says where each is had, under which licence, and what differs from the published figures.
Everything is asked as a user asks it: a store, the default profile, the verbs of ``Ricordo``. Words alone and meaning
alone are measured beside it. ``--limit`` asks about so many questions, spread evenly; ``--misses`` names what was
missed; ``--json`` prints the figures for programs.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from statistics import fmean
from typing import Any

from ricordo.plugins.evaluate.report import aligned, ndcg, recall
from ricordo.plugins.evaluate.run import evaluate
from ricordo.plugins.gateway.mcp_config import ServerTool
from ricordo.search.exact import time_in
from timing import print_json
from tools import opened, ways_to_find

Row = tuple[str, str, int, Mapping[str, float]]
"""A part of the set, how it was asked, how many questions, the figures by name."""


@dataclass(frozen=True)
class OutsideSet:
    """Where a set is had, and what others publish about it."""

    name: str
    origin: str
    licence: str
    published: str
    differs: str
    measure: Callable[[Path, int, Callable[[str], None]], list[Row]]


def spread(questions: Sequence[Any], limit: int) -> Sequence[Any]:
    """About so many of the questions, evenly; all for 0."""
    return questions[:: max(1, len(questions) // limit)] if limit else questions


def means(rows: Iterable[Mapping[str, float]]) -> dict[str, float]:
    found: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        for name, value in row.items():
            found[name].append(value)
    return {name: fmean(values) for name, values in found.items()}


def sessions(folder: Path, limit: int, missed: Callable[[str], None]) -> list[Row]:
    """Whether the sessions that answer a question are among the first of its conversation."""
    report = evaluate(folder, profiles=("bm25", "default"), limit_queries=limit or None)
    gold: dict[str, dict[str, float]] = defaultdict(dict)
    for line in (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        query, document, grade = line.split("\t")
        gold[query][document] = float(grade)
    categories = {}
    for line in (folder / "queries.jsonl").read_text(encoding="utf-8").splitlines():
        query = json.loads(line)
        categories[query["_id"]] = (query["metadata"].get("category", "all"), query["text"])
    parts: dict[tuple[str, str], list[dict[str, float]]] = defaultdict(list)
    for result in report.results:
        category, text = categories[result.query]
        judged = gold[result.query]
        figures = {f"recall@{depth}": recall(result.top, judged, depth) for depth in (1, 5, 10)}
        figures["all of them@10"] = float(figures["recall@10"] == 1.0)
        figures["nDCG@10"] = ndcg(result.top, judged)
        for part in ("all", category):
            parts[part, result.profile].append(figures)
        if result.profile == "default" and figures["recall@10"] < 1.0:
            missed(f"{result.query} ({category}): {text} · wanted {', '.join(judged)}")
    return [(part, profile, len(rows), means(rows)) for (part, profile), rows in sorted(parts.items())]


def found_tools(
    servers: Mapping[str, Sequence[ServerTool]],
    requests: Sequence[tuple[str, str, Mapping[str, float]]],
    called: Callable[[str], str],
    missed: Callable[[str], None],
) -> list[Row]:
    """How well ``tools find`` ranks what serves each request (part, task, judged); ``called`` is a judged name."""
    parts: dict[tuple[str, str], list[dict[str, float]]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as place, opened(Path(place)) as engine:
        for server, offered in servers.items():
            for note in engine.tools.index(server, offered).notes:
                missed(f"{server}: {note}")
        for way, find in ways_to_find(engine).items():
            for part, task, judged in requests:
                ranked = list(dict.fromkeys(called(name) for name in find(task, 10)))
                figures = {f"nDCG@{depth}": ndcg(ranked, judged, depth) for depth in (1, 5)}
                figures |= {f"recall@{depth}": recall(ranked, judged, depth) for depth in (1, 5, 10)}
                for one in ("all", part):
                    parts[one, way].append(figures)
                if way == "tools_find" and not figures["recall@10"]:
                    missed(f"{task[:200]} · wanted {', '.join(judged)} · found {', '.join(ranked[:5])}")
    return [(part, way, len(rows), means(rows)) for (part, way), rows in sorted(parts.items())]


def slug(name: str) -> str:
    """The name of a server as a settings file would have it."""
    return re.sub(r"[^\w.-]+", "-", name).strip("-").lower() or "unnamed"


def livemcp(folder: Path, limit: int, missed: Callable[[str], None]) -> list[Row]:
    """Tasks of people, and the tools that the annotators used for them; a tool is judged by its name alone."""
    servers: dict[str, list[ServerTool]] = {}
    for one in json.loads((folder / "tools.json").read_text(encoding="utf-8")):
        for key, server in one["tools"].items():
            servers[slug(key)] = [
                ServerTool(slug(key), tool["name"], tool.get("description") or "", tool.get("inputSchema") or {})
                for tool in server["tools"]
            ]
    known = {tool.name for offered in servers.values() for tool in offered}
    requests = []
    for task in json.loads((folder / "all_annotations.json").read_text(encoding="utf-8")):
        lines = task["Annotator Metadata"]["Tools"].splitlines()
        names = {re.sub(r"^\s*\d+[.)]\s*", "", line).strip() for line in lines} - {""}
        for name in sorted(names - known):
            missed(f"no server has the tool {name}, which a task was annotated with")
        if names & known:
            requests.append((task["category"], task["Question"], dict.fromkeys(sorted(names & known), 1.0)))
    return found_tools(servers, spread(requests, limit), lambda name: name.partition("/")[2], missed)


_TYPES = {"STRING": "string", "NUMBER": "number", "BOOLEAN": "boolean"}


def stabletool(folder: Path, limit: int, missed: Callable[[str], None]) -> list[Row]:
    """Requests and the functions that serve them, among the functions of all requests."""
    servers: dict[str, dict[str, ServerTool]] = defaultdict(dict)
    requests = []
    for file in sorted(folder.glob("G*.json")):
        for one in json.loads(file.read_text(encoding="utf-8")):
            for api in one["api_list"]:
                given = (*api.get("required_parameters", ()), *api.get("optional_parameters", ()))
                properties = {
                    field["name"]: {
                        "type": _TYPES.get(field.get("type") or "", "string"),
                        "description": str(field.get("description") or ""),
                    }
                    for field in given
                }
                schema = {"type": "object", "properties": properties}
                server = slug(api["tool_name"])
                tool = ServerTool(server, api["api_name"].strip("/ "), api.get("api_description") or "", schema)
                servers[server].setdefault(tool.name, tool)
            judged = {f"{slug(tool)}/{name.strip('/ ')}": 1.0 for tool, name in one["relevant APIs"]}
            requests.append((file.stem, one["query"], judged))
    offered = {server: list(tools.values()) for server, tools in servers.items()}
    return found_tools(offered, spread(requests, limit), str, missed)


_ENGLISH = re.compile(
    r"\b(?:today|yesterday|tomorrow|tonight|noon|midnight|now|last|this|next|ago|later|year|between|january|february"
    r"|march|april|may|june|july|august|september|october|november|december|jan|feb|mar|apr|jun|jul|aug|sep|oct|nov"
    r"|dec)\b|\d\d[-/]\d\d",
    re.IGNORECASE,
)


def times(folder: Path, limit: int, missed: Callable[[str], None]) -> list[Row]:
    """Whether the time that a question names is noticed, and begins and ends on the same days."""
    golden = json.loads((folder / "query_analyzer_golden.json").read_text(encoding="utf-8"))
    parts: dict[str, list[tuple[Any, Any]]] = defaultdict(list)
    for key, span in spread(list(golden.items()), limit):
        moment, _, text = key.partition("\x1f")
        wanted = tuple(datetime.fromisoformat(one).date() for one in span) if span else None
        named = time_in(text, datetime.fromisoformat(moment))
        got = None
        if named is not None:
            last = named.end - timedelta(microseconds=1)
            got = tuple(local(one).date() for one in (named.start, last))
        is_english = text.isascii() and (wanted is None or _ENGLISH.search(text) is not None)
        for part in ("all languages", *(["English"] if is_english else [])):
            parts[part].append((wanted, got))
        if is_english and wanted != got:
            shown = ["none" if days is None else " to ".join(map(str, days)) for days in (wanted, got)]
            missed(f"{moment[:10]}: {text[:100]!r} · wanted {shown[0]} · got {shown[1]}")
    return [(part, "default", len(pairs), _of_times(pairs)) for part, pairs in parts.items()]


def local(moment: datetime) -> datetime:
    """A moment without its zone, in local time; the ends of what has no end stay."""
    try:
        return moment.astimezone().replace(tzinfo=None)
    except (OverflowError, ValueError):
        return moment.replace(tzinfo=None)


def _of_times(pairs: Sequence[tuple[Any, Any]]) -> dict[str, float]:
    both = [(wanted, got) for wanted, got in pairs if wanted and got]
    same = sum(wanted == got for wanted, got in both)
    overlapping = sum(got[0] <= wanted[1] and wanted[0] <= got[1] for wanted, got in both)
    named, noticed = sum(wanted is not None for wanted, _ in pairs), sum(got is not None for _, got in pairs)
    return {
        "noticed: precision": len(both) / max(1, noticed),
        "noticed: recall": len(both) / max(1, named),
        "same days: precision": same / max(1, noticed),
        "same days: recall": same / max(1, named),
        "overlap: recall": overlapping / max(1, named),
    }


SETS = {
    "sessions": OutsideSet(
        "LoCoMo by session",
        "ten conversations of LoCoMo (snap-research/locomo), a document is a whole session; gold sessions of"
        " vectorize-io/agent-memory-benchmark, in the form of `ricordo eval`",
        "the gold names none: for measuring only",
        "recall@10 by session: .603 MiniLM in Chroma, .889 MemPalace hybrid, .924 with bge-large",
        "theirs over 1,986 questions, ours over the 1,531 with gold sessions; each is searched in its conversation",
        sessions,
    ),
    "livemcp": OutsideSet(
        "LiveMCPBench",
        "icip-cas/LiveMCPBench: 70 servers, 527 tools with their schemas, 95 tasks with the annotators' tools",
        "Apache-2.0",
        "none of finding alone: it is published as the share of tasks that an agent with a model completes",
        "the whole task is asked at once, and only tools of the annotators' own way count; others may serve as well",
        livemcp,
    ),
    "stabletool": OutsideSet(
        "StableToolBench",
        "THUNLP-MT/StableToolBench: 765 requests that can be solved, each with its relevant functions",
        "Apache-2.0",
        "none of finding alone that we may quote: it is published as the share of requests that a model solves",
        "looked for among the 2,479 functions that any of the requests names, not among all of RapidAPI",
        stabletool,
    ),
    "times": OutsideSet(
        "time expressions",
        "vectorize-io/hindsight, query_analyzer_golden.json: 423 questions in several languages at six moments",
        "MIT",
        "the set is what hindsight's own analyser answers, mistakes included: 1.000 by its making",
        "days are compared, not seconds; Ricordo takes no time from single words that are words of English, too (may)",
        times,
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("set", choices=SETS)
    parser.add_argument("--data", type=Path, required=True, metavar="FOLDER", help="the folder of the set")
    parser.add_argument("--limit", type=int, default=0, help="about so many questions; 0 is all")
    parser.add_argument("--misses", action="store_true", help="name what was missed")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    one = SETS[given.set]
    misses: list[str] = []
    rows = one.measure(given.data, given.limit, misses.append)
    if given.json:
        figures = [{"part": part, "asked": way, "questions": count, **row} for part, way, count, row in rows]
        print_json({"set": one.name, "figures": figures, **({"missed": misses} if given.misses else {})})
        return
    names = list(rows[0][3])
    cells = [[part, way, str(count), *(f"{row[name]:.3f}" for name in names)] for part, way, count, row in rows]
    print(f"{one.name}: {one.origin}\nlicence: {one.licence}\n")
    print(aligned(("part", "asked", "questions", *names), cells, left=2))
    print(f"\npublished: {one.published}\nwhat differs: {one.differs}")
    if given.misses:
        print("\nmissed:", *misses, sep="\n  ")


if __name__ == "__main__":
    main()
