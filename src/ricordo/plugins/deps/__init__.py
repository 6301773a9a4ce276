"""The packages that a project has installed: what they offer, as items that are told where a question is about them."""

from ricordo.plugin import Command, Plugin, SearchStep

PLUGIN = Plugin(
    __name__,
    "Knows what the installed packages of a project offer.",
    verbs=("verbs:DepsVerbs",),
    commands={"deps": Command("add", "Read what installed packages offer.", "add")},
    drives={"api": "intake:refresh"},
    search_steps=(SearchStep("questions:PackagesAsked", ("api",)),),
)
