"""The history of git repositories: each commit is an item, linked to the files that it changed."""

from ricordo.plugin import Plugin

PLUGIN = Plugin(
    __name__,
    "Adds the commits of git repositories.",
    drives={"git": "commits:refresh"},
    on={
        "add_history": "commits:add",
        "items_of_folder": "commits:items_of_folder",
        "further_versions": "commits:further_versions",
    },
)
