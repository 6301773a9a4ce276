"""Programs from npm for the tests, installed once into a cache folder outside the repository.

Where npm is missing or cannot reach its registry, the tests that need a program are skipped with the reason.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

INSTALL_SECONDS = 240


def cache_folder() -> Path:
    """``RICORDO_TEST_CACHE``, or a folder in the user's cache."""
    given = os.environ.get("RICORDO_TEST_CACHE")
    place = Path(given) if given else Path.home() / ".cache" / "ricordo-tests"
    place.mkdir(parents=True, exist_ok=True)
    return place


def npm_folder(*packages: str) -> Path:
    """A folder whose ``node_modules`` has the packages; the test is skipped where they cannot be had."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed")
    place = cache_folder() / "npm" / "+".join(packages).replace("/", "-").replace("@", "")
    done = place / "installed"
    if not done.exists():
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        command = [npm, "install", "--no-audit", "--no-fund", "--silent", "--prefix", str(place), *packages]
        try:
            result = subprocess.run(command, capture_output=True, timeout=INSTALL_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            pytest.skip(f"npm did not install {', '.join(packages)} within {INSTALL_SECONDS} s")
        if result.returncode:
            pytest.skip(f"npm cannot install {', '.join(packages)}: {result.stderr.decode()[-200:]}")
        done.touch()
    return place
