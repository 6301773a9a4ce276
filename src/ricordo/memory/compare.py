"""Says which words of two sentences differ, and what that makes of them: the same in other words, parallel (a name,
number or object differs, and both are facts), opposite (both cannot hold), or unrelated.

A linear classifier decides, over how near the meanings of the two are and over what is seen of their words: which are
each other's, what is left over on each side and where, values, denials, what is ruled out (``statements``). Texts of
near meanings are read by a model that sees both together (``models.pairs``), and what it says counts with the rest.
``compare.tsv`` holds the weights, which ``tools/train_compare.py`` writes: for words alone, where there is no cosine of
the model in the package; for words and meaning; and for these and what was read.

The reasons that a text gives do not count, and of texts of several sentences the first ones alone can contradict
each other: the classifier learned from single sentences, and reasons are given in the same words for everything. Long
texts are the same if each sentence of one says the same as one of the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path

from ricordo.frozen import frozen
from ricordo.memory.slots import slot_features
from ricordo.memory.statements import (
    MARKS,
    MOST_STATEMENTS,
    Statement,
    Token,
    first_sentence,
    sentences,
    statement,
    without_reasons,
    word_lists,
)
from ricordo.models.pairs import reading
from ricordo.text.alike import plain_text

SAME, PARALLEL, OPPOSITE, UNRELATED = "same", "parallel", "opposite", "unrelated"
RELATIONS = (SAME, PARALLEL, OPPOSITE, UNRELATED)
"""In the order of the columns of the weights."""
WORDS, MEANING, READ = WEIGHED = ("words", "meaning", "read")
"""What the weights are for, in the order of their columns: words alone, with a cosine, and with what was read."""
RELATED = 0.42
"""Texts whose meanings are farther apart are unrelated; nothing else is looked at."""
SHARED = 0.34
"""Without meanings: statements that share less of the words of the shorter one are unrelated, and not the same if they
share less of the words of the longer one.
"""
MOST_JOINED = 3
"""A text of so many sentences can say the same as another as a whole; longer ones, sentence by sentence."""
NEARLY_ALL = 0.8
"""Texts that share so much of their sentences are nearly the same."""
HOLDS = 0.9
"""How likely a text says the same as one that has all of its sentences and others."""
_WEIGHTS = Path(__file__).with_name("compare.tsv")
_SLIP = 6
"""Shorter words that differ in one letter are mostly different words, not typing errors."""

DENIAL = "one denies what the other says"
RULED_OUT = "one rules out what the other says"
VALUE = "another {}"
NAME = "another name in the same place"
CHANGED = "it has changed since"
OTHER = "it says something else of the same"


@frozen
class Likeness:
    """What two texts are to each other: how likely they are the same, how likely opposite, and what follows."""

    relation: str
    same: float = 0.0
    opposite: float = 0.0
    is_near: bool = False
    """Whether somebody should decide before both are kept: they are the same or opposite, even if not surely which."""
    why: str = ""
    """Of opposite texts, how they contradict each other."""


IDENTICAL = Likeness(SAME, 1.0, 0.0, is_near=True)
FAR = Likeness(UNRELATED)


def compare(older: str, newer: str, cosine: float | None = None, *, read: Sequence[float] | None = None) -> Likeness:
    """What two texts are to each other; ``cosine`` is that of their vectors by the model in the package, ``read`` what
    its reader of pairs says of them.

    >>> compare("Host db1 has 64 GB.", "Host db2 has 64 GB.").relation
    'parallel'
    >>> compare("Use pnpm, not npm.", "Use npm, not pnpm.").relation
    'opposite'
    """
    if plain_text(older) == plain_text(newer):
        return IDENTICAL
    if cosine is not None and cosine < RELATED:
        return FAR
    older, newer = without_reasons(older), without_reasons(newer)
    some, others = dict.fromkeys(sentences(older)), dict.fromkeys(sentences(newer))
    if not some or not others:
        return FAR
    mine = [statement(part) for part in some if part not in others]
    theirs = [statement(part) for part in others if part not in some]
    if not mine or not theirs:  # one holds the other
        return Likeness(PARALLEL if theirs else SAME, HOLDS, is_near=True)
    if len(some) == len(others) == 1:
        return _judged(joined(older), joined(newer), cosine, read)
    shared = 1 - max(len(mine) / len(some), len(theirs) / len(others))
    first = FAR
    if max(len(mine), len(theirs)) <= MOST_STATEMENTS:
        first = _judged(statement(first_sentence(older)), statement(first_sentence(newer)), None)
    if first.relation == OPPOSITE:
        return first
    if max(len(some), len(others)) > MOST_JOINED:
        return _of_long(mine, theirs, shared)
    whole = FAR if shared else _judged(joined(older), joined(newer), cosine, read)
    is_near = first.is_near or whole.relation == SAME or shared >= NEARLY_ALL
    relation = SAME if whole.relation == SAME else PARALLEL if is_near else UNRELATED
    return Likeness(relation, max(first.same, whole.same, shared), is_near=is_near)


def compare_closely(older: str, newer: str, cosine: float | None, least: float) -> Likeness:
    """The same; texts whose meanings are at least so near are read together."""
    older, newer = without_reasons(older), without_reasons(newer)
    read = reading(older, newer) if cosine is not None and cosine >= least else None
    return compare(older, newer, cosine, read=read)


def _of_long(mine: Sequence[Statement], theirs: Sequence[Statement], shared: float) -> Likeness:
    """What two long texts are to each other, by the sentences that only one of them has: the same, if each of those
    says the same as one of the other; near, if they are few.
    """
    if max(len(mine), len(theirs)) > MOST_STATEMENTS:
        return Likeness(PARALLEL, shared, is_near=shared >= NEARLY_ALL)

    def among(one: Statement, rest: Sequence[Statement]) -> bool:
        return any(_judged(one, other, None).relation == SAME for other in rest)

    is_same = all(among(one, theirs) for one in mine) and all(among(one, mine) for one in theirs)
    return Likeness(SAME if is_same else PARALLEL, shared, is_near=is_same or shared >= NEARLY_ALL)


def joined(text: str) -> Statement:
    """A short text as one statement."""
    parts = sentences(text)
    return statement(parts[0] if len(parts) == 1 else text)


@frozen
class RelationWeights:
    """For each relation the weights of what is seen, and from which chances on a relation is told."""

    names: tuple[str, ...]
    table: tuple[tuple[float, ...], ...]
    constant: tuple[float, ...]
    same: float
    opposite: float
    near: float


@cache
def _weights(of: str) -> RelationWeights:
    rows: dict[str, tuple[float, ...]] = {}
    for line in _WEIGHTS.read_text("utf-8").splitlines():
        name, *numbers = line.split("\t")
        if not name.startswith("#"):
            width, place = len(numbers) // len(WEIGHED), WEIGHED.index(of)
            rows[name] = tuple(map(float, numbers[place * width : (place + 1) * width]))
    same, opposite, near = rows.pop("thresholds")
    constant = rows.pop("constant")
    rows = {name: row for name, row in rows.items() if any(row)}
    return RelationWeights(tuple(rows), tuple(rows.values()), constant, same, opposite, near)


def _judged(one: Statement, other: Statement, cosine: float | None, read: Sequence[float] | None = None) -> Likeness:
    if cosine is None and _share_few(one, other):
        return FAR
    found = pairing(one, other)
    weights = _weights(WORDS if cosine is None else MEANING if read is None else READ)
    seen = features(one, other, found, cosine) | (readings(read) if read is not None else {})
    same, parallel, opposite, unrelated = _chances(seen, weights)
    is_near = same + opposite >= weights.near
    if opposite >= weights.opposite and opposite > same:
        return Likeness(OPPOSITE, same, opposite, is_near=True, why=_why(one, other, found))
    is_thin = cosine is None and seen["shared of longer"] < SHARED
    if same >= weights.same and same > opposite and not is_thin:
        return Likeness(SAME, same, opposite, is_near=True)
    return Likeness(PARALLEL if parallel >= unrelated else UNRELATED, same, opposite, is_near=is_near)


def readings(read: Sequence[float]) -> dict[str, float]:
    """What was read, as the classifier takes it: by how much it speaks for each relation."""
    shares = _shared_out(read)
    return {f"read {name}": math.log(share + 0.003) / 6 for name, share in zip(RELATIONS, shares, strict=True)}


def _chances(seen: Mapping[str, float], weights: RelationWeights) -> list[float]:
    sums = list(weights.constant)
    for name, (same, parallel, opposite, unrelated) in zip(weights.names, weights.table, strict=True):
        if value := seen[name]:
            sums[0] += value * same
            sums[1] += value * parallel
            sums[2] += value * opposite
            sums[3] += value * unrelated
    return _shared_out(sums)


def _shared_out(sums: Sequence[float]) -> list[float]:
    highest = max(sums)
    odds = [math.exp(value - highest) for value in sums]
    total = sum(odds)
    return [value / total for value in odds]


def _share_few(one: Statement, other: Statement) -> bool:
    some, others = one.stems | one.ruled_out, other.stems | other.ruled_out
    return len(some & others) < SHARED * min(len(some), len(others), 6)


def _why(one: Statement, other: Statement, found: Pairing) -> str:
    if one.ruled_out & other.stems or other.ruled_out & one.stems:
        return RULED_OUT
    if found.differing:
        value = found.differing[0][1].value
        return VALUE.format(value[0] if value else "value")
    if _denies(one) != _denies(other) or found.opposites:
        return DENIAL
    if any(token.kind == "name" for token in found.first) and any(token.kind == "name" for token in found.second):
        return NAME
    return CHANGED if other.marks["changes"] or other.marks["endings"] else OTHER


@frozen
class Pairing:
    """Which words of two statements are each other's, and which are left over in the first and in the second."""

    matched: Sequence[tuple[Token, Token]]
    near: Sequence[tuple[Token, Token]]
    """Words spelled alike, and synonyms."""
    opposites: Sequence[tuple[Token, Token]]
    differing: Sequence[tuple[Token, Token]]
    """Values of one kind that do not agree."""
    first: Sequence[Token]
    second: Sequence[Token]
    agreeing: int
    """How many values agree."""


