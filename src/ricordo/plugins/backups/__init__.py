"""Backups by themselves: the store is copied once a day of use, and an item can be restored from such a copy."""

from ricordo.config.declare import setting
from ricordo.frozen import frozen
from ricordo.plugin import Plugin

FOLDER = "-copies"
"""How the name of the folder of copies ends, which lies beside the store."""
LOG = "last.log"
"""In that folder: what went wrong with the last copy. Its time is that of the last attempt."""


@frozen
class CopySettings:
    """How much room the copies may take."""

    copies_mb: float = setting(
        1000.0, "Room for the copies of the store that are made once a day of use; 0 makes none.", minimum=0
    )


PLUGIN = Plugin(
    __name__,
    "Copies the store once a day of use.",
    settings={"store": CopySettings},
    on={
        "work_done": "daily:copy_when_due",
        "status": "copies:add_to_status",
        "erased": "copies:erase_copies",
        "before_encryption": "copies:erase_copies",
        "restore_from_copy": "copies:restore",
    },
)
