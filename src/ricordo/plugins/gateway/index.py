"""Turns a tool into an item, finds the tools that fit a task, and says which of them may be called.

Servers write names, descriptions and schemas, so they are only data: control characters are removed, lengths are
limited, and a tool that cannot be used safely is left out with a reason. To find one, the task is put in general words,
and tools come before resources and prompts; the search does the ranking (``bench/tools.py`` measures it).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Any

from ricordo.digests import hash_of
from ricordo.errors import Forbidden, NotFound, UsageError
from ricordo.plugins.gateway.mcp_config import ServerTool
from ricordo.plugins.gateway.values import ToolEntry
from ricordo.trust.fence import any_of, quoted, visible
from ricordo.values.hits import Hit
from ricordo.values.items import Entry, Item

LARGEST_SCHEMA = 64_000
"""The most bytes of an input schema; a larger one would not fit into an agent's context."""
LONGEST_NAME = 128
LONGEST_DESCRIPTION = 4_000
LONGEST_PARAMETER = 300
MOST_PARAMETERS = 60
SHORT = 300
"""How many letters of the description are shown beside a name."""
_NAME = re.compile(r"\w")
_UNFIT = re.compile(r"[^\w.@-]+")
_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[_\-./:]+")


def listing_of(server: str, offered: Iterable[ServerTool]) -> tuple[list[Entry], list[str]]:
    """The items for what a server offers, and what was left out and why; of two with one name, the first counts."""
    entries: dict[str, Entry] = {}
    notes: list[str] = []
    for one in offered:
        if problem := unfit(one):
            notes.append(f"{one.what} {shown(one.name)}: {problem}")
            continue
        entry = entry_of(server, one)
        if entry.ref in entries:
            notes.append(f"{one.what} {shown(one.name)}: there are two with this name; the first is used")
            continue
        entries[entry.ref] = entry
    return list(entries.values()), notes


