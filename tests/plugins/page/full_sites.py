"""A store in which every page of the site has something to show, with plain words or with a trap in every text."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import quote

from tests.git.conftest import Checkout
from tests.plugins.lessons.conversations import Conversation

from ricordo import Ricordo, told_log
from ricordo.speaking import speaking
from ricordo.values.provenance import Provenance, stored

HARBOUR = "# The harbour\n\n" + "\n\n".join(
    f"## Part {number}\n\n" + f"Sentence {number} about the harbour and its keys. " * 30 for number in range(1, 7)
)
MARKDOWN = """# All of Markdown

A [[keys]] link, a [[missing]] one, *soft*, **strong**, `code`, <kbd>Ctrl</kbd>, and https://example.org.

- [ ] to do
- [x] done

1. one
2. two

> quoted

| port | depth |
|---|---:|
| Oslo | 12 |

```python
def rotate(keys: list[str]) -> None:  # a comment
    raise ValueError("no keys %s" % keys)
```

## Second

### Third
"""
RST = "Guide\n=====\n\nA *word* about keys.\n\n.. note:: Mind the gap.\n\n.. code-block:: python\n\n   x = 1\n"
MAIL = "From: Ann <ann@x.org>\nTo: Bob <bob@x.org>\nSubject: Tides and keys\n\nHi,\nsee it.\n\n> old words\n"


def files(trap: str) -> dict[str, str]:
    """A file of each format, by name."""
    cells = [
        {"cell_type": "markdown", "source": f"# Study\n\nWords about keys. {trap}"},
        {"cell_type": "code", "source": "x = 1", "outputs": [{"output_type": "stream", "text": f"one {trap}"}]},
    ]
    cell = trap.replace('"', '""')
    return {
        "all.md": MARKDOWN + trap,
        "guide.rst": RST + f"\n{trap}\n",
        "tides.eml": MAIL + trap,
        "ports.csv": f'port,depth\nOslo,"12 {cell}"\nBergen,9\n',
        "study.ipynb": json.dumps({"cells": cells, "nbformat": 4}),
        "page.html": f"<title>A page</title><main><p>Words about keys{' and doors' * 8}. {trap}</p></main>",
        "rotate.py": f"import os\n\nKEYS = {trap!r}\n",
        "plain.txt": f"Plain words about keys.\n{trap}\n",
        "data.json": json.dumps({"keys": ["a", trap]}),
        "picture.bin": "\0\1\2\3" * 40,
    }


def fill(engine: Ricordo, folder: Path, trap: str = "") -> list[str]:
    """Fill a store; returns the paths of all its pages."""
    agent = Provenance("agent", f"claude-code{trap}"[:120], session=f"s-7{trap}"[:120], via="mcp")
    for name, text in files(trap).items():
        (folder / name).write_text(text, encoding="utf-8")
    refs = [one.ref for name in files(trap) for one in engine.add(folder / name).items if one.ref]
    engine.save("note:/keys", f"# Keys\n\nRotate the signing keys. See [[harbour]] and [[all]]. {trap}",
                fields={"title": f"Keys {trap}".strip(), "tags": ["security", trap or "house"],
                        "description": f"About keys. {trap}", "importance": 4})  # fmt: skip
    engine.edit("note:/keys", f"# Keys\n\nRotate the signing keys every month. See [[harbour]]. {trap}")
    engine.save("note:/harbour", f"{HARBOUR}\n\nSee [[keys]]. {trap}", fields={"tags": ["sea"]})
    for number in range(25):
        engine.save(f"note:/pier-{number:02}", f"Pier {number} has keys and a crane. See [[harbour]]. {trap}")
    engine.link("note:/keys", "note:/harbour", type="supports")
    _happen(engine, folder, agent, trap)
    return [*PAGES, *(f"/item?ref={quote(ref, safe='')}&q=keys" for ref in refs)]


def _happen(engine: Ricordo, folder: Path, agent: Provenance, trap: str) -> None:
    """What people and agents did: corrections, removals, questions, sessions, commits, proposals."""
    wrong = engine.remember(f"Deploys are on Monday. {trap}", title=f"Deploys {trap}".strip())
    engine.correct(wrong.ref, f"Deploys are on Tuesday. {trap}")
    engine.remember(f"The old badge opens the gate. {trap}", ref=f"memory:/badge{trap}", valid_until="2020-01-01",
                    on_duplicate="save")  # fmt: skip
    engine.save("note:/rule", f"My rule. {trap}", fields={"title": f"The rule {trap}".strip(), "loading": "always"})
    for name in ("removed", "archived"):
        engine.save(f"note:/{name}", f"An office in Bern, {name}. {trap}", fields={"title": f"Office {name} {trap}"})
    engine.rm("note:/removed")
    engine.forget("note:/archived")
    with speaking(agent):
        engine.edit("note:/rule", f"Another rule. {trap}")
        engine.search(f"signing keys {trap}".strip())
        engine.get("note:/keys")
        engine.search(f"zzqq frobnication {trap}".strip(), by="words")
    engine.search(f"harbour {trap}".strip())
    told_log.note("user-prompt", engine.location, ["note:/keys", f"note:/gone{trap}"], asker=stored(agent), tokens=120)
    talk = Conversation(folder, folder, id="talk").user(f"Fix the login keys. {trap}").agent(f"It is **fixed**. {trap}")
    talk.user("Always run make lint before you commit.").run("make lint", f"ok {trap}").agent("Done.")
    engine.sessions_add(str(talk.write()))
    shop = Checkout(folder / "shop")
    shop.top.mkdir()
    shop.git("init", "-q", "-b", "main")
    shop.commit(f"Rotate the keys of the shop {trap}", README__md=f"A shop with keys. {trap}\n")
    engine.add(shop.top, history=True)


KEYS = quote("note:/keys", safe="")
HARBOUR_REF = quote("note:/harbour", safe="")
PAGES = (
    "/", "/?q=keys", "/?q=zzzzqqqq", "/?tag=security", "/browse", "/browse?prefix=note:/", "/add",
    "/graph", f"/graph?ref={KEYS}", "/log?view=summary", "/profiles", "/compare?q=keys",
    "/jobs", "/settings", "/settings?all=true", "/settings?tokens=true", "/api",
    "/log", "/log?view=changed", "/log?view=unanswered", "/log?view=told", "/log?view=sessions",
    "/bin", "/bin?state=archived", "/tags",
    "/review", "/review?ref=note%3A%2Frule", f"/edit?ref={KEYS}", f"/edit?ref={KEYS}&how=correct",
    f"/why?q=keys&ref={HARBOUR_REF}", f"/why?q=office&ref={quote('note:/archived', safe='')}",
    f"/around?ref={KEYS}", "/session?id=talk&turn=2", "/item?ref=note:/none",
    f"/item?ref={HARBOUR_REF}&q=keys&lines=9-9",
    *(f"/item?ref={KEYS}&q=keys&view={view}" for view in ("text", "source", "passages", "versions", "fields")),
)  # fmt: skip
"""The pages that there are in every store that was filled, besides those of its files."""
