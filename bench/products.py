"""Ricordo beside whole products that people would use instead, over one folder of Markdown files.

    npm install @tobilu/qmd; pip install basic-memory; pip install 'mcp-memory-service[sqlite]'
    python bench/products.py --corpus DIR --qmd PATH --basic-memory PATH --mcp-memory-service PATH

Each product takes in its own copy of the folder by its own command, is asked from the command line (each time in a
fresh process) and through its MCP server over stdio. It has a home of its own, and no network: what a product must
download first does not work here, and the table says so. A product that is not installed is left out; options or
environment variables (``RICORDO_BENCH_QMD``, ``RICORDO_BENCH_BASIC_MEMORY``, ``RICORDO_BENCH_MCP_MEMORY_SERVICE``)
name the commands that are not on the path. basic-memory and mcp-memory-service need a Python whose ``sqlite3`` can load
extensions; qmd needs Node 22.

Questions are headings that one file alone has, once as they stand ("pod priority") and once as a question ("What is
pod priority?"), so that the right file is known: hit@5 is the share of them for which it is among the first five
files. Products take turns, so that a slow moment of the machine hits all alike.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client

from compared.products import PRODUCTS, Product, found_command, no_network, pages_in, short
from corpus import TEMPLATES, SourceDocument, read_corpus
from timing import aligned, machine, percentile, print_json

BEGIN, END = "<!-- products: begin -->", "<!-- products: end -->"
FIRST = 5
WARMING = 3
"""How many questions only warm a server; they are not counted."""
WORD = re.compile(r"[A-Za-z][A-Za-z]+")
COLUMNS = {
    "version": "version",
    "add_s": "add s",
    "megabytes": "MB on disk",
    "cold_ms": "cold search ms",
    "ready_ms": "MCP ready ms",
    "warm_p50_ms": "MCP search p50 ms",
    "warm_p95_ms": "MCP search p95 ms",
    "hit_headings": "hit@5, headings",
    "hit_questions": "hit@5, questions",
    "semantic": "by meaning, offline",
    "reason": "what did not work, and why",
}
TEXTS = ("version", "semantic", "reason")


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, in which form (headings, questions, or warming), and the number of the file that answers it."""

    text: str
    form: str
    page: str


class Measured:
    """A product, and what is known of it so far."""

    def __init__(self, product: Product) -> None:
        self.product = product
        self.figures: dict[str, Any] = {"version": product.version()}
        self.reasons: list[str] = []
        self.cold: list[float] = []
        self.ready: list[float] = []
        self.warm: list[float] = []
        self.hits: dict[str, list[bool]] = {}

    def fail(self, reason: str) -> None:
        if reason not in self.reasons:
            self.reasons.append(reason)

    def add(self, patience: float) -> None:
        """Take in the folder; seconds, and the bytes that it wrote."""
        answers = [self.product.run(arguments, patience) for arguments in self.product.adding()]
        for answer in answers:
            if answer.failure:
                self.fail(answer.failure)
                return
        self.figures["add_s"] = sum(answer.milliseconds for answer in answers) / 1000
        self.figures["megabytes"] = self.product.bytes_written() / 1e6

    def ask_cold(self, question: Question, patience: float) -> None:
        """One search in a fresh process, unless one failed before."""
        if self.reasons:
            return
        arguments = self.product.searching(question.text)
        if not arguments:
            self.fail("it has no command that searches")
            return
        answer = self.product.run(arguments, patience)
        if answer.failure:
            self.fail(answer.failure)
        else:
            self.cold.append(answer.milliseconds)

    def ask_warm(self, questions: Sequence[Question], patience: float) -> None:
        """All questions to one server, unless one failed before."""
        if self.ready and not self.warm:
            return
        try:
            anyio.run(self._talk, questions, patience)
        except* (OSError, RuntimeError, MCPError) as group:
            self.fail(f"its MCP server failed: {short(str(group.exceptions[0]))}")

    async def _talk(self, questions: Sequence[Question], patience: float) -> None:
        command, *arguments = self.product.line(self.product.serving())
        parameters = StdioServerParameters(
            command=command, args=arguments, env=self.product.environment(), cwd=self.product.home
        )
        self.hits = {}
        started = time.perf_counter()
        with Path(os.devnull).open("w", encoding="utf-8") as silence, anyio.fail_after(patience):
            async with Client(stdio_client(parameters, silence)) as client:
                self.ready.append((time.perf_counter() - started) * 1000)
                for question in questions:
                    tool, values = self.product.calling(question.text)
                    asked = time.perf_counter()
                    result = await client.call_tool(tool, values)
                    taken = (time.perf_counter() - asked) * 1000
                    text = "\n".join(getattr(part, "text", "") for part in result.content)
                    if result.is_error or text.lower().startswith("error"):
                        self.fail(f"MCP `{tool}`: {short(text)}")
                        return
                    if question.form != "warming":
                        self.warm.append(taken)
                        self.hits.setdefault(question.form, []).append(question.page in pages_in(text)[:FIRST])

    def try_meaning(self, question: Question, patience: float) -> None:
        """Whether a search by meaning alone finds anything at the first try."""
        if not self.product.semantic:
            self.figures["semantic"] = "not asked for"
            return
        commands = self.product.by_meaning(question.text)
        answer = None
        for arguments in commands:
            answer = self.product.run(arguments, patience)
            if answer.failure:
                self.fail(answer.failure)
                break
        self.figures["semantic"] = "yes" if answer and not answer.failure and pages_in(answer.text) else "no"

    def summary(self) -> dict[str, Any]:
        """All figures of this product."""
        figures = dict(self.figures)
        for name, times in (("cold_ms", self.cold), ("ready_ms", self.ready), ("warm_p50_ms", self.warm)):
            if times:
                figures[name] = percentile(times, 0.5)
        if self.warm:
            figures["warm_p95_ms"] = percentile(self.warm, 0.95)
        figures |= {f"hit_{form}": sum(found) / len(found) for form, found in self.hits.items()}
        return figures | {"reasons": self.reasons, "reason": "; ".join(self.reasons)}


