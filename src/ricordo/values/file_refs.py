"""On which machine a file is, as its ref says it. This is the one place that turns paths into refs and back.

A store in a file belongs to one machine, whose files have plain refs: ``disk:/home/ada/a.md``. The files of any other
machine carry its id: ``disk:/@1a2b3c4d/home/ada/a.md``. In a store that many machines share, all of them do; plain refs
are those of files that were added before machines were recorded, and nobody knows whose they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ricordo.errors import UsageError
from ricordo.frozen import frozen
from ricordo.patterns import late
from ricordo.values.items import Ref

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
