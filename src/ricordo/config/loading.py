"""Finds the settings in force: flags > environment > project file > user file > defaults.

``load_config`` reads them once, ``ConfigProvider`` again whenever a file changed, ``set_value`` and ``unset_value``
edit the files; parts of the user's own profiles (``profiles.mine.weights.recency``) are settings, too, which ``search``
checks as a whole. ``locate_store`` says which store is meant. ``settings`` lists what can be set.
"""

from __future__ import annotations

import copy
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path
from typing import Any

from ricordo.config.declare import Setting, nearest
from ricordo.config.files import (
    CONFIG_NAME,
    PROJECT_FOLDER,
    Environment,
    current_folder,
    data_home,
    locked,
    nearest_project,
    parse_toml,
    project_file,
    read_bytes,
    remove_entry,
    replace_file,
    user_file,
    write_entry,
)
from ricordo.config.settings import (
    DROPPED,
    DROPPED_VARIABLES,
    FOREIGN_VARIABLES,
    SECTIONS,
    SETTINGS,
    VARIABLES,
    Config,
    find_setting,
    unknown_setting,
)
from ricordo.config.trust_lists import distrust, is_trusted, trust, trust_file
from ricordo.errors import NotFound, ReadOnlyStore, UsageError
from ricordo.frozen import frozen
from ricordo.masking import DATABASES, masked
from ricordo.values.store_addresses import is_address, parse, shown

__all__ = [
    "SETTINGS",
    "Config",
    "ConfigProvider",
    "Setting",
    "StoreLocation",
    "distrust",
    "find_setting",
    "init_project",
    "is_trusted",
    "load_config",
    "locate_store",
    "set_value",
    "trust",
    "unset_value",
]

STORE_NAME = "ricordo.db"
LOOK_SECONDS = 1.0
"""How often a search looks whether a project around it has got a settings file; one that is there it always watches."""
SERVER_NAME = "on-a-server"
_MISSPELT = 0.75
"""How much the name of a section must be like that of another to be taken for a mistake."""


def load_config(
    overrides: Mapping[str, Any] | None = None, *, env: Environment | None = None, start: Path | None = None
) -> Config:
    """The settings in force for a process that runs in ``start`` (the current folder).

    ``overrides`` are flags by setting name; text is read as its type, ``None`` means the flag was not given.

    >>> load_config({"search.limit": "3"}, env={"RICORDO_CONFIG_HOME": "/nowhere"}).search.limit
    3
    """
    env = os.environ if env is None else env
    start = current_folder() if start is None else start
    layers = _Layers()
    mine = user_file(env)
    if (content := read_bytes(mine)) is not None:
        layers.take_file(mine, content, f"user:{mine}", base=mine.parent)
    theirs = project_file(start)
    if theirs is not None and (content := read_bytes(theirs)) is not None:
        trusted = is_trusted(theirs, env=env, content=content)
        layers.take_file(theirs, content, f"project:{theirs}", base=theirs.parent.parent, trusted=trusted)
    layers.take_environment(env, base=start)
    layers.take_flags(overrides or {}, base=start)
    return layers.config()


