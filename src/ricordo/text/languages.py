"""Which language a text is in, by its script and by its small words; no model and no download are needed for that.

A script decides at once where one language has it almost to itself (Greek, Thai, kana). Languages with Latin letters
are told apart by their small words, and in short texts by letters that few of them have. Of code, names, lists of
numbers and most single words it cannot be told. ``tests/unit/test_languages.py`` measures it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache

from ricordo.frozen import frozen
from ricordo.patterns import late
from ricordo.text.stopwords import SMALL_WORDS

ENGLISH = "en"
UNKNOWN = ""
"""Stands for the language of what is in none, or in one that cannot be told: code, names, numbers."""

_LOOKED_AT = 1_000
"""The most characters of a text that are looked at."""
_OTHER_SCRIPT = 0.3
"""From this share of its letters on, another script decides."""
_LEAST_SHARE = 0.12
"""The share of small words that a text has at least that is written in a language; English has about 0.4."""
_LEAST_WORDS = 2
"""How many different small words must be there, so that a name or a keyword does not decide."""
_LEAST_WITHIN_ENGLISH = 3
"""How many there must be in a passage of an English text: "in" and "non" stand in many a title."""
_LEAST_LETTERS = 2
"""So many letters that a language has besides a to z stand for one small word, where no English one is."""
_FOREIGN_LETTERS = 0.05
"""In this share of its words a long text may have letters of other languages: it names people and places."""
_SHORT = 300
"""A passage with fewer characters may tell too little."""
_LETTERS = late(r"[^\W\d_]+")
_ASCII = late(r"[\0-\x7f]+")
_OTHER_LETTERS = late("[\u0370-\u1fff\u3040-\ud7ff\uf900-\uffff\U00020000-\U0003ffff]")
"""Every letter of ``_SCRIPTS``, and others; quicker to look for than each script."""
_ADDRESS = late(r"(?<!\S)\S*://\S*")
_SIGNS_OF_CODE = b"{}();=<>[]$`\\|&#"
_SIGNS_BETWEEN = "\t\n\r'\"’‘“”„«»(),;:!?¿¡*_…–—·"
"""What stands around words. Other signs join what is between them: an address, a path or the name of a program is no
text, whatever its parts mean (k8s-io, github.com, Michelle-Au).
"""
_BETWEEN_WORDS = bytes(ord(" ") if code < 128 and chr(code) in _SIGNS_BETWEEN else code for code in range(256))
_WIDE_SIGNS_BETWEEN = tuple(sign for sign in _SIGNS_BETWEEN if not sign.isascii())
_CODE_SHARE = 0.06
"""From this share of such signs on, a text in Latin letters is code."""


@frozen
class Language:
    """A language that is recognised: its name, and the Snowball algorithm for its words ("" where there is none)."""

    code: str
    name: str
    stemmer: str = ""


_KNOWN = (
    ("ar", "Arabic", "arabic"), ("bg", "Bulgarian", ""), ("bn", "Bengali", ""), ("ca", "Catalan", "catalan"),
    ("cs", "Czech", "czech"), ("da", "Danish", "danish"), ("de", "German", "german"), ("el", "Greek", "greek"),
    ("en", "English", "english"), ("es", "Spanish", "spanish"), ("fa", "Persian", "persian"),
    ("fi", "Finnish", "finnish"), ("fr", "French", "french"), ("he", "Hebrew", ""), ("hi", "Hindi", "hindi"),
    ("hu", "Hungarian", "hungarian"), ("hy", "Armenian", "armenian"), ("id", "Indonesian", "indonesian"),
    ("it", "Italian", "italian"), ("ja", "Japanese", ""), ("ka", "Georgian", ""), ("ko", "Korean", ""),
    ("lo", "Lao", ""), ("my", "Burmese", ""), ("km", "Khmer", ""), ("nl", "Dutch", "dutch"),
    ("no", "Norwegian", "norwegian"), ("pl", "Polish", "polish"), ("pt", "Portuguese", "portuguese"),
    ("ro", "Romanian", "romanian"), ("ru", "Russian", "russian"), ("sv", "Swedish", "swedish"),
    ("ta", "Tamil", "tamil"), ("th", "Thai", ""), ("tr", "Turkish", "turkish"), ("uk", "Ukrainian", ""),
    ("vi", "Vietnamese", ""), ("zh", "Chinese", ""),
)  # fmt: skip
LANGUAGES = {code: Language(code, name, stemmer) for code, name, stemmer in _KNOWN}

_SCRIPTS = (
    ("ja", "\u3040-\u30ff\uff66-\uff9d"),
    ("zh", "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"),
    ("ko", "\uac00-\ud7a3\u1100-\u11ff"),
    ("ru", "\u0400-\u052f"),
    ("ar", "\u0600-\u06ff\u0750-\u077f\ufb50-\ufdff\ufe70-\ufeff"),
    ("he", "\u0590-\u05ff"),
    ("el", "\u0370-\u03ff\u1f00-\u1fff"),
    ("hi", "\u0900-\u097f"),
    ("bn", "\u0980-\u09ff"),
    ("ta", "\u0b80-\u0bff"),
    ("th", "\u0e00-\u0e7f"),
    ("lo", "\u0e80-\u0eff"),
    ("my", "\u1000-\u109f"),
    ("ka", "\u10a0-\u10ff"),
    ("hy", "\u0530-\u058f"),
    ("km", "\u1780-\u17ff"),
)
"""The language that a script most likely means, and its letters."""
_DENSE = frozenset({"ja", "zh", "ko", "th", "lo", "my", "km"})
"""Scripts in which a letter says as much as several Latin ones."""
_LETTERS_OF = {
    "ca": "àçèéíïòóúü", "cs": "áčďéěíňóřšťúůýž", "da": "æøåé", "de": "äöüß", "en": "", "es": "áéíñóúü", "fi": "äöå",
    "fr": "àâæçèéêëîïôœùûüÿ", "hu": "áéíóöőúüű", "id": "", "it": "àèéìíîòóùú", "nl": "éëïöüèá", "no": "æøåéòô",
    "pl": "ąćęłńóśźż", "pt": "àáâãçéêíóôõúü", "ro": "ăâîșşțţ", "sv": "åäöé", "tr": "çğıöşüâîû",
    "vi": "àáâãèéêìíòóôõùúýăđĩũơưạảấầẩẫậắằẳẵặẹẻẽếềểễệỉịọỏốồổỗộớờởỡợụủứừửữựỳỵỷỹ",
}  # fmt: skip
"""The letters that each language has besides a to z: one with others cannot be it."""


_LIKELY = "nl pl tr it pt es fr de"
"""Of languages that a text may be in just as well, the later one is taken: more of what people write is in it."""


@cache
def _scripts() -> re.Pattern[str]:
    return re.compile("|".join(f"(?P<{code}>[{letters}]+)" for code, letters in _SCRIPTS))


def language_of(text: str, *, short: bool = False, least: int = _LEAST_WORDS) -> str:
    """The code of a text's language; ``UNKNOWN`` where it cannot be told.

    ``short`` is for questions: one small word or letter is enough, because there is not more to go by. Of other texts,
    ``least`` says how many different small words are.

    >>> language_of("Wie lange dauert die Prüfung, und wer macht sie?"), language_of("for i in range(10): print(i)")
    ('de', '')
    >>> language_of("会議の議事録", short=True), language_of("Produktivität", short=True)
    ('ja', 'de')
    """
    start = text[:_LOOKED_AT]
    if "://" in start:
        start = _ADDRESS.sub(" ", start)  # com, en and de stand in many
    if not start.isascii() and (code := _by_script(start)):
        return code
    return _by_small_words(start, short=short, least=least)


def _by_script(text: str) -> str:
    """The language of the script that a good part of the letters belongs to."""
    if text.isascii() or not _OTHER_LETTERS.search(text):
        return ""
    counts: Counter[str] = Counter()
    for match in _scripts().finditer(text):
        code = str(match.lastgroup)
        counts[code] += (match.end() - match.start()) * (3 if code in _DENSE else 1)
    if not counts:
        return ""
    letters = sum(len(run) for run in _LETTERS.findall(_scripts().sub(" ", text))) + counts.total()
    if counts["ja"] and counts["ja"] * 20 >= counts["ja"] + counts["zh"]:
        counts["ja"] += counts.pop("zh", 0)  # Japanese uses both
    code, most = counts.most_common(1)[0]
    if most < _OTHER_SCRIPT * letters:
        return ""
    if code == "ru":
        return _cyrillic(text.lower())
    return "fa" if code == "ar" and sum(map(text.count, "پچژگ")) * 40 > most else code


def _cyrillic(text: str) -> str:
    """Ukrainian and Bulgarian by letters that Russian does not have, or lacks."""
    if any(letter in text for letter in "іїєґ"):
        return "uk"
    return "bg" if text.count("ъ") * 60 > len(text) and "ы" not in text and "э" not in text else "ru"


def _by_small_words(text: str, *, short: bool, least: int) -> str:
    """The language with the most small words, if these are enough and more than the English ones."""
    if not short and _signs_of_code(text) > _CODE_SHARE * len(text):
        return UNKNOWN
    written = _words(text)
    words = list(map(str.lower, written)) if text.isascii() else _words(text.lower())
    total = len(words)
    beyond = "" if text.isascii() else _ASCII.sub("", text.lower())
    special = Counter([letter for letter in beyond if letter.isalpha()])
    there = words if least == _LEAST_WORDS else written  # Niels de Vos, Michelle Au: most are written small
    votes = _english_votes()
    cast = list(map(votes.__getitem__, filter(votes.__contains__, words)))
    if not special and sum(cast) >= 0:  # as in most texts, no other language can have more of these words
        english = len(cast) - cast.count(-1)
        different = sum(votes[word] >= 0 for word in set(filter(votes.__contains__, there)))
        enough = different > 0 if short else different >= least and english >= _LEAST_SHARE * total
        return ENGLISH if enough else UNKNOWN
    languages_of = _telling_words()
    small = Counter([word for word in words if word in languages_of])
    hits: Counter[str] = Counter()
    for word, count in small.items():
        for code in languages_of[word]:
            hits[code] = hits.get(code, 0) + count
    english = hits[ENGLISH]
    for code, letters in _LETTERS_OF.items() if special else ():
        own = sum(special[letter] for letter in letters)
        if special.total() - own > (0 if short else _FOREIGN_LETTERS * total):
            hits.pop(code, None)  # it does not have these letters
        elif own and (short or hits[code]):
            hits[code] += 1 if short else own // 3
    best = max(hits, key=lambda code: (hits[code], code == ENGLISH, _LIKELY.find(code)), default=UNKNOWN)
    if not best or hits[best] <= (english if best != ENGLISH else 0):
        return UNKNOWN
    different = len({word for word in there if best in languages_of.get(word, ())})
    if not english and sum(special[letter] for letter in _LETTERS_OF[best]) >= _LEAST_LETTERS:
        different += 1  # short texts have few small words
    enough = short or (different >= least and hits[best] >= _LEAST_SHARE * total)
    return best if enough else UNKNOWN


def is_sentence(text: str, code: str) -> bool:
    """Whether a question is a sentence of a language, not keywords of which some are its small words, too.

    >>> is_sentence("Was ist die Position von Berlin", "de"), is_sentence("sur la table restaurant", "fr")
    (True, False)
    """
    words = set(_words(text.lower()))
    small = sum(1 for word in words if code in SMALL_WORDS.get(word, ()))
    return "?" in text or not text.isascii() or 2 * small > len(words)


def _words(text: str) -> list[str]:
    """What stands between the spaces of a text: its words, and addresses, names of programs, numbers."""
    apart = text.encode("utf-8", "surrogatepass").translate(_BETWEEN_WORDS).decode("utf-8", "surrogatepass")
    for sign in () if text.isascii() else _WIDE_SIGNS_BETWEEN:
        apart = apart.replace(sign, " ")
    return f"{apart} ".replace(". ", " ").split()


def _signs_of_code(text: str) -> int:
    data = text.encode("utf-8", "replace")
    return len(data) - len(data.translate(None, _SIGNS_OF_CODE))


@cache
def _telling_words() -> dict[str, tuple[str, ...]]:
    """The small words without single letters from a to z: these stand for many other things."""
    return {word: codes for word, codes in SMALL_WORDS.items() if len(word) > 1 or not word.isascii()}


@cache
def _english_votes() -> dict[str, int]:
    """For each telling word: 1 if it is English alone, -1 if it is not English, and 0 if it is of others, too."""
    telling = _telling_words().items()
    return {word: int(len(codes) == 1) if ENGLISH in codes else -1 for word, codes in telling}


def passage_languages(whole: str, passages: Sequence[str]) -> list[str]:
    """The language of each passage of a text; a short one that does not tell has that of the whole."""
    if len(passages) == 1:
        return [language_of(passages[0])]
    common = language_of(whole)
    least = _LEAST_WITHIN_ENGLISH if common == ENGLISH else _LEAST_WORDS
    return [language_of(one, least=least) or (common if len(one) < _SHORT else UNKNOWN) for one in passages]
