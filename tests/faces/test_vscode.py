"""The VS Code extension: what it asks exists, and it works inside a real VS Code with a real server and store."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ricordo.verbs.index import verb_named
from ricordo.verbs.rows import VerbRow

from .npm_tools import cache_folder

EXTENSION = Path(__file__).parents[2] / "editors" / "vscode"
SOURCES = {path.name: path.read_text(encoding="utf-8") for path in sorted((EXTENSION / "src").glob("*.ts"))}
ASKED: dict[tuple[str, str], set[str]] = {
    ("get", "/config"): set(),
    ("get", "/get"): {"ref", "track"},
    ("get", "/review"): set(),
    ("get", "/search"): {"q", "limit", "track"},
    ("get", "/status"): set(),
    ("get", "/undo"): set(),
    ("post", "/remember"): {"text", "kind", "loading", "context", "cites", "on_duplicate"},
    ("post", "/review"): {"ref", "decision"},
    ("post", "/sign-in-links"): set(),
    ("post", "/undo"): {"step"},
}
"""What the extension asks of the API, and the parameters that it sends."""
NOT_RUN = 77
"""How the test runner ends that has no VS Code or no browser."""


def test_every_route_that_the_extension_asks_exists_with_the_parameters_that_it_sends(tmp_path: Path) -> None:
    pytest.importorskip("fastapi", reason="the extra 'server' is not installed")
    from tests.server.http_sites import make_site

    text = "\n".join(SOURCES.values())
    called = set(re.findall(r'\bask(?:<.*?>)?\("(/[^"]+)"', text)) | set(re.findall(r"/api/v1(/[\w-]+)", text))
    assert called == {path for _, path in ASKED}
    site = make_site(tmp_path)
    try:
        document = site.get("/api/v1/openapi.json")
    finally:
        site.serving.close()
    for (method, path), sent in ASKED.items():
        operation = document["paths"][f"/api/v1{path}"][method]
        taken = {one["name"] for one in operation.get("parameters", [])}
        for content in operation.get("requestBody", {}).get("content", {}).values():
            name = content["schema"]["$ref"].rpartition("/")[2]
            taken |= set(document["components"]["schemas"][name]["properties"])
        assert sent <= taken, f"{method} {path}"
        assert all(re.search(rf"\b{name}\b", text) for name in sent), f"{method} {path}"


def test_the_kinds_and_decisions_that_the_extension_offers_are_those_of_the_verbs() -> None:
    def choices(row: VerbRow, name: str) -> set[str]:
        return next(set(param.choices) for param in row.params if param.name == name)

    kinds = re.search(r"const KINDS = \[(.*)\]", SOURCES["remember.ts"])
    scopes = re.search(r"const SCOPES = \{(.*)\}", SOURCES["remember.ts"])
    assert kinds is not None
    assert scopes is not None
    assert set(re.findall(r'"(\w+)"', kinds[1])) <= choices(verb_named("remember"), "kind")
    assert set(re.findall(r': "(\w+)"', scopes[1])) == choices(verb_named("remember"), "loading")
    assert {"supersede", "save"} <= choices(verb_named("remember"), "on_duplicate")
    assert {"accept", "refuse", "ask"} <= choices(verb_named("review"), "decision")


def test_the_extension_stays_small_and_needs_no_package_at_run_time() -> None:
    assert sum(len(text.splitlines()) for text in SOURCES.values()) <= 600
    assert '"dependencies"' not in (EXTENSION / "package.json").read_text(encoding="utf-8")


def node_version() -> int:
    node = shutil.which("node")
    if node is None:
        return 0
    said = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    return int(re.sub(r"v(\d+).*", r"\1", said.strip()) or 0)


@pytest.mark.external
@pytest.mark.skipif(os.name != "posix", reason="the test runner is written for POSIX systems")
def test_the_extension_is_built_and_works_inside_vs_code(tmp_path: Path) -> None:
    if node_version() != 20 or shutil.which("npm") is None:
        pytest.skip("the VS Code that the tests use is for Node 20, with npm")
    place = tmp_path / "vscode"
    shutil.copytree(EXTENSION, place, ignore=shutil.ignore_patterns("node_modules", "out"))
    install = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"]
    if (done := subprocess.run(install, cwd=place, capture_output=True, text=True, check=False)).returncode:
        pytest.skip(f"npm cannot install TypeScript: {done.stderr[-200:]}")
    host = cache_folder() / "npm" / "vscode-host"
    env = {**os.environ, "RICORDO": str(Path(sys.executable).parent / "ricordo"), "VSCODE_HOST": str(host)}
    done = subprocess.run(
        ["npm", "test"], cwd=place, env=env, capture_output=True, text=True, timeout=600, check=False
    )  # fmt: skip
    if done.returncode == NOT_RUN:
        pytest.skip(done.stderr[-200:])
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^1\d passed, 0 failed$", done.stdout, re.MULTILINE)
