"""Starts and stops the server in the background, and writes the units that start it when the user logs in."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from ricordo.config.files import replace_file, state_home
from ricordo.errors import NotFound, Unavailable, UsageError
from ricordo.hosting.running import RunningServer, ask, read_running

START_SECONDS = 60.0
STOP_SECONDS = 15.0
LOG_NAME = "serve.log"
LABEL = "org.ricordo.serve"
UNIT_NAME = "ricordo.service"


def command_line(arguments: Sequence[str] = ()) -> list[str]:
    """What starts the server in the foreground, whatever folder it is started in."""
    return [sys.executable, "-P", "-m", "ricordo", "serve", *arguments]


def start(arguments: Sequence[str], folder: Path) -> RunningServer:
    """Start the server in a process of its own, and wait until it answers."""
    if (running := read_running()) is not None:
        raise UsageError(
            f"a server runs already, at {running.address} (process {running.pid})",
            hint="‹:serve stop› ends it.",
        )
    log = state_home(os.environ) / LOG_NAME
    log.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        process = start_detached(command_line(arguments), folder, handle, handle)
    finally:
        os.close(handle)
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until:
        running = read_running()
        if running is not None and running.pid == process.pid and is_answering(running):
            return running
        if process.poll() is not None:
            lines = log.read_text("utf-8", "replace").strip().splitlines()
            raise Unavailable(
                f"the server ended at once: {lines[-1] if lines else 'it said nothing'}", hint=f"{log} says more."
            )
        time.sleep(0.05)
    process.terminate()
    raise Unavailable(f"the server did not answer within {START_SECONDS:g} seconds", hint=f"{log} says more.")


def start_detached(
    command: Sequence[str], folder: Path, output: Any, errors: Any, **variables: str
) -> subprocess.Popen[bytes]:
    """Start a process that outlives this one."""
    flags = 0
    if sys.platform == "win32":
        flags = subprocess.DETACHED_PROCESS | subprocess.CREATE_NEW_PROCESS_GROUP
    return subprocess.Popen(
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=errors,
        env={**os.environ, **variables},
        start_new_session=True,
        creationflags=flags,
    )


def is_answering(running: RunningServer, seconds: float = 2.0) -> bool:
    """Whether the server is up."""
    with suppress(OSError, ValueError):
        return ask(running, "/healthz", b"", seconds, method="GET")[0] == 200
    return False


def running_server() -> RunningServer:
    """The running server; an error if there is none."""
    if (running := read_running()) is None:
        raise NotFound("no server runs", hint="Start one with ‹:serve start›.")
    return running


def new_link(running: RunningServer, scope: str = "admin") -> str:
    """A fresh link that signs a browser in."""
    import json

    try:
        _, content = ask(running, f"/api/v1/sign-in-links?scope={scope}", b"{}", 10.0)
        link: str = json.loads(content)["link"]
    except (OSError, ValueError, KeyError):
        raise Unavailable("the server does not answer", hint="‹:serve stop›, then start it again.") from None
    return link


def stop() -> RunningServer:
    """End the server gracefully, and wait until it is gone."""
    running = running_server()
    os.kill(running.pid, signal.SIGTERM)
    until = time.monotonic() + STOP_SECONDS
    while read_running() is not None:
        if time.monotonic() > until:
            raise Unavailable(f"process {running.pid} does not end", hint="End it by hand.")
        time.sleep(0.05)
    return running


def systemd_unit(arguments: Sequence[str] = ()) -> str:
    """A unit for systemd's user manager."""
    command = " ".join(_quoted(part) for part in command_line(arguments))
    return (
        "[Unit]\nDescription=Ricordo: memory and search for agents\n\n"
        f"[Service]\nExecStart={command}\nRestart=on-failure\nRestartSec=5\nNice=5\nUMask=0077\n"
        "NoNewPrivileges=yes\n\n[Install]\nWantedBy=default.target\n"
    )


def launchd_plist(arguments: Sequence[str], log: Path) -> str:
    """A property list for launchd's user agents."""
    words = "\n".join(f"    <string>{escape(part)}</string>" for part in command_line(arguments))
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">\n'
        '<plist version="1.0">\n<dict>\n'
        f"  <key>Label</key>\n  <string>{LABEL}</string>\n"
        f"  <key>ProgramArguments</key>\n  <array>\n{words}\n  </array>\n"
        "  <key>RunAtLoad</key>\n  <true/>\n  <key>KeepAlive</key>\n  <dict>\n"
        "    <key>SuccessfulExit</key>\n    <false/>\n  </dict>\n"
        f"  <key>StandardOutPath</key>\n  <string>{escape(str(log))}</string>\n"
        f"  <key>StandardErrorPath</key>\n  <string>{escape(str(log))}</string>\n"
        "</dict>\n</plist>\n"
    )


def unit_place(platform: str, env: Mapping[str, str]) -> Path:
    """The path of the unit on this platform."""
    home = Path(env.get("HOME") or Path.home())
    if platform == "darwin":
        return home / "Library" / "LaunchAgents" / f"{LABEL}.plist"
    if platform.startswith("linux"):
        base = Path(env["XDG_CONFIG_HOME"]) if env.get("XDG_CONFIG_HOME") else home / ".config"
        return base / "systemd" / "user" / UNIT_NAME
    raise UsageError(
        "units can be written only for systemd and launchd", hint="Let your system run: ricordo serve start"
    )


def install_unit(arguments: Sequence[str], *, platform: str = sys.platform) -> tuple[Path, tuple[str, ...]]:
    """Write the unit; returns its path, and the commands that switch it on."""
    place = unit_place(platform, os.environ)
    if platform == "darwin":
        text = launchd_plist(arguments, state_home(os.environ) / LOG_NAME)
        commands: tuple[str, ...] = (f"launchctl load -w {place}",)
    else:
        text = systemd_unit(arguments)
        commands = ("systemctl --user daemon-reload", f"systemctl --user enable --now {UNIT_NAME}")
    replace_file(place, text.encode(), mode=0o644)
    return place, commands


def uninstall_unit(*, platform: str = sys.platform) -> tuple[Path, tuple[str, ...]]:
    """Remove the unit; returns its path, and the command that ends what it started."""
    place = unit_place(platform, os.environ)
    if not place.exists():
        raise NotFound(f"there is no unit {place}", hint="‹:serve install› writes it.")
    place.unlink()
    if platform == "darwin":
        return place, (f"launchctl remove {LABEL}",)
    return place, (f"systemctl --user disable --now {UNIT_NAME}", "systemctl --user daemon-reload")


def _quoted(word: str) -> str:
    """A word as systemd reads it."""
    clean = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{clean}"' if clean != word or any(char.isspace() for char in word) else word
