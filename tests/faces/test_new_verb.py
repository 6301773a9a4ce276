"""A verb that is declared in one file is there in Python, on the command line, over HTTP and MCP, in completion and in
the reference.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
VERB = '''
    @verb("read", "find", "Greet somebody.", answers="greeting", examples=("ricordo greet Ada --times 2",))
    def greet(
        self,
        name: Annotated[str, Say("Who is greeted.", shown="NAME")],
        *,
        times: Annotated[int, Say("How often.", 1, 9, shown="N")] = 1,
        loud: Annotated[bool, Say("In capital letters.")] = False,
    ) -> str:
        """Nothing is stored."""
        text = " ".join([f"Hello, {name}!"] * times)
        return text.upper() if loud else text
'''
LOOK = """
import json, runpy, sys
from click.shell_completion import ShellComplete
from ricordo import Ricordo
from ricordo.cli.program import program
from ricordo.http_api.api import verb_routes
from ricordo.mcp_server.tool import generated

with Ricordo.open(sys.argv[1]) as memory:
    python = memory.greet("Ada", times=2, loud=True)
complete = ShellComplete(program, {}, "ricordo", "_RICORDO_COMPLETE")
(route,) = [route for route in verb_routes().routes if route.path == "/api/v1/greet"]
(tool,) = [tool for tool in generated() if tool.name == "greet"]
print(json.dumps({
    "python": python,
    "offered": [item.value for item in complete.get_completions([], "gre")],
    "flags": [item.value for item in complete.get_completions(["greet"], "--")],
    "http": sorted(route.methods),
    "mcp": [sorted(tool.arguments), list(tool.required), tool.arguments["times"]["maximum"]],
    "page": runpy.run_path(sys.argv[2])["page"](),
}))
"""


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The project with one more verb in one file; all other files, and what was compiled of them, are links."""
    for part in ("src", "tools"):
        shutil.copytree(ROOT / part, tmp_path / part, copy_function=os.symlink)
    for name in ("engine/health.py", "verbs/index.json", "cli/command_list.py"):
        place = tmp_path / "src" / "ricordo" / name
        place.unlink()
        shutil.copy(ROOT / "src" / "ricordo" / name, place)
    health = tmp_path / "src" / "ricordo" / "engine" / "health.py"
    before, line, after = health.read_text("utf-8").partition(
        '    @verb("read", "look after", "Show what the store holds."'
    )
    assert line
    health.write_text(f"{before.rstrip()}\n{VERB}\n{line}{after}", encoding="utf-8")
    return tmp_path


def python(copy: Path, *args: str) -> str:
    env = {**os.environ, "PYTHONPATH": str(copy / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, *args], cwd=copy, env=env, check=True, stdout=subprocess.PIPE, text=True
    ).stdout


def test_a_verb_that_is_declared_in_one_file_is_on_every_face(copy: Path, house: Any) -> None:
    python(copy, "tools/make_verbs.py")
    store = str(copy / "store.db")
    seen = json.loads(python(copy, "-c", LOOK, store, "tools/make_cli_docs.py"))
    assert seen["python"] == "HELLO, ADA! HELLO, ADA!"
    assert seen["offered"] == ["greet", "grep"]
    assert {"--times", "--loud"} <= set(seen["flags"])
    assert seen["http"]
    assert seen["mcp"] == [["loud", "name", "times"], ["name"], 9]
    assert "Usage: ricordo greet [OPTIONS] NAME" in seen["page"]
    told = python(copy, "-m", "ricordo", "greet", "Ada", "--times", "2", "--store", store, "--json")
    assert json.loads(told)["data"] == {"greeting": "Hello, Ada! Hello, Ada!"}
    assert python(copy, "-m", "ricordo", "greet", "Ada", "--store", store) == "greeting: Hello, Ada!\n"
    assert "\n  greet " in python(copy, "-m", "ricordo", "--help", "--all")
