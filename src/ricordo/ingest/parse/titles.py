"""Whether a title in a document's properties was chosen by a person or left there by a program."""

from __future__ import annotations

import re

_BY_PROGRAM = re.compile(
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
