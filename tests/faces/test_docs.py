"""The pages are true: their commands run as they are printed, print what they say, and their links lead somewhere.

Each page is followed in a home and a folder of its own, with the files that the page takes for granted (``prepare``).
Commands run in this process; lines with pipes, redirections or other programs run in a shell. What needs a network or
another program, or never ends, is left out by name (``LEFT_OUT``).
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
import zipfile
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import click
import pytest

from ricordo.cli.program import program

from .conftest import House

ROOT = Path(__file__).parents[2]
PAGES = {path.stem: path for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]}
FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
LEFT_OUT = re.compile(
    r"^(pip|uv|make|docker|npx|claude|curl|python) "  # other programs
    r"|ricordo (watch|serve|service|mcp)\b|hook "  # do not end, or are tried by test_cli_hook and tests/server
    r"|ricordo (add|refresh) .*https://|models use|tools add (time|--from)|tools (show|call)"  # other servers
    r"|postgresql://|\bDIR\b|\bjq\b"
)
WITH_MODEL = ("README", "search", "knowledge", "languages")
"""Pages that print what a search by meaning finds; the others are followed without vectors, which is quicker."""
OF_FRAMEWORKS = "mcp"
"""Its samples are pieces of the scripts in examples/integrations, which tests/integrations runs."""
INSTALLED = "plugins"
"""Its samples are files of a package, which tests/plugins/test_of_others.py installs."""


def console(page: str) -> list[tuple[str, list[str]]]:
    """The commands of a page, each with the lines that the page prints below it."""
    found: list[tuple[str, list[str]]] = []
    for language, block in FENCE.findall(PAGES[page].read_text(encoding="utf-8")):
        if language not in ("console", "sh", ""):
            continue
        for line in block.replace("\\\n", " ").splitlines():
            if line.startswith("$ ") or (language != "console" and re.match(r"(ricordo|mkdir) ", line)):
                found.append((line.removeprefix("$ "), []))
            elif found and language == "console":
                found[-1][1].append(line)
    return found


def samples(page: str) -> list[str]:
    return [block for language, block in FENCE.findall(PAGES[page].read_text(encoding="utf-8")) if language == "python"]


def followed(pages: Any) -> list[str]:
    return [name for name in PAGES if pages(name)]


@pytest.fixture
def desk(house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> House:
    """A home and a folder with what the pages take for granted."""
    home = tmp_path / "home"
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(home))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    shim = tmp_path / "bin" / "ricordo"
    shim.parent.mkdir()
    shim.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -P -m ricordo "$@"\n')
    shim.chmod(0o700)
    monkeypatch.setenv("PATH", f"{shim.parent}{os.pathsep}{os.environ['PATH']}")
    prepare(house, home)
    return house


def prepare(house: House, home: Path) -> None:
    keys = "# Keys\n\nRotate the signing keys every quarter. The rotation is logged.\n"
    files = {
        "notes/keys.md": keys, "docs/keys.md": keys, "report.md": "# Report\n\nAll is well.\n", "task.txt": "fix it",
        "meeting.md": "We met.\n", "deploy.md": "Deploy on Tuesday.\n", "../home/notes/tea.md": "Ada drinks tea.\n",
        "skills/pdf/SKILL.md": "---\nname: pdf\ndescription: Fill in PDF forms\n---\n\nUse pdftk.\n",
        "../home/team/skills/tea/SKILL.md": "---\nname: tea\ndescription: Make tea\n---\n\nBoil water.\n",
        "chat.jsonl": '{"role": "user", "content": "Does bread rise?"}\n{"role": "assistant", "content": "Yeast."}\n',
    }  # fmt: skip
    for name, text in files.items():
        house.write(name, text)
    shutil.copytree(ROOT / "examples", house.folder / "examples")
    shutil.copytree(ROOT / "tests" / "plugins" / "evaluate" / "sets" / "kitchen", house.folder / "sets" / "kitchen")
    foreign = ROOT / "tests" / "fixtures" / "foreign"
    shutil.copytree(foreign / "vault", home / "vault")
    shutil.copytree(foreign / "basic-memory", home / "basic-memory")
    said = [{"sender": "human", "text": "Which tea is best?"}]
    asked = {"message": {"author": {"role": "user"}, "content": {"content_type": "text", "parts": ["Tea?"]}}}
    others: dict[str, Any] = {
        "memories.json": [{"id": "1", "memory": "Ada drinks tea."}],
        "memory.jsonl": {"type": "entity", "name": "Ada", "entityType": "person", "observations": ["likes tea"]},
        "export.json": {"memories": [{"content": "Deploys happen on Tuesday.", "content_hash": "ab" * 32}]},
        "graph.json": {"nodes": [{"uuid": "n1", "name": "Ada", "summary": "A programmer."}], "edges": []},
        "agent.af": {"agents": [{"name": "Helper"}], "blocks": [{"label": "human", "value": "Ada likes tea."}]},
        "claude-export.zip": [{"uuid": "c1", "name": "Tea", "chat_messages": said}],
        "chatgpt-export.zip": [{"id": "g1", "title": "Tea", "mapping": {"a": asked}, "current_node": "a"}],
    }
    for name, value in others.items():
        if name.endswith(".zip"):
            with zipfile.ZipFile(house.folder / name, "w") as packed:
                packed.writestr("conversations.json", json.dumps(value))
        else:
            house.write(name, json.dumps(value))


def plain(text: str, folder: Path) -> list[str]:
    """Lines without what differs from run to run: numbers, ids, bars, spaces, and the folder's own name."""
    text = text.replace(str(folder), "/home/me/project")
    text = re.sub(r'"[0-9a-f-]{12,}"|[█▏▎▍▌▋▊▉]', "", text)
    return [" ".join(re.sub(r"\d+", "0", line).split()) for line in text.splitlines()]


