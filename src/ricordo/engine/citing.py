"""What memories cite: noted when they are written, looked at when they are shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ricordo.engine.context import EngineContext
from ricordo.errors import UsageError

if TYPE_CHECKING:
    from ricordo.store.base import Store
    from ricordo.values.items import CitedNow

CITATIONS = "citations"


def citations_of(context: EngineContext, kind: str, text: str, given: Sequence[str] = ()) -> dict[str, Any]:
    """What the metadata of a text say about what it cites, and what is ``given`` besides; empty if it cites nothing."""
    from ricordo.memory.citations.find import CITING_KINDS, citations_in

    if kind not in CITING_KINDS:
        if given:
            raise UsageError(
                f"only memories cite, and this is of the kind '{kind}'", hint="Link it to an item instead."
            )
        return {}
    found = citations_in(text, context.store, context.resolve, given)
    return {CITATIONS: found} if found else {}


def cited_again(context: EngineContext, kind: str, text: str, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata of an item that gets a new text: what that cites, and what was given besides the old one."""
    from ricordo.memory.citations.find import cited_again as again

    return again(context.store, context.resolve, kind, text, metadata)


def cited_now(store: Store, cited: object) -> tuple[CitedNow, ...]:
    """What became of what an item's metadata says it cites."""
    if not isinstance(cited, list | tuple) or not cited:
        return ()
    from ricordo.memory.citations.check import CitationCheck

    return CitationCheck(store).states(cited)
