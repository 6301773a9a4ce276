"""Measures how well a profile ranks, on judged sets of queries, and whether a difference is more than chance."""

from ricordo.plugin import Command, Plugin

PLUGIN = Plugin(
    __name__,
    "Measures how well profiles rank, on judged sets of queries.",
    commands={"eval": Command("look after", "Measure the ranking on a set of judged queries.", takes_profile=True)},
    cli="command",
)
