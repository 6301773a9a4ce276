"""Readable names for what is remembered: ``memory:/rotate-the-signing-keys`` from a title or the first words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from itertools import count

LONGEST = 60
_READ = 1_000
"""Characters of the first line that are looked at: a text of megabytes may be one line."""
_MARKUP = re.compile(r"^[\s#>*+\-]+")
_WORD = re.compile(r"[^\W_]+")
_PLAIN = str.maketrans({"æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ð": "d", "þ": "th", "ł": "l", "ı": "i", "’": "'"})


def slug(text: str, longest: int = LONGEST) -> str:
    """The first words of a text as a name: small letters and digits, joined by dashes; empty when it has none.

    Accents are folded away. A text in another script keeps its own letters.

    >>> slug("# Où est l'Œuvre?"), slug("Größe: 5 m²"), slug("東京のオフィス")
    ('ou-est-loeuvre', 'grosse-5-m2', '東京のオフィス')
    """
    lines = (_MARKUP.sub("", part).strip()[:_READ] for part in text.splitlines())
    line = next(filter(None, lines), "")
    decomposed = unicodedata.normalize("NFKD", line.casefold().translate(_PLAIN)).casefold()
    own = "".join(c for c in decomposed if not unicodedata.combining(c)).replace("'", "")
    plain = own.encode("ascii", "ignore").decode()
    letters = sum(c.isalnum() for c in own)
    if 2 * sum(c.isalnum() for c in plain) < letters:
        plain = unicodedata.normalize("NFC", line.casefold())
    return _joined(_WORD.findall(plain), longest)


def _joined(words: list[str], longest: int) -> str:
    """As many words as fit, joined by dashes; the first is cut if it is too long."""
    name = words[0][:longest] if words else ""
    for word in words[1:]:
        if len(name) + 1 + len(word) > longest:
            break
        name = f"{name}-{word}"
    return name


def free_name(name: str, taken: Collection[str]) -> str:
    """The name itself, or with the lowest number that makes it new: ``name-2``, ``name-3``, …

    >>> free_name("a", {"a", "a-2", "a-4"})
    'a-3'
    """
    if name not in taken:
        return name
    return next(numbered for number in count(2) if (numbered := f"{name}-{number}") not in taken)
