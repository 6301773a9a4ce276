"""The worker that reads risky files: whatever happens inside it, the caller gets an answer and goes on."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from ricordo.errors import Unreadable
from ricordo.ingest.formats.sandbox import Sandbox
from ricordo.ingest.formats.source import FileType, Limits, Source
from ricordo.values.items import Mark, Parsed

HERE = Path(__file__).parent
FORMATS = HERE.parent / "fixtures" / "formats"
on_posix = pytest.mark.skipif(os.name == "nt", reason="needs POSIX processes")


@pytest.fixture
def sandbox(monkeypatch: pytest.MonkeyPatch) -> Iterator[Sandbox]:
    monkeypatch.syspath_prepend(HERE)
    made = Sandbox()
    yield made
    made.close()


def run(sandbox: Sandbox, parser: str, data: bytes = b"words", **limits: Any) -> Parsed:
    source = Source(data, "file.bin", FileType("test", "x/y"), limits=Limits(**limits))
    return sandbox.run(f"hostile_parsers:{parser}", source)


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def wait_until_gone(pid: int, seconds: float = 120) -> bool:
    deadline = time.monotonic() + seconds
    while is_alive(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not is_alive(pid)


def test_everything_a_parser_says_comes_back(sandbox: Sandbox) -> None:
    assert run(sandbox, "everything") == Parsed(
        text="Zeile\n\ud800 und 🐟",
        title="Titel",
        fields={"tags": ("a", "b"), "metadata": {"n": [1, None]}},
        mime_type="x/y",
        structure="markdown",
        language="de",
        first_line=7,
        marks=(Mark(0, "page 1"), Mark(3, "page 2")),
        is_textual=False,
        warnings=("careful",),
    )


def test_one_worker_reads_many_files(sandbox: Sandbox) -> None:
    assert len({run(sandbox, "process_id").text for _ in range(5)}) == 1


@pytest.mark.parametrize("parser", ["hang", "sleep"])
def test_a_parser_that_does_not_end_is_ended(sandbox: Sandbox, parser: str) -> None:
    first = int(run(sandbox, "process_id").text)
    with pytest.raises(Unreadable, match=r"took longer than 0\.5 s") as caught:
        run(sandbox, parser, seconds=0.5)
    assert caught.value.hint
    assert run(sandbox, "echo").text == "words"
    assert os.name == "nt" or wait_until_gone(first)


@pytest.mark.parametrize("parser", ["crash", "leave"])
def test_a_crash_costs_only_its_file(sandbox: Sandbox, parser: str) -> None:
    assert run(sandbox, "echo").text == "words"
    with pytest.raises(Unreadable, match="crashed"):
        run(sandbox, parser)
    assert run(sandbox, "echo").text == "words"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux enforces the limit")
def test_a_parser_that_eats_memory_is_stopped(sandbox: Sandbox) -> None:
    with pytest.raises(Unreadable, match="more than 256 MB of memory"):
        run(sandbox, "eat_memory", memory_mb=256)
    assert run(sandbox, "echo").text == "words"


def test_an_unexpected_error_is_unreadable_and_named(sandbox: Sandbox) -> None:
    with pytest.raises(Unreadable, match="KeyError") as caught:
        run(sandbox, "stumble")
    assert caught.value.hint


@pytest.mark.parametrize(
    ("parser", "message", "hint"),
    [
        ("stumble", "KeyError", "probably damaged"),
        ("mistake", "a mistake in Ricordo", "The file may be fine"),
        ("unpackaged", "a package is missing", "pip install"),
    ],
)
def test_only_a_damaged_file_is_called_damaged_and_every_trace_is_logged(
    sandbox: Sandbox, caplog: pytest.LogCaptureFixture, parser: str, message: str, hint: str
) -> None:
    with pytest.raises(Unreadable, match=message) as caught:
        run(sandbox, parser)
    assert hint in caught.value.hint
    assert "file.bin could not be read" in caplog.text
    assert f"in {parser}" in caplog.text, "the trace of the other process"


def test_a_parsers_own_reason_and_hint_come_through(sandbox: Sandbox) -> None:
    with pytest.raises(Unreadable) as caught:
        run(sandbox, "refuse")
    assert (caught.value.message, caught.value.hint) == ("no", "ask nicely")


def test_noise_on_standard_output_does_not_disturb(sandbox: Sandbox) -> None:
    assert run(sandbox, "chatter").text == "words"
    assert run(sandbox, "echo").text == "words"


def test_a_large_file_passes_whole(sandbox: Sandbox) -> None:
    data = b"0123456789" * 1_000_000
    assert run(sandbox, "echo", data).text == data.decode()


def test_many_threads_get_their_own_answers(sandbox: Sandbox) -> None:
    def ask(number: int) -> tuple[str, str]:
        if number % 10 == 3:
            with pytest.raises(Unreadable):
                run(sandbox, "crash")
        return str(number), run(sandbox, "echo", str(number).encode()).text

    with ThreadPoolExecutor(8) as threads:
        for sent, received in threads.map(ask, range(40)):
            assert sent == received


def test_a_worker_that_died_between_files_is_replaced(sandbox: Sandbox) -> None:
    pid = int(run(sandbox, "process_id").text)
    os.kill(pid, 9 if os.name != "nt" else 15)
    assert run(sandbox, "echo").text == "words"


def test_closing_ends_the_workers_and_a_later_run_starts_new_ones(sandbox: Sandbox) -> None:
    pid = int(run(sandbox, "process_id").text)
    sandbox.close()
    assert os.name == "nt" or not is_alive(pid)
    assert run(sandbox, "echo").text == "words"


@on_posix
def test_a_forked_process_has_workers_of_its_own() -> None:
    script = (
        "import os\n"
        "from pathlib import Path\n"
        "from ricordo.ingest.formats.read import parse_file\n"
        f"path = Path({str(FORMATS / 'docx' / 'loom.docx')!r})\n"
        "parse_file(path)\n"
        "child = os.fork()\n"
        "print(parse_file(path).title, flush=True)\n"
        "if not child:\n"
        "    os._exit(0)\n"
        "assert os.waitpid(child, 0)[1] == 0\n"
        "print(parse_file(path).title)\n"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, timeout=60)
    assert done.stderr == ""
    assert done.stdout.split("\n") == ["Der Webstuhl im Dachboden"] * 3 + [""]


@on_posix
@pytest.mark.parametrize("ending", ["", "os.kill(os.getpid(), 9)", "1 / 0"])
def test_no_worker_outlives_its_script(ending: str) -> None:
    """A plain script without a main guard; the second one is killed and cannot clean up."""
    script = (
        "import os, sys\n"
        f"sys.path.insert(0, {str(HERE)!r})\n"
        "from ricordo.ingest.formats.sandbox import run_bounded\n"
        "from ricordo.ingest.formats.source import FileType, Source\n"
        "source = Source(b'', 'x', FileType('test', 'x/y'))\n"
        "print(run_bounded('hostile_parsers:process_id', source).text, flush=True)\n"
        f"{ending}\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert wait_until_gone(int(done.stdout))


def test_an_interrupted_read_leaves_no_half_conversation(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    from ricordo.ingest.formats import sandbox as module

    run(sandbox, "echo")
    receive = module.receive

    def interrupted(stream: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "receive", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(sandbox, "echo", b"first")
    monkeypatch.setattr(module, "receive", receive)
    assert run(sandbox, "echo", b"second").text == "second"


def test_the_worker_loads_neither_faces_nor_models(sandbox: Sandbox) -> None:
    loaded = set(run(sandbox, "modules").text.split("\n"))
    assert "ricordo.ingest.formats.sandbox" in loaded
    assert not loaded & {
        "onnxruntime",
        "numpy",
        "click",
        "rich",
        "apsw",
        "lxml",
        "trafilatura",
        "ricordo.cli",
        "yaml",
    }


def test_parsing_is_light_to_import() -> None:
    script = (
        "import sys\n"
        "from ricordo.ingest.formats.read import parse_bytes\n"
        "parse_bytes(b'# Title', 'a.md')\n"
        "print('\\n'.join(sys.modules))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    heavy = {"lxml", "trafilatura", "yaml", "charset_normalizer", "numpy", "subprocess", "email", "pypdfium2"}
    assert not heavy & set(done.stdout.split("\n"))


def test_the_current_folder_cannot_slip_code_into_the_worker(tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('hijacked')")
    (tmp_path / "lxml.py").write_text("raise SystemExit('hijacked')")
    script = (
        "import sys; sys.path.remove('') if '' in sys.path else None\n"
        "from pathlib import Path\n"
        "from ricordo.ingest.formats.read import parse_file\n"
        f"print(parse_file(Path({str(FORMATS / 'docx' / 'loom.docx')!r})).title)\n"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", script], capture_output=True, text=True, timeout=60, cwd=tmp_path
    )
    assert done.stdout == "Der Webstuhl im Dachboden\n", done.stderr


def test_waiting_for_a_worker_does_not_count_as_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three slow files on one worker: each has its own time, though the last one waits for the others."""
    monkeypatch.syspath_prepend(HERE)
    single = Sandbox(workers=1)
    try:
        run(single, "echo")
        problems: list[str] = []

        def slow() -> None:
            try:
                run(single, "sleep", seconds=0.4)
            except Unreadable as problem:
                problems.append(problem.message)

        threads = [threading.Thread(target=slow) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=300)
        assert [message.endswith("longer than 0.4 s") for message in problems] == [True] * 3
        assert run(single, "echo").text == "words"
    finally:
        single.close()
