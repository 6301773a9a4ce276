"""Lets failed assertions in the contract of a store show both sides, as they do in test files."""

from __future__ import annotations

import pytest

PARTS = ("items", "records", "search", "languages")
pytest.register_assert_rewrite(*(f"tests.store.contract_{part}" for part in PARTS))
