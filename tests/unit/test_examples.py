"""The examples in the docstrings of our own code give what they say."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src"
NEEDS_MORE = "ricordo/plugins/frameworks/"
"""Adapters import the framework that they are for."""


def has_example(text: str) -> bool:
    return any(line.lstrip().startswith(">>> ") and "+SKIP" not in line for line in text.splitlines())


def modules() -> list[str]:
    """The modules with an example."""
    found = [file for file in (SOURCE / "ricordo").rglob("*.py") if has_example(file.read_text(encoding="utf-8"))]
    names = sorted(file.relative_to(SOURCE).as_posix() for file in found)
    return [name.removesuffix(".py").replace("/", ".") for name in names if not name.startswith(NEEDS_MORE)]


@pytest.mark.parametrize("name", modules())
def test_the_examples_of_a_module_give_what_they_say(name: str) -> None:
    tried = doctest.testmod(importlib.import_module(name.removesuffix(".__init__")))
    assert tried.attempted
    assert not tried.failed
