"""Takes in skills: one SKILL.md for each name, by precedence; reports what changed, is shadowed or is gone.

A skill is an item of its own drive, ``skill:/<name>``, with the text and the path of its file. The search ranks skills
for a task. They are found in folders with SKILL.md files, in order of precedence, and by a command that lists more,
which comes from the user's own settings, never from those of an untrusted project. It runs without a shell and with a
time limit, and its output is only data.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ricordo.errors import ContractError, Error, NotFound, Unavailable, Unreadable, UsageError
from ricordo.frozen import frozen
from ricordo.ingest.files import FileReader, merged_metadata, set_by_people
from ricordo.ingest.pipeline import Incoming, Pipeline
from ricordo.sources.disk import FoundFile, absolute
from ricordo.store.base import Store
from ricordo.store.values import Backlog, FileState
from ricordo.values.hits import Filters
from ricordo.values.items import Item, Parsed, Ref, Saved
from ricordo.values.reports import AddReport

if TYPE_CHECKING:
    from ricordo.ingest.refresh import Refresher

FOLDERS = {
    "workspace": (".claude/skills", ".agents/skills", ".codex/skills", "skills"),
    "user": ("~/.claude/skills", "~/.agents/skills", "~/.codex/skills", "~/.cursor/skills", "~/.gemini/skills"),
    "system": ("~/.codex/skills/.system", "/etc/codex/skills"),
}
"""Where agents' programs keep skills, by scope; the first of a name wins."""
COMMAND_SECONDS = 10.0
"""How long the command that lists more may take."""
FILE = "SKILL.md"
SCOPES = ("workspace", "user", "system", "listed")
"""Where a skill comes from. If two skills have the same name, the earlier scope wins."""
LARGEST_LIST = 32_000_000
_TOPS = (".ricordo", ".git")
_EXPECTED = 'It prints a JSON list: [{"name": "pdf", "path": "/skills/pdf", "description": "Work with PDF files"}].'


@frozen
class SkillRoot:
    """A folder with skills, or one SKILL.md; if the user named it (``asked_for``), it must exist."""

    path: Path
    scope: str
    asked_for: bool = False


@frozen
class Listed:
    """A skill as a listing command names it."""

    name: str
    path: str = ""
    description: str = ""
    content: str = ""
    """The instructions themselves, if the list has them."""

    @property
    def file(self) -> Path | None:
        """The SKILL.md on this machine, if the path leads to one."""
        if not self.path or "://" in self.path or "\x00" in self.path:
            return None
        path = Path(os.path.expanduser(self.path))  # noqa: PTH111 - Path's own fails for an unknown ~name
        file = path / FILE if path.is_dir() else path
        return file if file.is_file() else None


def default_roots(start: Path) -> list[SkillRoot]:
    """The usual folders, in order of precedence; relative ones are below the top of the workspace."""
    top = workspace_of(start)
    return [
        SkillRoot(top / os.path.expanduser(name), scope)  # noqa: PTH111 - as above
        for scope, names in FOLDERS.items()
        for name in names
    ]


def named_roots(names: Sequence[str | Path], start: Path) -> list[SkillRoot]:
    """The folders that the user named: those of the workspace first, then the user's, then the system's."""
    if any(not str(name).strip() for name in names):
        raise UsageError("the name of a folder is empty", hint="Name a folder with skills, or none for the usual ones.")
    roots = [start / os.path.expanduser(name) for name in names]  # noqa: PTH111 - as above
    return sorted(
        (SkillRoot(root, scope_of(root, start), True) for root in roots), key=lambda root: rank_of(root.scope)
    )


def workspace_of(start: Path) -> Path:
    """The nearest folder, this one or above it, that is a project or a repository; else this folder."""
    above = (folder for folder in (start, *start.parents) if any((folder / top).exists() for top in _TOPS))
    return next(above, start)


def scope_of(path: Path, start: Path) -> str:
    """The scope of a path, by its place."""
    where = os.path.abspath(path)  # noqa: PTH100 - links on the way stay as they are called
    for folder, scope in ((workspace_of(start), "workspace"), (Path.home(), "user")):
        inside = os.path.abspath(folder).rstrip(os.sep) + os.sep  # noqa: PTH100
        if where.startswith(inside) or where + os.sep == inside:
            return scope
    return "system"


def rank_of(scope: str) -> int:
    """The place of a scope in the order of precedence; an unknown scope comes last."""
    return SCOPES.index(scope) if scope in SCOPES else len(SCOPES)


