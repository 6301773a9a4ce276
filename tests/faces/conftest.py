"""A command line in a house of its own: its own home folders, its own working folder, no colours."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from ricordo.cli.program import program

_START = "import signal; from ricordo.cli import main; signal.signal(signal.SIGINT, signal.default_int_handler); main()"
"""A shell's background jobs ignore interrupts, and so would what they start."""


@dataclass(frozen=True)
class House:
    """Runs ``ricordo`` in a folder, in this process or in one of its own."""

    folder: Path
    env: dict[str, str]

    def run(self, *args: str, stdin: str | bytes | None = None, code: int = 0) -> Result:
        """In this process; the exit code must be as said."""
        result = CliRunner().invoke(program, list(args), input=stdin)
        assert result.exit_code == code, f"exit {result.exit_code}\n{result.stdout}\n{result.stderr}"
        return result

    def json(self, *args: str, stdin: str | bytes | None = None, code: int = 0) -> Any:
        """The ``data`` of the envelope (``error`` when the exit code is not 0)."""
        envelope = self.envelope(*args, stdin=stdin, code=code)
        return envelope["data"] if code == 0 else envelope["error"]

    def envelope(self, *args: str, stdin: str | bytes | None = None, code: int = 0) -> dict[str, Any]:
        result = self.run(*args, "--json", stdin=stdin, code=code)
        envelope: dict[str, Any] = json.loads(result.stdout)
        assert list(envelope) == ["ok", "command", "data", "error", "ms"]
        assert envelope["ok"] == (code == 0)
        assert (envelope["error"] is None) == (code == 0)
        return envelope

    def start(self, *args: str, **options: Any) -> subprocess.Popen[bytes]:
        """In a process of its own."""
        return subprocess.Popen(
            [sys.executable, "-c", _START, *args],
            cwd=self.folder,
            env={**os.environ, **self.env},
            **options,
        )

    def write(self, name: str, text: str | bytes) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> House:
    folder = tmp_path / "work"
    folder.mkdir()
    env = {
        "RICORDO_DATA_HOME": str(tmp_path / "data"),
        "RICORDO_STATE_HOME": str(tmp_path / "state"),
        "RICORDO_CONFIG_HOME": str(tmp_path / "config"),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "COLUMNS": "100",
    }
    for name in ("NO_COLOR", "FORCE_COLOR", "RICORDO_STORE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(folder)
    return House(folder, env)


@pytest.fixture
def imported(house: House) -> Callable[..., set[str]]:
    """The modules that a command line leaves imported in a fresh process."""
    probe = (
        "import atexit, sys\n"
        "from ricordo.cli import main\n"
        "sys.argv[0] = 'ricordo'\n"
        "atexit.register(lambda: sys.stderr.write('\\n' + ' '.join(sys.modules)))\n"
        "main()\n"
    )

    def modules(*args: str) -> set[str]:
        done = subprocess.run(
            [sys.executable, "-c", probe, *args],
            cwd=house.folder,
            env={**os.environ, **house.env},
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr.decode()[-2000:]
        return set(done.stderr.decode().rpartition("\n")[2].split())

    return modules
