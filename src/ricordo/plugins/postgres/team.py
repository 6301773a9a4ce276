"""The team of a workspace, through roles of the server: who reads, writes, owns and backs it up.

A team has four group roles, named in its row of ``workspaces``. Members are login roles that are in one of them.
Whoever makes a team needs to be allowed to make roles (CREATEROLE). The tables then belong to the owners' group, so
that every owner can upgrade them.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

from ricordo.errors import Forbidden, NotFound, UsageError
from ricordo.plugins.postgres.database import Database
from ricordo.plugins.postgres.schema import grant_all
from ricordo.plugins.postgres.values import LEVELS, SlowQuery, TeamInvitation, TeamMember, TeamReport
from ricordo.store.sql.database import DAY, moment, now_micros

_SLOWEST = 5
_SLOW_DAYS = 7
_COLUMNS = {"reader": "readers", "writer": "writers", "owner": "owners", "backup": "backup"}
_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_LONGEST = 63
"""PostgreSQL cuts longer names."""
_END_MS = 10_000
"""How long the end of a connection is waited for; it takes a few milliseconds."""
_MADE_HERE = "Made for a member of a Ricordo team"
"""The comment of a login that an invitation made. Whether it may make roles is then ours to decide."""


class Team:
    """The team of one workspace."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @property
    def person(self) -> str:
        """The role that logged in; empty if there is no team."""
        return self._database.person

    def make(self, model: str) -> None:
        """Let roles of the server decide from now on who reads and writes here; ``model`` is pinned."""
        address = self._database.address
        with self._as_owner() as raw:
            _make_team(raw, address.schema, self._database.workspace, address.workspace, model=model)

    def invite(self, name: str, role: str) -> TeamInvitation:
        """Make a role of the server a member, and a login for it if there is none."""
        with self._as_owner() as raw:
            password = _invite(raw, self._database.workspace, name, role)
        line = f"ricordo init --store '{self._database.address.for_member(name, password)}'"
        return TeamInvitation(name, role, line, bool(password))

    def members(self) -> tuple[TeamMember, ...]:
        """Who is in it, by name."""
        with self._database.connected_apart() as raw:
            return tuple(_members(raw, self._database.workspace))

    def remove(self, name: str) -> None:
        """Let a member see nothing here any more, at once."""
        with self._as_owner() as raw:
            is_closed = _remove(raw, self._database.workspace, name)
        if is_closed:  # only now nobody can make new ones
            with self._as_owner() as raw:
                _end_connections(raw, name)

    @contextmanager
    def _as_owner(self) -> Iterator[psycopg.Connection[Any]]:
        """A transaction of an owner; others are refused."""
        if not self._database.is_owner():
            raise self._refusal()
        with self._database.connected_apart() as raw, raw.transaction():
            yield raw

    def _refusal(self) -> Forbidden:
        if self.person:
            return Forbidden("only an owner of the team may do this", hint="‹:team status› lists the owners.")
        with self._database.read() as connection:
            [(owner,)] = connection.rows("SELECT pg_get_userbyid(relowner) FROM pg_class WHERE oid = 'items'::regclass")
        return Forbidden(
            f"only {owner}, who owns the tables, may do this: the workspace has no team yet",
            hint=f"Name the store as that role: postgresql://{owner}@….",
        )

    def model(self) -> str:
        """The fingerprint that the team's vectors are made with; empty if there is no team, or none was chosen."""
        with self._database.read() as connection:
            rows = connection.rows("SELECT model FROM workspaces WHERE id = ?", (self._database.workspace,))
        return str(rows[0][0] or "") if rows else ""

    def allow_model(self, fingerprint: str) -> None:
        """Refuse another model than the team's, unless an owner chooses it; then it is the team's."""
        pinned = self.model()
        if pinned in ("", fingerprint):
            return
        if not self._database.is_owner():
            raise Forbidden(
                f"this team's vectors are made with {pinned}, and your settings name another model",
                hint="Set embedding.provider and embedding.model as the team has them, or ask an owner to change them.",
            )
        with self._database.connected_apart() as raw:
            raw.execute("UPDATE workspaces SET model = %s WHERE id = %s", (fingerprint, self._database.workspace))

    def size(self) -> int:
        """The bytes on the server, of all workspaces of the schema."""
        with self._database.read() as connection:
            [(size,)] = connection.rows(
                "SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class"
                " WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'"
            )
        return int(size)

    def report(self) -> TeamReport:
        """Members, size, lag, and the slowest questions."""
        with self._database.read() as connection:
            [(lag,)] = connection.rows(
                "SELECT CASE WHEN pg_is_in_recovery() THEN extract(epoch FROM now() - pg_last_xact_replay_timestamp())"
                " ELSE (SELECT extract(epoch FROM max(replay_lag)) FROM pg_stat_replication) END"
            )
            slow = connection.rows(
                f"SELECT text, ms, at FROM query_log WHERE at > ? ORDER BY ms DESC LIMIT {_SLOWEST}",
                (now_micros() - _SLOW_DAYS * DAY,),
            )
        return TeamReport(
            self._database.path,
            self.model(),
            self.members(),
            self.size(),
            None if lag is None else float(lag),
            tuple(SlowQuery(text, ms, moment(at).isoformat(timespec="seconds")) for text, ms, at in slow),
        )


