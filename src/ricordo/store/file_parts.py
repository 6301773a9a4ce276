"""The protocols of the parts of a store that know about files: those on disk, their machines, and knowledge files."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from ricordo.store.values import Backlog, FileState, KnownFolder, Taken
from ricordo.values.file_refs import FileRefs
from ricordo.values.items import Item, KnownFile

if TYPE_CHECKING:
    from ricordo.exchange.entries import LogEntry


class Files(Protocol):
    """Files on disk, as they were last read, and the folders they were found in."""

    def known(self, drive: str, paths: Collection[str]) -> dict[str, FileState | None]: ...
    def states(self, numbers: Collection[int]) -> dict[int, FileState]: ...
    def note(self, states: Mapping[int, FileState]) -> None: ...
    def remember_root(self, path: str, globs: Sequence[str]) -> None: ...

    def roots(self) -> list[tuple[str, tuple[str, ...]]]:
        """The folders that were added on this machine."""
        ...

    def all_roots(self) -> list[tuple[str, str, tuple[str, ...]]]:
        """The folders that were added on any machine: its id, the path and the globs of each."""
        ...

    def forget_root(self, path: str) -> bool:
        """Look for no more new files in a folder of this machine; returns whether it was one of those looked in."""
        ...

    def take_over_roots(self, machine: str) -> None:
        """Give the folders of another machine to this one, and with them the plain refs, if they were that one's."""
        ...


class Machines(Protocol):
    """The machines whose files a store holds."""

    def refs(self) -> FileRefs:
        """How the refs of this store's files are to be read on this machine now."""
        ...

    def note_this(self) -> None:
        """Let others know the name of this machine, which has files in the store."""
        ...

    def names(self) -> dict[str, str]:
        """The names of the machines that have files here, by their ids."""
        ...

    def elsewhere(self, refs: Iterable[str]) -> dict[str, str]:
        """Those of the refs that name files of other machines, each with the name of its machine."""
        ...


class KnowledgeRows(Protocol):
    """What a store knows about the Markdown files of its memories, notes and articles."""

    def set_folder(self, place: str) -> None:
        """Set the folder of the files; what was known about files in another folder is forgotten."""
        ...

    def times_and_sizes(self) -> dict[str, tuple[int, int]]:
        """The times and sizes that files were last seen with, by name."""
        ...

    def files(self, names: Collection[str] | None = None) -> dict[str, KnownFile]:
        """The files as they were last seen, by name: all of them, or some."""
        ...

    def files_of(self, numbers: Collection[int]) -> dict[int, KnownFile]:
        """The files of some items, by their numbers."""
        ...

    def has_file(self, name: str) -> bool:
        """Whether a file of this name is known, in capital letters or small."""
        ...

    def note(self, seen: Sequence[KnownFile], gone: Collection[str] = ()) -> None:
        """Remember what files look like now, and forget others; an item has one file."""
        ...

    def items_in_transaction(self, numbers: Collection[int], ids: Collection[str] = ()) -> dict[int, Item]:
        """Items with their content, in the bin or not, as they are in the open transaction."""
        ...

    def belonging(self, numbers: Collection[int], kinds: Collection[str], drives: Collection[str]) -> list[int]:
        """Which of these items have one of the kinds on one of the drives, in the transaction that is open."""
        ...

    def without_current_file(self, kinds: Collection[str], drives: Collection[str]) -> list[int]:
        """Items of these kinds and drives that have no file, and items whose file has another version."""
        ...


class SyncLog(Protocol):
    """What is known about sync through folders: the folders, the machines that are let in, and what was said."""

    def folders(self) -> list[KnownFolder]:
        """The folders that this machine syncs through."""
        ...

    def add_folder(self, path: str, *, trust_all: bool) -> None: ...
    def encrypt_folder(self, folder: KnownFolder, key: bytes) -> None:
        """Encrypt its files from now on, and those that are there again."""
        ...

    def kept_note(self, folder: KnownFolder, found: bytes) -> bytes:
        """The note on the key of a folder; the one that is found there is kept."""
        ...

    def remove_folder(self, folder: int) -> None: ...
    def has_entries(self) -> bool:
        """Whether anything is written down, perhaps for a folder that is no longer there."""
        ...

    def what(self) -> tuple[str, ...]: ...
    def choose(self, what: Sequence[str]) -> None: ...

    def let_in(self) -> dict[str, str]:
        """The machines that the user let in: their ids and names."""
        ...

    def accept(self, machine: str, name: str) -> None: ...
    def shut_out(self, machine: str, name: str) -> None:
        """Take in nothing (more) from a machine, also not through others; what it said so far stays."""
        ...

    def files(self, folder: int) -> set[str]:
        """The files of a folder that were written or taken in."""
        ...

    def forget_files(self, folder: int, places: Iterable[str]) -> None: ...

    def apart(self, item: str) -> tuple[int, ...]:
        """The versions of an item that were written on two machines at the same time, the current one last."""
        ...

    def capture(self, backlog: Backlog | None) -> int:
        """Write down what was changed here since the last time; returns how many changes that are."""
        ...

    def unwritten(self, folder: KnownFolder, limit: int = -1) -> list[tuple[int, LogEntry]]:
        """What the log in a folder lacks, the oldest first."""
        ...

    def count_unwritten(self, folder: KnownFolder) -> int: ...

    def wrote(self, folder: KnownFolder, place: str, number: int, digest: str, upto: int) -> None: ...
    def start_log(self, folder: KnownFolder, *, anew: bool = False, is_whole: bool = False) -> None:
        """Write another log from now on; ``anew`` with what the old one has, ``is_whole`` with all that is known."""
        ...

    def end_rewriting(self, folder: KnownFolder) -> None:
        """The log that was written anew is complete."""
        ...

    def take(
        self, folder: int, place: str, entries: Sequence[LogEntry], backlog: Backlog | None, *, is_own: bool = False
    ) -> Taken:
        """Take in what a file says."""
        ...
