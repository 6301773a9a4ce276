"""Completes what a person types into the arguments of a prompt, or of the resource template."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ricordo.errors import UsageError
from ricordo.mcp_server.prompts import PROMPTS
from ricordo.mcp_server.resources import TEMPLATE
from ricordo.trust.fence import one_line
from ricordo.values.hits import Filters

if TYPE_CHECKING:
    from ricordo.engine import Ricordo

MOST_VALUES = 100
"""The most values that the protocol allows."""
LOOKED_THROUGH = 1000
"""How many items' titles, tags and paths are compared with what was typed."""
SPANS = ("1d", "7d", "30d", "90d", "365d")


def completed(engine: Ricordo, params: Mapping[str, Any]) -> dict[str, Any]:
    """The values an argument may take that fit what was typed so far."""
    match params:
        case {"ref": {"type": "ref/prompt", "name": str(prompt)}, "argument": {"name": str(name), "value": str(typed)}}:
            _check_prompt(prompt, name)
            return _fitting(SPANS if name == "since" else _topics(engine), typed)
        case {"ref": {"type": "ref/resource", "uri": str(uri)}, "argument": {"name": str(name), "value": str(typed)}}:
            if uri != TEMPLATE["uriTemplate"]:
                hint = f"It is {TEMPLATE['uriTemplate']}"
                raise UsageError(f"there is no resource template '{uri[:80]}'", hint=hint)
        case _:
            raise UsageError("this is not what a completion is asked with", hint="It takes a ref and an argument.")
    if name == "drive":
        return _fitting(engine.status()["drives"], typed)
    drive = (params.get("context") or {}).get("arguments", {}).get("drive")
    filters = Filters(drives=(drive,)) if drive else Filters()
    paths = (item.ref.path.lstrip("/") for item in engine.list(filters=filters, limit=LOOKED_THROUGH))
    return _fitting(paths, typed)


def _check_prompt(name: str, argument: str) -> None:
    prompt = next((one for one in PROMPTS if one.name == name), None)
    if prompt is None or argument not in prompt.arguments:
        known = "; ".join(f"{one.name}: {', '.join(one.arguments)}" for one in PROMPTS)
        raise UsageError(f"there is no prompt '{name[:80]}' with '{argument[:80]}'", hint=f"There are: {known}.")


def _topics(engine: Ricordo) -> Iterable[str]:
    """What items are about, newest first: their titles and tags."""
    for item in engine.list(limit=LOOKED_THROUGH):
        yield from filter(None, map(one_line, (item.title, *item.fields.tags)))


def _fitting(values: Iterable[str], typed: str) -> dict[str, Any]:
    """The values that begin with what was typed, then those that contain it."""
    known = list(dict.fromkeys(values))
    typed = typed.casefold()
    first = [value for value in known if value.casefold().startswith(typed)]
    more = [value for value in known if value not in set(first) and typed in value.casefold()]
    found = first + more
    return {"values": found[:MOST_VALUES], "total": len(found), "hasMore": len(found) > MOST_VALUES}
