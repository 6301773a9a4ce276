"""Imports what other programs keep: a vault's notes stay files, texts of other programs become notes and memories."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from ricordo.engine.context import EngineContext
from ricordo.engine.import_claims import Claims
from ricordo.engine.items import ItemVerbs
from ricordo.errors import NotFound, PathConflict, UsageError
from ricordo.values.items import Entry, Ref
from ricordo.values.reports import AddReport, Progress

if TYPE_CHECKING:
    from ricordo.ingest.importers import Foreign, Relation
    from ricordo.values.kinds import OnConflict
    from ricordo.values.reports import ImportReport

Source = str | Path | BinaryIO
OnProgress = Callable[[Progress], None] | None


class ForeignImport:
    """Imports the files of other programs."""

    def __init__(self, context: EngineContext, items: ItemVerbs) -> None:
        self._context = context
        self._items = items

    def vault(self, source: Source, on_conflict: OnConflict, wait: bool, progress: OnProgress) -> ImportReport:
        """Add the Markdown files of a vault; its folder is remembered, so that ``refresh`` follows it."""
        from ricordo.ingest.add import Adding
        from ricordo.ingest.files import FileReader
        from ricordo.ingest.vaults import MARKER, in_vault
        from ricordo.values.reports import ImportReport

        folder = _folder(source, "A vault")
        adding = Adding(
            self._context.store,
            self._context.pipeline,
            FileReader(self._context.config, self._context.location, is_vault=True),
            kind=None,
            fields={},
            on_conflict=on_conflict,
            backlog=self._context.models.backlog(),
            progress=progress,
        )
        report = adding.sources([folder], globs=["*.md"], as_ref=None)
        if not in_vault(folder.absolute(), {}):
            note = f"{folder} has no {MARKER} folder: 'refresh' will read the notes as plain Markdown, without #tags"
            report = replace(report, notes=(*report.notes, note))
        return ImportReport(self._context.embed_after(report, wait, progress))

    def read(self, source: Source, format_: str) -> Foreign:
        if format_ == "basic-memory":
            from ricordo.ingest.vaults import read_folder

            return read_folder(_folder(source, "basic-memory's home"), self._context.files())
        from ricordo.ingest.importers import READERS

        reader = READERS[format_]
        if not isinstance(source, (str, Path)):
            return reader(source.read(), "standard input")
        path = Path(source).expanduser()
        if not path.is_file():
            raise NotFound(f"there is no file {path}", hint="Name the file that the other program's export wrote.")
        return reader(path.read_bytes(), str(path))

    def save(
        self,
        foreign: Foreign,
        on_conflict: OnConflict,
        wait: bool,
        progress: OnProgress,
        *,
        allow_secrets: bool,
        claims: Claims,
    ) -> ImportReport:
        """Save texts of another program, with their times, and link them."""
        from ricordo.values.reports import ImportReport

        if on_conflict == "error":
            self._refuse_known(foreign.entries)
        stored = self._stored_fields(foreign.entries) if on_conflict == "overwrite" else {}
        texts = claims.without_claims(foreign.entries, stored)
        entries, notes = _without_secrets(texts, allow_secrets=allow_secrets)
        with claims.speaking():
            report = self._items.save_many(
                entries, on_conflict=on_conflict, wait=False, durable=True, allow_secrets=True, progress=progress
            )
        notes = (*notes, *claims.notes())
        linked = self._relate(foreign.relations)
        saved = AddReport((*report.items, *foreign.failed), (*report.notes, *foreign.notes, *notes))
        return ImportReport(self._context.embed_after(saved, wait, progress), {"link": linked} if linked else {})

    def _stored_fields(self, entries: Sequence[Entry]) -> dict[str, dict[str, Any]]:
        """The fields of the items that texts would replace, by their refs."""
        items = self._context.store.items
        numbers = items.numbers([Ref.parse(entry.ref) for entry in entries])
        found = items.get_many(list(numbers.values()))
        return {str(ref): found[n].fields.to_dict() for ref, n in numbers.items() if n in found}

    def _refuse_known(self, entries: Sequence[Entry]) -> None:
        for entry in entries:
            ref = Ref.parse(entry.ref)
            if self._context.store.files.known(ref.drive, [ref.path]):
                raise PathConflict(
                    f"{ref} is already in the store; nothing was written", hint="Pass ‹on_conflict=skip› or overwrite."
                )

    def _relate(self, relations: Sequence[Relation]) -> int:
        """Link what was saved; returns how many links are new."""
        made = 0
        for relation in relations:
            ends = [self._context.store.items.number(Ref.parse(ref)) for ref in (relation.source, relation.target)]
            if ends[0] is not None and ends[1] is not None:
                made += self._context.store.links.add(ends[0], ends[1], relation.type)
        return made


def _folder(source: Source, what: str) -> Path:
    if not isinstance(source, (str, Path)):
        raise UsageError(f"{what} is a folder, not standard input", hint="Name the folder.")
    folder = Path(source).expanduser()
    if not folder.is_dir():
        raise NotFound(f"there is no folder {folder}", hint=f"{what} is a folder of Markdown files.")
    return folder


def _without_secrets(entries: Sequence[Entry], *, allow_secrets: bool) -> tuple[list[Entry], tuple[str, ...]]:
    """The texts without secrets, and notes about what was removed."""
    from ricordo.secrets.find import redact_item

    clean = []
    touched = 0
    for entry in entries:
        text, fields, found = redact_item(entry.kind, entry.content, entry.fields, allow_secrets=allow_secrets)
        clean.append(replace(entry, content=text, fields=fields))
        touched += bool(found)
    note = f"secrets were taken out of {touched} item{'' if touched == 1 else 's'}; --allow-secrets keeps them"
    return clean, (note,) if touched else ()
