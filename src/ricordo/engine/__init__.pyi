# Written by tools/make_verbs.py, for type checkers.
from ricordo.engine.core import CoreVerbs as CoreVerbs
from ricordo.plugins.sync.verbs import SyncVerbs

class Ricordo(
    SyncVerbs,
    CoreVerbs,
): ...
