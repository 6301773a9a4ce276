"""Flags that several verbs share, and what they mean as values: filters, weights, fields."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ricordo.cli.completing import RefType
from ricordo.config.settings import find_setting
from ricordo.errors import UsageError
from ricordo.values.days import parse_time
from ricordo.values.hits import Filters
from ricordo.values.items import FIELD_NAMES, SEVERITIES, checked_fields, checked_tags
from ricordo.values.kinds import KINDS

if TYPE_CHECKING:
    from ricordo.cli.call import Call

Function = TypeVar("Function", bound=Callable[..., Any])

_INTEGERS = ("importance", "seq")
_FLAGS = ("immutable", "decay_protected", "is_textual")
_TEXTS = ("title", "description", "context")


def together(*decorators: Callable[[Any], Any]) -> Callable[[Function], Function]:
    """Several options as one decorator; help shows them in the order given."""

    def decorate(function: Function) -> Function:
        for one in reversed(decorators):
            function = one(function)
        return function

    return decorate


COUNT = click.IntRange(min=1)
REF = RefType(allow_dash=True)
"""A ref, an item's id, a URL or a path; shells complete it, and the engine says what it is."""


def limited(limit: int | None, what: str = "How many at most") -> Callable[[Function], Function]:
    """``--limit``; without a number of its own it is the setting ``search.limit``."""
    shown = f"{what} ({limit if limit is not None else 'search.limit, or 10'})."
    return click.option("--limit", "-n", type=COUNT, default=limit, metavar="N", help=shown)


def paging(limit: int | None) -> Callable[[Function], Function]:
    """``--limit`` and ``--offset``."""
    first = click.option("--offset", type=click.IntRange(min=0), default=0, metavar="N", help="Skip the first N.")
    return together(limited(limit), first)


FILTER_OPTIONS = together(
    click.option("--kind", "-k", multiple=True, type=click.Choice(KINDS), metavar="KIND", help="Only this kind."),
    click.option("--tag", "-t", multiple=True, metavar="TAG", help="Only items with one of these tags."),
    click.option("--all-tags", metavar="A,B", help="Only items with every one of these tags."),
    click.option("--drive", "-d", multiple=True, metavar="DRIVE", help="Only this drive: disk, url, memory, …"),
    click.option(
        "--path", "-p", multiple=True, metavar="PREFIX|GLOB", help="Only paths that start with this or match it."
    ),
    click.option("--category", multiple=True, metavar="NAME", help="Only this category."),
    click.option("--domain", multiple=True, metavar="NAME", help="Only this domain."),
    click.option("--severity", multiple=True, type=click.Choice(SEVERITIES), help="Only this severity."),
    click.option(
        "--importance", type=click.IntRange(1, 5), metavar="1-5", help="Only items of this importance or higher."
    ),
    click.option("--thread", multiple=True, metavar="ID", help="Only this conversation or series."),
    click.option("--after", metavar="DATE", help="Only items changed on or after this day or time (local)."),
    click.option("--before", metavar="DATE", help="Only items changed before this day or time (local)."),
)
FILTER_NAMES = (
    "kind", "tag", "all_tags", "drive", "path", "category", "domain", "severity", "importance", "thread",
    "after", "before",
)  # fmt: skip


def filters_from(call: Call, given: dict[str, Any]) -> Filters:
    """Take the filter flags out of a verb's options and make one value of them."""
    flags = {name: given.pop(name) for name in FILTER_NAMES}
    return Filters(
        kinds=flags["kind"],
        tags_any=flags["tag"],
        tags_all=checked_tags(flags["all_tags"] or ""),
        categories=flags["category"],
        domains=flags["domain"],
        severities=flags["severity"],
        drives=flags["drive"],
        paths=flags["path"],
        threads=flags["thread"],
        tiers=(call.tier,) if call.tier else (),
        importance_min=flags["importance"],
        after=parse_time(flags["after"]) if flags["after"] else None,
        before=parse_time(flags["before"]) if flags["before"] else None,
    )


