"""Commands through a running server: byte for byte what they print alone, and alone when the server cannot help."""

from __future__ import annotations

import os
import re
import shlex
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner

from ricordo import Ricordo, StoreError
from ricordo.cli import served as command_runner
from ricordo.cli.program import program
from ricordo.hosting import open_stores
from ricordo.hosting.packing import packed_answer
from ricordo.hosting.running import RunningServer, write_running

from .http_sites import LOCAL, Listening, listen

KEYS = """# Signing keys

We rotate the signing keys in the first week of every quarter; see [the plan](plan.md).

## Where

They are kept in the vault, and never in the repository.
"""
PLAN = "# Plan\n\nThe release is planned for spring. Café, naïve, 日本語.\n"
FERRY = "The harbour ferry leaves at nine on Sundays."

COMMANDS = """
search when are keys rotated --no-track
search when are keys rotated --no-track --json
search rotate keys --no-track --explain
search rotate keys --no-track --brief -n 1
search rotate keys --no-track --files
search rotate keys --no-track --mode full --json --offset 1
search 日本語 --no-track
search rotate -repository kind:document --no-track --tag nothing
search --kind memory --no-track
search nothing-at-all-like-this --no-track --no-vectors
search rotate --no-track --quiet --no-color
search rotate --weights vector=x
search rotate --limit many
search rotate --no-such-option
search rotate --tier team
search rotate --store missing.db
search rotate --no-track --store .ricordo/ricordo.db
search rotate --no-track --profile no-such
explain rotate keys notes/keys.md
semantic getting across the water --no-track
similar notes/keys.md --no-track
similar notes/missing.md
grep rotate -C 1
grep '(' --json
get notes/keys.md --no-track
get notes/keys.md:3-5 --no-track
get ./notes/../notes/keys.md --meta --no-track
get notes/keys.md notes/missing.md --no-track
get notes/missing.md
get picture.png --no-track
list
list --json --limit 1
tree
history notes/keys.md
diff notes/keys.md
diff notes/keys.md 1 9
links notes/keys.md
suggest-links notes/plan.md
context
context when are the signing keys rotated --budget 300
timeline
recent --limit 2
route rotate the keys
route
skills list
skills search rotate keys
sessions list
sessions show nothing
""".strip().splitlines()


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The variables of one user for all tests here, in this process as in those that are started."""
    folder = tmp_path_factory.mktemp("user")
    names = ("RICORDO_DATA_HOME", "RICORDO_STATE_HOME", "RICORDO_CONFIG_HOME")
    return {**{name: str(folder / name.split("_")[1].lower()) for name in names}, "COLUMNS": "90", "LINES": "30"}


@pytest.fixture(autouse=True)
def surroundings(home: dict[str, str], clean_home: None, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in home.items():
        monkeypatch.setenv(name, value)
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Listening]:
    """One server for all tests here, whose page is about another store."""
    site, end = listen(tmp_path_factory.mktemp("server"))
    ours = {"Authorization": f"Bearer {LOCAL}"}
    httpx.post(f"{site.address}/api/v1/command", content=b"", headers=ours, timeout=60)  # the first request is slow
    yield site
    end()


@pytest.fixture(scope="module")
def shared_project(tmp_path_factory: pytest.TempPathFactory, home: dict[str, str]) -> Path:
    """A project with files of several kinds, a memory, and two versions of a file."""
    folder = tmp_path_factory.mktemp("project")
    (folder / ".ricordo").mkdir()
    (folder / "notes").mkdir()
    (folder / "notes" / "keys.md").write_text("# Signing keys\n\nOld text.\n", encoding="utf-8")
    (folder / "notes" / "plan.md").write_text(PLAN, encoding="utf-8")
    (folder / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)))
    with pytest.MonkeyPatch.context() as patch:
        for name, value in home.items():
            patch.setenv(name, value)
        with Ricordo.open(folder / ".ricordo" / "ricordo.db") as engine:
            engine.add(folder)
            (folder / "notes" / "keys.md").write_text(KEYS, encoding="utf-8")
            engine.refresh()
            engine.remember(FERRY)
    return folder


@pytest.fixture
def site(served: Listening, surroundings: None, shared_project: Path) -> Listening:
    """The server, which says where it is. The store is open: a busy machine may take longer for that than we wait."""
    with served.serving.open_stores.opened(shared_project, None, None) as engine:
        engine.search("warm up", track=False)
    write_running(RunningServer(os.getpid(), "127.0.0.1", served.port, LOCAL, "another"))
    return served


@pytest.fixture
def project(shared_project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(shared_project)
    return shared_project


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The exit codes of the commands that the server answered."""
    codes: list[int] = []

    def counted(code: int, parts: Any) -> bytes:
        codes.append(code)
        return packed_answer(code, parts)

    monkeypatch.setattr(command_runner, "packed_answer", counted)
    return codes


Ran = tuple[int, bytes, bytes]


