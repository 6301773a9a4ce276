"""Shapes values for an agent: no empty fields, long texts cut, commands called by the tools that do the same."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ricordo.errors import Error, NotFound, from_dict
from ricordo.trust.fence import quoting
from ricordo.trust.level import is_vouched
from ricordo.values.context import HOW_TO_READ
from ricordo.values.hits import Filters, Hit
from ricordo.values.items import Item, Ref, Saved
from ricordo.values.reports import AddReport
from ricordo.verbs.index import all_verbs

if TYPE_CHECKING:
    from difflib import SequenceMatcher

    from ricordo.engine.ricordo import Ricordo


SNIPPET = 240
NEIGHBOURS = 12
"""How many refs in the folder of a written item are shown."""
_LOOKED_THROUGH = 1000
_CLOSE = 0.75
"""Two names are close from this likeness on: at least three quarters of their letters agree."""


def without_empty(plain: Mapping[str, Any]) -> dict[str, Any]:
    """The same without empty values: None, and empty texts, lists and objects."""
    return {name: value for name, value in plain.items() if value not in (None, "", [], {}, ())}


def short(text: str, most: int = SNIPPET) -> str:
    """A text on one line, cut at a space if it is too long."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1].rsplit(' ', 1)[0]}…"


def for_tools(text: str) -> str:
    """A text for agents that names commands, with the tools in their place."""
    for command, by_tool in HOW_TO_READ.values():
        text = text.replace(command, by_tool)
    return text


def hit_row(hit: Hit, *, tiered: bool = False) -> dict[str, Any]:
    """A hit in a few dozen tokens."""
    row = {
        "ref": hit.ref,
        "title": hit.title,
        "kind": hit.kind,
        "score": round(hit.score, 3) if hit.is_ranked else None,
        "fit": round(hit.fit, 2) if hit.fit is not None else None,
        "snippet": short(hit.snippet),
        "lines": list(hit.lines),
        "description": short(hit.description, 120) if hit.description not in hit.snippet else "",
        "context": short(hit.context, 120),
        "tags": list(hit.tags),
        "domain": hit.domain,
        "severity": hit.severity,
        "tier": hit.tier if tiered else "",
        "machine": hit.machine,
        "validity": hit.validity,
        "corrected_by": hit.corrected_by,
        "superseded_by": hit.superseded_by,
        "contradicted_by": hit.contradicted_by,
        "citations": list(hit.citations),
        "token_estimate": hit.token_estimate,
    }
    return without_empty(row)


def saved_row(saved: Saved) -> dict[str, Any]:
    """The result of writing one item."""
    row = {
        "ref": saved.ref,
        "status": saved.status,
        "version": saved.version,
        "previous_version": saved.previous_version,
        "reason": saved.reason,
        "redacted": list(saved.redacted),
        "error": dict(saved.error) if saved.error else None,
    }
    return without_empty(row)


class NeedsDecision(Error):  # noqa: N818 - named like the rest of the tree
    """A text that is nearly the same as a stored one; nothing is written until the caller decides what to do."""

    code = "needs_decision"

    def __init__(self, saved: Saved) -> None:
        ways = "'supersede' (replace the old one), 'save' (keep both), 'skip' (cancel) or 'merge' (into the old one)."
        hint = f"Call again with on_duplicate: {ways}"
        super().__init__(saved.reason or "nearly the same text is already stored; nothing was written", hint=hint)
        self.candidates = [without_empty(candidate.to_dict()) for candidate in saved.candidates]


def written(engine: Ricordo, saved: Saved) -> dict[str, Any]:
    """The answer to a write of one item, with the other items in its folder."""
    if saved.status == "needs_decision":
        raise NeedsDecision(saved)
    if saved.error is not None:
        raise from_dict(saved.error)
    return saved_row(saved) | {"tree": neighbourhood(engine, saved.ref)}


