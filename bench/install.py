"""Install Ricordo in each way of docs/install.md, in a home of its own: ``python bench/install.py --wheel FILE``.

Each way starts with an empty home and empty caches, installs, adds examples/ to a store, searches it five times, and
is taken out again. Printed are the seconds of installing, the megabytes that are in the home then (caches included; a
file with several names counts once), the processor seconds of the cheapest search, and the files that differ after the
removal from what they were before. What a package index would send of Ricordo itself comes from the wheel; the rest is
downloaded. Programs (uv, pipx, claude, codex, gemini) are looked for on the PATH; a way without its program says so.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
CACHES = (".cache", ".npm")
"""Folders of the home that programs fill for themselves; a removal need not empty them."""


@dataclass(frozen=True)
class Way:
    """How it is installed: shell commands, with {python} and {root}."""

    needs: str
    install: tuple[str, ...]
    remove: tuple[str, ...]
    run: str = ""
    """What stands for ``ricordo`` then; a plugin has nothing of the kind."""
    check: str = ""
    """A command whose output must name Ricordo."""
    before: tuple[str, ...] = ()
    """What must be there before; it is not measured."""


AGENTS = "claude-code claude-desktop cline codex continue cursor gemini opencode qwen vscode windsurf zed"
ENVIRONMENT = ("{python} -m venv $HOME/env",)
WAYS: Mapping[str, Way] = {
    "pip": Way("", (*ENVIRONMENT, "env/bin/pip install -q ricordo"), ("rm -r env",), "env/bin/ricordo"),
    "pipx": Way("pipx", ("pipx install ricordo",), ("pipx uninstall ricordo",), ".local/bin/ricordo"),
    "uv tool": Way("uv", ("uv tool install -q ricordo",), ("uv tool uninstall ricordo",), ".local/bin/ricordo"),
    "uvx": Way("uv", ("uvx -q ricordo --version",), ("uv cache clean -q",), "uvx -q ricordo"),
    "source": Way(
        "git",
        ("git clone -q {root} source", *ENVIRONMENT, "env/bin/pip install -q ./source"),
        ("rm -rf env source",),
        "env/bin/ricordo",
    ),
    "single file": Way(
        "",
        ("cp {root}/dist/ricordo-$(uname -s | tr A-Z a-z)-$(uname -m) ricordo",),
        ("rm ricordo",),
        "PATH=/nowhere $HOME/ricordo",
    ),
    "mcpb": Way(
        "uv",
        ("cp -r {root}/packaging/mcpb bundle", "uv run -q --directory bundle server.py </dev/null"),
        ("rm -r bundle",),
    ),
    "claude": Way(
        "claude",
        ("claude plugin marketplace add {root}", "claude plugin install ricordo@ricordo"),
        ("claude plugin uninstall ricordo@ricordo", "claude plugin marketplace remove ricordo"),
        check="claude plugin list",
        before=("claude plugin list",),
    ),
    "codex": Way(
        "codex",
        ("codex plugin marketplace add {root}", "codex plugin add ricordo@ricordo"),
        ("codex plugin remove ricordo@ricordo", "codex plugin marketplace remove ricordo"),
        check="codex plugin list",
        before=("codex plugin list",),
    ),
    "gemini": Way(
        "gemini",
        ("yes | gemini extensions install {root}/packaging/gemini --consent",),
        ("gemini extensions uninstall ricordo",),
        check="gemini extensions list 2>&1",
        before=("gemini extensions list",),
    ),
    "ricordo install": Way(
        "uv",
        (f"for agent in {AGENTS}; do .local/bin/ricordo install --user $agent; done",),
        (f"for agent in {AGENTS}; do .local/bin/ricordo uninstall --user $agent; done",),
        check="cat .cursor/hooks.json",
        before=(
            "uv tool install -q ricordo",
            "mkdir .codex .cursor .gemini; echo '# mine' > .codex/config.toml; echo '{{}}' > .cursor/hooks.json",
            "echo '{{ \"mine\": 1 }}' | tee .claude.json > .gemini/settings.json",
        ),
    ),
}


class Home:
    """An empty home, in which shell commands run with caches and packages of their own."""

    def __init__(self, folder: Path, wheel: Path) -> None:
        self.folder = folder
        self.fill = {"python": sys.executable, "root": str(ROOT)}
        kept = ("PATH", "LANG", "SSL_CERT_FILE")
        given = {name: value for name, value in os.environ.items() if name in kept or name.startswith(("PIP_", "UV_"))}
        links = f"{given.get('PIP_FIND_LINKS', '')} {wheel.parent}".strip()
        self.env = given | {
            "HOME": str(folder),
            "RICORDO_DATA_HOME": str(folder / ".cache" / "store"),
            "RICORDO_STATE_HOME": str(folder / ".cache" / "state"),
            "PIP_FIND_LINKS": links,
            "UV_FIND_LINKS": str(wheel.parent),
            "UV_PYTHON": sys.executable,  # the interpreter is not part of what is measured
            "PIPX_DEFAULT_PYTHON": sys.executable,
        }

    def call(self, command: str) -> str:
        """What a command prints; one that fails ends all."""
        filled = command.format(**self.fill)
        done = subprocess.run(
            filled, shell=True, cwd=self.folder, env=self.env, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise SystemExit(f"{filled}\n{done.stdout}{done.stderr}")
        return done.stdout

    def timed(self, *commands: str) -> float:
        start = time.perf_counter()
        for command in commands:
            self.call(command)
        return time.perf_counter() - start

    def worked(self, command: str) -> float:
        """The processor seconds of a command, which other work on the machine hardly changes."""
        before = os.times()
        self.call(command)
        after = os.times()
        return after.children_user - before.children_user + after.children_system - before.children_system

    def files(self) -> dict[str, str]:
        """What is in each file, without caches."""
        found = (path for path in self.folder.rglob("*") if path.is_file() and not path.is_symlink())
        named = ((path.relative_to(self.folder), path) for path in found)
        return {
            str(name): hashlib.sha256(path.read_bytes()).hexdigest()
            for name, path in named
            if name.parts[0] not in CACHES and "__pycache__" not in name.parts
        }

    def megabytes(self) -> float:
        sizes = {}
        for path in self.folder.rglob("*"):
            about = path.lstat()
            sizes[about.st_dev, about.st_ino] = about.st_blocks * 512
        return sum(sizes.values()) / 1e6


def tried(way: Way, wheel: Path) -> str:
    """The figures of a way, as the cells of a table."""
    if way.needs and shutil.which(way.needs) is None:
        return f"not tried: there is no {way.needs} here |  |  | "
    with tempfile.TemporaryDirectory(prefix="home-", ignore_cleanup_errors=True) as folder:
        home = Home(Path(folder), wheel)
        for command in way.before:
            home.call(command)
        before, empty = home.files(), home.megabytes()
        seconds = home.timed(*way.install)
        if way.check and "ricordo" not in home.call(way.check):
            raise SystemExit(f"{way.check} does not name ricordo")
        size, search = home.megabytes() - empty, "–"
        if way.run:
            home.call(f"{way.run} add -q {{root}}/examples")
            asked = [home.worked(f"{way.run} search 'how are tokens validated' -n 1") for _ in range(5)]
            search = f"{min(asked):.2f}"
        for command in way.remove:
            home.call(command)
        after = home.files()
        left = {"/".join(Path(name).parts[:4]) for name, _ in before.items() ^ after.items()}
        return f"{seconds:.1f} | {size:.1f} | {search} | {', '.join(sorted(left)) or 'as before'}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--wheel", type=Path, required=True, help="a wheel of this checkout (uv build --wheel)")
    parser.add_argument("--only", nargs="*", default=list(WAYS), choices=WAYS, metavar="WAY", help=", ".join(WAYS))
    args = parser.parse_args()
    print("| way | install s | MB | search s | after removal |\n|---|---|---|---|---|")
    for name in args.only:
        print(f"| {name} | {tried(WAYS[name], args.wheel.resolve())} |", flush=True)


if __name__ == "__main__":
    main()
