"""What machines tell each other through a folder, and the files in which they do.

Entries are changes of one item, link or verdict. An entry never changes. Its name (``uid``) follows from what it says,
so that the same change is one entry wherever it was written down, however often it arrives.

Each machine has a folder that it alone writes to: ``machines/<machine>/<log>/<number>-<hash>.jsonl``. The first line
says who wrote the file and which file of the log came before it, each further line is an entry. A file never changes,
and its name holds the hash of its bytes, so that a file that is half there is told from a whole one, and two files
never fight over a name. A log ends when its machine starts another one: after it was restored from a backup, or when
texts had to be erased from its files. What entries mean (``merge``), and who is believed, is decided elsewhere.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from ricordo.config.files import replace_file
from ricordo.config.machine import Machine, machine_key
from ricordo.digests import hash_of
from ricordo.errors import Unavailable, Unreadable, UsageError
from ricordo.exchange.codec import BadRecord, decode, encode
from ricordo.exchange.records import STATES, BlobRecord, ChunkRecord, ItemRecord, VersionRecord, check_item
from ricordo.frozen import frozen
from ricordo.permissions import FILE_DRIVES
from ricordo.values.items import Ref
from ricordo.vault import note_path, vault

VERSION, STATE, ERASE, LINK, FEEDBACK, WORD = "version", "state", "erase", "link", "feedback", "word"
NO_ITEMS = (LINK, FEEDBACK)
"""Kinds of entries that change nothing in an item itself."""
LARGEST_CLOCK = 1 << 53
_UID_BYTES = 16


@frozen
class LogEntry:
    """One change. ``clock`` is a logical time: higher than that of every entry that its writer knew then.

    ``writer`` is the machine that wrote it, and which of its logs; ``parents`` are the entries of the same item that it
    was made on top of; ``body`` says the change itself, and is empty once that was erased.
    """

    kind: str
    item: str
    clock: int
    writer: str
    parents: tuple[str, ...]
    body: Mapping[str, Any]

    @property
    def order(self) -> tuple[int, str]:
        """All machines put entries into this one order. An entry comes after everything it was made on top of."""
        return self.clock, self.writer

    @property
    def uid(self) -> str:
        body = self.body
        said: list[object] = [self.kind, self.item]
        if self.kind == VERSION:
            said += [body["version"]["hash"], body["version"]["created_at"]]
        elif self.kind == STATE:
            said += [body["state"], body["at"]]
        elif self.kind == ERASE:
            said += sorted(body["uids"])
        else:
            said += [json.dumps(dict(body), sort_keys=True)]
            if self.kind != FEEDBACK:  # a link may be made, unmade and made again; a verdict is given once
                said += [self.clock, self.writer]
        return hash_of(json.dumps(said).encode())[: 2 * _UID_BYTES]

    def to_line(self) -> bytes:
        plain = {
            "kind": self.kind,
            "item": self.item,
            "clock": self.clock,
            "writer": self.writer,
            "parents": list(self.parents),
            "body": dict(self.body),
        }
        return json.dumps(plain, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


@frozen
class VersionBody:
    """What an entry says about a version. ``version`` has its number and layout as its writer had them."""

    version: VersionRecord
    passages: tuple[tuple[str, str, str, int, int], ...]
    """Text, heading, what is embedded before it, first and last line of each passage."""
    machine: str
    """The machine that has the file, of a version of a file; its ref is plain."""
    vouched: bool
    """Whether the user wrote it or agreed to it."""
    created_at: datetime
    updated_at: datetime
    """When the item was made, and when its text last changed."""
    secrets: Mapping[str, Any]
    blob: bytes | None = None

    def record(self, identity: str) -> ItemRecord:
        """An item with this version alone, for the checks that imports make, too."""
        version = self.version
        chunks = tuple(
            ChunkRecord(text, heading, prefix, "live", version.created_at, None)
            for text, heading, prefix, *_ in self.passages
        )
        blobs = () if self.blob is None or version.blob is None else (BlobRecord(version.blob, self.blob),)
        return ItemRecord(
            identity, version.ref, version.kind, "live", version.number, self.created_at, self.updated_at, None, None,
            None, None, (version,), chunks, blobs, (), self.secrets, None, self.machine,
        )  # fmt: skip


def text_mark(item: str, text_hash: str) -> str:
    """What an erasure keeps of a text, to know it again in a version that its writer had not seen."""
    return hash_of(f"{item} {text_hash}".encode())[: 2 * _UID_BYTES]


def version_body(entry: LogEntry) -> VersionBody:
    """What an entry says about a version, as values."""
    return decode(VersionBody, entry.body)


def plain_body(body: VersionBody) -> Mapping[str, Any]:
    """What is said about a version, as JSON has it."""
    plain: Mapping[str, Any] = encode(body)
    return plain


@frozen
class _State:
    state: str
    at: int
    provenance: Mapping[str, Any]


@frozen
class _Erase:
    uids: tuple[str, ...]
    texts: tuple[str, ...]
    provenance: Mapping[str, Any]


@frozen
class LinkBody:
    """A link between two items that somebody made by hand, or took away."""

    target: str
    type: str
    at: int
    exists: bool


@frozen
class FeedbackBody:
    """A verdict on what a query found."""

    query: str
    ref: str
    verdict: str
    counted: bool
    at: int


@frozen
class WordBody:
    """Whether the user stands by a version, said after it was written."""

    uid: str
    given: bool


KINDS: Mapping[str, type[Any]] = {
    VERSION: VersionBody,
    STATE: _State,
    ERASE: _Erase,
    LINK: LinkBody,
    FEEDBACK: FeedbackBody,
    WORD: WordBody,
}


def entry_from(plain: Any) -> LogEntry:
    """An entry from JSON, checked in every part: it becomes part of a store without being looked at again."""
    entry = decode(LogEntry, plain)
    if entry.kind not in KINDS:
        raise BadRecord(f"'{entry.kind}' is not a kind of change")
    if not 0 < entry.clock < LARGEST_CLOCK:
        raise BadRecord("its clock is not possible")
    if not entry.item:
        raise BadRecord("it names no item")
    body = decode(KINDS[entry.kind], entry.body)
    if isinstance(body, VersionBody):
        _check_version(entry, body)
    if isinstance(body, _State) and body.state not in STATES:
        raise BadRecord(f"'{body.state}' is not a state of an item")
    return entry


def _check_version(entry: LogEntry, body: VersionBody) -> None:
    check_ref(body.version.ref)
    starts = 0
    layout = []
    for at, (text, _, _, first, last) in enumerate(body.passages):
        layout.append((at, starts, first, last))
        starts += len(text)
    if tuple(layout) != body.version.layout:
        raise BadRecord("its passages do not cover its text")
    check_item(body.record(entry.item))


def check_ref(ref: Ref) -> None:
    """Refuse a ref that names a file or a repository of the machine and walks through folders. On other drives, such a
    path leads nowhere: older machines may have it, and knowledge files get harmless names (``file_name``).
    """
    if ref.drive in FILE_DRIVES and ref.walks:
        raise BadRecord(f"the ref {ref} walks through folders")


FORMAT = "ricordo-sync"
FORMAT_VERSION = 1
FOLDER = "machines"
MOST_ENTRIES = 500
MOST_BYTES = 1_000_000
"""A file that is written has at most so many entries, and ends after this many bytes."""
LARGEST_FILE = 256_000_000
_MACHINE = re.compile(r"[0-9a-f]{8}")
_NAME = re.compile(r"(\d{6,12})-([0-9a-f]{32})\.jsonl")
_EVICTED = re.compile(r"\.(\d{6,12}-[0-9a-f]{32}\.jsonl)\.icloud")
"""How iCloud names a file that it keeps elsewhere until somebody asks for it."""


@frozen
class LogFile:
    """A file of a machine's log; ``log`` tells the logs of one machine apart."""

    machine: str
    log: str
    number: int
    digest: str

    @property
    def name(self) -> str:
        return f"{self.number:06d}-{self.digest}.jsonl"

    @property
    def place(self) -> str:
        """Where it is below the folder."""
        return f"{FOLDER}/{self.machine}/{self.log}/{self.name}"


