"""What tests of plugins may ask for besides what every test may: a command line in a folder of its own."""

from tests.faces.conftest import house, imported

__all__ = ["house", "imported"]
