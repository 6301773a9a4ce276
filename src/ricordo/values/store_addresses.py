"""The address of a PostgreSQL store: where the server is, and which workspace of it is meant.

``postgresql://user@host/database?workspace=NAME&schema=NAME``: what is ours is taken out, the rest is libpq's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ricordo.errors import UsageError
from ricordo.frozen import frozen
from ricordo.masking import DATABASES, masked
from ricordo.patterns import late

if TYPE_CHECKING:
    from urllib.parse import SplitResult

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


def is_address(text: str) -> bool:
    """Whether a text names a PostgreSQL store, and not a file."""
    scheme, separator, _ = text.partition("://")
    return bool(separator) and scheme.strip().lower() in DATABASES


def shown(text: str) -> str:
    """A store as people may see it: an address without its password, anything else as it is."""
    return parse(text).shown if is_address(text) else masked(text)


def in_workspace(text: str, name: str) -> str:
    """The same address with another workspace."""
    from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

    parts = urlsplit(text)
    kept = [pair for pair in parse_qsl(parts.query, keep_blank_values=True) if pair[0] != "workspace"]
    return urlunsplit(parts._replace(query=urlencode([*kept, ("workspace", name)])))


def for_member(address: Address, user: str, password: str = "") -> str:
    """The address under which somebody else reaches the same workspace."""
    from urllib.parse import parse_qsl, urlencode, urlsplit

    parts = urlsplit(address.dsn)
    own = [("workspace", address.workspace)] if address.workspace != "default" else []
    own += [("schema", address.schema)] if address.schema != "ricordo" else []
    passed = [pair for pair in parse_qsl(parts.query) if pair[0] not in ("user", "password", "passfile")]
    who = f"{user}:{password}" if password else user
    query = urlencode([*passed, *own])
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
    told = [pair for pair in rest if pair[0] == "service"]
    told += [("workspace", own["workspace"])] if own["workspace"] != "default" else []
    shown += "?" + urlencode(told, safe="/", quote_via=quote) if told else ""
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
