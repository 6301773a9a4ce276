"""Describes sessions and turns by small sets of rules (docs/sessions.md).

``facets.toml`` has the phrases and words that the rules look for.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence

from ricordo.context.facet_rules import phrases, topic_words, word_list
from ricordo.context.tally import Tally
from ricordo.text.mentions import mentioned
from ricordo.text.words import Analyzer
from ricordo.values.sessions import SessionFacets, TurnFacets

Frequencies = Callable[[Collection[str]], tuple[int, Mapping[str, int]]]

SPOKEN = 600
"""How many characters the rules look at: the beginning shows how a message is meant, the rest is mostly material."""

_DENIED = re.compile(r"\b(?:not|isn'?t|wasn'?t|never|hardly|far\ from)\s+(?:\w+\s+)?$", re.IGNORECASE)
_INTERRUPTED = "[Request interrupted by user"


def turn_facets(text: str) -> TurnFacets:
    """How a user's message judges the answer before it.

    >>> turn_facets("No, that's wrong. I said Porto!").correction
    True
    >>> turn_facets("Perfect, thanks! Now add tests.").sentiment > 0
    True
    """
    if text.startswith(_INTERRUPTED):
        return TurnFacets(-0.3, correction=True)
    spoken = text[:SPOKEN]
    correction = phrases("correction").search(spoken) is not None
    frustration = phrases("frustration").search(spoken) is not None or _is_shouted(spoken)
    praise = any(not _DENIED.search(spoken[: match.start()]) for match in phrases("praise").finditer(spoken))
    mood = 0.6 * praise - 0.4 * correction - 0.6 * frustration
    return TurnFacets(round(max(-1.0, min(1.0, mood)), 2), correction, frustration, praise)


def is_only_praise(text: str) -> bool:
    """Whether a message thanks or praises and asks for nothing.

    >>> is_only_praise("Thanks, great work!"), is_only_praise("Perfect. Now add tests.")
    (True, False)
    """
    facets = turn_facets(text)
    if not facets.praise or facets.correction or "?" in text:
        return False
    return word_list("beside_praise").issuperset(re.findall(r"\w+", phrases("praise").sub(" ", text).lower()))


def _is_shouted(text: str) -> bool:
    words = re.findall(r"[A-Za-z]{2,}", text)
    return len(words) >= 4 and sum(word.isupper() for word in words) >= 0.8 * len(words)


MOST_KEYWORDS, MOST_ENTITIES, MOST_TOPICS, MOST_TOOLS, MOST_FILES = 10, 8, 3, 15, 40


def facets_of(
    tally: Tally,
    analyzer: Analyzer,
    frequencies: Frequencies,
    entities: Sequence[tuple[int, str]] = (),
) -> SessionFacets:
    """What a session was about, by its counts; ``frequencies`` says how common words are in the store."""
    said = "\n".join((tally.title, *tally.requests))
    known = [title for _, title in mentioned(said, entities)]
    return SessionFacets(
        title=tally.title or (first_line(tally.requests[0]) if tally.requests else ""),
        summary=_summary(tally),
        keywords=keywords(tally, analyzer, frequencies),
        entities=tuple(dict.fromkeys([*known, *_often(tally.names, 2)]))[:MOST_ENTITIES],
        topics=topics(tally.words),
        tools=_often(tally.tools, 1)[:MOST_TOOLS],
        files=tuple(tally.files)[-MOST_FILES:],
    )


def first_line(text: str, longest: int = 90) -> str:
    """The first line of a text that has words in it, cut at a word."""
    line = next((one for one in (" ".join(line.split()) for line in text.splitlines()) if one), "").lstrip("#> *-")
    if len(line) <= longest:
        return line
    return line[:longest].rpartition(" ")[0] + "…" if " " in line[:longest] else line[: longest - 1] + "…"


def _summary(tally: Tally) -> str:
    """The first request, and how many followed."""
    if not tally.requests:
        return ""
    first = " ".join(tally.requests[0].split())
    first = first if len(first) <= 240 else first[:240].rpartition(" ")[0] + "…"
    more = tally.request_count - 1
    return first if more < 1 else f"{first} (and {more} more request{'s' if more > 1 else ''})"


def _often(counts: Mapping[str, int], least: int) -> tuple[str, ...]:
    ordered = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
    return tuple(name for name, count in ordered if count >= least)


def keywords(tally: Tally, analyzer: Analyzer, frequencies: Frequencies) -> tuple[str, ...]:
    """Words that are frequent here and rare elsewhere in the store: ``(1 + ln tf) · ln(1 + N/(1 + df elsewhere))``."""
    often = [(word, count) for word, count in tally.words.items() if count > 1] or list(tally.words.items())
    often = sorted(often, key=lambda entry: (-entry[1], entry[0]))[:150]
    terms = {word: (analyzer.terms_of(word) or (word,))[-1] for word, _ in often}
    total, found = frequencies(set(terms.values()))
    best: dict[str, tuple[float, str]] = {}
    for word, count in often:
        elsewhere = max(0, found.get(terms[word], 0) - count)
        score = (1 + math.log(count)) * math.log1p(max(total, 1) / (1 + elsewhere))
        if score > best.get(terms[word], (0.0, ""))[0]:
            best[terms[word]] = (score, word)
    ranked = sorted(best.values(), key=lambda entry: (-entry[0], entry[1]))
    return tuple(word for _, word in ranked[:MOST_KEYWORDS])


def topics(counts: Mapping[str, int]) -> tuple[str, ...]:
    """The topics to which enough words belong: at least two different words, used at least three times in all."""
    found: dict[str, int] = {}
    for name, signs in topic_words().items():
        held = [counts[sign] for sign in signs if sign in counts]
        if len(held) >= 2 and sum(held) >= 3:
            found[name] = sum(held)
    return _often(found, 1)[:MOST_TOPICS]
