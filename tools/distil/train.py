"""Teaches a student and writes its weights: ``build_model.py --student`` makes the product's file of them.

    python tools/distil/train.py --texts texts.jsonl.xz --models PACKED --out student.npz [--seconds 500]

Needs PyTorch, and a GPU for anything but a trial (``--share 0.01 --seconds 60`` runs through on a CPU). The teachers
read every text once; their vectors stay in memory (4.6 GB for a million texts).
"""

from __future__ import annotations

import argparse
import json
import lzma
import random
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional

from encoder import Texts, from_tensors, to_tensors
from learn import Course, Student, kinds_of
from target import BEGIN, QUERY_PREFIX, TEACHERS, main_directions, mixed, taught, tokens_of, turned
from weights import unpacked

LOOKED_AT = 200_000
"""Texts that decide means and the first rotation."""


LONG = 500
"""Characters from which a text is long; such texts hold most of the tokens."""


def read_texts(file: Path, share: float, long: float) -> tuple[list[str], list[bool]]:
    """Texts in the random order they were written in, or the first part of them; of long ones a part again."""
    chance = random.Random(1)
    with lzma.open(file, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    rows = rows[: max(100, int(len(rows) * share))]
    rows = [row for row in rows if len(row[0]) < LONG or chance.random() < long]
    return [text for text, _ in rows], [bool(asks) for _, asks in rows]


def main() -> None:
    """Tokens, teachers, target, training, weights."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--texts", type=Path, required=True)
    parser.add_argument("--models", type=Path, required=True, help="the folder that weights.py filled")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=500, help="of training (500)")
    parser.add_argument("--share", type=float, default=1.0, help="of the texts (1.0)")
    parser.add_argument("--long", type=float, default=0.6, help="of the long texts (0.6)")
    parser.add_argument("--relations", type=float, default=0.3, help="weight of the mix's similarities (0.3)")
    parser.add_argument("--tokens", type=int, default=163_840, help="in a step (163,840)")
    options = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    tokenizer = options.models / f"{BEGIN}.tokenizer.json"
    raw, asks = read_texts(options.texts, options.share, options.long)
    tokens = tokens_of(tokenizer, raw)
    prefix = tokens_of(tokenizer, [QUERY_PREFIX])[0][1:-1]
    print(f"{len(tokens):,} texts, {sum(map(len, tokens)):,} tokens", flush=True)
    vectors = {}
    for teacher in TEACHERS:
        vectors[teacher.name] = taught(teacher, options.models, tokens, asks, prefix, device)
        print(f"{teacher.name} has read them", flush=True)
    means = {one.name: one.centred * vectors[one.name][:LOOKED_AT].float().mean(0) for one in TEACHERS if one.centred}
    full = mixed(vectors, {one.name: one.share for one in TEACHERS}, means)
    directions = main_directions(full)
    target = torch.cat([functional.normalize(part.float() @ directions, dim=-1).half() for part in full.split(200_000)])
    model = from_tensors(unpacked(options.models / f"{BEGIN}.npz"), head=target.shape[1])
    assert model.head is not None
    model.head.weight.data = turned(vectors[BEGIN][:LOOKED_AT], target[:LOOKED_AT]).cpu()
    del vectors
    course = Course(steps=1_000_000, seconds=options.seconds, relations=options.relations, tokens=options.tokens)
    student = Student(model, course, device)
    kinds = kinds_of(target) if options.relations else None
    student.learn(Texts(tokens, device), target, full, kinds, report=lambda line: print(line, flush=True))
    np.savez(options.out, **{name: value.astype(np.float16) for name, value in to_tensors(student.average).items()})
    print(f"{options.out}: {options.out.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
