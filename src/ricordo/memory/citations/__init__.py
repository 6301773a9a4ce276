"""What a memory cites, and whether that is still as it was when the memory was saved.

It cites files of the project, symbols that they define, other items, and pages that are stored. Each citation is kept
in the memory's metadata, with a hash of what was cited: ``project``, ``path`` and ``hash``, with ``symbol`` for a
definition in the file (``file`` is then the hash of the whole); or ``item``, ``id``, ``version`` and ``hash``.
Citations of another project than the one in which the search runs are not looked at. Nothing is run or fetched.
"""