def group_names(database: str, schema: str, workspace: str) -> dict[str, str]:
    """The names of a team's group roles, by level.

    Roles belong to a whole server, so their names hold the database, the schema and the workspace. All teams of a
    schema have the same owners, because whoever owns its tables can reach all their rows.
    """
    plain = re.sub(r"[^a-z0-9]+", "_", f"{database}_{schema}_{workspace}".lower()).strip("_")
    digest = hashlib.sha256(f"{database}\0{schema}\0{workspace}".encode()).hexdigest()[:6]
    groups = {level: f"{plain[: _LONGEST - 16]}_{digest}_{level}" for level in LEVELS}
    return groups if not workspace else groups | {"owner": group_names(database, schema, "")["owner"]}


def _make_team(raw: Any, schema: str, workspace: int, name: str, *, model: str) -> None:
    """Make the group roles of a workspace; from now on they decide. Again, it only repairs what is missing."""
    _refuse_to_make_roles(raw, "make a team")
    row = raw.execute("SELECT current_database(), rolsuper FROM pg_roles WHERE rolname = current_user").fetchone()
    database, is_super = row
    groups = group_names(database, schema, name)
    for group in groups.values():
        if raw.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (group,)).fetchone() is None:
            raw.execute(f"CREATE ROLE {group} NOLOGIN")
    for outer, inner in (("reader", "writer"), ("writer", "owner"), ("reader", "backup")):
        raw.execute(f"GRANT {groups[outer]} TO {groups[inner]}")
    for level in ("reader", "writer", "backup"):  # what one owner granted, another can take back
        raw.execute(f"GRANT {groups[level]} TO {groups['owner']} WITH ADMIN OPTION")
    if not is_super:
        raw.execute(f"GRANT {groups['owner']} TO CURRENT_USER")
    raw.execute(
        "UPDATE workspaces SET readers = %s, writers = %s, owners = %s, backup = %s, model = coalesce(model, %s)"
        " WHERE id = %s",
        (*(groups[level] for level in LEVELS), model or None, workspace),
    )
    grant_all(raw, schema)


def _refuse_to_make_roles(raw: Any, what: str) -> None:
    """Refuse to ``what`` if this role may not make roles."""
    row = raw.execute("SELECT rolsuper OR rolcreaterole FROM pg_roles WHERE rolname = current_user").fetchone()
    if not row[0]:
        raise Forbidden(
            f"to {what}, your role on the server must be allowed to make roles",
            hint="Let an administrator run: ALTER ROLE <yours> CREATEROLE, or do it as an administrator.",
        )


def team_groups(raw: Any, workspace: int) -> dict[str, str]:
    """The group roles of a workspace's team, by level; an error if it has none."""
    row = raw.execute(
        f"SELECT {', '.join(_COLUMNS[level] for level in LEVELS)} FROM workspaces WHERE id = %s", (workspace,)
    ).fetchone()
    if row is None or row[0] is None:
        raise NotFound("this workspace has no team yet", hint="‹:team init› makes one.")
    return dict(zip(LEVELS, row, strict=True))


def _invite(raw: Any, workspace: int, name: str, role: str) -> str:
    """Let a role be a member with this role; returns the password of a login that was made for it, else nothing."""
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"'{name}' cannot be the name of a member", hint="Small letters, digits and _, such as ann; at most 63."
        )
    if role not in LEVELS:
        raise UsageError(f"there is no role '{role}' in a team", hint=f"One of: {', '.join(LEVELS)}.")
    groups = team_groups(raw, workspace)
    found = raw.execute("SELECT rolcanlogin FROM pg_roles WHERE rolname = %s", (name,)).fetchone()
    is_closed = found is not None and not found[0] and _is_made_here(raw, name)
    if found is not None and not is_closed and (not found[0] or name in groups.values()):
        raise UsageError(f"'{name}' is a group of roles, not a person", hint="Choose another name.")
    password = secrets.token_urlsafe(18) if found is None or is_closed else ""
    if password:
        _refuse_to_make_roles(raw, "make a login for a new member")
        raw.execute(f"{'ALTER' if is_closed else 'CREATE'} ROLE {name} LOGIN PASSWORD '{password}'")
        raw.execute(f"COMMENT ON ROLE {name} IS '{_MADE_HERE}'")
    was_owner = found is not None and _leave(raw, groups, name)
    if was_owner and role != "owner":
        _alter_own(raw, name, "NOCREATEROLE")
    if role == "owner":
        raw.execute(f"GRANT {groups[role]} TO {name} WITH ADMIN OPTION")
        _alter_own(raw, name, "CREATEROLE")  # an owner invites others
    else:
        raw.execute(f"SET LOCAL ROLE {groups['owner']}")
        raw.execute(f"GRANT {groups[role]} TO {name}")
    return password


