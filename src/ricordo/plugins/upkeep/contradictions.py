"""Says whether two texts contradict each other, and why, by a small set of rules on pairs of statements.

Two statements are about the same if one has no word that the other lacks, but for a few. A statement about the past, or
under a condition, does not contradict one about the present. They contradict each other if

- one has another value (``VALUE``): a number, date, time, weekday, version, colour …;
- one denies what the other says, or has the opposite word (``DENIAL``);
- one rules out what the other says (``RULED_OUT``): "instead of X", "not X", "from X to Y";
- they name another place or person where there is only one (``PLACE``): "lives in X", "is led by X".

When in doubt, it is no contradiction: two memories that are both true should not be held against each other.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

import Stemmer

from ricordo.frozen import frozen

_STEMMER = Stemmer.Stemmer("english")
MOST_CHARACTERS = 2_000
MOST_STATEMENTS = 16
"""Only so much of a text is looked at: what contradicts a short memory is another short one."""

_ENDS = re.compile(r"(?<=[.!?])\s+|[;\n]+|(?<=[^\W\d]):\s")
_EDGES = " .,!?\"'`()*_"
_TAIL = re.compile(r"(?:,\s*(?:and\s+|but\s+)?|\b(?:and|but)\s+)(?:not|never)\b(?P<rest>.*)", re.IGNORECASE)
_IN_PLACE_OF = re.compile(r"\b(?:instead of|rather than|in place of)\s+(?:the\s+)?(?P<rest>[\w.+#-]+)", re.IGNORECASE)
_FROM_TO = re.compile(r"\bfrom\s+(?P<rest>[A-Za-z][\w.+#-]*)(?=\s+to\s+[A-Za-z])", re.IGNORECASE)
_PREFERRED_TO = re.compile(r"(?<=\bover\s)(?P<rest>[\w.+#-]+)", re.IGNORECASE)

Value = tuple[str, tuple[float | str | None, ...]]
"""The kind of a value (``weekday``, ``time``, ``number`` …) and its parts; None fits every part."""


@frozen
class Claim:
    """What the rules know of one sentence."""

    words: Mapping[str, int]
    """The stems that say what it is about, without values, and how often each occurs."""
    values: tuple[Value, ...]
    denied: bool
    ruled_out: frozenset[str]
    """Stems of what it says is not so: X in "instead of X", "…, not X", "from X to", "prefer … over X"."""
    is_past: bool
    is_conditional: bool
    tokens: tuple[str, ...]
    """Its words in order, as they are written, without values."""


@cache
def word_lists() -> Mapping[str, Any]:
    """The words of ``contradictions.toml``, each list as stems."""
    import tomllib
    from importlib.resources import files

    table = tomllib.loads(files(__package__).joinpath("contradictions.toml").read_text("utf-8"))
    lists: dict[str, Any] = {
        name: frozenset(map(stem, text.split())) | frozenset(text.split())
        for name, text in table.items()
        if isinstance(text, str) and name not in ("antonyms", "weekdays", "months", "numbers", "ordinals")
    }
    for name in ("weekdays", "months", "numbers", "ordinals"):
        lists[name] = {word: place for place, word in enumerate(table[name].split())}
    lists["classes"] = {word: name for name, text in table["classes"].items() for word in text.split()}
    lists["seconds"], lists["sizes"] = table["seconds"], table["sizes"]
    opposites: defaultdict[str, set[tuple[int, int]]] = defaultdict(set)
    for pair, line in enumerate(table["antonyms"].strip().splitlines()):
        for side, group in enumerate(line.split(":")):
            for word in group.split():
                opposites[stem(word)].add((pair, side))
    lists["opposites"] = dict(opposites)  # by stem: the pairs it belongs to, each with its side
    return lists


def stem(word: str) -> str:
    """What a word has in common with its other forms.

    >>> stem("deployments"), stem("opt-in"), stem("Fridays")
    ('deploy', 'optin', 'friday')
    """
    return str(_STEMMER.stemWord(word.lower().replace("-", "").replace("’", "'")))


@cache
def _values_pattern() -> re.Pattern[str]:
    """Finds values and words, in order; months need their capital letter, because "may" is no month."""
    lists = word_lists()
    months = "|".join(name.capitalize() for name in lists["months"])
    units = "|".join((*lists["seconds"], *lists["sizes"]))
    count = rf"\d+(?:[.,]\d+)*|{'|'.join(lists['numbers'])}"
    return re.compile(
        rf"""(?P<iso>\b\d{{4}}-\d\d-\d\d\b)
        | (?P<clock>\b\d{{1,2}}(?::(?P<minutes>\d\d))?\s?(?P<half>[ap]m)\b | \b\d{{1,2}}:(?P<past>\d\d)\b)
        | (?P<noon>\b(?:noon|midnight)\b)
        | \b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\s(?:of\s)?(?P<month>{months})\b(?:,?\s(?P<year>\d{{4}})\b)?
        | \b(?P<month2>{months})\b(?:\s(?P<day2>\d{{1,2}})\b(?:st|nd|rd|th)?)?(?:,?\s(?P<year2>\d{{4}})\b)?
        | (?P<ordinal>\b\d+(?:st|nd|rd|th)\b)
        | (?P<each>\b(?:every|each)\s(?P<period>{units})\b)
        | (?P<many>\b(?i:{count}))[\s-]?(?P<unit>(?i:{units})s?|%|percent|euros?|dollars?|€|million|thousand)\b
        | (?P<coin>[€$£]\s?\d+(?:[.,]\d+)*)
        | (?P<word>[^\W\d_][\w+\#'’/.-]*[\w+\#]|[^\W\d_])
        | (?P<number>\bv?\d+(?:[.,]\d+)*)\b""",
        re.VERBOSE,
    )


@lru_cache(1024)
def statements(text: str) -> tuple[Claim, ...]:
    """The statements of a text, as many as are looked at; one save after the other compares with the same memories."""
    parts = [part.strip(_EDGES) for part in _ENDS.split(text[:MOST_CHARACTERS])]
    return tuple(_statement(part) for part in parts if part)[:MOST_STATEMENTS]


def _statement(sentence: str) -> Claim:
    lists = word_lists()
    ruled_out: set[str] = set()
    for pattern in (_IN_PLACE_OF, _FROM_TO, *((_PREFERRED_TO,) if "refer" in sentence else ()), _TAIL):
        if (match := pattern.search(sentence)) is not None and match.start():
            words_left = re.findall(r"[^\W\d_][\w+#-]*", match["rest"])
            ruled_out.update(stem(word) for word in words_left if word.lower() not in lists["light"])
            sentence = sentence[: match.start()] + sentence[match.end() :]
    tokens = [_Token(match) for match in _values_pattern().finditer(sentence)]
    words: Counter[str] = Counter()
    values: list[Value] = []
    denials = 0
    verb = next((place for place, token in enumerate(tokens) if token.lower in lists["verbs"]), 0)
    spoken = []
    for place, token in enumerate(tokens):
        before = tokens[place - 1] if place else None
        value = token.value(before)
        if value is not None and not token.identifies(value[0], before, in_subject=place < verb):
            values.append(value)
            continue
        spoken.append(token.text)
        if token.lower in lists["negations"] or token.lower.endswith("n't"):
            denials += 1
        elif value is not None or not lists["light"] & {token.stem, token.lower}:
            words[token.stem] += 1
    lower = {token.lower for token in tokens}
    stems = {token.stem for token in tokens}
    # A sentence that begins with what was done is a report: "Deployed 2.1", "Fixed the login".
    is_report = bool(tokens) and tokens[0].lower.endswith("ed") and tokens[0].match.lastgroup == "word"
    is_past = is_report or bool(lower & lists["past"]) or "used to" in sentence.lower()
    return Claim(
        words=dict(words),
        values=tuple(dict.fromkeys(values)),
        denied=denials % 2 == 1,
        ruled_out=frozenset(ruled_out - lists["light"]),
        is_past=is_past and not stems & lists["changes"],
        is_conditional=bool(lower & lists["conditions"]),
        tokens=tuple(spoken),
    )


class _Token:
    """One word or value of a sentence."""

    def __init__(self, match: re.Match[str]) -> None:
        self.match = match
        self.text = match.group()
        self.lower = self.text.lower().replace("’", "'")
        self.stem = stem(self.lower)

    def identifies(self, kind: str, before: _Token | None, *, in_subject: bool) -> bool:
        """Whether a number says which one is meant: "ticket 17", or a number in the subject of the sentence."""
        lists = word_lists()
        if kind == "ordinal":
            return in_subject
        if kind != "number" or before is None or before.match.lastgroup != "word":
            return False
        return before.lower in lists["identifying"] or (in_subject and before.lower not in lists["light"])

    def value(self, before: _Token | None) -> Value | None:
        """The value that it is; None for a word."""
        match = self.match
        if match["iso"]:
            return "date", tuple(map(float, match["iso"].split("-")))
        if match["clock"] or match["noon"]:
            return "time", (_minutes(match),)
        if month := match["month"] or match["month2"]:
            year, day = match["year"] or match["year2"], match["day"] or match["day2"]
            place = word_lists()["months"][month.lower()] + 1
            return "date", (float(year) if year else None, float(place), float(day) if day else None)
        if match["ordinal"]:
            return "ordinal", (float(match["ordinal"][:-2]),)
        if match["each"]:
            return "frequency", (float(word_lists()["seconds"].get(match["period"], 0)),)
        if match["many"]:
            return _measured(match["many"].lower(), match["unit"].lower())
        if match["coin"]:
            return "money", (_number(match["coin"][1:]),)
        if match["number"]:
            return _bare_number(match["number"], before)
        return _word_value(self.lower)


def _minutes(match: re.Match[str]) -> float:
    if match["noon"]:
        return 720.0 if match["noon"] == "noon" else 0.0
    hour = int(re.findall(r"\d+", match["clock"])[0])
    if match["half"]:
        hour = hour % 12 + (12 if match["half"] == "pm" else 0)
    return hour * 60.0 + int(match["minutes"] or match["past"] or 0)


def _number(text: str) -> float:
    numbers = word_lists()["numbers"]
    return float(numbers[text]) if text in numbers else float(text.strip().replace(",", "") or 0)


def _measured(many: str, unit: str) -> Value:
    lists, count = word_lists(), _number(many) if many.count(".") < 2 else 0.0
    single = unit.rstrip("s") if unit.rstrip("s") in lists["seconds"] else unit
    if single in lists["seconds"]:
        return "duration", (count * lists["seconds"][single],)
    if unit in lists["sizes"]:
        return "size", (count * lists["sizes"][unit],)
    if unit in ("million", "thousand"):
        return "number", (count * (1e6 if unit == "million" else 1e3),)
    return ("percent" if unit in ("%", "percent") else "money"), (count,)


def _bare_number(text: str, before: _Token | None) -> Value:
    digits = text.lstrip("v")
    after = before.lower if before is not None else ""
    if after == "at" and digits.isdigit() and int(digits) <= 24:
        return "time", (int(digits) * 60.0,)
    if after in ("in", "since", "until") and re.fullmatch(r"(?:19|20)\d\d", digits):
        return "date", (float(digits), None, None)
    return "number", tuple(digits.replace(",", "").split("."))


def _word_value(word: str) -> Value | None:
    lists = word_lists()
    if (day := word.rstrip("s")) in lists["weekdays"]:
        return "weekday", (day,)
    if word in lists["numbers"]:
        return "number", (str(lists["numbers"][word]),)
    if word in lists["ordinals"]:
        return "ordinal", (float(lists["ordinals"][word]),)
    if word in lists["classes"]:
        name = lists["classes"][word]
        if name != "frequency":
            return name, (word,)
        period = {"daily": "day", "annually": "year"}.get(word, word.removesuffix("ly"))
        return name, (float(lists["seconds"][period]),)
    return None


VALUE = "another {}"
DENIAL = "one denies what the other says"
RULED_OUT = "one rules out what the other says"
PLACE = "another name in the same place"

MORE_WORDS = 1
"""So many words may one of two statements with different values have that the other lacks."""
LONGEST_NAME = 3
"""A name in a place has at most so many words."""


def contradiction(older: str, newer: str) -> str:
    """Why the newer text contradicts the older, in a few words; empty if it does not.

    >>> contradiction("We deploy on Fridays.", "Deployments never happen on a Friday; Tuesday is the day.")
    'one denies what the other says'
    >>> contradiction("The API timeout is 30 seconds.", "The database timeout is 5 seconds.")
    ''
    """
    return first_conflict(statements(older), statements(newer))


def first_conflict(older: Iterable[Claim], newer: Iterable[Claim]) -> str:
    """Why one of some statements contradicts one of some others; empty if none does."""
    later = tuple(newer)
    return next((why for claim in older for other in later if (why := _conflict(claim, other))), "")


def _conflict(claim: Claim, other: Claim) -> str:
    if claim.is_conditional or other.is_conditional or not (claim.words.keys() & other.words.keys()):
        return ""
    if _rules_out(claim, other) or _rules_out(other, claim):
        return RULED_OUT
    if claim.is_past != other.is_past:
        return ""
    first, second, opposite = _without_opposites(claim, other)
    only_first, only_second = first - second, second - first
    same_subject = bool(first & second) and not (only_first and only_second)
    different = _different_kinds(claim.values, other.values)
    if (claim.denied != other.denied) != opposite:
        return DENIAL if same_subject and not different else ""
    if opposite or claim.denied or claim.is_past:
        return ""
    extra = sum((only_first + only_second).values())
    if same_subject and len(different) == 1 and extra <= MORE_WORDS:
        kind, lists = different[0], word_lists()
        # A subject can have several of some classes: who speaks Spanish may speak Italian.
        may_be_both = kind in lists["classes"].values() and lists["several"].intersection(first)
        return "" if may_be_both else VALUE.format(kind)
    return PLACE if not different and _other_name(claim.tokens, other.tokens) else ""


def _rules_out(claim: Claim, other: Claim) -> bool:
    """Whether a statement rules out what another says of the same subject."""
    asserted = claim.ruled_out & other.words.keys()
    rest = other.words.keys() - asserted
    return bool(asserted) and not other.denied and bool(rest) and not rest - claim.words.keys()


def _without_opposites(claim: Claim, other: Claim) -> tuple[Counter[str], Counter[str], bool]:
    """The words of both without a pair of opposites, and whether there is an odd number of such pairs."""
    opposites = word_lists()["opposites"]
    first, second, pairs = _with_on(claim, other), _with_on(other, claim), 0
    for word in list(first.keys() - second.keys()):
        sides = opposites.get(word, ())
        for counter in list(second.keys() - first.keys()):
            if any((pair, 1 - side) in opposites.get(counter, ()) for pair, side in sides):
                del first[word], second[counter]
                pairs += 1
                break
    return first, second, pairs % 2 == 1


def _with_on(claim: Claim, other: Claim) -> Counter[str]:
    """The words of a statement; with "on", which says nothing else, if the other has "off"."""
    return Counter(claim.words) + Counter(["on"] if "off" in other.words and "on" in claim.tokens else [])


def _different_kinds(values: Sequence[Value], other: Sequence[Value]) -> list[str]:
    """The kinds of values that both have and that do not agree."""
    kinds = []
    for kind in dict.fromkeys(kind for kind, _ in values):
        left = [parts for name, parts in values if name == kind]
        right = [parts for name, parts in other if name == kind]
        if right and not any(_agree(a, b) for a in left for b in right):
            kinds.append(kind)
    return kinds


def _agree(parts: tuple[float | str | None, ...], other: tuple[float | str | None, ...]) -> bool:
    """Whether two values can be the same: "June" and "June 2026" can, and "2" and "2.1"."""
    return all(a is None or b is None or a == b for a, b in zip(parts, other, strict=False))


def _other_name(tokens: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether two statements are the same but for a name in a place that has only one."""
    lists = word_lists()
    mine, theirs = _without_fill(tokens), _without_fill(other)
    start = 0
    while start < min(len(mine), len(theirs)) and stem(mine[start]) == stem(theirs[start]):
        start += 1
    end = 0
    while end < min(len(mine), len(theirs)) - start and stem(mine[-1 - end]) == stem(theirs[-1 - end]):
        end += 1
    names = mine[start : len(mine) - end], theirs[start : len(theirs) - end]
    if not all(1 <= len(name) <= LONGEST_NAME for name in names) or len(mine) - len(names[0]) < 2:
        return False
    if start == 0:
        return stem(mine[-end]) in lists["one_doer"] and all(name[0][0].isupper() for name in names)
    before = [word.lower() for word in mine[:start]]
    if before[-1] in lists["one_place_prepositions"]:
        return any(stem(word) in lists["one_place"] for word in before)
    if stem(before[-1]) == "use":
        return end >= 2 and mine[len(mine) - end].lower() == "for"
    return before[-1] in ("is", "are") and all(name[0][0].isupper() for name in names)


def _without_fill(tokens: tuple[str, ...]) -> list[str]:
    return [word for word in tokens if word.lower() not in ("the", "a", "an", "our", "my", "now", "currently")]
