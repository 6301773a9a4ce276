"""A folder of sync behind ssh://, with an ``ssh`` that runs the other side's shell on this machine."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ricordo import NotFound, UsageError

from .conftest import Place

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the other side's shell runs here")

SSH = """#!/bin/sh
# as ssh does: options, a host, and a line for its shell
echo "$*" >> "$SSH_LOG"
if [ -e "$SSH_DOWN" ]; then echo "ssh: connect to host nas: No route to host" >&2; exit 255; fi
while [ "$1" != "--" ]; do shift; done
cd "$SSH_HOME" && exec sh -c "$3"
"""


@pytest.fixture
def nas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of the user on the other side."""
    (tmp_path / "bin").mkdir()
    program, home = tmp_path / "bin" / "ssh", tmp_path / "nas"
    program.write_text(SSH)
    program.chmod(0o755)
    home.mkdir()
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("SSH_HOME", str(home))
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("SSH_LOG", str(tmp_path / "ssh.log"))
    monkeypatch.setenv("SSH_DOWN", str(tmp_path / "down"))
    return home


@pytest.mark.parametrize("address", ["ssh://me@nas:2222/~/my notes", "ssh://nas{}/shared"])
def test_machines_that_reach_the_same_host_agree_and_what_is_erased_goes_from_there(
    address: str, nas: Path, tmp_path: Path
) -> None:
    address = address.format(nas)
    desk, laptop = Place(tmp_path, "desk", 1), Place(tmp_path, "laptop", 2)
    for place in (desk, laptop):
        with place.at() as engine:
            engine.save(f"note:/{place.name}", f"Written on the {place.name}.")
            engine.sync_folder_add(address, trust_all=True)
    for place in (desk, laptop, desk):
        assert place.sync().problems == ()
    assert desk.shown() == laptop.shown()
    assert len(desk.texts()) == 2
    with laptop.at() as engine:
        engine.rm("note:/desk", purge=True)
    for place in (laptop, desk, laptop, desk):
        place.sync()
    left = b"".join(path.read_bytes() for path in nas.rglob("*.jsonl"))
    assert desk.texts() == laptop.texts() == {"Written on the laptop."}
    assert b"Written on the desk." not in left
    assert b"Written on the laptop." in left
    assert list(nas.rglob(".incoming*")) == []
    asked = (tmp_path / "ssh.log").read_text()
    assert "BatchMode=yes" in asked
    assert ("-p 2222 -- me@nas" in asked) == address.startswith("ssh://me@")
    with desk.at() as engine:
        (folder,) = engine.sync_folder_status().folders
        assert folder.path == address
        assert {one.name for one in folder.machines} == {"desk", "laptop"}
        engine.sync_folder_rm(address)
        assert engine.sync_folder_status().folders == ()
    for place in (desk, laptop):
        place.close()


def test_a_host_that_is_down_loses_nothing_and_is_said(nas: Path, tmp_path: Path) -> None:
    desk = Place(tmp_path, "desk", 1)
    down = tmp_path / "down"
    with desk.at() as engine:
        down.touch()
        with pytest.raises(NotFound, match="No route to host"):
            engine.sync_folder_add("ssh://nas/~/shared")
        down.unlink()
        engine.sync_folder_add("ssh://nas/~/shared")
        engine.save("note:/ferry", "The ferry leaves at nine.")
        down.touch()
        assert "No route to host" in engine.sync_folder_now().problems[0]
        down.unlink()
        assert engine.sync_folder_now().problems == ()
        assert len(list(nas.rglob("*.jsonl"))) == 1
        for path in nas.rglob("*.jsonl"):  # somebody tidied up there
            path.unlink()
        engine.sync_folder_now()
        assert len(list(nas.rglob("*.jsonl"))) == 1
    desk.close()


@pytest.mark.parametrize("address", ["ssh:///path", "ssh://-oProxyCommand=x/path", "ssh://host", "ssh://a b/path"])
def test_an_address_that_is_none_is_refused_before_ssh_is_run(address: str, nas: Path, tmp_path: Path) -> None:
    desk = Place(tmp_path, "desk", 1)
    with desk.at() as engine, pytest.raises(UsageError, match="not the address of a folder"):
        engine.sync_folder_add(address)
    desk.close()
    assert not (tmp_path / "ssh.log").exists()
