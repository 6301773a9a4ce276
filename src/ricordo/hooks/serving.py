"""Answers hooks of other processes of this user from stores that are open already."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ricordo.frozen import frozen
from ricordo.hooks.answers import for_hooks, run
from ricordo.hooks.outlet import Outlet
from ricordo.hosting.open_stores import changing_settings
from ricordo.hosting.packing import unpacked
from ricordo.hosting.surroundings import is_surrounding, own_surroundings

if TYPE_CHECKING:
    from ricordo.hosting.open_stores import OpenStores


@frozen
class HookRequest:
    """What a hook sends: where it stands, which store it means, its variables, and what its program gave it."""

    folder: Path
    store: str | None
    tier: str | None
    surroundings: tuple[str, ...]
    program: Mapping[str, str]
    """The variables that tell which program runs the hook."""
    payload: bytes

    @property
    def is_from_here(self) -> bool:
        """Whether the hook would find the same settings and stores as this process."""
        return sorted(self.surroundings) == sorted(own_surroundings())


def read_request(body: bytes) -> HookRequest:
    """What ``asking`` packed; ``ValueError`` for what is none."""
    (folder, store, tier, *variables), payload = unpacked(body)
    kept = tuple(one for one in variables if is_surrounding(one.partition("=")[0]))
    program = dict(one.partition("=")[::2] for one in variables if one not in kept)
    return HookRequest(Path(folder), store or None, tier or None, kept, program, payload)


def answered(stores: OpenStores, event: str, asked: HookRequest) -> bytes:
    """Run the hook on an open store; the last answer that it offers is used."""
    offered: list[bytes] = []
    outlet = Outlet(offered.append, time.monotonic())
    with changing_settings(for_hooks):
        run(
            event,
            asked.payload,
            outlet,
            store=asked.store,
            tier=asked.tier,
            here=asked.folder,
            warm=stores.opened,
            env=asked.program,
        )
    answers = [line.removeprefix(b"answer ") for line in offered if line.startswith(b"answer ")]
    return answers[-1].strip() if answers else b"{}"
