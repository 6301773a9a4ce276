"""What install writes has the shape that each program documents for a server: no key is unknown there, none is missing.

The shapes are described here in our own words, after the documentation of each program; ``Continue`` publishes the
schema itself, and is asked.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator
from tests.faces.npm_tools import npm_folder

from ricordo.plugins.gateway.moved_servers import gateway_pieces
from ricordo.plugins.install.pieces import Piece, pieces_for
from ricordo.programs.table import PROGRAMS

COMMAND = ["/opt/some where/ricordo"]
TEXT = {"type": "string"}
TEXTS = {"type": "array", "items": TEXT}
VARIABLES = {"type": "object", "additionalProperties": TEXT}
YES_OR_NO = {"type": "boolean"}
SECONDS = {"type": "number", "minimum": 1}


def entry(*required: str, **known: Any) -> dict[str, Any]:
    """An object with these keys and no others."""
    return {"type": "object", "properties": known, "required": list(required), "additionalProperties": False}


def under(*path: str, server: dict[str, Any]) -> dict[str, Any]:
    """A settings file that has servers by name under a key."""
    named: dict[str, Any] = {"type": "object", "additionalProperties": server, "minProperties": 1}
    for key in reversed(path):
        named = {"type": "object", "properties": {key: named}, "required": [key]}
    return named


STARTED = {"command": TEXT, "args": TEXTS, "env": VARIABLES}
"""What every program takes for a server that it starts."""
SHAPES: dict[str, dict[str, Any]] = {
    "claude-code": under(
        "mcpServers",
        server=entry("command", type={"const": "stdio"}, timeout=SECONDS, alwaysLoad=YES_OR_NO, **STARTED),
    ),
    "claude-desktop": under("mcpServers", server=entry("command", **STARTED)),
    "cursor": under("mcpServers", server=entry("command", type={"const": "stdio"}, envFile=TEXT, cwd=TEXT, **STARTED)),
    "vscode": under(
        "servers", server=entry("type", "command", type={"const": "stdio"}, envFile=TEXT, cwd=TEXT, **STARTED)
    ),
    "zed": under(
        "context_servers",
        server=entry("command", source={"const": "custom"}, enabled=YES_OR_NO, timeout=SECONDS, **STARTED),
    ),
    "cline": under(
        "mcpServers",
        server=entry(
            "command",
            type={"const": "stdio"},
            cwd=TEXT,
            disabled=YES_OR_NO,
            autoApprove=TEXTS,
            timeout=SECONDS,
            **STARTED,
        ),
    ),
    "windsurf": under("mcpServers", server=entry("command", disabled=YES_OR_NO, disabledTools=TEXTS, **STARTED)),
    "codex": under(
        "mcp_servers",
        server=entry(
            "command",
            cwd=TEXT,
            enabled=YES_OR_NO,
            enabled_tools=TEXTS,
            startup_timeout_sec=SECONDS,
            tool_timeout_sec=SECONDS,
            **STARTED,
        ),
    ),
    "gemini": under(
        "mcpServers",
        server=entry("command", cwd=TEXT, timeout=SECONDS, trust=YES_OR_NO, includeTools=TEXTS, **STARTED),
    ),
    "qwen": under(
        "mcpServers",
        server=entry("command", cwd=TEXT, timeout=SECONDS, trust=YES_OR_NO, includeTools=TEXTS, **STARTED),
    ),
    "opencode": under(
        "mcp",
        server=entry(
            "type",
            "command",
            type={"const": "local"},
            command={**TEXTS, "minItems": 1},
            environment=VARIABLES,
            enabled=YES_OR_NO,
            timeout=SECONDS,
        ),
    ),
    "continue": entry(
        "name",
        "version",
        name=TEXT,
        version=TEXT,
        schema={"const": "v1"},
        mcpServers={
            "type": "array",
            "minItems": 1,
            "items": entry("name", "command", name=TEXT, type={"const": "stdio"}, cwd=TEXT, **STARTED),
        },
    ),
}


def written(piece: Piece) -> Any:
    """What a program reads from the file."""
    text = piece.snippet()
    if piece.form == "toml":
        return tomllib.loads(text)
    return yaml.safe_load(text) if piece.path.suffix == ".yaml" else json.loads(text)


def server_of(agent: str, folder: Path, *, gateway: bool = False) -> Any:
    pieces = pieces_for(agent, "user", folder, COMMAND)
    return written(next(one for one in (gateway_pieces(pieces) if gateway else pieces) if one.what == "MCP server"))


@pytest.mark.parametrize("agent", sorted(PROGRAMS))
def test_the_entry_has_the_shape_that_the_program_documents(agent: str, tmp_path: Path) -> None:
    problems = [one.message for one in Draft202012Validator(SHAPES[agent]).iter_errors(server_of(agent, tmp_path))]
    assert problems == []


@pytest.mark.parametrize("agent", sorted(name for name, one in PROGRAMS.items() if one.has_plain_servers))
def test_the_entry_of_a_gateway_has_it_too(agent: str, tmp_path: Path) -> None:
    if agent == "continue":
        pytest.skip("each of its servers has a file of its own")
    found = server_of(agent, tmp_path, gateway=True)
    assert [one.message for one in Draft202012Validator(SHAPES[agent]).iter_errors(found)] == []
    assert "tools" in json.dumps(found)


def test_a_shape_refuses_what_the_program_does_not_know(tmp_path: Path) -> None:
    for agent, shape in SHAPES.items():
        found = json.dumps(server_of(agent, tmp_path)).replace('"command"', '"comand"')
        assert list(Draft202012Validator(shape).iter_errors(json.loads(found))), agent


ASK = """
import { configYamlSchema } from "@continuedev/config-yaml";
const checked = configYamlSchema.safeParse(JSON.parse(process.argv[2]));
if (!checked.success) throw new Error(JSON.stringify(checked.error.issues));
console.log(JSON.stringify(checked.data.mcpServers));
"""


@pytest.mark.external
@pytest.mark.skipif(os.name != "posix" or not shutil.which("node"), reason="Node is not installed")
def test_the_schema_that_continue_publishes_takes_what_is_written_for_it(tmp_path: Path) -> None:
    place = npm_folder("@continuedev/config-yaml")
    script = place / "ask.mjs"
    script.write_text(ASK, encoding="utf-8")
    found = json.dumps(server_of("continue", tmp_path))
    done = subprocess.run(["node", str(script), found], capture_output=True, timeout=240, check=False, text=True)
    assert done.returncode == 0, done.stderr
    (server,) = json.loads(done.stdout)
    assert (server["command"], server["args"]) == (COMMAND[0], ["mcp"])
