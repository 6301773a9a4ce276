"""What a turn of a session adds to a question, judged by the words that the question does not have.

How a turn is worded decides nothing: a question may tell something ("didn't we move the backups to Frankfurt?"), and
what only asks needs no question mark.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Set as AbstractSet

from ricordo.patterns import late
from ricordo.text.words import fold

ALIKE = 0.7
"""A person's turn repeats a question if at least this share of its words, without stop words, occurs in it."""
FEW = 12
"""A person's turn with fewer new words than this tells something only if one of them is definite."""
_DEFINITE = late(
    r"\S*\d\S*"  # a number, a version, a date
    r"|\w+(?:[/_.:@#\\]\w+)+"  # a path, an address, a name in code
    r"|`[^`]+`"
    r"|(?<=[\w,;]\s)[^\W\d_a-zà-öø-ÿ]\w+"  # a name: a capital inside a sentence
)


def about(text: str, asked: AbstractSet[str], words: Callable[[str], AbstractSet[str]]) -> str:
    """Of a session's list of requests, one to a line, those that have a word of the question; all if none has one.

    What else was asked in the session says nothing about whether the question was answered.

    >>> about("- ship it\\n- fix the mast", {"mast"}, lambda line: set(line.split()))
    '- fix the mast'
    """
    return "\n".join(line for line in text.splitlines() if words(line) & asked) or text


def repeats(said: AbstractSet[str], asked: AbstractSet[str], *, is_persons: bool) -> bool:
    """Whether a turn says nothing but what the question says itself; both are given as words without stop words.

    An answer may use the words of its question, so it repeats the question only if it has no other word.

    >>> repeats({"rotate", "keys"}, {"keys", "rotate", "often"}, is_persons=False)
    True
    >>> repeats({"keys", "rotate", "quarter"}, {"keys", "rotate"}, is_persons=False)
    False
    """
    new = len(said - asked)
    return bool(said) and (not new or (is_persons and new <= (1 - ALIKE) * len(said)))


def only_asks(text: str, said: AbstractSet[str], asked: AbstractSet[str]) -> bool:
    """Whether a person's turn probably tells nothing: it has few new words, and none of them is definite.

    >>> only_asks("Which day do we ship?", {"day", "ship"}, {"deploy"})
    True
    >>> only_asks("Didn't we move to port 8443?", {"move", "port", "8443"}, {"port"})
    False
    """
    if repeats(said, asked, is_persons=True):
        return True
    known = {fold(word) for word in asked}
    definite = (fold(found) for found in _DEFINITE.findall(text))
    return len(said - asked) < FEW and all(word in known for word in definite)
