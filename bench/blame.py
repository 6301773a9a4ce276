"""Whether ``blame`` finds the turn that wrote a line, and the lines that rest on a corrected memory.

``python bench/blame.py`` makes repositories with sessions, from a seed: prompts in several voices, agents that write
whole files, edit, paste and fail, people who edit by hand, and what happens to files afterwards: they are formatted,
moved and renamed, functions move between them, branches are squashed and rebased. The transcripts have the form of
Claude Code's. The generator keeps for each line which turn wrote its words first; lines that a person wrote have none.

Asked are 200 lines, one of each of 200 hunks: is the right turn first? Lines of people are asked, too: is a turn named
that did not write them? Then 20 memories, of which agents were told some and which are corrected afterwards: which
lines rest on them? ``--other`` has other words, other kinds of code, edits and formatting, which nothing was tuned on.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from ricordo import ConfigProvider, Ricordo, told_log
from ricordo.values.provenance import AGENT, Provenance, stored
from timing import print_json

HUNKS, MEMORIES, OF_PEOPLE = 200, 20, 60
START = datetime(2025, 3, 3, 8, tzinfo=UTC).timestamp()
HOUR, DAY = 3_600, 86_400
LINES = list[tuple[str, str]]
"""The lines of a file, each with the turn that wrote its words: ``session time``; empty for a person's."""

WORDS = {
    "tuned": (
        "invoice payment basket order customer ledger refund voucher parcel stock price tax receipt account branch",
        "load save check merge round split count apply cancel verify export parse",
    ),
    "other": (
        "glacier turbine sensor orbit seed harvest pollen reef cabin engine tide kiln loom quarry beacon",
        "probe align soak trim scatter gather tune drain charge fold weigh dock",
    ),
}
VOICES = (
    "Please {verb} the {noun} properly. It should {why}. Keep the tests green.",
    "{verb} {noun} pls, {why}",
    "I think the {noun} code does not {verb} anything yet.\nCan you write that? It must {why}.\n\nThanks!",
    "ok next: {noun}. {verb}. and {why}!!",
    "Bitte {verb} für {noun} einbauen, damit es {why}. Danke.",
    "The customer complained again about the {noun}. Write code to {verb} it so that we {why}. No new dependencies.",
)
GO_ON = ("yes, go on", "ok", "continue", "looks good, go ahead")
WHY = ("never loses a cent", "stay below the limit", "work offline", "handle empty input", "survive a restart")