@frozen
class LogHeader:
    """The first line of a file."""

    format: str
    version: int
    machine: str
    name: str
    log: str
    number: int
    previous: str
    """The hash of the file before it; empty for the first of a log."""
    seal: str
    """What its writer knows it again by."""


@frozen
class ReadLog:
    """What a file says."""

    header: LogHeader
    is_own: bool
    """Whether this machine wrote it: others can put files into its folder, but cannot seal them."""
    entries: tuple[LogEntry, ...]
    skipped: int = 0
    """How many entries are of kinds that this Ricordo does not know, such as those that only older ones wrote."""


_SEALED = b"ricordo-sync sealed 1\n"
"""How an encrypted file begins."""


def _key_place(folder: Path) -> Path:
    """What the key of a folder belongs to; the note beside it says how the key is found."""
    return folder / "ricordo-sync"


def folder_key(folder: Path, choice: str) -> bytes:
    """The key of a folder, made by the first machine that asks. ``choice`` is ``passphrase`` or a key file."""
    if choice == "keyring":
        raise UsageError(
            "a keyring is that of one machine, and the key of a folder is shared",
            hint="Use a passphrase or a key file.",
        )
    keys = vault(f"the files in {folder}")
    if not has_key(folder):
        return keys.make_key(_key_place(folder), choice or "passphrase")
    return keys.find_key(_key_place(folder), "" if choice == "passphrase" else choice)


