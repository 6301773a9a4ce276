"""Puts small faults into the code, one at a time, and says which of them no test notices.

    python tools/mutate.py http_api tools --tests tests/server tests/tools --count 30 --seed 1

The faults are put into a copy of the project. First the tests run there once as they are, and it is noted which of them
reach which line. Then each fault is tried with the tests that reach its line, in packages named as below
``src/ricordo`` (``http_api``, ``store/postgres``) or modules (``cli/hook_shown.py``). A fault in a line that no test
reaches is unnoticed. Some unnoticed faults change nothing that anybody could see; for the others a test is missing.
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
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
CODE = "src/ricordo"
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
        if not one.name.startswith("_editable_impl_ricordo"):
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


def failing(place: Path, tests: Iterable[str]) -> set[str]:
    """Run tests in the copy as it is, note which lines they reach, and name those that fail: they are left out.

    Some fail because coverage is measured (what a process imports) or because files are missing in the copy.
    """
    said = problems(place, "-n", "2", "--cov", "--cov-context=test", "--cov-report=", *tests)
    found = {
        line.removeprefix("FAILED ").partition(" - ")[0] for line in said.splitlines() if line.startswith("FAILED ")
    }
    if said and not found:
        sys.exit(f"{said[-2000:]}\nThese tests do not run without any fault; mend them, or name others with --tests.")
    return found


def reaching(place: Path, fault: Fault, every: list[str], without: set[str]) -> list[str]:
    """The tests that run a line of the fault. It is not known which ones run a line at an import or in a program that
    they start; then it is those that run the file, or all.
    """
    import coverage

    data = coverage.CoverageData(str(place / ".coverage"))
    data.read()
    tests = data.contexts_by_lineno(str(place / fault.file))
    bodies = [node for node in ast.walk(parsed(fault.file)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    is_inside = any(one.body[0].lineno <= fault.start[0] <= (one.end_lineno or 0) for one in bodies)
    reached = {line for line in range(fault.start[0], fault.end[0] + 1) if line in tests}

    def running(lines: Iterable[int]) -> list[str]:
        return sorted({name.rpartition("|")[0] for line in lines for name in tests[line] if name} - without)

    return (running(reached) if is_inside else []) or (running(tests) or every if reached else [])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", nargs="+")
    parser.add_argument("--tests", nargs="+", default=["tests"], help="the tests that may notice")
    parser.add_argument("--count", type=int, default=20, help="how many faults are tried")
    parser.add_argument("--seed", type=int, default=1, help="the same number chooses the same faults")
    parser.add_argument("--seconds", type=float, default=600.0, help="tests that take longer count as having noticed")
    given = parser.parse_args()
    paths = [ROOT / CODE / name for name in given.packages]
    files = sorted({file for path in paths for file in (path.rglob("*.py") if path.is_dir() else [path])})
    every = [fault for file in files for fault in faults_of(str(file.relative_to(ROOT)))]
    chosen = random.Random(given.seed).sample(every, min(given.count, len(every)))
    noticed = 0
    with tempfile.TemporaryDirectory(prefix="ricordo-faults-") as folder:
        place = copied(Path(folder))
        without = failing(place, given.tests)
        print(
            *(f"left out, because it fails without any fault: {name}" for name in sorted(without)), sep="\n", flush=True
        )
        for number, fault in enumerate(chosen, 1):
            source = (place / fault.file).read_text(encoding="utf-8")
            faulty = fault.put_into(source)
            (place / fault.file).write_text(faulty, encoding="utf-8")
            tests = reaching(place, fault, given.tests, without)
            but = [f"--deselect={name}" for name in without]
            is_noticed = bool(tests and problems(place, "-n", "0", "-x", *but, *tests, seconds=given.seconds))
            (place / fault.file).write_text(source, encoding="utf-8")
            noticed += is_noticed
            lines = difflib.unified_diff(source.splitlines(), faulty.splitlines(), fault.file, lineterm="", n=0)
            said = "noticed" if is_noticed else "unnoticed"
            print(f"{number}: {said} by {len(tests)} tests\n" + "\n".join(lines), flush=True)
    print(f"{noticed} of {len(chosen)} faults were noticed ({len(every):,} are possible).")


if __name__ == "__main__":
    main()