def _is_made_here(raw: Any, name: str) -> bool:
    row = raw.execute("SELECT shobj_description(oid, 'pg_authid') FROM pg_roles WHERE rolname = %s", (name,)).fetchone()
    return row is not None and row[0] == _MADE_HERE


def _alter_own(raw: Any, name: str, what: str) -> bool:
    """Change a login that an invitation made, if this role may: whoever made it. Returns whether it was changed.

    What takes something away leaves a login alone that is in a group of another team.
    """
    if not _is_made_here(raw, name) or (what.startswith("NO") and _is_in_any_group(raw, name)):
        return False
    try:
        with raw.transaction():
            raw.execute(f"ALTER ROLE {name} {what}")
    except psycopg.errors.InsufficientPrivilege:
        return False
    return True


def _members(raw: Any, workspace: int) -> list[TeamMember]:
    """The roles in a team, by name, each with the highest level it was given."""
    groups = team_groups(raw, workspace)
    level = {group: name for name, group in groups.items()}
    rows = raw.execute(
        "SELECT m.rolname, g.rolname, (SELECT count(*) FROM pg_stat_activity a WHERE a.usename = m.rolname"
        " AND a.datname = current_database()) FROM pg_auth_members x JOIN pg_roles m ON m.oid = x.member"
        " JOIN pg_roles g ON g.oid = x.roleid WHERE g.rolname = ANY(%s) AND m.rolcanlogin ORDER BY 1",
        (list(level),),
    ).fetchall()
    found: dict[str, TeamMember] = {}
    order = ("backup", "reader", "writer", "owner")
    for name, group, connections in rows:
        known = found.get(name)
        if known is None or order.index(level[group]) > order.index(known.role):
            found[name] = TeamMember(name, level[group], connections)
    return list(found.values())


def _remove(raw: Any, workspace: int, name: str) -> bool:
    """Let a role be a member no more; what it wrote stays. Returns whether its login was closed; mostly it stays.

    An owner has power over the logins that they made. PostgreSQL lets nobody but a superuser take that back, so a
    login that was made for an owner is closed.
    """
    known = {member.name: member.role for member in _members(raw, workspace)}
    if name not in known:
        raise NotFound(f"'{name}' is not in this team", hint=f"Its members: {', '.join(known) or 'none'}.")
    return _leave(raw, team_groups(raw, workspace), name) and _alter_own(raw, name, "NOCREATEROLE NOLOGIN")


def _end_connections(raw: Any, name: str) -> None:
    """End the connections of a login that was closed."""
    raw.execute(f"GRANT {name} TO CURRENT_USER")  # otherwise one may not
    raw.execute("SELECT pg_terminate_backend(pid, %s) FROM pg_stat_activity WHERE usename = %s", (_END_MS, name))
    raw.execute(f"REVOKE {name} FROM CURRENT_USER")


def _leave(raw: Any, groups: dict[str, str], name: str) -> bool:
    """Take a role out of all groups; returns whether it was an owner. Only whoever made it one can take that back."""
    was_owner = _is_in(raw, groups["owner"], name)
    raw.execute(f"SET LOCAL ROLE {groups['owner']}")
    for level, group in groups.items():
        if level == "owner":
            raw.execute("RESET ROLE")
        if _is_in(raw, group, name):
            raw.execute(f"REVOKE {group} FROM {name}")
        if _is_in(raw, group, name):
            raise Forbidden(
                f"'{name}' made the team, or was made an owner by somebody else",
                hint="Whoever invited them, or an administrator of the server, can take it back.",
            )
        if level == "owner":
            raw.execute(f"SET LOCAL ROLE {groups['owner']}")
    raw.execute("RESET ROLE")
    return was_owner


def _is_in_any_group(raw: Any, name: str) -> bool:
    found = raw.execute(
        "SELECT 1 FROM pg_auth_members x JOIN pg_roles g ON g.oid = x.roleid"
        " WHERE x.member = %s::regrole AND NOT g.rolcanlogin",
        (name,),
    )
    return found.fetchone() is not None


def _is_in(raw: Any, group: str, name: str) -> bool:
    found = raw.execute(
        "SELECT 1 FROM pg_auth_members WHERE roleid = %s::regrole AND member = %s::regrole", (group, name)
    )
    return found.fetchone() is not None
