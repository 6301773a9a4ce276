"""What benchmarks share when they measure and print: percentiles, aligned tables, the machine they ran on."""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ricordo.plugins.evaluate.report import aligned, percentile

__all__ = [
    "CLOCKS",
    "add_clock_option",
    "aligned",
    "busy_processes",
    "keep_byte_code",
    "machine",
    "percentile",
    "print_json",
    "resident_megabytes",
    "summary",
    "timed",
]

CLOCKS: dict[str, Callable[[], float]] = {"wall": time.perf_counter, "cpu": time.thread_time}


def timed(call: Callable[[], Any], clock: Callable[[], float] = time.perf_counter) -> float:
    """How long a call took, in milliseconds of the clock."""
    started = clock()
    call()
    return (clock() - started) * 1000


def keep_byte_code() -> None:
    """Let the processes that are started keep what they compile, as those of an installed package do.

    With ``PYTHONDONTWRITEBYTECODE`` each would compile every module again, which takes longer than what is measured.
    """
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def add_clock_option(parser: argparse.ArgumentParser) -> None:
    """``--clock cpu`` for machines that are busy with something else."""
    help_text = "wall time, or processor time of the asking thread (fairer on a busy machine)"
    parser.add_argument("--clock", choices=sorted(CLOCKS), default="wall", help=help_text)


def summary(milliseconds: Sequence[float]) -> dict[str, float]:
    """Median and 95th percentile, in milliseconds."""
    return {
        "p50_ms": round(percentile(milliseconds, 0.5), 3),
        "p95_ms": round(percentile(milliseconds, 0.95), 3),
    }


@contextmanager
def busy_processes(count: int) -> Iterator[None]:
    """So many processes that compute all the time, while the block runs."""
    running = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for one in running:
            one.kill()
            one.wait()


def resident_megabytes() -> tuple[float, float]:
    """The memory of this process: its own, and pages of files that the system can take back; 0 where it is not told."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    except OSError:
        return 0.0, 0.0
    sizes = {line.split(":")[0]: int(line.split()[1]) / 1024 for line in lines if line.startswith("Rss")}
    return sizes.get("RssAnon", 0.0), sizes.get("RssFile", 0.0)


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
