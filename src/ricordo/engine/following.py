"""What is found can be changed: verbs act in the tier that holds the item they name, whichever store is in use."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

if TYPE_CHECKING:
    from ricordo.engine.tiers import Tiers
    from ricordo.values.reports import AddReport

Function = TypeVar("Function", bound=Callable[..., Any])
Wanted = Literal["present", "put away"]


def follows(*names: str, wanted: Wanted = "present") -> Callable[[Function], Function]:
    """Let a verb run in the tier that holds the items which these parameters name.

    If several tiers hold an item, it is the one that search shows: the highest. ``wanted`` is the state in which the
    verb expects the item, which decides between tiers that hold it in different ones.
    """

    def decorate(function: Function) -> Function:
        places = [function.__code__.co_varnames.index(name) - 1 for name in names]

        @functools.wraps(function)
        def follow(self: Any, *args: Any, **options: Any) -> Any:
            tiers: Tiers = self._context.tiers
            if not tiers.is_alone:
                given = [
                    options.get(n, args[at] if at < len(args) else None) for n, at in zip(names, places, strict=True)
                ]
                other = tiers.holding([one for one in given if one is not None], wanted)
                if other is not None:
                    return getattr(tiers.engine_of(other), function.__name__)(*args, **options)
            return function(self, *args, **options)

        return cast("Function", follow)

    return decorate


def follows_each(function: Function) -> Function:
    """Let a verb of many names run in each tier that holds some of them; the reports are joined.

    Folders mean those of the store in use. It comes first, because it refuses a name that no tier knows.
    """

    @functools.wraps(function)
    def follow(self: Any, *refs: Any, **options: Any) -> Any:
        tiers: Tiers = self._context.tiers
        if tiers.is_alone or not refs:
            return function(self, *refs, **options)
        here: list[Any] = []
        parts: dict[str, list[Any]] = {}
        for ref in refs:
            is_folder = str(ref).endswith(("/", "/*"))
            other = None if is_folder else tiers.holding([ref], "present")
            (here if other is None else parts.setdefault(other, [])).append(ref)
        reports = [function(self, *here, **options)] if here else []
        reports += [getattr(tiers.engine_of(name), function.__name__)(*some, **options) for name, some in parts.items()]
        return _joined(reports)

    return cast("Function", follow)


def _joined(reports: Sequence[AddReport]) -> AddReport:
    first = reports[0]
    items = tuple(saved for report in reports for saved in report.items)
    return replace(first, items=items, notes=tuple(note for report in reports for note in report.notes))
