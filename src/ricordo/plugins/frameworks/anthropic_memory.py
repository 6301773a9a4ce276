"""Anthropic's memory tool (``memory_20250818``): Claude's own files under ``/memories``, kept as notes in a memory.

``/memories/people/ada.md`` is the note ``note:/memories/people/ada.md``. It lives in the knowledge folder as a Markdown
file, has versions, and is found by every search.

>>> tool = RicordoMemoryTool(memory)                                            # doctest: +SKIP
>>> client.beta.messages.tool_runner(model=..., messages=[...], tools=[tool])     # doctest: +SKIP
"""

from __future__ import annotations

from typing import Any

from ricordo.engine.context import embed_soon
from ricordo.errors import Error, MissingExtra, NotFound, PathConflict
from ricordo.speaking import as_agent
from ricordo.values.hits import Filters

try:
    from anthropic.lib.tools import BetaAbstractMemoryTool
except ImportError:
    raise MissingExtra("anthropic", "adapters for Anthropic's memory tool") from None

__all__ = ["RicordoMemoryTool"]

ROOT = "/memories"
MOST_LINES = 999_999
_MANY = 10_000


class _Problem(Exception):  # noqa: N818 - its words are the answer; it never leaves this module
    """Why a command cannot be carried out, as a message to Claude."""


