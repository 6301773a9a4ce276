"""Describes sessions and turns by small sets of rules, and finds the checkpoints of sessions (docs/sessions.md).

``facets.toml`` has the phrases and words that the rules look for.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, Self

from ricordo.plugins.sessions.values import Checkpoint, SessionEvent, SessionFacets, SessionHint, TurnFacets
from ricordo.text.links import mentioned
from ricordo.text.words import Analyzer


@cache
def _rules() -> Mapping[str, Any]:
    import tomllib

    return tomllib.loads(Path(__file__).with_name("facets.toml").read_text("utf-8"))


@cache
def phrases(kind: str) -> re.Pattern[str]:
    """What shows a correction, frustration or praise, in all languages: messages mix them."""
    rules = _rules()
    in_each_language = [language[kind].replace("START", rules["start"]) for language in rules["phrases"].values()]
    return re.compile("|".join(f"(?:{one})" for one in in_each_language), re.VERBOSE | re.IGNORECASE)


@cache
def word_list(name: str) -> frozenset[str]:
    """A list of words: ``beside_praise`` ask for nothing beside it, ``common`` ones say nothing about a session."""
    return frozenset(_rules()["words"][name].split())


@cache
def topic_words() -> Mapping[str, frozenset[str]]:
    """The words that belong to each topic."""
    return {name: frozenset(listed.split()) for name, listed in _rules()["topics"].items()}


MOST_REQUESTS = 12
LONGEST_REQUEST = 240
MOST_WORDS = 600
MOST_NAMES = 120
MOST_FILES_COUNTED = 60
_COUNTED = 4_000
"""How many characters of a message are counted; the rest is mostly pasted text, which says little about the session."""

_FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_WORD = re.compile(r"[^\W\d_][\w-]{2,29}")
_NAME = re.compile(r"(?<=[a-z,;:(\"'] )[A-Z][a-zA-Z]+(?: [A-Z][a-zA-Z]+){0,2}|\b[A-Z][a-z]+[A-Z]\w{2,}")
_MADE_UP = re.compile(r"[0-9].*[0-9]|^(?:https?|www)$")


@dataclass(slots=True)
class _Resumable:
    """What follows a session; its state can be saved, so that it can continue later."""

    @classmethod
    def from_dict(cls, plain: object) -> Self:
        """The saved state; values that are not valid are ignored."""
        made = cls()
        saved = plain if isinstance(plain, Mapping) else {}
        for one in fields(cls):
            value = saved.get(one.name)
            if type(value) is type(getattr(made, one.name)):
                setattr(made, one.name, value)
        return made

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(slots=True)
class Tally(_Resumable):
    """The counts of one session."""

    title: str = ""
    requests: list[str] = field(default_factory=list)
    request_count: int = 0
    words: dict[str, int] = field(default_factory=dict)
    names: dict[str, int] = field(default_factory=dict)
    tools: dict[str, int] = field(default_factory=dict)
    files: dict[str, int] = field(default_factory=dict)
    folder: str = ""
    branch: str = ""
    parent: str = ""
    started: str = ""

    def hint(self, hint: SessionHint) -> None:
        """Take in what a line says about the whole session: the first folder stays, and the last title wins."""
        self.title = hint.title[:200] or self.title
        self.folder = self.folder or hint.folder
        self.branch = self.branch or hint.branch
        self.parent = self.parent or hint.parent

    def take(self, event: SessionEvent, is_stop_word: Callable[[str], bool]) -> None:
        """Count an event, as it is kept: without secrets."""
        if not self.started and event.at is not None:
            self.started = event.at.isoformat()
        if event.role == "tool":
            if event.direction == "sent" and event.tool:
                self.tools[event.tool] = self.tools.get(event.tool, 0) + 1
            for file in event.files:
                self.files.pop(file, None)  # the latest files come last
                self.files[file] = 1
            while len(self.files) > MOST_FILES_COUNTED:
                del self.files[next(iter(self.files))]
            return
        if event.is_aside or event.role == "system":
            return
        if event.is_request:
            self.request_count += 1
            if len(self.requests) < MOST_REQUESTS:
                self.requests.append(event.text[:LONGEST_REQUEST])
        text, common = _FENCE.sub(" ", event.text[:_COUNTED]), word_list("common")
        for word in _WORD.findall(text):
            low = word.lower().rstrip("-_")
            if low not in common and not is_stop_word(low) and not _MADE_UP.search(low):
                self.words[low] = self.words.get(low, 0) + 1
        for name in _NAME.findall(text):
            self.names[name] = self.names.get(name, 0) + 1
        self.words = _most(self.words, MOST_WORDS)
        self.names = _most(self.names, MOST_NAMES)


def _most(counts: dict[str, int], limit: int) -> dict[str, int]:
    """Keep the most frequent once there are twice as many as allowed; among equals the latest, which may come again."""
    if len(counts) <= 2 * limit:
        return counts
    ordered = sorted(enumerate(counts.items()), key=lambda entry: (-entry[1][1], -entry[0]))[:limit]
    return dict(item for _, item in sorted(ordered))


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
    correction = is_correction(spoken)
    words = re.findall(r"[A-Za-z]{2,}", spoken)
    is_shouted = len(words) >= 4 and sum(word.isupper() for word in words) >= 0.8 * len(words)
    frustration = is_shouted or phrases("frustration").search(spoken) is not None
    praise = any(not _DENIED.search(spoken[: match.start()]) for match in phrases("praise").finditer(spoken))
    mood = 0.6 * praise - 0.4 * correction - 0.6 * frustration
    return TurnFacets(round(max(-1.0, min(1.0, mood)), 2), correction, frustration, praise)


def is_correction(text: str) -> bool:
    """Whether a message, or a sentence of one, says that what came before it is wrong.

    >>> is_correction("Actually, we use pnpm here."), is_correction("No problem, go on.")
    (True, False)
    """
    return phrases("correction").search(text[:SPOKEN]) is not None


def is_only_praise(text: str) -> bool:
    """Whether a message thanks or praises and asks for nothing.

    >>> is_only_praise("Thanks, great work!"), is_only_praise("Perfect. Now add tests.")
    (True, False)
    """
    facets = turn_facets(text)
    if not facets.praise or facets.correction or "?" in text:
        return False
    return word_list("beside_praise").issuperset(re.findall(r"\w+", phrases("praise").sub(" ", text).lower()))


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


LONGEST_ASKED = 900
LONGEST_ANSWER = 600
MOST_FILES_OF_POINT = 25
MOST_REQUESTS_KNOWN = 400
_GO_ON = re.compile(
    r"(?:(?:ok(?:ay)?|yes|yep|yeah|y|sure|right|please|and|now|fine|good|k|then|let'?s|just|you can)[\s,.!]*)*"
    r"(?:continue|go(?: on| ahead)?|proceed|do (?:it|that|so)|next|keep going|carry on|resume|try again|retry|again)?"
    r"(?:[\s,.!]*(?:please|now|then))*[\s.!]*",
    re.IGNORECASE,
)


@dataclass(slots=True)
class CheckpointMaker(_Resumable):
    """Follows one session and makes checkpoints: points to fork from, where the work on a request ends.

    One is made when the next request comes, and for the last request at the end of the session. A request that only
    says "go on" continues the one before, and so does a correction; thanks end a request. A request made twice in a
    session gives one checkpoint.
    """

    session: str = ""
    request: int = 0
    """The place of the request being worked on; 0 while there is none."""
    asked: str = ""
    turn: int = 0
    answer: str = ""
    files: list[str] = field(default_factory=list)
    at: str = ""
    known: list[str] = field(default_factory=list)
    """Hashes of the requests that have a checkpoint already."""

    def take(self, event: SessionEvent, seq: int, at: datetime) -> Checkpoint | None:
        """Take in an event, as it is kept; returns a checkpoint if it ends a request that is worth forking from."""
        if event.is_aside or event.role == "system":
            return None
        if event.is_request:
            return self._request(seq, event.text, turn_facets(event.text).correction)
        if self.request and event.role in ("assistant", "tool"):
            self.turn, self.at = seq, at.isoformat()
            if event.role == "assistant":
                self.answer = event.text[:LONGEST_ANSWER]
            self.files = list(dict.fromkeys([*self.files, *event.files]))[-MOST_FILES_OF_POINT:]
        return None

    def _request(self, seq: int, text: str, corrects: bool) -> Checkpoint | None:
        if self.request and goes_on(text):
            return None
        ended = self.current()
        if ended is not None:
            self.known = [*self.known, _mark(self.asked)][-MOST_REQUESTS_KNOWN:]
        before = self.asked if self.request and corrects else ""
        asked = f"{before}\n\n{text}" if before else text
        self.request, self.asked = (0, "") if is_only_praise(text) else (seq, asked[:LONGEST_ASKED])
        self.turn, self.answer, self.files, self.at = 0, "", [], ""
        return ended

    def current(self) -> Checkpoint | None:
        """A checkpoint of the request being worked on; None if there is no answer yet, or if it was asked before."""
        if not self.request or not self.turn or _mark(self.asked) in self.known:
            return None
        parts = [self.asked, self.answer, f"Files: {', '.join(self.files)}" if self.files else ""]
        return Checkpoint(
            self.session,
            self.request,
            self.turn,
            first_line(self.asked),
            "\n\n".join(filter(None, parts)),
            tuple(self.files),
            datetime.fromisoformat(self.at) if self.at else None,
        )


def goes_on(text: str) -> bool:
    """Whether a message only says that the work on the request before it should go on."""
    return _GO_ON.fullmatch(text.strip()) is not None


def _mark(text: str) -> str:
    plain = " ".join(re.findall(r"\w+", text.lower()))
    return hashlib.blake2b(plain.encode(), digest_size=6).hexdigest()
