"""Makes the texts that teachers and student read, out of the packages that ``fetch.py`` brought.

    python tools/distil/texts.py --packages DIR --out texts.jsonl.xz [--judged SET_FOLDER ...] [--share 1.0]

Every package must be under one of the licences in ``FREE``, by ``sources.toml`` and by its own metadata where it has
any; another one ends the run. Texts are taken at most once, each package gives at most ``most`` of them, and a text
that shares eight words in a row with a judged set is left out. The counts by package are written beside the texts.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import lzma
import os
import random
import re
import tomllib
from collections.abc import Iterator
from itertools import chain
from multiprocessing import Pool
from pathlib import Path

from archives import texts_in
from extract import READERS, Text
from talk import conversations, requests

HERE = Path(__file__).parent
MOST = 8_000
"""Texts of one package, unless its line in ``sources.toml`` says otherwise."""
BYTES = 700
"""Of a package's files, for each text that is wanted of it."""
GRAM = 8
_WORD = re.compile(r"[a-z0-9]+")


def taken(job: tuple[str, dict[str, object], float]) -> list[Text]:
    """The texts of one package: all of them, or an even choice where there are too many."""
    file, source, share = job
    chance = random.Random(Path(file).name)
    most = int(int(source.get("most", MOST)) * share)
    found: dict[str, bool] = {}
    for kind in source["read"]:
        endings, reader = READERS[kind]
        within = str(source.get("within", ""))
        for name, text in texts_in(Path(file), endings, enough=most * BYTES):
            if within not in name or _is_left_out(name):
                continue
            for words, is_query in reader(name, text):
                found.setdefault(" ".join(words.split(" "))[:1400], is_query)
    kept = list(found.items())
    if len(kept) > most:
        kept = chance.sample(kept, most)
    asked = [
        (request, True)
        for text, is_query in kept
        if is_query
        for request in requests(text, chance)
        if len(request) < 160
    ]
    return kept + chance.sample(asked, min(len(asked), most // 4))


def _is_left_out(name: str) -> bool:
    """Tests, copies of other packages, and languages other than English."""
    return "/test" in name or "/vendor/" in name or ("/locale/" in name and "/en" not in name)


def grams(text: str) -> Iterator[int]:
    """A number for every run of eight words."""
    words = _WORD.findall(text.lower())
    return (hash(" ".join(words[at : at + GRAM])) for at in range(len(words) - GRAM + 1))


def judged_grams(folders: list[Path]) -> set[int]:
    """All runs of eight words in corpora and queries that must not be learnt from."""
    held: set[int] = set()
    for folder in folders:
        for name in ("corpus.jsonl", "queries.jsonl"):
            for line in (folder / name).read_text("utf-8").splitlines():
                row = json.loads(line)
                held.update(grams(f"{row.get('title') or ''} {row['text']}"))
    return held


def main() -> None:
    """Read the packages, several at a time, and write what they say in a random order."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--packages", type=Path, required=True, help="the folder that fetch.py filled")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--judged", type=Path, nargs="*", default=[], help="sets that no text may share 8 words with")
    parser.add_argument("--share", type=float, default=1.0, help="of the texts of each package (1.0)")
    parser.add_argument("--partial", action="store_true", help="go on without packages that are not there")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    table = tomllib.loads((HERE / "sources.toml").read_text("utf-8"))
    free = set(table["free"])
    jobs, names = [], []
    for source in table["text"]:
        if source["licence"] not in free:
            raise SystemExit(f"{source['name']}: {source['licence']} is not among the licences that are plainly free")
        file = options.packages / source["file"]
        if not file.is_file():
            if options.partial:
                continue
            raise SystemExit(f"{file} is missing; run fetch.py, or read what is there with --partial")
        jobs.append((str(file), source, options.share))
        names.append(source["name"])
    forbidden = judged_grams(options.judged)
    seen: set[bytes] = set()
    rows: list[Text] = []
    counts: dict[str, int] = {}
    overlapping = 0
    chance = random.Random(7)
    talk = list(conversations(int(60_000 * options.share), chance))
    with Pool(options.processes) as pool:
        for name, texts in zip([*names, "talk.py"], chain(pool.imap(taken, jobs), [talk]), strict=True):
            for text, is_query in texts:
                mark = hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=10).digest()
                if mark in seen or len(text) < 8:
                    continue
                seen.add(mark)
                if forbidden and not forbidden.isdisjoint(grams(text)):
                    overlapping += 1
                    continue
                rows.append((text, is_query))
                counts[name] = counts.get(name, 0) + 1
            print(f"{name}: {counts.get(name, 0):,}", flush=True)
    chance.shuffle(rows)
    with lzma.open(options.out, "wt", encoding="utf-8", preset=2) as out:
        for text, is_query in rows:
            out.write(json.dumps([text.encode("utf-8", "replace").decode(), int(is_query)], ensure_ascii=False) + "\n")
    queries = sum(is_query for _, is_query in rows)
    summary = {"texts": len(rows), "queries": queries, "overlapping": overlapping, "by_package": counts}
    options.out.with_suffix(".counts.json").write_text(json.dumps(summary, indent=1), "utf-8")
    print(f"{len(rows):,} texts, {queries:,} of them like queries; {overlapping:,} left out for their overlap")


if __name__ == "__main__":
    main()
