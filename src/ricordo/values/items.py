"""Refs, fields, drafts, items and versions: what is stored, and the result of a save.

``FileRefs`` is the one place that turns paths into refs and back. A store in a file belongs to one machine, whose files
have plain refs: ``disk:/home/ada/a.md``. The files of any other machine carry its id:
``disk:/@1a2b3c4d/home/ada/a.md``. In a store that many machines share, all of them do; plain refs are those of files
that were added before machines were recorded, and nobody knows whose they are.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

from ricordo.digests import hash_of
from ricordo.errors import UsageError
from ricordo.frozen import frozen
from ricordo.patterns import late
from ricordo.values import field_checks
from ricordo.values.field_checks import HIGHEST_SEQ, LOADINGS, SEVERITIES
from ricordo.values.kinds import DRIVES_APART, KIND_DRIVES, REMEMBERED_KINDS, SESSION
from ricordo.values.plain import LEFT_OUT_WHEN_EMPTY, NOT_SHOWN, Plain, named, rounded
from ricordo.values.provenance import NOBODY, Provenance
from ricordo.verbs.declare import Say

if TYPE_CHECKING:
    from ricordo.values.hits import Evidence

CITATIONS = "citations"
"""The name in an item's metadata of what it cites."""
FRESH, CHANGED, MOVED, REPLACED, GONE = "fresh", "changed", "moved", "replaced", "gone"


@frozen
class CitedNow(Plain):
    """One thing that a memory cites (``src/cart.py``, ``Cart.total``, ``note:/plan``), and what it is now: fresh,
    changed, moved, replaced or gone.
    """

    what: str
    state: str
    where: str = field(default="", metadata=LEFT_OUT_WHEN_EMPTY)
    """Where it moved to, or what replaced it."""

    def __str__(self) -> str:
        by = {MOVED: " to ", REPLACED: " by "}.get(self.state, "")
        return f"{self.what}: {self.state}{by}{self.where if by else ''}"


LONGEST_TITLE = 70
"""A title that is made of a text's first words has at most this many characters."""
_MARKS = late(r"^[\s#>*+\-`]+")


def first_words(text: str) -> str:
    """The first line of a text that holds words, without Markdown's marks, cut between words.

    >>> first_words("# Keys\\nRotate them."), first_words("- a list")
    ('Keys', 'a list')
    """
    lines = (" ".join(_MARKS.sub("", line).split()) for line in text[:2000].splitlines())
    line = next((line for line in lines if any(map(str.isalnum, line))), "")
    if len(line) <= LONGEST_TITLE:
        return line
    head = line[: LONGEST_TITLE - 1]
    return (head.rpartition(" ")[0] or head).rstrip(" ,;:.") + "…"


_MACHINE = late(r"\A/@[0-9a-f]{8}(?=/|\Z)")
_OF_NO_SCHEME = KIND_DRIVES | {"agent"}
"""Drives whose names no address begins with."""
_DRIVE = late(r"^[a-z][a-z0-9_-]+$")


@dataclass(frozen=True, slots=True, order=True)
class Ref:
    """The name of an item: ``drive:/path``.

    >>> Ref.parse("disk:/notes/a.md").drive
    'disk'
    """

    drive: str
    path: str

    def __post_init__(self) -> None:
        if not _DRIVE.match(self.drive):
            raise UsageError(
                f"'{self.drive}' is not a drive name",
                hint="A drive is two or more of a-z, 0-9, _ and -, starting with a letter, e.g. disk:/notes/a.md",
            )
        if not self.path.startswith("/"):
            raise UsageError(
                f"the path of a ref starts with '/', got '{self.path}'", hint=f"Try {self.drive}:/{self.path}"
            )
        if "\x00" in self.path:
            raise UsageError("a ref cannot hold a NUL character", hint="Remove it from the path.")

    @classmethod
    def parse(cls, text: str) -> Ref:
        """Read ``drive:/path``; a bare path, URL or id is not a ref yet (the engine resolves those)."""
        drive, colon, path = text.partition(":")
        if not colon:
            raise UsageError(f"'{text}' is not a ref", hint="A ref looks like disk:/notes/a.md or memory:/my-slug.")
        is_address = path.startswith("//") and drive in _OF_NO_SCHEME
        return cls(drive, f"/{path.lstrip('/')}" if is_address else path)

    @classmethod
    def looks_like(cls, text: str) -> bool:
        """Whether the text has the form of a ref (``C:/x`` and URLs do not; ``memory://x`` means ``memory:/x``)."""
        drive, colon, path = text.partition(":")
        is_address = path.startswith("//") and drive not in _OF_NO_SCHEME
        return bool(colon and _DRIVE.match(drive) and path.startswith("/") and not is_address)

    def __str__(self) -> str:
        return f"{self.drive}:{self.path}"

    @property
    def place(self) -> str:
        """The path; of a file, without the machine that its ref may carry."""
        return self.path if self.drive != "disk" else _MACHINE.sub("", self.path) or "/"

    @property
    def walks(self) -> bool:
        """Whether a part of the path is ``.`` or ``..``: as the path of a file, it would lead through folders."""
        return any(part in (".", "..") for part in self.path.split("/"))


