"""A folder with a file of MCP servers, and an engine that takes their tools in."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ricordo import Ricordo

RAW = Path(__file__).with_name("raw_server.py")


@pytest.fixture
def raw(tmp_path: Path) -> Callable[[str], dict[str, Any]]:
    """Makes the settings entry of a server that behaves in a certain way."""
    return lambda behaviour: {"command": sys.executable, "args": [str(RAW), behaviour, str(tmp_path)]}


@pytest.fixture
def with_server(
    open_engine: Callable[..., Ricordo], tmp_path: Path, raw: Callable[[str], dict[str, Any]]
) -> Callable[..., Ricordo]:
    """An engine that has taken in one server of a behaviour, by the name ``raw``."""

    def make(behaviour: str = "honest", **settings: Any) -> Ricordo:
        file = tmp_path / "servers.json"
        file.write_text(json.dumps({"mcpServers": {"raw": raw(behaviour)}}))
        engine = open_engine(**{"tools.seconds": 60.0, **settings})
        report = engine.tools.add(agree=lambda found: True, files=[file])
        assert [one.server for one in report.servers] == ["raw"]
        assert not report.notes
        engine.last_report = report.servers[0]  # type: ignore[attr-defined]
        return engine

    return make
