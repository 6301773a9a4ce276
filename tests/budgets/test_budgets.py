"""What the paths that everybody waits for may cost, as numbers that do not depend on the machine: budgets.toml.

A change that makes one of them dearer fails here, and says which number rose; to make it dearer on purpose, change the
table. ``pytest tests/budgets -rP`` prints the figures of today.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from ricordo import ConfigProvider, Filters, Ricordo
from ricordo.hosting.running import RunningServer, write_helper
from ricordo.values.items import Entry

from .counting import Cost, counted, counted_command

IS_COVERED = any(name.startswith("COVERAGE_PROCESS") for name in os.environ)
pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or sys.version_info[:2] != (3, 11) or IS_COVERED,
    reason="versions of Python and systems count a little differently; the figures are those of one",
)

TABLE = Path(__file__).with_name("budgets.toml")
BUDGETS: Mapping[str, Mapping[str, int]] = tomllib.loads(TABLE.read_text(encoding="utf-8"))

WORDS = "harbour lantern rope anchor sail keel mast tide buoy winch"
WARMING = ("what do boats need", "which winch or mast wants oil", "the sail and keel of boat 7")
QUESTION = "which harbour lantern and rope need paint"
KEYS = "We rotate the signing keys in the first week of every quarter."
PROMPT = json.dumps({"prompt": "Which harbour lantern and rope of the boats need paint?"}).encode()
TURNS = 3


def fill(engine: Ricordo, lines: int = 3) -> None:
    """Forty notes, each with so many lines, and their vectors."""
    filler = "".join(f"The crew counted {at} crates on the quay that morning.\n" for at in range(lines))
    notes = [
        Entry(
            ref=f"note:/{n}",
            content=f"# Note {n}\n\nThe {WORDS} of boat {n} need paint.\n\n{filler}",
            fields={"tags": ["red" if n % 2 else "blue"]},
        )
        for n in range(40)
    ]
    engine.save_many(notes)


def check(path: str, cost: Cost) -> None:
    """Compare what was counted with the table."""
    figures, budget = cost.figures, BUDGETS[path]
    sys.stdout.writelines((f"[{path}]\n", *(f"{name} = {figures[name]}\n" for name in budget)))
    over = [
        f"{name}: {figures[name]}, and the budget is {most}" for name, most in budget.items() if figures[name] > most
    ]
    functions = "\n  ".join(f"{count:6} {name}" for name, count in cost.functions[:20])
    assert not over, f"{path} costs more than {TABLE.name} allows. {'; '.join(over)}\nCalled most:\n  {functions}"


def least(work: Callable[[], object]) -> Cost:
    """What work costs at its cheapest turn: now and then a look at files falls due, whatever is done."""
    return min((counted(work) for _ in range(TURNS)), key=lambda cost: cost.figures["calls"])


@pytest.fixture
def filled(tmp_path: Path) -> Iterator[Ricordo]:
    """A store with vectors that has answered some searches."""
    with Ricordo.open(tmp_path / "store.db", config=ConfigProvider()) as engine:
        fill(engine)
        for question in WARMING:
            engine.search(question, track=False)
        yield engine


def test_a_warm_search_by_words_and_meaning(filled: Ricordo) -> None:
    check("hybrid search", least(lambda: filled.search(QUESTION, track=False)))


def test_a_warm_search_by_words(filled: Ricordo) -> None:
    filled.search(WARMING[0], by="words", track=False)
    check("keyword search", least(lambda: filled.search(QUESTION, by="words", track=False)))


def test_a_filtered_search(filled: Ricordo) -> None:
    filters = Filters(tags_any=("red",))
    filled.search(WARMING[0], filters=filters, track=False)
    check("filtered search", least(lambda: filled.search(QUESTION, filters=filters, track=False)))


def test_a_search_whose_use_is_recorded(filled: Ricordo) -> None:
    def work() -> None:
        filled.search(QUESTION, track=True)
        filled._context.flush_use()

    work()
    check("recorded search", least(work))


def test_a_search_after_a_while_in_a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".ricordo").mkdir()
    (tmp_path / "CLAUDE.md").write_text("Paint the harbour lantern blue.\n")
    monkeypatch.chdir(tmp_path)
    clock, minutes = time.monotonic, [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock() + 60 * minutes[0])
    with Ricordo.open(tmp_path / ".ricordo" / "ricordo.db", config=ConfigProvider()) as engine:
        fill(engine)
        engine.remember(KEYS)
        for question in WARMING:
            engine.search(question, track=False)
            minutes[0] += 1

        def work() -> None:
            minutes[0] += 1
            engine.search(QUESTION, track=False)

        check("search after a while", least(work))


def test_a_long_question(filled: Ricordo) -> None:
    sentences = [f"On day {n} the {WORDS} of ship number {n} was moved to pier {n * 7}. " for n in range(20)]
    check("long question", least(lambda: filled.search("".join(sentences) + QUESTION, track=False, literal=True)))


def test_a_prompt_of_many_words_makes_less_than_twice_the_calls_of_a_question(filled: Ricordo) -> None:
    words = " ".join(f"pier{n} crate{n * 7} ship{n % 50}{'?' if n % 40 == 0 else ''}" for n in range(140))
    short = least(lambda: filled.search(QUESTION, track=False, literal=True)).figures["calls"]
    long = least(lambda: filled.search(f"{words}. {QUESTION}", track=False, literal=True)).figures["calls"]
    assert long < 2 * short


def test_the_hits_of_a_page_are_opened(filled: Ricordo) -> None:
    hits = filled.search(QUESTION, track=False).hits
    filled.get(hits[0].ref)

    def work() -> None:
        for hit in hits:
            filled.get(hit.ref, track=False)

    assert len(hits) == 10
    check("page opened", least(work))


def test_a_sentence_is_remembered(filled: Ricordo) -> None:
    filled.remember(KEYS)
    check("remember", counted(lambda: filled.remember("The buoy at the northern pier was replaced in May.")))


def test_a_file_is_added(filled: Ricordo, tmp_path: Path) -> None:
    files = [tmp_path / f"{name}.md" for name in ("first", "second")]
    for file in files:
        file.write_text(f"# {file.stem}\n\nThe {file.stem} pier was painted, and its lantern cleaned.\n")
    filled.add(files[0])
    check("add", counted(lambda: filled.add(files[1])))


def test_a_context_is_made(filled: Ricordo) -> None:
    filled.context(WARMING[0])
    check("context", least(lambda: filled.context(QUESTION)))


def test_a_search_makes_hardly_more_calls_for_texts_ten_times_as_long(tmp_path: Path) -> None:
    calls = []
    for lines in (3, 30):
        config = ConfigProvider({"embedding.provider": "none"})
        with Ricordo.open(tmp_path / f"{lines}.db", config=config) as engine:
            fill(engine, lines)
            engine.search(WARMING[0], track=False)
            calls.append(least(lambda: engine.search(QUESTION, track=False)).figures["calls"])
    short, long = calls
    assert long < 1.2 * short


# Whole commands.


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The file of a store that commands may open."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RICORDO_HOOKS_SECONDS", "60")  # a busy machine changes nothing in what a hook does
    with Ricordo.open(tmp_path / "store.db", config=ConfigProvider()) as engine:
        fill(engine)
    return str(tmp_path / "store.db")


def test_help_is_shown(tmp_path: Path) -> None:
    check("help", counted_command(tmp_path, "--help"))


def test_a_cold_search_by_words(store: str, tmp_path: Path) -> None:
    words = ("search", "--store", store, "--no-track", "--json", "--by", "words", QUESTION)
    check("keyword command", counted_command(tmp_path, *words))


def test_a_cold_search_by_words_and_meaning(store: str, tmp_path: Path) -> None:
    check("hybrid command", counted_command(tmp_path, "search", "--store", store, "--no-track", "--json", QUESTION))


def test_an_mcp_server_says_what_it_offers(store: str, tmp_path: Path) -> None:
    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "tests", "version": "1"},
    }
    messages = (
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
    )
    given = "".join(f"{json.dumps(message)}\n" for message in messages).encode()
    check("mcp", counted_command(tmp_path, "mcp", "--store", store, given=given))


def test_a_hook_works_alone(store: str, tmp_path: Path) -> None:
    cost = counted_command(tmp_path, "hook", "user-prompt", "--store", store, "--within", "300", given=PROMPT)
    check("hook alone", cost)


def test_a_hook_asks_a_server(store: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            while True:
                try:
                    caller, _ = server.accept()
                except OSError:  # closed
                    return
                with caller:
                    caller.recv(65_536)
                    caller.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")

        threading.Thread(target=answer, daemon=True).start()
        write_helper(RunningServer(os.getpid(), "127.0.0.1", server.getsockname()[1], "token", store="", started="1"))
        cost = counted_command(tmp_path, "hook", "user-prompt", "--store", store, "--within", "300", given=PROMPT)
        server.shutdown(socket.SHUT_RDWR)
    check("hook beside a server", cost)
