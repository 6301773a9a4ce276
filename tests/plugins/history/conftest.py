"""The repositories of the tests of work trees."""

from tests.git.conftest import main, opened

__all__ = ["main", "opened"]
