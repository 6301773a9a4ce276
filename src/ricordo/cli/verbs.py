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


class VerbRow(NamedTuple):
    """One verb: the module of ``ricordo.cli`` and the attribute that holds its command."""

    module: str
    attribute: str
    line: str
    group: str


def verbs_of(group: str) -> dict[str, VerbRow]:
    """The verbs of one group, in the order help shows them."""
    return {name: entry for name, entry in VERBS.items() if entry.group == group}


RANKING = frozenset({"search", "explain", "context", "skills search", "tools find", "route", "eval"})
"""The verbs that rank with a profile of the user's choice."""
BY_MEANING = frozenset({"semantic", "similar", "suggest-links"})
"""The verbs that rank by likeness alone, whatever the profile."""

VERBS: dict[str, VerbRow] = {
    "init": VerbRow("add", "init", "Make a store for this project.", "add"),
    "add": VerbRow("add", "add", "Add files, folders, globs, URLs or standard input.", "add"),
    "refresh": VerbRow("add", "refresh", "Read items again from where they came from.", "add"),
    "sync": VerbRow("knowledge_verbs", "sync", "Read knowledge files that were changed by hand.", "add"),
    "watch": VerbRow("add", "watch", "Keep folders up to date while they change.", "add"),
    "roots": VerbRow("root_verbs", "roots", "Show the folders that were added, and leave one.", "add"),
    "relocate": VerbRow("root_verbs", "relocate", "Say that files were moved to another folder.", "add"),
    "import": VerbRow("moving_verbs", "import_", "Read an export, or the notes of another program.", "add"),
    "search": VerbRow("find", "search", "Find items by their words and their meaning.", "find"),
    "explain": VerbRow("find", "explain", "Show why an item has its rank, or is not found.", "find"),
    "semantic": VerbRow("find", "semantic", "Find items by meaning alone.", "find"),
    "similar": VerbRow("find", "similar", "Find items like a given one.", "find"),
    "grep": VerbRow("grep", "grep", "Find lines of stored text by a regular expression.", "find"),
    "get": VerbRow("read", "get", "Print an item's text, or its fields.", "find"),
    "open": VerbRow("read", "open_item", "Open an item in your editor, or its page in the browser.", "find"),
    "list": VerbRow("read", "list_items", "List items, newest first.", "find"),
    "tree": VerbRow("read", "tree", "Show refs as a tree.", "find"),
    "history": VerbRow("read", "history", "List the versions of an item.", "find"),
    "diff": VerbRow("read", "diff", "Show what changed between two versions.", "find"),
    "remember": VerbRow("memory_verbs", "remember", "Save a fact, unless it is stored already.", "remember"),
    "note": VerbRow("memory_verbs", "note", "Save a note.", "remember"),
    "entity": VerbRow("memory_verbs", "entity", "Save a person, place, project or thing.", "remember"),
    "resource": VerbRow("memory_verbs", "resource", "Save a pointer to a page, tool or document.", "remember"),
    "entry": VerbRow("memory_verbs", "entry", "Save an entry of a log or journal.", "remember"),
    "save": VerbRow("memory_verbs", "save", "Save a text of any kind, under a ref of your choice.", "remember"),
    "correct": VerbRow("memory_verbs", "correct", "Replace a wrong item by a right text.", "remember"),
    "supersede": VerbRow("memory_verbs", "supersede", "Replace an item by a newer one.", "remember"),
    "forget": VerbRow("memory_verbs", "forget", "Archive items, so that search no longer finds them.", "remember"),
    "edit": VerbRow("change", "edit", "Change an item's text or fields; the old version is kept.", "remember"),
    "mv": VerbRow("change", "mv", "Give an item another ref.", "remember"),
    "rm": VerbRow("change", "rm", "Remove items; they can be restored for a while.", "remember"),
    "restore": VerbRow(
        "change", "restore", "Bring back a removed or archived item, or an earlier version.", "remember"
    ),
    "link": VerbRow("link_verbs", "link", "Link one item to another.", "remember"),
    "unlink": VerbRow("link_verbs", "unlink", "Remove a link.", "remember"),
    "links": VerbRow("link_verbs", "links", "Show what an item links to, and what links to it.", "find"),
    "suggest-links": VerbRow("link_verbs", "suggest_links", "Find items that may be related to one.", "find"),
    "context": VerbRow("agent_verbs", "context", "Tell an agent what it needs for a task, within a budget.", "agents"),
    "skills": VerbRow("agent_verbs", "skills", "Index skills, and find the one for a task.", "agents"),
    "tools": VerbRow("tool_verbs", "tools", "Find and call the tools of other MCP servers.", "agents"),
    "sessions": VerbRow("session_verbs", "sessions", "Index and show sessions of agents.", "agents"),
    "timeline": VerbRow("session_verbs", "timeline", "Show what happened, in order.", "agents"),
    "recent": VerbRow("session_verbs", "recent", "Show what happened last.", "agents"),
    "route": VerbRow("session_verbs", "route", "Find points in earlier sessions from which to continue.", "agents"),
    "feedback": VerbRow("insight_verbs", "feedback", "Say whether a hit was useful.", "find"),
    "learn": VerbRow("insight_verbs", "learn", "Show, freeze or undo what feedback did to the ranking.", "look after"),
    "stats": VerbRow("insight_verbs", "stats", "Show which queries were asked, and what they found.", "look after"),
    "profiles": VerbRow("profile_verbs", "profiles", "Show the ranking profiles and their weights.", "look after"),
    "tiers": VerbRow("tier_verbs", "tiers", "Show the stores that are searched together.", "look after"),
    "hook": VerbRow("hook_verbs", "hook", "Answer a hook of an agent's program: JSON in, JSON out.", "agents"),
    "install": VerbRow("install_verbs", "install", "Set up an agent's program to use Ricordo.", "agents"),
    "uninstall": VerbRow("install_verbs", "uninstall", "Undo install.", "agents"),
    "status": VerbRow("look_after", "status", "Show what the store holds.", "look after"),
    "doctor": VerbRow("look_after", "doctor", "Check the store, and repair it on request.", "look after"),
    "config": VerbRow("config_verbs", "config", "Read and change settings.", "look after"),
    "export": VerbRow("moving_verbs", "export", "Write everything to a file that import can read.", "look after"),
    "backup": VerbRow("moving_verbs", "backup", "Copy the store while it is in use.", "look after"),
    "vacuum": VerbRow("moving_verbs", "vacuum", "Remove unneeded data and shrink the store.", "look after"),
    "migrate": VerbRow(
        "moving_verbs", "migrate", "Copy a store into another, such as one in PostgreSQL.", "look after"
    ),
    "promote": VerbRow("moving_verbs", "promote", "Copy an item with its history to another tier.", "remember"),
    "embed": VerbRow("backlog", "embed", "Make the vectors that are still missing.", "look after"),
    "jobs": VerbRow("backlog", "jobs", "Show the backlog, and retry what failed.", "look after"),
    "reembed": VerbRow("backlog", "reembed", "Make all vectors again with the current model.", "look after"),
    "models": VerbRow("model_verbs", "models", "Show, test and choose the embedding model.", "look after"),
    "eval": VerbRow("measure", "evaluate", "Measure the ranking on a set of judged queries.", "look after"),
    "mcp": VerbRow("mcp_verb", "mcp", "Serve agents over the Model Context Protocol.", "agents"),
    "serve": VerbRow("serve_verbs", "serve", "Serve the page, the API, MCP and hooks.", "agents"),
    "service": VerbRow("serve_verbs", "service", "Look after the server in the background.", "agents"),
    "tokens": VerbRow("serve_verbs", "tokens", "Make and take away tokens for the server.", "look after"),
    "completion": VerbRow("look_after", "completion", "Print the completion script of a shell.", "look after"),
    "version": VerbRow("look_after", "version", "Print the version.", "look after"),
}
