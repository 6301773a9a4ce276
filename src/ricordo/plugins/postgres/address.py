"""The address of a PostgreSQL store: where the server is, and which schema of it is meant.

``postgresql://user@host/database?schema=NAME&prepare=N``: what is ours is taken out, the rest is libpq's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ricordo.errors import Unavailable, UsageError
from ricordo.frozen import frozen
from ricordo.patterns import late
from ricordo.plugin import ask

if TYPE_CHECKING:
    from collections.abc import Sequence
    from urllib.parse import SplitResult

    from ricordo.config.loading import Config
    from ricordo.plugins.postgres.store import PostgresStore

_BAD_ENCODING = late(r"%(?![0-9A-Fa-f]{2})|%00|[\x00-\x1f\x7f\ud800-\udfff]")
_UNFIT = late(r"[^a-z0-9_]+")
_SCHEMA = late(r"(?!pg_)[a-z_][a-z0-9_]{0,62}")
USUAL = "ricordo"
"""The schema that is meant where an address names none."""


@frozen
class Address:
    """A schema of a database."""

    dsn: str
    schema: str = USUAL
    shown: str = ""
    """The address without its password, for people to read."""
    prepare: int | None = None
    """After so many runs the server keeps a statement planned in its session; None leaves sessions as they are."""

    def open(self, config: Config, *, create: bool, busy_seconds: float) -> PostgresStore:
        """Open the store; what plugins put beside it is opened, too."""
        try:
            from ricordo.plugins.postgres.store import PostgresStore
        except ImportError as error:
            raise Unavailable(
                "stores in PostgreSQL need the extra 'postgres'", hint="Install it: pip install 'ricordo[postgres]'"
            ) from error
        store = PostgresStore(
            self,
            language=config.lexical.language,
            busy_seconds=busy_seconds,
            keep_versions=config.store.keep_versions,
            create=create,
        )
        ask("opened_on_server", store, config)
        return store

    def moved(self, workspace: str) -> str:
        """The schema into which an upgrade moves a workspace that shared this one."""
        return schema_of(self.schema, workspace)

    def for_member(self, user: str, password: str = "") -> str:
        """The address under which somebody else reaches the same store."""
        from urllib.parse import urlsplit

        parts = urlsplit(self.dsn)
        given = [pair for pair in _parameters(parts.query) if pair[0] not in ("user", "password", "passfile")]
        who = f"{user}:{password}" if password else user
        place = parts.netloc.rpartition("@")[2]
        return f"postgresql://{who}@{place}{parts.path}{_query([*given, *_named(self.schema)])}"


def parse(text: str) -> Address:
    """The address in a text; an error never repeats what could be a part of its password."""
    parts, place = _split(text)
    own = {"workspace": "default", "schema": USUAL, "prepare": ""}
    rest = []
    for name, value in _parameters(parts.query):
        if name in own:
            own[name] = value
        else:
            rest.append((name, value))
    if not _SCHEMA.fullmatch(own["schema"]):
        raise UsageError(
            f"'{own['schema']}' cannot be the name of a schema",
            hint="At most 63 small letters, digits and _, such as red; PostgreSQL keeps names that begin with pg_.",
        )
    if own["prepare"] and not own["prepare"].isdecimal():
        raise UsageError("prepare in an address is a number", hint="Such as prepare=5: statements that run 5 times.")
    if not own["workspace"].strip():
        raise UsageError("a workspace has a name", hint="Name a schema instead: schema=red.")
    schema = schema_of(own["schema"], own["workspace"])
    who, at, _ = parts.netloc.rpartition("@")
    netloc = f"{who.replace('@', '%40')}{at}{place}"  # PostgreSQL takes the first @ for the end of the password
    if "," in place and not any(name == "target_session_attrs" for name, _ in rest):
        rest.append(("target_session_attrs", "read-write"))  # of several servers, the one that takes writes
    user = f"{parts.username}@" if parts.username else ""
    named = [*(pair for pair in rest if pair[0] == "service"), *_named(schema)]
    return Address(
        f"postgresql://{netloc}{parts.path}{_query(rest)}",
        schema,
        f"postgresql://{user}{place.lower()}{parts.path}{_query(named)}",
        int(own["prepare"]) if own["prepare"] else None,
    )


def schema_of(schema: str, workspace: str) -> str:
    """The schema into which an upgrade moves a workspace of an earlier Ricordo, which addresses may still name."""
    if workspace == "default":
        return schema
    plain = f"{schema}_{workspace}"
    if _SCHEMA.fullmatch(plain):
        return plain
    from hashlib import sha256

    digest = sha256(plain.encode()).hexdigest()[:12]
    return f"{schema[:24]}_{_UNFIT.sub('_', workspace.lower())[:24]}_{digest}"


def _parameters(query: str) -> list[tuple[str, str]]:
    """What stands behind the question mark, as libpq reads it: a plus sign is no space."""
    from urllib.parse import unquote

    pairs = (part.partition("=") for part in query.split("&") if part)
    return [(unquote(name), unquote(value)) for name, _, value in pairs]


def _query(pairs: Sequence[tuple[str, str]]) -> str:
    """The same, written: libpq does not take a plus sign for a space."""
    from urllib.parse import quote, urlencode

    return f"?{urlencode(pairs, safe='/', quote_via=quote)}" if pairs else ""


def _named(schema: str) -> list[tuple[str, str]]:
    return [("schema", schema)] if schema != USUAL else []


def _split(text: str) -> tuple[SplitResult, str]:
    """The parts of an address, and its host with its port; refuses what PostgreSQL would not understand."""
    from urllib.parse import unquote, urlsplit

    try:
        unquote(text, errors="strict")
    except UnicodeDecodeError:
        raise _refuse("is not encoded as UTF-8") from None
    if _BAD_ENCODING.search(text):
        raise _refuse("has a character that cannot stand in one, or a % that encodes none")
    try:
        parts = urlsplit(text.strip())
    except ValueError:
        raise _refuse("has a host that is not one") from None
    place = parts.netloc.rpartition("@")[2].removesuffix(":")
    if not all(_has_good_port(server) for server in place.split(",")):
        raise _refuse("has a port that is not a number from 1 to 65535")
    if "@" in parts.path or parts.fragment:
        raise _refuse("has an @ or # where none can stand")
    return parts, place


def _has_good_port(server: str) -> bool:
    """Whether what follows the host of a server, if anything, is the number of a port."""
    _, colon, port = server.rpartition("]")[2].rpartition(":")
    return not colon or (port.isascii() and port.isdigit() and 0 < int(port) < 65_536)


def _refuse(why: str) -> UsageError:
    hint = (
        "Write postgresql://user@host:5432/database. In a user's name or password, write : as %3A, / as %2F, @ as %40,"
        " # as %23, ? as %3F and % as %25."
    )
    return UsageError(f"the address of the store {why}", hint=hint)
