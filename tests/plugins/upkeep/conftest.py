"""What tests of memories may ask for."""

from tests.memory.conftest import Opens, later, opens

__all__ = ["Opens", "later", "opens"]
