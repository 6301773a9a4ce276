# Written by tools/make_verbs.py, for type checkers.
from ricordo.engine.core import CoreVerbs as CoreVerbs

class Ricordo(
    CoreVerbs,
): ...