def pairing(one: Statement, other: Statement) -> Pairing:
    """Give each word of a statement the one of another that it fits best."""
    mine, theirs = list(one.said), list(other.said)
    agreed = _taken(mine, theirs, _agree)
    matched = [*agreed, *_taken(mine, theirs, lambda token, twin: token.stem == twin.stem and not token.value)]
    differing = [*_taken(mine, theirs, _is_of_kind), *_taken(mine, theirs, _is_akin)]
    matched += _taken(mine, theirs, lambda token, twin: token.stem == twin.stem)
    near = _taken(mine, theirs, _is_spelled_alike)
    opposites = _taken(mine, theirs, _is_opposite)
    near += _taken(mine, theirs, _is_synonym)
    return Pairing(matched, near, opposites, differing, mine, theirs, len(agreed))


def _taken(mine: list[Token], theirs: list[Token], fits: Callable[[Token, Token], bool]) -> list[tuple[Token, Token]]:
    """The pairs of tokens that fit, which are taken out of both lists."""
    pairs = []
    for token in list(mine):
        twin = next((twin for twin in theirs if fits(token, twin)), None)
        if twin is not None:
            mine.remove(token)
            theirs.remove(twin)
            pairs.append((token, twin))
    return pairs


_AMOUNTS = frozenset(("frequency", "duration", "number", "money", "size", "percent", "year"))
_AKIN = (
    frozenset(("date", "weekday", "time", "partday", "ordinal", "season")),
    frozenset(("frequency", "duration", "doubling")),
    frozenset(("number", "money", "size", "percent", "ordinal")),
)


