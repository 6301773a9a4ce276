"""Write the plugins that bring the program: ``python tools/make_plugins.py``.

Claude Code, Codex and Cursor read ``plugin/``: each has a manifest and hooks of its own there, beside skills that all
read. Gemini CLI wants ``hooks/hooks.json`` for itself, so ``packaging/gemini`` is another folder, with copies of the
skills. All of them start the program with ``uvx``, pinned to the version of this repository, which is also written into
what registries and bundles read.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from ricordo._version import __version__
from ricordo.plugins.install.pieces import NAME, hooks_for, server_entry

ROOT = Path(__file__).parents[1]
COMMAND = ("uvx", f"{NAME}@{__version__}")
OWNER = {"name": "Ricordo contributors"}
SHORT = "A memory and a search engine for agents, in one local file."
ABOUT = {
    "name": NAME,
    "version": __version__,
    "description": f"{SHORT[:-1]}: tells each prompt what is known, and keeps what was learned.",
}
MANIFEST = ABOUT | {
    "author": OWNER,
    "license": "Apache-2.0",
    "keywords": ["memory", "search", "context", "skills", "mcp"],
}
MARKETPLACE = {
    "name": NAME,
    "owner": OWNER,
    "metadata": {"description": "Ricordo for agents' programs."},
    "plugins": [{"name": NAME, "source": "./plugin", "description": SHORT}],
}
STAMPED = (
    "server.json",
    "packaging/mcpb/manifest.json",
    "packaging/mcpb/pyproject.toml",
    "editors/vscode/package.json",
)
"""What is written by hand but for the version."""


def files(root: Path = ROOT) -> dict[str, str]:
    """What is written, by the path in the repository."""
    written: dict[str, Any] = {
        ".claude-plugin/marketplace.json": MARKETPLACE,
        ".cursor-plugin/marketplace.json": MARKETPLACE,
        "plugin/.claude-plugin/plugin.json": MANIFEST,
        "plugin/.codex-plugin/plugin.json": MANIFEST
        | {"skills": "./skills/", "hooks": "./hooks/codex.json", "mcpServers": "./mcp.json"},
        "plugin/.cursor-plugin/plugin.json": MANIFEST
        | {"displayName": "Ricordo", "skills": "./skills/", "hooks": "./hooks/cursor.json", "mcpServers": "./mcp.json"},
        "plugin/.mcp.json": servers("claude-code"),
        "plugin/mcp.json": servers("cursor"),
        "plugin/hooks/hooks.json": hooks("claude-code"),
        "plugin/hooks/codex.json": hooks("codex"),
        "plugin/hooks/cursor.json": hooks("cursor"),
        "packaging/gemini/gemini-extension.json": ABOUT | servers("gemini"),
        "packaging/gemini/hooks/hooks.json": hooks("gemini"),
    }
    texts = {path: json.dumps(content, indent=2) + "\n" for path, content in written.items()}
    for skill in sorted((root / "plugin/skills").glob("*/SKILL.md")):
        texts[f"packaging/gemini/skills/{skill.parent.name}/SKILL.md"] = skill.read_text(encoding="utf-8")
    return texts | {path: stamped((root / path).read_text(encoding="utf-8")) for path in STAMPED}


def servers(agent: str) -> dict[str, Any]:
    """The MCP server as a program's plugin names it."""
    return {"mcpServers": {NAME: server_entry(agent, COMMAND)}}


def hooks(agent: str) -> dict[str, Any]:
    """A program's hooks."""
    beside, own = hooks_for(agent, COMMAND)
    return {**beside, "hooks": own}


def stamped(text: str) -> str:
    """The text with this version."""
    return re.sub(r'("version": "|^version = "|"ricordo == )[^"]+"', rf'\g<1>{__version__}"', text, flags=re.MULTILINE)


if __name__ == "__main__":
    for name, text in files().items():
        path = ROOT / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
            print(f"wrote {name}")
