"""Brings a folder of sync here, and what was written to it away: one behind ``ssh://`` is copied, others are here.

For ``ssh://`` the user's own ``ssh`` is run, with its settings, keys and known hosts; on the other side it needs a
shell, ``find`` and ``tar``. A copy of the folder is kept beside the user's store; only files that are new travel.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import shlex
import shutil
import subprocess
import tarfile
from collections.abc import Collection
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote, urlsplit

from ricordo.config.files import data_home, replace_file
from ricordo.errors import Unavailable, UsageError
from ricordo.exchange.machine_files import digest_of

SCHEME = "ssh://"
_MIRRORS = "sync-mirrors"
_SECONDS = 120.0
_FILE = re.compile(r"machines/([0-9a-f]{8})/[0-9a-f]{8}/\d{6,12}-[0-9a-f]{32}\.jsonl|ricordo-sync-key")
_LARGEST = 256_000_000
_UNPACK = (
    't=$(mktemp -d .incoming.XXXXXX) && tar xf - -C "$t" && (cd "$t" && find . -type f) |'
    ' while read -r f; do mkdir -p "${f%/*}" && mv "$t/$f" "$f"; done && rm -rf "$t"'
)
"""A file gets its name when all of it is there."""
_HOST = re.compile(r"(?:[\w.+-]+@)?[A-Za-z0-9\[][\w.:\[\]-]*")


class Carrier(Protocol):
    """A folder of sync, wherever it is."""

    place: Path
    """Where its files are on this machine."""

    def bring(self) -> str:
        """Bring here what is new; returns why that is impossible now, or nothing."""
        ...

    def take_away(self, machine: str) -> str:
        """Bring there what this machine wrote, and remove what it removed; returns why that failed, or nothing."""
        ...

    def forget(self) -> None:
        """Remove what this machine keeps of it."""
        ...


def carrier_of(path: str) -> Carrier:
    """What carries a folder, by its path or its address."""
    return SshFolder(path) if path.startswith(SCHEME) else LocalFolder(Path(path))


class LocalFolder:
    """A folder of this machine; something else brings it to the others."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def bring(self) -> str:
        """Nothing is to be done, unless it is gone: a stick may be unplugged, a share not mounted."""
        if self.place.is_dir():
            return ""
        return f"the folder {self.place} is not there; nothing is lost, the next sync writes what it lacks"

    def take_away(self, machine: str) -> str:
        """Nothing is to be done."""
        return ""

    def forget(self) -> None:
        """Nothing is to be done: the files stay for the other machines."""


class SshFolder:
    """A folder that is reached with ``ssh``: ``ssh://user@host:22/path``, or ``/~/path`` below the user's home."""

    def __init__(self, address: str) -> None:
        found = urlsplit(address)
        host, path = found.netloc.rpartition("@")[2], unquote(found.path)
        port = re.search(r":(\d+)$", host)
        self.address = address
        self._host = (found.netloc[: port.start() - len(host)] if port else found.netloc) if host else ""
        self._port = port[1] if port else ""
        if not _HOST.fullmatch(self._host) or len(path) < 2 or found.query or found.fragment or "\0" in path:
            raise UsageError(f"{address} is not the address of a folder", hint="Such as ssh://me@host/home/me/ricordo.")
        self._path = f"~/{shlex.quote(path[3:])}" if path.startswith("/~/") else shlex.quote(path)
        self.place = data_home(os.environ) / _MIRRORS / hashlib.sha256(address.encode()).hexdigest()[:16]
        self._there: set[str] = set()

    def bring(self) -> str:
        """Copy the files that are not here, and remove those that are gone there."""
        try:
            listed = self._run(f"mkdir -p {self._path} && cd {self._path} && find . -type f").decode("utf-8", "replace")
            self._there = {name for line in listed.splitlines() if _FILE.fullmatch(name := line.removeprefix("./"))}
            here = self._here()
            self._fetch(self._there - here)
            for name in here - self._there:
                (self.place / name).unlink(missing_ok=True)
        except Unavailable as problem:
            return problem.message
        return ""

    def forget(self) -> None:
        """Remove the copy."""
        shutil.rmtree(self.place, ignore_errors=True)

    def take_away(self, machine: str) -> str:
        """Copy what this machine wrote, and remove its files that are gone here."""
        own = {name for name in self._here() if _owner(name) in (machine, "")}
        gone = {name for name in self._there if _owner(name) == machine} - own
        try:
            if new := own - self._there:
                self._run(f"cd {self._path} && {_UNPACK}", _packed(self.place, new))
            if gone:
                self._run(f"cd {self._path} && xargs rm -f", "\n".join(sorted(gone)).encode())
        except Unavailable as problem:
            return problem.message
        return ""

    def _here(self) -> set[str]:
        self.place.mkdir(parents=True, exist_ok=True, mode=0o700)
        names = (path.relative_to(self.place).as_posix() for path in self.place.rglob("*") if path.is_file())
        return {name for name in names if _FILE.fullmatch(name)}

    def _fetch(self, names: Collection[str]) -> None:
        if not names:
            return
        packed = self._run(f"cd {self._path} && tar cf - -T -", "\n".join(sorted(names)).encode())
        try:
            with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
                for member in archive:
                    name = member.name.removeprefix("./")
                    source = archive.extractfile(member) if member.isreg() and member.size <= _LARGEST else None
                    data = source.read() if source is not None and name in names else None
                    if data is not None and (_owner(name) == "" or digest_of(data) in name):  # not if it is half there
                        replace_file(self.place / name, data)
        except (tarfile.TarError, EOFError) as problem:
            raise Unavailable(f"what {self._host} sent cannot be read ({problem})", hint="Try again.") from None

    def _run(self, script: str, given: bytes = b"") -> bytes:
        """Run a line of shell there."""
        if shutil.which("ssh") is None:
            raise Unavailable(f"{self.address} needs the program ssh, which is not here", hint="Install OpenSSH.")
        port = ["-p", self._port] if self._port else []
        command = ["ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", *port, "--", self._host, script]
        try:
            done = subprocess.run(command, input=given, capture_output=True, timeout=_SECONDS, check=False)
        except (OSError, subprocess.TimeoutExpired) as problem:
            raise Unavailable(f"{self.address} cannot be reached ({problem})", hint="Try again later.") from None
        if done.returncode:
            said = " ".join(done.stderr.decode("utf-8", "replace").split())[-300:]
            raise Unavailable(
                f"{self.address} cannot be reached ({said or f'ssh ended with {done.returncode}'}); nothing is lost",
                hint=f"Try it by hand: ssh {self._host} ls",
            )
        return done.stdout


def _owner(name: str) -> str:
    """The machine that wrote a file; empty for the note on the key."""
    found = _FILE.fullmatch(name)
    return (found[1] or "") if found else "-"


def _packed(place: Path, names: Collection[str]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name in sorted(names):
            archive.add(place / name, name, recursive=False)
    return packed.getvalue()
