"""The short form of ``make faults``: a few kills, flipped bytes, refused writes and power cuts, with printed seeds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the programs fork and kill")


@pytest.mark.parametrize(
    "program",
    [
        "kills.py --kills 12 --workers 3 --pace 0.3",
        "flips.py --flips 8",
        "broken_disk.py --most 6 --cuts 2 --limits 3",
        "fuzz.py --seconds 4",
    ],
)
def test_faults_on_purpose_lose_nothing_and_are_noticed(program: str) -> None:
    name, *options = program.split()
    done = subprocess.run(
        [sys.executable, str(ROOT / "faults" / name), *options],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr[-2000:]}"