def unfit(one: ServerTool) -> str:
    """Why a tool cannot be taken in; empty when it can."""
    if not one.name or len(one.name) > LONGEST_NAME or not _NAME.match(one.name) or not one.name.isprintable():
        return "its name is empty, too long or has characters that no name should have"
    try:
        size = len(json.dumps(one.schema, ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return "its input schema is nested too deeply"
    if size > LARGEST_SCHEMA:
        return f"its input schema takes {size:,} bytes, more than {LARGEST_SCHEMA:,}"
    return ""


def entry_of(server: str, one: ServerTool) -> Entry:
    """A tool as an item: ``tool:/SERVER/NAME`` with name, description and parameters as its text."""
    words = as_words(one.name)
    title = clean(one.title)[:LONGEST_NAME] or words
    if (server_words := as_words(server)).casefold() not in words.casefold():
        title = f"{server_words}: {title}"  # the name of the server often says what the tool is about
    description = clean(one.description)[:LONGEST_DESCRIPTION]
    lines = [] if title.casefold().endswith(words.casefold()) else [words]
    lines += [description, *parameter_lines(one.schema)]
    metadata: dict[str, Any] = {"server": server, "name": one.name, "what": one.what, "schema": dict(one.schema)}
    metadata["about"] = " ".join(description.split())[:SHORT]
    if one.hints:
        metadata["hints"] = dict(one.hints)
    if one.uri:
        metadata["uri"] = one.uri[:2_000]
    fields = {
        "title": title,
        "category": one.what,
        "domain": server,
        "source": "url",
        "source_adapter": "mcp",
        "metadata": metadata,
    }
    # The title is embedded in front of the text. Repeating it, or the description, lowers recall.
    text = "\n".join(filter(None, lines)) or words
    return Entry(ref_of(server, one.what, one.name), text, "tool", fields)


def ref_of(server: str, what: str, name: str) -> str:
    """The ref of a tool; resources and prompts have folders of their own, because they may have the name of a tool."""
    fit = _UNFIT.sub("-", name).strip("-.") or "unnamed"
    if fit != name:  # two names must not become the same
        fit = f"{fit}-{hash_of(name.encode('utf-8', 'replace'))[:6]}"
    return f"tool:/{called_by(server, fit, what)}"


def parameter_lines(schema: Mapping[str, Any]) -> list[str]:
    """A line for each parameter: its name as words, and what it is for."""
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return []
    lines = []
    for name, about in list(properties.items())[:MOST_PARAMETERS]:
        said = about.get("description") if isinstance(about, dict) else ""
        purpose = " ".join(clean(said).split())[:LONGEST_PARAMETER] if isinstance(said, str) else ""
        named = as_words(clean(str(name))[:LONGEST_NAME])
        lines.append(f"- {named}: {purpose}" if purpose else f"- {named}")
    return lines


def as_words(name: str) -> str:
    """A name as people say it: ``getCurrentTime`` and ``get_current_time`` are ``get current time``."""
    return " ".join(_WORDS.sub(" ", name).split())


def clean(text: str) -> str:
    """A text without characters that control a terminal or hide text."""
    return visible(text).strip()


def shown(name: str) -> str:
    """A name that may be hostile, for a message."""
    plain = "".join(letter if letter.isprintable() else "?" for letter in name[:60])
    return f"'{plain}…'" if len(name) > 60 else f"'{plain}'"


MORE = 3
"""How many times more hits than asked for are fetched, because resources and prompts are moved back afterwards."""
NOT_A_TOOL = 0.6
"""The score of a resource or a prompt is multiplied by this, because a task mostly needs a tool."""
_ADDRESS = re.compile(r"\b(?:https?://|www\.)\S+", re.IGNORECASE)
_FILE = re.compile(r"(?<![\w/.])(?:~|\.{1,2})?[\w./-]*\w\.[A-Za-z][A-Za-z0-9]{1,4}\b(?![\w/])")


def in_general(task: str) -> str:
    """The task with addresses and file names replaced by general words.

    >>> in_general("rename draft.md, then read https://example.org/news")
    'rename file, then read web page URL'
    """
    return _FILE.sub("file", _ADDRESS.sub("web page URL", task))


def tools_first(found: Sequence[ToolEntry], limit: int) -> tuple[ToolEntry, ...]:
    """The best hits, with resources and prompts moved back."""

    def rank(one: ToolEntry) -> float:
        return -(one.score or 0.0) * (1.0 if one.what == "tool" else NOT_A_TOOL)

    return tuple(sorted(found, key=rank)[:limit])


_NO_MARKS = str.maketrans("", "", "‹›")
NOT_READ_ONLY = "it does not say that it only reads"


def entry_from(item: Item, allow: Sequence[str], score: float | None = None) -> ToolEntry:
    """The tool that an item of kind tool describes."""
    known = item.fields.metadata
    server, name, what = (str(known.get(key) or "") for key in ("server", "name", "what"))
    called = called_by(server, name, what)
    hints = known.get("hints")
    hints = hints if isinstance(hints, Mapping) else {}
    schema = known.get("schema")
    fine = may_call(called, hints, allow)
    return ToolEntry(
        called,
        server,
        item.title,
        str(known.get("about") or ""),
        str(item.ref),
        what or "tool",
        callable=fine,
        why_not="" if fine else NOT_READ_ONLY,
        schema=schema if isinstance(schema, Mapping) else {},
        hints=hints,
        score=score,
    )


def entries_from(hits: Sequence[Hit], allow: Sequence[str]) -> list[ToolEntry]:
    """The tools that hits describe."""
    return [entry_from(hit.item, allow, hit.score) for hit in hits if hit.item is not None]


def called_by(server: str, name: str, what: str) -> str:
    """The name that find returns and call takes: ``SERVER/NAME``, with the folder of a resource or prompt."""
    folder = {"resource": "resources/", "prompt": "prompts/"}.get(what, "")
    return f"{server}/{folder}{name}"


def may_call(name: str, hints: Mapping[str, bool], allow: Sequence[str]) -> bool:
    """Whether a tool says that it only reads, or the user allowed it by a pattern."""
    reads = hints.get("read_only") is True and hints.get("destructive") is not True
    return reads or any(fnmatchcase(name, pattern.strip()) for pattern in allow if pattern.strip())


def refuse(name: str, allow: Sequence[str]) -> Forbidden:
    """The error for a call of a tool that may not be called; its hint keeps what the user allowed before."""
    inside = ",".join([*allow, quoted(name)[1:-1].translate(_NO_MARKS)])  # the face quotes the command
    return Forbidden(
        f"{quoted(name)} was not called: {NOT_READ_ONLY}",
        hint=f"Only the user can allow it, in their own settings: ‹:config set tools.allow {inside}›",
    )


def pick(name: str, known: Sequence[ToolEntry]) -> ToolEntry:
    """The tool that a name means: ``SERVER/NAME``, its ref, or the bare name where only one server has it."""
    wanted = name.strip()
    if not wanted:
        raise UsageError("the name is empty", hint="Name a tool as find_tools shows it: SERVER/NAME.")
    exact = [one for one in known if wanted in (one.name, one.ref)]
    bare = exact or [one for one in known if one.name.rpartition("/")[2] == wanted]
    if len(bare) == 1:
        return bare[0]
    if bare:
        names = any_of([one.name for one in bare])
        raise UsageError(f"several servers have {quoted(wanted)}", hint=f"One of: {names}.")
    near = get_close_matches(wanted, [one.name for one in known], n=3, cutoff=0.5)
    hint = f"Did you mean {any_of(near)}?" if near else "find_tools finds one by what it is for."
    if not known:
        hint = "There are none yet; ‹:tools add› takes some in."
    raise NotFound(f"there is no tool '{wanted[:80]}'", hint=hint)


def part_of(text: str, start: int, most: int) -> tuple[str, int | None]:
    """A part of a result, cut at the end of a line where there is one, and where the next one starts."""
    if start < 0 or (start and start >= len(text)):
        raise UsageError(f"there is nothing from character {start} on", hint=f"The result has {len(text):,}.")
    if len(text) - start <= most:
        return text[start:], None
    cut = text.rfind("\n", start + most // 2, start + most)
    end = cut + 1 if cut > 0 else start + most
    return text[start:end], end