# --- what is asked ---------------------------------------------------------------------------------------------------


def copy_notes(corpus: Path, count: int, folder: Path) -> None:
    """The first files of the corpus side by side; a number in each name tells them apart in any product's answers."""
    files = sorted(file for file in corpus.rglob("*.md") if file.is_file())[:count]
    if not files:
        raise SystemExit(f"'{corpus}' holds no Markdown file (*.md)")
    folder.mkdir(parents=True)
    for number, file in enumerate(files):
        stem = "-".join(WORD.findall(file.stem)).lower()
        shutil.copyfile(file, folder / f"page-{number:04}-{stem or 'index'}.md")


def questions_of(documents: Sequence[SourceDocument], count: int, seed: int) -> list[Question]:
    """Headings that only one file has: a few to warm servers, then so many in both forms."""
    where: dict[str, set[str]] = {}
    for document in documents:
        for section in document.sections:
            words = WORD.findall(section.heading)
            if 2 <= len(words) <= 6 and section.heading.isascii() and "{" not in section.heading:
                where.setdefault(" ".join(words).lower(), set()).add(pages_in(document.path)[0])
    alone = sorted((heading, *pages) for heading, pages in where.items() if len(pages) == 1)
    if len(alone) < WARMING + count:
        raise SystemExit(
            f"the files have only {len(alone)} headings that one of them alone has: add files, or ask less"
        )
    drawn = random.Random(seed).sample(alone, WARMING + count)
    warming, chosen = drawn[:WARMING], drawn[WARMING:]
    forms = [TEMPLATES[place % len(TEMPLATES)] for place in range(count)]
    return [
        *(Question(heading, "warming", page) for heading, page in warming),
        *(Question(heading, "headings", page) for heading, page in chosen),
        *(
            Question(form.format(heading), "questions", page)
            for form, (heading, page) in zip(forms, chosen, strict=True)
        ),
    ]


# --- the whole run ---------------------------------------------------------------------------------------------------


