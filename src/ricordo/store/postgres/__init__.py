"""A store in PostgreSQL with pgvector, for teams: the same behaviour as the SQLite file, on a server."""
