"""Teaches a student and writes its weights: ``build_model.py --student`` makes the product's file of them.

    python tools/distil/train.py --texts texts.jsonl.xz --models PACKED --out student.npz [--seconds 500]

Needs PyTorch, and a GPU for anything but a trial (``--share 0.01 --seconds 60`` runs through on a CPU). The teachers
read every text once; their vectors stay in memory (4.6 GB for a million texts). With ``--layers`` a smaller student
learns the vectors of the model that it begins with, and keeps its words: its vectors lie in the same space.
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

from encoder import Encoder, Texts, from_tensors, to_tensors
from learn import Course, Student, kinds_of
from target import BEGIN, QUERY_PREFIX, TEACHERS, main_directions, mixed, taught, tokens_of, turned
from weights import unpacked

LOOKED_AT = 200_000
"""Texts that decide means and the first rotation."""


LONG = 500
"""Characters from which a text is long; such texts hold most of the tokens."""
CROPPED = 24
"""Tokens from which a text is cut into pieces."""


def read_texts(file: Path, share: float, long: float) -> tuple[list[str], list[bool]]:
    """Texts in the random order they were written in, or the first part of them; of long ones a part again."""
    chance = random.Random(1)
    with lzma.open(file, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    rows = rows[: max(100, int(len(rows) * share))]
    rows = [row for row in rows if len(row[0]) < LONG or chance.random() < long]
    return [text for text, _ in rows], [bool(asks) for _, asks in rows]


def crops(tokens: list[list[int]], asks: list[bool], share: float) -> None:
    """Add pieces of the texts, and pairs of pieces: what a model says of any words can be learnt from.

    A third of the new texts are pairs. Short pieces are queries to the teachers now and then.
    """
    chance = random.Random(5)
    long = [one for one in tokens if len(one) >= CROPPED]
    for _ in range(int(len(tokens) * share) if long else 0):
        pieces = []
        for most in (40, 40) if chance.random() < 1 / 3 else (60,):
            inner = chance.choice(long)[1:-1]
            size = min(len(inner), chance.randrange(6, most))
            start = chance.randrange(len(inner) - size + 1)
            pieces += inner[start : start + size]
        tokens.append([long[0][0], *pieces, long[0][-1]])
        asks.append(len(pieces) < CROPPED and chance.random() < 0.3)


def smaller(models: Path, layers: list[int], go_on: Path | None) -> Encoder:
    """A student with some layers of the beginning, or with weights it has learnt; it keeps the beginning's words."""
    tensors = unpacked(models / f"{BEGIN}.npz")
    if go_on is not None:
        words = "embeddings.word_embeddings.weight"
        model = from_tensors({words: tensors[words], **unpacked(go_on)})
    else:
        model = from_tensors(tensors)
        model.layers = torch.nn.ModuleList(model.layers[number] for number in layers)
    model.words.weight.requires_grad_(False)
    return model


def teach(options: argparse.Namespace, device: str) -> Student:
    """Tokens, teachers, target, training."""
    tokenizer = options.models / f"{BEGIN}.tokenizer.json"
    raw, asks = read_texts(options.texts, options.share, options.long)
    tokens = tokens_of(tokenizer, raw)
    crops(tokens, asks, options.crops)
    prefix = tokens_of(tokenizer, [QUERY_PREFIX])[0][1:-1]
    print(f"{len(tokens):,} texts, {sum(map(len, tokens)):,} tokens", flush=True)
    vectors = {}
    for teacher in TEACHERS:
        if options.layers and teacher.name != BEGIN:
            continue
        vectors[teacher.name] = taught(teacher, options.models, tokens, asks, prefix, device)
        print(f"{teacher.name} has read them", flush=True)
    if options.layers:
        model = smaller(options.models, options.layers, options.go_on)
        full = target = vectors[BEGIN]
    else:
        means = {
            one.name: one.centred * vectors[one.name][:LOOKED_AT].float().mean(0) for one in TEACHERS if one.centred
        }
        full = mixed(vectors, {one.name: one.share for one in TEACHERS}, means)
        directions = main_directions(full)
        target = torch.cat(
            [functional.normalize(part.float() @ directions, dim=-1).half() for part in full.split(200_000)]
        )
        model = from_tensors(unpacked(options.models / f"{BEGIN}.npz"), head=target.shape[1])
        assert model.head is not None
        model.head.weight.data = turned(vectors[BEGIN][:LOOKED_AT], target[:LOOKED_AT]).cpu()
    del vectors
    if options.short:
        chance = random.Random(3)
        kept = [at for at, one in enumerate(tokens) if len(one) <= options.short or chance.random() < 0.12]
        tokens, target, full = [tokens[at] for at in kept], target[kept], full[kept]
    course = Course(
        steps=1_000_000, seconds=options.seconds, relations=options.relations, tokens=options.tokens, rate=options.rate
    )
    student = Student(model, course, device)
    kinds = kinds_of(target) if options.relations else None
    student.learn(Texts(tokens, device), target, full, kinds, report=lambda line: print(line, flush=True))
    return student


def main() -> None:
    """Parse the command line, teach, and write the weights; words that did not learn are left out."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--texts", type=Path, required=True)
    parser.add_argument("--models", type=Path, required=True, help="the folder that weights.py filled")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=500, help="of training (500)")
    parser.add_argument("--share", type=float, default=1.0, help="of the texts (1.0)")
    parser.add_argument("--long", type=float, default=0.6, help="of the long texts (0.6)")
    parser.add_argument("--crops", type=float, default=0.0, help="pieces of texts to add, per text (0)")
    parser.add_argument("--relations", type=float, default=0.3, help="weight of the mix's similarities (0.3)")
    parser.add_argument("--tokens", type=int, default=163_840, help="in a step (163,840)")
    parser.add_argument("--rate", type=float, default=1e-3, help="how fast it learns at first (0.001)")
    parser.add_argument("--layers", type=int, nargs="*", default=[], help="a smaller student keeps only these layers")
    parser.add_argument("--go-on", type=Path, help="weights of such a smaller student to go on with")
    parser.add_argument("--short", type=int, default=0, help="mostly texts of at most so many tokens (all)")
    options = parser.parse_args()
    if options.go_on is not None and not options.layers:
        parser.error("--go-on needs --layers")
    student = teach(options, "cuda" if torch.cuda.is_available() else "cpu")
    tensors = to_tensors(student.average)
    if not student.model.words.weight.requires_grad:
        del tensors["embeddings.word_embeddings.weight"]
    np.savez(options.out, **{name: value.astype(np.float16) for name, value in tensors.items()})
    print(f"{options.out}: {options.out.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