def _agree(token: Token, other: Token) -> bool:
    if token.value is None or other.value is None:
        return False
    (kind, value), (twin, second) = token.value, other.value
    if kind == twin == "date" and not (value % 100 and second % 100):
        return value // 100 == second // 100
    if kind == twin == "year":
        return value == second
    is_amount = kind in _AMOUNTS and (kind == twin or {kind, twin} == {"frequency", "duration"})
    if is_amount or "number" in (kind, twin):
        return twin in _AMOUNTS and kind in _AMOUNTS and abs(value - second) <= 0.04 * max(abs(value), abs(second))
    return kind == twin and value == second


def _is_of_kind(token: Token, other: Token) -> bool:
    return token.value is not None and other.value is not None and token.value[0] == other.value[0]


def _is_akin(token: Token, other: Token) -> bool:
    return (
        token.value is not None
        and other.value is not None
        and any(token.value[0] in akin and other.value[0] in akin for akin in _AKIN)
    )


def _is_spelled_alike(token: Token, other: Token) -> bool:
    """Whether two words are forms of one, or one is a slip of the other; names and numbers never are."""
    one, two = token.stem, other.stem
    if _digits(one) != _digits(two):
        return False
    if one[0] != two[0] or (token.kind == other.kind == "name" and not token.text.islower()):
        return False
    least, most = sorted((len(one), len(two)))
    if least >= 4 and one[:4] == two[:4]:
        start = next((at for at in range(least) if one[at] != two[at]), least)
        if start >= 0.7 * most:
            return True
    if least < _SLIP or most - least > 1 or not (one.isalpha() and two.isalpha()):
        return False
    from rapidfuzz.distance import OSA

    return OSA.distance(one, two, score_cutoff=1) <= 1


