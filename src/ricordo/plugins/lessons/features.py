"""What is seen of a sentence beside its meaning: how it begins, whom it speaks of, whether it asks, quotes or points at
the moment. The words that show it are data (``words.toml``).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from ricordo.patterns import late
from ricordo.plugins.lessons.messages import HIDDEN, Sentence
from ricordo.text.languages import ENGLISH, language_of

LONG = 12
"""More words than this do not make a sentence any more likely to be worth keeping."""
_CODE = late(r"`|\w[_/]\w|\w\(\)|--\w|\w\.\w{2,4}\b|[a-z][A-Z]|\w\d|\d\w")
_NUMBER = late(r"\d")
_NAME = late(r"(?<=[a-z,;)] )[A-Z][a-z]")
_CAPITALS = late(r"\b[A-Z]{2,}\b")
_NO = late(
    r"^\W*(?:no+|nope|nah|wrong|stop|wait|actually|nein|nee|falsch|non|não)\b(?!\s+(?:\w+\s+){0,2}(?:in|on|for)\b)"
)
_CONTRAST = late(r"[,;] (?:and |but )?(?:not|never|no|nicht|kein\w*|pas|no|não)\b")
_PAIR = late(r"\b(?:on|at|to|in|from|by|for|through|via) (?:the )?[\w`.-]*[A-Z\d_`/.-][\w`./-]*")
_ALWAYS_DO = late(
    r"^(?:bitte |por favor |please )?(?:ne |n'|no |não |non )?[^\W\d]\S* (?:\S+ )?(?:immer|nie|niemals|stets"
    r"|toujours|jamais|siempre|nunca|sempre|mai)\b",
    re.IGNORECASE,
)
_REPORTS = late(
    r"^(?:I|I've|I’ve|Done|Added|Removed|Fixed|Renamed|Changed|Moved|Wrote|Created|Updated|Set|Used|Here)\b"
)
_CITES = late(r"^\s*[\"“«„'‘]|[:]\s*[\"“«„'‘·]")
_SPACES = re.compile(r"\s+")
_EAST_ASIAN = re.compile("[\u3040-\u30ff\u4e00-\u9fff]")


@cache
def _table() -> Mapping[str, Mapping[str, str]]:
    import tomllib

    return tomllib.loads(Path(__file__).with_name("words.toml").read_text("utf-8"))


@cache
def _patterns(english: bool) -> Mapping[str, re.Pattern[str]]:
    """An expression for each list of words, by its name."""
    patterns = {}
    for group, lists in _table().items():
        for name, words in lists.items():
            ours, _, others = words.partition("|")
            parts = [" ".join(word.split()) for word in (ours if english else f"{ours},{others}").split(",")]
            patterns[f"{group} {name}"] = _expression([part for part in parts if part], opens=group != "anywhere")
    return patterns


def _expression(words: list[str], *, opens: bool) -> re.Pattern[str]:
    """One expression for a list; where there are no spaces between words, they may stand within others."""
    apart = [re.escape(word).replace(r"\*", r"\w*") for word in words if not _EAST_ASIAN.search(word)]
    either = "|".join(sorted(apart, key=len, reverse=True))
    start = "" if opens else r"(?<![\w'])"
    within = (re.escape(word) for word in words if _EAST_ASIAN.search(word))
    return re.compile("|".join((rf"{start}(?:{either})(?![\w'])", *within)), re.IGNORECASE)


def features(sentence: Sentence) -> dict[str, float]:
    """Each thing that is seen of a sentence, by name; what is not seen is left out or 0."""
    bare = _SPACES.sub(" ", sentence.bare.replace("’", "'").replace(HIDDEN, "")).strip()
    spoken = language(sentence)
    patterns = _patterns(spoken == ENGLISH)
    seen: dict[str, float] = {}
    opening = _without_lead(bare, patterns["lead words"])
    for name, pattern in patterns.items():
        group = name.partition(" ")[0]
        if group == "opening":
            seen[name] = float(pattern.match(opening) is not None)
        elif group == "anywhere":
            seen[name] = min(2.0, len(pattern.findall(bare)))
    after = _without_lead(sentence.after, patterns["lead words"])
    seen["before a request"] = float(patterns["opening task_verb"].match(after) is not None)
    seen.update(_shape(sentence, bare, spoken))
    seen.update(_together(seen))
    return seen


def language(sentence: Sentence) -> str:
    """The language of a sentence, or of its message if it is too short to tell."""
    return language_of(sentence.text) or language_of(sentence.message)


def _without_lead(text: str, lead: re.Pattern[str]) -> str:
    start = 0
    while (match := lead.match(text, start)) is not None and match.end() > start:
        start = match.end()
        while start < len(text) and not text[start].isalnum():
            start += 1
    return text[start:] or text


def _shape(sentence: Sentence, bare: str, spoken: str) -> dict[str, float]:
    text = sentence.text
    words = len(bare.split()) if not _EAST_ASIAN.search(bare) else len(bare) / 2
    quoted = sentence.bare.count(HIDDEN) / max(1, len(sentence.bare))
    return {
        "asks": float(sentence.asks),
        "question mark": float("?" in bare or "？" in bare),
        "exclaims": float("!" in bare),
        "full stop": float(text.endswith((".", "。"))),
        "small letter": float(text[:1].islower()),
        "length": math.log(1 + min(words, LONG)) - 2.0,
        "very short": float(words < 4),
        "short": float(words < 7),
        "long": float(words > 2 * LONG),
        "quoted": quoted,
        "quotes": float(quoted > 0.25),
        "quotes someone": float(_CITES.search(sentence.bare) is not None and quoted > 0.2),
        "code": float(_CODE.search(text) is not None),
        "number": float(_NUMBER.search(bare) is not None),
        "name": float(_NAME.search(bare) is not None),
        "capitals": float(_CAPITALS.search(bare) is not None),
        "comma": min(3.0, bare.count(",") + bare.count("，") + bare.count("、")),
        "colon": float(": " in bare),
        "semicolon": float(";" in bare),
        "brackets": float("(" in bare),
        "contrast": float(_CONTRAST.search(bare) is not None),
        "somewhere": float(_PAIR.search(bare) is not None),
        "contradicts": float(_NO.search(bare) is not None),
        "always do": float(_ALWAYS_DO.search(bare) is not None and "?" not in bare),
        "dots": float("..." in bare or "…" in bare),
        "not English": float(bool(spoken) and spoken != ENGLISH),
        "no spaces": float(_EAST_ASIAN.search(bare) is not None),
        "after a question": float(sentence.before.rstrip().endswith(("?", "？"))),
        "opens session": float(sentence.opens_session),
        "before a question": float(sentence.after.endswith(("?", "？"))),
        "after a report": float(_REPORTS.search(sentence.before) is not None),
    }


def _together(seen: Mapping[str, float]) -> Iterator[tuple[str, float]]:
    """What means something else together than alone."""
    for names in PAIRS:
        yield " & ".join(names), float(all(seen[name] > 0 for name in names))


PAIRS = (
    ("opens session", "before a request"),
    ("opens session", "before a question"),
    ("always do", "opening task_verb"),
    ("always do", "opening rule_verb"),
    ("anywhere standing", "not English"),
    ("opening standing", "not English"),
    ("opening standing", "anywhere must"),
    ("opening standing", "anywhere this_here"),
    ("opening standing", "anywhere moment"),
    ("opening standing", "anywhere chatter"),
    ("opening standing", "short"),
    ("opening standing", "anywhere rather_than"),
    ("opening the_thing", "anywhere must"),
    ("opening the_thing", "anywhere should_do"),
    ("opening it_is", "anywhere should_do"),
    ("anywhere should_do", "anywhere our"),
    ("anywhere should_do", "anywhere standing"),
    ("opening task_verb", "long"),
    ("opening task_verb", "comma"),
    ("opening question_word", "asks"),
    ("opening we_do", "anywhere standing"),
    ("opening we_do", "anywhere moment"),
    ("opening we_do", "anywhere decide"),
    ("opening i_do", "anywhere prefer"),
    ("opening i_do", "anywhere was"),
    ("anywhere state_now", "anywhere moment"),
    ("anywhere state_now", "anywhere was"),
    ("anywhere it_them", "anywhere state_now"),
    ("opening task_verb", "anywhere standing"),
    ("opening task_verb", "anywhere all_of"),
    ("opening task_verb", "anywhere reason"),
    ("opening task_verb", "anywhere this_here"),
    ("opening task_verb", "anywhere it_them"),
    ("opening task_verb", "short"),
    ("opening rule_verb", "anywhere this_here"),
    ("opening rule_verb", "anywhere all_of"),
    ("opening prohibition", "anywhere this_here"),
    ("opening prohibition", "anywhere moment"),
    ("opening prohibition", "anywhere reason"),
    ("anywhere standing", "asks"),
    ("anywhere standing", "anywhere i_past"),
    ("anywhere standing", "anywhere others_say"),
    ("anywhere standing", "anywhere chatter"),
    ("anywhere must", "anywhere others_say"),
    ("anywhere our", "anywhere fact_verb"),
    ("anywhere our", "anywhere was"),
    ("anywhere our", "anywhere moment"),
    ("anywhere decide", "anywhere reason"),
    ("anywhere decide", "anywhere others_say"),
    ("anywhere decide", "anywhere our"),
    ("anywhere fact_verb", "anywhere reason"),
    ("anywhere fact_verb", "anywhere moment"),
    ("anywhere fact_verb", "name"),
    ("anywhere fact_verb", "number"),
    ("anywhere fact_verb", "code"),
    ("anywhere others_say", "quotes"),
    ("anywhere others_say", "anywhere they"),
    ("anywhere prefer", "anywhere reason"),
    ("anywhere prefer", "anywhere hedge"),
    ("anywhere i_my", "anywhere was"),
    ("anywhere state_now", "short"),
    ("anywhere chatter", "short"),
    ("opening it_is", "short"),
    ("contradicts", "anywhere fact_verb"),
    ("contradicts", "short"),
)