class RicordoMemoryTool(BetaAbstractMemoryTool):
    """The tool over an open ``Ricordo``."""

    def __init__(self, memory: Any, **more: Any) -> None:
        super().__init__(**more)
        self.memory = memory

    def execute(self, command: Any) -> Any:
        """Carry out a command; an error becomes a message to Claude."""
        try:
            return super().execute(command)
        except _Problem as problem:
            return f"Error: {problem}"
        except Error as error:
            return f"Error: {error.message}"

    def view(self, command: Any) -> str:
        """A file with line numbers, or what is below a folder, two levels deep."""
        path = _checked(command.path)
        text = self._text(path)
        if text is None:
            return self._listing(path)
        lines = text.split("\n")
        if len(lines) > MOST_LINES:
            raise _Problem(f"File {path} exceeds maximum line limit of {MOST_LINES:,} lines.")
        first, last = 1, len(lines)
        if command.view_range:
            first, last = int(command.view_range[0]), int(command.view_range[1])
            last = len(lines) if last == -1 else min(last, len(lines))
            if first < 1 or first > len(lines) or last < first:
                raise _Problem(f"Invalid `view_range`: {path} has the lines 1 to {len(lines)}.")
        numbered = [f"{n:6}\t{lines[n - 1]}" for n in range(first, last + 1)]
        return "\n".join([f"Here's the content of {path} with line numbers:", *numbered])

    def create(self, command: Any) -> str:
        path = _checked(command.path)
        if path == ROOT or self._below(path):
            raise _Problem(f"{path} is a directory")
        try:
            self._save(path, command.file_text, "error")
        except PathConflict:
            raise _Problem(f"File {path} already exists") from None
        return f"File created successfully at: {path}"

    def str_replace(self, command: Any) -> str:
        """Replace a text that occurs in a file once."""
        path = _checked(command.path)
        text = self._file(path)
        count = text.count(command.old_str) if command.old_str else 0
        if count == 0:
            wanted = f"old_str `{command.old_str}`"
            raise _Problem(f"No replacement was performed, {wanted} did not appear verbatim in {path}.")
        if count > 1:
            lines = [str(n) for n, line in enumerate(text.split("\n"), 1) if command.old_str.split("\n")[0] in line]
            raise _Problem(
                f"No replacement was performed. Multiple occurrences of old_str `{command.old_str}` in lines: "
                f"{', '.join(lines)}. Please ensure it is unique"
            )
        changed = text.replace(command.old_str, command.new_str or "")
        self._save(path, changed, "overwrite")
        return f"The memory file has been edited.\n{_around(changed, text.index(command.old_str))}"

    def insert(self, command: Any) -> str:
        """Insert a text after a line; 0 is the beginning."""
        path = _checked(command.path)
        lines = self._file(path).split("\n")
        at = int(command.insert_line)
        if not 0 <= at <= len(lines):
            raise _Problem(
                f"Invalid `insert_line` parameter: {at}. It should be within the range of lines of the file: "
                f"[0, {len(lines)}]"
            )
        lines[at:at] = command.insert_text.rstrip("\n").split("\n")
        self._save(path, "\n".join(lines), "overwrite")
        return f"The file {path} has been edited."

    @as_agent("anthropic")
    def delete(self, command: Any) -> str:
        """Move a file, or a folder with everything in it, to the bin."""
        path = _checked(command.path)
        if path == ROOT:
            raise _Problem(f"Cannot delete the {ROOT} directory itself")
        refs = [_ref(path)] if self._text(path) is not None else [_ref(one) for one in self._below(path)]
        if not refs:
            raise _Problem(f"The path {path} does not exist")
        self.memory.rm(*refs)
        return f"Successfully deleted {path}"

    @as_agent("anthropic")
    def rename(self, command: Any) -> str:
        """Move a file or a folder; their history moves with them."""
        old, new = _checked(command.old_path), _checked(command.new_path)
        if ROOT in (old, new) or new.startswith(f"{old}/"):
            raise _Problem(f"Cannot move {old} to {new}")
        moving = [old] if self._text(old) is not None else self._below(old)
        if not moving:
            raise _Problem(f"The path {old} does not exist")
        if self._text(new) is not None or self._below(new):
            raise _Problem(f"The destination {new} already exists")
        for path in moving:
            self.memory.mv(_ref(path), _ref(new + path.removeprefix(old)), wait=False)
        return f"Successfully renamed {old} to {new}"

    @as_agent("anthropic")
    def clear_all_memory(self) -> str:
        """Move everything below /memories to the bin."""
        refs = [_ref(path) for path in self._below(ROOT)]
        if refs:
            self.memory.rm(*refs)
        return "All memory cleared"

    def _text(self, path: str) -> str | None:
        """A file's text; None when there is no such file."""
        if path == ROOT:
            return None
        try:
            return str(self.memory.get(_ref(path), track=False).content)
        except NotFound:
            return None

    def _file(self, path: str) -> str:
        text = self._text(path)
        if text is None:
            raise _Problem(f"The path {path} does not exist. Please provide a valid path.")
        return text

    def _below(self, path: str) -> list[str]:
        below = Filters(drives=("note",), paths=(f"{path}/*",))
        return sorted(item.ref.path for item in self.memory.list(filters=below, limit=_MANY))

    @as_agent("anthropic")
    def _save(self, path: str, text: str, on_conflict: str) -> None:
        fields = {"title": path.rpartition("/")[2], "source": "agent", "tags": ("claude-memory",)}
        self.memory.save(_ref(path), text, kind="note", fields=fields, on_conflict=on_conflict, wait=False)
        embed_soon(self.memory)

    def _listing(self, path: str) -> str:
        files = self._below(path)
        if not files and path != ROOT:
            raise _Problem(f"The path {path} does not exist. Please provide a valid path.")
        shown = {path}
        for file in files:
            parts = file.removeprefix(f"{path}/").split("/")
            for depth in (1, 2)[: len(parts)]:
                shown.add("/".join((path, *parts[:depth])) + ("/" if depth < len(parts) else ""))
        sizes = {file: len((self._text(file) or "").encode()) for file in files}
        lines = [f"{_size(_sum_below(sizes, name))}\t{name}" for name in sorted(shown)]
        head = f"Here're the files and directories up to 2 levels deep in {path}, excluding hidden items:"
        return "\n".join([head, *lines])


def _checked(path: str) -> str:
    """The path in one form; one that leads out of /memories is refused."""
    parts = [part for part in str(path).split("/") if part not in ("", ".")]
    if not parts or f"/{parts[0]}" != ROOT or ".." in parts or any(ord(letter) < 32 for letter in path) or "\\" in path:
        raise _Problem(f"The path {path!r} is not below {ROOT}")
    return "/" + "/".join(parts)


def _ref(path: str) -> str:
    return f"note:{path}"


def _sum_below(sizes: dict[str, int], name: str) -> int:
    """The bytes of a file, or of all files below a folder."""
    top = name.rstrip("/")
    return sum(size for file, size in sizes.items() if file == top or file.startswith(f"{top}/"))


def _size(count: int) -> str:
    return f"{count / 1024:.1f}K" if count >= 1024 else str(count)


def _around(text: str, at: int) -> str:
    """A few lines around a change, with their numbers."""
    lines = text.split("\n")
    changed = text.count("\n", 0, at)
    first, last = max(0, changed - 3), min(len(lines), changed + 4)
    return "\n".join(f"{n + 1:6}\t{lines[n]}" for n in range(first, last))
