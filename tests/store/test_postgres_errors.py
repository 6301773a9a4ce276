"""What a person reads when a PostgreSQL server cannot hold a store."""

from __future__ import annotations

import pytest

from ricordo.errors import StoreError

psycopg = pytest.importorskip("psycopg", reason="the extra 'postgres' is not installed")


@pytest.mark.parametrize(
    ("name", "said", "words", "hint"),
    [
        ("FeatureNotSupported", 'extension "vector" is not available', "has no pgvector", "Install the extension"),
        ("UndefinedFile", 'could not open extension control file "vector.control"', "has no pgvector", "Install"),
        ("InsufficientPrivilege", 'permission denied to create extension "vector"', "may not add it", "CREATE EXT"),
    ],
)
def test_a_server_without_pgvector_is_told_as_such(name: str, said: str, words: str, hint: str) -> None:
    from ricordo.store.postgres.errors import translated

    with pytest.raises(StoreError, match=words) as raised, translated("postgresql://db/team"):
        raise getattr(psycopg.errors, name)(said)
    assert raised.value.hint.startswith(("Install", "Let an administrator"))
    assert hint in raised.value.hint
