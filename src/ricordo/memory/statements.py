"""Reads a text as statements: its sentences, and of each the words, names and values, what it denies and what it rules
out. ``compare`` says from them which words of two statements differ. The words that it knows are data
(``statements.toml``).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any

import Stemmer

from ricordo.frozen import frozen
from ricordo.patterns import late
from ricordo.text.words import fold

MOST_CHARACTERS = 2_000
MOST_STATEMENTS = 16
"""Only so much of a text is looked at: what says the same as a short memory, or the contrary, is another short one."""

_ENDS = late(r"(?<=[.!?…])[\"'”’)\]*_]*\s+(?![a-z])|(?<=[。！？])\s*|[;\n]+")
_EDGES = " .,!?\"'`()*_#>-"
_TAIL = late(
    r"(?:,\s*(?:and\s+|but\s+|und\s+|et\s+|y\s+|e\s+)?|\b(?:and|but|und|et)\s+)"
    r"(?:not|never|nicht|nie|pas|jamais|non|não|no|nunca|mai)\b(?!\s+longer)(?P<rest>.*)",
    re.IGNORECASE,
)
_IN_PLACE_OF = late(
    r"\b(?:instead of|rather than|in place of|statt|anstatt|au lieu d[e']|plutôt que|en lugar de|en vez de|invece di|"
    r"em vez de)\s*(?:the\s+|using\s+|calling\s+)?(?P<rest>[\w.+#-]+)",
    re.IGNORECASE,
)
_FROM_TO = late(
    r"\b(?:from|von|de|da)\s+(?P<rest>[^\W\d][\w.+#-]*(?:\s[A-Z\d][\w.]*)?)"
    r"(?=\s+(?:to|into|auf|nach|à|a|para|zu)\s+[^\W\d])",
    re.IGNORECASE,
)
_LEAD = late(r"^(?:no|nope|non|nein|não|yes|ok|actually)[,:;.!]\s+", re.IGNORECASE)
"""How a correction begins; it denies nothing that is said in it."""
_NONE_BUT = late(
    r"\b(?:nobody|no one|no-one|nothing|none|no other \w+)\s+(?:but|except|other than|besides)\s+", re.IGNORECASE
)
_ANY_MORE = late(r"\bany more(?=\W*$|[,;:]|\s(?:it|we|they|he|she|i|the|that|since|because)\b)", re.IGNORECASE)
_PREFERRED_TO = late(
    r"\b(?:prefer|picked?|chose|choose|pick)\w*\b[^.]*?\b(?:over|to)\s+(?P<rest>[\w.+#-]+)", re.IGNORECASE
)
_REPLACED = late(
    r"\b(?:replaces?|replaced|dropped|ditched|left|abandoned|drop)\s+(?P<rest>[^\W\d][\w.+#-]*)(?=\s+(?:with|by|for|as)\b|$)",
    re.IGNORECASE,
)
_REASONS = late(
    r"(?:^[ \t>*+-]*|(?<=[.!?])\s+|\s(?=[*_]{2}))[*_]{0,2}"
    r"(?:why|how to apply|reasons?|rationale|warum|pourquoi|por qué|perché)[*_]{0,2}\s?:[*_]{0,2}(?:\s|$)",
    re.IGNORECASE | re.MULTILINE,
)
"""Where a text begins to say why, as agents write it: ``**Why:** …``, ``How to apply: …``."""
_BECAUSE = late(
    r"(?:\s[-–—]{1,2}\s|—)(?=(?:it|they|this|that|these|those|which|because|since|as|so|otherwise|to|prevents?|avoids?|"
    r"keeps?|saves?|es|sie|das|weil|da|damit|sonst|ça|cela|car|pour|porque|para|così)\b)",
    re.IGNORECASE,
)
"""A dash behind which a sentence says why."""
_HEADINGS = late(r"\A(?:\s*#[^\n]*\n)+")
_UNSPACED = late("[\u3040-\u30ff\u4e00-\u9fff]")

Value = tuple[str, float]
"""The kind of a value (``weekday``, ``time``, ``number`` …) and how much it is; of a name in a class, its place."""


@frozen
class Token:
    """One word or value of a sentence."""

    text: str
    stem: str
    kind: str
    """``light`` for words that say nothing about the subject, ``word``, ``name`` or ``value``."""
    value: Value | None
    place: int


@frozen
class Statement:
    """What is known of one sentence."""

    text: str
    tokens: tuple[Token, ...]
    said: tuple[Token, ...]
    """What it is about: the tokens that are neither light nor negations nor ruled out."""
    ruled_out: frozenset[str]
    """Stems of what it says is not so: X in "instead of X", "…, not X", "from X to", "prefer … over X"."""
    marks: Mapping[str, float]
    """How often it has words of each list that turns or binds a statement: negations, ``must``, ``past`` …"""
    verb: int
    """The place of the first verb that is known; before it is the subject."""
    english: bool
    stems: frozenset[str]
    """The stems of what it is about."""
    order: tuple[str, ...]
    """The stems of all its tokens in order."""


_PRONOUNS = frozenset(
    ("i", "we", "you", "they", "he", "she", "it", "please", "never", "always", "to", "only", "let", "who", "which")
)

MARKS = (
    "negations",
    "endings",
    "changes",
    "past",
    "conditions",
    "must",
    "may",
    "forbids",
    "all_of",
    "only",
    "also",
)
"""The lists of words that turn or bind a statement."""
_WORDS = (
    "light",
    "light_elsewhere",
    "verbs",
    "verbs_elsewhere",
    "restricting",
    "requiring",
    "orders",
    "subjects",
    "definite",
    "adverbs",
    "opening",
    "copulas",
    "being",
    "auxiliaries",
    "pasts",
    "switching",
    "after_on",
)
_STEMMER = Stemmer.Stemmer("english")


@cache
def word_lists() -> Mapping[str, Any]:
    """The words of ``statements.toml``, each list as a set of words and stems."""
    import tomllib
    from importlib.resources import files

    table = tomllib.loads(files(__package__).joinpath("statements.toml").read_text("utf-8"))
    lists: dict[str, Any] = {}
    for name in (*MARKS, *_WORDS):
        lists[name] = frozenset(map(fold, table[name].split()))
    for name in ("identifying", "one_place", "one_doer", "several", "common_verbs", "scopes", "exclusive"):
        lists[name] = frozenset(map(stem, table[name].split()))
    for name in ("weekdays", "months", "numbers", "ordinals"):
        lists[name] = {
            fold(word): place
            for line in reversed(table[name].strip().splitlines() if name in ("weekdays", "months") else [table[name]])
            for place, word in enumerate(line.split())
        }
    lists["numbers"] = {
        fold(word): place for group in _paragraphs(table["numbers"]) for place, word in enumerate(group) if word != "_"
    }
    lists["tens"] = {word: 20 + 10 * place for place, word in enumerate(table["tens"].split())}
    lists["months"] |= {word: place for place, word in enumerate(table["short_months"].split())} | {}
    lists["classes"] = {
        fold(word): (name, place) for name, text in table["classes"].items() for place, word in enumerate(text.split())
    }
    lists["seconds"], lists["sizes"] = table["seconds"], table["sizes"]
    lists["opposites"], lists["same"] = _opposites(table["antonyms"]), _groups(table["synonyms"])
    return lists


def _paragraphs(text: str) -> list[list[str]]:
    """The numbers of each language; the English ones take two lines."""
    lines = [line.split() for line in text.strip().splitlines()]
    return [lines[0] + lines[1], *lines[2:]]


def _opposites(text: str) -> dict[str, frozenset[tuple[int, int]]]:
    """By stem: the pairs it belongs to, each with its side."""
    opposites: defaultdict[str, set[tuple[int, int]]] = defaultdict(set)
    for pair, line in enumerate(text.strip().splitlines()):
        for side, group in enumerate(line.split(":")):
            for word in group.split():
                opposites[stem(word)].add((pair, side))
    return {word: frozenset(sides) for word, sides in opposites.items()}


def _groups(text: str) -> dict[str, frozenset[int]]:
    groups: defaultdict[str, set[int]] = defaultdict(set)
    for place, line in enumerate(text.strip().splitlines()):
        for word in line.split():
            groups[stem(word)].add(place)
    return {word: frozenset(places) for word, places in groups.items()}


@lru_cache(8192)
def stem(word: str) -> str:
    """What a word has in common with its other forms.

    >>> stem("deployments"), stem("opt-in"), stem("Fridays")
    ('deploy', 'optin', 'friday')
    """
    return str(_STEMMER.stemWord(fold(word).replace("-", "").replace("’", "'").removesuffix("'s")))


@cache
def _pattern() -> re.Pattern[str]:
    """Finds values and words, in order."""
    lists = word_lists()
    months = "|".join(sorted(set(lists["months"]), key=len, reverse=True))
    units = "|".join(sorted((*lists["seconds"], *lists["sizes"]), key=len, reverse=True))
    spelled = "|".join(sorted((*lists["numbers"], *lists["tens"]), key=len, reverse=True))
    ordinals = "|".join(lists["ordinals"])
    count = rf"\d+(?:[.,]\d+)*k?|(?:{'|'.join(lists['tens'])})-\w+|{spelled}|half\san?|an?|several"
    return re.compile(
        rf"""(?P<iso>\b\d{{4}}-\d\d-\d\d\b)
        | (?P<clock>\b\d{{1,2}}(?:[:.](?P<minutes>\d\d))?\s?(?P<half>[ap]m)\b | \b\d{{1,2}}:(?P<past>\d\d)\b
            | \b\d{{1,2}}(?=\s(?:o'clock|uhr|heures)\b))
        | (?P<noon>\b(?:noon|midnight|midday|mittag|mitternacht|midi|minuit)\b)
        | \b(?P<day>\d{{1,2}}|{ordinals})(?:st|nd|rd|th|\.)?\s(?:of\s|de\s)?(?P<month>{months})\b(?:,?\s\d{{4}}\b)?
        | \b(?P<month2>{months})\s(?P<day2>\d{{1,2}})\b(?:st|nd|rd|th)?(?:,?\s\d{{4}}\b)?
        | (?P<ordinal>\b\d+(?:st|nd|rd|th)\b)
        | \b(?P<times>(?:{count})\stimes|once|twice)\s(?:an?|each|every|per)\s(?P<timeunit>{units}|night)\b
        | \b(?:every|each|per)\s(?:single\s)?(?:(?P<nth>other|second|third|fourth|{count})\s)?
            (?P<period>{units}|night|morning|evening)s?\b
        | \b(?P<many>{count})[\s-]?
            (?P<unit>(?:{units})s?|%|percent|prozent|euros?|dollars?|€|million|thousand|degrees|°c)(?!\w)
        | (?P<coin>[€$£]\s?\d+(?:[.,]\d+)*)
        | (?P<word>[^\W\d_](?:[\w+\#'’/.@-]*[\w+\#])?)
        | (?P<number>\bv?\d+(?:[.,]\d+)*k?\b)
        | (?P<code>\w+(?:[/.:@_-]\w+)*)""",
        re.VERBOSE | re.IGNORECASE,
    )


def statements(text: str) -> tuple[Statement, ...]:
    """The statements of a text, as many as are looked at."""
    return tuple(statement(part) for part in sentences(text[:MOST_CHARACTERS]))[:MOST_STATEMENTS]


def without_reasons(text: str) -> str:
    """What a text claims, without why it does, and what follows; the whole text, if nothing stands before.

    >>> without_reasons("Use pnpm - it prevents phantom packages."), without_reasons("Use pnpm.\\n\\n**Why:** speed.")
    ('Use pnpm', 'Use pnpm.')
    """
    reasons = _REASONS.search(text)
    if reasons is not None and text[: reasons.start()].strip(_EDGES):
        text = text[: reasons.start()]
    kept = [part for line in text.splitlines() if (part := _BECAUSE.split(line)[0]).strip(_EDGES)]
    return "\n".join(kept) or text


def sentences(text: str) -> list[str]:
    """The sentences of a text, and the lines of a list, without what stands at their edges."""
    return [part for part in (part.strip(_EDGES) for part in _ENDS.split(text)) if part]


def first_sentence(text: str) -> str:
    """The first sentence of a text below its headings."""
    return next(iter(sentences(_HEADINGS.sub("", text)) or sentences(text)), "")


@lru_cache(2048)
def statement(sentence: str) -> Statement:
    """What is known of one sentence; one save after the other compares with the same memories."""
    lists = word_lists()
    plain = _ANY_MORE.sub("anymore", _NONE_BUT.sub("only ", _LEAD.sub("", sentence)))
    text, ruled_out, changes = _without_ruled_out(plain)
    tokens = _as_verbs(tuple(_tokens(text)))
    marks = dict.fromkeys(MARKS, 0.0)
    lower = [fold(token.text).replace("’", "'") for token in tokens]
    for place, word in enumerate(lower):
        for name in MARKS:
            if word in lists[name] or (name == "negations" and word.endswith("n't")):
                marks[name] += 1
        if word == "no" and place + 1 < len(lower) and lower[place + 1] == "longer":
            marks["endings"] += 1
    marks["changes"] += changes
    for denied, word in pairwise(lower):
        if (denied.endswith("n't") or denied in ("not", "nobody")) and word in ("have", "need", "has", "needs"):
            marks["may"], marks["negations"], marks["must"] = 1.0, marks["negations"] - 1, 0.0
    if marks["negations"] and not lists["requiring"].isdisjoint(lower):
        marks["negations"], marks["must"] = max(0.0, marks["negations"] - 1 - ("without" in lower)), marks["must"] + 1
    if "used to" in sentence.lower():
        marks["past"] += 1
    turning = lists["negations"] | {"longer", "anymore"}
    said = tuple(
        token
        for token, word in zip(tokens, lower, strict=True)
        if token.kind != "light"
        and word not in turning
        and not word.endswith("n't")
        and word not in ("longer", "anymore")
    )
    here = sum(word in lists["light"] for word in lower)
    elsewhere = sum(word in lists["light_elsewhere"] for word in lower)
    verb = _verb(tokens, lower, english=elsewhere <= here)
    stems = frozenset(token.stem for token in said)
    order = tuple(token.stem for token in tokens)
    return Statement(sentence, tokens, said, ruled_out, marks, verb, elsewhere <= here, stems, order)


def _as_verbs(tokens: tuple[Token, ...]) -> tuple[Token, ...]:
    """The tokens, where "is on by default" and "I own it" say something by words that are light elsewhere."""
    lists = word_lists()
    found = list(tokens)
    for before, token in pairwise(tokens):
        word, led = token.text.lower(), before.text.lower()
        after = tokens[token.place + 1].text.lower() if token.place + 1 < len(tokens) else "by"
        if (word == "on" and led in lists["switching"] and after in lists["after_on"]) or (
            word == "own" and led in lists["subjects"]
        ):
            found[token.place] = replace(token, kind="word")
    return tuple(found)


def _verb(tokens: tuple[Token, ...], lower: list[str], *, english: bool) -> int:
    """Where what is said of the subject begins: at the first verb that is known; at the start, if none is."""
    lists = word_lists()
    known = lists["verbs"] if english else lists["verbs"] | lists["verbs_elsewhere"]
    if not lower or lower[0] in lists["orders"]:
        return 0
    if lower[0] in lists["subjects"]:
        return next((at for at in range(1, len(lower)) if lower[at] not in lists["adverbs"]), 0)
    guess = 0
    for place, (token, word) in enumerate(zip(tokens, lower, strict=True)):
        if word in known or word in lists["must"] or word in lists["may"] or word.endswith("n't"):
            return place
        if not place or token.kind != "word":
            continue
        after = lower[place + 1] if place + 1 < len(lower) else ""
        is_free = (
            tokens[place - 1].kind != "light" or lower[place - 1] in _PRONOUNS or lower[place - 1] in lists["adverbs"]
        )
        if not is_free or after in known or after in lists["must"] or after in lists["may"]:
            continue
        follows = after in lists["opening"] or not after or tokens[place + 1].kind in ("value", "name")
        if token.stem in lists["common_verbs"] and (follows or word.endswith("s")):
            return place
        if not guess and after in lists["opening"] and word.endswith(("s", "ed", "y", "e", "t", "n", "l", "r")):
            guess = place
    return guess


def _without_ruled_out(sentence: str) -> tuple[str, frozenset[str], int]:
    """A sentence without what it rules out, the stems of that, and how often it tells a change."""
    ruled_out, changes = set[str](), 0
    for pattern in (_IN_PLACE_OF, _FROM_TO, _PREFERRED_TO, _REPLACED, _TAIL):
        match = pattern.search(sentence)
        if match is None or (pattern is _TAIL and not match.start()):
            continue
        found = {token.stem for token in _tokens(match["rest"]) if token.kind != "light"}
        if pattern is _FROM_TO or pattern is _REPLACED:
            if pattern is _FROM_TO and match.group().lower().startswith(("de", "da")) and not found:
                continue
            changes += 1
        ruled_out |= found
        sentence = sentence[: match.start("rest")] + sentence[match.end("rest") :]
    return sentence, frozenset(ruled_out), changes


def _tokens(sentence: str) -> Iterator[Token]:
    lists = word_lists()
    before = ""
    place = 0
    for match in _pattern().finditer(sentence):
        text = match.group()
        if _UNSPACED.search(text):
            for sign in text:
                yield Token(sign, sign, "word", None, place)
                place += 1
            continue
        lower = fold(text).replace("’", "'")
        value = _value(match, lower, before)
        is_light = lower in lists["light"] or lower in lists["light_elsewhere"]
        is_first = not place
        if value is not None and value[0] == "number" and stem(before) in lists["identifying"]:
            value, kind = None, "name"
        elif value is not None:
            kind = "value"
        elif is_light and not (text.isupper() and len(text) > 1):
            kind = "light"
        else:
            kind = "name" if _is_name(text, is_first=is_first) else "word"
        yield Token(text, stem(lower) if value is None else f"{value[0]} {value[1]:g}", kind, value, place)
        before = lower
        place += 1


def _is_name(text: str, *, is_first: bool) -> bool:
    inner = text[1:]
    if any(sign.isdigit() or sign in "_/@#" for sign in text) or "." in inner or any(sign.isupper() for sign in inner):
        return True
    return text[0].isupper() and not is_first


def _value(match: re.Match[str], lower: str, before: str) -> Value | None:
    """The value that a match is; None for a word."""
    lists = word_lists()
    if match["word"]:
        return _word_value(lower, before)
    if match["number"]:
        return _number_value(lower, before)
    if match["iso"]:
        _, month, day = map(float, match["iso"].split("-"))
        return "date", month * 100 + day
    if match["clock"] or match["noon"]:
        return "time", _minutes(match)
    if month_name := match["month"] or match["month2"]:
        given = fold(match["day"] or match["day2"] or "0")
        day = lists["ordinals"].get(given) or float(given)
        return "date", 100 * (lists["months"][fold(month_name)] + 1) + float(day)
    if match["ordinal"]:
        return "ordinal", float(match["ordinal"][:-2])
    if match["times"]:
        times = fold(match["times"]).split()
        many = {"once": 1.0, "twice": 2.0}.get(times[0]) or amount(times[0])
        return "frequency", _unit_seconds(match["timeunit"]) / max(many, 1.0)
    if match["period"]:
        nth = fold(match["nth"] or "one")
        many = {"other": 2.0, "second": 2.0, "third": 3.0, "fourth": 4.0}.get(nth) or amount(nth)
        return "frequency", many * _unit_seconds(match["period"])
    if match["many"]:
        return _measured(match["many"], fold(match["unit"]))
    if match["coin"]:
        return "money", amount(match["coin"][1:].strip())
    return None


def _unit_seconds(unit: str) -> float:
    return float(word_lists()["seconds"].get(fold(unit).rstrip("s") or "s", 86400))


def amount(text: str) -> float:
    """How much a number says, in digits or in English words.

    >>> amount("2,300"), amount("twenty-four"), amount("80k"), amount("3.3"), amount("an")
    (2300.0, 24.0, 80000.0, 3.3, 1.0)
    """
    lists, lower = word_lists(), fold(text)
    if lower in lists["numbers"]:
        return float(lists["numbers"][lower])
    tens, _, ones = lower.partition("-")
    if tens in lists["tens"]:
        return float(lists["tens"][tens] + lists["numbers"].get(ones, 0))
    if lower.startswith("half"):
        return 0.5
    if not lower[:1].isdigit() and not lower[:2].removeprefix("v")[:1].isdigit():
        return {"a": 1.0, "an": 1.0, "several": 3.0}.get(lower, 0.0)
    digits = lower.removeprefix("v")
    thousands = 1000.0 if digits.endswith("k") else 1.0
    digits = digits.rstrip("k")
    if re.fullmatch(r"\d{1,3}(?:[.,]\d{3})+", digits):
        return float(re.sub("[.,]", "", digits)) * thousands
    first, *rest = re.split("[.,]", digits)
    return float(f"{first}.{''.join(rest) or 0}") * thousands


def _minutes(match: re.Match[str]) -> float:
    if match["noon"]:
        return 0.0  # noon and midnight are compared as words are: by their class
    hour = int(re.findall(r"\d+", match["clock"])[0])
    return float((hour % 12) * 60 + int(match["minutes"] or match["past"] or 0))


def _measured(many: str, unit: str) -> Value:
    lists, count = word_lists(), amount(many)
    single = unit.rstrip("s") if unit.rstrip("s") in lists["seconds"] else unit
    if single in lists["seconds"]:
        return "duration", count * lists["seconds"][single]
    if unit in lists["sizes"]:
        return "size", count * lists["sizes"][unit]
    if unit in ("million", "thousand"):
        return "number", count * (1e6 if unit == "million" else 1e3)
    if unit in ("degrees", "°c"):
        return "number", count
    return ("percent" if unit in ("%", "percent", "prozent") else "money"), count


def _number_value(lower: str, before: str) -> Value:
    if (
        before in ("at", "by", "until", "after", "before", "to", "um", "à", "las")
        and lower.isdigit()
        and int(lower) <= 24
    ):
        return "time", float(int(lower) % 12 * 60)
    if re.fullmatch(r"(?:19|20)\d\d", lower):
        return "year", float(lower)
    return "number", amount(lower)


def _word_value(lower: str, before: str) -> Value | None:
    lists = word_lists()
    if lower in lists["weekdays"]:
        return "weekday", float(lists["weekdays"][lower])
    if lower.rstrip("s") in lists["weekdays"]:
        return "weekday", float(lists["weekdays"][lower.rstrip("s")])
    if lower in lists["numbers"] and lower not in ("una", "une", "null", "sei"):
        if before in ("at", "by", "until", "before", "after"):
            return "time", float(lists["numbers"][lower] % 12 * 60)
        return "number", float(lists["numbers"][lower])
    if lower in lists["tens"] or lower.partition("-")[0] in lists["tens"]:
        return "number", amount(lower)
    if lower in lists["months"] and (len(lower) > 3 and lower not in ("march", "mars")):
        return "date", 100.0 * (lists["months"][lower] + 1)
    if lower in lists["classes"]:
        name, place = lists["classes"][lower]
        if name == "frequency":
            period = {"daily": "day", "nightly": "day", "annually": "year", "fortnightly": "fortnight"}
            return name, _unit_seconds(period.get(lower, lower.removesuffix("ly")))
        return str(name), float(place)
    return None
