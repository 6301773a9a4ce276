"""Verbs for sync between the machines of one person, through a folder that some other program copies: sync-folder.

The verb ``sync``, which brings knowledge files and store together, has nothing to do with it.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ricordo.engine.checks import check_choice, texts
from ricordo.engine.context import EngineContext, OpenEngine
from ricordo.errors import Error, NotFound, UsageError
from ricordo.permissions import refuse_agents, refuse_settings
from ricordo.plugin import ask
from ricordo.plugins.sync.values import WHAT, SyncFolder, SyncMachine, SyncRun, SyncState
from ricordo.store.base import Store
from ricordo.vault import is_encrypted
from ricordo.verbs.declare import verb

if TYPE_CHECKING:
    from typing import Annotated

    from ricordo.plugins.sync.state import SyncLog
    from ricordo.plugins.sync.values import KnownFolder
    from ricordo.verbs.declare import Say
    from ricordo.verbs.parameters import NAME_TEXT, REF_TEXT


SYNC_SECONDS = 30.0
"""How often a program that stays looks for what other machines wrote."""
_NOT_ON = {
    "mcp": "only the user decides where memory travels",
    "http": "folders are chosen on the machine that they are on",
}


class SyncVerbs(OpenEngine):
    """Lets the user choose folders to sync through, and machines to believe."""

    @verb(
        "admin",
        "look after",
        "Sync with your other machines through a folder.",
        path="sync-folder add",
        not_on=_NOT_ON,  # type: ignore[arg-type]  # its keys are names of faces
        examples=(
            "ricordo sync-folder add ~/Dropbox/ricordo",
            "ricordo sync-folder add /media/stick/ricordo --what memories --what notes",
        ),
        creates=True,
    )
    def sync_folder_add(
        self,
        folder: Annotated[
            str | Path,
            Say("A folder that something brings to your machines.", longest=REF_TEXT, shown="PATH"),
        ],
        *,
        what: Annotated[
            Sequence[str],
            Say("What travels (repeatable); usually all but documents.", choices=tuple(WHAT), shown="WHAT"),
        ]
        | None = None,
        trust_all: Annotated[bool, Say("Let in every machine that writes to the folder, without asking.")] = False,
        encrypt: Annotated[
            bool, Say("Encrypt the files, with a key that your machines share.", plugin="encryption")
        ] = False,
        key: Annotated[
            str,
            Say(
                "With --encrypt: 'passphrase' (the usual), or a key file, on each machine.",
                shown="WHERE",
                plugin="encryption",
            ),
        ] = "",
        readable: Annotated[
            bool, Say("Let the files be readable, although the store is encrypted.", plugin="encryption")
        ] = False,
    ) -> SyncFolder:
        """Any folder will do that something brings to your machines: Syncthing, iCloud, Dropbox, a git repository, a
        USB stick. This machine writes its changes to files there that it alone writes, and takes in those of machines
        that you let in (``sync-folder accept``). What travels is chosen for the whole store; ``documents`` sends files
        and pages whole. The first machine that encrypts makes the key; on the others, the same passphrase or a copy of
        the key file is needed once.
        """
        from ricordo.plugins.sync.log import folder_key
        from ricordo.plugins.sync.run import state_of

        refuse_settings("where a store is synced")
        refuse_agents("choose where memory travels")
        log = self._sync_log()
        place = _folder(self._context.start, folder)
        name = str(place)
        chosen = texts("what", what or ())
        for one in chosen:
            check_choice("what", one, tuple(WHAT))
        known = next((one for one in log.folders() if one.path == name), None)
        if key and not encrypt:
            raise UsageError("‹key› says how the files are encrypted", hint="Give ‹encrypt›, too, or leave out ‹key›.")
        if not (encrypt or (known and known.key)):
            self._refuse_readable(place, readable=readable)
        shared = folder_key(place, key) if encrypt else b""
        if chosen:
            log.choose([one for one in WHAT if one in chosen])
        log.add_folder(name, trust_all=trust_all or bool(known and known.trust_all))
        if encrypt:
            log.encrypt_folder(self._folder_at(name), shared)
        self._run(log)
        return state_of(log, self._folder_at(name))

    @verb(
        "admin",
        "look after",
        "Write changes to the folders of sync, and take in those of others.",
        path="sync-folder now",
        not_on={"mcp": "it runs by itself"},
        examples=("ricordo sync-folder now",),
    )
    def sync_folder_now(self) -> SyncRun:
        """It also runs by itself: in the server, and after commands that change something. If the same item was edited
        on two machines, both texts are kept as versions, and the answer names the item. The vectors of what came are
        made, too, unless it runs by itself.
        """
        log = self._sync_log()
        if not log.folders():
            raise NotFound("this store syncs through no folder", hint="‹:sync-folder add PATH› names one.")
        return self._run(log)

    @verb(
        "read",
        "look after",
        "Show the folders of sync, and the machines that write to them.",
        path="sync-folder status",
        not_on={"mcp": "it is the user's business"},
        examples=("ricordo sync-folder status",),
    )
    def sync_folder_status(self) -> SyncState:
        """Also whether a folder is gone, which machines are not let in, and what waits to be written or taken in."""
        from ricordo.plugins.sync.run import state_of

        log = self._sync_log()
        return SyncState(log.what(), tuple(state_of(log, folder) for folder in log.folders()))

    @verb(
        "admin",
        "look after",
        "Let in a machine that writes to a folder of sync.",
        path="sync-folder accept",
        not_on=_NOT_ON,  # type: ignore[arg-type]
        examples=("ricordo sync-folder accept laptop", "ricordo sync-folder accept old-laptop --off"),
    )
    def sync_folder_accept(
        self,
        machine: Annotated[str, Say("Its name or its id.", longest=NAME_TEXT, shown="MACHINE")],
        *,
        off: Annotated[bool, Say("Take in nothing more from it; what it said so far stays.")] = False,
    ) -> SyncMachine:
        """What you wrote there counts as your own words here from now on. So let in machines of your own alone: whoever
        can write to the folder can write in the name of any machine in it. A folder that lets in everybody asks for
        each other machine once one is shut out.
        """
        refuse_settings("which machines are let in")
        log = self._sync_log()
        found = self._machine_named(machine)
        if off:
            log.shut_out(found.id, found.name)
            for folder in log.folders():
                if folder.trust_all:
                    log.add_folder(folder.path, trust_all=False)
            return SyncMachine(found.id, found.name, False, found.is_this, found.files, found.waiting)
        refuse_agents("let in a machine")
        log.accept(found.id, found.name)
        self._run(log)
        return self._machine_named(found.id)

    @verb(
        "admin",
        "look after",
        "Sync through a folder no more.",
        path="sync-folder rm",
        not_on=_NOT_ON,  # type: ignore[arg-type]
        examples=("ricordo sync-folder rm ~/Dropbox/ricordo",),
    )
    def sync_folder_rm(
        self, folder: Annotated[str | Path, Say("The folder.", longest=REF_TEXT, shown="PATH")]
    ) -> SyncFolder:
        """The store keeps all that it has, and the files stay in the folder for the other machines."""
        refuse_settings("where a store is synced")
        log = self._sync_log()
        is_noted = any(one.path == str(folder) for one in log.folders())  # as it is: earlier versions took addresses
        found = self._folder_at(str(folder if is_noted else _absolute(self._context.start, folder)))
        log.remove_folder(found.id)
        return SyncFolder(found.path, Path(found.path).is_dir())

    def _run(self, log: SyncLog) -> SyncRun:
        """Sync because somebody asked for it, and make the vectors of what came, however much that is."""
        done = run_sync(self._context, log)
        self._context.embed_waiting()
        return done

    def _refuse_readable(self, place: Path, *, readable: bool) -> None:
        """Refuse to write readable files for an encrypted store, or beside encrypted files."""
        from ricordo.plugins.sync.log import has_key

        if not readable and is_encrypted(self._context.location):
            raise UsageError(
                "the store is encrypted, and its texts would be readable in the folder",
                hint="‹encrypt› encrypts them there, too; ‹readable› says that they may be read.",
            )
        if has_key(place):
            raise UsageError(
                f"the files in {place} are encrypted, and those of this machine would be readable",
                hint="Give ‹encrypt› and the passphrase, or the key file, of your other machines.",
            )

    def _sync_log(self) -> SyncLog:
        from ricordo.plugins.sync.state import sync_log

        log = sync_log(self._context.store)
        if log is None:
            raise UsageError(
                "a store in PostgreSQL is not synced through folders",
                hint="All your machines can use the same database: name it in store.path on each.",
            )
        return log

    def _folder_at(self, path: str) -> KnownFolder:
        folders = {folder.path: folder for folder in self._sync_log().folders()}
        if path not in folders:
            listed = ", ".join(folders) or "none"
            raise NotFound(f"this store does not sync through {path}", hint=f"It syncs through: {listed}.")
        return folders[path]

    def _machine_named(self, name: str) -> SyncMachine:
        """The machine with a name or an id, among those that write to the folders."""
        machines = {one.id: one for folder in self.sync_folder_status().folders for one in folder.machines}
        found = [one for one in machines.values() if not one.is_this and name in (one.id, one.name)]
        if len(found) == 1:
            return found[0]
        others = ", ".join(f"{one.name} ({one.id})" for one in machines.values() if not one.is_this)
        if found:
            raise UsageError(f"several machines are called {name}", hint=f"Give the id of one: {others}.")
        raise NotFound(
            f"no machine {name} writes to a folder of this store",
            hint=f"Those that do: {others}."
            if others
            else "None does yet: sync there first, and let the files arrive.",
        )


def run_sync(context: EngineContext, log: SyncLog) -> SyncRun:
    """Sync through all folders of a store, and look up links again if entities are among what came."""
    from ricordo.plugins.sync.run import FolderSync

    report = FolderSync(log, context.models.backlog()).run()
    _times(context).synced_at = context.unsynced_store.changes_seen()
    if report.erased:
        ask("erased", context.unsynced_store)
    if report.created + report.updated and context.unsynced_store.items.entity_titles():
        context.unsynced_store.links.relink()
    return report


@dataclass
class _SyncTimes:
    """How a store was when it last synced here, or was opened, and when a program that stays looks again."""

    synced_at: int
    next_look: float = 0.0


def note_state(context: EngineContext) -> None:
    """Note how a store was when it was opened, if it syncs."""
    if context.is_open and _has_synced(context.unsynced_store):
        context.of_plugins["sync"] = _SyncTimes(context.unsynced_store.changes_seen())


def _has_synced(store: Store) -> bool:
    """Whether it syncs through a folder, or did, so that the log of that holds texts."""
    if not store.is_file:
        return False
    database = store.opened.database
    with database.read() as connection:
        if database.read_only and not connection.rows("SELECT 1 FROM sqlite_schema WHERE name='sync_folders'"):
            return False  # it was made without this plugin
        return bool(connection.once("SELECT 1 FROM sync_folders UNION ALL SELECT 1 FROM sync_entries LIMIT 1"))


def versions_apart(store: Store, item: str) -> tuple[int, ...]:
    """The versions of an item that were written on two machines at the same time."""
    if not _has_synced(store):
        return ()
    from ricordo.plugins.sync.state import sync_log

    log = sync_log(store)
    return log.apart(item) if log is not None else ()


def _times(context: EngineContext) -> _SyncTimes:
    times: _SyncTimes = context.of_plugins.setdefault("sync", _SyncTimes(-1))
    return times


def sync_what_changed(engine: OpenEngine, *, now_and_then: bool = False) -> None:
    """Sync through the store's folders if it was changed since it was opened, or last synced here; for programs that
    stay ``now_and_then`` without that, because others may have written. What goes wrong is said by ``sync-folder
    status``, and tried again next time.
    """
    context = engine._context
    if not context.is_open or not _has_synced(context.unsynced_store):
        return
    times = _times(context)
    if now_and_then and time.monotonic() >= times.next_look:
        times.next_look, times.synced_at = time.monotonic() + SYNC_SECONDS, -1
    if context.unsynced_store.changes_seen() == times.synced_at:
        return
    from ricordo.plugins.sync.state import sync_log

    with suppress(Error):
        log = sync_log(context.unsynced_store)
        if log is not None and log.folders():
            run_sync(context, log)
        elif log is not None and log.has_entries():
            log.capture(context.models.backlog())  # what is erased must also go from the log of former folders
            times.synced_at = context.unsynced_store.changes_seen()


def _absolute(start: Path, folder: str | Path) -> Path:
    return Path(start / Path(folder).expanduser()).resolve()


def _folder(start: Path, folder: str | Path) -> Path:
    """The path of a folder that is there."""
    text = str(folder)
    if not text.strip():
        raise UsageError("the folder has no name", hint="Name it; . is this folder.")
    if "://" in text or re.match(r"[\w.-]+@[\w.-]+:", text):
        raise UsageError(
            f"{text} is no folder of this machine", hint="Mount it (sshfs, rclone), or let Syncthing or git bring it."
        )
    place = _absolute(start, folder)
    if place.exists() and not place.is_dir():
        raise UsageError(f"{place} is a file", hint=f"Name a folder, such as {place.parent}.")
    if not place.is_dir():
        raise NotFound(f"there is no folder {place}", hint=f"Make it first: mkdir -p {place}")
    return place