def _digits(word: str) -> str:
    return "".join(filter(str.isdigit, word))


def _is_opposite(token: Token, other: Token) -> bool:
    opposites = word_lists()["opposites"]
    sides = opposites.get(token.stem, ())
    return bool(sides) and any((pair, 1 - side) in opposites.get(other.stem, ()) for pair, side in sides)


def _is_synonym(token: Token, other: Token) -> bool:
    lists = word_lists()
    return any(
        not words.get(token.stem, _NONE).isdisjoint(words.get(other.stem, _NONE))
        for words in (lists["same"], lists["opposites"])
    )


_NONE: frozenset[int] = frozenset()


def _denies(one: Statement) -> bool:
    return bool(one.marks["negations"]) != bool(one.marks["forbids"])


def features(one: Statement, other: Statement, found: Pairing, cosine: float | None) -> dict[str, float]:
    """What is seen of two statements, each about from 0 to 1."""
    seen = _of_words(one, other, found)
    for part in (_of_marks, _of_order, slot_features):
        seen |= part(one, other, found)
    if seen["aside"]:
        seen |= dict.fromkeys(("values differ", "value differs, nothing left", "value differs, left on one side"), 0.0)
    near = cosine or 0.0
    denied = seen["polarity differs"]
    both = seen["left on both sides"]
    is_other = seen["subjects"] and seen["subject shared"] < 1.0
    seen |= {
        "cosine": near,
        "cosine high": max(0.0, near - 0.7) * 3,
        "cosine & words": near * seen["shared of longer"],
        "cosine beyond words": max(0.0, near - seen["shared of longer"]),
        "cosine & denied": near * denied,
        "cosine & changed": near
        * (seen["changes newer"] or seen["changes older"] or seen["ends newer"] or seen["ends older"]),
        "cosine & agrees": near * (1 - denied) * (not found.differing),
        "cosine & English": near * seen["English"],
        "denied, left on one side": denied * (not both and bool(found.first or found.second)),
        "denied, left on both": denied * both,
        "denied, nothing left": denied * seen["nothing left"],
        "denied, another subject": denied * bool(is_other),
        "opposites, another subject": bool(found.opposites and is_other),
        "value differs, another subject": bool(found.differing and is_other),
        "denied, same predicate": denied * (seen["predicate shared"] == 1.0),
    }
    return seen


_CHANGED = ("changes newer", "changes older", "ends newer", "ends older")


def _of_words(one: Statement, other: Statement, found: Pairing) -> dict[str, float]:
    """How much the two share, and what is left over."""
    sizes = max(1, len(one.said)), max(1, len(other.said))
    shared = len(found.matched) + 0.8 * len(found.near) + 0.5 * len(found.opposites)
    low, high = sorted((len(found.first), len(found.second)))
    names = sorted(sum(token.kind == "name" for token in tokens) for tokens in (found.first, found.second))
    values = [any(token.value for token in tokens) for tokens in (found.first, found.second)]
    differing = bool(found.differing)
    return {
        "shared of longer": shared / max(sizes),
        "shared of shorter": shared / min(sizes),
        "near words": min(3, len(found.near)) / 3,
        "opposites": bool(found.opposites),
        "left fewer": min(low, 4) / 4,
        "left more": min(high, 6) / 6,
        "left none": high == 0,
        "left on both sides": low > 0,
        "nothing left": high == 0 and not differing,
        "names on both sides": min(names[0], 2) / 2,
        "names on one side": min(names[1], 2) / 2 if not names[0] else 0.0,
        "serial names": any(
            token.kind == twin.kind == "name" and _series(token.text) == _series(twin.text) != ""
            for token in found.first
            for twin in found.second
        ),
        "values agree": min(found.agreeing, 2) / 2,
        "values differ": min(len(found.differing), 2) / 2,
        "value on one side": values[0] != values[1],
        "value on both sides": values[0] and values[1],
        "value differs, nothing left": differing and high == 0,
        "value differs, left on one side": differing and low == 0 < high,
        "length": min(sum(sizes), 30) / 30,
        "length differs": abs(sizes[0] - sizes[1]) / max(sizes),
        "English": one.english and other.english,
    }


