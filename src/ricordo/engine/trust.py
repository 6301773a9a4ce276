"""The verb with which the user trusts a project or a folder: trust."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ricordo import registry
from ricordo.config.files import CONFIG_NAME, PROJECT_FOLDER, nearest_project
from ricordo.config.loading import SETTINGS, STORE_NAME, StoreLocation, distrust, trust
from ricordo.config.trust_lists import TRUSTED, is_in_trusted_folder, note_place, trusted_places, withdraw_place
from ricordo.engine.context import OpenEngine
from ricordo.errors import NotFound, ReadOnlyStore, UsageError
from ricordo.nofollow import real_path
from ricordo.permissions import refuse_agents, refuse_settings
from ricordo.sources.disk import disk_ref, ref_path
from ricordo.values.hits import Filters
from ricordo.values.items import Item
from ricordo.values.provenance import TrustReport
from ricordo.verbs.declare import verb

if TYPE_CHECKING:
    from typing import Annotated

    from ricordo.store.base import Store
    from ricordo.verbs.declare import Say
    from ricordo.verbs.parameters import REF_TEXT, DryRun


_ALL = 1 << 30


class TrustVerbs(OpenEngine):
    """Says what a project or a folder brings, and lets the user trust it."""

    @verb(
        "admin",
        "look after",
        "Trust what a project or a folder of yours brings.",
        not_on={"mcp": "only the user gives trust", "http": "places are trusted on the machine that they are on"},
        examples=("ricordo trust", "ricordo trust ~/notes", "ricordo trust --list", "ricordo trust --withdraw"),
        creates=True,
        asks="everybody",
    )
    def trust(
        self,
        folder: Annotated[
            str | Path, Say("The project or folder; without one, the project here.", longest=REF_TEXT, shown="FOLDER")
        ]
        | None = None,
        *,
        list: Annotated[bool, Say("Only list what is trusted.")] = False,  # noqa: A002 - the word for it
        withdraw: Annotated[bool, Say("Trust it no more.")] = False,
        dry_run: DryRun = False,
    ) -> TrustReport:
        """What came with a repository is searched and told to agents as data. Once you trust it, its store, its
        knowledge files and the files that were added from it count as your own words, and its settings may run
        commands and reach hosts. Trust is kept in your data folder by the place and the store's id: it ends when
        either changes, and a settings file must be trusted again when it changes. A folder without a store can be
        trusted, too; then the files that are added from it count as yours.
        """
        if list:
            return TrustReport("listed", places=trusted_places())
        if not dry_run:
            refuse_settings("what is trusted")
            refuse_agents("give trust")
        place = self._place(folder)
        store = place / PROJECT_FOLDER / STORE_NAME
        settings = place / PROJECT_FOLDER / CONFIG_NAME
        if withdraw and dry_run:
            return TrustReport("would be withdrawn", str(place))
        if withdraw:
            was = withdraw_place(place, store)
            was = distrust(settings) or was
            self._read_again(place, withdraw=True)
            self._context.projects.look()
            return TrustReport("withdrawn" if was else "not trusted before", str(place))
        report = self._grants(place, store, settings)
        if dry_run:
            return report
        if store.is_file():
            with self._opened(store) as opened:
                if not opened.store_id:
                    raise ReadOnlyStore(
                        f"the store {store} has no id yet and cannot be written", hint="Make it writable once."
                    )
                note_place(store, TRUSTED, opened.store_id)
                # Files are taken in again whose claims were not believed before.
                rows = opened.knowledge.files(report.knowledge).values()
                opened.knowledge.note([replace(row, mtime=-1, hash="") for row in rows])
        note_place(place, TRUSTED)
        if settings.is_file():
            trust(settings)
        self._context.projects.look()
        self._context.begin_anew()
        self._read_again(place)
        return replace(report, status="trusted")

    def _place(self, folder: str | Path | None) -> Path:
        if folder is None:
            project = nearest_project(self._context.start)
            if project is None:
                raise UsageError("this folder belongs to no project", hint="Name the folder to trust.")
            return Path(real_path(project.parent))
        place = Path(real_path(self._context.start / Path(folder).expanduser()))
        if not place.is_dir():
            raise NotFound(f"there is no folder {place}", hint="Name a folder; a file is trusted with its folder.")
        return place.parent if place.name == PROJECT_FOLDER else place

    @contextmanager
    def _opened(self, path: Path) -> Iterator[Store]:
        """A project's store: the engine's own, or another one."""
        if self._context.is_open and real_path(self._context.location) == real_path(path):
            yield self._context.unsynced_store
            return
        other = registry.open_store(StoreLocation(path, "flag"), self._context.config, create=False)
        try:
            yield other
        finally:
            other.close()

    def _grants(self, place: Path, store: Path, settings: Path) -> TrustReport:
        """What is in a place and would count as the user's."""
        report = TrustReport(
            "would be trusted",
            str(place),
            repository=next((str(one) for one in (place, *place.parents) if (one / ".git").exists()), ""),
            files=tuple(str(item.ref) for _, item in self._added_from(place) if item.fields.loading == "always"),
            settings=_needing_trust(settings),
        )
        if not store.is_file():
            return report
        with self._opened(store) as opened:
            always = opened.items.listing(Filters(loadings=("always",)), _ALL, 0)
            skills = opened.items.listing(Filters(kinds=("skill",)), _ALL, 0)
            return replace(
                report,
                store=str(store),
                always=tuple(str(item.ref) for _, item in always),
                skills=tuple(str(item.ref) for _, item in skills),
                knowledge=_claiming(store.parent / "knowledge"),
            )

    def _added_from(self, place: Path) -> Sequence[tuple[int, Item]]:
        """The items of files in a folder, in the engine's own store."""
        items = self._context.unsynced_store.items
        below = items.refs_below("disk", disk_ref(place, self._context.file_refs).path)
        return tuple(items.get_many([n for n, _, _ in below]).items())

    def _read_again(self, place: Path, *, withdraw: bool = False) -> None:
        """Read the files that were added from a folder again, as it is trusted now."""
        from ricordo.engine.items import adding_to

        found = self._added_from(place)
        if withdraw:
            loaded = [
                n for n, item in found if item.fields.source == "user" and not is_in_trusted_folder(self._file(item))
            ]
            self._context.unsynced_store.changes.withdraw_word(loaded)
        wanted = "file" if not withdraw else "user"
        files = [file for _, item in found if item.fields.source == wanted and (file := self._file(item)).is_file()]
        if files:
            adding_to(self._context, "overwrite", None).sources(files, globs=(), as_ref=None)

    def _file(self, item: Item) -> Path:
        return ref_path(item.ref, self._context.file_refs)


def _needing_trust(file: Path) -> tuple[str, ...]:
    """What a project's settings file sets that needs trust, as it stands there."""
    from ricordo.config.files import parse_toml, read_bytes

    tables = parse_toml(read_bytes(file) or b"", file)
    rows = [
        (known, value)
        for section, table in tables.items()
        if isinstance(table, dict)
        for key, value in table.items()
        if (known := SETTINGS.get(f"{section}.{key}")) is not None and not known.harmless
    ]
    return tuple(f"{known.name} = {known.shown(value)}" for known, value in rows)


def _claiming(place: Path) -> tuple[str, ...]:
    """The knowledge files that say that the user wrote them, or that every agent gets them."""
    from ricordo.errors import Unreadable
    from ricordo.memory.files import format as file_format
    from ricordo.memory.files.folder import KnowledgeFolder

    folder = KnowledgeFolder(place)
    names = []
    for name in sorted(folder.scan()) if folder.exists() else ():
        try:
            fields = file_format.read(folder.read(name).data, name).fields
        except (OSError, Unreadable):
            continue
        if fields.get("source") == "user" or fields.get("loading") == "always":
            names.append(name)
    return tuple(names)
