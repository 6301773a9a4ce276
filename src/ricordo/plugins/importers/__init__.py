"""Imports from other programs: basic-memory, mem0, the memory server, Claude and ChatGPT."""

from ricordo.plugin import Plugin

PLUGIN = Plugin(
    __name__,
    "Imports what other programs keep.",
    needs=("transfer",),
    importers={
        "basic-memory": "programs:read_basic_memory",
        "mem0": "programs:read_memories",
        "memory-server": "programs:read_memory_server",
        "claude": "programs:read_claude",
        "chatgpt": "programs:read_chatgpt",
    },
)
