"""Write the index of verbs from the declarations in the engine: ``python tools/make_verbs.py [--check]``."""

from __future__ import annotations

import json
import sys

from ricordo.engine import Ricordo
from ricordo.engine.tools import Tools
from ricordo.memory.use import Learning
from ricordo.verbs.index import FILE
from ricordo.verbs.read import plain_row, verb_rows


def index() -> str:
    """One verb per line, so that a change of one is a change of one line."""
    rows = verb_rows({"": Ricordo, "tools": Tools, "learn": Learning})
    lines = (json.dumps(plain_row(row), ensure_ascii=False) for row in rows)
    return "[\n" + ",\n".join(lines) + "\n]\n"


def main(arguments: list[str]) -> int:
    text = index()
    if FILE.exists() and FILE.read_text(encoding="utf-8") == text:
        return 0
    if "--check" in arguments:
        print("src/ricordo/verbs/index.json is out of date: run 'make docs'", file=sys.stderr)
        return 1
    FILE.write_text(text, encoding="utf-8", newline="\n")
    print("wrote src/ricordo/verbs/index.json")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
