"""Fills the store that the pictures of the page are taken of: the examples, and what a person and agents did with them.

Everything in it is made here or comes from examples/ and docs/; names and paths are those of nobody.
"""

from __future__ import annotations

import json
import os
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from ricordo import Ricordo, told_log
from ricordo.speaking import speaking
from ricordo.values.provenance import Provenance, stored

ROOT = Path(__file__).parents[1]
HOME = "/home/you"
QUESTION = "how do I know that a token is genuine?"
GUIDE = f"disk:{HOME}/notes/jwt-validation.md"
DEPLOYS = "memory:/deploys"
AGENT = Provenance("agent", "claude-code", session="tokens", via="mcp")
ASKED = ("how do I know that a token is genuine?", "notes about productivity", "retry with backoff",
         "what did we decide about search?")  # fmt: skip
OPEN = ("who rotates the certificates of the staging cluster?", "what does the parking permit cost?")
SAID = (
    ("user", "The gateway rejects tokens from the new identity provider. Can you find out why?"),
    ("assistant", "The key set is cached for a day, and the provider rotated its keys this morning. I will fetch the"
                  " key set again when a `kid` is unknown, at most once a minute."),
    ("user", "Good. Always run make check before you commit."),
    ("assistant", "`make check` passes: 214 tests, no warnings. The fix is committed."),
    ("user", "We deploy on Tuesdays, not on Fridays."),
    ("assistant", "Noted."),
)  # fmt: skip
COMMITS = (
    (
        "Fetch the key set again when a kid is unknown",
        "keys.py",
        "def key_for(kid: str) -> Key:\n    return known[kid]\n",
    ),
    ("Retry the gateway three times, with backoff", "gateway.py", "for attempt in range(3):\n    call()\n"),
)


def fill(memory: Ricordo, folder: Path) -> None:
    """Put everything into a store; ``folder`` is for files that are needed on the way."""
    _texts(memory)
    _changes(memory)
    _session(memory, folder)
    _repository(memory, folder)
    memory.embed()
    _questions(memory)


def _texts(memory: Ricordo) -> None:
    """The examples and the documentation, under names that say nothing of this machine."""
    for base, place in (("examples", "notes"), ("docs", "ricordo/docs")):
        for file in sorted((ROOT / base).rglob("*.*")):
            if file.suffix in (".md", ".py") and "integrations" not in file.parts:
                name = file.relative_to(ROOT / base).as_posix()
                memory.add(file, as_ref=f"disk:{HOME}/{place}/{name}", wait=False)
    notes: dict[str, tuple[str, dict[str, Any]]] = {
        "gateway": ("# Gateway\n\nIt believes a token after [[Validating JSON Web Tokens]]. Calls are tried again, see"
                    " [[retry]]. It runs beside the [[home-network]].", {"tags": ["api"]}),
        "on-call": ("# On call\n\nBegin with the [[gateway]], then [[2026-03-04-slow-search]].", {"tags": ["team"]}),
        "weekly": ("# Weekly\n\nWhat to do is in [[getting-things-done]]; who is [[on-call]]; the trip is"
                   " [[lisbon-in-march]].", {"tags": ["team"]}),
        "bread": ("# Bread on Sunday\n\n[[sourdough]], begun on Saturday. See [[weekly]].", {"tags": ["home"]}),
    }  # fmt: skip
    for name, (text, fields) in notes.items():
        memory.save(f"note:/{name}", text, fields=fields)


def _changes(memory: Ricordo) -> None:
    """What was remembered, corrected, removed, has expired, and was changed by an agent."""
    memory.remember("The signing keys are rotated in the first week of every quarter.", tags=["security"], importance=4)
    wrong = memory.remember("The staging cluster has four nodes.", title="Staging cluster")
    memory.correct(wrong.ref, "The staging cluster has six nodes.")
    memory.remember("We deploy on Mondays.", ref=DEPLOYS, title="When we deploy", tags=["team"], loading="always")
    memory.edit(DEPLOYS, "We deploy on Tuesdays, after `make check` has passed.")
    with speaking(AGENT):
        memory.remember("We never deploy on Tuesdays.", title="No deploys", on_duplicate="save")
    memory.remember("The old badge opens the side gate.", title="Side gate", valid_until="2026-01-31")
    memory.save("note:/old-office", "The printer is on the second floor.", fields={"title": "The old office"})
    memory.rm("note:/old-office")
    rule = {"title": "How we write", "loading": "always", "tags": ["team"]}
    memory.save("note:/style", "Answer in British English. Keep sentences short.", fields=rule)
    with speaking(AGENT):
        memory.edit("note:/style", "Answer in British English. Keep sentences short, and name the file you changed.")


def _session(memory: Ricordo, folder: Path) -> None:
    """A session of an agent, which teaches something."""
    at = datetime.now(UTC) - timedelta(hours=3)
    lines = []
    for number, (role, text) in enumerate(SAID):
        content: Any = text if role == "user" else [{"type": "text", "text": text}]
        lines.append({
            "type": role, "sessionId": "tokens", "cwd": f"{HOME}/gateway", "uuid": f"turn-{number}",
            "parentUuid": f"turn-{number - 1}" if number else None, "isSidechain": False, "userType": "external",
            "version": "2.1.12", "timestamp": (at + timedelta(minutes=2 * number)).isoformat().replace("+00:00", "Z"),
            "message": {"role": role, "content": content},
        })  # fmt: skip
    file = folder / ".claude" / "projects" / "-home-you-gateway" / "tokens.jsonl"
    file.parent.mkdir(parents=True)
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    memory.sessions_add(str(file))


def _repository(memory: Ricordo, folder: Path) -> None:
    """A repository with a few commits."""
    top = folder / "gateway"
    top.mkdir()
    who = {"GIT_AUTHOR_NAME": "Ada", "GIT_AUTHOR_EMAIL": "ada@example.org", "GIT_CONFIG_NOSYSTEM": "1"}
    env = {**os.environ, **who, "GIT_COMMITTER_NAME": "Ada", "GIT_COMMITTER_EMAIL": "ada@example.org"}

    def git(*words: str) -> None:
        subprocess.run(["git", *words], cwd=top, env=env, check=True, capture_output=True)

    git("init", "-q", "-b", "main")
    for message, name, text in COMMITS:
        (top / name).write_text(text, encoding="utf-8")
        git("add", "-A")
        git("commit", "-q", "-m", message)
    memory.add(top, history=True)


def _questions(memory: Ricordo) -> None:
    """What people and agents asked, and what hooks told."""
    for question in OPEN:
        with speaking(AGENT):
            memory.search(question)
    for question in ASKED:
        memory.search(question)
    with speaking(AGENT):
        found = memory.search("why does the gateway reject tokens").hits
        memory.get(found[0].ref)
    told_log.note("user-prompt", memory.location, [hit.ref for hit in found[:3]], asker=stored(AGENT), tokens=412)
    told_log.note("session-start", memory.location, [found[0].ref], asker=stored(AGENT), tokens=181)