class _Layers:
    """Values collected from the weakest source to the strongest; a later one replaces an earlier one."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.sources: dict[str, str] = {}
        self.profiles: dict[str, Mapping[str, Any]] = {}
        self.untrusted: list[str] = []
        self.problems: list[str] = []
        self.dropped: list[str] = []

    def take_file(self, path: Path, content: bytes, source: str, *, base: Path, trusted: bool = True) -> None:
        """Take the settings of a file. What is wrong in the user's is an error; in a project's it is left out alone, so
        that whoever wrote it cannot keep everything else from working.
        """
        with self._problem_in(path, source):
            for section, table in parse_toml(content, path).items():
                with self._problem_in(path, source):
                    self._take_section(section, table, source, path, base=base, trusted=trusted)

    def _take_section(self, section: str, table: Any, source: str, path: Path, *, base: Path, trusted: bool) -> None:
        if not isinstance(table, dict):
            raise unknown_setting(section)
        if section == "profiles":
            if trusted:
                self._take_profiles(table, source)
            else:
                self.untrusted += [f"profiles.{name}" for name in table]
            return
        if section not in SECTIONS and not nearest(section, tuple(SECTIONS), cutoff=_MISSPELT):
            names = [f"{section}.{key}" for key in table]
            self.dropped += [name for name in names if name in DROPPED] or [section]  # or a plugin was taken off
            return
        for key, value in table.items():
            with self._problem_in(path, source):
                self._take_value(f"{section}.{key}", value, source, base=base, trusted=trusted)

    def _take_value(self, name: str, value: Any, source: str, *, base: Path, trusted: bool) -> None:
        if name in DROPPED:
            self.dropped.append(name)
            return
        setting = SETTINGS.get(name)
        if setting is None:
            raise unknown_setting(name)
        checked = setting.check(value)
        if not (setting.harmless or trusted) or (setting.own and source.startswith("project:")):
            self.untrusted.append(setting.name)
        else:
            self._take(setting, checked, source, base)

    @contextmanager
    def _problem_in(self, path: Path, source: str) -> Iterator[None]:
        try:
            yield
        except UsageError as problem:
            named = problem if str(path) in problem.message else _in_file(problem, path)
            if not source.startswith("project:"):
                raise named from None
            self.problems.append(named.message)

    def take_environment(self, env: Environment, *, base: Path) -> None:
        # Our own names come last, so that they win over the aliases of other products.
        for variable, setting in (*FOREIGN_VARIABLES.items(), *VARIABLES.items()):
            text = env.get(variable, "")
            if not text.strip():  # an empty variable counts as not set, as shells do it
                continue
            try:
                self._take(setting, setting.read(text), f"env:{variable}", base)
            except UsageError as problem:
                raise UsageError(f"{problem.message} (from {variable})", hint=problem.hint) from None
        prefixes = tuple(f"RICORDO_{section.upper()}_" for section in SECTIONS)
        for variable in env:
            if variable in DROPPED_VARIABLES:
                self.dropped.append(DROPPED_VARIABLES[variable])
            elif variable.startswith(prefixes) and variable not in VARIABLES:
                raise unknown_setting(variable)

    def take_flags(self, flags: Mapping[str, Any], *, base: Path) -> None:
        for name, value in flags.items():
            setting = find_setting(name)
            if value is not None:
                checked = setting.read(value) if isinstance(value, str) else setting.check(value)
                self._take(setting, checked, "flag", base)

    def config(self) -> Config:
        config = Config(
            profiles=self.profiles,
            untrusted=tuple(sorted(self.untrusted)),
            problems=tuple(self.problems),
            dropped=tuple(sorted(set(self.dropped))),
            sources=self.sources,
        )
        changed: dict[str, dict[str, Any]] = {}
        for name, value in self.values.items():
            setting = SETTINGS[name]
            changed.setdefault(setting.section, {})[setting.key] = value
        for section, values in changed.items():
            config = config.with_section(section, replace(getattr(config, section), **values))
        return config

    def _take(self, setting: Setting, value: Any, source: str, base: Path) -> None:
        self.values[setting.name] = _absolute(value, base) if setting.is_path else value
        self.sources[setting.name] = source

    def _take_profiles(self, tables: Mapping[str, Any], source: str) -> None:
        for name, table in tables.items():
            if not isinstance(table, dict):
                raise UsageError(f"profile '{name}' is not a table", hint=f"Write it as [profiles.{name}].")
            self.profiles[name] = table
            self.sources[f"profiles.{name}"] = source


def _in_file(problem: UsageError, path: Path) -> UsageError:
    return UsageError(f"{problem.message} (in {path})", hint=problem.hint)


def _absolute(location: str, base: Path) -> str:
    if "://" in location:
        return location
    try:
        return os.path.normpath(base.absolute() / Path(location).expanduser())
    except RuntimeError:  # ~nobody
        raise UsageError(f"'{location}' names an unknown home folder", hint="Write the whole path.") from None


class ConfigProvider:
    """Calling it gives the settings in force now; files are read again only after they changed.

    Flags and environment are those of the moment it was made.
    """

    def __init__(
        self, overrides: Mapping[str, Any] | None = None, *, env: Environment | None = None, start: Path | None = None
    ) -> None:
        self._overrides = dict(overrides or {})
        self._env = dict(os.environ if env is None else env)
        self._start = (current_folder() if start is None else start).absolute()
        folders = (self._start, *self._start.parents)
        self._own_file = os.fspath(user_file(self._env))
        self._project_files = [os.fspath(folder / PROJECT_FOLDER / CONFIG_NAME) for folder in folders]
        self._trust_file = os.fspath(trust_file(self._env))
        self._watched: tuple[str, ...] = ()
        """The user's file and, if a project has one, that of the project and the list of those that are trusted."""
        self._next_look = 0.0
        self._lock = threading.Lock()
        self._seen: tuple[object, ...] | None = None
        self._current = Config()

    def __call__(self) -> Config:
        return self._settings(look=True)

    def lately(self) -> Config:
        """The same for what is asked many times a second: that a project around got a settings file, which had none, is
        noticed within a second.
        """
        return self._settings(look=time.monotonic() >= self._next_look)

    def _settings(self, *, look: bool) -> Config:
        with self._lock:
            if look:
                self._next_look = time.monotonic() + LOOK_SECONDS
                projects = [path for path in self._project_files if _stamp(path) is not None]
                self._watched = (self._own_file, *([*projects, self._trust_file] if projects else ()))
            # Looked at before the files are read, so that a change in between is noticed next time.
            seen = (self._watched, *map(_stamp, self._watched))
            if seen != self._seen:
                self._current = load_config(self._overrides, env=self._env, start=self._start)
                self._seen = seen
            return self._current

    @property
    def env(self) -> Environment:
        return self._env

    @property
    def start(self) -> Path:
        return self._start


