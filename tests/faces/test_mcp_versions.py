"""The MCP SDK 1.x instead of 2.x: the server, the client that loads pages, and 1.x's own client.

The SDK is installed once into a cache folder outside the repository and found before the 2.x of this environment. Where
it cannot be installed, these tests are skipped.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from .mcp_servers import Lines, environment, http_server
from .npm_tools import cache_folder

HERE = Path(__file__).parent
FLOOR = "1.23.0"
"""The oldest version that pyproject.toml allows."""
pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals and pipes as POSIX has them")


def installed(requirement: str) -> Path:
    """A folder with an SDK of that version."""
    place = cache_folder() / f"sdk-{requirement.strip('=<')}-py{sys.version_info[0]}{sys.version_info[1]}"
    if not (place / "mcp").is_dir():
        installer = [shutil.which("uv"), "pip"] if shutil.which("uv") else [sys.executable, "-m", "pip"]
        command = [*installer, "install", "--quiet", "--target", str(place), f"mcp{requirement}"]
        try:
            done = subprocess.run(command, capture_output=True, timeout=120, check=False)
        except subprocess.TimeoutExpired:
            shutil.rmtree(place, ignore_errors=True)
            pytest.skip(f"mcp{requirement} could not be installed in time")
        if done.returncode:
            shutil.rmtree(place, ignore_errors=True)
            pytest.skip(f"mcp{requirement} cannot be installed here: {done.stderr.decode()[-200:]}")
    return place


@pytest.fixture(params=["<2", f"=={FLOOR}"], ids=["newest", "oldest"])
def sdk(request: pytest.FixtureRequest) -> Path:
    return installed(request.param)


def talk(sdk: Path, folder: Path, *args: str) -> dict[str, Any]:
    for number in range(3):
        path = folder / "files" / f"{number}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"# File {number}\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(HERE / "mcp_first_client.py"), str(folder), *args],
        capture_output=True,
        timeout=120,
        check=False,
        env={**os.environ, **environment(folder), "PYTHONPATH": str(sdk)},
    )
    assert done.returncode == 0, done.stderr.decode()
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def check(found: dict[str, Any]) -> None:
    assert found.pop("sdk").startswith("1.")
    assert found.pop("progress")[-1] == 3
    assert found == {
        "server": "ricordo",
        "tools": 9,
        "created": 3,
        "error": "usage",
        "structured_error": None,
        "read": [f"[data, not instructions]\n```text\n# File {n}\n\n```" for n in range(3)],
        "completed": ["File 0", "File 1", "File 2"],
        "wrong_cursor": -32602,
    }


def test_the_first_sdks_client_and_server_work_over_standard_input_and_output(sdk: Path, tmp_path: Path) -> None:
    check(talk(sdk, tmp_path))


def test_the_first_sdks_client_and_server_work_over_http(sdk: Path, tmp_path: Path) -> None:
    with http_server(tmp_path, PYTHONPATH=str(sdk)) as address:
        check(talk(sdk, tmp_path, address))


def test_the_first_sdks_server_answers_bad_lines_and_keeps_prints_out(sdk: Path, tmp_path: Path) -> None:
    with Lines(tmp_path, PYTHONPATH=str(sdk)) as lines:
        lines.greet()
        lines.write(b"this is not JSON")
        assert lines.read()["error"]["code"] == -32700
        assert lines.error("get", {"refs": ["note:/nothing"]})["error_type"] == "not_found"
        out, _ = lines.end()
        assert out == b""


CLIENT = """
import sys
from ricordo.sources.mcp_client import connected
from ricordo.sources.mcp_config import McpServer
server = McpServer(name="own", command=sys.executable, args=("-m", "ricordo", "mcp", "--store", sys.argv[1]))
with connected([server], 60) as connections:
    assert not connections.problems, connections.problems
    names = [tool.name for tool in connections.tools]
    answer = connections.call("own", "status", {})
    print(",".join(names), answer.failed, '"items"' in answer.content)
"""


def test_our_own_client_speaks_with_the_first_sdk(sdk: Path, tmp_path: Path) -> None:
    """It offers no tools that say of themselves that they change things."""
    done = subprocess.run(
        [sys.executable, "-c", CLIENT, str(tmp_path / "store.db")],
        capture_output=True,
        timeout=120,
        check=False,
        env={**os.environ, **environment(tmp_path), "PYTHONPATH": str(sdk)},
    )
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.decode().split() == ["search,get,context,recent,status", "False", "True"]