@frozen
class Fields(Plain):
    """What an item has besides its content; all of it is part of a version."""

    title: Annotated[str, Say("The title; the ref is made from it.", longest=1000)] = ""
    description: Annotated[str, Say("What it is about, in one line.", longest=10_000)] = ""
    tags: Annotated[
        tuple[str, ...],
        Say("A tag (repeatable).", name="tag", http="tags", short="-t", shown="TAG", longest=1000),
    ] = ()
    category: Annotated[str | None, Say("A category of your own.", shown="NAME", longest=1000)] = None
    domain: Annotated[str | None, Say("The field of knowledge it belongs to.", shown="NAME", longest=1000)] = None
    severity: Annotated[str | None, Say("How serious it is.", choices=SEVERITIES)] = None
    importance: Annotated[int | None, Say("How much it matters.", 1, 5, shown="1-5")] = None
    context: Annotated[str, Say("What one must know to understand it (also searched).", longest=10_000)] = ""
    valid_from: Annotated[
        str | None, Say("It is valid from this day or time on (local).", shown="DATE", longest=40)
    ] = None
    valid_until: Annotated[str | None, Say("It is valid until this day or time (local).", shown="DATE", longest=40)] = (
        None
    )
    loading: Annotated[
        str | None, Say("Whether every agent gets it, or only when it fits the task.", choices=LOADINGS)
    ] = None
    immutable: Annotated[bool, Say("Nobody can change it later.")] = False
    decay_protected: Annotated[bool, Say("Its rank does not fade, and forget skips it.")] = False
    source: str | None = None
    source_adapter: Annotated[str | None, Say("The program that brought it.", longest=1000)] = None
    source_url: Annotated[str | None, Say("Where it comes from.", shown="URL", longest=4096)] = None
    thread: Annotated[str | None, Say("The conversation or series it belongs to.", shown="ID", longest=1000)] = None
    seq: Annotated[
        int | None, Say("Its position in that conversation or series.", -HIGHEST_SEQ, HIGHEST_SEQ, shown="N")
    ] = None
    mime_type: str | None = None
    is_textual: bool = True
    metadata: Annotated[Mapping[str, Any], Say("Fields of your own, as an object.")] = field(default_factory=dict)

    @property
    def about(self) -> str:
        """What it is about, and what one must know to understand it."""
        return " · ".join(filter(None, (self.description, self.context)))

    def with_changes(self, changes: Mapping[str, Any]) -> Fields:
        """A copy with some fields set; unknown names and bad values are usage errors."""
        return replace(self, **checked_fields(changes))


FIELD_NAMES: tuple[str, ...] = tuple(f.name for f in fields(Fields))


def checked_fields(changes: Mapping[str, Any]) -> dict[str, Any]:
    """The same mapping with every value checked and put into the form ``Fields`` holds."""
    return field_checks.checked_fields(Fields, changes)


@frozen
class Mark:
    """Where a page, slide, sheet or cell starts in an item's text: ``Mark(1204, "page 3")``."""

    offset: int
    label: str


@frozen
class Parsed:
    """The result of a parser: the text to keep and chunk, and what else the parser found.

    ``structure`` says how to chunk (markdown, rst, html, code, table, text); ``first_line`` is the line of the
    original file where ``text`` starts (front matter is left out of ``text``, but counted).
    """

    text: str
    title: str = ""
    fields: Mapping[str, Any] = field(default_factory=dict)
    mime_type: str = "text/plain"
    structure: str = "text"
    language: str = ""
    first_line: int = 1
    marks: tuple[Mark, ...] = ()
    is_textual: bool = True
    warnings: tuple[str, ...] = ()


@frozen
class Passage:
    """A span of an item's text that becomes one chunk; passages of a text follow one another without a gap."""

    start: int
    end: int
    heading: str = ""


@frozen
class Draft:
    """An item about to be saved."""

    ref: Ref
    kind: str
    content: str
    fields: Fields
    passages: tuple[Passage, ...] = ()
    first_line: int = 1
    marks: tuple[Mark, ...] = ()
    blob: bytes | None = None


