"""Shows what changed in a file, or a part of it, since it was cited, where the earlier text is known: from git, or from
the versions in the store. Secrets are taken out, and the length is limited.
"""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Mapping
from typing import Any

from ricordo.memory.citations.files import ProjectFiles
from ricordo.memory.citations.parts import cited_part, is_whole
from ricordo.secrets.find import redact
from ricordo.sources.disk import disk_ref
from ricordo.sources.git import blob
from ricordo.speaking import speaker
from ricordo.store.base import Store

MOST_LINES = 40
LONGEST = 4_000
MOST_VERSIONS = 20
SECONDS = 1.0
_AFAR = ("http", "page")
"""Doors through which a caller may not read files, but only what is stored."""


def shortened(diff: str) -> str:
    """A diff without secrets, as much of it as is shown."""
    lines = diff.splitlines()
    text = redact("\n".join(lines[:MOST_LINES]))[0][:LONGEST]
    return text + ("\n…" if len(lines) > MOST_LINES else "")


class FileDiffs:
    """Differences of cited files of one project."""

    def __init__(self, files: ProjectFiles, store: Store) -> None:
        self._files = files
        self._store = store

    def of(self, one: Mapping[str, Any]) -> str:
        """What changed since a file or a part of it was cited; empty if the earlier text is not known."""
        path = one["path"]
        file = self._files.file(path)
        then = self._earlier(one) if file is not None and file.text is not None else None
        if file is None or file.text is None or then is None:
            return ""
        now = file.text
        if not is_whole(one):
            before, after = cited_part(one, path, then), cited_part(one, path, now)
            if before is None or after is None:
                return ""
            then, now = before.text, after.text
        lines = difflib.unified_diff(then.splitlines(), now.splitlines(), f"{path} then", f"{path} now", lineterm="")
        return shortened("\n".join(lines))

    def _earlier(self, one: Mapping[str, Any]) -> str | None:
        """The whole text of the file when it was cited."""
        ref = disk_ref(self._files.project / one["path"], self._store.machines.refs())
        n = self._store.items.numbers([ref]).get(ref)
        if n is None and speaker().via in _AFAR:
            return None
        name = str(one.get("blob") or "")
        if name and all(letter in "0123456789abcdef" for letter in name):
            text = blob(self._files.project, name, SECONDS)
            if text is not None:
                return text
        wanted = one.get("file") or one["hash"]
        for version in self._store.items.history(n)[:MOST_VERSIONS] if n is not None else ():
            text = self._store.items.get(n, version=version.number).content if n is not None else ""
            if hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24] == wanted:
                return text
        return None
