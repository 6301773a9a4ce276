"""The container recipe: its files are read, and their commands run without a container."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import time
import tomllib
import urllib.request
import uuid
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
from tests.plugins.postgres import server as postgres_server

from ricordo import Ricordo

ROOT = Path(__file__).parents[3]
IMAGE = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")


@pytest.fixture
def compose() -> Any:
    import yaml

    text = (ROOT / "docker-compose.yml").read_text(encoding="utf-8").replace("${RICORDO_DB_PASSWORD:?}", "secret")
    return yaml.safe_load(text)


def test_the_image_has_what_its_server_needs_and_does_not_run_as_root(compose: Any) -> None:
    known = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    [usual] = re.findall(r"^ARG EXTRAS=(\S+)", IMAGE, re.MULTILINE)
    service = compose["services"]["ricordo"]
    for extras in (usual, service["build"]["args"]["EXTRAS"]):
        assert {"server", "postgres"} <= set(extras.split(",")) <= set(known)
    assert IMAGE.count("[$EXTRAS]") == 2, "what is built is what is installed"
    assert re.findall(r"^USER (\S+)", IMAGE, re.MULTILINE) == ["10001:10001"]
    assert service["build"]["context"] == "."
    assert not {"user", "command", "entrypoint", "image"} & set(service), "the service runs what the image does"
    assert service["volumes"] == ["server:/data"]
    assert service["ports"] == ["127.0.0.1:8620:8620"]
    assert service["depends_on"]["database"]["condition"] == "service_healthy"


def test_the_steps_of_the_recipe_give_one_token_and_a_server_that_answers(compose: Any, tmp_path: Path) -> None:
    """On the server of the tests: roles, the store's address, the operator's commands, and what the image runs."""
    database = compose["services"]["database"]
    assert "POSTGRES_USER" not in database["environment"]
    assert [one["source"] for one in database["configs"]] == list(compose["configs"])
    name = f"ricordo_{uuid.uuid4().hex[:8]}"
    parts = urlsplit(postgres_server.address())
    place = f"{parts.hostname}:{parts.port or 5432}"
    address = compose["services"]["ricordo"]["environment"]["RICORDO_STORE"]
    assert address == "postgresql://ricordo:secret@database/ricordo"
    store = address.replace("ricordo", name).replace("@database", f"@{place}")
    environment = _environment(tmp_path) | {"RICORDO_STORE": store, "RICORDO_EMBEDDING_PROVIDER": "none"}
    with psycopg.connect(postgres_server.address(), autocommit=True) as raw:
        for statement in compose["configs"]["roles"]["content"].replace(" ricordo", f" {name}").strip().split("\n"):
            raw.execute(statement)
        header = (ROOT / "docker-compose.yml").read_text(encoding="utf-8").partition("services:")[0]
        steps = re.findall(r"^#   docker compose run --rm ricordo (.+)$", header, re.MULTILINE)
        assert steps == ["serve tokens add me --scope admin"]
        tokens = [_ricordo(environment, *shlex.split(step)) for step in steps]
        for _ in range(2):  # also when it starts again
            _serve(environment)
        listed = json.loads(_ricordo(environment, "serve", "tokens", "list", "--json"))["data"]["tokens"]
        assert [one["name"] for one in listed] == ["me"]
        assert not [
            file for file in tmp_path.rglob("*") if file.is_file() and _token(tokens[0]) in file.read_text("latin-1")
        ]
        _ricordo(environment, "remember", "Lunch is at noon.")
        with Ricordo.open(store) as engine:
            assert [hit.kind for hit in engine.search("lunch", by="words").hits] == ["memory"]
            assert engine.doctor().ok
            engine.team_init()
            line = engine.team_invite(f"bob_{uuid.uuid4().hex[:8]}").command
        joined = urlsplit(line.partition("--store ")[2].strip("'"))
        with Ricordo.open(urlunsplit(joined._replace(netloc=f"{joined.username}:{joined.password}@{place}"))) as engine:
            engine.save("note:/bob", "Bob is here.")
        raw.execute(f"DROP DATABASE {name} WITH (FORCE)")


def _environment(folder: Path) -> dict[str, str]:
    """What the image sets, with its folder somewhere else."""
    import os

    [line] = re.findall(r"^ENV (.+)$", IMAGE, re.MULTILINE)
    pairs = dict(pair.split("=", 1) for pair in shlex.split(line))
    assert all(value.startswith("/data/") for key, value in pairs.items() if key.endswith("_HOME"))
    return dict(os.environ) | {key: value.replace("/data", str(folder)) for key, value in pairs.items()}


def _ricordo(environment: Mapping[str, str], *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "ricordo", *words], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def _token(said: str) -> str:
    return max(said.split(), key=len)


def _serve(environment: Mapping[str, str]) -> None:
    """Run what the image runs, on a free port, until its health check passes."""
    [words] = re.findall(r"^CMD (\[.+\])$", IMAGE, re.MULTILINE)
    [check] = re.findall(r'CMD \["python", "-c", "(.+)"\]', IMAGE)
    command = json.loads(words)
    assert command == ["serve", "--host", "0.0.0.0", "--port", "8620"]
    port = postgres_server.free_port()
    command[-1] = str(port)
    running = subprocess.Popen(
        [sys.executable, "-m", "ricordo", *command], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    try:
        assert "/healthz" in check
        deadline = time.monotonic() + 240
        while True:
            with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=60) as answer:
                assert answer.status == 200
                return
            assert running.poll() is None, running.stdout.read().decode() if running.stdout else ""
            assert time.monotonic() < deadline
            time.sleep(0.1)
    finally:
        running.terminate()
        running.communicate()
