"""Takes a message apart into the sentences that its author wrote, without what was pasted, quoted or asked."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ricordo.frozen import frozen

MOST_CHARACTERS = 4_000
"""Only so much of a message is looked at; the rest is mostly pasted."""
LONGEST = 45
"""How many words a sentence has at most that can stand for itself."""

_FENCE = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|<([a-z_-]{2,30})>.*?</\1>", re.DOTALL)
_CODE_LINE = re.compile(
    r"^(?:\t|\ {4,}\S)|^\s*(?:>|//|/\*|\*/|#include|\$\ |%\ |\|)|[;{}]\s*$|^\s*(?:Traceback|File \"|at \w+[.(])"
    r"|^\s*[\w.]+\([^)]*\)\s*$|^\s*(?:def|class|import|from\ \S+\ import|const|let|var|return|function)\b.*[:;({=]"
    r"|\s=\s.*[\[({\"']"
)
_BULLET = re.compile(r"^\s*(?:[-*+•]|\d{1,2}[.)])\s+|^\s*#{1,6}\s+|[*_]{2,}")
_ENDS = re.compile(r"(?<=[.!?…])[\"”’)]?\s+(?=[\"“‘(]?[A-ZÄÖÜÀÂÇÉÈÊÎÔÛÁÍÓÚÑ¿¡a-z`'])|\n+|(?<=[a-z0-9)])\s*;\s+")
_ABBREVIATIONS = re.compile(r"\b(?:e\.g|i\.e|etc|vs|cf|approx|ca|z\.B|d\.h|p\.ex|resp)\.$", re.IGNORECASE)
_QUOTED = re.compile(
    r"\"[^\"\n]{2,}\"|“[^”\n]{2,}”|«[^»\n]{2,}»|„[^“”\n]{2,}[“”]|(?<![\w])'[^'\n]{2,}'(?![\w])|`[^`\n]+`"
)
HIDDEN = "·"
"""Stands for each character of a quotation, in which nothing is looked for."""


@frozen
class Sentence:
    """A sentence as it was written, and the same with its quotations hidden."""

    text: str
    bare: str

    @property
    def asks(self) -> bool:
        return self.text.rstrip(" \"”')").endswith("?")


def sentences(message: str) -> Iterator[Sentence]:
    """The sentences of a message that are neither code nor quoted lines.

    >>> [one.text for one in sentences("Use tabs. ```x = 1```\\n> never do that\\nIs it late?")]
    ['Use tabs.', 'Is it late?']
    """
    if message.startswith(("/", "! ", "[Request interrupted", "[image")):
        return
    text = _FENCE.sub("\n", message[:MOST_CHARACTERS])
    lines = [_BULLET.sub("", line) for line in text.splitlines() if not _CODE_LINE.search(line)]
    for text in _whole("\n".join(lines)):
        if text and len(text.split()) <= LONGEST * 2:
            yield Sentence(text, _QUOTED.sub(lambda found: HIDDEN * len(found.group()), text))


def _whole(text: str) -> Iterator[str]:
    """The parts of a text between the ends of sentences; an abbreviation is no end."""
    begun = ""
    for part in _ENDS.split(text):
        joined = f"{begun} {part.strip()}".strip()
        if _ABBREVIATIONS.search(joined):
            begun = joined
            continue
        begun = ""
        yield " ".join(joined.split())
    if begun:
        yield begun
