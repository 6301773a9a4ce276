"""The page about a team's store, followed as its operator: by a role that is no superuser, with a password file.

Addresses of the page are replaced by that of a database of the tests, and Qdrant's by a folder, in which the same
engine runs. ``pg_dump`` is tried beside the plugin; the page's other programs are benches and faults.
"""

from __future__ import annotations

import re
import shlex
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
from tests.plugins.postgres import server as postgres_server

from .conftest import House
from .test_docs import ROOT, console

PAGE = (ROOT / "docs" / "scaling.md").read_text(encoding="utf-8")
STORE = "postgresql://ann@db.example/work?schema=red"
FILE = "~/.local/share/ricordo/ricordo.db"
ENGINE = "http://localhost:6333"


@pytest.fixture
def ann(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a database in which a role that is no superuser may do what the page says that it must."""
    server = urlsplit(postgres_server.address())
    name = f"ann_{uuid.uuid4().hex[:8]}"
    with psycopg.connect(postgres_server.address(), autocommit=True) as raw:
        raw.execute(f"CREATE DATABASE {name}")
        raw.execute(f"CREATE ROLE {name} LOGIN PASSWORD 'a secret' CREATEROLE")
        raw.execute(f"GRANT CREATE ON DATABASE {name} TO {name}")
    passwords = tmp_path / "pgpass"
    passwords.write_text(f"{server.hostname}:{server.port}:{name}:{name}:a secret\n")
    passwords.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(passwords))
    yield f"postgresql://{name}@{server.hostname}:{server.port}/{name}?schema=red"
    with psycopg.connect(postgres_server.address(), autocommit=True) as raw:
        raw.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


def test_every_command_of_the_page_works_for_an_operator_who_is_no_superuser(
    ann: str, house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("qdrant_edge")
    monkeypatch.setenv("RICORDO_EMBEDDING_PROVIDER", "none")
    shutil.copytree(ROOT / "tests" / "plugins" / "evaluate" / "sets" / "kitchen", house.folder / "sets" / "kitchen")
    old = tmp_path / "old.db"
    house.run("save", "note:/keys", "Rotate the signing keys every quarter.", "--store", str(old))
    member = f"bob_{uuid.uuid4().hex[:8]}"
    printed: dict[str, str] = {}
    for line, _ in console("scaling"):
        here = line.replace(STORE, ann).replace(FILE, str(old)).replace(ENGINE, str(tmp_path / "engine"))
        words = [member if word == "bob" else word for word in shlex.split(here)]
        printed[" ".join(shlex.split(line)[1:4])] = house.run(*words[1:]).stdout
        assert shlex.split(line)[0] == "ricordo"
    assert "1 items are in" in printed[f"migrate {FILE} {STORE}"]
    assert printed[f"index --store {STORE}"].strip() == f"{tmp_path / 'engine'}: beside 1 passages"
    assert "note:/keys" in house.run("search", "signing keys").stdout  # this project is bound to the team's store
    _operate(house)
    _join(house, printed["team invite bob"], tmp_path / "elsewhere", monkeypatch)


def _operate(house: House) -> None:
    """What the page names in its sentences."""
    for words in ("index", "doctor", "doctor --repair", "index --drop", "team status"):
        assert f"{words}`" in PAGE or words == "index"
        house.run(*words.split())
    assert "Rotate the signing keys" in Path("red.jsonl").read_text(encoding="utf-8")


def test_the_statements_of_the_page_let_a_role_without_rights_of_its_own_make_a_team(
    ann: str, house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RICORDO_EMBEDDING_PROVIDER", "none")
    [statements] = re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL)
    database = urlsplit(ann).path[1:]
    helped, carl = f"helped_{database}", f"carl_{database}"
    place = urlunsplit(urlsplit(postgres_server.address())._replace(path=f"/{database}"))
    with psycopg.connect(place, autocommit=True) as raw:
        for statement in _named(statements, ann=helped, work=database).strip().splitlines():
            raw.execute(statement)
        raw.execute(f"CREATE ROLE {carl} LOGIN PASSWORD 'x'")
        server = urlsplit(postgres_server.address())
        address = f"postgresql://{{}}@{server.hostname}:{server.port}/{database}?schema=red"
        own = ("--store", address.format(f"{helped}:change%20me"))
        house.run("team", "init", *own)
        house.run("save", "note:/tea", "Tea is at four.", *own)
        house.run("team", "invite", carl, "--role", "reader", *own)
        assert "note:/tea" in house.run("search", "tea", "--store", address.format(f"{carl}:x")).stdout
        house.run("team", "remove", carl, *own)
        for statement in re.findall(r"`(GRANT ann TO carl)`", PAGE):
            raw.execute(_named(statement, ann=helped, carl=carl))
        assert "note:/tea" in house.run("search", "tea", "--store", address.format(f"{carl}:x")).stdout


def _join(house: House, invitation: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one line that a new member runs in a project's folder."""
    [line] = re.findall(r"ricordo init --store '[^']+'", invitation)
    folder.mkdir()
    monkeypatch.chdir(folder)
    house.run(*shlex.split(line)[1:])
    house.run("remember", "Lunch is at noon.")
    assert "noon" in house.run("search", "lunch").stdout


def _named(statements: str, **names: str) -> str:
    """Statements of the page with other names."""
    return re.sub(rf"\b({'|'.join(names)})\b", lambda found: names[found[1]], statements)
