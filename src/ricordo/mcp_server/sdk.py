"""Imports no more of the SDK than a server needs: its packages load their client and their high-level server, too.

``light`` puts the two packages in their places without running them; they run as soon as anybody asks for a name of
theirs, so that other code in this process finds the SDK as it is. This saves an agent about a seventh of the wait for
the first answer (``bench/mcp_cost.py``).
"""

from __future__ import annotations

import sys
import threading
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import Any

PACKAGES = ("mcp", "mcp.server")
_running = threading.RLock()


class _Unrun(ModuleType):
    """A package whose own code has not run yet."""

    def __getattr__(self, name: str) -> Any:
        with _running:
            if name in self.__dict__:
                return self.__dict__[name]
            loader = self.__spec__.loader if self.__spec__ else None
            if name.startswith("__") or loader is None:
                raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'")
            self.__class__ = ModuleType  # type: ignore[assignment]  # from here on it is like any other
            loader.exec_module(self)
        return getattr(self, name)


def light() -> None:
    """Let modules of the SDK be imported without the packages they are in."""
    for name in PACKAGES:
        if name in sys.modules:
            continue
        spec = find_spec(name)
        if spec is None:
            return  # importing it will say so
        package = module_from_spec(spec)
        package.__class__ = _Unrun
        sys.modules[name] = package
        parent, _, last = name.rpartition(".")
        if parent:
            setattr(sys.modules[parent], last, package)
