"""Puts small faults into the code, one at a time, and says which of them no test notices.

    python tools/mutate.py http_api plugins/gateway --tests tests/server tests/plugins/gateway --count 30 --seed 1

The faults are put into a copy of the project, in packages named as below ``src/ricordo`` (``http_api``,
``plugins/postgres``; ``.`` is all) or modules (``cli/show.py``). First the tests run there once without a fault, and
the function around each fault notes which tests run it, also in programs that they start. Then each fault is tried
with these tests, or with some of them drawn by lot (``--most``), so that the share of noticed faults is a lower bound.
A fault in a function that no test runs is unnoticed. Some unnoticed faults change nothing that anybody could see; for
the others a test is missing.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
CODE = "src/ricordo"
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
PROBE = "fault_probes"
REACH = """
import os

noted = set()


def reach(numbers):
    test = os.environ.get("PYTEST_CURRENT_TEST", "")
    if fresh := [number for number in numbers if (number, test) not in noted]:
        noted.update((number, test) for number in fresh)
        with open(NOTED, "a") as file:
            file.write("".join(f"{number}\\t{test}\\n" for number in fresh))
"""
"""The module that the functions with faults call in the first run: it notes the test that runs them."""
LARGE = 100
"""Larger numbers are left alone: mostly they are limits, and one more or less of them is no fault."""
OPPOSITE: dict[type[ast.AST], Any] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add,
}  # fmt: skip


@dataclass(frozen=True)
class Fault:
    """One place in a file, and what is written there instead."""

    file: str
    start: tuple[int, int]
    end: tuple[int, int]
    text: str

    def put_into(self, source: str) -> str:
        lines = source.encode().splitlines(keepends=True)
        before, after = lines[: self.start[0] - 1], lines[self.end[0] :]
        head, tail = lines[self.start[0] - 1][: self.start[1]], lines[self.end[0] - 1][self.end[1] :]
        return b"".join([*before, head, self.text.encode(), tail, *after]).decode()


def instead_of(node: ast.AST) -> str | None:
    """What is written in place of a part of the code; None if it is left as it is."""
    match node:
        case ast.Compare(left, [op], [right]):
            return ast.unparse(ast.Compare(left, [OPPOSITE[type(op)]()], [right]))
        case ast.BoolOp(op, values):
            return f"({ast.unparse(ast.BoolOp(OPPOSITE[type(op)](), values))})"
        case ast.UnaryOp(ast.Not(), operand):
            return f"({ast.unparse(operand)})"
        case ast.BinOp(left, ast.Add() | ast.Sub() as op, right):
            return f"({ast.unparse(ast.BinOp(left, OPPOSITE[type(op)](), right))})"
        case ast.Constant(bool() as value):
            return str(not value)
        case ast.Constant(int() | float() as value) if abs(value) < LARGE:
            return str(value + 1)
        case ast.Expr(ast.Call() | ast.Await()):
            return "pass"
        case ast.Call(func, [first, second, *rest], keywords):
            return ast.unparse(ast.Call(func, [second, first, *rest], keywords))
        case ast.Return(value) if value is not None and not isinstance(value, ast.Constant):
            return "return None"
    return None


def parsed(file: str) -> ast.Module:
    return ast.parse((ROOT / file).read_text(encoding="utf-8"))


def faults_of(file: str) -> Iterator[Fault]:
    """All faults that can be put into a file; what only the type checker reads is left out."""
    hidden: set[ast.AST] = set()
    for node in ast.walk(parsed(file)):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            hidden.update(*(ast.walk(part) for part in (*node.body, node.test)))
        if isinstance(node, ast.FormattedValue | ast.JoinedStr):
            hidden.update(ast.walk(node))  # texts for people; their parts have no places of their own
        if node not in hidden and (text := instead_of(node)) is not None:
            yield Fault(file, (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset), text)  # type: ignore[attr-defined]


def copied(place: Path) -> Path:
    """A copy of the project with a Python that imports it, and all other packages from the present environment."""
    left_out = shutil.ignore_patterns(".*", "__pycache__", "build", "dist", "node_modules")
    shutil.copytree(ROOT, place, ignore=left_out, dirs_exist_ok=True)
    (packages,) = (ROOT / ".venv").glob("lib/python*/site-packages")
    own = place / packages.relative_to(ROOT)
    own.mkdir(parents=True)
    for one in packages.iterdir():
        if not (one.suffix == ".pth" and "ricordo" in one.name):
            (own / one.name).symlink_to(one)
    (own / "ricordo.pth").write_text(str(place / "src"))
    shutil.copy2(ROOT / ".venv" / "pyvenv.cfg", place / ".venv")
    (place / ".venv" / "bin").mkdir()
    (place / ".venv" / "bin" / "python").symlink_to((ROOT / ".venv" / "bin" / "python").resolve())
    return place


def problems(place: Path, *words: str, seconds: float | None = None) -> str:
    """Run tests in the copy; what they say if they fail or take too long, nothing if all is well."""
    command = [str(place / ".venv/bin/python"), "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    command += ["-m", "not external", *words]
    try:
        done = subprocess.run(command, cwd=place, capture_output=True, check=False, timeout=seconds, text=True)
    except subprocess.TimeoutExpired:
        return "They took too long."
    return done.stdout + done.stderr if done.returncode else ""


def probed(source: str, numbers: Mapping[int, Fault]) -> str:
    """A file whose functions note that they run: the one around each fault, or all of them if it is in none."""
    lines = source.splitlines(keepends=True)
    functions = [node for node in ast.walk(ast.parse(source)) if isinstance(node, FUNCTIONS)]
    probes: dict[int, list[int]] = {}
    for number, fault in numbers.items():
        around = [node for node in functions if node.body[0].lineno <= fault.start[0] <= (node.end_lineno or 0)]
        for node in around[-1:] or functions:
            body = node.body[1:] if ast.get_docstring(node) is not None else node.body
            if not body:
                continue
            first = min(part.lineno for part in (body[0], *getattr(body[0], "decorator_list", ())))
            if first > node.lineno and lines[first - 1][: body[0].col_offset].isspace():
                probes.setdefault(first, []).append(number)
    for first in sorted(probes, reverse=True):
        margin = lines[first - 1][: len(lines[first - 1]) - len(lines[first - 1].lstrip())]
        lines.insert(first - 1, f"{margin}__import__({PROBE!r}).reach({probes[first]})\n")
    return "".join(lines)


def reaching(place: Path, faults: Sequence[Fault], tests: Iterable[str], workers: int) -> dict[int, list[str]]:
    """The tests that run the function of each fault, here or in a program that they start; those that fail in the copy
    as it is (because they count what is imported, say) are left out.
    """
    by_file: dict[str, dict[int, Fault]] = {}
    for number, fault in enumerate(faults):
        by_file.setdefault(fault.file, {})[number] = fault
    sources = {file: (place / file).read_text(encoding="utf-8") for file in by_file}
    for file, numbers in by_file.items():
        (place / file).write_text(probed(sources[file], numbers), encoding="utf-8")
    (packages,) = (place / ".venv").glob("lib/python*/site-packages")
    noted = place / "reached.txt"
    (packages / f"{PROBE}.py").write_text(f"NOTED = {str(noted)!r}\n{REACH}", encoding="utf-8")
    output = problems(place, "-n", str(workers), "--dist", "worksteal", *tests)
    named = (line for line in output.splitlines() if line.startswith("FAILED "))
    failed = {line.removeprefix("FAILED ").partition(" - ")[0] for line in named}
    if output and not failed:
        sys.exit(f"{output[-2000:]}\nThese tests do not run without any fault; mend them, or name others with --tests.")
    print(*(f"left out, because it fails without any fault: {name}" for name in sorted(failed)), sep="\n", flush=True)
    for file, source in sources.items():
        (place / file).write_text(source, encoding="utf-8")
    reached: dict[int, set[str]] = {}
    for line in noted.read_text(encoding="utf-8").splitlines():
        number, _, test = line.partition("\t")
        reached.setdefault(int(number), set()).add(test.rpartition(" (")[0])
    return {number: sorted(names - failed - {""}) for number, names in reached.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", nargs="+")
    parser.add_argument("--tests", nargs="+", default=["tests"], help="the tests that may notice")
    parser.add_argument("--count", type=int, default=20, help="how many faults are tried")
    parser.add_argument("--seed", type=int, default=1, help="the same number chooses the same faults")
    parser.add_argument("--most", type=int, default=60, help="of more tests that reach a fault, this many are run")
    parser.add_argument("--workers", type=int, default=2, help="processes of the first run")
    parser.add_argument("--seconds", type=float, default=600.0, help="tests that take longer count as having noticed")
    options = parser.parse_args()
    paths = [ROOT / CODE / name for name in options.packages]
    files = sorted({file for path in paths for file in (path.rglob("*.py") if path.is_dir() else [path])})
    every = [fault for file in files for fault in faults_of(str(file.relative_to(ROOT)))]
    choice = random.Random(options.seed)
    chosen = choice.sample(every, min(options.count, len(every)))
    noticed = 0
    with tempfile.TemporaryDirectory(prefix="ricordo-faults-") as folder:
        place = copied(Path(folder))
        reached = reaching(place, chosen, options.tests, options.workers)
        for number, fault in enumerate(chosen):
            source = (place / fault.file).read_text(encoding="utf-8")
            faulty = fault.put_into(source)
            (place / fault.file).write_text(faulty, encoding="utf-8")
            tests = reached.get(number, [])
            some = tests if len(tests) <= options.most else choice.sample(tests, options.most)
            is_noticed = bool(some and problems(place, "-n", "0", "-x", *some, seconds=options.seconds))
            (place / fault.file).write_text(source, encoding="utf-8")
            noticed += is_noticed
            lines = difflib.unified_diff(source.splitlines(), faulty.splitlines(), fault.file, lineterm="", n=0)
            outcome = "noticed" if is_noticed else "unnoticed"
            print(f"{number + 1}: {outcome} by {len(some)} of {len(tests)} tests\n" + "\n".join(lines), flush=True)
    print(f"{noticed} of {len(chosen)} faults were noticed ({len(every):,} are possible).")


if __name__ == "__main__":
    main()
