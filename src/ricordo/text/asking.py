"""Whether a turn of a session asks or states: what somebody only asked is no answer.

By form: a question or a request to be told something asks; a sentence that says what is, was, must or never may be
states, also one that contradicts. By what is new: a turn that adds little to the question, and nothing definite,
repeats it. The forms are English, with the commonest words of other European languages.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet

from ricordo.patterns import late
from ricordo.text.words import fold

REPEATED = 0.7
"""A person's turn repeats a question if at least this share of its words, without stop words, occurs in it."""
FEW = 12
"""A person's turn with fewer new words than this tells something only if it states something, or one is definite."""
_NUMBER_WORDS = (
    "two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|sixty|ninety|hundred|thousand"
    "|dozen|half|twice|daily|hourly|weekly|monthly|quarterly|yearly|zwei|drei|vier|sechs|sieben|acht|neun|zehn|zwanzig"
    "|deux|trois|quatre|cinq|sept|huit|neuf|dix|dos|tres|cuatro|cinco|siete|ocho|nueve|diez"
)
_DEFINITE = late(
    r"\S*\d\S*"  # a number, a version, a date
    r"|\w+(?:[/_.:@#\\]\w+)+"  # a path, an address, a name in code
    r"|`[^`]+`"
    r"|(?<=[\w,;]\s)[^\W\d_a-zà-öø-ÿ]\w+"  # a name: a capital inside a sentence
    rf"|(?i:\b(?:{_NUMBER_WORDS})\b)"
)
_SENTENCE = late(r"[^.!?？؟。！\n]+(?:[.](?=\w)[^.!?？؟。！\n]+)*[.!?？؟。！]*")
_MARKS = ("?", "？", "؟")
_TAG = late(
    r",\s*(?:right|no|ok(?:ay)?|correct|yes|(?:is|are|was|were|do|does|did|has|have|wo|ca)n['’]?t \w+|oder|nicht wahr"
    r"|non|n['’]est-ce pas|verdad|vero|não é)\s*[?？]+$",
    re.IGNORECASE,
)
"""What a statement ends with that is said as a question."""
_DENIES = late(
    r"^\W*(?:did|do|does|is|are|was|were|have|has|should|would|could|ca|wo)n['’]?t"
    r" \w",
    re.IGNORECASE,
)
"""How a question begins that says what holds: "didn't we move to Porto?"."""
_QUESTION = late(
    r"^\W*(?:(?:and|so|but|ok(?:ay)?|hey|hi|well|um+|then|also|please|und|aber|et|mais|y|e)[, ]+)*"
    r"(?:what|who|whose|whom|which|why|how|(?:where|when)(?![^?]*,)|(?:is|are|was|were|am|do|does|did|has|have|had|can"
    r"|could|would|should|shall|will|may|might|must) (?:i|we|you|they|it|he|she|there|this|that|these|those|the|our|my"
    r"|any\w*)\b|any (?:idea|chance|way)"
    r"|was|wer|wie|wann|wo|warum|wieso|weshalb|welche[rsmn]?|wohin"
    r"|quand|où|pourquoi|comment|quels?|quelles?|qui|combien|est-ce"
    r"|cuándo|dónde|por qué|cómo|qué|quién|cuál|cuánt[oa]s?"
    r"|quando|dove|perché|come|chi|quanti|quale|onde|quem|qual|hoe|wat|waar|wanneer|waarom|wie|welke)\b",
    re.IGNORECASE,
)
_REQUEST = late(
    r"^\W*(?:(?:and|so|but|ok(?:ay)?|hey|hi|well|then|also|now|please|can you|could you|would you|will you)[, ]+)*"
    r"(?:(?:please )?(?:tell|show|list|find|explain|check|look|search|give|remind|let me know|figure|describe"
    r"|summari[sz]e|help|see (?:if|whether|how|why|what|where)|investigate|debug|look into)\b"
    r"|i(?:['’]d| would| am|['’]m)? ?(?:need|want|like|wonder\w*|was wondering|looking|have a question|forgot|forget"
    r"|don['’]?t (?:know|remember|understand|see|get)|can['’]?t (?:find|remember|see))\b)",
    re.IGNORECASE,
)
_STATES = late(
    r"^\W*(?:we|they|it|he|she|you)\b\W+\w+"
    r"|(?<=\w)\W+(?:is|are|was|were|am|isn|aren|wasn|has|have|had|will|won|must|should|shall|needs?|may|can|cannot|don|doesn"
    r"|didn|does|gets?|goes|runs?|lives?|uses?|used|means?|becomes?|stays?|belongs?|decided|moved|agreed|chose"
    r"|ist|sind|war|wird|werden|muss|müssen|soll|sollen|hat|haben|est|sont|doit|doivent|était|es|son|está|están|debe|deben"
    r"|è|sono|deve|devono|são|zijn|moet|moeten|wordt)\b"
    r"|\b(?:always|never|only|instead|from now on|no longer|anymore|immer|nie|niemals|nur|toujours|jamais|siempre|nunca"
    r"|sempre|mai|altijd|nooit)\b"
    r"|^\W*(?:no|nope|nah|wrong|actually|nein|non|não|nee)\b\W+(?:\w+\W+){2}",
    re.IGNORECASE,
)

