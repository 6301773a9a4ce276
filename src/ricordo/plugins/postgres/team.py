"""The team of a store on a server: who reads and who writes.

A team has two group roles, named in ``schema_version``; its members are login roles that are in one of them. The owner
of the schema administers it with the rights of the own role, or of one that administers the two groups: this module
hands out membership, and no right to make or change roles.
"""

from __future__ import annotations

import re
import secrets
from contextlib import suppress
from typing import Any

import psycopg

from ricordo.digests import hash_of
from ricordo.errors import Forbidden, NotFound, UsageError
from ricordo.plugins.postgres.database import Database
from ricordo.plugins.postgres.schema import grant_all
from ricordo.plugins.postgres.values import LEVELS, SlowQuery, TeamInvitation, TeamMember, TeamReport
from ricordo.store.sql.database import DAY, moment, now_micros
from ricordo.values.reports import Check

SIZE = (
    "SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class"
    " WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'"
)
_SLOWEST = 5
_SLOW_DAYS = 7
_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_LONGEST = 63
"""PostgreSQL cuts longer names."""
_END_MS = 10_000
"""How long the end of a connection is waited for; it takes a few milliseconds."""
_MEMBERS = """
SELECT m.rolname, CASE WHEN pg_has_role(m.oid, n.nspowner, 'USAGE') THEN 'owner'
    WHEN pg_has_role(m.oid, w.oid, 'USAGE') THEN 'writer' ELSE 'reader' END,
  (SELECT count(*) FROM pg_stat_activity a WHERE a.usename = m.rolname AND a.datname = current_database())
FROM pg_roles m, pg_namespace n, schema_version v JOIN pg_roles r ON r.rolname = v.readers
  JOIN pg_roles w ON w.rolname = v.writers
WHERE n.nspname = current_schema() AND m.rolcanlogin AND (NOT m.rolsuper OR m.oid = n.nspowner)
  AND (pg_has_role(m.oid, r.oid, 'USAGE') OR pg_has_role(m.oid, w.oid, 'USAGE')
    OR pg_has_role(m.oid, n.nspowner, 'USAGE'))
ORDER BY 1
"""
_WAYS_IN = """
SELECT quote_ident(g.rolname), quote_ident(pg_get_userbyid(x.grantor)) FROM pg_auth_members x
  JOIN pg_roles g ON g.oid = x.roleid JOIN pg_roles m ON m.oid = x.member, schema_version v
WHERE m.rolname = %s AND (pg_has_role(g.oid, v.readers, 'MEMBER') OR pg_has_role(g.oid, v.writers, 'MEMBER'))
"""
"""The roles through which a login is in a team: its groups, or roles that are in these."""
_OTHERS = """
SELECT DISTINCT coalesce(r.rolname, 'everybody') FROM schema_version v CROSS JOIN pg_namespace n
  LEFT JOIN pg_class c ON c.relnamespace = n.oid AND c.relkind = 'r'
  CROSS JOIN LATERAL (SELECT * FROM aclexplode(n.nspacl) UNION ALL SELECT * FROM aclexplode(c.relacl)) granted
  LEFT JOIN pg_roles r ON r.oid = granted.grantee
WHERE n.nspname = current_schema() AND granted.grantee <> n.nspowner
  AND (r.rolname IS NULL OR r.rolname NOT IN (coalesce(v.readers, ''), coalesce(v.writers, '')))
ORDER BY 1
"""