def measure(options: argparse.Namespace, folder: Path) -> tuple[list[Measured], list[str]]:
    """Everything of every product that is installed, and the names of those that are not."""
    running, absent = [], []
    for kind in PRODUCTS:
        command = found_command(kind, getattr(options, kind.option.replace("-", "_"), None))
        if command is None:
            absent.append(kind.name)
            print(f"{kind.name}: not installed, left out (--{kind.option} PATH names its command)", file=sys.stderr)
            continue
        product = kind(command, folder / kind.name.replace(", ", "-").replace(" ", "-"))
        copy_notes(options.corpus, options.files, product.notes)
        running.append(Measured(product))
    questions = questions_of(read_corpus(running[0].product.notes), options.queries, options.seed)
    for one in running:
        one.add(options.timeout)
    running_well = [one for one in running if "add_s" in one.figures]
    for turn in range(options.cold + 1):
        for one in running_well:
            one.ask_cold(questions[turn % len(questions)], options.patience)
    for one in running_well:
        del one.cold[:1]  # the first turn warms the file cache
    for _ in range(options.turns):
        for one in running_well:
            one.ask_warm(questions, options.timeout)
    with ThreadPoolExecutor() as pool:  # not timed, and most of it is waiting for a network that is not there
        list(pool.map(lambda one: one.try_meaning(questions[0], options.patience), running_well))
    return running, absent


def cell(name: str, value: Any) -> str:
    """One figure as the table shows it."""
    if value is None:
        return "–"
    if name in TEXTS:
        return str(value)
    return f"{value:.2f}" if name.startswith("hit") else f"{value:,.1f}" if value < 100 else f"{value:,.0f}"


def rows_of(results: dict[str, Any]) -> list[list[str]]:
    return [
        [name, *(cell(column, figures.get(column)) for column in COLUMNS)]
        for name, figures in results["products"].items()
    ]


def write_page(results: dict[str, Any], page: Path) -> None:
    """Put the table between the two marks of the page, which must be there."""
    text = page.read_text(encoding="utf-8")
    if BEGIN not in text or END not in text:
        raise SystemExit(f"{page} has no place for the table: it needs the lines {BEGIN} and {END}")
    before, rest = text.split(BEGIN, 1)
    about = machine()
    lines = [
        f"Made by `{results['command']}` on {about['cores']} cores ({about['cpu']}), Python {about['python']}.",
        "",
    ]
    lines += [f"| product | {' | '.join(COLUMNS.values())} |"]
    lines += ["|---" + "".join("|---" if name in TEXTS else "|---:" for name in COLUMNS) + "|"]
    lines += [f"| {' | '.join(row)} |" for row in rows_of(results)]
    if results["absent"]:
        lines += ["", f"Not installed in this run: {', '.join(results['absent'])}."]
    page.write_text(f"{before}{BEGIN}\n\n" + "\n".join(lines) + f"\n\n{END}{rest.split(END, 1)[1]}", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--corpus", type=Path, required=True, metavar="DIR", help="a folder of Markdown files")
    parser.add_argument("--files", type=int, default=500, metavar="N", help="take the first N files (500)")
    parser.add_argument("--queries", type=int, default=30, metavar="N", help="headings, each asked in two forms (30)")
    parser.add_argument("--cold", type=int, default=5, metavar="N", help="searches from the command line (5)")
    parser.add_argument("--turns", type=int, default=2, help="servers of each product, one after the other (2)")
    parser.add_argument("--seed", type=int, default=1, help="for the choice of headings (1)")
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds that adding or a server may take (600)")
    parser.add_argument("--patience", type=float, default=60.0, help="seconds that one search may take (60)")
    for kind in PRODUCTS:
        if kind.option:
            parser.add_argument(f"--{kind.option}", metavar="PATH", help=f"the command of {kind.name}")
    parser.add_argument("--page", type=Path, help="write the table into this page too")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args()
    if not no_network():
        print("the network cannot be taken away here: proxies that lead nowhere stand in for that", file=sys.stderr)
    with tempfile.TemporaryDirectory(prefix="ricordo-products-", ignore_cleanup_errors=True) as folder:
        measured, absent = measure(options, Path(folder))
    given = " ".join(
        f"--{name} {getattr(options, name):g}" for name in ("files", "queries", "cold", "turns", "patience")
    )
    results = {
        "command": f"python bench/products.py --corpus DIR {given}",
        "products": {one.product.name: one.summary() for one in measured},
        "absent": absent,
    }
    if options.json:
        print_json(results)
    else:
        print(aligned(("product", *list(COLUMNS.values())[:-1]), [row[:-1] for row in rows_of(results)]))
        for name, figures in results["products"].items():
            for reason in figures["reasons"]:
                print(f"{name}: {reason}")
    if options.page:
        write_page(results, options.page)


if __name__ == "__main__":
    main()
