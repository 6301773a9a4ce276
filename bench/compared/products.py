"""Whole products, each asked through its own command and its own MCP server, with a home and no network of its own."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

LIMIT = 10
MARK = re.compile(r"page-(\d{4})")
"""How a product's answer names a file of the collection: every file's name begins with ``page-`` and its number."""
NO_NETWORK = ("unshare", "--map-root-user", "--net")
"""Linux runs a command without any network so, where users may make namespaces."""
NOWHERE = "http://127.0.0.1:9"


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command printed, how long it took, and why it failed if it did."""

    milliseconds: float
    text: str
    failure: str = ""


class Product:
    """What is measured of one product. A subclass says how it is called; the rest is the same for all."""

    name = ""
    option = ""
    """The option of the program that names its command; none for Ricordo, which is always there."""
    default_command = ""
    version_arguments: tuple[str, ...] = ("--version",)
    settings: Mapping[str, str] = {}
    semantic = True
    """Whether it is meant to search by meaning, as it is run here."""

    def __init__(self, command: str, home: Path) -> None:
        self.command, self.home = command, home
        self.notes = home / "notes"

    # --- how it is called

    def adding(self) -> list[list[str]]:
        """The arguments of each command that takes in the folder, from nothing."""
        raise NotImplementedError

    def searching(self, question: str) -> list[str]:
        """The arguments of a search; none where it has no command for that."""
        raise NotImplementedError

    def serving(self) -> list[str]:
        """The arguments that start its MCP server."""
        raise NotImplementedError

    def calling(self, question: str) -> tuple[str, dict[str, Any]]:
        """The name of the MCP tool that searches, and its arguments."""
        raise NotImplementedError

    def by_meaning(self, question: str) -> list[list[str]]:
        """The arguments of each command that a search by meaning alone takes, after adding; none without such."""
        raise NotImplementedError

    # --- the same for all

    def environment(self) -> dict[str, str]:
        """A home of its own, no telemetry, no way out, and the command's own folder first, for its interpreter."""
        home = str(self.home)
        around = {name: os.environ[name] for name in ("LANG", "TMPDIR") if name in os.environ}
        folders = {"CONFIG": ".config", "DATA": ".local/share", "STATE": ".local/state", "CACHE": ".cache"}
        return {
            **around,
            **({} if no_network() else dict.fromkeys(("http_proxy", "https_proxy", "all_proxy"), NOWHERE)),
            **{f"XDG_{name}_HOME": f"{home}/{folder}" for name, folder in folders.items()},
            "HOME": home,
            "PATH": f"{Path(self.command).parent}{os.pathsep}{os.environ['PATH']}",
            "NO_COLOR": "1",
            "DO_NOT_TRACK": "1",
            **self.settings,
        }

    def line(self, arguments: Sequence[str]) -> list[str]:
        """The whole command line."""
        return [*no_network(), self.command, *arguments]

    def run(self, arguments: Sequence[str], patience: float) -> Answer:
        """Run one command to its end; after so many seconds of patience, stop it and all that it started."""
        started = time.perf_counter()
        process = subprocess.Popen(
            self.line(arguments), env=self.environment(), cwd=self.home, text=True, errors="replace",
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
        try:
            out, errors = process.communicate(timeout=patience)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return Answer(patience * 1000, "", f"{self._said(arguments)} did not end within {patience:.0f} s")
        taken = (time.perf_counter() - started) * 1000
        if process.returncode:
            return Answer(taken, out, f"{self._said(arguments)} failed: {short(errors or out)}")
        return Answer(taken, out)

    def version(self) -> str:
        """The version it names, or nothing."""
        found = re.search(r"\d+\.\d+[\w.]*", self.run(self.version_arguments, 60).text)
        return found[0] if found else ""

    def bytes_written(self) -> int:
        """All that it keeps in its home, without the notes themselves."""
        files = (file for file in self.home.rglob("*") if not file.is_relative_to(self.notes))
        return sum(file.lstat().st_size for file in files if file.is_file())

    def _said(self, arguments: Sequence[str]) -> str:
        return f"`{Path(self.command).name} {' '.join(arguments[:2] if arguments[0] == 'tool' else arguments[:1])}`"


class RicordoProduct(Product):
    """Ricordo as it is after installing it."""

    name = "Ricordo"
    default_command = str(Path(sys.executable).with_name("ricordo"))

    def adding(self) -> list[list[str]]:
        return [["add", str(self.notes)]]

    def searching(self, question: str) -> list[str]:
        return ["search", question, "--json", "--limit", str(LIMIT)]

    def serving(self) -> list[str]:
        return ["mcp"]

    def calling(self, question: str) -> tuple[str, dict[str, Any]]:
        return "search", {"query": question, "limit": LIMIT}

    def by_meaning(self, question: str) -> list[list[str]]:
        return [["semantic", question, "--json"]]


class RicordoWords(RicordoProduct):
    """Ricordo without a model, to stand beside products that search by words."""

    name = "Ricordo, words only"
    settings = {"RICORDO_EMBEDDING_PROVIDER": "none"}  # noqa: RUF012  (a Mapping: nobody changes it)
    semantic = False


class Qmd(Product):
    """qmd's keyword search: its other searches need models that it downloads."""

    name = "qmd"
    option = "qmd"
    default_command = "qmd"

    def adding(self) -> list[list[str]]:
        return [["collection", "add", str(self.notes), "--name", "notes"]]

    def searching(self, question: str) -> list[str]:
        return ["search", question, "--json", "-n", str(LIMIT)]

    def serving(self) -> list[str]:
        return ["mcp"]

    def calling(self, question: str) -> tuple[str, dict[str, Any]]:
        return "query", {"searches": [{"type": "lex", "query": question}], "limit": LIMIT, "rerank": False}

    def by_meaning(self, question: str) -> list[list[str]]:
        return [["embed"], ["vsearch", question, "--json"]]


class BasicMemory(Product):
    """basic-memory's text search: its default needs a model that it downloads."""

    name = "basic-memory"
    option = "basic-memory"
    default_command = "basic-memory"
    settings = {  # noqa: RUF012
        "BASIC_MEMORY_NO_PROMOS": "1",
        "BASIC_MEMORY_AUTO_UPDATE": "false",
        "BASIC_MEMORY_DEFAULT_SEARCH_TYPE": "text",
    }

    def adding(self) -> list[list[str]]:
        return [["project", "add", "notes", str(self.notes)], ["reindex", "--search", "--project", "notes"]]

    def searching(self, question: str) -> list[str]:
        return ["tool", "search-notes", question, "--json", "--project", "notes", "--page-size", str(LIMIT)]

    def serving(self) -> list[str]:
        return ["mcp", "--project", "notes"]

    def calling(self, question: str) -> tuple[str, dict[str, Any]]:
        return "search_notes", {"query": question, "project": "notes", "page_size": LIMIT, "output_format": "json"}

    def by_meaning(self, question: str) -> list[list[str]]:
        return [["tool", "search-notes", question, "--vector", "--json", "--project", "notes"]]


class McpMemoryService(Product):
    """mcp-memory-service with its default store; it searches through its server only."""

    name = "mcp-memory-service"
    option = "mcp-memory-service"
    default_command = "memory"
    settings = {"MCP_MDNS_ENABLED": "false"}  # noqa: RUF012

    def adding(self) -> list[list[str]]:
        return [["ingest-directory", str(self.notes), "--max-files", "1000000"]]

    def searching(self, question: str) -> list[str]:
        return []

    def serving(self) -> list[str]:
        return ["server"]

    def calling(self, question: str) -> tuple[str, dict[str, Any]]:
        return "memory_search", {"query": question, "limit": LIMIT}

    def by_meaning(self, question: str) -> list[list[str]]:
        return []


PRODUCTS: tuple[type[Product], ...] = (RicordoProduct, RicordoWords, Qmd, BasicMemory, McpMemoryService)


def found_command(product: type[Product], given: str | None) -> str | None:
    """The full path of a product's command: as given, from the environment, or on the path; None where it is not."""
    variable = f"RICORDO_BENCH_{product.option.replace('-', '_').upper()}"
    named = given or (os.environ.get(variable) if product.option else None)
    found = shutil.which(named or product.default_command)
    if named and found is None:
        raise SystemExit(f"there is no command '{named}' for {product.name}")
    return str(Path.cwd() / found) if found else None


@cache
def no_network() -> tuple[str, ...]:
    """What to put before a command so that it has no network; nothing where the system cannot."""
    if shutil.which(NO_NETWORK[0]) is None:
        return ()
    tried = subprocess.run([*NO_NETWORK, "true"], capture_output=True, check=False)
    return NO_NETWORK if tried.returncode == 0 else ()


def pages_in(text: str) -> list[str]:
    """The numbers of the files that an answer names, in its order."""
    return list(dict.fromkeys(MARK.findall(text)))


def short(text: str, most: int = 120) -> str:
    """The line that names an error, or else the last that says something, for one cell of a table."""
    lines = [line.strip() for line in text.splitlines() if any(sign.isalnum() for sign in line)]
    named = [line for line in lines if line.lower().startswith("error")]
    said = " ".join((named or lines[-1:] or ["it gave no reason"])[0].split()).replace("|", "/")
    return said if len(said) <= most else f"{said[: most - 1]}…"
