"""Servers for the tests of the page, on stores of their own."""

from __future__ import annotations

from tests.server.conftest import new_site, site

__all__ = ["new_site", "site"]
