"""Recollect: a memory and a search engine for AI agents, in one local file.

>>> from recollect import Recollect
>>> with Recollect.open("/tmp/example.db") as memory:          # doctest: +SKIP
...     memory.add("notes/")
...     memory.search("how do I rotate the keys?").hits[0].ref

Names are loaded when first used, so that ``import recollect`` costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from recollect._version import __version__

if TYPE_CHECKING:
    from recollect.config import Config, ConfigProvider
    from recollect.context_report import ContextReport, Skill
    from recollect.engine import Recollect
    from recollect.errors import (
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
    from recollect.insight import FeedbackReport, LearningStatus, StatsReport, WeightChange
    from recollect.reports import BackupReport, ExportReport, ImportReport, SyncReport, VacuumReport
    from recollect.search.profile import Profile
    from recollect.session_values import Fork, Happening, Routes, Session, Timeline, Turn
    from recollect.values import (
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
    "recollect.engine": ("Recollect",),
    "recollect.config": ("Config", "ConfigProvider"),
    "recollect.context_report": ("ContextReport", "Skill"),
    "recollect.errors": (
        "Conflict", "ContractError", "CorruptStore", "Error", "Forbidden", "MissingExtra", "NewerSchema",
        "NotFound", "PathConflict", "ReadOnlyStore", "StaleVersion", "StoreError", "Unavailable", "Unreadable",
        "UsageError",
    ),
    "recollect.reports": ("BackupReport", "ExportReport", "ImportReport", "SyncReport", "VacuumReport"),
    "recollect.insight": ("FeedbackReport", "LearningStatus", "StatsReport", "WeightChange"),
    "recollect.search.profile": ("Profile",),
    "recollect.session_values": ("Fork", "Happening", "Routes", "Session", "Timeline", "Turn"),
    "recollect.values": (
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
    "Recollect",
    "Ref",
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
        raise AttributeError(f"module 'recollect' has no attribute '{name}'")
    return getattr(importlib.import_module(module), name)


def __dir__() -> list[str]:
    return __all__
