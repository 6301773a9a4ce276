"""The words by which messages and sessions are described, from ``facets.toml``, read when they are first needed.

Phrases show that a message corrects, is frustrated or praises, in several languages. They look at the beginning of a
message and at fixed phrases, and say nothing where they are not sure. Messages in other languages are not judged;
``is_read`` says so, so that silence is not taken for satisfaction.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ricordo.text.languages import language_of
from ricordo.text.stopwords import STOP_WORDS

FEWEST_WORDS = 4
"""Shorter messages in Latin letters are looked at whatever their language is."""
STOP_SHARE = 0.15
"""A text is in a language if at least this share of its words are stop words of that language, or ask in English."""

_BY_SCRIPT = ("zh", "ja")
"""Languages with phrases here that are known by their scripts."""


@cache
def _rules() -> Mapping[str, Any]:
    import tomllib

    return tomllib.loads(Path(__file__).with_name("facets.toml").read_text("utf-8"))


@cache
def phrases(kind: str) -> re.Pattern[str]:
    """What shows a correction, frustration or praise, in all languages: messages mix them."""
    rules = _rules()
    in_each_language = [language[kind].replace("START", rules["start"]) for language in rules["phrases"].values()]
    return re.compile("|".join(f"(?:{one})" for one in in_each_language), re.VERBOSE | re.IGNORECASE)


@cache
def word_list(name: str) -> frozenset[str]:
    """A list of words: ``beside_praise`` ask for nothing beside it, ``common`` ones say nothing about a session, and
    ``asking`` are English words of short requests, which have few stop words.
    """
    return frozenset(_rules()["words"][name].split())


@cache
def topic_words() -> Mapping[str, frozenset[str]]:
    """The words that belong to each topic."""
    return {name: frozenset(listed.split()) for name, listed in _rules()["topics"].items()}


@cache
def _words_of_languages() -> list[frozenset[str]]:
    """For each language that is read, the words by which it is known."""
    known = {language: STOP_WORDS[language] for language in _rules()["phrases"] if language in STOP_WORDS}
    known["english"] = known["english"].union(word_list("asking"), *topic_words().values())
    return list(known.values())


def is_read(text: str) -> bool:
    """Whether the rules read the language of a text.

    >>> is_read("No, that is wrong."), is_read("Das ist falsch, ich meinte den anderen Knopf."), is_read("Нет, не так")
    (True, True, False)
    >>> is_read("不对，我要的是另一个"), is_read("違います、もう一つのボタンです")
    (True, True)
    >>> is_read("Rename parser module, run linter")
    True
    """
    letters = [letter for letter in text if letter.isalpha()]
    latin = sum(letter < "\u0250" for letter in letters)
    if letters and latin < 0.7 * len(letters):
        return language_of(text) in _BY_SCRIPT
    words = re.findall(r"[^\W\d_]+", text.lower())
    if len(words) < FEWEST_WORDS:
        return True
    most = max(sum(word in some for word in words) for some in _words_of_languages())
    return most >= STOP_SHARE * len(words)
