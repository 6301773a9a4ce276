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

from collections import Counter
from collections.abc import Iterable

from ricordo.memory.statements import Claim, Value, known_words, statements, stem

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
    return next((why for one in older for other in later if (why := _conflict(one, other))), "")


def _conflict(one: Claim, other: Claim) -> str:
    if one.is_conditional or other.is_conditional or not (one.words.keys() & other.words.keys()):
        return ""
    if _rules_out(one, other) or _rules_out(other, one):
        return RULED_OUT
    if one.is_past != other.is_past:
        return ""
    first, second, opposite = _without_opposites(one, other)
    only_first, only_second = first - second, second - first
    same_subject = bool(first & second) and not (only_first and only_second)
    different = _different_kinds(one.values, other.values)
    if (one.denied != other.denied) != opposite:
        return DENIAL if same_subject and not different else ""
    if opposite or one.denied or one.is_past:
        return ""
    extra = sum((only_first + only_second).values())
    if same_subject and len(different) == 1 and extra <= MORE_WORDS:
        return "" if _may_be_both(different[0], first) else VALUE.format(different[0])
    return PLACE if not different and _other_name(one.tokens, other.tokens) else ""


def _rules_out(one: Claim, other: Claim) -> bool:
    """Whether a statement rules out what another says of the same subject."""
    asserted = one.ruled_out & other.words.keys()
    rest = other.words.keys() - asserted
    return bool(asserted) and not other.denied and bool(rest) and not rest - one.words.keys()


def _without_opposites(one: Claim, other: Claim) -> tuple[Counter[str], Counter[str], bool]:
    """The words of both without a pair of opposites, and whether there is an odd number of such pairs."""
    opposites = known_words()["opposites"]
    first, second, pairs = _with_on(one, other), _with_on(other, one), 0
    for word in list(first.keys() - second.keys()):
        sides = opposites.get(word, ())
        for counter in list(second.keys() - first.keys()):
            if any((pair, 1 - side) in opposites.get(counter, ()) for pair, side in sides):
                del first[word], second[counter]
                pairs += 1
                break
    return first, second, pairs % 2 == 1


def _with_on(one: Claim, other: Claim) -> Counter[str]:
    """The words of a statement; with "on", which says nothing else, if the other has "off"."""
    return Counter(one.words) + Counter(["on"] if "off" in other.words and "on" in one.tokens else [])


def _different_kinds(one: Iterable[Value], other: Iterable[Value]) -> list[str]:
    """The kinds of values that both have and that do not agree."""
    found = []
    mine, others = list(one), list(other)
    for kind in dict.fromkeys(kind for kind, _ in mine):
        left = [parts for name, parts in mine if name == kind]
        right = [parts for name, parts in others if name == kind]
        if right and not any(_agree(a, b) for a in left for b in right):
            found.append(kind)
    return found


def _may_be_both(kind: str, words: Iterable[str]) -> bool:
    """Whether a subject can have several of a class: who speaks Spanish may speak Italian."""
    known = known_words()
    return kind in known["classes"].values() and bool(known["several"].intersection(words))


def _agree(one: tuple[float | str | None, ...], other: tuple[float | str | None, ...]) -> bool:
    """Whether two values can be the same: "June" and "June 2026" can, and "2" and "2.1"."""
    return all(a is None or b is None or a == b for a, b in zip(one, other, strict=False))


def _other_name(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether two statements are the same but for a name in a place that has only one."""
    known = known_words()
    mine, theirs = _without_fill(one), _without_fill(other)
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
        return stem(mine[-end]) in known["one_doer"] and all(name[0][0].isupper() for name in names)
    before = [word.lower() for word in mine[:start]]
    if before[-1] in known["one_place_prepositions"]:
        return any(stem(word) in known["one_place"] for word in before)
    if stem(before[-1]) == "use":
        return end >= 2 and mine[len(mine) - end].lower() == "for"
    return before[-1] in ("is", "are") and all(name[0][0].isupper() for name in names)


def _without_fill(tokens: tuple[str, ...]) -> list[str]:
    return [word for word in tokens if word.lower() not in ("the", "a", "an", "our", "my", "now", "currently")]
