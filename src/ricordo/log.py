"""Logs what went wrong without stopping the work, with its trace.

Commands and servers write it to ``ricordo.log`` in the folder for logs, and with ``--verbose`` to standard error, too.
A program that uses Ricordo as a library gets the same records from Python's ``logging``, under the name ``ricordo``.
Nothing is opened, and ``logging`` is not imported, before there is something to write.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import logging
    from collections.abc import Iterator
    from pathlib import Path
    from typing import TextIO

FILE_NAME = "ricordo.log"
LARGEST_BYTES = 1_000_000
"""A longer log is renamed to ``ricordo.log.1``; the one that had this name is deleted."""

_to_file = False
_to_screen = False
_without_texts = False
_handlers: list[logging.Handler] = []
_targets: tuple[Path | None, TextIO | None] = (None, None)


def keep_log(*, verbose: bool = False) -> None:
    """Called by a face when it starts: write the log to its file, and with ``verbose`` to standard error as well."""
    global _to_file, _to_screen
    _to_file = True
    _to_screen = verbose


def leave_out_texts() -> None:
    """From now on, no message of an error is written to a file, only where it came from: the store is encrypted, and
    messages quote what is in it.
    """
    global _without_texts
    _without_texts = True


def is_own_program() -> bool:
    """Whether this process is a program of ours, which writes a log; not one that uses Ricordo as a library."""
    return _to_file


def leaves_out_texts() -> bool:
    """Whether this process has opened an encrypted store."""
    return _without_texts


def report(message: str, error: BaseException | None = None, *, trace: str = "") -> None:
    """Write one line, with the trace of ``error``, or with a ``trace`` that another process sent as text."""
    logger = _logger()
    text = f"{message}\n{trace.rstrip()}" if trace else message
    logger.warning("%s", text, exc_info=error, stacklevel=2)


def _logger() -> logging.Logger:
    import logging

    from ricordo.config.files import state_home

    global _targets
    logger = logging.getLogger("ricordo")
    targets = (state_home(os.environ) / FILE_NAME if _to_file else None, sys.stderr if _to_screen else None)
    if targets != _targets:
        while _handlers:
            logger.removeHandler(_handlers[-1])
            _handlers.pop().close()
        _handlers.extend(_make_handlers(*targets))
        for handler in _handlers:
            logger.addHandler(handler)
        _targets = targets
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())  # a library prints nothing unless it is asked to
    return logger


def _make_handlers(path: Path | None, screen: TextIO | None) -> Iterator[logging.Handler]:
    import logging

    if path is not None and (handler := _file_handler(path)) is not None:
        yield handler
    if screen is not None:
        handler = logging.StreamHandler(screen)
        handler.setFormatter(_formatter("%(message)s"))
        yield handler


def _file_handler(path: Path) -> logging.Handler | None:
    """A handler that writes to the file, which only its owner can read; None if that is impossible, which stops
    nothing.
    """
    from logging.handlers import RotatingFileHandler

    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
        handler = RotatingFileHandler(path, maxBytes=LARGEST_BYTES, backupCount=1, encoding="utf-8", errors="replace")
    except OSError:
        return None
    handler.setFormatter(_formatter("%(asctime)s %(process)d %(levelname)s %(message)s", to_file=True))
    return handler


def _formatter(form: str, *, to_file: bool = False) -> logging.Formatter:
    """One that masks passwords in addresses; the errors of libraries repeat those that they were given.

    In a file, texts are left out if that was asked for.
    """
    import logging

    from ricordo.masking import masked_in

    class Masking(logging.Formatter):
        def format(self, record: logging.LogRecord) -> str:
            if to_file and _without_texts:
                return " ".join((self.formatTime(record), str(record.process), record.levelname, _places_in(record)))
            return masked_in(super().format(record))

    return Masking(form)


def _places_in(record: logging.LogRecord) -> str:
    """Where a record came from, and where its errors were raised, without any text."""
    import traceback

    lines = [f"{record.filename}:{record.lineno} (texts are left out: the store is encrypted)"]
    error = record.exc_info[1] if record.exc_info else None
    while error is not None:
        lines.append(f"{type(error).__name__}:")
        lines += [
            f"  {frame.filename}:{frame.lineno} {frame.name}" for frame in traceback.extract_tb(error.__traceback__)
        ]
        error = error.__cause__ or error.__context__
    return "\n".join(lines)
