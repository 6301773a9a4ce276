"""The address of a PostgreSQL store: where the server is, and which workspace of it is meant.

``postgresql://user@host/database?workspace=NAME&schema=NAME``: what is ours is taken out, the rest is libpq's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ricordo.errors import Unavailable, UsageError
from ricordo.frozen import frozen
from ricordo.patterns import late
from ricordo.plugin import ask

if TYPE_CHECKING:
    from urllib.parse import SplitResult

    from ricordo.config.loading import Config
    from ricordo.plugins.postgres.store import PostgresStore

_BAD_ENCODING = late(r"%(?![0-9A-Fa-f]{2})|%00|[\x00-\x1f\x7f\ud800-\udfff]")
_SCHEMA = "abcdefghijklmnopqrstuvwxyz0123456789_"


@frozen
class Address:
    """A workspace in a schema of a database."""

    dsn: str
    workspace: str = "default"
    schema: str = "ricordo"
    shown: str = ""
    """The address without its password, for people to read."""

    def open(self, config: Config, *, create: bool, busy_seconds: float) -> PostgresStore:
        """Open the workspace; what plugins put beside it is opened, too."""
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

    def for_member(self, user: str, password: str = "") -> str:
        """The address under which somebody else reaches the same workspace."""
        from urllib.parse import parse_qsl, urlencode, urlsplit

        parts = urlsplit(self.dsn)
        own = [("workspace", self.workspace)] if self.workspace != "default" else []
        own += [("schema", self.schema)] if self.schema != "ricordo" else []
        options = [pair for pair in parse_qsl(parts.query) if pair[0] not in ("user", "password", "passfile")]
        who = f"{user}:{password}" if password else user
        query = urlencode([*options, *own])
        return f"postgresql://{who}@{parts.netloc.rpartition('@')[2]}{parts.path}{'?' if query else ''}{query}"


def parse(text: str) -> Address:
    """The address in a text; an error never repeats what could be a part of its password."""
    from urllib.parse import parse_qsl, quote, urlencode

    parts, place = _split(text)
    own = {"workspace": "default", "schema": "ricordo"}
    rest = []
    for name, value in parse_qsl(parts.query, keep_blank_values=True):
        if name in own:
            own[name] = value
        else:
            rest.append((name, value))
    if not own["schema"] or own["schema"][0].isdigit() or set(own["schema"]) - set(_SCHEMA):
        raise UsageError(
            f"'{own['schema']}' cannot be the name of a schema", hint="Small letters, digits and _, such as ricordo."
        )
    if not own["workspace"].strip():
        raise UsageError("a workspace has a name", hint="Leave it out for the workspace called default.")
    who, at, _ = parts.netloc.rpartition("@")
    netloc = f"{who.replace('@', '%40')}{at}{place}"  # PostgreSQL takes the first @ for the end of the password
    if "," in place and not any(name == "target_session_attrs" for name, _ in rest):
        rest.append(("target_session_attrs", "read-write"))  # of several servers, the one that takes writes
    dsn = f"postgresql://{netloc}{parts.path}{'?' if rest else ''}{urlencode(rest)}"
    user = f"{parts.username}@" if parts.username else ""
    shown = f"postgresql://{user}{place.lower()}{parts.path}"
    named = [pair for pair in rest if pair[0] == "service"]
    named += [("workspace", own["workspace"])] if own["workspace"] != "default" else []
    shown += "?" + urlencode(named, safe="/", quote_via=quote) if named else ""
    return Address(dsn, own["workspace"], own["schema"], shown)


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
