"""What benchmarks share when they measure and print: percentiles, aligned tables, the machine they ran on."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from recollect.evaluate.metrics import percentile
from recollect.evaluate.tables import aligned

__all__ = ["aligned", "machine", "percentile", "print_json", "summary", "timed"]


def timed(call: Callable[[], Any]) -> float:
    """How long a call took, in milliseconds."""
    started = time.perf_counter()
    call()
    return (time.perf_counter() - started) * 1000


def summary(milliseconds: Sequence[float]) -> dict[str, float]:
    """Median and 95th percentile, in milliseconds."""
    return {
        "p50_ms": round(percentile(milliseconds, 0.5), 3),
        "p95_ms": round(percentile(milliseconds, 0.95), 3),
    }


def machine() -> dict[str, Any]:
    """What a figure needs beside it to mean something."""
    import apsw
    import numpy

    return {
        "cpu": _cpu_name(),
        "cores": os.cpu_count(),
        "system": platform.system(),
        "python": platform.python_version(),
        "sqlite": apsw.sqlite_lib_version(),
        "numpy": numpy.__version__,
    }


def _cpu_name() -> str:
    try:
        with Path("/proc/cpuinfo").open(encoding="utf-8") as file:
            names = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else platform.processor() or platform.machine()


def print_json(figures: dict[str, Any]) -> None:
    """One JSON object on standard output."""
    print(json.dumps({"machine": machine(), **figures}, indent=1))