def run(line: str, folder: Path, **env: str) -> Ran:
    """A command in a process of its own, as people start it."""
    done = subprocess.run(
        [sys.executable, "-P", "-m", "ricordo", *shlex.split(line)],
        cwd=folder,
        env={**os.environ, **env},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    return done.returncode, without_times(done.stdout), without_times(done.stderr)


def alone(line: str) -> Ran:
    """The same in this process, with an engine of its own."""
    done = CliRunner().invoke(program, shlex.split(line))
    return done.exit_code, without_times(done.stdout_bytes), without_times(done.stderr_bytes)


def without_times(text: bytes) -> bytes:
    """How long something took differs from run to run, and so does the age that a score is made of."""
    text = re.sub(rb'"(ms|milliseconds|took_ms|decay_score)": [\d.]+', rb'"\1": 0', text)
    text = re.sub(rb"[\d,.]+ ms\b", b"0 ms", text)
    return re.sub(rb"\b(\d\.\d{3})\d{3,}\b", rb"\1", text)


@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_prints_through_the_server_what_it_prints_alone(
    line: str, project: Path, site: Listening, answers: list[int]
) -> None:
    through = run(line, project)
    assert answers == [through[0]], "the server did not answer"
    assert through == alone(line)


def test_paths_are_meant_as_seen_from_the_folder_of_the_caller(
    project: Path, site: Listening, answers: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project / "notes")
    for line in (
        "get keys.md --no-track",
        "search rotate keys --no-track",
        "list",
        "get ../picture.png --meta --no-track",
    ):
        through = run(line, project / "notes")
        assert through == alone(line)
    assert len(answers) == 4
    assert b"\n    keys.md:" in run("search rotate keys --no-track", project / "notes")[1]


def test_colours_and_width_are_the_callers(
    project: Path, site: Listening, answers: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    wide = run("search rotate keys --no-track", project)
    narrow = run("search rotate keys --no-track", project, COLUMNS="50", FORCE_COLOR="1")
    assert len(answers) == 2
    assert b"\x1b[" in narrow[1]
    assert b"\x1b[" not in wide[1]
    monkeypatch.setenv("COLUMNS", "50")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert alone("search rotate keys --no-track") == narrow


@pytest.mark.skipif(os.name != "posix", reason="needs a pseudo-terminal")
def test_a_terminal_shows_the_same_with_a_pager_too(project: Path, site: Listening, answers: list[int]) -> None:
    def shown(line: str) -> bytes:
        ours, theirs = os.openpty()
        env = {**os.environ, "TERM": "xterm", "PAGER": "cat", "COLUMNS": "70", "LINES": "12"}
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "ricordo", *shlex.split(line)],
            cwd=project, env=env, stdin=theirs, stdout=theirs, stderr=theirs,
        )  # fmt: skip
        os.close(theirs)
        seen = b""
        try:
            while part := os.read(ours, 65_536):
                seen += part
        except OSError:  # the other end is closed
            pass
        os.close(ours)
        assert process.wait(60) == 0
        return without_times(seen)

    line = "search rotate signing keys plan release --no-track"
    through = shown(line)
    assert answers == [0]
    assert through == shown(f"{line} --no-server")
    assert b"\x1b[" in through
    assert answers == [0]


def test_what_is_opened_and_asked_through_the_server_is_counted(project: Path, site: Listening) -> None:
    run("get notes/plan.md", project)
    run("search when is the release", project)
    with Ricordo.open(project / ".ricordo" / "ricordo.db") as engine:
        assert "when is the release" in [row.name for row in engine.stats().rows]
        assert any(one.query is None for one in engine.retrievals(ref="notes/plan.md"))


def test_changes_are_seen_at_once(project: Path, site: Listening, answers: list[int]) -> None:
    """Of a file in the store, of a knowledge file, of the settings, and of which file the store is."""
    run("search ferry --no-track", project)
    (knowledge,) = (project / ".ricordo" / "knowledge").rglob("*.md")
    knowledge.write_text(knowledge.read_text(encoding="utf-8").replace("at nine", "at eleven"), encoding="utf-8")
    assert b"at eleven" in run("search ferry --no-track", project)[1]
    with Ricordo.open(project / ".ricordo" / "ricordo.db") as engine:
        engine.remember("The lighthouse is painted every third summer.")
    assert b"third summer" in run("search lighthouse --no-track", project)[1]
    run("config set search.limit 1 --project", project)
    assert b"\n 2 " not in run("search rotate keys plan ferry --no-track", project)[1]
    run("config unset search.limit --project", project)
    assert len(answers) == 4


def test_a_store_that_was_replaced_is_opened_anew(
    tmp_path: Path, site: Listening, answers: list[int], home: dict[str, str]
) -> None:
    store = tmp_path / "one.db"
    for text in ("The first store knows of apples.", "The second store knows of pears."):
        for old in tmp_path.glob("one.db*"):
            old.unlink()
        with Ricordo.open(store) as engine:
            engine.remember(text)
        assert text.encode() in run(f"search store knows --no-track --store {store}", tmp_path)[1]
    assert answers == [0, 0]


