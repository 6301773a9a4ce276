"""Turns a tool into an item: what its server says about it, checked, as one short text that a search can find.

Servers write names, descriptions and schemas, so they are only data: control characters are removed, lengths are
limited, and a tool that cannot be used safely is left out with a reason.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from ricordo.frozen import frozen
from ricordo.sources.mcp_client import ServerTool
from ricordo.values.items import Entry

DRIVE = "tool"
KIND = "tool"
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
_CONTROLS = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff\U000e0000-\U000e007f]"
)
_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[_\-./:]+")


@frozen
class Listing:
    """What a server offers, as items, and what of it was left out and why."""

    entries: tuple[Entry, ...]
    notes: tuple[str, ...] = ()


def listing_of(server: str, offered: Iterable[ServerTool]) -> Listing:
    """The items for what a server offers; if two have the same name, the first is used."""
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
    return Listing(tuple(entries.values()), tuple(notes))


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
    return Entry(ref_of(server, one.what, one.name), text, KIND, fields)


def ref_of(server: str, what: str, name: str) -> str:
    """The ref of a tool; resources and prompts have folders of their own, because they may have the name of a tool."""
    fit = _UNFIT.sub("-", name).strip("-.") or "unnamed"
    if fit != name:  # two names must not become the same
        fit = f"{fit}-{hashlib.sha256(name.encode('utf-8', 'replace')).hexdigest()[:6]}"
    folder = {"resource": "resources/", "prompt": "prompts/"}.get(what, "")
    return f"{DRIVE}:/{server}/{folder}{fit}"


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
    return _CONTROLS.sub("", text.replace("\r\n", "\n").replace("\r", "\n")).strip()


def shown(name: str) -> str:
    """A name that may be hostile, for a message."""
    plain = "".join(letter if letter.isprintable() else "?" for letter in name[:60])
    return f"'{plain}…'" if len(name) > 60 else f"'{plain}'"
