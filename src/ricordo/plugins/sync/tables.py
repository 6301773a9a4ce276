"""The tables that sync through folders adds to a store in a file."""

from __future__ import annotations

from ricordo.store.tables import Table

TABLES = {
    # What machines said that sync through a folder, this one among them.
    "sync_entries": Table(
        "id serial,"
        " uid text,"  # its name, which follows from what it says
        " kind text,"  # version | state | erase | link | feedback | word
        " item text, clock int, writer text,"
        " parents json,"  # the uids of what it was made on top of
        " body bytes,"  # compressed JSON; empty once it was erased
        " folder int?",  # the folder that it came through; none for what was done here
        "id",
        {
            "sync_entries_uid": "unique uid",
            "sync_entries_item": "item",
            "sync_entries_clock": "clock",
            "sync_entries_others": "kind where kind IN ('link', 'feedback')",
        },
    ),
    "sync_erased": Table("uid text", "uid", by_key=True),
    # The items that sync, as they were when files and store last agreed.
    "sync_items": Table(
        "item text,"
        " seen text,"  # version, hash, state, the user's word and ref
        " wanted text,"  # the ref that it has unless another item has it; empty in the bin
        " apart json",  # versions that were written apart from each other, the current one last
        "item",
        {"sync_items_wanted": "wanted"},
        by_key=True,
    ),
    "sync_versions": Table("item text, number int, uid text, hash text, created_at int", "item, number", by_key=True),
    "sync_machines": Table("machine text, name text, let_in_at int", "machine", by_key=True),
    "sync_folders": Table(
        "id serial, machine text, path text,"
        " trust_all int,"  # whether every machine in it is let in
        " log text, number int, digest text,"  # the log that this machine writes there, and its last file
        " upto int,"  # entries up to this id are in the log
        " is_whole int,"  # whether entries that came through this folder are in the log, too
        " stale int,"  # 1 if the log must be written anew (texts were erased, files are gone), 2 meanwhile
        " added_at int",
        "id",
        {"sync_folders_path": "unique machine, path"},
    ),
    "sync_files": Table("folder int, place text", "folder, place", by_key=True),
}
