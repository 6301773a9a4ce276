"""The tool names of the documents that Ricordo grew from, for programs that expect them."""

from ricordo.plugin import Plugin, Toolset

PLUGIN = Plugin(
    __name__,
    "Offers agents tools under names that their programs may expect.",
    tools={
        "memory": Toolset("mcp_tools:MEMORY"),
        "context": Toolset("mcp_tools:CONTEXT", reader="context_read"),
        "vault": Toolset("mcp_tools:VAULT"),
        "knowledge": Toolset("mcp_tools:KNOWLEDGE"),
    },
)