class World:
    """One repository with its sessions, on a clock of its own."""

    def __init__(self, top: Path, transcripts: Path, seed: int, kind: str) -> None:
        self.random = random.Random(seed)
        self.top, self.transcripts, self.kind = top, transcripts, kind
        self.now = START + seed % 100 * 11 * DAY
        self.files: dict[str, LINES] = {}
        self.sessions: list[Talk] = []
        nouns, verbs = WORDS[kind]
        self.nouns, self.verbs = nouns.split(), verbs.split()
        self.used: set[str] = set()
        top.mkdir(parents=True)
        self.git("init", "-q", "-b", "main")
        self.files["README.md"] = [(f"# {top.name}", ""), ("", ""), ("Notes of the team, by hand.", "")]
        self.commit("Begin")

    def git(self, *arguments: str) -> str:
        date = f"{int(self.now)} +0000"
        who = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in
               (("NAME", "Kim"), ("EMAIL", "kim@example.org"), ("DATE", date))}  # fmt: skip
        alone = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        done = subprocess.run(
            ["git", *arguments], cwd=self.top, env=os.environ | who | alone, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    def later(self, least: float, most: float) -> float:
        self.now += self.random.uniform(least, most)
        return self.now

    def write(self) -> None:
        """Write the files as they are now, and remove those that are gone."""
        for path in [path for path in self.top.rglob("*") if path.is_file() and ".git" not in path.parts]:
            if path.relative_to(self.top).as_posix() not in self.files:
                path.unlink()
        for name, lines in self.files.items():
            path = self.top / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(f"{text}\n" for text, _ in lines))

    def commit(self, message: str) -> None:
        self.later(60, HOUR)
        self.write()
        self.git("add", "-A")
        if self.git("status", "--porcelain"):
            self.git("commit", "-q", "-m", message)

    def name(self) -> str:
        """A name of a function, mostly a new one."""
        name = f"{self.random.choice(self.verbs)}_{self.random.choice(self.nouns)}"
        while name in self.used:
            name = f"{name}_{self.random.choice(self.nouns)}"
        self.used.add(name)
        return name

    def function(self, suffix: str) -> list[str]:
        """The lines of a function; some lines are the same in many functions."""
        name, one, two = self.name(), self.random.choice(self.nouns), self.random.choice(self.nouns)
        number = self.random.randint(2, 90)
        verb = self.random.choice(self.verbs)
        if suffix == ".py":
            body = [
                f"    if not {one}:", "        return None",
                f"    {two} = {verb}_all({one}, limit={number}, strict=True)", f"    for entry in {two}:",
                "        if entry is None:", "            continue", f"        {one}.append(entry.{two} * {number})",
                f"    log.info('{verb} %s', {one})", "    return result",
                f"    assert {two}, 'there is no {two}'", f"    total = sum({one}.values()) - {number}", "    try:",
                f"        {verb}({one}, {two})", "    except ValueError:", "        return None",
            ]  # fmt: skip
            kept = [line for line in body if self.random.random() < 0.75] or body[:2]
            return [f"def {name}({one}, {two}=None):", f'    """{verb.title()} the {one} of a {two}."""', *kept, ""]
        if suffix == ".go":
            return [
                f"func {name.title().replace('_', '')}({one} []{two.title()}) error {{",
                f"\tif len({one}) == 0 {{", "\t\treturn nil", "\t}",
                f"\tfor _, entry := range {one} {{", f"\t\tif err := entry.{verb.title()}({number}); err != nil {{",
                "\t\t\treturn err", "\t\t}", "\t}", f'\tlog.Printf("{verb} %d {two}", len({one}))', "\treturn nil", "}",
                "",
            ]  # fmt: skip
        return [
            f"export function {name.replace('_', '')}({one}, {two} = {number}) {{", f"  if (!{one}) {{",
            "    return null;", "  }", f"  const {verb}ed = {one}.map((entry) => entry.{two} * {number});",
            f"  console.log('{verb}', {verb}ed.length);", f"  return {verb}ed;", "}", "",
        ]  # fmt: skip

    def hand(self) -> None:
        """A person writes some lines."""
        name = self.random.choice(sorted(self.files))
        lines = self.files[name]
        at = self.random.randint(0, len(lines))
        mine = [(text, "") for text in self.function(Path(name).suffix or ".py")[: self.random.randint(1, 6)]]
        self.files[name] = lines[:at] + mine + lines[at:]

    def format(self) -> None:
        """What formatters do: quotes, wrapped calls, and indentation."""
        for name, lines in self.files.items():
            if name.endswith(".md"):
                continue
            done: LINES = []
            for text, turn in lines:
                if self.kind == "other":
                    done += [
                        (one, turn) for one in _wrapped(text.replace("'", '"').replace("\t", "    "), 40, hang=True)
                    ]
                else:
                    done += [(one, turn) for one in _wrapped(text.replace("'", '"'), 44, hang=False)]
            self.files[name] = done

    def move(self) -> None:
        """A function goes from one file to another, by the hand of a person or by a command."""
        code = [name for name in self.files if not name.endswith(".md") and len(self.files[name]) > 25]
        if not code:
            return
        source = self.random.choice(code)
        at, end = self.random.choice(_functions(self.files[source]))
        target = f"{self.random.choice(self.nouns)}_moved{Path(source).suffix}"
        self.files.setdefault(target, []).extend(self.files[source][at:end])
        self.files[source] = self.files[source][:at] + self.files[source][end:]

    def rename(self) -> None:
        code = [name for name in self.files if not name.endswith(".md")]
        if code:
            name = self.random.choice(code)
            self.files[f"lib/{self.random.choice(self.nouns)}_{Path(name).name}"] = self.files.pop(name)

    def live(self, talks: int) -> None:
        """Some days of a project."""
        for number in range(talks):
            branch = self.random.random() < 0.35
            if branch:
                self.git("checkout", "-q", "-b", f"work-{number}")
            talk = Talk(self)
            self.sessions.append(talk)
            talk.go()
            if self.random.random() < 0.35:
                self.format()
            self.commit(f"Work on {self.random.choice(self.nouns)}")
            for happens, chance in ((self.hand, 0.4), (self.move, 0.3), (self.rename, 0.2), (self.format, 0.25)):
                if self.random.random() < chance:
                    happens()
                    self.commit(f"{happens.__name__.title()}: tidy up")
            if branch:
                self._merge(f"work-{number}")
            self.later(HOUR, DAY)
        if self.random.random() < 0.5:  # what is not committed yet
            Talk(self).go(into=self.sessions)
            self.write()

    def _merge(self, branch: str) -> None:
        """Squash a branch, or rebase it onto what somebody did meanwhile."""
        self.git("checkout", "-q", "main")
        if self.random.random() < 0.5:
            self.later(60, HOUR)
            self.git("merge", "-q", "--squash", branch)
            if self.git("status", "--porcelain"):
                self.git("commit", "-q", "-m", f"Squash {branch}")
            return
        self.later(60, HOUR)
        (self.top / f"other-{branch}.txt").write_text("by somebody else\n")
        self.files[f"other-{branch}.txt"] = [("by somebody else", "")]
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "Meanwhile")
        self.later(60, HOUR)
        self.git("checkout", "-q", branch)
        self.git("rebase", "-q", "main")
        self.git("checkout", "-q", "main")
        self.git("merge", "-q", "--ff-only", branch)


