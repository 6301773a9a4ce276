"""Which vectors there are, which fingerprint searches use, and the index over them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ricordo.store.postgres import recall
from ricordo.store.postgres.asking_sql import EXACT_BELOW
from ricordo.store.postgres.open_workspace import OpenWorkspace
from ricordo.store.sql.languages import in_languages
from ricordo.store.sql.meaning import SharedVectors
from ricordo.store.values import EVERY_LANGUAGE, Languages


class Vectors(SharedVectors):
    """How many chunks have a vector of which fingerprint, and which fingerprint is in force."""

    def __init__(self, opened: OpenWorkspace) -> None:
        super().__init__(opened.database)
        self._workspace = opened

    def counts(self, fingerprint: str, languages: Languages = EVERY_LANGUAGE) -> dict[str, int]:
        """How many live chunks in some languages there are, have a vector, wait for one, or failed."""
        condition, codes = in_languages(languages)
        with self._workspace.database.read() as connection:
            live, embedded, states = connection.together(
                [
                    (f"SELECT count(*) FROM chunks c WHERE c.state=0{condition}", codes)
                    if codes
                    else ("SELECT total FROM lexical_stats WHERE field=-1", ()),
                    (
                        "SELECT count(*) FROM chunks c JOIN vectors v ON v.hash = c.embed_hash"
                        f" JOIN fingerprints f ON f.id = v.fingerprint WHERE f.name=? AND c.state=0{condition}",
                        (fingerprint, *codes),
                    ),
                    (
                        "SELECT j.state, count(*) FROM jobs j JOIN fingerprints f ON f.id = j.fingerprint"
                        " WHERE f.name=? GROUP BY j.state",
                        (fingerprint,),
                    ),
                ]
            )
        waiting: dict[str, int] = {"pending": 0, "running": 0, "failed": 0} | dict(states)
        return {"chunks": live[0][0], "embedded": embedded[0][0], **waiting}

    def activate(self, fingerprint: str, keep: Collection[str] = ()) -> None:
        """Let searches use another fingerprint, all at once; of the others, the one before and ``keep`` stay."""
        super().activate(fingerprint, keep)
        self._workspace.active = fingerprint

    def settle(self, first: str, second: str, languages: Sequence[str]) -> None:
        """Drop the vectors of one model of passages in some languages that have one of a second model."""
        with self._workspace.database.write() as connection:
            connection.run(
                "DELETE FROM vectors v USING chunks c WHERE v.hash = c.embed_hash AND c.language = ANY(?)"
                " AND v.fingerprint = (SELECT id FROM fingerprints WHERE name = ?) AND EXISTS (SELECT 1 FROM vectors o"
                " WHERE o.hash = c.embed_hash AND o.fingerprint = (SELECT id FROM fingerprints WHERE name = ?))",
                (list(languages), first, second),
            )

    def drop(self, fingerprints: Sequence[int]) -> int:
        """Drop fingerprints with their vectors and the index over these; returns how many vectors there were."""
        if not fingerprints:
            return 0
        with self._workspace.database.write(durable=True) as connection:
            connection.run("DELETE FROM vectors WHERE fingerprint = ANY(?)", (list(fingerprints),))
            dropped = connection.changes()
            connection.run("DELETE FROM fingerprints WHERE id = ANY(?)", (list(fingerprints),))
            connection.run("DELETE FROM meta WHERE name = ANY(?)", ([recall.DEPTH + str(n) for n in fingerprints],))
        for number in fingerprints:
            self._workspace.database.apart("SELECT drop_vector_index(%s)", number)
        self._workspace.forget_fingerprints()
        return dropped

    def index_due(self) -> None:
        """Make the index over the vectors of a model where there are enough of them to need one."""
        with self._workspace.database.read() as connection:
            rows = connection.rows(
                "SELECT f.id, f.dimensions, (SELECT count(*) FROM vectors v WHERE v.fingerprint = f.id),"
                " to_regclass('vectors_near_' || f.id) IS NOT NULL FROM fingerprints f"
            )
        for number, dimensions, count, there in rows:
            if not there and count >= EXACT_BELOW:
                self._workspace.database.apart(
                    "SELECT make_vector_index(%s, %s)", number, dimensions, memory=count * (dimensions // 8 + 400)
                )
                recall.set_depth(self._workspace.database, number)
                self._workspace.forget_fingerprints()
