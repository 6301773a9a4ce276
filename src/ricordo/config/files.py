"""The user's and the project's folders, and small files in them: where they are, how they are read and written.

It knows TOML, folders and locks, but not what a setting means; that is ``settings`` and ``config``.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from ricordo.config.state import state_folder, user_folder
from ricordo.errors import NotFound, Unavailable, UsageError

PROJECT_FOLDER = ".ricordo"
CONFIG_NAME = "config.toml"
IGNORE_NAME = ".ricordoignore"
LARGEST_IGNORE_FILE = 1_000_000
LOCK_SECONDS = 5.0

Environment = Mapping[str, str]


def config_home(env: Environment) -> Path:
    """The user's configuration folder (``RICORDO_CONFIG_HOME``, else the platform's)."""
    return Path(user_folder("config", env))


def data_home(env: Environment) -> Path:
    """The folder of the user's store and trust list (``RICORDO_DATA_HOME``, else the platform's)."""
    return Path(user_folder("data", env))


def state_home(env: Environment) -> Path:
    """The folder of logs and of what runs now (``RICORDO_STATE_HOME``, else the platform's)."""
    return Path(state_folder(env))


def user_file(env: Environment) -> Path:
    """The user's ``config.toml``, whether or not it exists."""
    return config_home(env) / CONFIG_NAME


def nearest_project(start: Path, holding: str = "") -> Path | None:
    """The ``.ricordo`` folder of the project around ``start``, looking upwards to the root.

    A git work tree without one has that of its main checkout. With ``holding``, only folders that have a file of that
    name count.
    """
    here = start.absolute()
    for folder in (here, *here.parents):
        if (project := _project_in(folder, holding)) is not None:
            return project
        if (main := _main_checkout(folder)) is not None:
            beside = main / here.relative_to(folder)
            for other in (beside, *beside.parents[: len(here.parts) - len(folder.parts)]):
                if (project := _project_in(other, holding)) is not None:
                    return project
    return None


def _project_in(folder: Path, holding: str) -> Path | None:
    candidate = folder / PROJECT_FOLDER
    with suppress(OSError):  # a folder above that may not be read does not belong to this project
        if (candidate / holding).is_file() if holding else candidate.is_dir():
            return candidate
    return None


def _main_checkout(folder: Path) -> Path | None:
    """The top folder of the main checkout, if a folder is another work tree of it."""
    with suppress(OSError):
        if (folder / ".git").is_file():  # in a main checkout it is a folder
            from ricordo.config.repository import repository_at

            repository = repository_at(folder)
            return repository.main if repository is not None and repository.is_worktree else None
    return None


def beside_project(project: Path) -> Path | None:
    """The folder of a project in the work tree in which the command runs; None in the main checkout and elsewhere."""
    try:
        here = current_folder().absolute()
    except NotFound:
        return None
    for folder in (here, *here.parents):
        main = _main_checkout(folder)
        if main is not None:
            inside = os.path.relpath(os.path.realpath(project), os.path.realpath(main))
            return None if inside.startswith("..") else folder / inside
    return None


_callers_folder: ContextVar[Path | None] = ContextVar("folder of the caller", default=None)


@contextmanager
def standing_in(folder: Path) -> Iterator[None]:
    """Names of files in this thread are meant as seen from there: a server does the work of commands run elsewhere."""
    token = _callers_folder.set(folder)
    try:
        yield
    finally:
        _callers_folder.reset(token)


def current_folder() -> Path:
    """The folder in which the command runs; an error with a hint if it was removed meanwhile."""
    if (folder := _callers_folder.get()) is not None:
        return folder
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise NotFound("the current folder no longer exists", hint="Change to a folder that exists.") from None


def project_file(start: Path) -> Path | None:
    """The nearest project's ``config.toml``, if there is one."""
    folder = nearest_project(start, CONFIG_NAME)
    return folder / CONFIG_NAME if folder else None


def is_left_alone(folder: Path) -> bool:
    """Whether the user wants a folder left alone: a ``.ricordoignore`` above names it, or its own takes in everything.

    What git ignores is not left alone: work trees and build folders are often ignored there.
    """
    for above in (folder, *folder.parents):
        file, lines = above / IGNORE_NAME, list[str]()
        with suppress(OSError):
            if file.is_file() and file.stat().st_size <= LARGEST_IGNORE_FILE:
                lines = file.read_text(encoding="utf-8-sig", errors="replace").splitlines()
        if not lines:
            continue
        from pathspec import GitIgnoreSpec

        spec = GitIgnoreSpec.from_lines(lines)
        inside = folder.relative_to(above).parts
        begun = ["/".join(inside[: place + 1]) + "/" for place in range(len(inside))] or ["anything"]
        if any(spec.match_file(name) for name in begun):
            return True
    return False


def read_bytes(path: Path) -> bytes | None:
    """The file's bytes, ``None`` when there is no such file."""
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as problem:
        raise Unavailable(
            f"cannot read {path}: {problem.strerror}", hint="Check the file's permissions, or move it away."
        ) from problem


def parse_toml(content: bytes, path: Path) -> dict[str, Any]:
    """The tables of a configuration file; text that is not TOML is a usage error that names the line."""
    import tomllib  # a command without such a file need not wait for it

    try:
        return tomllib.loads(content.decode("utf-8-sig"))  # some editors write a byte order mark
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise UsageError(f"{path} is not valid TOML: {problem}", hint="Correct that line, or remove it.") from None


def write_entry(path: Path, keys: tuple[str, ...], value: Any) -> None:
    """Set a value in the file, the last of the keys in the tables of the others, and keep everything else in it."""
    import tomlkit
    import tomlkit.items

    *tables, last = keys
    document = _document(path)
    section: Any = document
    for depth, table in enumerate(tables, start=1):
        if table not in section:
            is_inline = isinstance(section, tomlkit.items.InlineTable)
            within = tomlkit.inline_table() if is_inline else tomlkit.table(is_super_table=depth < len(tables))
            section.add(table, within)
        section = section[table]
        if not isinstance(section, MutableMapping):
            raise UsageError(f"'{table}' is not a table (in {path})", hint="Correct the file, or remove it.")
    section[last] = list(value) if isinstance(value, tuple) else value
    replace_file(path, tomlkit.dumps(document).encode())


def remove_entry(path: Path, keys: tuple[str, ...]) -> bool:
    """Remove a value from the file, and tables that are empty then; returns whether it was there."""
    import tomlkit

    *tables, last = keys
    document = _document(path)
    sections: list[Any] = [document]
    for table in tables:
        sections.append(sections[-1].get(table) if isinstance(sections[-1], MutableMapping) else None)
    if not isinstance(sections[-1], MutableMapping) or last not in sections[-1]:
        return False
    del sections[-1][last]
    for section, table in zip(reversed(sections[:-1]), reversed(tables), strict=True):
        if not section[table]:
            del section[table]
    replace_file(path, tomlkit.dumps(document).encode())
    return True


def _document(path: Path) -> Any:
    import tomlkit

    content = read_bytes(path) or b""
    parse_toml(content, path)  # raises the same error for a bad file as everywhere
    return tomlkit.parse(content.decode("utf-8-sig"))


def replace_file(path: Path, content: bytes, *, mode: int = 0o600) -> None:
    """Write the whole file at once, by default readable by its owner alone; a reader sees the old or the new one."""
    target = path.resolve()  # a linked file stays a link
    try:
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        draft = target.with_name(f".{target.name}.{os.getpid()}-{time.monotonic_ns()}")
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        try:
            with os.fdopen(handle, "wb") as fresh:
                fresh.write(content)
                fresh.flush()
                os.fsync(fresh.fileno())
            draft.replace(target)
        finally:
            with suppress(FileNotFoundError):
                draft.unlink()
    except OSError as problem:
        raise Unavailable(
            f"cannot write {path}: {problem.strerror}", hint="Check the folder's permissions and free space."
        ) from problem


@contextmanager
def locked(path: Path, seconds: float = LOCK_SECONDS) -> Iterator[None]:
    """Hold the lock beside ``path`` against other processes; the system frees it when a holder dies."""
    beside = path.with_name(f"{path.name}.lock")
    try:
        beside.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle = os.open(beside, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as problem:
        raise Unavailable(
            f"cannot write {beside}: {problem.strerror}", hint="Check the folder's permissions and free space."
        ) from problem
    try:
        deadline = time.monotonic() + seconds
        while not _try_lock(handle):
            if time.monotonic() > deadline:
                raise Unavailable(f"another process is changing {path}", hint="Try again in a moment.")
            time.sleep(0.02)
        yield
    finally:
        os.close(handle)


def _try_lock(handle: int) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def random_key(path: Path, size: int = 32) -> bytes:
    """The random bytes that a file of ours holds, made when they are first needed: of two processes that make them at
    the same time, one wins.
    """
    key = read_bytes(path)
    if key is None or len(key) != size:
        with locked(path):
            key = read_bytes(path)
            if key is None or len(key) != size:
                key = os.urandom(size)
                replace_file(path, key)
    return key


def read_json(path: Path) -> Any:
    """What a small file of ours holds; None if there is none, or if it is damaged or cannot be read."""
    import json

    with suppress(ValueError, Unavailable):
        return json.loads(read_bytes(path) or b"null")
    return None


def write_json(path: Path, value: Any, *, mode: int = 0o600) -> None:
    """Write such a file at once, by default readable by its owner alone."""
    import json

    replace_file(path, json.dumps(value, indent=1).encode(), mode=mode)
