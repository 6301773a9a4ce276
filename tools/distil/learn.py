"""The training itself: a student of MiniLM's shape learns to give its teachers' mixed vectors.

The loss is 1 - cosine to the target. With ``relations`` the student's similarities between the texts of a step are also
held to those of the full mix, which 384 dimensions cannot hold exactly: as distributions over the other texts, so that
near neighbours count most. For there to be near ones, a step's pieces are then made of texts of few kinds each. Weights
are averaged over the steps; the average is the student.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from encoder import Encoder, Texts, grouped


@dataclass(frozen=True)
class Course:
    """How long and how fast. ``tokens`` are those of one step, in ``pieces`` of one length each: fewer are faster."""

    steps: int = 4500
    rate: float = 1e-3
    tokens: int = 163_840
    pieces: int = 4
    warm: int = 150
    keep: float = 0.998
    relations: float = 0.0
    heat: float = 0.05
    seed: int = 1
    seconds: float = 540.0


class Student:
    """A student, the average of its weights, and how it goes on."""

    def __init__(self, model: Encoder, course: Course, device: str = "cuda") -> None:
        self.model = model.to(device)
        self.average = copy.deepcopy(self.model).eval()
        self.course = course
        self.device = device
        learning = [value for value in self.model.parameters() if value.requires_grad]
        plain = [value for value in learning if value.ndim < 2]
        matrices = [value for value in learning if value.ndim >= 2]
        groups = [{"params": matrices, "weight_decay": 0.01}, {"params": plain, "weight_decay": 0.0}]
        self.optimiser = torch.optim.AdamW(groups, lr=course.rate, betas=(0.9, 0.98), fused=device == "cuda")

    def learn(
        self,
        texts: Texts,
        target: Tensor,
        full: Tensor,
        kinds: np.ndarray | None,
        report: Callable[[str], None] = print,
    ) -> None:
        """Go through the course, or as far as its time goes: the rate falls to nothing by whichever ends first."""
        course, started, losses = self.course, time.monotonic(), []
        batches = _batches(texts.lengths, course, kinds, self.device)
        for step in range(course.steps):
            gone = max(step / course.steps, (time.monotonic() - started) / course.seconds)
            if gone >= 1:
                break
            rate = course.rate * min(1.0, (step + 1) / course.warm) * (1 - gone)
            for group in self.optimiser.param_groups:
                group["lr"] = rate
            pieces = next(batches)
            rows = torch.cat([piece for piece, _ in pieces])
            with torch.autocast(self.device, torch.bfloat16, enabled=self.device == "cuda"):  # casts weights once
                found = torch.cat([self.model(texts.ids(piece, length)) for piece, length in pieces])
            loss = 1 - (found * functional.normalize(target[rows].float(), dim=-1)).sum(-1).mean()
            losses.append(loss.detach())
            if course.relations:
                loss = loss + course.relations * relations(found, full[rows], course.heat)
            self.optimiser.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.optimiser.step()
            self._follow(min(course.keep, 1 - 10 / (step + 20)))
            if step % 250 == 249:
                recent = torch.stack(losses[-250:]).mean().item()
                report(f"step {step + 1}: loss {recent:.4f}, {time.monotonic() - started:.0f} s")

    def _follow(self, keep: float) -> None:
        with torch.no_grad():
            theirs = [value.data for value in self.model.parameters()]
            torch._foreach_lerp_([value.data for value in self.average.parameters()], theirs, 1 - keep)


def relations(found: Tensor, full: Tensor, heat: float) -> Tensor:
    """How far the student's similarities are from the mix's, as distributions over the other texts of the step."""
    few = torch.randperm(len(found), device=found.device)[:3072]
    ours, theirs = found[few], functional.normalize(full[few].float(), dim=-1)
    itself = torch.eye(len(few), dtype=torch.bool, device=found.device)
    with torch.autocast(found.device.type, enabled=False):
        got = (ours @ ours.T / heat).masked_fill(itself, -1e4).log_softmax(-1)
        wanted = (theirs @ theirs.T / heat).masked_fill(itself, -1e4).log_softmax(-1)
    return functional.kl_div(got, wanted, reduction="batchmean", log_target=True)


def kinds_of(target: Tensor, count: int = 512, rounds: int = 8) -> np.ndarray:
    """A number for each text's kind: k-means over the target, the middles found on a part of it."""
    some = target[torch.randperm(len(target), device=target.device)[:200_000]].float()
    middles = some[:count].clone()
    for _ in range(rounds):
        nearest = (some @ middles.T).argmax(1)
        middles = functional.normalize(torch.zeros_like(middles).index_add_(0, nearest, some), dim=-1)
    return np.concatenate([(part.float() @ middles.T).argmax(1).cpu().numpy() for part in target.split(200_000)])


def _batches(
    lengths: np.ndarray, course: Course, kinds: np.ndarray | None, device: str
) -> Iterator[list[tuple[Tensor, int]]]:
    """Pieces of one length each, several random ones to a step, without end; each with its length.

    The order of a whole round goes to the device at once: a copy at every step would make it wait for what it computes.
    """
    chance = np.random.default_rng(course.seed)
    while True:
        order = chance.permutation(len(lengths))
        if kinds is not None:
            order = order[np.argsort(chance.permutation(kinds.max() + 1)[kinds[order]], kind="stable")]
        pieces = [order[rows] for rows in grouped(lengths[order], course.tokens // course.pieces)]
        chance.shuffle(pieces)  # type: ignore[arg-type]
        there = torch.from_numpy(np.concatenate(pieces)).to(device).split([len(piece) for piece in pieces])
        sized = [(rows, int(lengths[piece[0]])) for rows, piece in zip(there, pieces, strict=True)]
        for at in range(0, len(sized) - course.pieces + 1, course.pieces):
            yield sized[at : at + course.pieces]
