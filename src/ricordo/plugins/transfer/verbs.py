"""Verbs that move what is stored: export, import, migrate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ricordo.engine.checks import check_choice
from ricordo.engine.items import ItemVerbs
from ricordo.plugin import brought_as, names_of
from ricordo.values.kinds import ON_CONFLICT
from ricordo.verbs.declare import verb

if TYPE_CHECKING:
    from typing import Annotated, BinaryIO

    from ricordo.plugins.transfer.imports import Source
    from ricordo.plugins.transfer.values import ExportReport, ImportReport, MigrateReport
    from ricordo.values.kinds import OnConflict
    from ricordo.values.reports import Progress
    from ricordo.verbs.declare import Say
    from ricordo.verbs.parameters import REF_TEXT, AllowSecrets, Wait

OWN_FORMATS = ("ricordo", "obsidian")
"""What an import reads without another plugin."""
KEY_AT_HAND = dict.fromkeys(("http", "mcp"), "keys are made at the user's terminal")


class TransferVerbs(ItemVerbs):
    """Copies a store elsewhere, and brings what was copied back."""

    @verb(
        "read",
        "look after",
        "Write everything to a file that import can read.",
        not_on={"mcp": "an export is a file, which the user makes"},
        examples=(
            "ricordo export everything.jsonl",
            "ricordo export | gzip > everything.jsonl.gz",
            "ricordo export --salvage rescued.jsonl",
            "ricordo export --no-log - | ricordo --store copy.db import -",
        ),
    )
    def export(
        self,
        target: Annotated[
            str | Path | BinaryIO,
            Say(
                "The file to write.",
                shown="FILE|-",
                not_on={"http": "the answer is the file", "mcp": "an export is a file"},
            ),
        ] = "-",
        *,
        log: Annotated[bool, Say("Include the logs of queries and openings (default), or not.")] = True,
        force: Annotated[bool, Say("Replace a file that exists.", not_on={"http": "the answer is the file"})] = False,
        salvage: Annotated[bool, Say("Of a damaged store, export what can be read and name the rest.")] = False,
    ) -> ExportReport:
        """The file has JSON lines: items with all versions, the bin, links, use, verdicts and what was learned. Vectors
        are not included; they are made again on import. Without a file, it writes to standard output.
        """
        from ricordo.plugins.transfer.export import export

        return export(self._context, target, log=log, force=force, salvage=salvage)

    @verb(
        "admin",
        "add",
        "Read an export, or the notes of another program.",
        is_long=True,
        examples=(
            "ricordo import everything.jsonl",
            "ricordo import everything.jsonl --on-conflict overwrite",
            "ricordo import --from obsidian ~/vault",
            "ricordo import --from mem0 memories.json",
            "ricordo import --from claude export.zip",
        ),
        creates=True,
    )
    def import_(
        self,
        source: Annotated[Source, Say("The file or folder to read.", http="file", shown="FILE|FOLDER|-", kind="path")],
        *,
        format: Annotated[  # noqa: A002 - the word for it
            str,
            Say(
                "Which program wrote the file or folder.",
                name="from",
                http="format",
                choices=OWN_FORMATS,
                seam="importers",
                shown="PROGRAM",
            ),
        ] = "ricordo",
        on_conflict: Annotated[OnConflict, Say("What to do with an item that is stored already.")] = "skip",
        allow_secrets: AllowSecrets = False,
        wait: Wait = True,
        progress: Callable[[Progress], None] | None = None,
    ) -> ImportReport:
        """Take in what ``export`` wrote, or what another program keeps: an Obsidian vault, basic-memory, mem0.
        A file with an error is refused before anything is written.

        Secrets in what other programs remember are redacted unless they are allowed. Folders to refresh, the
        files and addresses that items came from, skills, tools, ``loading`` and "written by the user" are left out, and
        counted in the report, unless you trust the folder that the file is in (``trust FOLDER``): whoever wrote the
        file could otherwise have any file read, or tell agents what to do.
        """
        from ricordo.plugins.transfer import imports

        check_choice("on_conflict", on_conflict, ON_CONFLICT)
        check_choice("format", format, (*OWN_FORMATS, *names_of("importers")))
        context, trust = self._context, imports.is_trusted(source)
        if format == "obsidian":
            report = imports.import_vault(context, source, on_conflict, progress)
        elif format != "ricordo":
            claims = imports.Claims(str(source) if isinstance(source, (str, Path)) else "standard input", trust=trust)
            foreign = brought_as("importers", format)(source, context.files())
            report = imports.save_foreign(
                self, foreign, on_conflict, progress, allow_secrets=allow_secrets, claims=claims
            )
        else:
            with imports.opened(source) as (file, name):
                report = imports.take_records(
                    context, file, name, on_conflict=on_conflict, progress=progress, trust=trust
                )
        return replace(report, saved=context.embed_after(report.saved, wait, progress))

    @verb(
        "admin",
        "look after",
        "Copy a store into another, such as one in PostgreSQL.",
        is_long=True,
        examples=(
            "ricordo migrate ~/.local/share/ricordo/ricordo.db postgresql://ann@db/team",
            "ricordo migrate postgresql://ann@db/team copy.db",
        ),
    )
    def migrate(
        self,
        target: Annotated[
            str | Path, Say("The store to copy into: a path or an address.", longest=REF_TEXT, shown="TO")
        ],
        *,
        encrypt: Annotated[
            bool, Say("Encrypt the copy, or without TO the store itself.", not_on=KEY_AT_HAND, plugin="encryption")
        ] = False,
        decrypt: Annotated[
            bool,
            Say(
                "Let the copy of an encrypted store be readable, or without TO the store itself.",
                not_on=KEY_AT_HAND,
                plugin="encryption",
            ),
        ] = False,
        key: Annotated[
            str,
            Say(
                "With --encrypt: where the key is kept, 'keyring', 'passphrase' or a key file.",
                not_on=KEY_AT_HAND,
                shown="WHERE",
                plugin="encryption",
            ),
        ] = "",
        progress: Callable[[Progress], None] | None = None,
    ) -> MigrateReport:
        """Copy this store into another one, a file or a schema on a server, and compare the two.

        The target is empty, or holds what an earlier run of the same copied; then the rest is copied. This store is
        only read.
        """
        from ricordo.plugins.transfer.migration import migrate

        return migrate(self._context, target, encrypt=encrypt, decrypt=decrypt, key=key, progress=progress)
