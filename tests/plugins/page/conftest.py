"""Servers for the tests of the page, on stores of their own, and one browser for all of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.server.conftest import new_site, site

from .browsers import browser

__all__ = ["new_site", "site"]


@pytest.fixture(scope="package")
def running() -> Iterator[Any]:
    """A browser; what it keeps is of each test's own context."""
    with browser() as started:
        yield started
