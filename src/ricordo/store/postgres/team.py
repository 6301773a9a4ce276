"""The team of a workspace: made, joined and left through roles of the server, and the numbers it sees."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

from ricordo.errors import Forbidden
from ricordo.store.postgres import team_roles
from ricordo.store.postgres.open_workspace import OpenWorkspace
from ricordo.store.sql.times import DAY, moment, now_micros
from ricordo.values.reports import SlowQuery, TeamInvitation, TeamMember, TeamReport
from ricordo.values.store_addresses import for_member

_SLOWEST = 5
_SLOW_DAYS = 7


class Team:
    """The team of one workspace."""

    def __init__(self, opened: OpenWorkspace) -> None:
        self._workspace = opened
        self._database = opened.database

    @property
    def person(self) -> str:
        """The role that logged in; empty if there is no team."""
        return self._database.person

    def make(self, model: str) -> None:
        """Let roles of the server decide from now on who reads and writes here; ``model`` is pinned."""
        address = self._database.address
        with self._as_owner() as raw:
            team_roles.make_team(raw, address.schema, self._database.workspace, address.workspace, model)

    def invite(self, name: str, role: str) -> TeamInvitation:
        """Make a role of the server a member, and a login for it if there is none."""
        with self._as_owner() as raw:
            password = team_roles.invite(raw, self._database.workspace, name, role)
        line = f"ricordo init --store '{for_member(self._database.address, name, password)}'"
        return TeamInvitation(name, role, line, bool(password))

    def members(self) -> tuple[TeamMember, ...]:
        """Who is in it, by name."""
        with self._database.connected_apart() as raw:
            return tuple(team_roles.members(raw, self._database.workspace))

    def remove(self, name: str) -> None:
        """Let a member see nothing here any more, at once."""
        with self._as_owner() as raw:
            is_closed = team_roles.remove(raw, self._database.workspace, name)
        if is_closed:  # only now nobody can make new ones
            with self._as_owner() as raw:
                team_roles.end_connections(raw, name)

    @contextmanager
    def _as_owner(self) -> Iterator[psycopg.Connection[Any]]:
        """A transaction of an owner; others are refused."""
        if not self._database.is_owner():
            raise self._refusal()
        with self._database.connected_apart() as raw, raw.transaction():
            yield raw

    def _refusal(self) -> Forbidden:
        if self.person:
            return Forbidden("only an owner of the team may do this", hint="‹:team members› lists the owners.")
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
