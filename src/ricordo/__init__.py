"""Ricordo: a memory and a search engine for AI agents, in one local file.

>>> from ricordo import Ricordo
>>> with Ricordo.open("/tmp/example.db") as memory:          # doctest: +SKIP
...     memory.add("notes/")
...     memory.search("how do I rotate the keys?").hits[0].ref

Names are loaded when first used, so that ``import ricordo`` costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ricordo._version import __version__

if TYPE_CHECKING:
    from ricordo.config import Config, ConfigProvider
    from ricordo.context_report import ContextReport, Skill
    from ricordo.engine import Ricordo
    from ricordo.errors import (
        Conflict,
        ContractError,
        CorruptStore,
        Error,
        Forbidden,
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
    )
    from ricordo.insight import FeedbackReport, LearningStatus, StatsReport, WeightChange
    from ricordo.reports import BackupReport, ExportReport, ImportReport, SyncReport, VacuumReport
    from ricordo.search.profile import Profile
    from ricordo.session_values import Fork, Happening, Routes, Session, Timeline, Turn
    from ricordo.values import (
        AddReport,
        Answer,
        DoctorReport,
        Duplicate,
        Entry,
        Explain,
        Explanation,
        Fields,
        Filters,
        GrepMatch,
        Hit,
        Item,
        Link,
        LinkReport,
        Progress,
        Ref,
        Saved,
        SearchMeta,
        TreeNode,
        Version,
    )

_MODULES = {
    "ricordo.engine": ("Ricordo",),
    "ricordo.config": ("Config", "ConfigProvider"),
    "ricordo.context_report": ("ContextReport", "Skill"),
    "ricordo.errors": (
        "Conflict", "ContractError", "CorruptStore", "Error", "Forbidden", "MissingExtra", "NewerSchema",
        "NotFound", "PathConflict", "ReadOnlyStore", "StaleVersion", "StoreError", "Unavailable", "Unreadable",
        "UsageError",
    ),
    "ricordo.reports": ("BackupReport", "ExportReport", "ImportReport", "SyncReport", "VacuumReport"),
    "ricordo.insight": ("FeedbackReport", "LearningStatus", "StatsReport", "WeightChange"),
    "ricordo.search.profile": ("Profile",),
    "ricordo.session_values": ("Fork", "Happening", "Routes", "Session", "Timeline", "Turn"),
    "ricordo.values": (
        "AddReport", "Answer", "DoctorReport", "Duplicate", "Entry", "Explain", "Explanation", "Fields", "Filters",
        "GrepMatch", "Hit", "Item", "Link", "LinkReport", "Progress", "Ref", "Saved", "SearchMeta", "TreeNode",
        "Version",
    ),
}  # fmt: skip
_HOME = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [
    "AddReport",
    "Answer",
    "BackupReport",
    "Config",
    "ConfigProvider",
    "Conflict",
    "ContextReport",
    "ContractError",
    "CorruptStore",
    "DoctorReport",
    "Duplicate",
    "Entry",
    "Error",
    "Explain",
    "Explanation",
    "ExportReport",
    "FeedbackReport",
    "Fields",
    "Filters",
    "Forbidden",
    "Fork",
    "GrepMatch",
    "Happening",
    "Hit",
    "ImportReport",
    "Item",
    "LearningStatus",
    "Link",
    "LinkReport",
    "MissingExtra",
    "NewerSchema",
    "NotFound",
    "PathConflict",
    "Profile",
    "Progress",
    "ReadOnlyStore",
    "Ref",
    "Ricordo",
    "Routes",
    "Saved",
    "SearchMeta",
    "Session",
    "Skill",
    "StaleVersion",
    "StatsReport",
    "StoreError",
    "SyncReport",
    "Timeline",
    "TreeNode",
    "Turn",
    "Unavailable",
    "Unreadable",
    "UsageError",
    "VacuumReport",
    "Version",
    "WeightChange",
    "__version__",
]


def __getattr__(name: str) -> Any:
    import importlib

    module = _HOME.get(name)
    if module is None:
        raise AttributeError(f"module 'ricordo' has no attribute '{name}'")
    return getattr(importlib.import_module(module), name)


def __dir__() -> list[str]:
    return __all__
