"""Finds what a session teaches: sentences of the user, commands that failed, questions that a file answered."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import pairwise
from typing import TYPE_CHECKING

from ricordo.frozen import frozen
from ricordo.memory.compare import SAME, compare
from ricordo.plugins.lessons.judge import verdicts
from ricordo.plugins.lessons.messages import Sentence, sentences
from ricordo.plugins.lessons.phrasing import (
    asks_to_keep,
    is_enough,
    parts,
    proposed_text,
    scope_of,
)
from ricordo.plugins.sessions.facets import is_correction
from ricordo.secrets.find import find_secrets
from ricordo.text.alike import SAME_COMMAND, ratio
from ricordo.values.items import Item
from ricordo.values.log import Proposal

if TYPE_CHECKING:
    from ricordo.models.base import Embedder

_SHELLS = re.compile(
    r"^(?:bash|shell|sh|zsh|powershell|terminal|exec\w*|run_\w*|local_shell\w*|bashoutput)$", re.IGNORECASE
)
_EDITS = re.compile(r"^(?:\w*edit\w*|write\w*|apply_patch|patch|create_file|replace|str_replace\w*)$", re.IGNORECASE)
_READS = re.compile(r"^(?:read\w*|view|open|cat|get_file\w*)$", re.IGNORECASE)


@frozen
class Lesson:
    """A sentence that is worth proposing; of many, those with the highest weight are proposed."""

    text: str
    kind: str
    scope: str
    weight: float


@frozen
class SaidTurn:
    """One thing that was said or done in a session."""

    seq: int
    role: str
    text: str
    at: datetime
    tool: str = ""
    files: tuple[str, ...] = ()
    is_call: bool = False
    is_error: bool = False

    @property
    def is_users(self) -> bool:
        return self.role == "user"

    @property
    def runs(self) -> bool:
        return bool(_SHELLS.match(self.tool))

    @property
    def edits(self) -> bool:
        return self.is_call and bool(_EDITS.match(self.tool))

    @property
    def reads(self) -> bool:
        return self.is_call and bool(_READS.match(self.tool))

    @property
    def command(self) -> str:
        """What a call of a shell runs, in one line, without what is set or entered before it."""
        lines = self.text.partition(": ")[2].strip().splitlines()
        return _SKIPPED.sub("", lines[0]).strip() if lines else ""


def turn_of(item: Item) -> SaidTurn | None:
    """A stored turn; None for what was said between agents, which concerns no user."""
    about = item.fields.metadata
    if about.get("aside") or item.fields.seq is None:
        return None
    return SaidTurn(
        item.fields.seq,
        str(about.get("role") or ""),
        item.content,
        item.created_at,
        str(about.get("tool") or ""),
        tuple(about.get("files") or ()),
        is_call=about.get("direction") == "sent",
        is_error=bool(about.get("error")),
    )


TRIES = 6
"""How many commands after one that failed may be the one that was meant."""
LONGEST_COMMAND = 120

_LOOKS = re.compile(
    r"^(?:ls|cat|grep|rg|find|cd|pwd|echo|head|tail|sed|awk|which|test|stat|wc|diff|sleep|kill|pkill|rm|mkdir|cp|mv|curl|"
    r"git (?:status|diff|log|show|grep|add|commit|push|stash|checkout))\b"
)
_SKIPPED = re.compile(r"^(?:cd [^&;|]+&&\s*|[A-Z_]+=\S+\s+|sudo\s+|time\s+|env\s+)+")
_FAILED = re.compile(
    r"error|not found|no module|no such|cannot|can't|unable|denied|unknown|invalid|failed|missing|unrecognized",
    re.IGNORECASE,
)
_ASKS_WHERE = re.compile(
    r"^(?:(?:and|so|ok|hey|hi),? )*(?:where|which (?:file|module|class|function|test|script|setting|config\w*)|"
    r"what(?:'s| is| are) (?:our|the)|in (?:which|what) file|wo|où|dónde)\b",
    re.IGNORECASE,
)
_PATH = re.compile(r"(?<![\w/.-])(?:[\w.-]+/)*[\w-]+\.[A-Za-z]{1,5}(?![\w/])")


def fixes(turns: Sequence[SaidTurn]) -> Iterator[tuple[SaidTurn, Lesson]]:
    """Each command that failed, with the one that then worked. Nothing is learned where files were changed between."""
    calls = [(place, turn, _result(turns, place)) for place, turn in enumerate(turns) if turn.runs and turn.is_call]
    for number, (place, call, result) in enumerate(calls):
        failed = call.command
        if result is None or not result.is_error or not _is_telling(failed):
            continue
        for later, next_call, next_result in calls[number + 1 : number + 1 + TRIES]:
            worked = next_call.command
            if any(one.edits or one.is_users for one in turns[place:later]):
                break
            if next_result is None or next_result.is_error or worked == failed or not _is_telling(worked):
                continue
            if _alike(failed, worked):
                why = _why(result.text)
                told = f"`{failed}` fails{f' ({why})' if why else ''}; `{worked}` works."
                yield next_call, Lesson(told, "fix", "project", 1.0)
                break


def _is_telling(command: str) -> bool:
    return 4 <= len(command) <= LONGEST_COMMAND and not _LOOKS.match(command) and "<<" not in command


def _result(turns: Sequence[SaidTurn], place: int) -> SaidTurn | None:
    """What came back from a call: the next result of the same tool, before the next message."""
    calls = 0
    for turn in turns[place + 1 :]:
        if turn.is_users:
            return None
        if turn.tool == turns[place].tool:
            if turn.is_call:
                calls += 1
            elif calls == 0 or turn.seq - turns[place].seq <= calls + 1:
                return turn
    return None


def _alike(one: str, other: str) -> bool:
    """Whether two commands try the same: the same program or the same arguments, most of it alike."""
    mine, theirs = one.split(), other.split()
    shares = mine[0] == theirs[0] or bool(set(mine[1:]) & set(theirs[1:])) or mine[0] in theirs
    return shares and ratio(one, other) >= SAME_COMMAND


def _why(output: str) -> str:
    """The line of an output that says what went wrong."""
    lines = [" ".join(line.split()) for line in output.splitlines()]
    told = next((line for line in lines if _FAILED.search(line)), "")
    return told if len(told) <= 80 else f"{told[:79].rstrip()}…"


def answers(turns: Sequence[SaidTurn]) -> Iterator[tuple[SaidTurn, Lesson]]:
    """Each question of where something is, with the one file that was read for it and that the answer names."""
    places = [place for place, turn in enumerate(turns) if turn.is_users]
    for place, end in pairwise((*places, len(turns))):
        question = _question(turns[place].text)
        said = [turn for turn in turns[place:end] if turn.role == "assistant"]
        if not question or not said or any(turn.edits for turn in turns[place:end]):
            continue
        read = {file for turn in turns[place:end] if turn.reads for file in turn.files}
        named = set(_PATH.findall(said[-1].text[:1500]))
        matching = {name for name in named if any(file == name or file.endswith(f"/{name}") for file in read)}
        if len(matching) == 1:
            (file,) = matching
            yield turns[place], Lesson(f"{question.rstrip('?')}: {file} answers it.", "answer", "file", 0.5)


def _question(text: str) -> str:
    """The question, if a message is one short question of where something is."""
    found = list(sentences(text))
    if len(found) == 1 and found[0].asks and _ASKS_WHERE.match(found[0].text) and len(found[0].text) <= 140:
        return found[0].text
    return ""


MOST = 5
"""How many proposals one session makes."""
ASKED_TO_KEEP = 3.0
"""How much weightier it is what the user asks to remember."""
LONGEST_QUOTE = 240
_FILE = re.compile(
    r"(?<![\w/.:-])(?:[\w.-]+/)*[\w-]{2,}\.(?:py|[cm]?[jt]sx?|go|rs|java|kt|rb|php|cs?|h|cc|cpp|hpp|swift|sh|sql|md|rst|txt"
    r"|html?|css|scss|toml|ya?ml|json|lock|cfg|ini|proto|vue)(?![\w/])|(?<![\w/])(?:[a-z_.][\w.-]*/)+[a-z_.][\w.-]*\w"
)
_REDACTED = "[redacted"


def found_in(
    turns: Sequence[SaidTurn], *, session: str, branch: str = "", embedder: Embedder | None = None
) -> list[Proposal]:
    """What a session teaches, the weightiest first; secrets are in none. ``embedder`` is the model in the package."""
    every = [*_spoken(turns, embedder), *fixes(turns), *answers(turns)]
    every.sort(key=lambda pair: (-pair[1].weight, pair[0].seq))
    proposals = [_proposal(turn, lesson, session, branch) for turn, lesson in every]
    return [one for one in proposals if not _has_secret(one.text) and not _has_secret(one.quote)]


def fresh(
    found: Iterable[Proposal], known: Collection[str], is_stored: Callable[[str], bool], room: int
) -> list[Proposal]:
    """Those that say something that is neither known nor stored, at most so many, in the order of their turns."""
    texts = list(known)
    chosen: list[Proposal] = []
    for one in found:
        if len(chosen) >= room:
            break
        if not any(says_the_same(one.text, text) for text in texts) and not is_stored(one.text):
            chosen.append(one)
            texts.append(one.text)
    return sorted(chosen, key=lambda one: one.turn)


def says_the_same(one: str, other: str) -> bool:
    """Whether two sentences say the same.

    >>> says_the_same("Always run make lint.", "always run `make lint`"), says_the_same("Use npm.", "Use pnpm.")
    (True, False)
    """
    return compare(other, one).relation == SAME


def _spoken(turns: Sequence[SaidTurn], embedder: Embedder | None) -> Iterator[tuple[SaidTurn, Lesson]]:
    """What the user said that is worth keeping; of a sentence and what comes before its request, the surer."""
    heard = list(_heard(turns))
    judged = verdicts([part for _, _, part, _ in heard], embedder)
    best: dict[tuple[int, int], tuple[SaidTurn, Lesson]] = {}
    for (turn, place, part, corrects), verdict in zip(heard, judged, strict=True):
        text = proposed_text(part) if verdict.is_lasting else ""
        if not text:
            continue
        kind = "correction" if corrects and verdict.kind in ("rule", "fact") else verdict.kind
        weight = verdict.margin + (ASKED_TO_KEEP if asks_to_keep(part) else 0.0)
        other = best.get((turn.seq, place))
        if other is None or weight > other[1].weight:
            best[turn.seq, place] = turn, Lesson(text, kind, scope_of(part, verdict.kind), weight)
    yield from best.values()


def _heard(turns: Sequence[SaidTurn]) -> Iterator[tuple[SaidTurn, int, Sentence, bool]]:
    """Each sentence of the user, with its place in the turn, and whether it or one before it contradicts the agent."""
    answer, has_answered = "", False
    for turn in turns:
        if not turn.is_users:
            has_answered = has_answered or turn.role != "system"
            answer = turn.text if turn.role == "assistant" else answer
            continue
        corrects = False
        for place, sentence in enumerate(sentences(turn.text, answer)):
            corrects = has_answered and ((place == 0 and is_correction(sentence.bare)) or (corrects and place < 3))
            for part in parts(sentence):
                if is_enough(part.text):
                    yield turn, place, part, corrects


def _proposal(turn: SaidTurn, lesson: Lesson, session: str, branch: str) -> Proposal:
    named = _FILE.search(lesson.text) if lesson.kind != "fix" else None
    file = named.group() if named is not None and "://" not in lesson.text else ""
    scope = "file" if file else lesson.scope if lesson.scope != "file" else "project"
    quote = _quote(" ".join(turn.text.split()), lesson.text)
    return Proposal(lesson.text, lesson.kind, scope, quote, session, turn.seq, turn.at, file=file, branch=branch)


def _quote(said: str, sentence: str) -> str:
    """What was said around the sentence; of what was said beside a secret, the sentence alone."""
    place = said.find(sentence[1:-1][:40])
    start = max(0, place - 40)
    if start and (space := said.find(" ", start - 1, place)) >= 0:
        start = space + 1  # a quotation begins at a word
    around = said[start : start + LONGEST_QUOTE]
    if _has_secret(around) and sentence[1:-1] in said:
        return sentence[:LONGEST_QUOTE]
    return around


def _has_secret(text: str) -> bool:
    """Whether a text holds a secret, or a place where one was."""
    return _REDACTED in text or bool(find_secrets(text))
