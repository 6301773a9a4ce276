"""The contract of a store: one class of tests that every store must pass.

A subclass says how a store is opened. The same tests then run on SQLite, on PostgreSQL and on whatever comes next, so
that a store that passes can replace another one.
"""

from __future__ import annotations

from ricordo.testing.contract_languages import LanguageContract
from ricordo.testing.contract_records import RecordsContract


class StoreContract(LanguageContract, RecordsContract):
    """All tests that a store must pass."""
