"""What can be asked of Ricordo, as data: every verb with its parameters, from which each face is made.

A verb is a method of the engine marked with ``@verb`` (``declare``). Its signature is the one declaration of its
parameters; ``read`` turns it into plain rows, which ``make docs`` writes to ``index.json``. Faces read that file
(``index``) and import nothing of the engine until a verb is called.
"""