def _series(text: str) -> str:
    """The letters of a name that has a number, such as ``db1``, or is one; "" for others."""
    if not any(map(str.isdigit, text)):
        return ""
    return "".join(sign for sign in text.lower() if sign.isalpha()) or "#"


def _of_marks(one: Statement, other: Statement, found: Pairing) -> dict[str, float]:
    """What turns or binds one of the two: denials, duties, changes, what is ruled out."""
    older, newer = ({name: bool(each.marks[name]) for name in MARKS} for each in (one, other))
    is_odd = len(found.opposites) % 2 == 1
    out, twin = one.ruled_out & other.stems, other.ruled_out & one.stems
    seen: dict[str, float] = {
        "polarity differs": (_denies(one) != _denies(other)) != is_odd,
        "denied both": older["negations"] and newer["negations"],
        "ends newer": newer["endings"] > older["endings"],
        "ends older": older["endings"] > newer["endings"],
        "changes newer": newer["changes"] > older["changes"],
        "changes older": older["changes"] > newer["changes"],
        "past newer": newer["past"] > older["past"],
        "past older": older["past"] > newer["past"],
        "rules out": bool(out or twin),
        "rule each other out": bool(out and twin),
        "rule out the same": bool(one.ruled_out & other.ruled_out),
        "rule out others": bool(one.ruled_out and other.ruled_out and not one.ruled_out & other.ruled_out),
    }
    for name in ("negations", "must", "may", "all_of", "only", "also", "conditions"):
        seen[f"{name} differs"] = older[name] != newer[name]
    return seen


def _of_order(one: Statement, other: Statement, found: Pairing) -> dict[str, float]:
    """Where the two differ: how they begin and end, and whether in the subject or in what is said of it."""
    lists = word_lists()
    stems = one.order, other.order
    least, most = sorted(map(len, stems))
    start = next((at for at in range(least) if stems[0][at] != stems[1][at]), least)
    end = next((at for at in range(least - start) if stems[0][-1 - at] != stems[1][-1 - at]), least - start)
    gap = most - start - end
    pairs = sorted((mine.place, theirs.place) for mine, theirs in (*found.matched, *found.near))
    swaps = sum(before[1] > after[1] for at, before in enumerate(pairs) for after in pairs[at + 1 :])
    all_pairs = len(pairs) * (len(pairs) - 1) / 2
    first, second = found.first, found.second
    subjects, predicates = _shares(one, other, found)
    has_subjects = min(subjects) >= 0
    last = [each.said[-1].stem if each.said else "" for each in (one, other)]
    opening = [each.said[0].stem if each.said else "" for each in (one, other)]
    is_swapped = bool(swaps and not first and not second and not found.differing)
    return {
        "begins alike": start / most,
        "ends alike": end / most,
        "frame": (start + end) / most,
        "one word between": gap == 1 and len(stems[0]) == len(stems[1]),
        "gap": min(gap, 8) / 8,
        "begins otherwise": start == 0,
        "ends otherwise": end == 0,
        "opened by a word of its own": opening[0] not in other.stems and opening[1] not in one.stems,
        "same last word": last[0] == last[1],
        "swapped": swaps / all_pairs if all_pairs else 0.0,
        "swapped, nothing left": is_swapped and _is_passive(one) == _is_passive(other),
        "same words, other order": stems[0] != stems[1] and sorted(stems[0]) == sorted(stems[1]),
        "swapped, one passive": is_swapped and _is_passive(one) != _is_passive(other),
        "several": bool(one.stems & other.stems & lists["several"]),
        "subjects": has_subjects,
        "subject shared": min(subjects) if has_subjects else 0.0,
        "predicate shared": max(0.0, min(predicates)),
        "other predicate": max(predicates) <= 0,
    }


_BY = frozenset(("by", "von", "par", "por", "da", "pela", "pelo", "dal", "been", "be", "who", "what", "which"))


def _is_passive(one: Statement) -> bool:
    return any(token.text.lower() in _BY for token in one.tokens)


def _shares(one: Statement, other: Statement, found: Pairing) -> tuple[list[float], list[float]]:
    """Of the subject of each, and of what is said of it, the share that the other has; -1 where there is none."""
    pairs = (*found.matched, *found.near)
    subjects: list[float] = []
    predicates: list[float] = []
    for side, each in enumerate((one, other)):
        known = {pair[side].place for pair in pairs}
        for shares, wanted in ((subjects, True), (predicates, False)):
            part = [token.place in known for token in each.said if (token.place < each.verb) == wanted]
            shares.append(sum(part) / len(part) if part else -1.0)
    return subjects, predicates
