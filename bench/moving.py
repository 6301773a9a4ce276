"""What moving a store costs: export, import, a backup while another process writes, a vacuum.

``python bench/moving.py --corpus DIR --chunks 50000`` fills a store and measures

- ``export`` to a file, and ``import`` of it into an empty store;
- ``backup`` again and again while another process saves one note after another, against copying the file of an idle
  store, and how long the other process had to wait for a save at most, with backups running and without;
- ``vacuum`` after half of the items were removed for good.

The copy is checked with ``doctor``, and the import by exporting again: the two exports must be equal.
"""

from __future__ import annotations

import argparse
import filecmp
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from corpus import add_corpus_options, read_corpus
from ricordo.config.loading import Config
from ricordo.engine.ricordo import Ricordo
from stores import GrowingStore
from timing import aligned, print_json

_WRITER = """
import sys, time
from ricordo import ConfigProvider, Ricordo
with Ricordo.open(sys.argv[1], config=ConfigProvider({"embedding.provider": "none"})) as engine:
    longest, number, end = 0.0, 0, time.monotonic() + float(sys.argv[2])
    print("ready", flush=True)
    while time.monotonic() < end:
        started = time.perf_counter()
        engine.save(f"note:/{sys.argv[3]}/{number}", f"note {number} written meanwhile")
        longest = max(longest, time.perf_counter() - started)
        number += 1
    print(number, longest, flush=True)
"""


def writing(store: Path, seconds: float, name: str) -> subprocess.Popen[str]:
    """A process that saves notes for so long."""
    process = subprocess.Popen(
        [sys.executable, "-c", _WRITER, str(store), str(seconds), name], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    process.stdout.readline()
    return process


def ended(process: subprocess.Popen[str]) -> dict[str, float]:
    """How many notes it saved, and the longest it waited for one."""
    out, _ = process.communicate()
    number, longest = out.split()
    return {"saved": int(number), "longest_save_ms": round(float(longest) * 1000, 1)}


def measure(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """All figures, for one store."""
    config = replace(Config(), embedding=replace(Config().embedding, provider="none"))
    store = folder / "store.db"
    grown = GrowingStore(store, read_corpus(options.corpus), most=options.chunks).grow(options.chunks)
    figures: dict[str, Any] = {"chunks": grown.chunks, "adding_chunks_per_second": round(grown.rate)}

    def seconds(call: Any) -> float:
        started = time.perf_counter()
        call()
        return round(time.perf_counter() - started, 2)

    with Ricordo.open(store, config=config) as engine:
        figures["export_seconds"] = seconds(lambda: engine.export(folder / "one.jsonl"))
        figures["export_mb"] = round((folder / "one.jsonl").stat().st_size / 1e6, 1)
        with Ricordo.open(folder / "other.db", config=config) as other:
            figures["import_seconds"] = seconds(lambda: other.import_(folder / "one.jsonl"))
            figures["import_chunks_per_second"] = round(grown.chunks / figures["import_seconds"])
            other.export(folder / "two.jsonl")
        if not filecmp.cmp(folder / "one.jsonl", folder / "two.jsonl", shallow=False):
            raise SystemExit("what was imported is not what was exported")
        figures["copy_seconds"] = seconds(lambda: shutil.copyfile(store, folder / "copied.db"))
        figures["backup_seconds_idle"] = seconds(lambda: engine.backup(folder / "idle.db"))
        figures["store_mb"] = round((folder / "idle.db").stat().st_size / 1e6, 1)
        figures["writer_alone"] = ended(writing(store, options.seconds, "alone"))
        process = writing(store, options.seconds, "beside")
        made = []
        while process.poll() is None:
            made.append(seconds(lambda: engine.backup(folder / "busy.db", force=True)))
        figures["backups_while_writing"] = {"made": len(made), "slowest_seconds": max(made)}
        figures["writer_beside_backups"] = ended(process)
        with Ricordo.open(folder / "busy.db", config=config) as copy:
            figures["backup_is_well"] = copy.doctor().ok
        refs = [item.ref for item in engine.list(limit=10_000_000)]
        engine.rm(*refs[::2])
    emptied = replace(config, store=replace(config.store, bin_days=0.0))
    with Ricordo.open(store, config=emptied) as engine:
        report = engine.store.transfer.vacuum(bin_days=engine.config.store.bin_days).to_dict()
        figures["vacuum"] = {name: report[name] for name in ("bytes_before", "bytes_after", "emptied", "seconds")}
        figures["well_after_vacuum"] = engine.doctor().ok
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add_corpus_options(parser)
    parser.add_argument("--chunks", type=int, default=50_000)
    parser.add_argument("--seconds", type=float, default=10.0, help="how long the other process writes")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        figures = measure(Path(name), options)
    if options.json:
        print_json(figures)
    else:
        print(aligned(["", ""], [[name, str(value)] for name, value in figures.items()]))


if __name__ == "__main__":
    main()
