"""Sets agents' programs up: the MCP server, hooks and a skill in their files, and all of it out of them again."""

from ricordo.plugin import Command, Plugin

PLUGIN = Plugin(
    __name__,
    "Sets agents' programs up to use Ricordo.",
    commands={
        "install": Command("agents", "Set up an agent's program to use Ricordo."),
        "uninstall": Command("agents", "Undo install."),
    },
    cli="command",
)
