"""Servers for the tests, on stores of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the extra 'server' is not installed")
from .http_sites import Site, make_site


@pytest.fixture
def new_site(tmp_path: Path) -> Iterator[Callable[..., Site]]:
    made: list[Site] = []

    def new(**settings: Any) -> Site:
        made.append(make_site(tmp_path, **settings))
        return made[-1]

    yield new
    for one in made:
        one.serving.close()


@pytest.fixture
def site(new_site: Callable[..., Site]) -> Site:
    return new_site()