def written_all(engine: Ricordo, report: AddReport) -> dict[str, Any]:
    """The answer to a write of many: counts, then failed items first. It is an error if all failed."""
    if report.items and report.failed == len(report.items):
        raise from_dict(report.items[0].error or {"code": "error", "message": "nothing could be added"})
    counts = {name: report.count(name) for name in ("created", "updated", "skipped", "failed")}
    first = sorted(report.items, key=lambda saved: saved.status != "failed")[:NEIGHBOURS]
    ref = next((saved.ref for saved in report.items if saved.status in ("created", "updated", "skipped")), None)
    more = {
        "items": [saved_row(saved) for saved in first],
        "notes": list(report.notes[:NEIGHBOURS]),
        "tree": neighbourhood(engine, ref) if ref else "",
    }
    return counts | {"items": more.pop("items")} | without_empty(more)


def neighbourhood(engine: Ricordo, ref: str) -> str:
    """The newest items in the folder of a ref, one line each."""
    here = Ref.parse(ref)
    folder = here.path.rpartition("/")[0]
    near = Filters(drives=(here.drive,), paths=(f"{folder}/*",) if folder else ())
    items = engine.list(filters=near, limit=NEIGHBOURS + 1)
    lines = [f"{here.drive}:{folder}/"]
    lines += [f"  {str(item.ref).removeprefix(lines[0])}" for item in items[:NEIGHBOURS]]
    return "\n".join([*lines, "  …"] if len(items) > NEIGHBOURS else lines)


def place_for(name: str) -> str:
    """The ref for an agent's text: a bare name means the drive ``agent``, not a file."""
    from ricordo.engine.checks import is_id

    if Ref.looks_like(name) or is_id(name) or "://" in name or not name.strip("/ "):
        return name
    return f"agent:/{name.strip().lstrip('/')}"


def event_row(event: Mapping[str, Any]) -> dict[str, Any]:
    """An event, with its time to the second."""
    fields = {name: event.get(name) for name in ("at", "what", "ref", "title", "kind", "thread", "role", "direction")}
    return without_empty(fields | {"at": _to_the_second(event.get("at"))})


def _to_the_second(moment: str | None) -> str | None:
    return re.sub(r"\.\d+", "", moment) if moment else None


def near_refs(engine: Ricordo, name: str, limit: int = 3) -> list[str]:
    """Refs on the same drive that are spelled much like a name, closest first; none if no spelling is close.

    The last part of the path counts as well as the whole, so that a right name in a wrong folder is found. A name
    without a drive that looks like a path is one of a file.
    """
    from difflib import SequenceMatcher

    if Ref.looks_like(name):
        drive, _, path = name.partition(":")
    elif "://" not in name and ("/" in name or "." in name):
        drive, path = "disk", f"/{name}"
    else:
        return []
    matcher = SequenceMatcher(b=path)
    last = SequenceMatcher(b=path.rpartition("/")[2])
    near: list[tuple[float, str]] = []
    for item in engine.list(filters=Filters(drives=(drive,)), limit=_LOOKED_THROUGH):
        likeness = max(_likeness(matcher, item.ref.path), _likeness(last, item.ref.path.rpartition("/")[2]))
        if likeness >= _CLOSE:
            near.append((likeness, str(item.ref)))
    near.sort(key=lambda pair: (-pair[0], pair[1]))
    return [ref for _, ref in near[:limit]]


def _likeness(matcher: SequenceMatcher[str], text: str) -> float:
    """How much of two texts is the same, from 0 to 1. The quick estimates are upper bounds; most texts end there."""
    matcher.set_seq1(text)
    if matcher.real_quick_ratio() < _CLOSE or matcher.quick_ratio() < _CLOSE:
        return 0.0
    return matcher.ratio()


def text_of(item: Item, *, from_line: int | None, most: int, from_char: int = 0) -> dict[str, Any]:
    """An item's text, or a part of it that starts at a line, as long as was asked for at most.

    A line that is longer is read in parts: ``from_char`` says how many of its characters are left out.
    """
    first = max(from_line or item.first_line, item.first_line)
    lines = item.content.splitlines(keepends=True)
    rest = lines[first - item.first_line :]
    if from_line is not None and not rest and lines:
        last = item.first_line + len(lines) - 1
        raise NotFound(f"{item.ref} has no line {from_line}", hint=f"Its last line is {last}.")
    if from_char and rest:
        if from_char >= len(rest[0]):
            raise NotFound(f"line {first} of {item.ref} has {len(rest[0]):,} characters", hint="Leave out ‹from_char›.")
        rest = [rest[0][from_char:], *rest[1:]]
    taken, size = _as_many_as_fit(rest, most)
    part = "".join(rest[:taken]) if taken else "".join(rest[:1])[:most]
    row: dict[str, Any] = {"content": part, "lines": [first, first + max(taken, 1) - 1]}
    if size < sum(map(len, rest)):
        row["next_line"] = first + taken
        if not taken:
            row["next_char"] = from_char + most
    return row


