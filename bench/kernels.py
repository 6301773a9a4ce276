"""Would a library of vector kernels be faster than numpy for the two loops of a search by meaning?

``python bench/kernels.py`` scans sketches for Hamming distances and compares vectors exactly: with numpy, as Ricordo
does it (the scan also picks the nearest), and with simsimd and numkong if they are installed. One thread, processor
time, the least of ``--repeat`` rounds.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from ricordo.store.index.sketches import nearest_sketches, sketch
from ricordo.store.sqlite.vectors import ROWS_AT_ONCE
from timing import CLOCKS, aligned, print_json, timed

COMPARED = 2_083
"""How many vectors a search of 50,000 compares exactly."""


def kernels(size: int, seed: int) -> dict[str, dict[str, Callable[[], Any]]]:
    """By loop and library: the call to measure."""
    chance = np.random.default_rng(seed)
    vectors = chance.standard_normal((size, 384), np.float32)
    query = vectors[0].copy()
    sketches = sketch(vectors)
    rows = np.ascontiguousarray(sketches.T).view(np.uint8)
    few = vectors[:COMPARED]
    everything = np.arange(size)
    found: dict[str, dict[str, Callable[[], Any]]] = {
        "scan of sketches": {"numpy": lambda: nearest_sketches(sketches, sketches[:, 0], everything, COMPARED)},
        "exact cosines": {
            "numpy": lambda: [np.vecdot(few[at : at + ROWS_AT_ONCE], query) for at in range(0, COMPARED, ROWS_AT_ONCE)]
        },
    }
    for name, bits in (("simsimd", "bin8"), ("numkong", "uint1")):
        try:
            library = import_module(name)
        except ImportError:
            continue
        found["scan of sketches"][name] = lambda lib=library, bits=bits: lib.cdist(
            rows[:1], rows, metric="hamming", dtype=bits
        )
        found["exact cosines"][name] = lambda lib=library: lib.cdist(query[None, :], few, metric="dot")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--vectors", type=int, default=50_000, metavar="N", help="how many sketches to scan (50000)")
    parser.add_argument("--repeat", type=int, default=40, help="rounds (40)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args()
    clock = CLOCKS["cpu"]
    figures = {
        loop: {
            name: round(min(timed(call, clock) for _ in range(options.repeat)), 3) for name, call in libraries.items()
        }
        for loop, libraries in kernels(options.vectors, options.seed).items()
    }
    if options.json:
        print_json({"vectors": options.vectors, "least_ms": figures})
        return
    rows = [[loop, name, f"{value:.3f}"] for loop, libraries in figures.items() for name, value in libraries.items()]
    print(aligned((f"{options.vectors:,} vectors", "library", "least ms"), rows))


if __name__ == "__main__":
    main()
