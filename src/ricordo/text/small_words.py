"""Small words by which languages with Latin letters are told apart: each with the languages that have it."""

from __future__ import annotations

from ricordo.text.stopwords import STOP_WORDS

_CODES = {
    "catalan": "ca", "czech": "cs", "danish": "da", "dutch": "nl", "english": "en", "finnish": "fi", "french": "fr",
    "german": "de", "hungarian": "hu", "indonesian": "id", "italian": "it", "norwegian": "no", "polish": "pl",
    "portuguese": "pt", "romanian": "ro", "spanish": "es", "swedish": "sv", "turkish": "tr", "vietnamese": "vi",
}  # fmt: skip
_ENGLISH = """also one many much did may new use used using first see get make two like name whose"""
"""More that English is known by; questions look for them."""


def _by_word() -> dict[str, tuple[str, ...]]:
    lists = {_CODES[language]: set(words) for language, words in STOP_WORDS.items() if language in _CODES}
    lists["en"] |= set(_ENGLISH.split())
    found: dict[str, list[str]] = {}
    for code, words in lists.items():
        for word in words:
            found.setdefault(word, []).append(code)
    return {word: tuple(codes) for word, codes in found.items()}


SMALL_WORDS = {word: codes for word, codes in _by_word().items() if word not in ("ai", "era")}
"""Without two that English texts are full of for other reasons."""
