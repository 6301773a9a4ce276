"""What every parser is given (bytes, name, detected type, limits), and what it means when reading a file fails.

Parsing libraries raise any kind of exception for damaged files, so everything is caught here, in one place. What is
caught is logged with its trace. A mistake in Ricordo is reported as such, so that nobody looks for a fault in the file.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable
from dataclasses import field
from importlib import import_module
from pathlib import Path

from ricordo.errors import Error, Unreadable
from ricordo.frozen import frozen
from ricordo.log import report
from ricordo.patterns import late
from ricordo.values.items import Parsed


@frozen
class Limits:
    """Bounds for reading one file; ``sandbox`` and ``read`` enforce them.

    ``seconds`` and ``memory_mb`` bound the worker that reads risky formats (memory only where the system can
    enforce it). Text beyond ``max_text_chars`` is cut, with a warning; the default lets any file of 50 MB
    through whole.
    """

    seconds: float = 30.0
    memory_mb: int = 1024
    max_text_chars: int = 50 * 1024 * 1024


@frozen
class FileType:
    """What a file is: the ``format`` picks the parser, ``structure`` and ``language`` are for the chunker."""

    format: str
    mime: str
    structure: str = "text"
    language: str = ""


@frozen
class Source:
    """One file to be read. ``charset`` is the encoding that a server or mail header declared, if any.

    With ``page``, the parser also returns what a page says about itself and links to (see ``html``).
    """

    data: bytes
    name: str
    type: FileType
    charset: str = ""
    limits: Limits = field(default_factory=Limits)
    page: bool = False


Parser = Callable[[Source], Parsed]
"""Reads a file; ``read`` adds the type, structure and language of the file to what it returns."""


def load_parser(place: str) -> Parser:
    """The function that ``module:name`` stands for, imported now."""
    module, _, name = place.partition(":")
    parser: Parser = getattr(import_module(module), name)
    return parser


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
        message = str(problem).strip().partition("\n")[0][:200]
        reason = f"{type(problem).__name__}: {message}" if message else type(problem).__name__
        trace = "".join(traceback.format_exception(problem))[-_LONGEST_TRACE:]
        return ParseFailure(reason, _cause(problem), trace)


def unreadable(name: str, failure: ParseFailure) -> Unreadable:
    """The error for a file that could not be read; the trace goes to the log."""
    report(f"{name} could not be read", trace=failure.trace)
    message, hint = {
        "mistake": (
            "could not be read because of a mistake in Ricordo",
            "The file may be fine. Please report this with the trace, which is in ricordo.log.",
        ),
        "package": (
            "could not be read because a package is missing or broken",
            "Install Ricordo again: pip install --force-reinstall 'ricordo[documents]'",
        ),
        "file": (
            "cannot be read",
            "The file is probably damaged; open it in its own program and save it again.",
        ),
    }[failure.cause]
    return Unreadable(f"{name} {message} ({failure.reason})", hint=hint)


def _cause(problem: Exception) -> str:
    if isinstance(problem, ImportError):
        return "package"
    frames = traceback.extract_tb(problem.__traceback__)
    is_here = bool(frames) and frames[-1].filename.startswith(_PACKAGE)
    return "mistake" if is_here and isinstance(problem, _MISTAKES) else "file"


_BY_PROGRAM = late(
    r"""(untitled|no\ title|title|unknown|none|null|normal|template|new\ document)[\s\d]*
    | (microsoft\ )?(word|excel|powerpoint)(\ (document|presentation|worksheet|workbook))?(\ -\ .*)?
    | (document|presentation|slide|book|sheet|page|doc|pptx?|workbook)\s*\d*
    | .*\.(docx?|pptx?|xlsx?|odt|odp|ods|rtf|indd|qxd|tex|dvi|ps|eps|pdf|html?|md|txt|pages|key)
    | [\W\d_]*""",
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)


def meaningful(title: str | None) -> str:
    """The title in one line, or an empty string when a program made it up.

    >>> meaningful("Annual  Report"), meaningful("Microsoft Word - draft3.doc")
    ('Annual Report', '')
    """
    text = " ".join((title or "").replace("\x00", "").split())[:300]
    return "" if _BY_PROGRAM.fullmatch(text) else text
