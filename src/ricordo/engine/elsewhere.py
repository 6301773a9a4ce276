"""Verbs for documents that travel by reference: what your other machines have, and what of it can be added here."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ricordo.engine.adding import AddVerbs
from ricordo.engine.context import EngineContext
from ricordo.errors import NotFound
from ricordo.values.file_refs import DISK
from ricordo.values.items import Ref
from ricordo.values.reports import AddReport
from ricordo.values.syncing import DocumentElsewhere, DocumentsElsewhere
from ricordo.verbs.declare import verb

if TYPE_CHECKING:
    from ricordo.store.values import KnownReference
    from ricordo.verbs.parameters import OfMachine, WordsOfDocument

_USERS = "it is the user's business"


class ElsewhereVerbs:
    """Shows the documents of other machines, and adds those that are here, too."""

    def __init__(self, context: EngineContext, adding: AddVerbs) -> None:
        self._context = context
        self._adding = adding

    @verb(
        "read",
        "look after",
        "Show documents that your other machines have.",
        path="sync-folder documents",
        not_on={"mcp": _USERS},
        examples=("ricordo sync-folder documents", "ricordo sync-folder documents deployment --machine desk"),
    )
    def sync_folder_documents(self, *words: WordsOfDocument, machine: OfMachine = "") -> DocumentsElsewhere:
        """Those that other machines send by reference (``sync-folder add --what references``): their names, not their
        texts. It says which have the same text here, and which can be added here, from a file at the same place or from
        the web (``sync-folder bring``).
        """
        return DocumentsElsewhere(tuple(self._found(words, machine)))

    @verb(
        "write",
        "look after",
        "Add documents of your other machines that are here, too.",
        path="sync-folder bring",
        is_long=True,
        not_on={"mcp": _USERS, "http": "files are read on the machine that they are on"},
        examples=("ricordo sync-folder bring deployment", "ricordo sync-folder bring --machine desk"),
    )
    def sync_folder_bring(self, *words: WordsOfDocument, machine: OfMachine = "") -> AddReport:
        """A file is added if there is one at the same place on this machine, also below another home; a page is read
        from the web again. So the text may be another one than on the other machine. Tags come with it.
        """
        wanted = [one for one in self._found(words, machine) if one.source and not one.item]
        if not wanted:
            raise NotFound(
                "no such document of another machine can be added here",
                hint="‹:sync-folder documents› shows what the others have; whole, they travel with ‹what=documents›.",
            )
        reports = [self._adding.add(one.source, fields={"tags": list(one.tags)}) for one in wanted]
        return AddReport(
            tuple(saved for report in reports for saved in report.items),
            tuple(note for report in reports for note in report.notes),
        )

    def _found(self, words: tuple[str, ...], machine: str) -> list[DocumentElsewhere]:
        log = self._context.store.sync
        if log is None:
            return []
        names = log.let_in()
        return [
            _document(one, names.get(one.machine, one.machine))
            for one in log.references()
            if _is_of(one, words) and machine in ("", one.machine, names.get(one.machine))
        ]


def _is_of(one: KnownReference, words: tuple[str, ...]) -> bool:
    said = f"{one.title} {one.ref} {' '.join(one.tags)}".casefold()
    return all(word.casefold() in said for word in words)


def _document(one: KnownReference, machine: str) -> DocumentElsewhere:
    return DocumentElsewhere(
        machine, one.ref, one.title, one.tags, one.size, one.updated_at, one.item, one.url or _file_here(one)
    )


def _file_here(one: KnownReference) -> str:
    """A file of this machine at the same place, counted from the user's home if it is below it there."""
    ref = Ref.parse(one.ref)
    if ref.drive != DISK:
        return ""
    place = Path.home() / one.below_home if one.below_home else Path(ref.path)
    return str(place) if place.is_file() else ""