@frozen
class Entry(Plain):
    """A text that a program passes, and that is not read from a file: ``Entry("agent:/plan", "...", kind="note")``."""

    ref: str
    content: str
    kind: str = "document"
    fields: Mapping[str, Any] = field(default_factory=dict)
    structure: str = "text"
    times: tuple[datetime, datetime] | None = None
    """When it was made and last changed, for a text that is older than its item in the store."""


@frozen
class Duplicate(Plain):
    """An item that says nearly the same, or the contrary, and why: how likely it says the same, and how near the
    meanings are.
    """

    ref: str
    title: str
    same: float = field(metadata=rounded(4))
    cosine: float | None = field(metadata=rounded(4))
    snippet: str
    contradiction: str = field(default="", metadata=LEFT_OUT_WHEN_EMPTY)


@frozen
class Saved(Plain):
    """The answer to a save: created, updated, skipped, failed or needs_decision, and why."""

    ref: str
    status: str
    id: str | None = None
    version: int | None = None
    previous_version: int | None = None
    content_hash: str | None = None
    reason: str | None = field(default=None, metadata=LEFT_OUT_WHEN_EMPTY)
    error: Mapping[str, str] | None = field(default=None, metadata=LEFT_OUT_WHEN_EMPTY)
    chunks: int = field(default=0, metadata=NOT_SHOWN)
    """How many chunks were written; chunks that are the same as in the version before are not counted."""
    candidates: tuple[Duplicate, ...] = field(default=(), metadata=LEFT_OUT_WHEN_EMPTY)
    """With needs_decision: what is nearly the same, and what the text contradicts."""
    redacted: tuple[str, ...] = field(default=(), metadata=LEFT_OUT_WHEN_EMPTY)
    """The kinds of secrets that were removed from the text and its fields."""


@frozen
class Relation:
    """A link to make between two items, by their refs."""

    source: str
    type: str
    target: str


@frozen
class Foreign:
    """What an import reads of another program: texts to save, links between them, files that could not be read, and
    notes for the user.
    """

    entries: tuple[Entry, ...]
    relations: tuple[Relation, ...] = ()
    failed: tuple[Saved, ...] = ()
    notes: tuple[str, ...] = ()


@frozen
class Item(Plain):
    """One thing worth knowing, in one of its versions (the current one unless another was asked for)."""

    id: str
    ref: Ref
    kind: str
    state: str
    version: int
    content_hash: str
    content: str
    fields: Fields = field(metadata=NOT_SHOWN)
    created_at: datetime
    updated_at: datetime
    first_line: int = 1
    indexed_at: datetime | None = None
    has_embedding: bool | None = None
    """Whether every passage has its vector; only for an item that is read on its own, None in lists."""
    retrieval_count: int = 0
    last_retrieved_at: datetime | None = None
    access_count: int = 0
    last_accessed_at: datetime | None = None
    decay_score: float = field(default=1.0, metadata=rounded(6))
    size: int = 0
    tier: str = field(default="", metadata=LEFT_OUT_WHEN_EMPTY)
    mention_count: int = 0
    """For an entity: how many live items name it."""
    opening: str = field(default="", metadata=NOT_SHOWN)
    """The beginning of the text, in lists, which leave the text out."""
    provenance: Provenance = NOBODY
    """Who wrote this version, and through which door."""
    vouched: int | None = field(default=None, metadata=NOT_SHOWN)
    """The newest version that the user wrote or agreed to."""
    foreign: bool = False
    """Whether its store came with a project that the user does not trust (yet)."""
    corrected_by: str = field(default="", metadata=LEFT_OUT_WHEN_EMPTY)
    superseded_by: str = field(default="", metadata=LEFT_OUT_WHEN_EMPTY)
    """The ref of the item that replaced an archived one; if that was replaced, too, the newest."""
    machine: str = field(default="", metadata=LEFT_OUT_WHEN_EMPTY)
    """The name of the other machine that has the file; empty for what is on this one, or no file."""
    apart: tuple[int, ...] = field(default=(), metadata=LEFT_OUT_WHEN_EMPTY)  # versions that two machines wrote at once
    cites: tuple[CitedNow, ...] = field(default=(), metadata=LEFT_OUT_WHEN_EMPTY)
    """What became of what it cites, if it is read on its own."""
    passages: tuple[Evidence, ...] = field(default=(), metadata=LEFT_OUT_WHEN_EMPTY)
    """The passages that it is cut into, if they were asked for."""

    @property
    def title(self) -> str:
        """The title. Without one, what is remembered is called by its first words, and others by their path."""
        return self.title_with(self.opening)

    def title_with(self, opening: str) -> str:
        """The title, where the beginning of the text is known from elsewhere."""
        words = self.kind in REMEMBERED_KINDS and not self.fields.title and first_words(self.content or opening)
        return self.fields.title or words or self.ref.path.rstrip("/").rpartition("/")[2]

    def validity(self, now: datetime) -> str:
        """Why it is not valid at a time: ``not valid yet`` or ``no longer valid``; empty if it is valid."""
        return validity_at(self.fields.valid_from, self.fields.valid_until, now)

    @property
    def is_current(self) -> bool:
        """Whether nothing took it out of use: it is live or, on a drive that is apart, archived from the start."""
        return self.state == ("archived" if self.ref.drive in DRIVES_APART else "live")

    @property
    def is_untitled_turn(self) -> bool:
        """Whether it is one turn of a session: these are shown under the title of their session."""
        return self.kind == SESSION and self.fields.seq is not None and not self.fields.title

    def to_dict(self, *, with_content: bool = True) -> dict[str, Any]:
        """The fields stand after the names and the text; ``with_content`` leaves the text in."""
        first = dict.fromkeys(("ref", "id", "kind", "version", "content"))
        values = first | self.fields.to_dict() | Plain.to_dict(self) | {"title": self.title}
        wanted = {"content": with_content, "mention_count": self.kind == "entity", "foreign": self.foreign}
        return {name: value for name, value in values.items() if wanted.get(name, True)}


