"""Overwrites each page of a store in turn, and looks what ``export --salvage`` still saves.

For every page: a fresh copy of a small store, the page overwritten, then an export of what can be read and its import
into a new store. Only items whose own versions or passages stand on that page may be lost or older than they were;
anything else that is missing, an export that cannot be imported, and a trace are failures.

    python faults/pages.py --ways head zeros noise
"""

from __future__ import annotations

import argparse
import random
import shutil
import sqlite3
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

from flips import NO_VECTORS, build
from ricordo import Ricordo
from ricordo.errors import Error

WAYS = ("head", "zeros", "noise")
"""What is written over a page: 100 bytes at its beginning, or all of it."""
OF_TEXTS = ("versions", "chunks", "blobs")
"""The tables without whose rows an item's text is gone."""


def pages_of(store: Path) -> tuple[int, dict[int, tuple[str, str, int]]]:
    """The size of pages, and of each its table or index, what kind of page it is, and how many rows it has."""
    connection = sqlite3.connect(store)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    size = int(connection.execute("PRAGMA page_size").fetchone()[0])
    rows = connection.execute("SELECT pageno, name, pagetype, ncell FROM dbstat").fetchall()
    connection.close()
    return size, {page: (name, kind, cells) for page, name, kind, cells in rows}


def overwrite(store: Path, page: int, size: int, way: str) -> None:
    """Damage one page."""
    data = {"head": b"\xff" * 100, "zeros": bytes(size), "noise": random.Random(page).randbytes(size)}[way]
    with store.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(data)


def texts_of(engine: Ricordo) -> dict[str, str]:
    """What every item says, also those in the bin."""
    return {str(item.ref): engine.get(item.ref, track=False).content for item in engine.list(limit=1000)}


def saved_from(store: Path, folder: Path) -> dict[str, str]:
    """The texts of the items that an export of a damaged store brings to a new one."""
    out, fresh = folder / "rescued.jsonl", folder / "fresh.db"
    for path in folder.glob("fresh.db*"):
        path.unlink()
    with Ricordo.open(store, config=NO_VECTORS, create=False, damaged=True) as engine:
        engine.export(out, salvage=True, force=True)
    with Ricordo.open(fresh, config=NO_VECTORS) as engine:
        engine.import_(out, trust=True)
        return texts_of(engine)


def try_page(whole: Path, page: int, size: int, way: str, truth: dict[str, str], may_lose: int) -> tuple[str, str]:
    """How it went, and what is wrong if something is."""
    folder = whole.parent
    copy = folder / "copy.db"
    for path in folder.glob("copy.db*"):
        path.unlink()
    shutil.copy(whole, copy)
    overwrite(copy, page, size, way)
    try:
        saved = saved_from(copy, folder)
    except Error as error:
        return "FAILED", f"{error.code}: {error}"
    except BaseException:  # noqa: BLE001 - a trace is what is looked for
        return "TRACE", traceback.format_exc()[-1200:]
    lost = [ref for ref, text in truth.items() if saved.get(ref) != text]
    if len(lost) > may_lose:
        return "LOST", f"{len(lost)} items, and the page has {may_lose} rows of texts: {lost[:5]}"
    return ("some on the page lost", "") if lost else ("all saved", "")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--every", type=int, default=1, help="Only every so many pages.")
    given = parser.parse_args()
    started, bad, counts = time.monotonic(), 0, Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        whole = Path(folder) / "whole.db"
        build(whole)
        with Ricordo.open(whole, config=NO_VECTORS) as engine:
            truth = texts_of(engine)
        size, pages = pages_of(whole)
        for page, (name, kind, cells) in sorted(pages.items())[:: given.every]:
            may_lose = max(cells, 1) if name in OF_TEXTS and kind != "internal" else 0
            for way in given.ways:
                outcome, details = try_page(whole, page, size, way, truth, may_lose)
                counts[outcome] += 1
                if outcome.isupper():
                    bad += 1
                    print(f"page {page} ({kind} of {name}), {way}: {outcome} {details}", flush=True)
    print(", ".join(f"{count} {name}" for name, count in sorted(counts.items())))
    print(f"{counts.total()} damaged pages in {time.monotonic() - started:.0f} s: {bad} went wrong")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