def _as_many_as_fit(lines: Sequence[str], most: int) -> tuple[int, int]:
    size = 0
    for count, line in enumerate(lines):
        if size + len(line) > most:
            return count, size
        size += len(line)
    return len(lines), size


FACTS = (
    "title", "description", "kind", "version", "tags", "category", "domain", "severity", "importance", "context",
    "valid_from", "valid_until", "loading", "immutable", "source", "source_url", "thread", "metadata", "state",
    "corrected_by", "superseded_by", "updated_at",
)  # fmt: skip
"""The fields that an agent sees beside an item's text."""


def facts_of(item: Item) -> dict[str, Any]:
    """The fields of an item that have a value."""
    plain = item.to_dict(with_content=False)
    facts = {name: plain.get(name) for name in FACTS}
    if plain.get("state") == "live":
        del facts["state"]
    facts["immutable"] = facts["immutable"] or None
    facts["updated_at"] = _to_the_second(facts["updated_at"])
    if facts["source"] == "user" and not is_vouched(item):
        facts["source"] = item.provenance.author  # the item is the user's, this version of it is not
    facts["foreign"] = item.foreign or None
    facts["citations"] = list(map(str, item.cites))
    return {"ref": str(item.ref)} | without_empty(facts)


_COMMAND = re.compile(r"(?:the user's command )?'ricordo ([^']+)'")
_SAID_BY_US = ("notes", "note", "degraded", "warnings", "reason", "message", "next_action_hint")
"""The parts of an answer that Ricordo itself wrote. Others hold stored texts, which stay as they are."""
_INSTEAD = {"list": "search", "tree": "search", "list --kind skill": "search"}
"""Tools that show what a command shows, where there is no tool of the command's name."""


def for_agents(text: str, tools: Collection[str]) -> str:
    """A text in which commands are called by the tools that do the same; others are said to be the user's.

    >>> for_agents("'ricordo get REF' reads it; run 'ricordo embed'.", ["get"])
    "the tool get reads it; run the user's command 'ricordo embed'."
    """
    if "'ricordo " not in text:
        return text
    names = {row.path: row.name.replace(".", "_") for row in all_verbs()}

    def worded(match: re.Match[str]) -> str:
        words = match.group(1).split()
        for path in (" ".join(words[:2]), words[0]):
            name = next((tool for tool in (names.get(path), _INSTEAD.get(path)) if tool in tools), None)
            if name is not None:
                return f"the tool {name}"
        return f"the user's command 'ricordo {match.group(1)}'"

    return _COMMAND.sub(worded, text)


def answer_for_agents(plain: Mapping[str, Any], tools: Collection[str], words: Collection[str] = ()) -> dict[str, Any]:
    """An answer in which what Ricordo says of its own, of the whole and of each item, is worded for agents.

    In these sentences the refs of the answer and the given words are quoted: they may not be the user's.
    """
    words = [*words, *(ref for ref in (plain.get("ref"),) if isinstance(ref, str))]
    return {name: _worded(name, value, tools, words) for name, value in plain.items()}


def _worded(name: str, value: Any, tools: Collection[str], words: Collection[str]) -> Any:
    if name == "items" and isinstance(value, list):
        return [answer_for_agents(part, tools, words) if isinstance(part, dict) else part for part in value]
    if name in _SAID_BY_US and isinstance(value, str):
        return quoting(for_agents(value, tools), words)
    if name in _SAID_BY_US and isinstance(value, list):
        return [quoting(for_agents(part, tools), words) if isinstance(part, str) else part for part in value]
    return value