class CallSettings:
    """Gives the settings in force, and the same ones throughout a call, which asks for them at twenty places."""

    def __init__(self, provider: Callable[[], Config]) -> None:
        self._provider = provider
        self._of_call: ContextVar[Config | None] = ContextVar("ricordo_call_settings", default=None)

    def __call__(self) -> Config:
        return self._of_call.get() or self._provider()

    @contextmanager
    def resolved_once(self) -> Iterator[Config]:
        """Within the block, and in threads that get its context, the settings are those of its beginning."""
        config = self._of_call.get()
        if config is None:
            config = self._provider.lately() if isinstance(self._provider, ConfigProvider) else self._provider()
        token = self._of_call.set(config)
        try:
            yield config
        finally:
            self._of_call.reset(token)


def _stamp(path: str) -> tuple[int, int, int] | None:
    try:
        status = os.stat(path)  # noqa: PTH116 - called on every query, and Path adds more than the call costs
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def set_value(
    name: str, text: str, *, scope: str = "user", env: Environment | None = None, start: Path | None = None
) -> Any:
    """Write one setting into the user's or the project's file, and return the value as it was understood.

    A project file that was trusted, or did not exist, is trusted after the change: it is the user's own.
    """
    env = os.environ if env is None else env
    start = current_folder() if start is None else start
    setting = profile_entry(name) or find_setting(name)
    value = setting.read(text)
    path = _file_of(scope, env, start)
    is_path = isinstance(setting, Setting) and setting.is_path
    with _edited(path, scope, env):
        write_entry(path, setting.keys, _relocated(value, scope, path, start) if is_path else value)
    return value


def unset_value(name: str, *, scope: str = "user", env: Environment | None = None, start: Path | None = None) -> bool:
    """Remove one setting, be it one of an earlier version, or a whole profile, from the file; returns whether it was
    there.
    """
    env = os.environ if env is None else env
    keys = tuple(name.split(".")) if name in DROPPED else (profile_entry(name) or find_setting(name)).keys
    path = _file_of(scope, env, current_folder() if start is None else start)
    with _edited(path, scope, env):
        return remove_entry(path, keys)


@contextmanager
def _edited(path: Path, scope: str, env: Environment) -> Iterator[None]:
    """Lock a settings file while it is edited; a trusted project file stays trusted after the user's own change."""
    with locked(path):
        own = scope == "project" and (not path.exists() or is_trusted(path, env=env))
        yield
        if own and path.exists():
            trust(path, env=env)


def _file_of(scope: str, env: Environment, start: Path) -> Path:
    if scope == "user":
        return user_file(env)
    if scope != "project":
        raise UsageError(f"there is no scope '{scope}'", hint="A setting is written for: user, project.")
    folder = nearest_project(start)
    if folder is None:
        raise NotFound(f"no project around {start}", hint="Run ‹:init› in the project's folder first.")
    return folder / CONFIG_NAME


def _relocated(location: str, scope: str, path: Path, start: Path) -> str:
    """The location, rewritten so that it means in the file what it meant in the folder where it was typed."""
    if "://" in location or location.startswith("~") or Path(location).is_absolute():
        return location
    meant = _absolute(location, start)
    return os.path.relpath(meant, path.absolute().parent.parent) if scope == "project" else meant


@frozen
class StoreLocation:
    """Which store is meant, and who said so: flag, env:NAME, project:FILE, project, user:FILE or default."""

    path: Path
    origin: str
    address: str = ""
    """The address of a store on a server. Then there is no file at ``path``, but the store's other files go beside
    it.
    """

    @property
    def name(self) -> str:
        """What it is called in answers: its path, or its address without the password."""
        return shown(self.address) if self.address else str(self.path)

    @property
    def is_there(self) -> bool:
        """Whether there seems to be a store; for a store on a server this is assumed."""
        return bool(self.address) or self.path.exists()


