"""Decides which files of a project's knowledge folder are believed if they say that the user wrote them.

A project's folder may come with a clone or a pull, so anybody may have written its files. A file that Ricordo wrote for
this user carries a seal: a keyed hash of the whole file, its place, its item's ref and the store's id, whose key never
leaves the user's own data folder. So a copy in another project, or under another name, has no seal that holds. If the
seal is missing or broken, the claims "written by the user" and "every agent gets it" are ignored; the text is used.
Where the user trusts the project, all is believed.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from ricordo.errors import Unavailable
from ricordo.memory.knowledge_files import KnowledgeFile
from ricordo.nofollow import real_path
from ricordo.values.items import Draft, Item, Ref

KEY_NAME = "seal.key"
_KEY_BYTES = 32
_LINE = re.compile(rb'^sealed: "([0-9a-f]{64})"\n', re.MULTILINE)
_END = b"\n---\n"


def makes_claims(one: Item | Draft) -> bool:
    """Whether a file makes claims because of which it would be trusted more than others."""
    return one.fields.source == "user" or one.fields.loading == "always"


def unsealed(data: bytes) -> bytes:
    """The file of an item whose current version is not the user's: in place of a seal it has one that holds nowhere,
    so that its lines stay where they are when the user agrees.
    """
    return _with_line(data, "0" * 64)


def _with_line(data: bytes, seal: str) -> bytes:
    end = data.index(_END, 3) + 1
    return data[:end] + b'sealed: "' + seal.encode() + b'"\n' + data[end:]


class Seals:
    """The seals of one user, whose key is in the folder ``home``, for the knowledge files of one store.

    ``trusts`` says whether the user trusts the project, so that its files need no seal.
    """

    def __init__(self, home: Path, store_id: str, folder: Path, trusts: Callable[[], bool]) -> None:
        self._file = home / KEY_NAME
        self._store_id = store_id
        self._folder = folder
        self._trusts = trusts
        self._known: bytes | None = None

    def sealed(self, data: bytes, ref: Ref, name: str) -> bytes:
        """The file of an item with its seal, as the last line of its front matter; ``name`` is below the folder."""
        return _with_line(data, self._seal(data, ref, name))

    def is_users(self, says: KnowledgeFile, data: bytes, name: str) -> bool:
        """Whether the user wrote a file: it is exactly as Ricordo wrote it here, or the user trusts the project."""
        return self._is_whole(data, says.ref, name) or self._trusts()

    def _is_whole(self, data: bytes, ref: Ref, name: str) -> bool:
        head = data.find(_END, 3)
        found = _LINE.search(data, 0, head + 1) if data.startswith(b"---\n") and head > 0 else None
        if found is None:
            return False
        unsealed = data[: found.start()] + data[found.end() :]
        return hmac.compare_digest(self._seal(unsealed, ref, name), found[1].decode())

    def believed(self, says: KnowledgeFile, data: bytes, name: str) -> tuple[KnowledgeFile, str]:
        """What a file says without claims that anybody could make; and what was not believed, in words."""
        is_users, is_always = says.fields.get("source") == "user", says.fields.get("loading") == "always"
        if not (is_users or is_always) or self.is_users(says, data, name):
            return says, ""
        fields = dict(says.fields) | ({"source": "file"} if is_users else {})
        fields |= {"loading": "contextual"} if is_always else {}
        claims = [words for words, made in (("you wrote it", is_users), ("every agent gets it", is_always)) if made]
        note = (
            f"it says that {' and that '.join(claims)}, but Ricordo did not write this file for you; "
            f"to confirm it: ricordo edit {says.ref}"
        )
        return replace(says, fields=fields), note

    def _seal(self, data: bytes, ref: Ref, name: str) -> str:
        place = real_path(self._folder / name)
        bound = "\0".join((self._store_id, str(ref), place, "")).encode("utf-8", "surrogateescape")
        return hmac.new(self._key(), bound + data, hashlib.sha256).hexdigest()

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
