"""The lock file names every dependency with its hashes, so that an install can be repeated and checked offline."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_dependency_is_locked_with_hashes() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    parts = re.findall(r"[\w-]+", extras["all"][0].partition("[")[2])
    wanted = [*project["dependencies"], *(need for part in parts for need in extras[part])]
    names = {re.split(r"[\s\[<>=!;]", need)[0].lower().replace("_", "-") for need in wanted} - {"ricordo"}
    locked = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    missing = [name for name in sorted(names) if not re.search(rf"(?m)^{re.escape(name)}==\S+.*\\$", locked)]
    assert missing == [], "run 'make lock'"
    packages = len(re.findall(r"(?m)^[A-Za-z0-9][\w.-]*==", locked))
    assert locked.count("--hash=sha256:") >= packages > 30
