"""Write the verbs of the core and of each plugin from their declarations: ``python tools/make_verbs.py [--check]``.

With them it writes the list of all commands, and what type checkers need to know: ``Ricordo`` has the verbs of all
plugins that come with it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from itertools import chain
from pathlib import Path

from ricordo import cli, engine
from ricordo.cli.command import declared_commands
from ricordo.engine.core import CoreVerbs
from ricordo.memory.use import Learning
from ricordo.plugin import installed
from ricordo.verbs.index import FILE, plugin_file
from ricordo.verbs.read import plain_row, plugin_rows, verb_rows
from ricordo.verbs.rows import VerbRow

ROOT = Path(__file__).parents[1]
OURS = "ricordo.plugins."
STUB = Path(engine.__file__).with_name("ricordo.pyi")
COMMANDS = Path(cli.__file__).with_name("command_list.py")


def files() -> dict[Path, str]:
    """What is written to which file."""
    plugins = [plugin for plugin in installed().values() if plugin.package.startswith(OURS)]
    rows = {FILE: verb_rows({"": CoreVerbs, "learn": Learning})}
    rows |= {plugin_file(plugin): plugin_rows(plugin) for plugin in plugins if plugin.verbs}
    written = {file: index(verbs) for file, verbs in rows.items()}
    places = [f"{plugin.package}.{place}" for plugin in plugins for place in plugin.verbs]
    commands = command_list([plugin.name for plugin in plugins], declared_commands(chain(*rows.values())))
    return written | {STUB: stub(places), COMMANDS: commands}


def index(rows: Iterable[VerbRow]) -> str:
    """One verb per line, so that a change of one is a change of one line."""
    lines = (json.dumps(plain_row(row), ensure_ascii=False) for row in rows)
    return "[\n" + ",\n".join(lines) + "\n]\n"


def command_list(plugins: Iterable[str], commands: Mapping[str, tuple[str, str]]) -> str:
    """All commands with their section and line, and the plugins that bring them."""
    rows = ((json.dumps(name), json.dumps(section), json.dumps(line)) for name, (section, line) in commands.items())
    return "\n".join(
        [
            '"""All commands with their section and line, if these plugins are installed.',
            "",
            "Written by tools/make_verbs.py, so that the help imports no plugin and reads no verb.",
            '"""',
            "",
            "PLUGINS = (",
            *(f"    {json.dumps(name)}," for name in plugins),
            ")",
            "COMMANDS = {",
            *(f"    {name}: ({section}, {line})," for name, section, line in rows),
            "}",
            "",
        ]
    )


def stub(places: Iterable[str]) -> str:
    """``Ricordo`` as type checkers read it."""
    pairs = sorted(place.split(":") for place in places)
    return "\n".join(
        [
            "# Written by tools/make_verbs.py, for type checkers.",
            "from ricordo.engine.core import CoreVerbs",
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
