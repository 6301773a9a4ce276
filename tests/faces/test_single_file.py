"""The single file: it unpacks itself once, and hands everything over to the Python that it brings."""

from __future__ import annotations

import os
import runpy
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the file is a shell script")
MAKER = Path(__file__).parents[2] / "tools" / "make_single_file.py"
PYTHON = """#!/bin/sh
echo "place=${0%/bin/python3}"
echo "home=$PYTHONHOME"
shift 3
for word in "$@"; do echo "word=$word"; done
exit 3
"""


def made(folder: Path, python: str = PYTHON) -> Path:
    """A single file whose Python is a script."""
    (folder / "program" / "bin").mkdir(parents=True)
    script = folder / "program" / "bin" / "python3"
    script.write_text(python)
    script.chmod(0o755)
    file = folder / "ricordo"
    runpy.run_path(str(MAKER))["packed"](folder / "program", file)
    return file


def run(file: Path, home: Path, *words: str) -> list[str]:
    env = {"HOME": str(home), "PATH": "/nowhere", "PYTHONHOME": "/elsewhere"}
    done = subprocess.run([str(file), *words], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 3, done.stderr
    return done.stdout.splitlines()


def test_the_file_runs_its_own_python_with_the_words_as_they_are(tmp_path: Path) -> None:
    file = made(tmp_path)
    place, home, *words = run(file, tmp_path / "home", "search", "two words", "it's $HOME")
    assert Path(place.removeprefix("place=")).is_relative_to(tmp_path / "home" / ".cache" / "ricordo-program")
    assert home == "home=", "the caller's Python is not ours"
    assert words == [f"word={file}", "word=search", "word=two words", "word=it's $HOME"]


def test_it_is_unpacked_once_and_another_version_has_a_place_of_its_own(tmp_path: Path) -> None:
    file = made(tmp_path / "a")
    (place, *_) = run(file, tmp_path)
    unpacked = Path(place.removeprefix("place="))
    (unpacked / "mark").touch()
    assert run(file, tmp_path)[0] == place
    assert (unpacked / "mark").exists()
    other = made(tmp_path / "b", PYTHON + "# newer\n")
    assert run(other, tmp_path)[0] != place
    assert len(list(unpacked.parent.iterdir())) == 2, "and nothing half unpacked is left"
