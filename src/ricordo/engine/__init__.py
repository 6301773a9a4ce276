"""``Ricordo``, the one object that the command line, the MCP server and programs call.

Its verbs are methods of the classes in this folder and of plugins, declared with ``@verb``; a class inherits from those
whose verbs it calls. Each has the open context (``context``) and does the work. The engine holds no SQL, no scoring and
no parsing. What a verb needs is imported when it is called, because every hook and every command pays for its imports.
"""

from __future__ import annotations

from ricordo.engine.core import CoreVerbs
from ricordo.plugin import brought


class Ricordo(*brought("verbs"), CoreVerbs):  # type: ignore[misc]  # __init__.pyi names the plugins
    """A store, open. Use it as a context manager, or call ``close``.

    >>> with Ricordo.open("/tmp/doc-example.db") as memory:                    # doctest: +SKIP
    ...     memory.save("note:/keys", "Rotate the signing keys every quarter.")
    ...     memory.search("when are keys rotated").hits[0].ref
    'note:/keys'
    """