def _wrapped(text: str, width: int, *, hang: bool) -> list[str]:
    """A call that is too long, in several lines."""
    head, bracket, rest = text.partition("(")
    inside, closing, tail = rest.rpartition(")")
    if len(text) <= width or not bracket or not closing or "," not in inside or text.lstrip()[:4] in ("def ", "func"):
        return [text]
    indent = " " * (len(text) - len(text.lstrip()))
    if hang:
        parts = inside.split(", ")
        return [f"{head}({parts[0]},", *(f"{' ' * (len(head) + 1)}{one}," for one in parts[1:-1]),
                f"{' ' * (len(head) + 1)}{parts[-1]}){tail}"]  # fmt: skip
    return [f"{head}(", *(f"{indent}    {one}," for one in inside.split(", ")), f"{indent}){tail}"]


def _functions(lines: LINES) -> list[tuple[int, int]]:
    """Where functions begin and end."""
    begins = [at for at, (text, _) in enumerate(lines) if text.startswith(("def ", "func ", "export "))]
    return list(zip(begins, [*begins[1:], len(lines)], strict=True)) or [(0, len(lines))]


class Talk:
    """One session of Claude Code, as its transcript has it."""

    def __init__(self, world: World) -> None:
        self.world, self.random = world, world.random
        self.id = str(uuid.UUID(int=self.random.getrandbits(128), version=4))
        self.lines: list[dict[str, Any]] = []
        self.began = world.now
        self.prompts: list[float] = []
        self.parent: str | None = None

    def go(self, into: list[Talk] | None = None) -> None:
        for _ in range(self.random.randint(1, 4)):
            self.work_on_request()
        folder = self.world.transcripts / str(self.world.top).replace("/", "-")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{self.id}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in self.lines))
        if into is not None:
            into.append(self)

    def line(self, kind: str, message: dict[str, Any], **more: Any) -> str:
        at = datetime.fromtimestamp(round(self.world.later(2, 40), 3), UTC)
        name = str(uuid.UUID(int=self.random.getrandbits(128), version=4))
        stamp = at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        self.lines.append({
            "parentUuid": self.parent, "isSidechain": False, "userType": "external", "cwd": str(self.world.top),
            "sessionId": self.id, "version": "2.0.31", "gitBranch": "main", "type": kind, "message": message,
            "uuid": name, "timestamp": stamp, **more,
        })  # fmt: skip
        self.parent = name
        return at.isoformat()

    def says(self, *blocks: dict[str, Any]) -> str:
        about = {"model": "claude-sonnet-4-5", "id": f"msg_{len(self.lines)}", "type": "message", "role": "assistant"}
        usage = {"input_tokens": 9, "output_tokens": 99}
        return self.line("assistant", about | {"content": list(blocks), "stop_reason": None, "usage": usage})

    def call(self, tool: str, given: dict[str, Any], result: str, told: object = None, *, error: bool = False) -> str:
        """A call of a tool, and what it answered; returns when the call was made."""
        name = f"toolu_{self.random.getrandbits(64):x}"
        at = self.says({"type": "tool_use", "id": name, "name": tool, "input": given})
        block = {"tool_use_id": name, "type": "tool_result", "content": result} | ({"is_error": True} if error else {})
        self.line("user", {"role": "user", "content": [block]}, toolUseResult=told if told is not None else result)
        return at

    def work_on_request(self) -> None:
        world = self.world
        voice = self.random.choice(VOICES)
        text = voice.format(
            verb=self.random.choice(world.verbs), noun=self.random.choice(world.nouns), why=self.random.choice(WHY)
        )
        self.line("user", {"role": "user", "content": text})
        self.prompts.append(world.now)
        self.says({"type": "thinking", "thinking": "Let me see.", "signature": "x"})
        self.says({"type": "text", "text": "I'll have a look at the code."})
        for number in range(self.random.randint(1, 4)):
            if number and self.random.random() < 0.2:
                self.line("user", {"role": "user", "content": self.random.choice(GO_ON)})
            code = [name for name in world.files if not name.endswith((".md", ".txt"))]
            ways = [self.create] if not code else [self.append, self.append, self.alter, self.create, self.paste,
                                                   self.rewrite, self.shell, self.fail, self.carry]  # fmt: skip
            self.random.choice(ways)()
        self.call(
            "Bash", {"command": "make test", "description": "Run the tests"}, "ok", {"stdout": "ok", "stderr": ""}
        )
        self.says({"type": "text", "text": "Done. The tests pass."})

    def pick(self) -> str:
        names = [name for name in self.world.files if not name.endswith((".md", ".txt"))]
        name = self.random.choice(names)
        shown = "\n".join(f"{at:6}→{text}" for at, (text, _) in enumerate(self.world.files[name], start=1))
        self.call("Read", {"file_path": f"{self.world.top}/{name}"}, shown[:3000])
        return name

    def change(self, name: str, new: Sequence[str | tuple[str, str]], tool: str, given: dict[str, Any]) -> None:
        """Make a change: lines that were there come with their turns, and what is new is of this turn."""
        old = self.world.files.get(name, [])
        texts = [line if isinstance(line, str) else line[0] for line in new]
        path = f"{self.world.top}/{name}"
        told = {"type": "update" if old else "create", "filePath": path,
                "structuredPatch": structured([text for text, _ in old], texts) if old else []}  # fmt: skip
        if self.world.kind == "other" and self.random.random() < 0.5:
            told = {"success": True}  # an older version that did not say it
        at = self.call(tool, given | {"file_path": path}, f"The file {path} has been updated.", told)
        self.world.files[name] = [(line, f"{self.id} {at}") if isinstance(line, str) else line for line in new]

    def create(self) -> None:
        suffix = self.random.choice((".py", ".js") if self.world.kind == "tuned" else (".go", ".py"))
        name = f"src/{self.random.choice(self.world.nouns)}_{len(self.world.files)}{suffix}"
        head = ["import logging", "", "log = logging.getLogger(__name__)", ""] if suffix == ".py" else []
        new = head + [line for _ in range(self.random.randint(1, 3)) for line in self.world.function(suffix)]
        self.change(name, new, "Write", {"content": "\n".join(new) + "\n"})

    def append(self) -> None:
        """A new function, behind another one that is named in the edit."""
        name = self.pick()
        before = [text for text, _ in self.world.files[name]]
        _, end = self.random.choice(_functions(self.world.files[name]))
        anchor = before[max(0, end - 3) : end]
        new = self.world.function(Path(name).suffix)
        given = {"old_string": "\n".join(anchor), "new_string": "\n".join(anchor + new), "replace_all": False}
        lines = self.world.files[name]
        self.change(name, [*lines[:end], *new, *lines[end:]], "Edit", given)

    def alter(self) -> None:
        """One or two lines are put between others, or in the place of others."""
        name = self.pick()
        before = [text for text, _ in self.world.files[name]]
        at = self.random.randrange(len(before))
        gone = self.random.randint(0, 2)
        line = self.random.choice(self.world.function(Path(name).suffix)[:-1])
        new = [line, *([self.random.choice(self.world.function(Path(name).suffix)[:-1])] * self.random.randint(0, 1))]
        low, high = max(0, at - 2), min(len(before), at + gone + 2)
        pieces = before[low:at] + new + before[at + gone : high]
        given = {"old_string": "\n".join(before[low:high]), "new_string": "\n".join(pieces), "replace_all": False}
        lines = self.world.files[name]
        changed = [*lines[:at], *new, *lines[at + gone :]]
        if self.random.random() < 0.3:
            edits = [{"old_string": given["old_string"], "new_string": given["new_string"]}]
            self.change(name, changed, "MultiEdit", {"edits": edits})
        else:
            self.change(name, changed, "Edit", given)

    def paste(self) -> None:
        """The same guard in two files."""
        names = {self.pick(), self.pick()}
        suffix = Path(min(names)).suffix
        guard = self.world.function(suffix)[: self.random.randint(4, 7)]
        for name in sorted(names):
            before = [text for text, _ in self.world.files[name]]
            given = {"old_string": "\n".join(before[-3:]), "new_string": "\n".join(before[-3:] + guard)}
            self.change(name, [*self.world.files[name], *guard], "Edit", given)

    def rewrite(self) -> None:
        """A whole file is written again, with little changed in it."""
        name = self.pick()
        new = [*self.world.files[name], *self.world.function(Path(name).suffix)]
        new.pop(self.random.randrange(len(new)))
        text = "\n".join(line if isinstance(line, str) else line[0] for line in new)
        self.change(name, new, "Write", {"content": f"{text}\n"})

    def shell(self) -> None:
        """A file that a command of the shell writes."""
        name = f"tools/{self.random.choice(self.world.nouns)}_{len(self.world.files)}.py"
        new = self.world.function(".py")
        text = "\n".join(new)
        command = f"mkdir -p tools && cat > {name} << 'EOF'\n{text}\nEOF"
        at = self.call("Bash", {"command": command, "description": "Write a tool"}, "ok", {"stdout": "", "stderr": ""})
        self.world.files[name] = [(line, f"{self.id} {at}") for line in new]

    def fail(self) -> None:
        """An edit that fails, and then is made."""
        name = self.pick()
        text = "\n".join(self.world.function(Path(name).suffix))
        given = {"file_path": f"{self.world.top}/{name}", "old_string": "not there", "new_string": text}
        self.call("Edit", given, "<tool_use_error>String to replace not found.</tool_use_error>", error=True)
        last = self.world.files[name][-1][0]
        given = {"old_string": last, "new_string": f"{last}\n{text}", "replace_all": False}
        self.change(name, [*self.world.files[name], *text.split("\n")], "Edit", given)

    def carry(self) -> None:
        """The agent carries a function from one file to another, in two edits."""
        source, target = self.pick(), self.pick()
        if source == target or len(self.world.files[source]) < 20:
            return
        at, end = self.random.choice(_functions(self.world.files[source]))
        taken, there = self.world.files[source][at:end], self.world.files[target]
        text = [line for line, _ in taken]
        last = [line for line, _ in there[-2:]]
        given = {"old_string": "\n".join(last), "new_string": "\n".join(last + text)}
        self.change(target, [*there, *taken], "Edit", given)
        rest = [*self.world.files[source][:at], *self.world.files[source][end:]]
        self.change(source, rest, "Edit", {"old_string": "\n".join(text), "new_string": ""})