class Team:
    """The team of one store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def make(self, model: str) -> None:
        """Let two groups of roles read and write here, besides the owner; ``model`` is pinned. Again, it only repairs
        what is missing.
        """
        with self._database.apart_from_pool() as raw:
            self._refuse_others()
            schema = self._database.address.schema
            [(known, database)] = raw.execute("SELECT readers, current_database() FROM schema_version").fetchall()
            readers, writers = _groups(raw) if known else group_names(database, schema)
            for group in (readers, writers):
                _make_group(raw, group, (readers, writers), is_known=bool(known))
            if not known:
                raw.execute(f'GRANT "{readers}" TO "{writers}"')
            raw.execute(
                "UPDATE schema_version SET readers = %s, writers = %s, model = coalesce(model, %s)",
                (readers, writers, model or None),
            )
            grant_all(raw, schema)
            [(login,)] = raw.execute("SELECT session_user").fetchall()
        self._database.person = login

    def invite(self, name: str, role: str) -> TeamInvitation:
        """Make a role of the server a member, and a login for it if there is none."""
        if not _NAME.fullmatch(name):
            raise UsageError(
                f"'{name}' cannot be the name of a member", hint="Small letters, digits and _, such as ann; at most 63."
            )
        if role not in LEVELS:
            raise UsageError(f"there is no role '{role}' in a team", hint=f"One of: {', '.join(LEVELS)}.")
        with self._database.apart_from_pool() as raw:
            password = _invite(raw, name, role)
        line = f"ricordo init --store '{self._database.address.for_member(name, password)}'"
        return TeamInvitation(name, role, line, bool(password))

    def members(self) -> tuple[TeamMember, ...]:
        """Who is in it, by name, and who owns it."""
        with self._database.apart_from_pool() as raw:
            _groups(raw)
            return tuple(TeamMember(*row) for row in raw.execute(_MEMBERS).fetchall())

    def remove(self, name: str) -> None:
        """Let a member see nothing here any more, at once."""
        with self._database.apart_from_pool() as raw:
            known = [row[0] for row in raw.execute(_MEMBERS).fetchall() if row[1] != "owner"]
            _groups(raw)
            if name not in known:
                raise NotFound(f"'{name}' is not in this team", hint=f"Its members: {', '.join(known) or 'none'}.")
            _leave(raw, name)
        self._end_connections(name)

    def _end_connections(self, name: str) -> None:
        """End the connections of a login, if this role may, or may take its rights for that moment."""
        with (
            self._database.apart_from_pool() as raw,
            suppress(psycopg.errors.InsufficientPrivilege),
            raw.transaction(),
        ):
            [(may,)] = raw.execute("SELECT pg_has_role(%s, 'USAGE')", (name,)).fetchall()
            if not may:
                raw.execute(f"GRANT {_quoted(name)} TO CURRENT_USER")
            raw.execute(
                "SELECT pg_terminate_backend(pid, %s) FROM pg_stat_activity"
                " WHERE usename = %s AND datname = current_database()",
                (_END_MS, name),
            )
            raise psycopg.Rollback

    def _refuse_others(self) -> None:
        if not self._database.is_owner():
            with self._database.read() as connection:
                [(owner,)] = connection.rows(
                    "SELECT pg_get_userbyid(nspowner) FROM pg_namespace WHERE nspname = current_schema()"
                )
            raise Forbidden(
                f"only {owner}, who owns the store, may do this", hint=f"Name the store as that role: {owner}@…."
            )

    def model(self) -> str:
        """The fingerprint that the team's vectors are made with; empty if there is no team, or none was chosen."""
        with self._database.read() as connection:
            rows = connection.rows("SELECT model FROM schema_version")
        return str(rows[0][0] or "")

    def allow_model(self, fingerprint: str) -> None:
        """Refuse another model than the team's, unless the owner chooses it; then it is the team's."""
        pinned = self.model()
        if pinned in ("", fingerprint):
            return
        if not self._database.is_owner():
            raise Forbidden(
                f"this team's vectors are made with {pinned}, and your settings name another model",
                hint="Set embedding.provider and embedding.model as the team has them, or ask its owner to change it.",
            )
        with self._database.apart_from_pool() as raw:
            raw.execute("UPDATE schema_version SET model = %s", (fingerprint,))

    def report(self) -> TeamReport:
        """Members, size, lag, and the slowest questions."""
        with self._database.read() as connection:
            [(size,)] = connection.rows(SIZE)
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
            int(size),
            None if lag is None else float(lag),
            tuple(SlowQuery(text, ms, moment(at).isoformat(timespec="seconds")) for text, ms, at in slow),
        )

    def check(self) -> Check:
        """Nobody was granted anything here but the team's two groups."""
        with self._database.read() as connection:
            others = [name for (name,) in connection.rows(_OTHERS)]
            [(has_team,)] = connection.rows("SELECT readers IS NOT NULL FROM schema_version")
        if others:
            return Check("team", False, f"not only the team may use the tables: {', '.join(others)}")
        return Check("team", True, "only members of the team may" if has_team else "only the owner may use the tables")