def validity_at(start: str | None, end: str | None, now: datetime) -> str:
    """Why something that holds from ``start`` until ``end`` does not hold at a time; empty while it does."""
    if start and datetime.fromisoformat(start) > now:
        return "not valid yet"
    if end and datetime.fromisoformat(end) <= now:
        return "no longer valid"
    return ""


@frozen
class Version(Plain):
    """One immutable state of an item, or a commit in the history of a file; ``previous`` is the number before it."""

    number: int = field(metadata=named("version"))
    content_hash: str
    created_at: datetime
    ref: Ref
    kind: str
    fields: Fields
    size: int
    previous: int | None = None
    is_head: bool = False
    state: str = field(default="live", metadata=NOT_SHOWN)
    provenance: Provenance = NOBODY
    commit: str = field(default="", metadata=LEFT_OUT_WHEN_EMPTY)
    """The hash, if it is a commit; its number is 0 then."""
    apart: bool = field(default=False, metadata=LEFT_OUT_WHEN_EMPTY)  # written beside another one, on another machine


class Listing(list[Item]):
    """A page of a list: items without their content, and how many there are in all."""

    def __init__(self, items: Iterable[Item] = (), *, total: int = 0, limit: int = 0, offset: int = 0) -> None:
        super().__init__(items)
        self.total, self.limit, self.offset = total, limit, offset

    def to_dict(self) -> dict[str, Any]:
        return {"items": [item.to_dict(with_content=False) for item in self]} | vars(self)


class Versions(list[Version]):
    """The versions of an item, the newest first; for an archived one, the ref of what replaced it, if something did."""

    def __init__(
        self,
        versions: Iterable[Version] = (),
        *,
        ref: str = "",
        state: str = "live",
        corrected_by: str = "",
        superseded_by: str = "",
    ) -> None:
        super().__init__(versions)
        self.ref, self.state, self.corrected_by, self.superseded_by = ref, state, corrected_by, superseded_by

    def to_dict(self) -> dict[str, Any]:
        by = {name: value for name in ("corrected_by", "superseded_by") if (value := getattr(self, name))}
        return {"ref": self.ref, "versions": [version.to_dict() for version in self]} | by


@frozen
class TreeNode(Plain):
    """A folder of refs: how many items are below it, and its parts."""

    name: str
    path: str
    items: int
    ref: str | None = field(default=None, metadata=LEFT_OUT_WHEN_EMPTY)
    title: str = ""
    children: tuple[TreeNode, ...] = field(default=(), metadata=LEFT_OUT_WHEN_EMPTY)

    def to_dict(self) -> dict[str, Any]:
        values = Plain.to_dict(self)
        if not self.ref:
            del values["title"]  # a folder has none
        return values


@frozen
class KnownFile:
    """A file of the knowledge folder as it was last seen: ``item`` is its item's number, ``mark`` the version it has.

    ``problem`` says why it cannot be read; a time of -1 means that it must be read again to tell whether it changed.
    """

    name: str
    item: int | None
    mtime: int
    size: int
    hash: str
    mark: str
    problem: str = ""

    @property
    def is_gone(self) -> bool:
        """Whether the file went, and the user was not yet asked about what it said."""
        return self.size < 0

    def as_gone(self) -> KnownFile:
        return replace(self, mtime=-1, size=-1, hash="", problem="")


