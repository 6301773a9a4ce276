"""What a query asks for: plain words, "exact phrases", -excluded words, prefixes* and inline filters.

Any text is a valid query. What does not fit the little language below is taken as plain words; a filter with a value
that cannot be used is too, with a note that says so.
"""

from __future__ import annotations

import re
from dataclasses import field, replace
from typing import Any

from ricordo.errors import UsageError
from ricordo.frozen import frozen
from ricordo.patterns import late
from ricordo.values.field_checks import SEVERITIES
from ricordo.values.hits import LIVE, Filters
from ricordo.values.kinds import CHECKPOINT, DRIVES_APART, FACETS, KINDS
from ricordo.values.times import SPOKEN, joined, parse_time

MAX_CHARACTERS = 20_000
"""Longer queries are cut here: no question is longer, and a pasted file would match everything anyway."""

MOST_PARTS = 64
"""How many phrases, prefixes and excluded words are used, each, because every one is looked up separately."""

FILTER_NAMES = "kind|tag|drive|path|domain|severity|category|importance|tier|after|before|thread|author|facet|state"

_PART = late(
    rf"""
    (?P<minus>(?<!\S)-)?"(?P<phrase>[^"]*)"
    | (?<!\S)(?P<name>{FILTER_NAMES}):
      (?:"(?P<quoted>[^"]*)"|(?P<value>(?:(?<=after:)|(?<=before:))(?i:{SPOKEN})(?!\S)|\S+))
    | (?<!\S)-(?P<excluded>(?:{FILTER_NAMES}):"[^"]*"|\w[^\s"]*)
    | (?P<prefix>\w+)\*(?!\w)
    | (?P<word>[^\s"]+|")
    """,
    re.VERBOSE,
)

_SIGNS = frozenset('":*-')
"""Without these, a query consists of words."""
_FILTER_NAME = late(rf"(?:{FILTER_NAMES}):")
_DAY = late(r"(?<!\S)(after:|before:)(\S+(?: [^\s:]+){1,4})")


@frozen
class ParsedQuery:
    """A query taken apart. ``text`` holds the words as written, phrases included: what is embedded."""

    text: str = ""
    words: str = ""
    phrases: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    excluded_phrases: tuple[str, ...] = ()
    filters: Filters = field(default_factory=Filters)
    notes: tuple[str, ...] = ()

    def asks_for_text(self) -> bool:
        """Whether anything is searched for; otherwise the query only filters, and the answer is a listing."""
        return bool(self.words.strip() or self.phrases or self.prefixes)


def parse_query(text: str, *, literal: bool = False) -> ParsedQuery:
    """Take a query apart; ``literal`` takes all of it as plain words."""
    notes = []
    if len(text) > MAX_CHARACTERS:
        text = text[:MAX_CHARACTERS]
        notes.append(f"the query was cut to its first {MAX_CHARACTERS:,} characters")
    text = text.replace("\x00", " ").encode("utf-8", "replace").decode()  # half a character cannot be looked for
    if literal:
        return ParsedQuery(text=text, words=text, notes=tuple(notes))
    if _SIGNS.isdisjoint(text):
        plain = " ".join(text.split())
        return ParsedQuery(text=plain, words=plain, notes=tuple(notes))
    if "after:" in text or "before:" in text:
        text = _DAY.sub(lambda match: match[1] + joined(match[2]), text)
    parts: dict[str, list[str]] = {what: [] for what in (WORDS, *_LOOKED_UP)}
    words: list[str] = []
    conditions: list[tuple[str, str]] = []
    for match in _PART.finditer(text):
        part = match.groupdict()
        what, piece = WORDS, part["word"]
        if part["phrase"] is not None:
            what, piece = "excluded phrases" if part["minus"] else "phrases", part["phrase"].strip()
        elif part["name"] is not None:
            value = part["quoted"] if part["quoted"] is not None else part["value"]
            problem = _problem(part["name"], value)
            if problem is None:
                conditions.append((part["name"], value))
                continue
            notes.append(problem)
            piece = match.group()
        elif part["excluded"] is not None:
            what, piece = "excluded words", part["excluded"]
            if _FILTER_NAME.match(piece):
                notes.append(f"'{match.group()}' leaves out texts with these words: a filter cannot be turned round")
        elif part["prefix"] is not None:
            what, piece = "beginnings of words", part["prefix"]
        if piece:
            parts[what].append(piece)
            if not what.startswith("excluded"):
                words.append(piece)
    looked_up = {field: _first_parts(parts[what], what, notes) for what, field in _LOOKED_UP.items()}
    return ParsedQuery(
        " ".join(words), " ".join(parts[WORDS]), filters=_filters(conditions), notes=tuple(notes), **looked_up
    )


