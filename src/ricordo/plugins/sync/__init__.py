"""Sync between the machines of one person, through a folder that some other program copies."""

from ricordo.plugin import Command, Plugin

PLUGIN = Plugin(
    __name__,
    "Syncs a store with your other machines, through a folder.",
    verbs=("verbs:SyncVerbs",),
    commands={
        "sync-folder": Command(
            "look after",
            "Sync with your other machines through a folder.",
            "status",
            "The folder is brought to your machines by something else: Syncthing, iCloud, Dropbox, git, a USB stick."
            " 'sync', without a folder, brings your Markdown files and the store together.",
        )
    },
    cli="show",
    tables="tables:TABLES",
    on={
        "opened": "verbs:note_state",
        "work_done": "verbs:sync_what_changed",
        "versions_apart": "verbs:versions_apart",
        "before_encryption": "state:refuse_readable_folders",
    },
)
