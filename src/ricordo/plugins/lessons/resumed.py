"""Tells a session that goes on after it was compacted or resumed what was settled in it, from its own transcript.

Told are what the user asked last and the agent answered, what the user stated, the newest first, the files that were
changed, and what the agent said is still to be done. Of what the user said twice or took back, the newest counts. No
model is loaded for it: what is seen of a sentence decides what comes first where not all has room.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from ricordo import registry
from ricordo.errors import Error
from ricordo.frozen import frozen
from ricordo.memory.compare import OPPOSITE, SAME, compare
from ricordo.plugins.lessons.finder import SaidTurn
from ricordo.plugins.lessons.judge import verdicts
from ricordo.plugins.lessons.messages import Sentence, sentences
from ricordo.plugins.sessions.facets import goes_on, is_correction, is_only_praise
from ricordo.plugins.sessions.transcripts.files import open_transcripts
from ricordo.plugins.sessions.values import SessionEvent
from ricordo.secrets.find import redact
from ricordo.text.alike import content_words
from ricordo.trust.fence import Told, frame, joined, told_line

if TYPE_CHECKING:
    from ricordo.engine.agents import AgentVerbs

MOST_TOKENS = 600
LONGEST_FILES = 500
ENDS_OF_LINES = 20
MOST_BYTES = 30_000_000
"""A longer transcript is not read: the session waits for it."""
MOST_STATED = 300
"""Of so many sentences, the last ones, it is looked at what they are worth; and of all that correct the agent."""
MOST_FILES = 20
CORRECTED = 4.0
"""How much weightier it is what the user corrected."""
FEWEST_WORDS = 2
SHARED_WORDS = 2
HEADING = "## Settled earlier in this session (turn: what the user said), the newest first"
CHANGED = told_line("files changed:", outside=True)
_LEFT = re.compile(
    r"\b(?:still|left|remain\w*|missing|open|not yet|yet|to ?do|not done|next|have not|haven['’]t|need\w*)\b|"
    r"\b(?:noch|offen|fehlt|übrig)\b",
    re.IGNORECASE,
)
"""What an agent says is still to be done."""


@frozen
class Line:
    """Something to tell: where in the session it was said, by whom, and how much it matters."""

    seq: int
    who: str
    text: str
    weight: float


def told_again(engine: AgentVerbs, transcript: Path) -> Told:
    """What was settled in the session of a transcript, as data, in at most 600 tokens; "" if nothing was said in it."""
    try:
        state = transcript.stat()
        return _told(transcript, state.st_mtime_ns) if state.st_size <= MOST_BYTES else joined()
    except (Error, OSError):  # it is no transcript, or cannot be read: all else is told without it
        return joined()


@lru_cache(maxsize=2)
def _told(transcript: Path, mtime: int) -> Told:
    """The same of a file as it is now; a hook may offer several answers, one after the other."""
    turns = list(_turns(transcript))
    counter = registry.token_counter()
    start, end = frame(HEADING, outside=True)
    files = told_line(*changed_files(turns), outside=True, gap=", ", longest=LONGEST_FILES)
    room = MOST_TOKENS - sum(counter.count_tokens([start, end, files])) - ENDS_OF_LINES
    kept: list[tuple[Line, Told]] = []
    for line in sorted(settled(turns), key=lambda one: (-one.weight, -one.seq)):
        text = told_line(f"{line.seq}{line.who}: {line.text}", outside=True)
        cost = counter.count_tokens([text])[0] + 1
        if cost <= room and not _is_overruled(line, [other for other, _ in kept]):
            room -= cost
            kept.append((line, text))
    told = [text for _, text in sorted(kept, key=lambda pair: -pair[0].seq)]
    changed = [CHANGED, files] if len(files) > 2 else []
    return joined(start, *told, *changed, end, gap="\n") if told else joined()


def _is_overruled(line: Line, others: Iterable[Line]) -> bool:
    """Whether the user said the same or the contrary later."""
    words = content_words(line.text)
    return any(
        other.seq > line.seq
        and not other.who
        and len(words & content_words(other.text)) >= SHARED_WORDS
        and compare(line.text, other.text).relation in (SAME, OPPOSITE)
        for other in others
    )


def settled(turns: Sequence[SaidTurn]) -> list[Line]:
    """What of a session a person would want to know when it goes on."""
    last = max((turn.seq for turn in turns if turn.is_users and not goes_on(turn.text)), default=0)
    lines = [line for line in _stated(turns) if line.seq != last]
    lines += [Line(turn.seq, "", turn.text, 100.0) for turn in turns if turn.seq == last]
    return lines + list(_left(turns))


def changed_files(turns: Iterable[SaidTurn]) -> list[str]:
    """The files that the agent wrote, the last first."""
    files = [file for turn in turns if turn.edits for file in turn.files]
    return list(dict.fromkeys(reversed(files)))[:MOST_FILES]


def _turns(transcript: Path) -> Iterator[SaidTurn]:
    """What was said and done, without secrets and what is private; not what agents said to each other."""
    seq = 0
    for part in open_transcripts(transcript):
        for event in part.events():
            if isinstance(event, SessionEvent) and not event.is_aside:
                seq += 1
                text, _ = redact(event.text, allow_secrets=False)
                at = event.at or datetime.now(UTC)
                is_call = event.direction == "sent"
                yield SaidTurn(seq, event.role, text, at, event.tool, event.files, is_call, event.is_error)


def _stated(turns: Sequence[SaidTurn]) -> Iterator[Line]:
    """What the user stated, a line for each message, without questions."""
    answer = ""
    heard: list[tuple[int, Sentence, bool]] = []
    for turn in turns:
        if turn.role == "assistant" and not turn.tool:
            answer = turn.text
        if turn.is_users and not goes_on(turn.text) and not is_only_praise(turn.text):
            corrects = False
            for sentence in sentences(turn.text, answer):
                corrects = corrects or is_correction(sentence.bare)
                if not sentence.asks and len(sentence.text.split()) >= FEWEST_WORDS:
                    heard.append((turn.seq, sentence, corrects))
    heard = [one for n, one in enumerate(heard) if one[2] or n >= len(heard) - MOST_STATED]
    found: dict[int, tuple[list[str], float]] = {}
    for (seq, sentence, corrects), verdict in zip(heard, verdicts([one for _, one, _ in heard], None), strict=True):
        weight = verdict.margin + CORRECTED * corrects
        texts, best = found.get(seq, ([], weight))
        found[seq] = [*texts, sentence.text], max(best, weight)
    return (Line(seq, "", " ".join(texts), weight) for seq, (texts, weight) in found.items())


def _left(turns: Sequence[SaidTurn]) -> Iterator[Line]:
    """What the agent said last, and before that what is still to be done."""
    said = [turn for turn in turns if turn.role == "assistant" and not turn.tool and content_words(turn.text)]
    for turn in said[-4:-1]:
        left = [one.text for one in sentences(turn.text) if _LEFT.search(one.text)]
        if left:
            yield Line(turn.seq, " agent", " ".join(left), 50.0)
    for turn in said[-1:]:
        yield Line(turn.seq, " agent", turn.text, 90.0)
