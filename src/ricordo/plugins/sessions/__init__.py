"""Sessions of agents: their transcripts as items, what they were about, and where in them a task is best continued."""

from ricordo.plugin import Command, Plugin, SearchStep, Toolset

PLUGIN = Plugin(
    __name__,
    "Indexes transcripts of agents' sessions, and finds points in them to continue from.",
    verbs=("verbs:SessionVerbs",),
    tools={"sessions": Toolset("mcp_tools:TOOLS")},
    commands={"sessions": Command("agents", "Index and show sessions of agents.", "list")},
    cli="show",
    public={name: f"values:{name}" for name in ("Fork", "Routes", "Session", "Turn")},
    pages="pages",
    search_steps=(SearchStep("records_last:RecordsLast", ("session", "git")),),
    on={"page_of": "pages:turn_address"},
)
