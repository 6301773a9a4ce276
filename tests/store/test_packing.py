"""A server's store before schema 8, with a row for each posting, becomes one with segments when it is opened."""

from __future__ import annotations

import json
import uuid
from typing import Any

import psycopg
import pytest
from tests.store import postgres_server

from ricordo import ConfigProvider, Ricordo
from ricordo.errors import Error
from ricordo.store.postgres import packing
from ricordo.store.postgres.schema import SCHEMA_VERSION
from ricordo.text.words import Analyzer

PLAIN = ConfigProvider({"embedding.provider": "none"})
QUERIES = ("signing keys", "rotat*", "sigming", '"every quarter"', "safety", "lunch -keys")
_OLD = """
ALTER TABLE postings RENAME TO packed;
DROP TABLE packed, segments, retired, merges;
CREATE TABLE term_counts(term text COLLATE "C" NOT NULL, passages bigint NOT NULL,
  workspace int NOT NULL DEFAULT current_setting('ricordo.workspace')::int, PRIMARY KEY(workspace, term));
CREATE TABLE postings(term text COLLATE "C" NOT NULL, chunk bigint NOT NULL, item bigint NOT NULL,
  state smallint NOT NULL, body int NOT NULL, length int NOT NULL, others int[],
  workspace int NOT NULL DEFAULT current_setting('ricordo.workspace')::int, PRIMARY KEY(workspace, term, chunk));
CREATE INDEX ON postings(workspace, chunk);
ALTER TABLE lexical_stats ADD COLUMN passages bigint NOT NULL DEFAULT 0;
UPDATE lexical_stats s SET passages = o.total FROM lexical_stats o
  WHERE o.workspace = s.workspace AND o.field = s.field + 6 AND s.field >= 0;
DELETE FROM lexical_stats WHERE field > 5;
INSERT INTO vocabulary(word, term, workspace) SELECT DISTINCT term, term, workspace FROM vocabulary
  ON CONFLICT DO NOTHING;
UPDATE schema_version SET number = 6;
"""


def as_before(schema: str) -> None:
    """Bring the tables of a store back to schema 6, when there was a row for each term of each passage."""
    with psycopg.connect(postgres_server.address(), autocommit=True) as raw:
        raw.execute(f"SET search_path = {schema}, public")
        chunks = raw.execute(
            "SELECT c.id, c.item, c.state, c.heading, c.text, i.title, i.path, i.description, i.fields, c.workspace"
            " FROM chunks c JOIN items i ON i.n = c.item AND i.workspace = c.workspace WHERE c.state < 2"
        ).fetchall()
        raw.execute(_OLD)
        for chunk, item, state, heading, text, title, path, description, stored, workspace in chunks:
            fields: dict[str, Any] = json.loads(stored)
            context = f"{fields.get('context', '')}\n{heading}" if heading else fields.get("context", "")
            texts = (title, path, description, "\n".join(fields.get("tags", ())), context, text)
            *shared, body = [Analyzer("english").counts(one) for one in texts]
            lengths = [sum(field.values()) for field in shared]
            for term in {*body, *(term for field in shared for term in field)}:
                held = [field.get(term, 0) for field in shared]
                others = [*held, *lengths] if any(held) else None
                raw.execute(
                    "INSERT INTO postings VALUES(%s, %s, %s, %s, %s, %s, %s, %s)",
                    (term, chunk, item, state, body.get(term, 0), sum(body.values()), others, workspace),
                )


def found(engine: Ricordo) -> list[Any]:
    answers = [engine.search(query, profile="bm25", track=False) for query in QUERIES]
    return [[(hit.ref, round(hit.score, 6)) for hit in answer.hits] for answer in answers]


@pytest.fixture
def places() -> tuple[str, list[str]]:
    schema = f"ricordo_{uuid.uuid4().hex[:8]}"
    return schema, [postgres_server.workspace(schema=schema) for _ in range(2)]


def fill(place: str) -> list[Any]:
    with Ricordo.open(place, config=PLAIN) as engine:
        for number in range(7):
            engine.save(f"note:/{number}", f"Rotate the signing keys of service {number} every quarter.")
        engine.save("note:/lunch", "Lunch is at noon.", fields={"tags": ["safety"]})
        engine.save("note:/3", "Nobody rotates the keys of service 3.", on_conflict="overwrite")
        engine.rm("note:/4")
        return found(engine)


def test_an_old_store_is_packed_and_answers_as_before(
    places: tuple[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if the first attempt was interrupted, and a passage was changed by an older program meanwhile."""
    schema, (one, other) = places
    before = [fill(one), fill(other)]
    as_before(schema)
    monkeypatch.setattr(packing, "BATCH", 3)
    whole = packing._pack
    packed: list[int] = []

    def interrupted(connection: Any, workspace: int, client: int) -> int:
        if len(packed) == 2:
            raise psycopg.OperationalError("the connection was lost")
        packed.append(whole(connection, workspace, client))
        return packed[-1]

    monkeypatch.setattr(packing, "_pack", interrupted)
    with pytest.raises(Error, match="cannot be reached"):
        Ricordo.open(one, config=PLAIN).search("keys")
    monkeypatch.setattr(packing, "_pack", whole)
    with psycopg.connect(postgres_server.address(), autocommit=True) as raw:
        [(kept, number)] = raw.execute(
            f"SELECT (SELECT count(*) FROM {schema}.segments), (SELECT number FROM {schema}.schema_version)"
        ).fetchall()
        assert (kept, number) == (2, 7)
        mine = raw.execute(f"SELECT workspace FROM {schema}.segments LIMIT 1").fetchone()
        assert mine is not None
        raw.execute(f"DELETE FROM {schema}.postings WHERE chunk = 1 AND workspace = %s", mine)
        raw.execute(f"UPDATE {schema}.chunks SET state = 2 WHERE id = 1 AND workspace = %s", mine)
    with Ricordo.open(one, config=PLAIN) as engine:
        gone = [ref for ref, _ in before[0][0] if ref not in [ref for ref, _ in found(engine)[0]]]
        assert gone == ["note:/0"]
    with Ricordo.open(other, config=PLAIN) as engine:
        assert getattr(engine._context.unsynced_store, "schema_version", 0) == SCHEMA_VERSION
        assert found(engine) == before[1]
        assert [check.detail for check in engine.doctor().checks if not check.ok] == []
        engine.save("note:/new", "A new key is signed.")
        assert "note:/new" in [hit.ref for hit in engine.search("new key", track=False).hits]
    with psycopg.connect(postgres_server.address(), autocommit=True) as raw:
        each = raw.execute(
            f"SELECT (SELECT sum(docs) FROM {schema}.segments s WHERE s.workspace = w.id AND s.state = 1)"
            f" - (SELECT count(*) FROM {schema}.chunks c WHERE c.workspace = w.id AND c.state < 2)"
            f" FROM {schema}.workspaces w ORDER BY (w.id = %s) DESC",
            mine,
        ).fetchall()
        assert each == [(1,), (0,)]  # nothing was packed twice; what was removed since is left for the next merge
        raw.execute(f"DROP SCHEMA {schema} CASCADE")
