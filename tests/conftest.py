"""What every test may ask for: a clean home, an engine without vectors, and one with the shipped model."""

from __future__ import annotations

import gc
import itertools
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from hypothesis import HealthCheck, settings

# Threads for matrices wait for each other by spinning, on processors that other tests need. They are made at an import.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from ricordo import ConfigProvider, Ricordo, log, speaking
from ricordo.config.machine import MACHINE_NAME
from ricordo.config.trust_lists import TRUSTED, note_place, withdraw_place
from ricordo.models.local_onnx import SHIPPED, LocalEmbedder
from ricordo.programs.table import PROGRAMS
from ricordo.values.items import Saved
from ricordo.values.reports import Refreshed

# Failed assertions in the contract of a store show both sides, as they do in test files.
pytest.register_assert_rewrite(
    *(f"tests.store.contract_{part}" for part in ("items", "records", "search", "languages"))
)

# Tests start hundreds of commands, and each would compile all of Ricordo again where nobody keeps the outcome.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Stores wait for the disk at every write, which costs thousands of tests more than what they do. None of them cuts the
# power, so that memory is as good where there is enough of it and nobody chose another place.
IN_MEMORY = Path("/dev/shm")
if "TMPDIR" not in os.environ and IN_MEMORY.is_dir() and shutil.disk_usage(IN_MEMORY).free > 4 * 2**30:
    folder = IN_MEMORY / f"ricordo-tests-{os.getuid()}"
    folder.mkdir(mode=0o755, exist_ok=True)
    os.environ["TMPDIR"] = tempfile.tempdir = str(folder)

# A busy machine is no reason to fail: how long an example takes says nothing about what it shows. The examples of a
# property are the same in every run, so that a change is judged by what it changes. RICORDO_TEST_EXPLORE=1 looks for
# new ones.
settings.register_profile(
    "busy machine",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize="RICORDO_TEST_EXPLORE" not in os.environ,
)
settings.load_profile("busy machine")


def pytest_collection_finish() -> None:
    """What was collected stays to the end: looking for garbage in it takes a fifth of a second, again and again."""
    gc.freeze()


HOMES = itertools.count()


def new_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home on the one machine that all tests run on: stores outlive the homes of single tests.

    Its folder is named here, because ``mktemp`` looks at all folders that were made before to number a new one.
    """
    home = tmp_path_factory.getbasetemp() / f"home{next(HOMES)}"
    (home / "data").mkdir(parents=True)
    (home / "data" / MACHINE_NAME).write_text('{"id": "7e575075", "name": "tests"}')
    return home


@pytest.fixture(scope="session", autouse=True)
def home_of_all_tests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What several tests share is made on the same machine as what each makes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RICORDO_DATA_HOME", str(new_home(tmp_path_factory) / "data"))
        yield


@pytest.fixture(scope="session", autouse=True)
def model_of_all_tests() -> Iterator[None]:
    """The shipped model is checked and loaded once; each command that a test runs in its process would do so again."""
    load = LocalEmbedder._open
    opened = cache(lambda: load(LocalEmbedder()))

    def shared(embedder: LocalEmbedder) -> Any:
        is_usual = embedder._folder == SHIPPED and embedder._cache is None
        return opened() if is_usual else load(embedder)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LocalEmbedder, "_open", shared)
        yield


@pytest.fixture(autouse=True)
def clean_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees, or leaves, anything in the user's own folders."""
    home = new_home(tmp_path_factory)
    monkeypatch.setenv("RICORDO_DATA_HOME", str(home / "data"))
    monkeypatch.setenv("RICORDO_STATE_HOME", str(home / "state"))
    monkeypatch.setenv("RICORDO_CONFIG_HOME", str(home / "config"))
    for name in ("RICORDO_STORE", "RICORDO_PASSPHRASE", "RICORDO_KEY_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(speaking, "_of_process", None)  # a command that runs in this process sets it
    monkeypatch.setattr(log, "_without_texts", False)  # whoever opens an encrypted store sets these two
    monkeypatch.setattr(tempfile, "tempdir", tempfile.tempdir)
    for name in (one.variable for one in PROGRAMS.values() if one.variable):
        monkeypatch.delenv(name, raising=False)
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "OPENAI_API_KEY", "OPENAI_BASE_URL", "OLLAMA_HOST"):
        monkeypatch.delenv(name, raising=False)


Opener = Callable[..., Ricordo]


@pytest.fixture
def open_engine(tmp_path: Path) -> Iterator[Opener]:
    """Opens engines by store name, with settings as keywords: ``open_engine("a", **{"search.limit": 5})``."""
    opened: list[Ricordo] = []

    def open_one(name: str = "store", *, vectors: bool = False, **settings: Any) -> Ricordo:
        if not vectors:
            settings = {"embedding.provider": "none", **settings}
        engine = Ricordo.open(tmp_path / f"{name}.db", config=ConfigProvider(settings))
        opened.append(engine)
        return engine

    yield open_one
    for engine in opened:
        engine.close()


@pytest.fixture
def engine(open_engine: Opener) -> Ricordo:
    """An empty store searched by words."""
    return open_engine()


@pytest.fixture
def meaning(open_engine: Opener) -> Ricordo:
    """An empty store searched by words and meaning, with the shipped model."""
    return open_engine(vectors=True)


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow the machine is: a search waits for the vectors of what was written a moment before."""
    monkeypatch.setattr("ricordo.search.pipeline.EMBED_SECONDS", 60.0)


def error_of(saved: Saved | Refreshed) -> Mapping[str, str]:
    """What went wrong with a thing that could not be saved or refreshed."""
    assert saved.error is not None
    return saved.error


def import_trusted(engine: Ricordo, source: Path | str | BinaryIO, **options: Any) -> Any:
    """Import a file as from a folder that the user trusts."""
    with tempfile.TemporaryDirectory() as made:
        if not isinstance(source, (str, Path)):
            (Path(made) / "all.jsonl").write_bytes(source.read())
            source = Path(made) / "all.jsonl"
        folder = Path(source) if Path(source).is_dir() else Path(source).parent
        note_place(folder, TRUSTED)
        try:
            return engine.import_(source, **options)
        finally:
            withdraw_place(folder)
