"""Ricordo: a memory and a search engine for AI agents, in one local file.

>>> from ricordo import Ricordo
>>> with Ricordo.open("/tmp/example.db") as memory:          # doctest: +SKIP
...     memory.add("notes/")
...     memory.search("how do I rotate the keys?").hits[0].ref

Names are loaded when first used, so that ``import ricordo`` costs nothing.
"""

from __future__ import annotations

from ricordo._version import __version__

TYPE_CHECKING = False  # type checkers take it for true; importing typing would cost every hook a few milliseconds
if TYPE_CHECKING:
    from typing import Any

    from ricordo.config.loading import Config, ConfigProvider
    from ricordo.engine.ricordo import Ricordo
    from ricordo.errors import (
        Conflict,
        ContractError,
        CorruptStore,
        DamagedHeader,
        Error,
        Forbidden,
        LockedStore,
        MissingExtra,
        NewerSchema,
        NotFound,
        PathConflict,
        ReadOnlyStore,
        StaleVersion,
        StoreError,
        Unavailable,
        Unreadable,
        UsageError,
        WrongKey,
    )
    from ricordo.plugins.sessions.values import Fork as Fork
    from ricordo.plugins.sessions.values import Routes as Routes
    from ricordo.plugins.sessions.values import Session as Session
    from ricordo.plugins.sessions.values import Turn as Turn
    from ricordo.plugins.skills.values import Skill as Skill
    from ricordo.plugins.transfer.values import ExportReport as ExportReport
    from ricordo.plugins.transfer.values import ImportReport as ImportReport
    from ricordo.search.profiles import Profile
    from ricordo.values.context import ContextReport
    from ricordo.values.hits import Answer, Explain, Explanation, Filters, GrepMatch, Hit, Link, LinkReport, SearchMeta
    from ricordo.values.items import Duplicate, Entry, Fields, Item, Ref, Saved, TreeNode, Version
    from ricordo.values.log import Happening, Timeline
    from ricordo.values.reports import (
        AddReport,
        BackupReport,
        DoctorReport,
        Progress,
        SyncReport,
        VacuumReport,
    )
    from ricordo.values.use import FeedbackReport, LearningStatus, StatsReport, WeightChange

_MODULES = {
    "ricordo.engine.ricordo": ("Ricordo",),
    "ricordo.config.loading": ("Config", "ConfigProvider"),
    "ricordo.values.context": ("ContextReport",),
    "ricordo.errors": (
        "Conflict", "ContractError", "CorruptStore", "DamagedHeader", "Error", "Forbidden", "LockedStore",
        "MissingExtra", "NewerSchema", "NotFound", "PathConflict", "ReadOnlyStore", "StaleVersion", "StoreError",
        "Unavailable", "Unreadable", "UsageError", "WrongKey",
    ),
    "ricordo.values.reports": (
        "AddReport", "BackupReport", "DoctorReport", "Progress", "SyncReport",
        "VacuumReport",
    ),
    "ricordo.values.use": ("FeedbackReport", "LearningStatus", "StatsReport", "WeightChange"),
    "ricordo.search.profiles": ("Profile",),
    "ricordo.values.log": ("Happening", "Timeline"),
    "ricordo.values.hits": (
        "Answer", "Explain", "Explanation", "Filters", "GrepMatch", "Hit", "Link", "LinkReport", "SearchMeta",
    ),
    "ricordo.values.items": ("Duplicate", "Entry", "Fields", "Item", "Ref", "Saved", "TreeNode", "Version"),
}  # fmt: skip
_HOME = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [
    "AddReport", "Answer", "BackupReport", "Config", "ConfigProvider", "Conflict", "ContextReport", "ContractError",
    "CorruptStore", "DamagedHeader", "DoctorReport", "Duplicate", "Entry", "Error", "Explain", "Explanation",
    "FeedbackReport", "Fields", "Filters", "Forbidden", "GrepMatch", "Happening", "Hit",
    "Item", "LearningStatus", "Link", "LinkReport", "LockedStore", "MissingExtra", "NewerSchema",
    "NotFound", "PathConflict", "Profile", "Progress", "ReadOnlyStore", "Ref", "Ricordo", "Saved",
    "SearchMeta", "StaleVersion", "StatsReport", "StoreError", "SyncReport", "Timeline", "TreeNode",
    "Unavailable", "Unreadable", "UsageError", "VacuumReport", "Version", "WeightChange", "WrongKey",
    "__version__",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    import importlib

    if module := _HOME.get(name):
        return getattr(importlib.import_module(module), name)
    if name[0].isupper():  # a module of the package is asked for here, too, before it is imported
        from ricordo.plugin import installed

        for plugin in installed().values():
            if name in plugin.public:
                return plugin.load(plugin.public[name])
    raise AttributeError(f"module 'ricordo' has no attribute '{name}'")


def __dir__() -> list[str]:
    from ricordo.plugin import installed

    return [*_HOME, "__version__", *(name for plugin in installed().values() for name in plugin.public)]
