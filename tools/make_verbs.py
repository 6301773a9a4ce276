"""Write the verbs of the core and of each plugin from their declarations: ``python tools/make_verbs.py [--check]``.

With them it writes what type checkers need to know: ``Ricordo`` has the verbs of all plugins that come with it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path

from ricordo import engine
from ricordo.engine import CoreVerbs
from ricordo.engine.tools import Tools
from ricordo.memory.use import Learning
from ricordo.plugin import installed
from ricordo.verbs.index import FILE, plugin_file
from ricordo.verbs.read import plain_row, plugin_rows, verb_rows
from ricordo.verbs.rows import VerbRow

ROOT = Path(__file__).parents[1]
OURS = "ricordo.plugins."
STUB = Path(engine.__file__).with_suffix(".pyi")


def files() -> dict[Path, str]:
    """What is written to which file."""
    plugins = [plugin for plugin in installed().values() if plugin.package.startswith(OURS)]
    written = {FILE: index(verb_rows({"": CoreVerbs, "tools": Tools, "learn": Learning}))}
    written |= {plugin_file(plugin): index(plugin_rows(plugin)) for plugin in plugins if plugin.verbs}
    places = [f"{plugin.package}.{place}" for plugin in plugins for place in plugin.verbs]
    return written | {STUB: stub(places)}


def index(rows: Iterable[VerbRow]) -> str:
    """One verb per line, so that a change of one is a change of one line."""
    lines = (json.dumps(plain_row(row), ensure_ascii=False) for row in rows)
    return "[\n" + ",\n".join(lines) + "\n]\n"


def stub(places: Iterable[str]) -> str:
    """``Ricordo`` as type checkers read it."""
    pairs = sorted(place.split(":") for place in places)
    return "\n".join(
        [
            "# Written by tools/make_verbs.py, for type checkers.",
            "from ricordo.engine.core import CoreVerbs as CoreVerbs",
            *(f"from {module} import {name}" for module, name in pairs),
            "",
            "class Ricordo(",
            *(f"    {name}," for _, name in pairs),
            "    CoreVerbs,",
            "): ...",
            "",
        ]
    )


def main(arguments: list[str]) -> int:
    code = 0
    for file, text in files().items():
        if file.exists() and file.read_text(encoding="utf-8") == text:
            continue
        if "--check" in arguments:
            print(f"{file.relative_to(ROOT)} is out of date: run 'make docs'", file=sys.stderr)
            code = 1
        else:
            file.write_text(text, encoding="utf-8", newline="\n")
            print(f"wrote {file.relative_to(ROOT)}")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
