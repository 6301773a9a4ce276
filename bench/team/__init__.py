"""Parts of ``bench/postgres.py``."""