def version_hash(draft: Draft, content_hash: str) -> str:
    """SHA-256 of all that belongs to a version: content, kind, ref and every field."""
    identity: dict[str, Any] = {
        "ref": f"{draft.ref.drive}:{draft.ref.place}",
        "kind": draft.kind,
        "content": content_hash,
        "fields": draft.fields.to_dict(),
    }
    canonical = json.dumps(identity, sort_keys=True, ensure_ascii=True, default=str)
    return hash_of(canonical.encode())


def items_as_text(items: Sequence[Item], form: str) -> str:
    """Several items as one text: ``json`` with all fields, or ``markdown`` with a section for each."""
    if form == "json":
        return json.dumps([item.to_dict() for item in items], ensure_ascii=False, indent=2) + "\n"
    return "\n".join(map(_as_markdown, items))


def _as_markdown(item: Item) -> str:
    """An item as a section: its title, where it is kept and when it changed, and its text."""
    about = [f"`{item.ref}`", item.kind, f"version {item.version}", f"{item.updated_at:%Y-%m-%d}"]
    about += [f"#{tag}" for tag in item.fields.tags]
    body = item.content.strip()
    heading = f"# {item.title or item.ref}"
    if body.partition("\n")[0].strip() == heading:
        body = body.partition("\n")[2].strip()
    return f"{heading}\n\n<!-- {', '.join(about).replace('--', '- -')} -->\n\n{body}\n"


DISK = "disk"
UNKNOWN_MACHINE = "unknown"
"""What people call the machine of files of which nobody knows whose they are."""
_MARK = late(r"/@([0-9a-f]{8})(?=/|\Z)")


@frozen
class FileRefs:
    """How the refs of one store's files are to be read on this machine.

    ``home`` is the machine whose refs are plain, empty in a shared store; ``here`` is this machine.
    """

    home: str = ""
    here: str = ""

    def path(self, place: str, machine: str | None = None) -> str:
        """The path of the ref of a file: of this machine, or of another one.

        >>> FileRefs("", "1a2b3c4d").path("/a.md"), FileRefs("1a2b3c4d", "1a2b3c4d").path("/a.md")
        ('/@1a2b3c4d/a.md', '/a.md')
        """
        machine = self.here if machine is None else machine
        if not machine or (machine == self.home and not is_marked(place)):
            return place
        return f"/@{machine}{place}"

    def ref(self, place: str, machine: str | None = None) -> Ref:
        return Ref(DISK, self.path(place, machine))

    def split(self, path: str) -> tuple[str, str]:
        """The machine that the path of a ref belongs to, and the place of the file there.

        >>> FileRefs("1a2b3c4d").split("/@5e6f7a8b/a.md"), FileRefs("1a2b3c4d").split("/a.md")
        (('5e6f7a8b', '/a.md'), ('1a2b3c4d', '/a.md'))
        """
        match = _MARK.match(path)
        return (match[1], path[match.end() :] or "/") if match else (self.home, path)

    def owner(self, ref: Ref) -> str:
        """The machine that has the file of a ref."""
        return self.split(ref.path)[0]

    def is_here(self, ref: Ref) -> bool:
        """Whether this machine may read and remove what a ref names: its own files, and all that is no file."""
        return ref.drive != DISK or self.owner(ref) == self.here

    def is_said_here(self, metadata: Mapping[str, Any]) -> bool:
        """The same for a skill, whose ref is its name: the metadata name the machine that has its file."""
        return (metadata.get("machine") or self.home) == self.here

    def place(self, ref: Ref) -> str:
        """Where a file is on this machine; for a file of another machine this is an error."""
        machine, place = self.split(ref.path)
        if machine != self.here:
            raise elsewhere(ref, machine)
        return place

    def seen_from(self, other: FileRefs, ref: Ref) -> Ref:
        """The ref that a file of this store has in another store."""
        if ref.drive != DISK:
            return ref
        machine, place = self.split(ref.path)
        return other.ref(place, machine)


PLAIN = FileRefs()
"""For refs without a store: every one is plain."""


def is_marked(path: str) -> bool:
    """Whether the path of a ref carries its machine."""
    return _MARK.match(path) is not None


def elsewhere(ref: Ref | str, machine: str) -> UsageError:
    """The error for a file of another machine; ``machine`` is its name or its id."""
    machine = machine or UNKNOWN_MACHINE
    return UsageError(
        f"{ref} is a file of the machine {machine}, which alone may change it",
        hint=f"If that machine is gone, ‹:roots move --from-machine {machine}› takes over its files.",
    )