WORDS = "words"
_LOOKED_UP = {
    "phrases": "phrases",
    "beginnings of words": "prefixes",
    "excluded words": "excluded",
    "excluded phrases": "excluded_phrases",
}
"""What is looked up piece by piece, as people call it, and the fields that hold it."""


def _first_parts(parts: list[str], what: str, notes: list[str]) -> tuple[str, ...]:
    """Each part once, and no more than ``MOST_PARTS``, so that a search stays fast."""
    once = tuple(dict.fromkeys(parts))
    if len(once) > MOST_PARTS:
        notes.append(f"only the first {MOST_PARTS} {what} were used")
    return once[:MOST_PARTS]


def _problem(name: str, value: str) -> str | None:
    """Why a filter value cannot be used, or None."""
    if not value:
        return f"'{name}:' has no value and was taken as a word"
    if name in ("after", "before"):
        try:
            parse_time(value)
        except UsageError as error:
            return f"{error.message}; '{name}:{value}' was taken as words"
    if name == "importance" and not _importance(value):
        return f"'importance:{value}' is not a number from 1 to 5 and was taken as words"
    allowed = _CHOICES.get(name)
    if allowed is not None and value.lower() not in allowed:
        return f"'{name}:{value}' was taken as words; {name} is one of {', '.join(allowed)}"
    return None


def _importance(value: str) -> int | None:
    match = re.fullmatch(r"(?:>=|=)?([1-5])\+?", value)
    return int(match.group(1)) if match else None


_CHOICES = {
    "kind": KINDS,
    "severity": SEVERITIES,
    "tier": ("agent", "project", "team"),
    "facet": FACETS,
    "state": ("live", "archived", "deleted"),
}
_COLLECTED = {
    "kind": "kinds",
    "tag": "tags_all",
    "drive": "drives",
    "path": "paths",
    "domain": "domains",
    "severity": "severities",
    "category": "categories",
    "tier": "tiers",
    "thread": "threads",
    "author": "authors",
    "facet": "facets",
    "state": "states",
}


def _filters(conditions: list[tuple[str, str]]) -> Filters:
    collected: dict[str, Any] = {}
    for name, value in conditions:
        if name in ("after", "before"):  # of several, the strictest holds
            choose = max if name == "after" else min
            moment = parse_time(value)
            collected[name] = choose(collected.get(name, moment), moment)
        elif name == "importance":
            collected["importance_min"] = max(collected.get("importance_min", 0), _importance(value) or 0)
        else:
            plain = value.lower() if name in _CHOICES else value
            collected[_COLLECTED[name]] = (*collected.get(_COLLECTED[name], ()), plain)
    return Filters(**collected)


def both(first: Filters, second: Filters) -> Filters:
    """Filters that require what both require."""
    changes: dict[str, Any] = {"tags_all": tuple(dict.fromkeys((*first.tags_all, *second.tags_all)))}
    for name in ("kinds", "categories", "domains", "severities", "drives", "threads", "tiers", "authors"):
        mine, theirs = getattr(first, name), getattr(second, name)
        if mine and theirs:
            changes[name] = tuple(value for value in mine if value in theirs) or ("\x00nothing",)
        else:
            changes[name] = mine or theirs
    changes["paths"] = first.paths or second.paths
    changes["also_paths"] = first.also_paths or (second.paths if first.paths else ())
    changes["tags_any"] = first.tags_any or second.tags_any
    importances = [value for value in (first.importance_min, second.importance_min) if value is not None]
    changes["importance_min"] = max(importances, default=None)
    changes["after"] = max((t for t in (first.after, second.after) if t), default=None)
    changes["before"] = min((t for t in (first.before, second.before) if t), default=None)
    changes["metadata"] = {**first.metadata, **second.metadata}
    changes["states"] = first.states if second.states == LIVE else second.states
    changes["facets"] = tuple(dict.fromkeys((*first.facets, *second.facets)))
    return replace(first, **changes)


IN_THE_ARCHIVE = ("archived",)
"""The state of checkpoints and of what is apart: archived from the start, so that other searches do not see them or get
slower.
"""


def with_archive(filters: Filters) -> Filters:
    """The same filters; if they ask for checkpoints, or for kinds that are apart, they mean the archive, where these
    are.
    """
    is_apart = CHECKPOINT in filters.categories or (filters.kinds and set(filters.kinds) <= set(DRIVES_APART))
    return replace(filters, states=IN_THE_ARCHIVE) if is_apart else filters
