"""Counts what the project consists of: lines and modules by folder, and the surface that users see.

python tools/size.py [--json] [ROOT]
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
TINY = 100
"""Modules under so many lines are counted as tiny."""


def lines_of(path: Path) -> Counter[str]:
    """The lines of a module: code, docstrings, comments, imports, blank."""
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    kinds = {number: "code" for number, line in enumerate(lines, 1) if line.strip()}
    kinds |= {number: "comment" for number in kinds if lines[number - 1].lstrip().startswith("#")}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            kind = "import"
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            kind = "docstring"
        else:
            continue
        kinds |= dict.fromkeys(range(node.lineno, (node.end_lineno or node.lineno) + 1), kind)
    counts = Counter(kinds.values())
    counts["blank"] = len(lines) - counts.total()
    return counts


def folders(package: Path) -> dict[str, Counter[str]]:
    """Lines and modules of each folder of the package; ``.`` holds the modules at its top."""
    counted: dict[str, Counter[str]] = {}
    for path in sorted(package.rglob("*.py")):
        inside = path.relative_to(package)
        counts = counted.setdefault(inside.parts[0] if len(inside.parts) > 1 else ".", Counter())
        lines = lines_of(path)
        counts.update(lines)
        counts.update({"lines": lines.total(), "modules": 1, "tiny": int(lines.total() < TINY)})
    return counted


def surface(root: Path) -> dict[str, int]:
    """How much a user can see: verbs, parameters, settings, pages of documentation, tests."""
    verbs: list[dict[str, Any]] = json.loads(
        next((root / "src" / "ricordo").glob("*/index.json")).read_text(encoding="utf-8")
    )
    parameters = [len(verb.get("parameters") or verb.get("params") or ()) for verb in verbs]
    settings = len(
        re.findall(r"^\| `\w+\.\w+`", (root / "docs" / "config.md").read_text(encoding="utf-8"), re.MULTILINE)
    )
    pages = [page for page in (root / "docs").glob("*.md") if "<!-- Generated" not in page.read_text(encoding="utf-8")]
    tests = list((root / "tests").rglob("*.py"))
    return {
        "verbs": len(verbs),
        "parameters": sum(parameters),
        "settings": settings,
        "written pages of docs": len(pages),
        "lines of these pages": sum(page.read_text(encoding="utf-8").count("\n") for page in pages),
        "lines of README": (root / "README.md").read_text(encoding="utf-8").count("\n"),
        "lines of tests": sum(path.read_text(encoding="utf-8").count("\n") for path in tests),
        "test functions": sum(
            len(re.findall(r"^ *def test_", path.read_text(encoding="utf-8"), re.MULTILINE)) for path in tests
        ),
    }


def main(arguments: list[str]) -> int:
    root = Path(next((one for one in arguments if not one.startswith("-")), ROOT))
    counted = folders(root / "src" / "ricordo")
    counted["all"] = sum(counted.values(), Counter())
    if "--json" in arguments:
        print(json.dumps({"folders": counted, "surface": surface(root)}))
        return 0
    columns = ("lines", "code", "import", "docstring", "comment", "blank", "modules", "tiny")
    print(f"{'folder':14}" + "".join(f"{column:>11}" for column in columns))
    for name, counts in counted.items():
        print(f"{name:14}" + "".join(f"{counts[column]:11,}" for column in columns))
    for name, number in surface(root).items():
        print(f"{name}: {number:,}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