_KNOWS_NOTHING = late(
    r"^\W*(?:(?:ok(?:ay)?|sure|yes|certainly|alright|understood|good question)\W+)*"
    r"(?:(?:i['’]ll|i will|let me|i['’]m going to|i am going to) (?:have a look|take a look|look|check|see|find|search"
    r"|investigate|read)\b|i (?:do not|don['’]?t|can(?:no|['’])t) (?:know|find|tell|say|see)\b|i['’]m not sure"
    r"|that is up to you|that['’]s up to you)"
    r"|\b(?:does not|doesn['’]t|do not|don['’]t) (?:say|mention|contain|specify|tell)\b|\bno (?:information|mention)\b"
    r"|\b(?:unclear|unknown)\b",
    re.IGNORECASE,
)


def about(text: str, asked: AbstractSet[str], words: Callable[[str], AbstractSet[str]]) -> str:
    """Of a session's list of requests, one to a line, those that have a word of the question; all if none has one.

    What else was asked in the session says nothing about whether the question was answered.

    >>> about("- ship it\\n- fix the mast", {"mast"}, lambda line: set(line.split()))
    '- fix the mast'
    """
    return "\n".join(line for line in text.splitlines() if words(line) & asked) or text


def repeats(words: AbstractSet[str], asked: AbstractSet[str], *, is_persons: bool) -> bool:
    """Whether a turn says nothing but what the question says itself; both are given as words without stop words.

    An answer may use the words of its question, so it repeats the question only if it has no other word.

    >>> repeats({"rotate", "keys"}, {"keys", "rotate", "often"}, is_persons=False)
    True
    >>> repeats({"keys", "rotate", "quarter"}, {"keys", "rotate"}, is_persons=False)
    False
    """
    new = len(words - asked)
    return bool(words) and (not new or (is_persons and new <= (1 - REPEATED) * len(words)))


def asks(text: str) -> bool:
    """Whether all sentences of a text ask, whatever they are about.

    >>> asks("Where do invoices go? I need to know."), asks("Didn't we move to Porto?"), asks("Why? It is late.")
    (True, False, False)
    """
    sentences = list(_sentences(text))
    return bool(sentences) and all(map(_asks, sentences))


def states(text: str) -> bool:
    """Whether a sentence of a text says that something is so, or should be.

    >>> states("Invoices are kept for seven years."), states("no, keep them in Porto"), states("the keys of packages")
    (True, True, False)
    """
    return any(not _asks(sentence) and _STATES.search(sentence) is not None for sentence in _sentences(text))


def knows_nothing(text: str) -> bool:
    """Whether an agent's turn only asks back, says that it does not know, or that it is going to look.

    >>> knows_nothing("I'll look into it."), knows_nothing("The code does not say."), knows_nothing("Use less leaven.")
    (True, True, False)
    """
    sentences = list(_sentences(text))
    return bool(sentences) and all(one.endswith(_MARKS) or _KNOWS_NOTHING.search(one) is not None for one in sentences)


def only_asks(text: str, words: AbstractSet[str], asked: AbstractSet[str]) -> bool:
    """Whether a person's turn probably tells nothing: it asks, or has few new words, of which none is definite.

    >>> only_asks("Which day do we ship?", {"day", "ship"}, {"deploy"})
    True
    >>> only_asks("Didn't we move to port 8443?", {"move", "port", "8443"}, {"port"})
    False
    >>> only_asks("Invoices are kept for seven years", {"invoices", "kept", "seven", "years"}, {"invoices", "kept"})
    False
    """
    if repeats(words, asked, is_persons=True) or asks(text):
        return True
    folded = {fold(word) for word in asked}
    definite = (fold(phrase) for phrase in _DEFINITE.findall(text))
    return len(words - asked) < FEW and all(word in folded for word in definite) and not states(text)


def _sentences(text: str) -> Iterator[str]:
    return (sentence for match in _SENTENCE.finditer(text) if re.search(r"\w", sentence := match[0].strip(" -*•\t")))


def _asks(sentence: str) -> bool:
    if _TAG.search(sentence) or _DENIES.match(sentence):
        return False
    is_plain = ":" not in sentence  # "how long it takes: a day" says it
    return sentence.endswith(_MARKS) or bool((is_plain and _QUESTION.match(sentence)) or _REQUEST.match(sentence))
