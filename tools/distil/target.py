"""What the student is to reach: the vectors of several teachers side by side, brought to 384 dimensions.

A teacher's share says how much its cosine counts in the mixed similarity: vectors are scaled by its root and put side
by side, so that the product of two mixed vectors is the weighted sum of the teachers' cosines. The main directions of
these (by the second moment over all texts) make the target; nothing is centred beyond what ``centred`` says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional

from encoder import WINDOW, Texts, encode, from_tensors
from weights import unpacked

QUERY_PREFIX = "Represent this sentence for searching relevant passages: "


@dataclass(frozen=True)
class Teacher:
    """How a model wants its texts; ``share`` is its weight in the mix, ``centred`` the part of its mean taken off."""

    name: str
    share: float
    pooling: str = "mean"
    prefixed: bool = False
    centred: float = 0.0


TEACHERS = (
    Teacher("gte-small", 1.0, centred=0.5),
    Teacher("arctic-embed-s", 0.6, pooling="cls", prefixed=True),
    Teacher("minilm", 0.8),
)
"""The mix that the last student was taught (README.md has what others measured)."""
BEGIN = "minilm"
"""Whose weights the student begins with."""


def taught(
    teacher: Teacher, folder: Path, texts: Sequence[Sequence[int]], is_query: Sequence[bool], prefix: Sequence[int],
    device: str = "cuda",
) -> Tensor:  # fmt: skip
    """The vectors one teacher gives."""
    model = from_tensors(unpacked(folder / f"{teacher.name}.npz"), pooling=teacher.pooling).to(device).eval()
    given = texts
    if teacher.prefixed:
        given = [
            [one[0], *prefix, *one[1:]][:WINDOW] if asks else one for one, asks in zip(texts, is_query, strict=True)
        ]
    return encode(model, Texts(given, device))


def mixed(vectors: Mapping[str, Tensor], shares: Mapping[str, float], means: Mapping[str, Tensor]) -> Tensor:
    """Side by side, as half floats; ``means`` holds what is taken off a teacher's vectors first."""
    parts = []
    for name, share in shares.items():
        if not share:
            continue
        part = vectors[name].float()
        if name in means:
            part = functional.normalize(part - means[name], dim=-1)
        parts.append((part * (share / sum(shares.values())) ** 0.5).half())
    return torch.cat(parts, dim=1)


def main_directions(full: Tensor, count: int = 384) -> Tensor:
    """The matrix that brings mixed vectors to ``count`` dimensions."""
    moment = torch.zeros(full.shape[1], full.shape[1], device=full.device, dtype=torch.float64)
    for part in full.split(200_000):
        moment += (part.float().T @ part.float()).double()
    _, directions = torch.linalg.eigh(moment)
    return directions[:, -count:].flip(1).float()


def turned(begin: Tensor, target: Tensor) -> Tensor:
    """The rotation of the beginning's vectors that comes nearest to the target's: where a student's head starts."""
    left, _, right = torch.linalg.svd(begin.float().T @ target.float())
    return (left @ right).T.contiguous()


def tokens_of(tokenizer_file: Path, texts: Sequence[str]) -> list[list[int]]:
    """Token ids, cut to the window with the closing token kept."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(tokenizer_file))
    tokenizer.enable_truncation(WINDOW)
    tokenizer.no_padding()
    found: list[list[int]] = []
    for at in range(0, len(texts), 100_000):
        found += [one.ids for one in tokenizer.encode_batch_fast(list(texts[at : at + 100_000]))]
    return found
