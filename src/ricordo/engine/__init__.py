"""``Ricordo``, the one object that the command line, the MCP server and programs call.

Its public methods are in ``facade_reading``, ``facade_writing`` and ``facade_upkeep``. Each calls a verb class, which
has the open context (``context``) and does the work. The engine holds no SQL, no scoring and no parsing. What a verb
needs is imported when it is called, because every hook and every command pays for its imports.
"""

from __future__ import annotations

from ricordo.engine.facade_reading import ReadingVerbs
from ricordo.engine.facade_upkeep import UpkeepVerbs
from ricordo.engine.facade_writing import WritingVerbs


class Ricordo(ReadingVerbs, WritingVerbs, UpkeepVerbs):
    """A store, open. Use it as a context manager, or call ``close``.

    >>> with Ricordo.open("/tmp/doc-example.db") as memory:                    # doctest: +SKIP
    ...     memory.save("note:/keys", "Rotate the signing keys every quarter.")
    ...     memory.search("when are keys rotated").hits[0].ref
    'note:/keys'
    """
