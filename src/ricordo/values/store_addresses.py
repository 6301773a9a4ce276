"""The address of a PostgreSQL store: where the server is, and which workspace of it is meant.

``postgresql://user@host/database?workspace=NAME&schema=NAME``: what is ours is taken out, the rest is libpq's.
"""

from __future__ import annotations

from ricordo.errors import UsageError
from ricordo.frozen import frozen

SCHEMES = ("postgresql", "postgres")
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
    return text.partition("://")[0] in SCHEMES and "://" in text


def shown(text: str) -> str:
    """A store as people may see it: an address without its password, anything else as it is."""
    return parse(text).shown if is_address(text) else text


def in_workspace(text: str, name: str) -> str:
    """The same address with another workspace."""
    from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

    parts = urlsplit(text)
    kept = [pair for pair in parse_qsl(parts.query, keep_blank_values=True) if pair[0] != "workspace"]
    return urlunsplit(parts._replace(query=urlencode([*kept, ("workspace", name)])))


def parse(text: str) -> Address:
    """The address in a text."""
    from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

    parts = urlsplit(text)
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
    dsn = urlunsplit(("postgresql", parts.netloc, parts.path, urlencode(rest), ""))
    host = parts.hostname or ""
    place = f"{host}:{parts.port}" if parts.port else host
    user = f"{parts.username}@" if parts.username else ""
    shown = f"postgresql://{user}{place}{parts.path}"
    if own["workspace"] != "default":
        shown += f"?workspace={quote(own['workspace'])}"
    return Address(dsn, own["workspace"], own["schema"], shown)
