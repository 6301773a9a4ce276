"""What was done in a session that is worth keeping: commands that worked after others failed, files that answered."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from ricordo.memory.capture.patterns import Lesson
from ricordo.memory.capture.sentences import sentences
from ricordo.memory.capture.turns import SaidTurn

TRIES = 6
"""How many commands after one that failed may be the one that was meant."""
LONGEST_COMMAND = 120
ALIKE = 0.5
"""Two commands at least as alike as this try the same."""

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
        failed = plain_command(call.command)
        if result is None or not result.is_error or not _is_telling(failed):
            continue
        for later, next_call, next_result in calls[number + 1 : number + 1 + TRIES]:
            worked = plain_command(next_call.command)
            if any(one.edits or one.is_users for one in turns[place:later]):
                break
            if next_result is None or next_result.is_error or worked == failed or not _is_telling(worked):
                continue
            if _alike(failed, worked):
                why = _why(result.text)
                told = f"`{failed}` fails{f' ({why})' if why else ''}; `{worked}` works."
                yield next_call, Lesson(told, "fix", "project", 0.8)
                break


def plain_command(command: str) -> str:
    """A command in one line, without what is set or entered before it."""
    first = command.strip().splitlines()[0] if command.strip() else ""
    return _SKIPPED.sub("", first).strip()


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
    from rapidfuzz import fuzz

    mine, theirs = one.split(), other.split()
    shares = mine[0] == theirs[0] or bool(set(mine[1:]) & set(theirs[1:])) or mine[0] in theirs
    return shares and fuzz.ratio(one, other) / 100 >= ALIKE


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
        said = [turn for turn in turns[place:end] if turn.is_agents]
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
