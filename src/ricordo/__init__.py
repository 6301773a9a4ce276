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
    from ricordo.engine import Ricordo
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
    from ricordo.search.profiles import Profile
    from ricordo.values.context import ContextReport, Skill
    from ricordo.values.hits import Answer, Explain, Explanation, Filters, GrepMatch, Hit, Link, LinkReport, SearchMeta
    from ricordo.values.items import Duplicate, Entry, Fields, Item, Ref, Saved, TreeNode, Version
    from ricordo.values.reports import (
        AddReport,
        BackupReport,
        DoctorReport,
        ExportReport,
        ImportReport,
        Progress,
        SyncReport,
        VacuumReport,
    )
    from ricordo.values.sessions import Fork, Happening, Routes, Session, Timeline, Turn
    from ricordo.values.use import FeedbackReport, LearningStatus, StatsReport, WeightChange

_MODULES = {
    "ricordo.engine": ("Ricordo",),
    "ricordo.config.loading": ("Config", "ConfigProvider"),
    "ricordo.values.context": ("ContextReport", "Skill"),
    "ricordo.errors": (
        "Conflict", "ContractError", "CorruptStore", "DamagedHeader", "Error", "Forbidden", "LockedStore",
        "MissingExtra", "NewerSchema", "NotFound", "PathConflict", "ReadOnlyStore", "StaleVersion", "StoreError",
        "Unavailable", "Unreadable", "UsageError", "WrongKey",
    ),
    "ricordo.values.reports": (
        "AddReport", "BackupReport", "DoctorReport", "ExportReport", "ImportReport", "Progress", "SyncReport",
        "VacuumReport",
    ),
    "ricordo.values.use": ("FeedbackReport", "LearningStatus", "StatsReport", "WeightChange"),
    "ricordo.search.profiles": ("Profile",),
    "ricordo.values.sessions": ("Fork", "Happening", "Routes", "Session", "Timeline", "Turn"),
    "ricordo.values.hits": (
        "Answer", "Explain", "Explanation", "Filters", "GrepMatch", "Hit", "Link", "LinkReport", "SearchMeta",
    ),
    "ricordo.values.items": ("Duplicate", "Entry", "Fields", "Item", "Ref", "Saved", "TreeNode", "Version"),
}  # fmt: skip
_HOME = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [
    "AddReport", "Answer", "BackupReport", "Config", "ConfigProvider", "Conflict", "ContextReport", "ContractError",
    "CorruptStore", "DamagedHeader", "DoctorReport", "Duplicate", "Entry", "Error", "Explain", "Explanation",
    "ExportReport", "FeedbackReport", "Fields", "Filters", "Forbidden", "Fork", "GrepMatch", "Happening", "Hit",
    "ImportReport", "Item", "LearningStatus", "Link", "LinkReport", "LockedStore", "MissingExtra", "NewerSchema",
    "NotFound", "PathConflict", "Profile", "Progress", "ReadOnlyStore", "Ref", "Ricordo", "Routes", "Saved",
    "SearchMeta", "Session", "Skill", "StaleVersion", "StatsReport", "StoreError", "SyncReport", "Timeline", "TreeNode",
    "Turn", "Unavailable", "Unreadable", "UsageError", "VacuumReport", "Version", "WeightChange", "WrongKey",
    "__version__",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    import importlib

    module = _HOME.get(name)
    if module is None:
        raise AttributeError(f"module 'ricordo' has no attribute '{name}'")
    return getattr(importlib.import_module(module), name)


def __dir__() -> list[str]:
    return __all__