def has_key(folder: Path) -> bool:
    """Whether the files of a folder are encrypted: then a note in it says how the key is found."""
    return note_path(_key_place(folder)).exists()


def note_in(folder: Path) -> bytes:
    """The note on the key of a folder; empty if there is none."""
    return note_path(_key_place(folder)).read_bytes() if has_key(folder) else b""


def put_note(folder: Path, note: bytes) -> None:
    """Write the note again, after the folder was emptied: a machine that joins finds the same key by it."""
    replace_file(note_path(_key_place(folder)), note)


class MachineFiles:
    """Reads and writes the files of one folder."""

    def __init__(self, folder: Path, key: bytes = b"") -> None:
        """With a ``key``, files are encrypted, and others are not believed."""
        self.folder = folder
        self._key = key

    def problem(self) -> str:
        """Why the folder cannot be used now; empty if it can. A stick may be unplugged, a share not mounted."""
        if self.folder.is_dir():
            return ""
        return f"the folder {self.folder} is not there; nothing is lost, the next sync writes what it lacks"

    def machines(self) -> list[str]:
        """The ids of the machines that have a folder here."""
        return [name for name in _folders(self.folder / FOLDER) if _MACHINE.fullmatch(name)]

    def files(self, machine: str) -> list[LogFile]:
        """The files of a machine, log by log, in order; those that another place still has are among them."""
        found = []
        for log in _folders(self.folder / FOLDER / machine):
            if not _MACHINE.fullmatch(log):
                continue
            for name in _names(self.folder / FOLDER / machine / log):
                match = _NAME.fullmatch(_EVICTED.sub(r"\1", name))
                if match is not None:
                    found.append(LogFile(machine, log, int(match[1]), match[2]))
        return sorted(set(found), key=lambda file: (file.log, file.number, file.digest))

    def read(self, file: LogFile) -> ReadLog | None:
        """What a file says; None while it is not (wholly) here yet. A whole file that says nonsense is an error."""
        path = self.folder / file.place
        try:
            if path.is_symlink() or path.stat().st_size > LARGEST_FILE:
                raise Unreadable(f"{path} is no file of a log", hint="Remove it from the folder.")
            data = path.read_bytes()
        except OSError:
            return None
        if digest_of(data) != file.digest:
            return None
        try:
            first, *rest = self._opened(data).splitlines()
            header = decode(LogHeader, json.loads(first))
            if (header.format, header.version) != (FORMAT, FORMAT_VERSION):
                raise BadRecord(f"it is written in {header.format} {header.version}, which this Ricordo does not know")
            if (header.machine, header.log, header.number) != (file.machine, file.log, file.number):
                raise BadRecord("it is in the place of another file")
            is_own = hmac.compare_digest(header.seal, _seal(file.machine, file.log, file.number, rest))
            plain = [json.loads(line) for line in rest]
            known = [one for one in plain if not isinstance(one, dict) or one.get("kind") in KINDS]
            return ReadLog(header, is_own, tuple(map(entry_from, known)), len(plain) - len(known))
        except (ValueError, RecursionError) as problem:
            raise Unreadable(
                f"{path} cannot be taken in: {problem}",
                hint="Update Ricordo here, or see who else writes to the folder.",
            ) from problem

    def name_of(self, machine: str) -> str:
        """What a machine calls itself; its id if no file of it says it. Files of machines that are not believed are
        read no further than their first line.
        """
        for file in reversed(self.files(machine)):
            try:
                plain: Any = json.loads(self._first_line(self.folder / file.place))
                name = " ".join(str(plain["name"]).split())[:60]
                return name if name.isprintable() and name else machine
            except (OSError, ValueError, KeyError, TypeError):
                continue
        return machine

    def _first_line(self, path: Path) -> bytes:
        with path.open("rb") as source:
            line = source.readline(10_000)
            if line.startswith(_SEALED):
                line = self._opened(line + source.read(LARGEST_FILE)).partition(b"\n")[0]
            return line

    def _opened(self, data: bytes) -> bytes:
        """What a file holds, if it is encrypted as the folder is."""
        if not data.startswith(_SEALED):
            if self._key:
                raise BadRecord("it is not encrypted, and the folder is")
            return data
        if not self._key:
            raise BadRecord("it is encrypted; 'ricordo sync-folder add FOLDER --encrypt' asks for the key")
        opened = vault(f"the files in {self.folder}").unseal(self._key, data[len(_SEALED) :])
        if opened is None:
            raise BadRecord("it was encrypted with another key")
        return opened

    def write(self, machine: Machine, log: str, number: int, previous: str, *, entries: Sequence[LogEntry]) -> LogFile:
        """Write the next file of a log; it gets its name when all of it is on the disk."""
        lines = [entry.to_line() for entry in entries]
        header = {
            "format": FORMAT, "version": FORMAT_VERSION, "machine": machine.id, "name": machine.name, "log": log,
            "number": number, "previous": previous,
            "seal": _seal(machine.id, log, number, [line.rstrip(b"\n") for line in lines]),
        }  # fmt: skip
        data = json.dumps(header, ensure_ascii=False).encode() + b"\n" + b"".join(lines)
        if self._key:  # the same bytes become the same file
            nonce = hmac.new(self._key, b"ricordo: nonce" + data, hashlib.sha256).digest()[:12]
            data = _SEALED + vault(f"the files in {self.folder}").seal(self._key, data, nonce)
        file = LogFile(machine.id, log, number, digest_of(data))
        path = self.folder / file.place
        partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with partial.open("wb") as out:
                out.write(data)
                out.flush()
                os.fsync(out.fileno())
            partial.replace(path)
        except OSError as problem:
            with suppress(OSError):
                partial.unlink(missing_ok=True)
            raise Unavailable(
                f"{path} cannot be written: {problem.strerror or problem}",
                hint="Check that the folder can be written to and has room; the next sync tries again.",
            ) from problem
        return file

    def size(self, file: LogFile) -> int:
        """How many bytes a file has; 0 if it is not there."""
        try:
            return (self.folder / file.place).stat().st_size
        except OSError:
            return 0

    def remove(self, file: LogFile) -> None:
        """Remove a file of this machine, whose log another one took the place of."""
        path = self.folder / file.place
        with suppress(OSError):
            path.unlink(missing_ok=True)
            path.parent.rmdir()  # fails while other files are in it


