"""What a store knows about sync through folders: the folders, the machines that are let in, and the log.

Files are read and written elsewhere; here is only what they mean for the store. Every call is one transaction.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterable, Sequence

from ricordo.config.machine import this_machine
from ricordo.errors import UsageError
from ricordo.plugins.sync import rows
from ricordo.plugins.sync.apply import Application, Applied
from ricordo.plugins.sync.capture import Capture, actual_links, wanted_links
from ricordo.plugins.sync.log import FEEDBACK, LINK, NO_ITEMS, LogEntry
from ricordo.plugins.sync.values import USUALLY, WHAT, KnownFolder, Taken
from ricordo.store.base import Store
from ricordo.store.index import segments
from ricordo.store.sql.changes import store_words
from ricordo.store.sql.database import Connection, now_micros
from ricordo.store.values import Backlog
from ricordo.values.items import Saved

_WHAT = "sync_what"
_KEY = "sync_key "
"""Before the number of a folder: the key that its files are encrypted with."""
_NOTE = "sync_note "
"""Before the number of a folder: the note on that key, which may go with everything else in the folder."""
_COMPLETE = "sync_complete "
"""Before the number of a folder: the log that says all that this machine has to say."""
_FOLDER = "id, path, trust_all, log, number, digest, upto, is_whole, stale"


def sync_log(store: Store) -> SyncLog | None:
    """What a store knows about sync; None for one that many share."""
    return SyncLog(store) if store.is_file else None


def refuse_readable_folders(store: Store) -> None:
    """Refuse to encrypt a store whose texts are readable in a folder through which it syncs."""
    log = sync_log(store)
    folders = log.folders() if log is not None else []
    if readable := [folder.path for folder in folders if not folder.key]:
        raise UsageError(
            f"the store syncs through {readable[0]}, where its texts are readable",
            hint=f"Encrypt that first: ‹:sync-folder add {readable[0]} --encrypt›; or end it: ‹:sync-folder rm"
            f" {readable[0]}›. After that, ‹:sync-folder add {readable[0]} --readable› brings a readable one back.",
        )


class SyncLog:
    """Keeps the log of one store."""

    def __init__(self, store: Store) -> None:
        self._opened = store.opened
        self._database = store.opened.database
        self._changes = store.changes

    def folders(self) -> list[KnownFolder]:
        """The folders that this machine syncs through; those of other machines that had this store do not count."""
        with self._database.read() as connection:
            rows = connection.rows(
                f"SELECT {_FOLDER} FROM sync_folders WHERE machine=? ORDER BY id", (this_machine().id,)
            )
            keys = {row[0]: bytes.fromhex(str(connection.meta(f"{_KEY}{row[0]}") or "")) for row in rows}
            complete = {row[0]: connection.meta(f"{_COMPLETE}{row[0]}") for row in rows}
        return [
            KnownFolder(
                identity,
                path,
                bool(trust_all),
                log,
                number,
                digest,
                upto,
                bool(is_whole),
                stale,
                keys[identity],
                complete[identity] == log,
            )
            for identity, path, trust_all, log, number, digest, upto, is_whole, stale in rows
        ]

    def add_folder(self, path: str, *, trust_all: bool) -> None:
        with self._database.write(durable=True) as connection:
            connection.run(
                "INSERT INTO sync_folders(machine, path, trust_all, log, number, digest, upto, is_whole, stale,"
                " added_at) VALUES(?, ?, ?, ?, 0, '', 0, 0, 0, ?)"
                " ON CONFLICT(machine, path) DO UPDATE SET trust_all=excluded.trust_all",
                (this_machine().id, path, int(trust_all), _new_log(), now_micros()),
            )
            [(identity, log, upto)] = connection.rows(
                "SELECT id, log, upto FROM sync_folders WHERE machine=? AND path=?", (this_machine().id, path)
            )
            if not upto:  # a new log begins with the first that there is to say
                connection.set_meta(f"{_COMPLETE}{identity}", log)

    def encrypt_folder(self, folder: KnownFolder, key: bytes) -> None:
        """Encrypt its files from now on, and those that are there again."""
        if key == folder.key:
            return
        with self._database.write(durable=True) as connection:
            connection.set_meta(f"{_KEY}{folder.id}", key.hex())
        self.start_log(folder, anew=True)

    def kept_note(self, folder: KnownFolder, found: bytes) -> bytes:
        """The note on the key of a folder; the one that is found there is kept."""
        name = f"{_NOTE}{folder.id}"
        with self._database.read() as connection:
            kept = bytes.fromhex(str(connection.meta(name) or ""))
        if found and found != kept:
            with self._database.write(durable=True) as connection:
                connection.set_meta(name, found.hex())
        return found or kept

    def remove_folder(self, folder: int) -> None:
        """Sync through a folder no more; everything stays in the store."""
        with self._database.write(durable=True) as connection:
            connection.run_many(
                "DELETE FROM meta WHERE name=?", [(f"{name}{folder}",) for name in (_KEY, _NOTE, _COMPLETE)]
            )
            connection.run("DELETE FROM sync_folders WHERE id=?", (folder,))
            connection.run("DELETE FROM sync_files WHERE folder=?", (folder,))

    def has_entries(self) -> bool:
        """Whether anything is written down, perhaps for a folder that is no longer there."""
        with self._database.read() as connection:
            return bool(connection.rows("SELECT EXISTS (SELECT 1 FROM sync_entries)")[0][0])

    def what(self) -> tuple[str, ...]:
        """What the user chose to travel."""
        with self._database.read() as connection:
            return _what(connection)

    def choose(self, what: Sequence[str]) -> None:
        with self._database.write(durable=True) as connection:
            connection.set_meta(_WHAT, ",".join(what))

    def let_in(self) -> dict[str, str]:
        """The machines that the user let in: their ids and names."""
        with self._database.read() as connection:
            return dict(connection.rows("SELECT machine, name FROM sync_machines WHERE let_in_at > 0"))

    def accept(self, machine: str, name: str) -> None:
        with self._database.write(durable=True) as connection:
            if machine in _shut_out(connection):  # others may have passed on what it said, which was not taken in
                own = f"machines/{this_machine().id}/"
                connection.run("DELETE FROM sync_files WHERE substr(place, 1, ?) <> ?", (len(own), own))
            connection.run(
                "INSERT INTO sync_machines(machine, name, let_in_at) VALUES(?,?,?)"
                " ON CONFLICT(machine) DO UPDATE SET name=excluded.name, let_in_at=excluded.let_in_at",
                (machine, name, now_micros()),
            )

    def shut_out(self, machine: str, name: str) -> None:
        """Take in nothing (more) from a machine, also not through others; what it said so far stays."""
        with self._database.read() as connection:
            if machine in _shut_out(connection):
                return  # every sync says so, and a write would let other processes sync again
        with self._database.write(durable=True) as connection:
            connection.run(
                "INSERT INTO sync_machines(machine, name, let_in_at) VALUES(?,?,0)"
                " ON CONFLICT(machine) DO UPDATE SET name=excluded.name, let_in_at=0",
                (machine, name),
            )

    def files(self, folder: int) -> set[str]:
        """The files of a folder that were written or taken in."""
        with self._database.read() as connection:
            return {place for (place,) in connection.rows("SELECT place FROM sync_files WHERE folder=?", (folder,))}

    def apart(self, item: str) -> tuple[int, ...]:
        """The versions of an item that were written on two machines at the same time, the current one last."""
        with self._database.read() as connection:
            rows = connection.rows("SELECT apart FROM sync_items WHERE item=?", (item,))
        return tuple(json.loads(rows[0][0])) if rows else ()

    def capture(self, backlog: Backlog | None) -> int:
        """Write down what was changed here since the last time; returns how many changes that are."""
        written = 0

        def write() -> list[Saved]:
            nonlocal written
            with self._database.write(durable=True) as connection:
                capture = _capture(connection)
                capture.all()
                showing = Application(connection, self._opened, backlog)
                showing.show(capture.changed)
                self._index(connection, showing)
            written = capture.written
            return []

        self._tried_again(write)
        return written

    def _tried_again(self, write: Callable[[], list[Saved]]) -> None:
        """Do a write; if somebody edits a knowledge file at that moment, the edit is taken in, and it is done again."""
        if self._opened.mirror is None:
            write()
        else:
            self._opened.mirror.tried_again(write)

    def _index(self, connection: Connection, showing: Application) -> None:
        showing.index()
        store_words(connection, self._opened.analyzer)

    def unwritten(self, folder: KnownFolder, limit: int = -1) -> list[tuple[int, LogEntry]]:
        """What the log in a folder lacks, the oldest first."""
        with self._database.read() as connection:
            return rows.unwritten(connection, folder.id, folder.upto, limit, is_whole=folder.is_whole)

    def count_unwritten(self, folder: KnownFolder) -> int:
        with self._database.read() as connection:
            return rows.count_unwritten(connection, folder.id, folder.upto, is_whole=folder.is_whole)

    def wrote(self, folder: KnownFolder, place: str, number: int, digest: str, *, upto: int) -> None:
        """Note that a file was written."""
        with self._database.write(durable=True) as connection:
            connection.run("INSERT OR IGNORE INTO sync_files VALUES(?,?)", (folder.id, place))
            connection.run(
                "UPDATE sync_folders SET number=?, digest=?, upto=max(upto, ?) WHERE id=? AND log=?",
                (number, digest, upto, folder.id, folder.log),
            )

    def start_log(self, folder: KnownFolder, *, anew: bool = False, is_whole: bool = False) -> None:
        """Write another log from now on; ``anew`` with what the old one has, ``is_whole`` with all that is known."""
        with self._database.write(durable=True) as connection:
            connection.run(
                "UPDATE sync_folders SET log=?, number=0, digest='', upto=CASE WHEN ? THEN 0 ELSE upto END,"
                " is_whole=max(is_whole, ?), stale=CASE WHEN ? THEN 2 ELSE stale END WHERE id=?",
                (_new_log(), int(anew), int(is_whole), int(anew), folder.id),
            )

    def end_rewriting(self, folder: KnownFolder) -> None:
        """The log that was written anew is complete."""
        with self._database.write(durable=True) as connection:
            connection.run("UPDATE sync_folders SET stale=0 WHERE id=? AND stale=2 AND log=?", (folder.id, folder.log))
            connection.set_meta(f"{_COMPLETE}{folder.id}", folder.log)

    def forget_files(self, folder: int, places: Iterable[str]) -> None:
        """Files that are gone from a folder."""
        with self._database.write() as connection:
            connection.run_many("DELETE FROM sync_files WHERE folder=? AND place=?", [(folder, one) for one in places])

    def take(
        self, folder: int, place: str, entries: Sequence[LogEntry], backlog: Backlog | None, *, is_own: bool = False
    ) -> Taken:
        """Take in one file. ``is_own`` for a file that this machine wrote before it was restored from a backup."""
        taken = Taken()

        def write() -> list[Saved]:
            nonlocal taken
            taken = self._take(None if is_own else folder, folder, place, entries, backlog=backlog)
            return []

        self._tried_again(write)
        return taken

    def _take(
        self, came: int | None, folder: int, place: str, entries: Sequence[LogEntry], *, backlog: Backlog | None
    ) -> Taken:
        with self._database.write(durable=True) as connection:
            capture = _capture(connection)
            capture.all()  # what is overwritten below must be known
            barred = _shut_out(connection)
            believed = [entry for entry in entries if entry.writer not in barred]
            new = [entry for entry in believed if rows.add(connection, entry, came)]
            showing = Application(connection, self._opened, backlog)
            changed = {entry.item for entry in new if entry.kind not in NO_ITEMS}
            showing.show(changed | capture.changed)
            self._settle_others(connection, showing.done, new)
            self._index(connection, showing)
            connection.run("INSERT OR IGNORE INTO sync_files VALUES(?,?)", (folder, place))
        self._forget(showing.done)
        counts = showing.done.counts
        return Taken(len(new), dict(counts), tuple(showing.done.apart))

    def _forget(self, done: Applied) -> None:
        """After the commit: erase words that nobody may read any more, and merge what falls due."""
        for forget in done.after:
            forget(self._database)
        if done.erased:
            self._changes.forget_words(done.erased)
            self._database.checkpoint()
        segments.maintain(self._database)

    def _settle_others(self, connection: Connection, done: Applied, new: Sequence[LogEntry]) -> None:
        """Links and verdicts, which may have waited for their items."""
        has_new_items = bool(done.counts["created"] or done.erased)
        if has_new_items or any(entry.kind == LINK for entry in new):
            _settle_links(connection)
        if has_new_items or any(entry.kind == FEEDBACK for entry in new):
            _settle_feedback(connection)


def _what(connection: Connection) -> tuple[str, ...]:
    chosen = connection.meta(_WHAT)
    return USUALLY if chosen is None else tuple(one for one in str(chosen).split(",") if one in WHAT)


def _shut_out(connection: Connection) -> set[str]:
    """The machines that the user did not let in, or shut out again."""
    return {machine for (machine,) in connection.rows("SELECT machine FROM sync_machines WHERE let_in_at = 0")}


def _capture(connection: Connection) -> Capture:
    what = _what(connection)
    return Capture(connection, this_machine().id, what, [kind for one in what for kind in WHAT[one]])


def _settle_links(connection: Connection) -> None:
    numbers: dict[str, int] = dict(connection.rows("SELECT i.id, i.n FROM items i JOIN sync_items s ON s.item = i.id"))
    actual = actual_links(connection)
    for (source, target, kind), (exists, at) in wanted_links(connection).items():
        if not {source, target} <= numbers.keys() or exists == ((source, target, kind) in actual):
            continue
        if exists:
            connection.run(
                "INSERT INTO links(source, target, type, origin, text, name, created_at)"
                " VALUES(?,?,?,'manual','','',?) ON CONFLICT DO NOTHING",
                (numbers[source], numbers[target], kind, at),
            )
        else:
            connection.run(
                "DELETE FROM links WHERE source=? AND target=? AND type=? AND origin='manual'",
                (numbers[source], numbers[target], kind),
            )


def _settle_feedback(connection: Connection) -> None:
    numbers: dict[str, int] = dict(connection.rows("SELECT i.id, i.n FROM items i JOIN sync_items s ON s.item = i.id"))
    for _, entry in rows.of_kind(connection, FEEDBACK):
        body = entry.body
        if entry.item in numbers:
            connection.run(
                "INSERT INTO feedback(query, item, ref, verdict, counted, at) SELECT ?,?,?,?,?,? WHERE NOT EXISTS"
                " (SELECT 1 FROM feedback WHERE item=? AND at=? AND query=? AND verdict=?)",
                (
                    body["query"], numbers[entry.item], body["ref"], body["verdict"], int(body["counted"]), body["at"],
                    numbers[entry.item], body["at"], body["query"], body["verdict"],
                ),
            )  # fmt: skip


def _new_log() -> str:
    return secrets.token_hex(4)
