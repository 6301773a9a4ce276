"""``python -m ricordo`` is the ``ricordo`` command."""

from ricordo.cli import main

main()