def parts_of(entries: Iterable[tuple[int, LogEntry]]) -> Iterator[tuple[int, list[LogEntry]]]:
    """Entries in parts of one file each, with the number of the last of each part."""
    part: list[LogEntry] = []
    size = last = 0
    for last, entry in entries:
        part.append(entry)
        size += len(entry.to_line())
        if len(part) >= MOST_ENTRIES or size >= MOST_BYTES:
            yield last, part
            part, size = [], 0
    if part:
        yield last, part


def _seal(machine: str, log: str, number: int, lines: Sequence[bytes]) -> str:
    """A keyed hash of a file, whose key never leaves this machine."""
    keyed = hmac.new(machine_key(), f"{FORMAT} {machine} {log} {number}\n".encode(), hashlib.sha256)
    for line in lines:
        keyed.update(line + b"\n")
    return keyed.hexdigest()


def digest_of(data: bytes) -> str:
    """The hash that is part of a file's name."""
    return hash_of(data)[:32]


def _folders(place: Path) -> list[str]:
    try:
        with os.scandir(place) as found:
            return sorted(one.name for one in found if one.is_dir(follow_symlinks=False))
    except OSError:
        return []


def _names(place: Path) -> list[str]:
    try:
        return sorted(os.listdir(place))  # noqa: PTH208 - names are all that is needed
    except OSError:
        return []
