"""Keeps a log line for each call, and the whole text of results that were too long to show, which can be read by id.

Both are files in the user's folder of logs. One older log is kept, and the newest results. If the store of the tools is
encrypted, what was asked and answered is sealed with its key.
"""

from __future__ import annotations

import json
import os
import re
import secrets
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ricordo.config.files import Environment, state_home
from ricordo.errors import NotFound, UsageError
from ricordo.keys.sealing import Seal

LOG = "tool-calls.jsonl"
LARGEST_LOG = 5_000_000
LONGEST_ARGUMENTS = 2_000
RESULTS = "tool-results"
MOST_RESULTS = 200
LARGEST_RESULT = 20_000_000
_SEALED = "sealed:"
_ID = re.compile(r"[0-9a-f]{12}")


class CallRecords:
    """The log and the results."""

    def __init__(self, env: Environment | None = None, *, seal: Seal | None = None) -> None:
        self.folder: Path = state_home(os.environ if env is None else env)
        self._seal = seal

    @property
    def log(self) -> Path:
        return self.folder / LOG

    def note(self, name: str, arguments: Mapping[str, Any], outcome: str, ms: float, **more: Any) -> None:
        """Write one line; a log that cannot be written never stops a call."""
        from ricordo.secrets.find import redact_values

        clean, _ = redact_values(arguments)
        shortened = json.dumps(clean, ensure_ascii=False, default=str)[:LONGEST_ARGUMENTS]
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        if self._seal is not None:
            shortened = _SEALED + self._seal.sealed(shortened)
        line = {"at": now, "tool": name, "arguments": shortened, "outcome": outcome, "ms": round(ms, 1), **more}
        with suppress(OSError):
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            if self.log.exists() and self.log.stat().st_size > LARGEST_LOG:
                self.log.replace(self.log.with_suffix(".old.jsonl"))
            written = json.dumps(line, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
            with os.fdopen(os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab") as log:
                log.write(written)

    def calls(self, limit: int) -> list[dict[str, Any]]:
        """The last calls, newest first."""
        try:
            with self.log.open("rb") as log:
                log.seek(0, os.SEEK_END)
                log.seek(max(0, log.tell() - 1_000_000))
                lines = log.read().decode("utf-8", "replace").splitlines()
        except FileNotFoundError:
            return []
        found: list[dict[str, Any]] = []
        for line in reversed(lines):
            with suppress(ValueError):  # the first line may be cut
                found.append(self._opened(json.loads(line)))
            if len(found) == limit:
                break
        return found

    def _opened(self, line: dict[str, Any]) -> dict[str, Any]:
        said = str(line.get("arguments", ""))
        if not said.startswith(_SEALED):
            return line
        opened = self._seal.opened(said.removeprefix(_SEALED)) if self._seal is not None else None
        return line | {"arguments": opened if opened is not None else "(sealed by the key of another store)"}

    def keep(self, text: str) -> str:
        """Keep a whole result; returns its id."""
        if self._seal is not None:
            text = _SEALED + self._seal.sealed(text)
        folder = self.folder / RESULTS
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        name = secrets.token_hex(6)
        path = folder / f"{name}.txt"
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(text.encode("utf-8", "replace"))
        kept = sorted(folder.glob("*.txt"), key=lambda one: one.stat().st_mtime_ns)
        for old in kept[: max(0, len(kept) - MOST_RESULTS)]:
            old.unlink(missing_ok=True)
        return name

    def result(self, name: str) -> str:
        """A result that was kept, whole."""
        if not _ID.fullmatch(name):
            raise UsageError(f"'{name[:40]}' is not the id of a result", hint="call_tool returns the id, 12 letters.")
        try:
            text = (self.folder / RESULTS / f"{name}.txt").read_text(encoding="utf-8")
        except FileNotFoundError:
            raise NotFound(
                f"there is no result {name} any more", hint=f"The last {MOST_RESULTS} are kept; call the tool again."
            ) from None
        if not text.startswith(_SEALED):
            return text
        opened = self._seal.opened(text.removeprefix(_SEALED)) if self._seal is not None else None
        if opened is None:
            raise NotFound(f"the result {name} is sealed by the key of another store", hint="Call the tool again.")
        return str(opened)
