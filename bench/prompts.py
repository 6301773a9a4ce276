"""Makes of a judged set of conversations one whose questions are whole prompts, as agents' programs hand them to hooks.

``python bench/prompts.py SET OUT`` writes a set of the same documents into the folder OUT. Every other question stands
above what was said in another conversation, and every other below it; ``ricordo eval OUT`` then says how much of the
answers is still found. A set without ``metadata.conversation`` is refused.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
from collections import defaultdict
from pathlib import Path
from typing import Any


def prompts(folder: Path, count: int, words: int) -> list[dict[str, Any]]:
    """The questions of a set, spread evenly over it, each with so many words of another conversation."""
    said: defaultdict[str, list[str]] = defaultdict(list)
    for line in (folder / "corpus.jsonl").read_text(encoding="utf-8").splitlines():
        document = json.loads(line)
        said[document.get("metadata", {}).get("conversation", "")].append(document["text"])
    if len(said) < 2:
        raise SystemExit(f"'{folder}' holds no conversations")
    judged = {line.split("\t")[0] for line in (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines()}
    every = [json.loads(line) for line in (folder / "queries.jsonl").read_text(encoding="utf-8").splitlines()]
    every = [question for question in every if question["_id"] in judged]
    count = min(count or len(every), len(every))
    return [
        question | {"text": _prompt(question, said, words, above=place % 2 == 0)}
        for place, question in enumerate(every[at * len(every) // count] for at in range(count))
    ]


def _prompt(question: dict[str, Any], said: dict[str, list[str]], words: int, *, above: bool) -> str:
    chance = random.Random(question["_id"])
    turns = said[chance.choice(sorted(said.keys() - {question["metadata"]["conversation"]}))]
    start = chance.randrange(max(1, len(turns) - 20))
    left, pasted = words, []
    for turn in turns[start:]:
        pasted.append(" ".join(turn.split()[:left]))
        left -= len(turn.split())
        if left <= 0:
            break
    parts = [question["text"], *pasted] if above else [*pasted, question["text"]]
    return "\n\n".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("set", type=Path, metavar="SET", help="a folder with corpus.jsonl, queries.jsonl and qrels.tsv")
    parser.add_argument("out", type=Path, metavar="OUT", help="the folder to write")
    parser.add_argument("--queries", type=int, default=0, metavar="N", help="so many questions (all)")
    parser.add_argument("--words", type=int, default=380, metavar="N", help="so many words besides each (380)")
    options = parser.parse_args()
    rows = prompts(options.set, options.queries, options.words)
    options.out.mkdir(parents=True, exist_ok=True)
    for name in ("corpus.jsonl", "qrels.tsv"):
        shutil.copyfile(options.set / name, options.out / name)
    text = "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
    (options.out / "queries.jsonl").write_text(text, encoding="utf-8")
    print(f"{len(rows)} prompts of some {options.words} words and a question: {options.out}")


if __name__ == "__main__":
    main()
