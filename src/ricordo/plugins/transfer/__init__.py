"""Moves what is stored: exports and imports, and copies of a store in another one."""

from ricordo.plugin import Plugin

PLUGIN = Plugin(
    __name__,
    "Exports a store, imports exports and vaults, and copies a store into another one.",
    verbs=("verbs:TransferVerbs",),
    cli="command",
    public={name: f"values:{name}" for name in ("ExportReport", "ImportReport")},
    routes="http_routes",
)