def structured(before: list[str], new: list[str]) -> list[dict[str, Any]]:
    """The hunks of a change, as Claude Code tells them."""
    hunks = []
    for group in SequenceMatcher(None, before, new, autojunk=False).get_grouped_opcodes(3):
        lines = []
        for how, a, b, c, d in group:
            if how == "equal":
                lines += [f" {line}" for line in before[a:b]]
            else:
                lines += [f"-{line}" for line in before[a:b]] + [f"+{line}" for line in new[c:d]]
        first, last = group[0], group[-1]
        hunks.append({"oldStart": first[1] + 1, "oldLines": last[2] - first[1], "newStart": first[3] + 1,
                      "newLines": last[4] - first[3], "lines": lines})  # fmt: skip
    return hunks


@contextmanager
def at_time(moment: float) -> Iterator[None]:
    """Let the store take this for the present, as if the work had been done then."""
    real, real_ns = time.time, time.time_ns
    time.time, time.time_ns = lambda: moment, lambda: int(moment * 1e9)  # type: ignore[assignment]
    try:
        yield
    finally:
        time.time, time.time_ns = real, real_ns  # type: ignore[assignment]


def plant(engine: Ricordo, worlds: Sequence[World], chance: random.Random) -> dict[str, set[str]]:
    """Memories that agents are told in some sessions; by each that is corrected, which turns came after it was told.

    Twice as many are never corrected; they are told in the same way.
    """
    truth: dict[str, set[str]] = {}
    talks = [talk for world in worlds for talk in world.sessions]
    for number in range(3 * MEMORIES):
        subject = f"{chance.choice(worlds[0].nouns)} service {number}"
        with at_time(START - 40 * DAY):
            saved = engine.remember(f"The {subject} listens on port {8000 + number}.", on_duplicate="save")
        told: set[str] = set()
        for talk in chance.sample(talks, chance.randint(1, 2)):
            at = chance.choice(talk.prompts)
            asker = stored(Provenance(AGENT, "claude-code", talk.id, "hook"))
            with at_time(at):
                told_log.note("UserPromptSubmit", engine.location, [saved.ref], asker=asker, tokens=30)
            told |= {turn for turn in written(talk) if datetime.fromisoformat(turn.split()[1]).timestamp() >= at}
        if number < MEMORIES:
            truth[saved.ref] = told
    return truth


