"""How a person reads what was asked, the tags, the graph of links, and several items as one text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ricordo.cli.present_items import local_time
from ricordo.cli.terminal import Screen, clean, one_line
from ricordo.values.reports import AskedQuestion, AskedReport, Bundle, LinkGraph, TagCount

MOST_SHOWN = 3


def show_asked(screen: Screen, report: AskedReport) -> None:
    """When, what, by whom, how many hits, and which of the first were opened."""
    if not report.questions:
        screen.note("nothing was asked that this asks for")
        return
    for one in report.questions:
        screen.line(f"{local_time(one.at)}  {screen.bold(one_line(one.text))}  {_outcome(one)}")
        screen.note(f"{one.asker.short or 'unknown'}, {one.tool}")
        for hit in one.shown[:MOST_SHOWN]:
            became = ", ".join(filter(None, ("opened" if hit.opened else "", hit.verdict)))
            screen.line(f"  {one_line(hit.ref)}{f'  ({became})' if became else ''}")
    if report.more:
        screen.note("there is more before that; --limit shows it")


def _outcome(one: AskedQuestion) -> str:
    found = f"{one.results} hit{'' if one.results == 1 else 's'}"
    fits = [(one.fit, "fit"), (one.fit_now, "now")]
    return ", ".join([found, *(f"{words} {fit:.2f}" for fit, words in fits if fit is not None)])


def show_tags(screen: Screen, tags: Sequence[TagCount]) -> None:
    """Each tag with its count."""
    if not tags:
        screen.note("no item has a tag")
        return
    screen.table(("tag", "items"), [(one_line(one.tag), str(one.count)) for one in tags])


def show_graph(screen: Screen, graph: LinkGraph) -> None:
    """Each item with how many links it has, and what links are drawn."""
    if not graph.nodes:
        screen.note("nothing is linked")
        return
    degrees: Counter[int] = Counter()
    for edge in graph.edges:
        degrees[edge.source] += 1
        degrees[edge.target] += 1
    rows = [(str(degrees[at]), one.kind, one_line(one.ref)) for at, one in enumerate(graph.nodes)]
    screen.table(("links", "kind", "ref"), rows, paths=(2,))
    if graph.more:
        screen.note(f"{graph.more} more are linked; --limit shows them")


def show_bundle(screen: Screen, bundle: Bundle) -> None:
    """The text, as it is."""
    screen.out.write(clean(bundle.text) if screen.is_terminal else bundle.text)