def listed_by(command: str) -> list[Listed]:
    """The skills that a command prints."""
    try:
        words = shlex.split(command, posix=os.name != "nt")
    except ValueError as problem:
        raise UsageError(f"skills.command cannot be read: {problem}", hint="Check its quotes.") from None
    if not words:
        raise UsageError("skills.command is empty", hint="Set it, or take it out: ‹:config unset skills.command›")
    done = _run(words)
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise Unavailable(
            f"'{words[0]}' ended with {done.returncode}{f': {said[-1][:200]}' if said else ''}",
            hint="Run skills.command by hand to see why.",
        )
    if len(done.stdout) > LARGEST_LIST:
        raise ContractError(f"'{words[0]}' printed more than {LARGEST_LIST // 1_000_000} MB", hint=_EXPECTED)
    try:
        entries = json.loads(done.stdout.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise ContractError(f"'{words[0]}' did not print JSON", hint=_EXPECTED) from None
    if isinstance(entries, dict):
        entries = entries.get("skills", entries)
    if not isinstance(entries, list):
        raise ContractError(f"'{words[0]}' printed JSON that is not a list", hint=_EXPECTED)
    return [_listed(entry) for entry in entries]


def _run(words: list[str]) -> subprocess.CompletedProcess[bytes]:
    try:
        # It runs in a session of its own, so that everything it starts can be ended with it when the time is up.
        process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=os.name != "nt",
        )
    except OSError as problem:
        raise Unavailable(
            f"skills.command cannot be run: {words[0]}: {problem.strerror or problem}",
            hint="Check it, or take it out: ‹:config unset skills.command›",
        ) from None
    with process:
        try:
            out, err = process.communicate(timeout=COMMAND_SECONDS)
        except subprocess.TimeoutExpired:
            slow = f"'{words[0]}' did not end within {COMMAND_SECONDS:g} s"
            raise Unavailable(slow, hint="Fix the command.") from None
        finally:
            if process.returncode is None:  # kill the command and everything that it started
                if os.name == "nt":
                    process.kill()
                else:
                    with suppress(ProcessLookupError):
                        os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    return subprocess.CompletedProcess(words, process.returncode, out, err)


def _listed(entry: Any) -> Listed:
    """One entry of the list; its name is empty if it has none, so that it can be reported."""
    if not isinstance(entry, dict):
        return Listed("")
    path = next((entry[key] for key in ("path", "location", "file") if isinstance(entry.get(key), str)), "")
    name, place, description = (
        " ".join(str(value or "").split()) for value in (entry.get("name"), path, entry.get("description"))
    )
    content = entry.get("content")
    return Listed(name, place, description, content if isinstance(content, str) else "")


DRIVE = "skill"
LONGEST_NAME = 120
LISTED = "listed"
"""The scope of skills that a command lists."""
UNCHANGED = "unchanged"
_UNFIT = re.compile(r"[\x00-\x1f\x7f/\\]+")
_SAID = re.compile(r"^(name|description):[ \t]*+(?![\[{&*!|>])(.+)$", re.MULTILINE)
"""A name or description that is a plain text."""


@frozen
class Known:
    """A skill the store holds, and what its file looked like."""

    n: int
    item: Item
    state: FileState | None

    @property
    def location(self) -> str:
        return str(self.item.fields.metadata.get("location") or "")

    @property
    def rank(self) -> int:
        return rank_of(str(self.item.fields.metadata.get("scope") or ""))