def written(talk: Talk) -> set[str]:
    """The turns of a session whose lines are still there."""
    return {turn for lines in talk.world.files.values() for _, turn in lines if turn.startswith(talk.id)}


def correct(engine: Ricordo, refs: Sequence[str], chance: random.Random) -> None:
    """Correct memories: by another text, by another memory, or by removing them."""
    for number, ref in enumerate(refs):
        if number % 4 == 0:
            engine.rm(ref)
        elif number % 4 == 1:
            engine.save(ref, f"It listens on port {chance.randint(100, 999)} since spring.", on_conflict="overwrite")
        else:
            engine.correct(ref, f"It listens on port {chance.randint(100, 999)} now, not on the old one.")


def hunks_of(worlds: Sequence[World]) -> list[tuple[World, str, int, str]]:
    """All hunks: lines in a row that one turn wrote; of each, one line that is not empty."""
    found = []
    for world in worlds:
        for name, lines in sorted(world.files.items()):
            at = 0
            while at < len(lines):
                end = at
                while end < len(lines) and lines[end][1] == lines[at][1]:
                    end += 1
                full = [number for number in range(at, end) if lines[number][0].strip()]
                if full:
                    found.append((world, name, world.random.choice(full), lines[at][1]))
                at = end
    return found


def measure(folder: Path, seed: int, kind: str, repositories: int) -> dict[str, Any]:
    os.environ |= {f"RICORDO_{what}_HOME": str(folder / what.lower()) for what in ("CONFIG", "DATA", "STATE")}
    transcripts = folder / "claude" / "projects"
    worlds = [
        World(folder / f"shop-{number}", transcripts, seed * 100 + number, kind) for number in range(repositories)
    ]
    for world in worlds:
        world.live(7)
    chance = random.Random(seed)
    with Ricordo.open(
        folder / "store.db", create=True, config=ConfigProvider({"embedding.provider": "none"})
    ) as engine:
        truth = plant(engine, worlds, chance)
        started = time.process_time()
        engine.sessions_add(transcripts, wait=False, capture=False)
        took_in = time.process_time() - started
        correct(engine, list(truth), chance)
        hunks = hunks_of(worlds)
        chance.shuffle(hunks)
        turns = [hunk for hunk in hunks if hunk[3]][:HUNKS]
        people = [hunk for hunk in hunks if not hunk[3]][:OF_PEOPLE]
        started = time.process_time()
        answers = [(hunk, best_turn(engine, hunk)) for hunk in turns]
        asked = time.process_time() - started
        right = sum(answer[:1] == [hunk[3]] for hunk, answer in answers)
        among = sum(hunk[3] in answer for hunk, answer in answers)
        wrong = [
            {
                "line": f"{world.top.name}/{name}:{at + 1}",
                "text": world.files[name][at][0],
                "turn": turn,
                "named": answer,
            }
            for (world, name, at, turn), answer in answers
            if answer[:1] != [turn]
        ]
        claimed = sum(bool(best_turn(engine, hunk)) for hunk in people)
        rests = resting(engine, worlds, truth)
    return {
        "hunks": len(turns), "of": len(hunks), "right turn first": round(right / len(turns), 3),
        "among three": round(among / len(turns), 3), "lines of people": len(people),
        "with a turn all the same": claimed, "CPU ms a question": round(1000 * asked / len(turns)),
        "CPU s to take in": round(took_in, 1), **rests, "wrong": wrong,
    }  # fmt: skip


