"""Keeps tokens and signed-in browsers, which may use the server. Only hashes are kept, in one private file.

The secrets are long and random, so they cannot be guessed, and a plain SHA-256 is enough.
"""

from __future__ import annotations

import hmac
import json
import os
import secrets
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ricordo.config.files import data_home, locked, read_bytes, write_json
from ricordo.digests import hash_of
from ricordo.errors import NotFound, Unavailable, UsageError
from ricordo.frozen import frozen
from ricordo.values.provenance import AGENT, PERSON, Provenance

SCOPES = ("read", "write", "admin")
"""Each includes those before it."""
FILE_NAME = "credentials.json"
PREFIX = "ricordo_"
SESSION_DAYS = 30.0
DAY = 86_400.0


@frozen
class Caller:
    """A caller that proved its identity; ``way`` is token, session or local (a program of the same user)."""

    id: str
    name: str
    scope: str
    way: str

    @property
    def provenance(self) -> Provenance:
        """How versions that this caller writes are signed. A browser has signed in with a link from the user; whoever
        shows a token is a program, and a guest who may only read is nobody whose words are the user's.
        """
        if self.way == "session" and self.scope == "admin":
            return Provenance(PERSON, via="page")
        return Provenance(AGENT, via="http", token=self.name)

    def may(self, scope: str) -> bool:
        """Whether the caller has this scope or a wider one."""
        return SCOPES.index(self.scope) >= SCOPES.index(scope)


@frozen
class Credential:
    """A token or a signed-in browser, as it is stored."""

    id: str
    name: str
    scope: str
    way: str
    hash: str
    created: float
    expires: float | None = None

    def is_over(self, now: float) -> bool:
        return self.expires is not None and self.expires < now

    def to_dict(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "name": self.name,
            "scope": self.scope,
            "way": self.way,
            "created": _moment(self.created),
            "expires": _moment(self.expires) if self.expires is not None else None,
        }


class Credentials:
    """The file of credentials. A change by another process counts from the next request on."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or data_home(os.environ) / FILE_NAME
        self._lock = threading.Lock()
        self._seen: tuple[int, int] | None = None
        self._credentials: dict[str, Credential] = {}

    def check(self, secret: str, way: str) -> Caller | None:
        """The caller whose secret this is."""
        credential = self._by_hash().get(digest(secret))
        if credential is None or credential.way != way or credential.is_over(time.time()):
            return None
        return Caller(credential.id, credential.name, credential.scope, credential.way)

    def add(self, name: str, scope: str, *, way: str = "token", days: float | None = None) -> tuple[str, Credential]:
        """Make a credential; its secret is given only now."""
        if scope not in SCOPES:
            raise UsageError(f"there is no scope '{scope}'", hint=f"One of: {', '.join(SCOPES)}.")
        if not name.strip():
            raise UsageError("a token needs a name", hint="Name the program that will use it.")
        secret = PREFIX + secrets.token_urlsafe(32)
        now = time.time()
        expires = now + days * DAY if days is not None else None
        made = Credential(secrets.token_hex(4), name.strip()[:100], scope, way, digest(secret), now, expires)
        with locked(self.path):
            valid = [credential for credential in self._read() if not credential.is_over(now)]
            self._write([*valid, made])
        return secret, made

    def remove(self, name: str) -> list[Credential]:
        with locked(self.path):
            stored = self._read()
            gone = [credential for credential in stored if name in (credential.id, credential.name)]
            if not gone:
                raise NotFound(f"there is no token '{name}'", hint="‹:serve tokens list› shows them.")
            self._write([credential for credential in stored if credential not in gone])
        return gone

    def all(self, way: str | None = None) -> list[Credential]:
        """The credentials that have not expired, the oldest first."""
        now = time.time()
        valid = [credential for credential in self._read() if not credential.is_over(now)]
        return [credential for credential in valid if way in (None, credential.way)]

    def _by_hash(self) -> Mapping[str, Credential]:
        with self._lock:
            try:
                status = self.path.stat()
                seen = (status.st_mtime_ns, status.st_ino)
            except OSError:
                seen = (0, 0)
            if seen != self._seen:
                self._credentials = {credential.hash: credential for credential in self._read()}
                self._seen = seen
            return self._credentials

    def _read(self) -> list[Credential]:
        try:
            return [Credential(**fields) for fields in json.loads(read_bytes(self.path) or b"[]")]
        except (ValueError, TypeError):
            raise Unavailable(
                f"{self.path} cannot be read", hint="Remove it; then make tokens again with ‹:serve tokens add›."
            ) from None

    def _write(self, credentials: list[Credential]) -> None:
        plain = [
            {name: getattr(credential, name) for name in Credential.__dataclass_fields__} for credential in credentials
        ]
        write_json(self.path, plain)


class SignInCodes:
    """One-time codes that sign a browser in. They live in memory, for ten minutes, and work once."""

    SECONDS = 600.0

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._valid: dict[str, tuple[float, str]] = {}
        """By the hash of a code: until when it is valid, and what the browser may do."""

    def new(self, scope: str = "admin") -> str:
        code, now = secrets.token_urlsafe(24), time.monotonic()
        with self._lock:
            self._valid = {old: valid for old, valid in self._valid.items() if valid[0] > now}
            self._valid[digest(code)] = (now + self.SECONDS, scope)
        return code

    def redeem(self, code: str) -> str:
        """What the browser may do, "" if the code is not valid; it is used up by this."""
        with self._lock:
            until, scope = self._valid.pop(digest(code), (float("-inf"), ""))
        return scope if until > time.monotonic() else ""


def is_same(secret: str, other: str) -> bool:
    """Whether two secrets are the same; how long that takes says nothing about them."""
    return hmac.compare_digest(secret.encode("utf-8", "replace"), other.encode("utf-8", "replace"))


def digest(secret: str) -> str:
    """The hash of a secret, which is stored in its place."""
    return hash_of(secret.encode("utf-8", "surrogatepass"))


def _moment(seconds: float) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
