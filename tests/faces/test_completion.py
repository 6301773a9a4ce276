"""Shells complete refs and profiles, and never fail or make a store."""

from __future__ import annotations

import os
import select
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

from ricordo import Ricordo
from ricordo.cli.program import program


def offered(*words: str) -> list[str]:
    complete = ShellComplete(program, {}, "ricordo", "_RICORDO_COMPLETE")
    return [item.value for item in complete.get_completions(list(words[:-1]), words[-1])]


@pytest.fixture
def store(house: Any, tmp_path: Path) -> str:
    path = tmp_path / "store.db"
    with Ricordo.open(path) as memory:
        memory.save("note:/plans/spring", "Sow in March.")
        memory.save("note:/plans/autumn", "Reap in September.")
        memory.save("note:/tea", "Ada drinks tea.")
    return str(path)


def test_refs_of_the_store_are_completed(store: str) -> None:
    assert set(offered("--store", store, "get", "note:/pl")) == {"note:/plans/spring", "note:/plans/autumn"}
    assert set(offered("--store", store, "get", "note:")) == {"note:/plans/spring", "note:/plans/autumn", "note:/tea"}
    assert "note:/" in offered("--store", store, "get", "not")


class Bash:
    """An interactive bash at a terminal, with the script that ``completion bash`` prints."""

    def __init__(self, folder: Path, store: str) -> None:
        import pty

        script = folder / "completion.bash"
        script.write_text(CliRunner().invoke(program, ["completion", "bash"]).stdout)
        env = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "RICORDO_STORE": store}
        env |= {"TERM": "dumb", "PS1": "$ ", "INPUTRC": "/dev/null"}
        self.process, self.terminal = pty.fork()
        if not self.process:
            os.execvpe("bash", ["bash", "--norc", "--noprofile", "-i"], env)
        self.read("$ ")
        self.type(f"source {script}; set +o history; bind 'set enable-bracketed-paste off'\n", "$ ")

    def type(self, text: str, until: str) -> str:
        os.write(self.terminal, text.encode())
        return self.read(until)

    def read(self, until: str) -> str:
        """What appears, up to words that are waited for; a minute is long enough for the busiest machine."""
        shown = ""
        deadline = time.monotonic() + 60
        while until not in shown and time.monotonic() < deadline:
            if select.select([self.terminal], [], [], 0.1)[0]:
                shown += os.read(self.terminal, 65_536).decode("utf-8", "replace")
        assert until in shown, shown
        return shown

    def close(self) -> None:
        os.kill(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)
        os.close(self.terminal)


@pytest.mark.skipif(os.name != "posix" or not shutil.which("bash"), reason="there is no bash")
def test_a_real_bash_completes_refs_although_it_ends_words_at_colons(store: str, tmp_path: Path) -> None:
    bash = Bash(tmp_path, store)
    try:
        assert "get note:/plans/spring " in bash.type("ricordo get note:/plans/s\t", "spring ")
        bash.type("\x15\n", "$ ")
        assert "note:/note:" not in bash.type("ricordo get note:/t\t", "/tea ")
        bash.type("\x15\n", "$ ")
        assert "'note:/plans/autumn'" in bash.type("ricordo get 'note:/plans/a\t", "autumn'")
        bash.type("\x15\n", "$ ")
        assert bash.type("ricordo get skil\t", "skill:/").endswith("skill:/")
    finally:
        bash.close()


def test_profiles_are_completed(store: str) -> None:
    assert "brain" in offered("--store", store, "search", "--profile", "br")


def test_nothing_is_offered_and_nothing_made_where_there_is_no_store(house: Any, tmp_path: Path) -> None:
    missing = tmp_path / "nowhere.db"
    assert offered("--store", str(missing), "get", "note:/") == []
    assert not missing.exists()
