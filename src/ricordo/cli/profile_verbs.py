"""The verb profiles and its parts: list, show."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ricordo import registry
from ricordo.cli.call import Call
from ricordo.cli.generated import command
from ricordo.cli.terminal import Screen, one_line
from ricordo.cli.verb import verb
from ricordo.cli.verb_group import verb_group
from ricordo.config.loading import load_config

if TYPE_CHECKING:
    from ricordo import Profile

profiles = verb_group(
    "profiles",
    examples=["ricordo profiles", "ricordo profiles show brain", "ricordo search keys --profile brain"],
    details=(
        "A profile is a list of signals and their weights, which sum to 1. Add your own to config.toml as "
        "[profiles.NAME] with base and weights, or with signals of its own; --weights changes them for one search."
    ),
)


@profiles.add_command
@command("profiles list")
def list_profiles(call: Call) -> int:
    """The profile marked * is the default. With --verbose, it shows their weights."""
    config = load_config()
    known, used = registry.profiles(config), call.profile or config.search.profile

    def draw(screen: Screen) -> None:
        rows = [
            (
                f"{name}{' *' if name == used else ''}",
                one.source,
                weights_of(one) if screen.verbose else one.description,
            )
            for name, one in known.items()
        ]
        screen.table(("profile", "from", "weights" if screen.verbose else "what it does"), rows)

    return call.answer({"profiles": [one.to_dict() for one in known.values()], "default": used}, draw)


@profiles.add_command
@verb(
    "show",
    line="Show one profile: its signals, weights and limits.",
    examples=["ricordo profiles show vault", "ricordo profiles show vault --json"],
)
@click.argument("name")
def show(call: Call, name: str) -> int:
    """Weights are shown so that they add up to 1. To see what feedback changed: ricordo learn status"""
    found = registry.profile(name, load_config())
    return call.answer(found.to_dict(), lambda screen: show_profile(screen, found))


def weights_of(profile: Profile) -> str:
    """The weights on one line; those of 0 are left out."""
    weights = profile.weights(vectors=True)
    return " ".join(f"{label}={weight:.2g}" for label, weight in weights.items() if weight)


def show_profile(screen: Screen, profile: Profile) -> None:
    """What it is, then a line per signal, then what else it does."""
    screen.line(f"{screen.bold(one_line(profile.name))}  {screen.dim(one_line(profile.source))}")
    if profile.description:
        screen.line(one_line(profile.description))
    screen.line()
    weights, without = profile.weights(vectors=True), profile.weights(vectors=False)
    differ = weights != without
    head = ("weight", *(("without vectors",) if differ else ()), "name", "signal", "what it is")
    rows = [
        (
            f"{weights[label]:.4f}",
            *((f"{without[label]:.4f}",) if differ else ()),
            label,
            term.signal,
            term.meaning,
        )
        for label, term in profile.signals.items()
    ]
    screen.table(head, rows, right=(0, 1) if differ else (0,))
    screen.line()
    for line in _rest(profile):
        screen.line(line)


def _rest(profile: Profile) -> list[str]:
    lines = [f"candidates: {profile.per_side} by {' and as many by '.join(profile.sides)}, whatever page is asked for"]
    if profile.fusion == "spread":
        lines.append(
            "words and meaning share their weight: more goes to the side that separates the hits of a query better"
        )
    if profile.min_score:
        lines.append(f"leaves out what scores below {profile.min_score:g}")
    if profile.guard:
        lines.append(f"with fewer than {profile.guard} results by words, a limit does not cut away more than half")
    if profile.memory_score is not None:
        lines.append(
            f"with --memories, memories and sessions are searched separately and score {profile.memory_score:g}"
        )
    if profile.learns:
        lines.append(f"feedback moves the weight of {profile.learns}")
    if profile.counts_as_opening:
        lines.append("what it finds counts as opened")
    return lines
