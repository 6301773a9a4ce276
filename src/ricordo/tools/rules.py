"""Which tool is meant by a name, and whether it may be called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Any

from ricordo.errors import Forbidden, NotFound, UsageError
from ricordo.trust.fence import any_of, quoted
from ricordo.values.items import Item
from ricordo.values.tools import ToolEntry

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


def plain_hints(hints: Mapping[str, Any]) -> str:
    """What a server says about a tool's effects, as text."""
    words = {
        ("read_only", True): "only reads",
        ("read_only", False): "changes things",
        ("destructive", True): "may destroy",
        ("open_world", True): "reaches out",
    }
    return ", ".join(said for (name, value), said in words.items() if hints.get(name) is value)
