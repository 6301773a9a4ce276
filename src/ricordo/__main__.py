"""``python -m ricordo`` is the ``ricordo`` command."""

from ricordo.cli import main

if __name__ == "__main__":  # a worker of the server imports this module, too
    main()