def locate_store(
    flag: str | Path | None, config: Config, start: Path, *, env: Environment | None = None
) -> StoreLocation:
    """The store of this call: the flag, the settings, the nearest project upwards, else the user's own.

    A location in the user's file says where the user's own store is, so the project's comes before it. One in a
    project's file is that project's, not that of a project in it.
    """
    if flag is not None:
        return _location(str(flag), start, "flag")
    address, source = config.store.location, config.source("store.location")
    if address is not None and not source.startswith("user:") and not is_of_outer_project(source, start):
        return _location(address, start, source)
    project = nearest_project(start)
    if project is not None:
        return StoreLocation(project / STORE_NAME, "project")
    if address is not None:
        return _location(address, start, source)
    return StoreLocation(data_home(os.environ if env is None else env) / STORE_NAME, "default")


def is_of_outer_project(source: str, start: Path) -> bool:
    """Whether a setting comes from a project around the nearest one, which has a store of its own."""
    kind, _, file = source.partition(":")
    return kind == "project" and Path(file).parent != nearest_project(start)


def _location(location: str, start: Path, origin: str) -> StoreLocation:
    if is_address(location):
        parse(location)  # raises an error if it is not an address
        return StoreLocation(data_home(os.environ) / SERVER_NAME, origin, location)
    return StoreLocation(_store_path(location, start), origin)


def _store_path(location: str, start: Path) -> Path:
    if "://" in location or location.partition(":")[0].lower() in DATABASES or not location.strip():
        raise UsageError(
            f"'{masked(location) if '://' in location else location.partition(':')[0]}' is not a store",
            hint="Give the path of a file, such as notes.db, or postgresql://user@host/database.",
        )
    path = Path(_absolute(location, start))
    if path.is_dir():
        return (path / PROJECT_FOLDER if (path / PROJECT_FOLDER).is_dir() else path) / STORE_NAME
    return path


def init_project(folder: Path) -> Path:
    """Make ``folder`` a project: a ``.ricordo`` folder in it, private and kept out of git."""
    if not folder.is_dir():
        raise NotFound(f"there is no folder {folder}", hint="Make it first, or name another.")
    place = folder.resolve() / PROJECT_FOLDER
    try:
        place.mkdir(mode=0o700, exist_ok=True)
    except OSError as problem:
        raise ReadOnlyStore(
            f"cannot make {place}: {problem.strerror}", hint="Check the folder's permissions."
        ) from None
    ignore = place / ".gitignore"
    if not ignore.exists():
        replace_file(ignore, b"*\n")
    return place


KEYS = ("base", "description", "min_score", "guard", "sides")
TABLES = ("weights", "per_side")


@frozen
class ProfileEntry:
    """One entry of the table of a profile: ``("profiles", "mine", "weights", "recency")``; or the whole table."""

    keys: tuple[str, ...]

    @property
    def name(self) -> str:
        return ".".join(self.keys)

    @property
    def profile(self) -> str:
        return self.keys[1]

    def read(self, text: str) -> Any:
        _, _, key, *_ = (*self.keys, "")
        text = text.strip()
        if not key:
            raise UsageError(f"{self.name} is a whole profile", hint=f"Set its parts: {self.name}.base brain")
        if key in ("base", "description"):
            return text
        if key == "sides":
            return [part.strip() for part in text.split(",") if part.strip()]
        try:
            return float(text) if key in ("weights", "min_score") else int(text)
        except ValueError:
            raise UsageError(f"{self.name} cannot be '{text}'", hint="Give a number.") from None

    def value(self, profiles: Mapping[str, Mapping[str, Any]]) -> Any:
        value: Any = profiles
        for key in self.keys[1:]:
            value = value.get(key) if isinstance(value, Mapping) else None
        return value

    def put(self, profiles: Mapping[str, Mapping[str, Any]], value: Any) -> dict[str, Any]:
        changed = copy.deepcopy(dict(profiles))
        table: Any = changed
        for depth, key in enumerate(self.keys[1:-1], start=2):
            table = table.setdefault(key, {})
            if not isinstance(table, dict):
                where = ".".join(self.keys[:depth])
                raise UsageError(f"{where} is not a table", hint=f"Write it as [{where}] in the settings file.")
        table[self.keys[-1]] = value
        return changed


def profile_entry(name: str) -> ProfileEntry | None:
    """The entry that a setting's name means; None if it does not name a profile."""
    if not name.startswith("profiles."):
        return None
    _, profile, *keys = name.split(".", 3)
    is_entry = not keys or (len(keys) == 1 and keys[0] in (*KEYS, *TABLES)) or (len(keys) == 2 and keys[0] in TABLES)
    if not profile or not is_entry:
        parts = ", ".join((*KEYS, "weights.NAME", "per_side.factor", "per_side.minimum"))
        raise UsageError(
            f"a profile has no setting '{name}'",
            hint=f"After profiles.NAME. comes one of: {parts}. The file can hold more.",
        )
    return ProfileEntry(("profiles", profile, *keys))