def group_names(database: str, schema: str) -> tuple[str, str]:
    """The names of a team's readers and writers.

    Roles belong to a whole server, so that their names hold the database and the schema; no name of a schema has a dot.
    """
    place = f"{database}.{schema}"
    if len(f"{place}.readers".encode()) > _LONGEST or not re.fullmatch(r"[\w.-]+", place):
        place = f"ricordo.{hash_of(place.encode())[:32]}"
    return f"{place}.readers", f"{place}.writers"


def _make_group(raw: Any, group: str, team: tuple[str, str], *, is_known: bool) -> None:
    """Make a group of roles, unless it is there; one that is not this team's yet must have no members."""
    if raw.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (group,)).fetchone() is None:
        [(may,)] = raw.execute("SELECT rolsuper OR rolcreaterole FROM pg_roles WHERE rolname = current_user").fetchall()
        if not may:
            raise Forbidden(
                "to make a team, your role on the server must be allowed to make roles",
                hint=f'Let an administrator run: CREATE ROLE "{group}"; GRANT "{group}" TO <yours> WITH ADMIN OPTION.',
            )
        raw.execute(f'CREATE ROLE "{group}" NOLOGIN')
        return
    rows = raw.execute(
        "SELECT m.rolname FROM pg_auth_members x JOIN pg_roles m ON m.oid = x.member"
        " WHERE x.roleid = %s::regrole AND NOT x.admin_option AND m.rolname <> ALL(%s)",
        (f'"{group}"', list(team)),
    ).fetchall()
    if rows and not is_known:
        raise UsageError(
            f'the role "{group}" is there already, with members: {", ".join(name for (name,) in rows)}',
            hint="It may be of a team that was here before: let an administrator drop it.",
        )


def _groups(raw: Any) -> tuple[str, str]:
    """The names of the readers and writers of a team; an error if there is none."""
    readers, writers = raw.execute("SELECT readers, writers FROM schema_version").fetchone()
    if readers is None:
        raise NotFound("this store has no team yet", hint="‹:team init› makes one.")
    return readers, writers


def _invite(raw: Any, name: str, role: str) -> str:
    """Let a role be a member with this role; returns the password of a login that was made for it, else nothing."""
    groups = _groups(raw)
    found = raw.execute("SELECT rolcanlogin FROM pg_roles WHERE rolname = %s", (name,)).fetchone()
    if found is not None and not found[0]:
        raise UsageError(f"'{name}' is a group of roles, not a person", hint="Choose another name.")
    password = secrets.token_urlsafe(18) if found is None else ""
    try:
        if password:  # the server and its log never see it, only what it is checked with
            verifier = raw.pgconn.encrypt_password(password.encode(), name.encode(), b"scram-sha-256").decode()
            raw.execute(f"CREATE ROLE {name} LOGIN PASSWORD '{verifier}'")
        else:
            _leave(raw, name)
        raw.execute(f'GRANT "{groups[LEVELS.index(role)]}" TO "{name}"')
    except psycopg.errors.InsufficientPrivilege as error:
        raise Forbidden(
            f"only the owner of the team may do this ({str(error).strip().partition(chr(10))[0]})",
            hint="‹:team status› names the owner. A login for a new member is made by a role that may make roles.",
        ) from error
    return password


def _leave(raw: Any, name: str) -> None:
    """Take a role out of both groups, and of roles that are in these, whoever put it there."""
    try:
        for group, grantor in raw.execute(_WAYS_IN, (name,)).fetchall():
            raw.execute(f"REVOKE {group} FROM {_quoted(name)} GRANTED BY {grantor} CASCADE")
    except psycopg.errors.InsufficientPrivilege as error:
        raise Forbidden(
            f"'{name}' was put into the team by somebody else ({str(error).strip().partition(chr(10))[0]})",
            hint="Whoever invited them, or an administrator of the server, can take it back.",
        ) from error


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