def test_a_store_in_use_stays_open_while_others_take_its_place(
    tmp_path: Path, site: Listening, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_stores, "STORES_KEPT_OPEN", 1)
    stores = site.serving.open_stores
    for name in ("one", "two", "three"):
        with Ricordo.open(tmp_path / f"{name}.db") as engine:
            engine.remember(f"This is store {name}.")
    with stores.opened(tmp_path, str(tmp_path / "one.db"), None) as first:
        with stores.opened(tmp_path, str(tmp_path / "two.db"), None) as second:
            assert (first.count(), second.count()) == (1, 1)
        with stores.opened(tmp_path, str(tmp_path / "three.db"), None) as third:
            assert (first.count(), third.count()) == (1, 1)
        with stores.opened(tmp_path, str(tmp_path / "one.db"), None) as again:
            assert again is first
        with pytest.raises(StoreError, match="closed"):
            second.count()


def test_a_store_whose_file_was_replaced_while_in_use_is_closed_by_its_last_user(
    tmp_path: Path, site: Listening
) -> None:
    place = (tmp_path, str(tmp_path / "one.db"), None)
    with Ricordo.open(tmp_path / "one.db") as engine:
        engine.remember("The first store knows of apples.")
    with site.serving.open_stores.opened(*place) as before:
        (tmp_path / "one.db").rename(tmp_path / "old.db")
        with Ricordo.open(tmp_path / "one.db"):
            pass
        with site.serving.open_stores.opened(*place) as after:
            assert (before.count(), after.count()) == (1, 0)
        assert before.count() == 1
    with pytest.raises(StoreError, match="closed"):
        before.count()


def of_another_version(site: Listening) -> None:
    write_running(RunningServer(os.getpid(), "127.0.0.1", site.port, LOCAL, "", version="0.0.1"))


def gone(site: Listening) -> None:
    write_running(RunningServer(os.getpid(), "127.0.0.1", 1, LOCAL, ""))


def with_another_token(site: Listening) -> None:
    write_running(RunningServer(os.getpid(), "127.0.0.1", site.port, "another", ""))


def unreadable(site: Listening) -> None:
    from ricordo.hosting.running import state_file

    state_file().write_text("{not as it was written", encoding="utf-8")


@pytest.mark.parametrize("damaged", [of_another_version, gone, with_another_token, unreadable])
def test_a_server_that_cannot_help_is_passed_over_in_silence(
    damaged: Callable[[Listening], None], project: Path, site: Listening, answers: list[int]
) -> None:
    damaged(site)
    assert run("get notes/plan.md --no-track", project) == (0, PLAN.encode(), b"")
    assert answers == []


def test_a_server_that_does_not_answer_in_time_is_passed_over_in_silence(project: Path, site: Listening) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        write_running(RunningServer(os.getpid(), "127.0.0.1", silent.getsockname()[1], LOCAL, ""))
        assert run("get notes/plan.md --no-track", project) == (0, PLAN.encode(), b"")


@pytest.mark.parametrize(
    ("line", "env"),
    [
        ("get notes/plan.md --no-track --no-server", {}),
        ("get notes/plan.md --no-track --verbose", {}),
        ("get notes/plan.md --no-track -qv", {}),
        ("get notes/plan.md --no-track", {"RICORDO_SERVE_COMMANDS": "false"}),
        ("get notes/plan.md --no-track", {"RICORDO_SEARCH_LIMIT": "3"}),
        ("get notes/plan.md --no-track", {"TZ": "Asia/Tokyo"}),
    ],
)
def test_a_command_with_other_wishes_than_the_servers_does_the_work_itself(
    line: str, env: dict[str, str], project: Path, site: Listening, answers: list[int]
) -> None:
    assert run(line, project, **env)[:2] == (0, PLAN.encode())
    assert answers == []


def test_the_setting_of_a_project_keeps_its_commands_to_themselves(
    project: Path, site: Listening, answers: list[int]
) -> None:
    run("config set serve.commands false --project", project)
    try:
        assert run("get notes/plan.md --no-track", project) == (0, PLAN.encode(), b"")
        assert answers == []
    finally:
        run("config unset serve.commands --project", project)


def test_verbs_that_write_are_never_sent(project: Path, site: Listening, answers: list[int]) -> None:
    assert run("remember The gate is green.", project)[0] == 0
    assert run("skills add", project)[0] == 0
    assert answers == []


def test_a_token_cannot_run_commands(project: Path, site: Listening) -> None:
    secret, _ = site.serving.credentials.add("other", "admin")
    for token in (secret, "wrong"):
        answer = httpx.post(
            f"{site.address}/api/v1/command", content=b"0\0", headers={"Authorization": f"Bearer {token}"}, timeout=60
        )
        assert answer.status_code in (401, 403)
    mine = httpx.post(
        f"{site.address}/api/v1/command", content=b"rubbish", headers={"Authorization": f"Bearer {LOCAL}"}, timeout=60
    )
    assert mine.status_code == 400


def test_a_reader_that_has_seen_enough_is_no_failure(project: Path, site: Listening, answers: list[int]) -> None:
    command = [sys.executable, "-P", "-m", "ricordo", "get", "notes/keys.md", "--no-track"]
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(command, cwd=project, stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")
    assert answers == [0]