def best_turn(engine: Ricordo, hunk: tuple[World, str, int, str]) -> list[str]:
    """The turns that are named for a line, the best first, as the generator names them."""
    world, name, at, _ = hunk
    cause = engine.blame(f"{world.top}/{name}:{at + 1}").causes[0]
    return [f"{turn.session} {turn.at.isoformat()}" for turn in cause.turns if turn.match != "file"]


def resting(engine: Ricordo, worlds: Sequence[World], truth: dict[str, set[str]]) -> dict[str, Any]:
    """Of the lines that rest on corrected memories, how many are listed; of those listed, how many do not."""
    found = missed = false = 0
    for ref, turns in truth.items():
        wanted = {(world.top.name, name, at + 1) for world in worlds for name, lines in world.files.items()
                  for at, (text, turn) in enumerate(lines) if turn in turns and text.strip(" \t{}()[],;")}  # fmt: skip
        listed = set()
        for world in worlds:
            for cause in engine.blame(str(world.top), rests_on=ref).causes:
                texts = cause.text.split("\n")
                listed |= {(world.top.name, cause.file, cause.first + at) for at, text in enumerate(texts)
                           if text.strip(" \t{}()[],;")}  # fmt: skip
        found, missed, false = found + len(wanted & listed), missed + len(wanted - listed), false + len(listed - wanted)
    return {
        "corrected memories": len(truth), "lines that rest on them": found + missed,
        "recall": round(found / max(1, found + missed), 3), "false": round(false / max(1, found + false), 3),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--repositories", type=int, default=8)
    parser.add_argument("--other", action="store_true", help="words, code and habits that nothing was tuned on")
    parser.add_argument("--wrong", action="store_true", help="also show the lines of which another turn came first")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        kind = "other" if options.other else "tuned"
        figures = measure(Path(folder).resolve(), options.seed, kind, options.repositories)
        print_json(figures if options.wrong else {name: value for name, value in figures.items() if name != "wrong"})


if __name__ == "__main__":
    main()