AS_OF = click.option("--as-of", metavar="DATE", help="Search the versions that were current then.")
ASKING_OPTIONS = together(
    FILTER_OPTIONS,
    AS_OF,
    click.option("--lexical/--no-lexical", default=True, help="Search by words (default) or not."),
    click.option("--vectors/--no-vectors", default=True, help="Search by meaning (default) or not."),
    click.option("--backend", metavar="NAME", help="hybrid, lexical (fts5) or grep, for this search."),
    click.option("--weights", metavar="A=1,B=0", help="Use other weights for these signals of the profile."),
)
RANKING_OPTIONS = together(
    click.option("--boost-tags", metavar="A,B", help="Rank items with these tags higher."),
    click.option("--boost-domain", metavar="NAME", help="Rank items of this domain higher."),
    click.option("--diverse", is_flag=True, default=None, help="Prefer hits that differ from one another."),
    click.option("--rerank", metavar="KIND", help="Rank the best hits again with a cross-encoder or llm."),
    click.option("--memories", is_flag=True, default=None, help="Also search memories and sessions (profile vault)."),
)
FORM = together(
    click.option("--brief", "form", flag_value="brief", default="", help="Print one line for each hit."),
    click.option("--files", "form", flag_value="files", help="Print only the paths or refs of the hits."),
)
TRACK = click.option("--track/--no-track", default=None, help="Record what was found (default) or not.")
ANSWER_OPTIONS = together(
    paging(None),
    click.option(
        "--mode", type=click.Choice(["scan", "full"]), default="scan", help="full also returns the whole items."
    ),
    click.option("--min-score", type=float, metavar="0-1", help="Leave out hits below this score."),
    TRACK,
    click.option("--explain", is_flag=True, help="Show why: each signal, each word, the steps to the score."),
)


def search_settings(call: Call, given: dict[str, Any]) -> dict[str, Any]:
    """The engine's search options from a verb's flags; what was not given is left to the engine."""
    settings = dict(given)
    settings["filters"] = filters_from(call, settings)
    settings["profile"] = call.profile
    readers = {
        "weights": weights_from,
        "boost_tags": checked_tags,
        "as_of": parse_time,
        "backend": find_setting("search.backend").read,
    }
    for name, read in readers.items():
        if settings.get(name):
            settings[name] = read(settings[name])
    return {name: value for name, value in settings.items() if value is not None}


def weights_from(text: str) -> dict[str, float]:
    """``vector=0.5,recency=0`` as a mapping; the engine checks names and values."""
    weights: dict[str, float] = {}
    for part in text.split(","):
        name, equals, number = part.partition("=")
        try:
            if not equals or not name.strip():
                raise ValueError
            weights[name.strip()] = float(number)
        except ValueError:
            raise UsageError(f"'{part.strip()}' is not a weight", hint="Write --weights vector=0.5,recency=0") from None
    return weights


def fields_from(pairs: Sequence[str], *, title: str | None = None, tags: Sequence[str] = ()) -> dict[str, Any]:
    """Fields of an item from ``--set name=value`` and the flags for the most common ones."""
    changes: dict[str, Any] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        name = name.strip().replace("-", "_")
        if not equals:
            raise UsageError(f"'{pair}' is not FIELD=VALUE", hint="Write --set severity=warning")
        changes[name] = _field(name, value)
    if title is not None:
        changes["title"] = title
    if tags:
        changes["tags"] = checked_tags(",".join(tags))
    return checked_fields(changes)


def _field(name: str, text: str) -> object:
    """The value of one field from its text; ``checked_fields`` says what is allowed."""
    value = text.strip()
    if name not in FIELD_NAMES or name == "tags":
        return value
    if name in _FLAGS:
        if value.lower() not in ("true", "false", "yes", "no", "1", "0"):
            raise UsageError(f"{name} cannot be '{value}'", hint="true or false.")
        return value.lower() in ("true", "yes", "1")
    if name == "metadata":
        return _metadata(value)
    if not value and name not in _TEXTS:
        return None
    if name in _INTEGERS:
        try:
            return int(value)
        except ValueError:
            raise UsageError(f"{name} cannot be '{value}'", hint="A whole number.") from None
    return text


def _metadata(value: str) -> Mapping[str, Any]:
    try:
        read = json.loads(value or "{}")
    except ValueError:
        read = None
    if not isinstance(read, dict):
        raise UsageError("metadata must be a JSON object", hint="""For example --set 'metadata={"team": "search"}'""")
    return read


def query_from(words: Sequence[str]) -> str:
    """The query of several words; ``-`` alone reads it from standard input."""
    if list(words) == ["-"]:
        return sys.stdin.buffer.read().decode("utf-8", "replace").strip()
    return " ".join(words)
