"""What it means when reading a file fails: the file is damaged, a package is missing, or Ricordo has a mistake.

Parsing libraries raise any kind of exception for damaged files, so everything is caught here, in one place. What is
caught is logged with its trace. A mistake in Ricordo is reported as such, so that nobody looks for a fault in the file.
"""

from __future__ import annotations

import traceback
from pathlib import Path

from ricordo.errors import Error, Unreadable
from ricordo.frozen import frozen
from ricordo.ingest.parse.source import Parser, Source
from ricordo.log import report
from ricordo.values.items import Parsed

_PACKAGE = str(Path(__file__).parents[2])
_LONGEST_TRACE = 8_000
_MISTAKES = (TypeError, AttributeError, NameError, AssertionError)
"""Exceptions that usually mean wrong code. Libraries raise them for damaged files, too, so it also counts where they
were raised.
"""


@frozen
class ParseFailure:
    """Why a parser failed: one line for the user, and the trace for the log. ``cause`` is file, package or mistake."""

    reason: str
    cause: str
    trace: str


def attempt(parser: Parser, source: Source) -> Parsed | ParseFailure:
    """Run the parser on a file. Ricordo's own errors and a lack of memory are raised unchanged."""
    try:
        return parser(source)
    except (Error, MemoryError):
        raise
    except Exception as problem:  # noqa: BLE001 - the boundary to parsing libraries, which raise anything
        said = str(problem).strip().partition("\n")[0][:200]
        reason = f"{type(problem).__name__}: {said}" if said else type(problem).__name__
        trace = "".join(traceback.format_exception(problem))[-_LONGEST_TRACE:]
        return ParseFailure(reason, _cause(problem), trace)


def unreadable(name: str, failure: ParseFailure) -> Unreadable:
    """The error for a file that could not be read; the trace goes to the log."""
    report(f"{name} could not be read", trace=failure.trace)
    if failure.cause == "mistake":
        return Unreadable(
            f"{name} could not be read because of a mistake in Ricordo ({failure.reason})",
            hint="The file may be fine. Please report this with the trace, which is in ricordo.log.",
        )
    if failure.cause == "package":
        return Unreadable(
            f"{name} could not be read because a package is missing or broken ({failure.reason})",
            hint="Install Ricordo again: pip install --force-reinstall 'ricordo[documents]'",
        )
    return Unreadable(
        f"{name} cannot be read ({failure.reason})",
        hint="The file is probably damaged; open it in its own program and save it again.",
    )


def _cause(problem: Exception) -> str:
    if isinstance(problem, ImportError):
        return "package"
    frames = traceback.extract_tb(problem.__traceback__)
    is_here = bool(frames) and frames[-1].filename.startswith(_PACKAGE)
    return "mistake" if is_here and isinstance(problem, _MISTAKES) else "file"
