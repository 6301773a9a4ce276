"""``Ricordo``: the verbs of the core and of the installed plugins in one class.

It has a module of its own, so that a plugin may import the classes of this folder before the plugins are loaded.
"""

from __future__ import annotations

from ricordo.engine.core import CoreVerbs
from ricordo.plugin import brought


class Ricordo(*brought("verbs"), CoreVerbs):  # type: ignore[misc]  # ricordo.pyi names the plugins
    """A store, open. Use it as a context manager, or call ``close``.

    >>> with Ricordo.open("/tmp/doc-example.db") as memory:                    # doctest: +SKIP
    ...     memory.save("note:/keys", "Rotate the signing keys every quarter.")
    ...     memory.search("when are keys rotated").hits[0].ref
    'note:/keys'
    """
