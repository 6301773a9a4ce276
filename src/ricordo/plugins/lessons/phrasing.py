"""How a sentence is proposed: in the user's words, without what leads up to it and without a request that follows."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

from ricordo.patterns import late
from ricordo.plugins.lessons.messages import Sentence
from ricordo.text.languages import language_of

FEWEST_WORDS, FEWEST_SIGNS = 3, 6
"""A sentence with fewer words says nothing by itself; where words are not separated, its signs count."""
LONGEST = 60
"""A sentence with more words is no sentence."""
_CORRECTS = late(
    r"^(?:(?:no+|nope|nah|wrong|stop|wait|actually|not (?:quite|really)|that(?:'s|’s| is| was) (?:not (?:right"
    r"|correct|true|what i "
    r"(?:asked|meant|wanted|said)|how[\w ]{1,30})|wrong|incorrect|false)|incorrect|nein|nee|falsch|stimmt nicht|non"
    r"|faux|no es así"
    r"|incorrecto|não|errado)\s*[,.!:;—–-]+\s*)+",
    re.IGNORECASE,
)
_LEAD = late(
    r"^(?:(?:and|but|so|also|ok(?:ay)?|yes|yeah|yep|great|cool|nice|good|sure|fine|perfect|thanks?(?: you)?|alright"
    r"|hey|hi|well|hm+|btw"
    r"|by the way|oh|ah|right|please|pls|bitte|übrigens|ach ja|por favor|por cierto|au fait|s['’]il te pla[iî]t|et"
    r"|pero|und|aber)"
    r"[,.!:]*\s+)+",
    re.IGNORECASE,
)
_REMEMBER = late(
    r"^(?:please |bitte )?(?:remember|keep in mind|bear in mind|note|don['’]?t forget|do not forget|make a note"
    r"|for (?:future )?reference"
    r"|for the (?:record|future)|fyi)(?:[:,]?\s+(?:that|this:?)\s+|:\s+|,\s+|\s+(?=(?:we|our|the|i|my|you|all|not"
    r"|never|always)\b))",
    re.IGNORECASE,
)
_ASKED_TO_KEEP = late(
    r"^\W*(?:please |bitte )?(?:remember|keep in mind|bear in mind|don['’]?t forget|do not forget|make a note"
    r"|note that|merke? dir"
    r"|denke? daran|vergiss nicht|souviens-toi|rappelle-toi|retiens|n['’]oublie pas|recuerda|no olvides|não esqueça"
    r"|记住|覚えて)",
    re.IGNORECASE,
)
_OPEN_END = late(r"(?:,?\s+(?:and|but|or|so|since|because|especially|which|then|now that))+$", re.IGNORECASE)
_REQUEST = late(
    r",?\s+(?:so |and |but |then )?(?=(?:can|could|would|will|did|do|does|should) (?:you|we|i)\b)"
    r"|,\s+(?:so |and |but )?(?=(?:how|what|which|why|where|is (?:it|that|this|there)|right\?|ok\?|okay\?|isn['’]?t"
    r"|don['’]?t you"
    r"|kannst|könntest|peux-tu|tu peux|puedes|podrías)\b)|\s+[—–-]\s+(?=(?:can|could|how|what|is|does)\b)",
    re.IGNORECASE,
)
"""Where a question or a request begins in a sentence; what comes before it may be worth keeping."""
_OWN_WORDS = {
    "en": "i|my|me|mine",
    "de": "ich|mir|mich|mein(?:e[mnrs]?)?",
    "fr": "je|j(?=['’])|moi|mon|ma|mes",
    "es": "yo|m[ií]|mis",
    "pt": "eu|meus?|minhas?",
    "it": "io|mio|mia|miei|mie|mi",
    "nl": "ik|mij|mijn",
    "pl": "ja|mi|mnie|mój|moja|moje",
    "ru": "я|мне|меня|мой|моя|мои",
    "zh": "我(?!们)",
    "ja": "私(?!たち|達)",
}
"""Words by which users speak of themselves; in other languages some of them are articles or parts of another word."""
_UNTOLD = ("en", "de", "fr", "es", "pt", "zh", "ja")
"""The languages whose words count where the language of a sentence cannot be told."""
_ADDRESSED = late(
    r"^(?:please )?(?:always |never )?(?:answer|reply|respond|explain|give me|show|tell|ask|confirm|summari[sz]e"
    r"|keep (?:answers|replies))\b"
    r"|\b(?:antworte|duz\w*|réponds|tutoie\w*|respond[ea]|respóndeme|háblame|rispondi\w*)\b",
    re.IGNORECASE,
)
"""How users say the way in which they want to be spoken to."""
_OPENING = late(r".{0,12}\w*", re.DOTALL)


def parts(sentence: Sentence) -> list[Sentence]:
    """What of a sentence is looked at: all of it, and if it ends in a request or a question, what comes before that."""
    cut = _REQUEST.search(sentence.bare)
    if cut is None or not is_enough(sentence.text[: cut.start()]):
        return [sentence]
    before = replace(
        sentence, text=sentence.text[: cut.start()].rstrip(" ,"), bare=sentence.bare[: cut.start()].rstrip(" ,")
    )
    return [before] if sentence.asks else [sentence, before]


def is_enough(text: str) -> bool:
    """Whether a text can say something by itself, and is a sentence."""
    words = len(text.split())
    if not text.isascii() and words < FEWEST_WORDS:
        return sum(sign > "\u3000" for sign in text) >= FEWEST_SIGNS
    return FEWEST_WORDS <= words <= LONGEST


def asks_to_keep(sentence: Sentence) -> bool:
    """Whether the user asks to remember it."""
    return _ASKED_TO_KEEP.match(sentence.bare) is not None


def scope_of(sentence: Sentence, kind: str) -> str:
    """Whether it is about the user or the project: what stands in its first words; of a preference, in any."""
    opening = _OPENING.match(sentence.bare)
    said = sentence.bare if kind == "preference" or opening is None else opening.group()
    is_about_user = _ADDRESSED.search(said) or _own_words(language_of(sentence.message or sentence.bare)).search(said)
    return "user" if is_about_user else "project"


@cache
def _own_words(language: str) -> re.Pattern[str]:
    """Finds a word by which users of a language speak of themselves."""
    sets = [_OWN_WORDS[code] for code in ((language,) if language in _OWN_WORDS else _UNTOLD)]
    return re.compile("|".join(words if words[0] > "\u3000" else rf"\b(?:{words})\b" for words in sets), re.IGNORECASE)


def proposed_text(sentence: Sentence) -> str:
    """The sentence as one of its own; "" if there is too little left of it."""
    text, bare = sentence.text, sentence.bare
    for pattern in (_CORRECTS, _LEAD, _CORRECTS, _REMEMBER):
        match = pattern.match(bare)
        if match is not None:
            text, bare = text[match.end() :], bare[match.end() :]
    text = _OPEN_END.sub("", text.strip(" ,;:–—-").rstrip(" .!。"))
    if not is_enough(text):
        return ""
    end = "" if text.endswith(("?", "？", "…", "！")) else "。" if text[-1] > "\u3000" else "."
    first = text.split()[0]
    is_word = first.isalpha() and first.islower()
    return f"{text[0].upper() if is_word else text[0]}{text[1:]}{end}"
