"""What the declarations of verbs do not say about commands: where hand-written ones are, and the commands of the
program itself.

The first help reads this table alone, so that it pays for no verb's imports and for no reading of declarations.
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


class HelpLine(NamedTuple):
    """A command in the help: its group, and what it does."""

    group: str
    line: str


FIRST: dict[str, HelpLine] = {
    "init": HelpLine("add", "Make a store for this project."),
    "add": HelpLine("add", "Add files, folders, globs, URLs or standard input."),
    "refresh": HelpLine("add", "Read items again from where they came from."),
    "search": HelpLine("find", "Find items by their words and their meaning."),
    "get": HelpLine("find", "Print an item's text, or its fields."),
    "list": HelpLine("find", "List items, newest first."),
    "remember": HelpLine("remember", "Save a fact, unless it is stored already."),
    "correct": HelpLine("remember", "Replace a wrong item by a right text."),
    "edit": HelpLine("remember", "Change an item's text or fields; the old version is kept."),
    "forget": HelpLine("remember", "Archive items, so that search no longer finds them."),
    "rm": HelpLine("remember", "Remove items; they can be restored for a while."),
    "context": HelpLine("agents", "Tell an agent what it needs for a task, within a budget."),
    "install": HelpLine("agents", "Set up an agent's program to use Ricordo."),
    "serve": HelpLine("agents", "Serve the page, the API, MCP and hooks."),
    "status": HelpLine("look after", "Show what the store holds."),
    "config": HelpLine("look after", "Read and change settings."),
}
"""What the first help shows; those that are verbs of the engine say the same there, which a test compares."""

MORE: dict[str, HelpLine] = {
    "roots": HelpLine("add", "Show the folders that were added, leave one, or say that it was moved."),
    "sync-folder": HelpLine("look after", "Sync with your other machines through a folder."),
    "open": HelpLine("find", "Open an item in your editor, or its page in the browser."),
    "skills": HelpLine("agents", "Index skills, and find the one for a task."),
    "tools": HelpLine("agents", "Find and call the tools of other MCP servers."),
    "sessions": HelpLine("agents", "Index and show sessions of agents."),
    "hook": HelpLine("agents", "Answer a hook of an agent's program: JSON in, JSON out."),
    "uninstall": HelpLine("agents", "Undo install."),
    "mcp": HelpLine("agents", "Serve agents over the Model Context Protocol."),
    "team": HelpLine("look after", "Make a team of a store on a server, and say who may do what."),
    "index": HelpLine("look after", "Fill a search engine beside a store's server, and see how far it is."),
    "learn": HelpLine("look after", "Show, freeze or undo what feedback did to the ranking."),
    "jobs": HelpLine("look after", "Show the backlog, and retry what failed."),
    "profiles": HelpLine("look after", "Show the ranking profiles and their weights."),
    "models": HelpLine("look after", "Show, test and choose the embedding model."),
    "eval": HelpLine("look after", "Measure the ranking on a set of judged queries."),
    "completion": HelpLine("look after", "Print the completion script of a shell."),
    "version": HelpLine("look after", "Print the version."),
}
"""Other commands that are no verbs of the engine: groups of verbs, and what only a command line needs."""

MODULES: dict[str, str] = {
    "init": "add", "add": "add", "refresh": "add", "watch": "add", "sync": "add", "roots": "add",
    "import": "moving_verbs", "export": "moving_verbs", "backup": "moving_verbs", "migrate": "moving_verbs",
    "promote": "moving_verbs", "search": "find", "explain": "find", "semantic": "find", "similar": "find",
    "suggest-links": "find", "grep": "read", "get": "read", "open": "read", "list": "read", "history": "read",
    "diff": "read", "remember": "memory_verbs", "note": "memory_verbs", "entity": "memory_verbs",
    "resource": "memory_verbs", "entry": "memory_verbs", "save": "memory_verbs", "correct": "memory_verbs",
    "supersede": "memory_verbs", "forget": "memory_verbs", "edit": "change", "mv": "change", "rm": "change",
    "restore": "change", "unlink": "change", "skills": "agent_verbs", "sessions": "agent_verbs",
    "recent": "agent_verbs", "tools": "tool_verbs", "feedback": "insight_verbs", "learn": "insight_verbs",
    "stats": "insight_verbs", "profiles": "profile_verbs", "models": "model_verbs", "embed": "backlog",
    "jobs": "backlog", "reembed": "backlog", "hook": "hook_verbs", "install": "install_verbs",
    "uninstall": "install_verbs", "doctor": "doctor", "completion": "look_after", "version": "look_after",
    "config": "config_verbs", "eval": "measure", "mcp": "mcp_verb", "serve": "serve_verbs",
    "trust": "trust_verbs", "tidy": "tidy_verbs",
    "sync-folder": "sync_verbs",
    "team": "team_verbs", "index": "index_verbs",
}  # fmt: skip
"""The module of ``ricordo.cli`` that holds a hand-written command, under its name with underscores."""

SHOWN: dict[str, str] = {
    "roots move": "present_reports.show_refreshed_report",
    "roots list": "present_reports.show_roots",
    "roots rm": "present_reports.show_left_root",
    "machine": "present_reports.show_machines",
    "team init": "team_verbs.show_team",
    "team status": "team_verbs.show_team",
    "team invite": "team_verbs.show_invitation",
    "team members": "team_verbs.show_members",
    "team remove": "team_verbs.show_members",
    "index status": "index_verbs.show_index",
    "index rebuild": "index_verbs.show_index",
    "index feed": "index_verbs.show_index",
    "index drop": "index_verbs.show_index",
    "vacuum": "present_reports.show_vacuumed",
    "status": "present_reports.show_facts",
    "tiers": "present_reports.show_tiers",
    "jobs list": "present_reports.show_jobs",
    "tree": "present_items.show_tree",
    "link": "present_items.show_link",
    "links": "present_items.show_links",
    "context": "present_context.show_context",
    "gather": "present_context.show_gathered",
    "sessions show": "present_sessions.show_session",
    "timeline": "present_sessions.show_timeline",
    "recent": "present_sessions.show_timeline",
    "route": "present_sessions.show_routes",
    "feedback": "present_insight.show_feedback",
    "learn status": "present_insight.show_learning",
    "learn rollback": "present_insight.show_changes",
    "learn history": "present_insight.show_changes_or_none",
    "stats": "present_insight.show_stats",
    "stats log": "present_insight.show_retrievals",
    "tools result": "present_tools.show_result",
    "sync-folder add": "sync_verbs.show_folder",
    "sync-folder rm": "sync_verbs.show_folder",
    "sync-folder status": "sync_verbs.show_state",
    "sync-folder accept": "sync_verbs.show_machine",
    "sync-folder refuse": "sync_verbs.show_machine",
    "audit": "present_audit.show_audit",
    "review": "present_audit.show_review",
    "tag": "present_reports.show_saved_report",
    "asked": "present_overview.show_asked",
    "tags": "present_overview.show_tags",
    "graph": "present_overview.show_graph",
    "bundle": "present_overview.show_bundle",
    "undo": "present_steps.show_undo",
}
"""How a result is written for a person, where names and values on lines are not enough."""


def shown_commands() -> dict[str, HelpLine]:
    """All commands, in the order of the help: the first ones, then the others by name."""
    from ricordo.verbs.index import all_verbs

    rows = {row.path: HelpLine(row.group, row.line) for row in all_verbs() if "cli" not in row.not_on}
    others = MORE | {path: line for path, line in rows.items() if " " not in path}
    return FIRST | {name: others[name] for name in sorted(others) if name not in FIRST}


def line_of(name: str) -> str:
    """What a command that is no verb of the engine does."""
    return (FIRST.get(name) or MORE[name]).line