def run(desk: House, line: str) -> str:
    """What a line prints; it must succeed."""
    words = shlex.split(line, comments=True)
    is_plain = words[0] == "ricordo" and not {"|", "&&", ">", "<"} & set(words)
    if is_plain:
        args = [str(Path.home() / word[2:]) if word.startswith("~/") else word for word in words[1:]]
        return desk.run(*args).stdout
    if words[0] == "ricordo" and words[-2] == "<":
        return desk.run(*words[1:-2], stdin=(desk.folder / words[-1]).read_bytes()).stdout
    done = subprocess.run(["bash", "-c", line], cwd=desk.folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="the pages are written for a POSIX shell")
@pytest.mark.parametrize("page", followed(console))
def test_every_command_of_a_page_runs_and_prints_what_the_page_says(
    page: str, desk: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    if page not in WITH_MODEL:
        monkeypatch.setenv("RICORDO_EMBEDDING_PROVIDER", "none")
    if page not in ("README", "knowledge"):  # these two begin with an empty home
        desk.run("add", "report.md" if page == "search" else "notes")
    for line, printed in console(page):
        if LEFT_OUT.search(line):
            continue
        lines = iter(plain(run(desk, line), desk.folder))
        expected = [one for one in plain("\n".join(printed), desk.folder) if one and "…" not in one]
        missing = [one for one in expected if one not in lines]  # an iterator: the lines must come in this order
        assert missing == [], line


@pytest.mark.parametrize("page", [page for page in followed(samples) if page not in (OF_FRAMEWORKS, INSTALLED)])
def test_every_python_sample_of_a_page_runs(page: str, desk: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RICORDO_EMBEDDING_PROVIDER", "none")
    for sample in samples(page):
        with redirect_stdout(io.StringIO()) as shown:
            exec(compile(sample, page, "exec"), {})
        assert shown.getvalue().strip()


@pytest.mark.parametrize("page", list(PAGES))
def test_data_in_a_page_can_be_read(page: str) -> None:
    for language, block in FENCE.findall(PAGES[page].read_text(encoding="utf-8")):
        if language == "toml":
            tomllib.loads(block)
        elif language == "json":
            for part in block.splitlines() if block.count("\n{") else [block]:
                json.loads(part)


@pytest.mark.parametrize("page", list(PAGES))
def test_links_of_a_page_lead_somewhere(page: str) -> None:
    path = PAGES[page]
    text = FENCE.sub("", path.read_text(encoding="utf-8"))
    lost = []
    for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", text)):
        if target.startswith(("http://", "https://", "note:", "mailto:")):
            continue
        name, _, anchor = target.partition("#")
        there = (path.parent / name).resolve() if name else path
        if not there.exists() or (anchor and anchor not in anchors(there)):
            lost.append(target)
    assert lost == []


def anchors(page: Path) -> set[str]:
    titles = re.findall(r"^#+ (.+)$", FENCE.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def examples(group: click.Group) -> list[str]:
    """The command lines that the help shows as examples, the whole tree down."""
    found: list[str] = []
    with click.Context(group) as context:
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            found += getattr(command, "examples", ())
            if isinstance(command, click.Group):
                found += examples(command)
    return found


def understand(words: list[str]) -> None:
    """Read a command line as the program would, without running it; what follows ``ricordo`` must exist."""
    own = words[words.index("ricordo") + 1 :]
    args = own[: next((place for place, word in enumerate(own) if word in ("|", "<", ">", "&&")), len(own))]
    command: click.Command = program
    context = program.make_context("ricordo", list(args), resilient_parsing=True)
    name: str | None = ""
    while isinstance(command, click.Group) and args and not args[0].startswith("-"):
        name, found, args = command.resolve_command(context, args)
        assert found is not None
        command = found
    with contextlib.suppress(click.exceptions.Exit):  # --help and --version end here
        command.make_context(str(name), list(args), parent=context)


@pytest.mark.parametrize("example", sorted(set(examples(program))))
def test_every_example_of_the_help_is_understood(example: str) -> None:
    understand(shlex.split(example, comments=True))


@pytest.mark.parametrize("page", followed(console))
def test_every_command_of_a_page_is_understood_also_where_it_cannot_be_run_here(page: str) -> None:
    wrong = []
    for line, _ in console(page):
        words = shlex.split(line, comments=True)
        while "ricordo" in words and (words.index("ricordo") == 0 or words[words.index("ricordo") - 1] in ("|", "&&")):
            try:
                understand(words)
            except click.UsageError as error:
                wrong.append(f"{line}: {error.message}")
            words = words[words.index("ricordo") + 1 :]
    assert wrong == []
