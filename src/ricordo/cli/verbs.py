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


class Entry(NamedTuple):
    """One verb: the module of ``ricordo.cli`` and the attribute that holds its command."""

    module: str
    attribute: str
    line: str
    group: str


def verbs_of(group: str) -> dict[str, Entry]:
    """The verbs of one group, in the order help shows them."""
    return {name: entry for name, entry in VERBS.items() if entry.group == group}


VERBS: dict[str, Entry] = {
    "init": Entry("add", "init", "Make a store for this project.", "add"),
    "add": Entry("add", "add", "Add files, folders, globs, URLs or standard input.", "add"),
    "refresh": Entry("add", "refresh", "Read items again from where they came from.", "add"),
    "sync": Entry("knowledge_verbs", "sync", "Read knowledge files that were changed by hand.", "add"),
    "watch": Entry("add", "watch", "Keep folders up to date while they change.", "add"),
    "roots": Entry("root_verbs", "roots", "Show the folders that were added, and leave one.", "add"),
    "relocate": Entry("root_verbs", "relocate", "Say that files were moved to another folder.", "add"),
    "import": Entry("moving_verbs", "import_", "Read an export, or the notes of another program.", "add"),
    "search": Entry("find", "search", "Find items by their words and their meaning.", "find"),
    "explain": Entry("find", "explain", "Show why an item has its rank, or is not found.", "find"),
    "semantic": Entry("find", "semantic", "Find items by meaning alone.", "find"),
    "similar": Entry("find", "similar", "Find items like a given one.", "find"),
    "grep": Entry("grep", "grep", "Find lines of stored text by a regular expression.", "find"),
    "get": Entry("read", "get", "Print an item's text, or its fields.", "find"),
    "open": Entry("read", "open_item", "Open an item in your editor, or its page in the browser.", "find"),
    "list": Entry("read", "list_items", "List items, newest first.", "find"),
    "tree": Entry("read", "tree", "Show refs as a tree.", "find"),
    "history": Entry("read", "history", "List the versions of an item.", "find"),
    "diff": Entry("read", "diff", "Show what changed between two versions.", "find"),
    "remember": Entry("memory_verbs", "remember", "Save a fact, unless it is stored already.", "remember"),
    "note": Entry("memory_verbs", "note", "Save a note.", "remember"),
    "entity": Entry("memory_verbs", "entity", "Save a person, place, project or thing.", "remember"),
    "resource": Entry("memory_verbs", "resource", "Save a pointer to a page, tool or document.", "remember"),
    "entry": Entry("memory_verbs", "entry", "Save an entry of a log or journal.", "remember"),
    "save": Entry("memory_verbs", "save", "Save a text of any kind, under a ref of your choice.", "remember"),
    "correct": Entry("memory_verbs", "correct", "Replace a wrong item by a right text.", "remember"),
    "supersede": Entry("memory_verbs", "supersede", "Replace an item by a newer one.", "remember"),
    "forget": Entry("memory_verbs", "forget", "Archive items, so that search no longer finds them.", "remember"),
    "edit": Entry("change", "edit", "Change an item's text or fields; the old version is kept.", "remember"),
    "mv": Entry("change", "mv", "Give an item another ref.", "remember"),
    "rm": Entry("change", "rm", "Remove items; they can be restored for a while.", "remember"),
    "restore": Entry("change", "restore", "Bring back a removed or archived item, or an earlier version.", "remember"),
    "link": Entry("link_verbs", "link", "Link one item to another.", "remember"),
    "unlink": Entry("link_verbs", "unlink", "Remove a link.", "remember"),
    "links": Entry("link_verbs", "links", "Show what an item links to, and what links to it.", "find"),
    "suggest-links": Entry("link_verbs", "suggest_links", "Find items that may be related to one.", "find"),
    "context": Entry("agent_verbs", "context", "Tell an agent what it needs for a task, within a budget.", "agents"),
    "skills": Entry("agent_verbs", "skills", "Index skills, and find the one for a task.", "agents"),
    "tools": Entry("tool_verbs", "tools", "Find and call the tools of other MCP servers.", "agents"),
    "sessions": Entry("session_verbs", "sessions", "Index and show sessions of agents.", "agents"),
    "timeline": Entry("session_verbs", "timeline", "Show what happened, in order.", "agents"),
    "recent": Entry("session_verbs", "recent", "Show what happened last.", "agents"),
    "route": Entry("session_verbs", "route", "Find points in earlier sessions from which to continue.", "agents"),
    "feedback": Entry("insight_verbs", "feedback", "Say whether a hit was useful.", "find"),
    "learn": Entry("insight_verbs", "learn", "Show, freeze or undo what feedback did to the ranking.", "look after"),
    "stats": Entry("insight_verbs", "stats", "Show which queries were asked, and what they found.", "look after"),
    "profiles": Entry("profile_verbs", "profiles", "Show the ranking profiles and their weights.", "look after"),
    "tiers": Entry("tier_verbs", "tiers", "Show the stores that are searched together.", "look after"),
    "hook": Entry("hook_verbs", "hook", "Answer a hook of an agent's program: JSON in, JSON out.", "agents"),
    "install": Entry("install_verbs", "install", "Set up an agent's program to use Ricordo.", "agents"),
    "uninstall": Entry("install_verbs", "uninstall", "Undo install.", "agents"),
    "status": Entry("look_after", "status", "Show what the store holds.", "look after"),
    "doctor": Entry("look_after", "doctor", "Check the store, and repair it on request.", "look after"),
    "config": Entry("config_verbs", "config", "Read and change settings.", "look after"),
    "export": Entry("moving_verbs", "export", "Write everything to a file that import can read.", "look after"),
    "backup": Entry("moving_verbs", "backup", "Copy the store while it is in use.", "look after"),
    "vacuum": Entry("moving_verbs", "vacuum", "Remove unneeded data and shrink the store.", "look after"),
    "embed": Entry("backlog", "embed", "Make the vectors that are still missing.", "look after"),
    "jobs": Entry("backlog", "jobs", "Show the backlog, and retry what failed.", "look after"),
    "reembed": Entry("backlog", "reembed", "Make all vectors again with the current model.", "look after"),
    "models": Entry("model_verbs", "models", "Show, test and choose the embedding model.", "look after"),
    "eval": Entry("measure", "evaluate", "Measure the ranking on a set of judged queries.", "look after"),
    "mcp": Entry("mcp_verb", "mcp", "Serve agents over the Model Context Protocol.", "agents"),
    "serve": Entry("serve_verbs", "serve", "Serve the page, the API, MCP and hooks.", "agents"),
    "service": Entry("serve_verbs", "service", "Look after the server in the background.", "agents"),
    "tokens": Entry("serve_verbs", "tokens", "Make and take away tokens for the server.", "look after"),
    "completion": Entry("look_after", "completion", "Print the completion script of a shell.", "look after"),
    "version": Entry("look_after", "version", "Print the version.", "look after"),
}