class Collector:
    """One ``skills add``: reads the folders in order, and builds up the report."""

    def __init__(self, store: Store, pipeline: Pipeline, files: FileReader, backlog: Backlog | None) -> None:
        self.store = store
        self.pipeline = pipeline
        self.files = files
        self.backlog = backlog
        self.done: list[Saved] = []
        self.notes: list[str] = []
        self.taken: dict[str, str] = {}
        """The location of the skill that has each name."""
        found = store.items.listing(Filters(kinds=("skill",), drives=(DRIVE,)), 1 << 30, 0)
        states = store.files.states([n for n, _ in found])
        self.refs = store.machines.refs()
        self.known = {item.ref.path[1:]: Known(n, item, states.get(n)) for n, item in found}
        self._names = {
            known.location: name
            for name, known in self.known.items()
            if known.location and self.refs.is_said_here(known.item.fields.metadata)
        }

    def collect(self, roots: Sequence[SkillRoot], listed: Iterable[Listed] = ()) -> None:
        """Take in what is new or changed."""
        entries = (
            self._tried(one.name or f"entry {place} of the list", partial(self._listed, one))
            for place, one in enumerate(listed, start=1)
        )
        for incoming in (self._below(roots), chain.from_iterable(entries)):
            for saved in self.pipeline.save_all(incoming, on_conflict="overwrite", durable=False, backlog=self.backlog):
                self.done.append(replace(saved, reason=UNCHANGED) if saved.status == "skipped" else saved)

    def report(self, *, prune: bool, listed: bool) -> AddReport:
        """The outcome for each skill; ``prune`` removes skills whose file is gone, ``listed`` says that a list was
        read.
        """
        for name, known in sorted(self.known.items()):
            if (
                name in self.taken
                or not self.refs.is_said_here(known.item.fields.metadata)
                or not _is_gone(known, listed)
            ):
                continue
            if prune:
                refused = self.store.changes.remove_many([known.n]).get(known.n)
                error = refused.to_dict() if refused else None
                self.done.append(Saved(str(known.item.ref), "failed" if refused else "removed", error=error))
            else:
                where = known.location or "the list"
                self.done.append(Saved(str(known.item.ref), "missing", reason=f"gone from {where}; --prune removes it"))
        return AddReport(tuple(self.done), tuple(self.notes))

    def fail(self, name: str, error: Error) -> None:
        self.done.append(Saved(name, "failed", error=error.to_dict()))

    def _below(self, roots: Sequence[SkillRoot]) -> Iterator[Incoming]:
        for root in roots:
            if not root.path.exists():
                if root.asked_for:
                    missing = NotFound(f"there is no folder {root.path}", hint=f"Name a folder with {FILE} files.")
                    self.fail(str(root.path), missing)
                continue
            if not root.path.is_dir() and root.path.name != FILE:
                self.fail(str(root.path), Unreadable("not a folder", hint=f"Name a folder with {FILE} files."))
                continue
            for entry in self.files.at(root.path, (FILE,) if root.path.is_dir() else ()):
                if isinstance(entry, FoundFile):
                    yield from self._tried(str(entry.path), partial(self._file, entry, root.scope))
                elif entry.failed:
                    self.fail(str(entry.path), Unreadable(entry.reason))

    def _tried(self, label: str, read: Callable[[], Incoming | None]) -> Iterator[Incoming]:
        """One bad file never stops the rest."""
        try:
            incoming = read()
        except Error as error:
            self.fail(label, error)
        else:
            if incoming is not None:
                yield incoming

    def _file(self, entry: FoundFile, scope: str, listed: Listed | None = None) -> Incoming | None:
        """A SKILL.md as an item to save; None if it is unchanged or shadowed."""
        location = absolute(entry.path)
        if listed is None and self._is_unchanged(location, entry, scope):
            return None
        data = self.files.bytes_of(entry)
        plain = self.files.incoming(Ref(DRIVE, "/"), entry, data, "skill", fields={})
        name, given, problems = described(plain.parsed, entry.path.absolute().parent.name)
        if listed is not None:
            name, problems = fit_name(listed.name) or name, []
            given = {"description": listed.description} if listed.description else given
        self.notes += [f"{location}: {problem}" for problem in problems]
        if not self._take(name, location, scope):
            return None
        return self._incoming(plain, name, scope, location, given=given)

    def _listed(self, one: Listed) -> Incoming | None:
        if not (name := fit_name(one.name)):
            raise Unreadable("it has no name", hint="Every entry of the list needs a name.")
        if (file := one.file) is not None:
            status = file.stat()
            return self._file(FoundFile(file, status.st_size, status.st_mtime_ns), LISTED, one)
        if not self._take(name, one.path or "the list", LISTED):
            return None
        if one.path and not one.content and "://" not in one.path:
            self.notes.append(f"{name}: there is no file {one.path}, so only its description is known")
        parsed = Parsed(one.content or one.description, structure="markdown" if one.content else "text")
        given = {"description": one.description}
        return self._incoming(Incoming(Ref(DRIVE, "/"), parsed, "skill"), name, LISTED, one.path, given=given)

    def _is_unchanged(self, location: str, entry: FoundFile, scope: str) -> bool:
        """Whether the store has this file with its present time and size."""
        name = self._names.get(location)
        known = self.known.get(name) if name is not None else None
        if name is None or known is None or known.state is None or name in self.taken:
            return False
        same = known.state.looks_like(entry.mtime_ns, entry.size) and known.item.fields.metadata.get("scope") == scope
        if same:
            self.taken[name] = location
            self.done.append(Saved(str(known.item.ref), "skipped", version=known.item.version, reason=UNCHANGED))
        return same

    def _take(self, name: str, location: str, scope: str) -> bool:
        """Claim a name; False when another skill of that name comes first."""
        before = self.taken.get(name)
        known = self.known.get(name)
        if before is None and known is not None and not self.refs.is_said_here(known.item.fields.metadata):
            before = f"{known.location} of another machine"
        elif before is None and known is not None and known.location != location and not _is_gone(known, listed=True):
            before = known.location or "the list" if known.rank <= rank_of(scope) else None
        if before is not None:
            reason = f"shadowed: {location} has the name of {before}, which comes first"
            self.done.append(Saved(f"{DRIVE}:/{name}", "skipped", reason=reason))
            self.taken.setdefault(name, before)
            return False
        self.taken[name] = location
        return True

    def _incoming(self, plain: Incoming, name: str, scope: str, location: str, *, given: dict[str, Any]) -> Incoming:
        """The skill as an item to save: the fields that people set are kept, and those of a skill are added."""
        says = plain.file.fields if plain.file is not None else {}
        known = self.known.get(name)
        kept: dict[str, Any] = {}
        metadata = dict(says.get("metadata", {}))
        if known is not None:
            said = known.state.fields if known.state is not None else {}
            kept = set_by_people(known.item.fields, said)
            kept.pop("description", None)  # it always comes from the file, even if its front matter is broken
            metadata = merged_metadata(known.item.fields, said, says)
        metadata |= {"location": location, "scope": scope}
        if self.refs.here != self.refs.home:
            metadata["machine"] = self.refs.here
        fields: dict[str, Any] = {
            "title": name,
            "source": "file" if plain.file is not None else "agent",
            "source_adapter": "skills",
            "source_url": Path(location).as_uri() if plain.file is not None else location or None,
            "metadata": metadata,
            **given,
        }
        return replace(
            plain, ref=Ref(DRIVE, f"/{name}"), fields={**kept, **fields}, origin=location or "the list of skills"
        )


