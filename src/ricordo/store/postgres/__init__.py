"""A store in PostgreSQL, for teams: the same behaviour as the SQLite file, on a server."""
