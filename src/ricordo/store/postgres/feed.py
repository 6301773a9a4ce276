"""A search engine that is fed from a workspace: filled, looked at, compared with the workspace, given up."""

from __future__ import annotations

import uuid
from contextlib import suppress

from ricordo.errors import UsageError
from ricordo.store.postgres.feeding import NAME, Feeder, FeedingThread
from ricordo.store.postgres.open_workspace import OpenWorkspace
from ricordo.store.postgres.picking import Outside, model_space, words_space
from ricordo.store.qdrant.choosing import IndexChoice
from ricordo.store.qdrant.points import IndexAway, Space
from ricordo.store.sql.store_id import known_id
from ricordo.store.sql.times import now_micros
from ricordo.values.reports import Check, IndexReport

_SAMPLE = 50
_FEED = f"SELECT prefix, spaces FROM index_feeds WHERE name = '{NAME}'"
_STATUS = (
    "SELECT (SELECT total FROM lexical_stats WHERE field = -1), (SELECT count(*) FROM index_applied),"
    " (SELECT count(*) FROM index_outbox), (SELECT min(at) FROM index_outbox), (SELECT owner FROM index_feeds"
    f" WHERE name = '{NAME}' AND lease_until > extract(epoch FROM clock_timestamp()))"
)
_MODELS = "SELECT id, name, dimensions FROM fingerprints ORDER BY id"
_WORDED = "SELECT chunk FROM index_applied WHERE words <> '' ORDER BY chunk"
_COUNTED = (
    "SELECT (SELECT count(*) FROM chunks WHERE state = 0), (SELECT count(*) FROM index_applied),"
    " (SELECT count(*) FROM index_applied WHERE words <> ''), (SELECT count(*) FROM index_outbox)"
)
_EMBEDDED = (
    "SELECT count(*) FROM chunks c JOIN vectors v ON v.hash = c.embed_hash WHERE v.fingerprint = ? AND c.state = 0"
)


class Feed:
    """The engine of one workspace."""

    def __init__(self, opened: OpenWorkspace, choice: IndexChoice, *, in_background: bool) -> None:
        self._opened = opened
        self._database = opened.database
        self._choice = choice
        self.engine = choice.open()
        self.feeder = Feeder(opened.database, self.engine, opened.analyzer)
        self._thread = FeedingThread(self.feeder)
        opened.outside = Outside(self.engine, opened.analyzer, lambda: opened.passing)
        if in_background and not opened.database.read_only:
            opened.outside.on_tail = self._thread.wake
            opened.database.on_commit = self._thread.wake

    def run(self) -> int:
        """Apply the changes that wait, unless another process does; returns how many were applied here."""
        return self.feeder.feed()

    def rebuild(self) -> None:
        """Fill the engine anew; until that is done, the server's own index answers searches."""
        before = self._spaces()
        store = known_id(self._database)[:8] or "store"
        prefix = f"ricordo-{store}-w{self._database.workspace}-{uuid.uuid4().hex[:6]}"
        self.engine.check()  # before anything is changed
        with self._database.write(durable=True, mirrored=False) as connection:
            for table in ("index_feeds", "index_outbox", "index_applied", "index_terms"):
                connection.run(f"DELETE FROM {table}")
            connection.run(
                "INSERT INTO index_feeds(name, prefix, spaces, owner, lease_until) VALUES(?, ?, '', '', 0)",
                (NAME, prefix),
            )
            connection.run(
                "INSERT INTO index_outbox(chunk, at) SELECT id, ? FROM chunks WHERE state = 0 ORDER BY id",
                (now_micros(),),
            )
        self._throw_away(before)
        self.feeder.feed()

    def drop(self) -> None:
        """Stop feeding, and throw away what the engine has."""
        before = self._spaces()
        if before is None:
            raise UsageError("no search engine is fed from this store")
        with self._database.write(durable=True, mirrored=False) as connection:
            for table in ("index_feeds", "index_outbox", "index_applied", "index_terms"):
                connection.run(f"DELETE FROM {table}")
        self._throw_away(before)

    def _spaces(self) -> list[Space] | None:
        with self._database.read() as connection:
            rows = connection.rows(_FEED)
        return [Space(name) for name in rows[0][1].split()] if rows else None

    def _throw_away(self, spaces: list[Space] | None) -> None:
        with suppress(IndexAway):  # it may be gone with all that it had
            for space in spaces or ():
                self.engine.drop(space)

    def report(self) -> IndexReport:
        """How far the engine is."""
        with self._database.read() as connection:
            feed = connection.rows(_FEED)
            [(passages, applied, waiting, oldest, owner)] = connection.rows(_STATUS)
            models = connection.rows(_MODELS)
        lag = max(0.0, (now_micros() - oldest) / 1e6) if oldest is not None else 0.0
        held, vectors, problem = None, {}, ""
        if not feed:
            problem = "it was never filled: run 'ricordo index rebuild'"
        else:
            prefix, spaces = feed[0]
            try:
                held = self.engine.count(words_space(prefix)) if spaces else 0
                for number, name, dimensions in models:
                    space = model_space(prefix, number, dimensions)
                    if space.name in spaces.split():
                        vectors[name] = self.engine.count(space)
            except IndexAway as error:
                problem = error.message
        return IndexReport(
            self._choice.shown, passages, applied, held, waiting, round(lag, 1), owner or "", vectors, problem
        )

    def check(self, repair: bool) -> Check:
        """Compare the engine with the store: how many passages and vectors there are, and some of them one by one."""
        try:
            problem = self._problem()
        except IndexAway as error:
            return Check("search engine", False, error.message)
        if problem and repair:
            self.rebuild()
        return Check(
            "search engine", not problem, problem or "holds what the store has", repaired=bool(problem) and repair
        )

    def _problem(self) -> str:
        with self._database.read() as connection:
            feed = connection.rows(_FEED)
            if not feed:
                return "it was never filled: run 'ricordo index rebuild'"
            [(live, applied, worded, waiting)] = connection.rows(_COUNTED)
            chunks = [row[0] for row in connection.rows(_WORDED)]
            models = [
                (number, name, dimensions, connection.rows(_EMBEDDED, (number,))[0][0])
                for number, name, dimensions in connection.rows(_MODELS)
            ]
        prefix, spaces = feed[0]
        sample = chunks[:: max(1, len(chunks) // _SAMPLE)]
        if waiting == 0 and applied != live:
            return f"{live} passages, of which {applied} were given to it"
        if not spaces:
            return ""
        words = words_space(prefix)
        held = self.engine.count(words)
        if waiting == 0 and held != worded:
            return f"it holds {held} passages instead of {worded}"
        if waiting == 0 and (missing := len(set(sample) - self.engine.held(words, sample))):
            return f"{missing} of {len(sample)} passages that were looked for are missing"
        for number, name, dimensions, embedded in models:
            space = model_space(prefix, number, dimensions)
            if waiting == 0 and embedded and space.name not in spaces.split():
                return f"it has no vectors of {name}"
            if waiting == 0 and space.name in spaces.split() and (there := self.engine.count(space)) < embedded:
                return f"it holds {there} vectors of {name} instead of {embedded}"
        return ""

    def close(self) -> None:
        """End feeding in the background, and close the engine."""
        self._database.on_commit = None
        self._thread.close()
        with suppress(IndexAway):
            self.engine.close()