def edited(store: Store) -> list[SkillRoot]:
    """The SKILL.md files that look other than when they were read.

    Those that are gone, or that a command lists under a name of its own, are left to ``skills add``.
    """
    refs = store.machines.refs()
    listed = store.items.listing(Filters(kinds=("skill",), drives=(DRIVE,)), 1 << 30, 0)
    found = {n: item for n, item in listed if refs.is_said_here(item.fields.metadata)}
    places = []
    for n, state in store.files.states(list(found)).items():
        about = found[n].fields.metadata
        place, scope = Path(str(about.get("location") or "")), str(about.get("scope") or "")
        try:
            status = place.stat()
        except OSError:
            continue
        if place.name == FILE and scope != LISTED and not state.looks_like(status.st_mtime_ns, status.st_size):
            places.append(SkillRoot(place, scope))
    return places


def files_of(refresher: Refresher, items: Mapping[int, Ref]) -> dict[int, Path]:
    """The files of skills on this machine; a skill's ref is its name and does not say where its file is."""
    skills = refresher.store.items.get_many([n for n, ref in items.items() if ref.drive == DRIVE])
    places = {
        n: Path(str(item.fields.metadata.get("location") or ""))
        for n, item in skills.items()
        if item.fields.source == "file" and refresher.refs.is_said_here(item.fields.metadata)
    }
    return {n: place for n, place in places.items() if place.name == FILE}


def described(parsed: Parsed, folder: str) -> tuple[str, dict[str, Any], list[str]]:
    """The name of a skill, the fields that its front matter did not give, and what is wrong with it."""
    problems = [warning for warning in parsed.warnings if warning]
    given: dict[str, Any] = {}
    # A colon in an unquoted description often breaks the YAML; its lines can still be read.
    head = parsed.text[:8192] if parsed.text.startswith("---") else ""
    salvaged = {found[1]: found[2].strip().strip("\"'") for found in reversed(list(_SAID.finditer(head)))}
    said = parsed.fields.get("metadata", {}).get("name") or salvaged.get("name")
    name = fit_name(str(said)) if isinstance(said, (str, int, float)) and not isinstance(said, bool) else ""
    if not name:
        name = fit_name(folder) or "unnamed"
        problems.append(f"it gives no name; its folder's is used: {name}")
    if not parsed.fields.get("description"):
        if "description" in salvaged:
            given["description"] = salvaged["description"]
        else:
            problems.append("it gives no description, so it is found by its text alone")
    return name, given, problems


def fit_name(name: str) -> str:
    """A name that can be part of a ref: on one line, without slashes."""
    return " ".join(_UNFIT.sub("-", name.strip()).split()).strip("-. ")[:LONGEST_NAME]


def _is_gone(known: Known, listed: bool) -> bool:
    """Whether the file of a skill is gone."""
    if known.state is not None:
        return not Path(known.location).is_file()
    return listed and known.item.fields.metadata.get("scope") == LISTED
