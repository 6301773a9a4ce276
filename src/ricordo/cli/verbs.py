"""The table of verbs: where each one lives, its line of help, and its group.

Help, completion and the first look at a command line read this table alone, so that no verb pays for
another's imports.
"""

from __future__ import annotations

from typing import NamedTuple

GROUPS: dict[str, str] = {
    "add": "Add",
    "find": "Find",
    "remember": "Remember",
    "agents": "For agents",
    "look after": "Look after",
}


class CommandRow(NamedTuple):
    """One verb: the module of ``ricordo.cli`` and the attribute that holds its command."""

    module: str
    attribute: str
    line: str
    group: str


def verbs_of(group: str) -> dict[str, CommandRow]:
    """The verbs of one group, in the order help shows them."""
    return {name: entry for name, entry in VERBS.items() if entry.group == group}


RANKING = frozenset({"search", "explain", "context", "skills search", "tools find", "route", "eval"})
"""The verbs that rank with a profile of the user's choice."""
BY_MEANING = frozenset({"semantic", "similar", "suggest-links"})
"""The verbs that rank by likeness alone, whatever the profile."""

VERBS: dict[str, CommandRow] = {
    "init": CommandRow("add", "init", "Make a store for this project.", "add"),
    "add": CommandRow("add", "add", "Add files, folders, globs, URLs or standard input.", "add"),
    "refresh": CommandRow("add", "refresh", "Read items again from where they came from.", "add"),
    "sync": CommandRow("knowledge_verbs", "sync", "Read knowledge files that were changed by hand.", "add"),
    "watch": CommandRow("add", "watch", "Keep folders up to date while they change.", "add"),
    "roots": CommandRow("root_verbs", "roots", "Show the folders that were added, and leave one.", "add"),
    "relocate": CommandRow("root_verbs", "relocate", "Say that files were moved to another folder.", "add"),
    "import": CommandRow("moving_verbs", "import_", "Read an export, or the notes of another program.", "add"),
    "search": CommandRow("find", "search", "Find items by their words and their meaning.", "find"),
    "explain": CommandRow("find", "explain", "Show why an item has its rank, or is not found.", "find"),
    "semantic": CommandRow("find", "semantic", "Find items by meaning alone.", "find"),
    "similar": CommandRow("find", "similar", "Find items like a given one.", "find"),
    "grep": CommandRow("grep", "grep", "Find lines of stored text by a regular expression.", "find"),
    "get": CommandRow("read", "get", "Print an item's text, or its fields.", "find"),
    "open": CommandRow("read", "open_item", "Open an item in your editor, or its page in the browser.", "find"),
    "list": CommandRow("read", "list_items", "List items, newest first.", "find"),
    "tree": CommandRow("read", "tree", "Show refs as a tree.", "find"),
    "history": CommandRow("read", "history", "List the versions of an item.", "find"),
    "diff": CommandRow("read", "diff", "Show what changed between two versions.", "find"),
    "remember": CommandRow("memory_verbs", "remember", "Save a fact, unless it is stored already.", "remember"),
    "note": CommandRow("memory_verbs", "note", "Save a note.", "remember"),
    "entity": CommandRow("memory_verbs", "entity", "Save a person, place, project or thing.", "remember"),
    "resource": CommandRow("memory_verbs", "resource", "Save a pointer to a page, tool or document.", "remember"),
    "entry": CommandRow("memory_verbs", "entry", "Save an entry of a log or journal.", "remember"),
    "save": CommandRow("memory_verbs", "save", "Save a text of any kind, under a ref of your choice.", "remember"),
    "correct": CommandRow("memory_verbs", "correct", "Replace a wrong item by a right text.", "remember"),
    "supersede": CommandRow("memory_verbs", "supersede", "Replace an item by a newer one.", "remember"),
    "forget": CommandRow("memory_verbs", "forget", "Archive items, so that search no longer finds them.", "remember"),
    "edit": CommandRow("change", "edit", "Change an item's text or fields; the old version is kept.", "remember"),
    "mv": CommandRow("change", "mv", "Give an item another ref.", "remember"),
    "rm": CommandRow("change", "rm", "Remove items; they can be restored for a while.", "remember"),
    "restore": CommandRow(
        "change", "restore", "Bring back a removed or archived item, or an earlier version.", "remember"
    ),
    "link": CommandRow("link_verbs", "link", "Link one item to another.", "remember"),
    "unlink": CommandRow("link_verbs", "unlink", "Remove a link.", "remember"),
    "links": CommandRow("link_verbs", "links", "Show what an item links to, and what links to it.", "find"),
    "suggest-links": CommandRow("link_verbs", "suggest_links", "Find items that may be related to one.", "find"),
    "context": CommandRow(
        "agent_verbs", "context", "Tell an agent what it needs for a task, within a budget.", "agents"
    ),
    "skills": CommandRow("agent_verbs", "skills", "Index skills, and find the one for a task.", "agents"),
    "tools": CommandRow("tool_verbs", "tools", "Find and call the tools of other MCP servers.", "agents"),
    "sessions": CommandRow("session_verbs", "sessions", "Index and show sessions of agents.", "agents"),
    "timeline": CommandRow("session_verbs", "timeline", "Show what happened, in order.", "agents"),
    "recent": CommandRow("session_verbs", "recent", "Show what happened last.", "agents"),
    "route": CommandRow("session_verbs", "route", "Find points in earlier sessions from which to continue.", "agents"),
    "feedback": CommandRow("insight_verbs", "feedback", "Say whether a hit was useful.", "find"),
    "learn": CommandRow(
        "insight_verbs", "learn", "Show, freeze or undo what feedback did to the ranking.", "look after"
    ),
    "stats": CommandRow("insight_verbs", "stats", "Show which queries were asked, and what they found.", "look after"),
    "profiles": CommandRow("profile_verbs", "profiles", "Show the ranking profiles and their weights.", "look after"),
    "tiers": CommandRow("tier_verbs", "tiers", "Show the stores that are searched together.", "look after"),
    "hook": CommandRow("hook_verbs", "hook", "Answer a hook of an agent's program: JSON in, JSON out.", "agents"),
    "install": CommandRow("install_verbs", "install", "Set up an agent's program to use Ricordo.", "agents"),
    "uninstall": CommandRow("install_verbs", "uninstall", "Undo install.", "agents"),
    "status": CommandRow("look_after", "status", "Show what the store holds.", "look after"),
    "doctor": CommandRow("look_after", "doctor", "Check the store, and repair it on request.", "look after"),
    "config": CommandRow("config_verbs", "config", "Read and change settings.", "look after"),
    "export": CommandRow("moving_verbs", "export", "Write everything to a file that import can read.", "look after"),
    "backup": CommandRow("moving_verbs", "backup", "Copy the store while it is in use.", "look after"),
    "vacuum": CommandRow("moving_verbs", "vacuum", "Remove unneeded data and shrink the store.", "look after"),
    "migrate": CommandRow(
        "moving_verbs", "migrate", "Copy a store into another, such as one in PostgreSQL.", "look after"
    ),
    "promote": CommandRow("moving_verbs", "promote", "Copy an item with its history to another tier.", "remember"),
    "embed": CommandRow("backlog", "embed", "Make the vectors that are still missing.", "look after"),
    "jobs": CommandRow("backlog", "jobs", "Show the backlog, and retry what failed.", "look after"),
    "reembed": CommandRow("backlog", "reembed", "Make all vectors again with the current model.", "look after"),
    "models": CommandRow("model_verbs", "models", "Show, test and choose the embedding model.", "look after"),
    "eval": CommandRow("measure", "evaluate", "Measure the ranking on a set of judged queries.", "look after"),
    "mcp": CommandRow("mcp_verb", "mcp", "Serve agents over the Model Context Protocol.", "agents"),
    "serve": CommandRow("serve_verbs", "serve", "Serve the page, the API, MCP and hooks.", "agents"),
    "service": CommandRow("serve_verbs", "service", "Look after the server in the background.", "agents"),
    "tokens": CommandRow("serve_verbs", "tokens", "Make and take away tokens for the server.", "look after"),
    "completion": CommandRow("look_after", "completion", "Print the completion script of a shell.", "look after"),
    "version": CommandRow("look_after", "version", "Print the version.", "look after"),
}
