"""Says in which slot of a sentence two statements differ (its subject, verb, object, place …), what differs there
(names, values, words), and whether the slot can hold one thing only.

The office *is in Lisbon* and *is in Porto* cannot both hold, but the parser *supports YAML* and *supports TOML* can,
and so can what is said of *staging* and of *production*. The words that are known are data (``statements.toml``).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ricordo.frozen import frozen
from ricordo.memory.statements import Statement, Token, word_lists

if TYPE_CHECKING:
    from ricordo.memory.compare import Pairing

_PREPOSITIONS = {
    word: slot
    for slot, words in {
        "in": "in on at inside under over near behind onto into to im am auf a à en dans em na",
        "for": "for of about für de des du di da del della von",
        "by": "with via through using from as than par por mit",
        "when": "before after until till since during within between every each per by",
    }.items()
    for word in words.split()
}
_TIMES = frozenset(("weekday", "time", "date", "partday", "ordinal", "season", "year"))
_AMOUNTS = frozenset(("number", "money", "size", "percent", "duration", "frequency", "doubling"))
_SLOTS = ("subject", "of subject", "verb", "object", "in", "for", "by", "when")
_KINDS = ("name", "time", "amount", "class", "scope", "word")


_OPENING = re.compile(r"(?:in|on|at|for|during|before|after|until|since|with)\b[^,.;:]{2,40}(?=,)", re.IGNORECASE)


def slot(token: Token, statement: Statement) -> str:
    """Where a token stands: by whether the verb has come, and by the preposition before its group of words."""
    tokens, place = statement.tokens, token.place
    if token.kind == "word" and _is_main_verb(token, statement):
        return "verb"
    after = place > statement.verb or not statement.verb
    for at in range(place - 1, -1, -1):
        before = tokens[at]
        if before.kind == "light":
            found = _PREPOSITIONS.get(before.text.lower())
            if found:
                return found if after and (at > statement.verb or not statement.verb) else "of subject"
            if before.text.lower() not in word_lists()["definite"] and before.text.lower() not in ("a", "an"):
                break
        elif at == statement.verb:
            break
    return "object" if after else "subject"


def _is_main_verb(token: Token, statement: Statement) -> bool:
    """Whether it is the verb, or the one beside an auxiliary: "is *deleted*", "may *rename*"."""
    place, verb = token.place, statement.verb
    if place <= verb:
        return place == verb and (bool(place) or token.text.lower() in word_lists()["orders"])
    between = statement.tokens[verb:place]
    if any(each.kind != "light" and each.text.lower() not in word_lists()["auxiliaries"] for each in between):
        return False
    if any(each.text.lower() in word_lists()["definite"] or each.text.lower() in _PREPOSITIONS for each in between):
        return False
    is_copula = between[-1].text.lower() in word_lists()["being"] or between[0].text.lower() in word_lists()["being"]
    return (
        token.text.lower().endswith(("ed", "en"))
        if is_copula
        else between[0].text.lower() in word_lists()["auxiliaries"]
    )


def _is_past(statement: Statement) -> bool:
    """Whether it tells what was: "we *used to* deploy", "Ada *led* the team"."""
    if not statement.tokens or "used to" in statement.text.lower():
        return bool(statement.tokens)
    verb = statement.tokens[statement.verb].text.lower()
    return verb in word_lists()["pasts"] or (
        statement.verb > 0 and verb.endswith("ed") and verb not in ("need", "used")
    )


def _is_modifier(token: Token, statement: Statement) -> bool:
    """Whether a word belongs to the one after it: "staging" in "the staging server"."""
    at = token.place + 1
    return at < len(statement.tokens) and at != statement.verb and statement.tokens[at].kind in ("word", "name")


def _kind(token: Token) -> str:
    if token.stem in word_lists()["scopes"]:
        return "scope"
    if token.value is None:
        return "name" if token.kind == "name" else "word"
    return "time" if token.value[0] in _TIMES else "amount" if token.value[0] in _AMOUNTS else "class"


@frozen
class Differing:
    """In which slots two statements differ."""

    one: Statement
    other: Statement
    found: Pairing
    first: Sequence[Token]
    second: Sequence[Token]
    slots: Sequence[str]
    """Of each token that differs, in the first and then in the second."""
    both: bool
    """Whether each has something that the other has not."""
    single: bool
    """Whether there is one slot only."""
    alone: bool
    """Whether one word stands in the place of one other."""
    in_subject: bool
    kinds: frozenset[str]
    """What both have where they differ: names, times, words …"""


def _differing(one: Statement, other: Statement, found: Pairing) -> Differing:
    pairs = (*found.differing, *found.opposites)
    first = [*found.first, *(pair[0] for pair in pairs)]
    second = [*found.second, *(pair[1] for pair in pairs)]
    slots = [*(slot(token, one) for token in first), *(slot(token, other) for token in second)]
    single = len(set(slots)) == 1
    kinds = frozenset(map(_kind, first)) & frozenset(map(_kind, second))
    in_subject = "subject" in slots or "of subject" in slots
    both, alone = bool(first and second), single and len(first) == len(second) == 1
    return Differing(one, other, found, first, second, slots, both, single, alone, in_subject, kinds)


def slot_features(one: Statement, other: Statement, found: Pairing) -> dict[str, float]:
    """Which slots differ, by what, and what is known of them."""
    differing = _differing(one, other, found)
    seen = dict.fromkeys(NAMES, 0.0)
    times = _of_times(differing)
    parts = [times, _of_denials(differing)]
    if not times["aside"]:  # of what was once, or holds elsewhere, the slots say nothing
        parts += [_of_slots(differing), _of_traits(differing)]
    for part in parts:
        seen |= part
    return seen


def _of_slots(differing: Differing) -> dict[str, float]:
    """Which slots differ, and by what."""
    both, slots = differing.both, differing.slots
    seen: dict[str, float] = {}
    for name in set(slots):
        seen[f"other {name}" if both else f"added {name}"] = slots.count(name) / len(slots) if both else 1.0
        if both and differing.single:
            seen[f"only {name}"] = 1.0
    for name in differing.kinds:
        seen[f"both {name}"] = 1.0
        if differing.alone:
            seen[f"one {name}"] = 1.0
    opposites = len(differing.found.opposites)
    seen["only opposites"] = bool(opposites) and len(differing.first) == len(differing.second) == opposites
    seen["only opposites, not of the subject"] = seen["only opposites"] and not differing.in_subject
    sides = ((differing.first, differing.one), (differing.second, differing.other))
    seen["modifier"] = both and all(any(_is_modifier(token, each) for token in tokens) for tokens, each in sides)
    return seen


def _of_traits(differing: Differing) -> dict[str, float]:
    """Whether what is shared can be said of one thing only: "is the owner of", "is born in", "supports"."""
    one, other, lists = differing.one, differing.other, word_lists()
    if not differing.both:
        return {}
    verbs = {token.stem for token, _ in (*differing.found.matched, *differing.found.near) if token.kind == "word"}
    shared = {token.text.lower() for token in one.tokens} & {token.text.lower() for token in other.tokens}
    traits = {
        "copula": bool(shared & lists["copulas"]),
        "several": bool(verbs & lists["several"]),
        "place verb": bool(verbs & lists["one_place"]),
        "doer verb": bool(verbs & lists["one_doer"]),
        "use": bool(shared & {"use", "uses", "used"}),
        "have": bool(shared & {"have", "has"}),
        "definite": _begins(one, "definite") and _begins(other, "definite"),
        "person": _begins(one, "subjects") and _begins(other, "subjects"),
        "imperative": _is_imperative(one) and _is_imperative(other),
        "default": bool(verbs & lists["exclusive"]),
    }
    seen: dict[str, float] = {}
    for trait, holds in traits.items():
        seen[f"{trait}, rest differs"] = holds and not differing.in_subject
        seen[f"{trait}, subject differs"] = holds and differing.in_subject
        seen[f"{trait}, one differs"] = holds and differing.alone and not differing.in_subject
    if set(differing.slots) <= {"subject", "of subject"}:
        subjects = [{token.stem for token in each.said if token.place < each.verb} for each in (one, other)]
        is_whole, named = subjects[0].isdisjoint(subjects[1]), "name" in differing.kinds
        is_identity = all(
            token.text.lower() in lists["definite"] for each in (one, other) for token in _after_verb(each)
        ) and all(map(_after_verb, (one, other)))
        seen |= {
            "subject replaced": is_whole,
            "subject refined": not is_whole,
            "replaced, identity": is_whole and traits["copula"] and is_identity,
            "replaced, doer": is_whole and traits["doer verb"],
            "replaced, names": is_whole and named,
            "replaced, doer, names": is_whole and traits["doer verb"] and named,
            "replaced, definite object": is_whole and not traits["copula"] and is_identity,
        }
    return seen


def _after_verb(statement: Statement) -> Sequence[Token]:
    return statement.tokens[statement.verb + 1 : statement.verb + 2]


def _of_times(differing: Differing) -> dict[str, float]:
    """Whether one of the two tells what was, or what holds under a condition only."""
    one, other, both = differing.one, differing.other, differing.both
    turns = any(each.marks["changes"] or each.marks["endings"] for each in (one, other))
    is_past = not turns and _is_past(one) != _is_past(other)
    scopes = [_scope(each) for each in (one, other)]
    is_scoped = scopes[0] != scopes[1] and not (scopes[0] <= other.stems and scopes[1] <= one.stems)
    conditions = bool(one.marks["conditions"]) != bool(other.marks["conditions"])
    return {
        "aside": (is_past or is_scoped or conditions) and both,
        "past, both left": is_past and both,
        "past, added": is_past and not both,
        "past, value": is_past and bool(differing.found.differing),
        "condition, both left": conditions and both,
        "condition, added": conditions and not both,
        "scoped, both left": is_scoped and both,
        "scoped, added": is_scoped and not both,
        "scoped, value": is_scoped and bool(differing.found.differing),
        "roles swapped": _are_swapped(one, other),
        "fronted": _is_fronted(one, other),
    }


def _are_swapped(one: Statement, other: Statement) -> bool:
    """Whether the subject of each is what the other says something of: "Ada trains Bob", "Bob trains Ada"."""
    if sorted(one.order) != sorted(other.order) or _is_fronted(one, other):
        return False
    subject, its = ({token.stem for token in each.said if token.place < each.verb} for each in (one, other))
    return bool(subject) and bool(its) and subject.isdisjoint(its)


def _scope(statement: Statement) -> frozenset[str]:
    """What it holds for, by how it begins: "*in August*, Timo writes it"."""
    opening = _OPENING.match(statement.text)
    if opening is None:
        return frozenset()
    count = len(opening.group().split())
    return frozenset(token.stem for token in statement.said if token.place < count)


def _of_denials(differing: Differing) -> dict[str, float]:
    """What is denied or over in one of the two, and where they differ besides."""
    both, lists = differing.both, word_lists()
    sides = (differing.one, differing.other)
    off = [
        bool(each.marks["negations"]) != bool(each.marks["forbids"]) or bool(each.marks["endings"]) for each in sides
    ]
    denials = [int(each.marks["negations"] + each.marks["forbids"]) for each in sides]
    differs = (denials[0] - denials[1]) % 2 == 1
    restricted = any(
        each.marks["only"] or not lists["restricting"].isdisjoint(token.text.lower() for token in each.tokens)
        for each in sides
    )
    return {
        "off differs": off[0] != off[1],
        "off differs, nothing else": off[0] != off[1] and not both,
        "off both": all(off),
        "denials odd": differs,
        "denied twice": max(denials) > 1,
        "denied, restricted": differs and restricted,
        "denied, opposites": differs and bool(differing.found.opposites),
        "denied, rest added": differs and not both and not differing.in_subject,
        "denied, subject differs": differs and both and differing.in_subject,
        "denied, one differs": differs and both and differing.single,
    }


def _is_fronted(one: Statement, other: Statement) -> bool:
    """Whether the two have the same parts in another order: "by default it is on", "it is on by default";
    "Confluence is our wiki", "our wiki is Confluence".
    """
    order, wanted, verb = one.order, other.order, one.verb
    if len(order) != len(wanted) or order == wanted:
        return False
    if verb and one.tokens[verb].text.lower() in word_lists()["copulas"]:
        turned = order[verb + 1 :] + order[verb : verb + 1] + order[:verb]
        if turned == wanted:
            return True
    return any(order[at:] + order[:at] == wanted for at in range(1, len(order)))


_TRAITS = (
    "copula",
    "several",
    "place verb",
    "doer verb",
    "use",
    "have",
    "definite",
    "person",
    "imperative",
    "default",
)
NAMES = (
    *(f"{what} {name}" for what in ("other", "added", "only") for name in _SLOTS),
    *(f"{what} {name}" for what in ("both", "one") for name in _KINDS),
    *(f"{trait}, {what}" for trait in _TRAITS for what in ("rest differs", "subject differs", "one differs")),
    *("only opposites", "only opposites, not of the subject", "modifier"),
    *(f"subject {what}" for what in ("replaced", "refined")),
    *(f"replaced, {what}" for what in ("identity", "doer", "names", "doer, names", "definite object")),
)


def _begins(statement: Statement, words: str) -> bool:
    return bool(statement.tokens) and statement.tokens[0].text.lower() in word_lists()[words]


def _is_imperative(statement: Statement) -> bool:
    return not statement.verb and bool(statement.tokens) and statement.tokens[0].text.lower() in word_lists()["orders"]
