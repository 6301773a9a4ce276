"""What a memory cites, and whether that is still as it was when the memory was saved.

It cites files of the project, lines of them, symbols that they define, commands that the project names, other items,
and pages that are stored. Each citation is kept in the memory's metadata, with a hash of what was cited: ``project``,
``path`` and ``hash``, with ``lines``, ``symbol`` or ``command`` for a part of the file (``file`` is then the hash of
the whole), and ``blob``, git's name of the content; or ``item``, ``id``, ``version`` and ``hash``. Citations of another
project than the one in which the search runs are not looked at. Nothing is run, and nothing is fetched.
"""

from __future__ import annotations

from ricordo.memory.citations.checking import SECONDS, CitationCheck, renewed, with_citations
from ricordo.memory.citations.finding import CITING_KINDS, NAME, citations_in, cited_again, this_project

__all__ = [
    "CITING_KINDS",
    "NAME",
    "SECONDS",
    "CitationCheck",
    "citations_in",
    "cited_again",
    "renewed",
    "this_project",
    "with_citations",
]
