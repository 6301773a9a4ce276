"""Decides which files of a project's knowledge folder are believed if they say that the user wrote them.

A project's folder may come with a clone or a pull, so anybody may have written its files. A file that Ricordo wrote for
this user carries a seal: a keyed hash of the whole file, whose key never leaves the user's own data folder. If the seal
is missing or broken, the claims "written by the user" and "every agent gets it" are ignored; the text is used.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
from dataclasses import replace
from pathlib import Path

from ricordo.errors import Unavailable
from ricordo.memory.knowledge_files import KnowledgeFile
from ricordo.values.items import Draft, Item

KEY_NAME = "seal.key"
_KEY_BYTES = 32
_LINE = re.compile(rb'^sealed: "([0-9a-f]{64})"\n', re.MULTILINE)
_END = b"\n---\n"


def makes_claims(one: Item | Draft) -> bool:
    """Whether a file makes claims because of which it would be trusted more than others."""
    return one.fields.source == "user" or one.fields.loading == "always"


class Seals:
    """The seals of one user, whose key is in the folder ``home``."""

    def __init__(self, home: Path) -> None:
        self._file = home / KEY_NAME
        self._known: bytes | None = None

    def sealed(self, data: bytes) -> bytes:
        """The file with its seal, as the last line of its front matter."""
        end = data.index(_END, 3) + 1
        return data[:end] + b'sealed: "' + self._seal(data).encode() + b'"\n' + data[end:]

    def is_whole(self, data: bytes) -> bool:
        """Whether the file is exactly as Ricordo wrote it for this user."""
        head = data.find(_END, 3)
        found = _LINE.search(data, 0, head + 1) if data.startswith(b"---\n") and head > 0 else None
        if found is None:
            return False
        return hmac.compare_digest(self._seal(data[: found.start()] + data[found.end() :]), found[1].decode())

    def believed(self, says: KnowledgeFile, data: bytes) -> tuple[KnowledgeFile, str]:
        """What a file says without claims that anybody could make; and what was not believed, in words."""
        is_users, is_always = says.fields.get("source") == "user", says.fields.get("loading") == "always"
        if not (is_users or is_always) or self.is_whole(data):
            return says, ""
        fields = dict(says.fields) | ({"source": "file"} if is_users else {})
        fields |= {"loading": "contextual"} if is_always else {}
        claims = [words for words, made in (("you wrote it", is_users), ("every agent gets it", is_always)) if made]
        note = (
            f"it says that {' and that '.join(claims)}, but Ricordo did not write this file for you; "
            f"to confirm it: ricordo edit {says.ref}"
        )
        return replace(says, fields=fields), note

    def _seal(self, data: bytes) -> str:
        return hmac.new(self._key(), data, hashlib.sha256).hexdigest()

    def _key(self) -> bytes:
        if self._known is None:
            self._known = self._read() or self._make()
        return self._known

    def _read(self) -> bytes | None:
        try:
            key = self._file.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as problem:
            raise Unavailable(
                f"cannot read {self._file}: {problem.strerror}", hint="Make it readable for you, or remove it."
            ) from problem
        return key if len(key) == _KEY_BYTES else None

    def _make(self) -> bytes:
        """A key, made once: of two processes that make it at the same time, one wins."""
        import secrets

        from ricordo.config.files import locked, replace_file

        with locked(self._file):
            known = self._read()
            if known is None:
                known = secrets.token_bytes(_KEY_BYTES)
                replace_file(self._file, known)
        if os.name == "posix":
            self._file.chmod(0o600)
        return known
