"""Trains the model that reads two sentences together and says what they are to each other (``reader_graph``).

It needs torch, and a graphics card unless there is much time. ``python tools/train_compare.py --pairs FILE`` writes the
pairs. ``python tools/train_reader.py FILE OUT --fold N`` trains on the voices that are not in fold N, judges those that
are, and writes ``readings-N.npz``; without ``--fold`` it trains on all and writes ``learned.npz``. Then
``python tools/train_compare.py --read OUT --write`` takes both in.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn import functional

SHIPPED = Path(__file__).resolve().parents[1] / "src" / "ricordo" / "models" / "minilm"
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
FIRST, BETWEEN = 101, 102
"""The tokens before the first sentence, and after each."""
LONGEST = 72
RANK, RATE, EPOCHS, TOGETHER, DROPPED, SMOOTHED = 8, 2e-3, 4, 128, 0.1, 0.05
STEPS = {"qkv": 1152, "out": 384, "wide": 1536, "narrow": 384}
"""The dense steps of a layer, and how many columns each has."""
HEADS = 12


class Dense(nn.Module):
    """A shipped matrix, which stays as it is, and the product of two narrow ones that is added to it."""

    def __init__(self, shipped: dict[str, Tensor], name: str) -> None:
        super().__init__()
        weight = shipped[f"{name}.weight"] * shipped[f"{name}.scale"]
        if f"{name}.even" in shipped:
            weight = shipped[f"{name}.even"][:, None] * weight
        self.register_buffer("weight", weight)
        self.down = nn.Parameter(torch.randn(len(weight), RANK) / math.sqrt(len(weight)))
        self.up = nn.Parameter(torch.zeros(RANK, weight.shape[1]))

    def forward(self, rows: Tensor) -> Tensor:
        return rows @ self.weight + (rows @ self.down) @ self.up


class Reader(nn.Module):
    """The shipped model over two sentences, and what the mean of its tokens says for each relation."""

    def __init__(self, relations: int) -> None:
        super().__init__()
        tensors = onnx.load(str(SHIPPED / "model.onnx")).graph.initializer
        shipped = {tensor.name: torch.tensor(numpy_helper.to_array(tensor)).float() for tensor in tensors}
        self.register_buffer("words", shipped["words"] * shipped["word_scale"])
        self.register_buffer("positions", shipped["positions"])
        self.register_buffer("embedded_gain", shipped["embedded.gain"])
        self.register_buffer("embedded_bias", shipped["embedded.bias"])
        self.hidden = self.words.shape[1]
        self.layers = max(int(name[5 : name.index(".")]) for name in shipped if name.startswith("layer")) + 1
        self.second = nn.Parameter(torch.zeros(self.hidden))
        self.dense = nn.ModuleDict()
        self.small = nn.ParameterDict()
        for layer in range(self.layers):
            for step in STEPS:
                self.dense[f"layer{layer}_{step}"] = Dense(shipped, f"layer{layer}.{step}")
            for name in ("qkv.bias", "middle.dense_bias", "wide.bias", "rows.dense_bias"):
                self._keep(shipped, f"layer{layer}.{name}")
            for norm in ("middle", "rows"):
                self._keep(shipped, f"layer{layer}.{norm}.gain")
                self._keep(shipped, f"layer{layer}.{norm}.bias")
        self.head = nn.Linear(self.hidden, relations)

    def _keep(self, shipped: dict[str, Tensor], name: str) -> None:
        self.small[name.replace(".", "_")] = nn.Parameter(shipped[name].clone())

    def forward(self, ids: Tensor, seconds: Tensor, there: Tensor) -> Tensor:
        rows = self.words[ids] + self.positions[: ids.shape[1]] + seconds[..., None] * self.second
        rows = self._normal(rows, self.embedded_gain, self.embedded_bias)
        for layer in range(self.layers):
            rows = self._layer(rows, f"layer{layer}_", there[:, None, None, :])
        weight = there[..., None].float()
        mean = (rows * weight).sum(1) / weight.sum(1)
        sums: Tensor = self.head(functional.dropout(mean, DROPPED, self.training))
        return sums

    def _layer(self, rows: Tensor, name: str, there: Tensor) -> Tensor:
        small, (texts, tokens, _) = self.small, rows.shape
        mixed = self.dense[f"{name}qkv"](rows) + small[f"{name}qkv_bias"]
        query, key, value = mixed.view(texts, tokens, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        dropped = DROPPED if self.training else 0.0
        mixed = functional.scaled_dot_product_attention(query, key, value, attn_mask=there, dropout_p=dropped)
        mixed = mixed.transpose(1, 2).reshape(texts, tokens, -1)
        rows = self._added(self.dense[f"{name}out"](mixed), rows, f"{name}middle")
        wide = functional.gelu(self.dense[f"{name}wide"](rows) + small[f"{name}wide_bias"], approximate="tanh")
        return self._added(self.dense[f"{name}narrow"](wide), rows, f"{name}rows")

    def _added(self, made: Tensor, rows: Tensor, name: str) -> Tensor:
        made = functional.dropout(made + self.small[f"{name}_dense_bias"], DROPPED, self.training)
        # The graph's gain holds the root of the width, as its normalisation divides by the length.
        return self._normal(made + rows, self.small[f"{name}_gain"], self.small[f"{name}_bias"])

    def _normal(self, rows: Tensor, gain: Tensor, bias: Tensor) -> Tensor:
        return functional.layer_norm(rows, (self.hidden,), gain / math.sqrt(self.hidden), bias, 1e-12)

    def learned(self) -> dict[str, Any]:
        """What was learned, by the names that the graph gives it."""
        found = {"second": self.second, "head.weight": self.head.weight.T, "head.bias": self.head.bias}
        for name, step in self.dense.items():
            found |= {f"{name.replace('_', '.')}.down": step.down, f"{name.replace('_', '.')}.up": step.up}
        for name, value in self.small.items():
            layer, part, rest = name.split("_", 2)
            found[f"{layer}.{part}.{rest}"] = value
        return {name: value.detach().float().cpu().numpy() for name, value in found.items()}


class Rows:
    """All pairs as tensors."""

    def __init__(self, pairs: Sequence[Sequence[Any]]) -> None:
        tokenizer = Tokenizer.from_file(str(SHIPPED / "tokenizer.json"))
        tokens = {text: tokenizer.encode(text, add_special_tokens=False).ids for pair in pairs for text in pair[:2]}
        ids = np.zeros((len(pairs), LONGEST), np.int64)
        seconds = np.zeros((len(pairs), LONGEST), np.float32)
        self.sizes = np.zeros(len(pairs), np.int64)
        for row, pair in enumerate(pairs):
            one, other = (list(tokens[text]) for text in pair[:2])
            while len(one) + len(other) + 3 > LONGEST:
                (one if len(one) > len(other) else other).pop()
            read = [FIRST, *one, BETWEEN, *other, BETWEEN]
            ids[row, : len(read)] = read
            seconds[row, len(one) + 2 : len(read)] = 1
            self.sizes[row] = len(read)
        self.ids, self.seconds = torch.tensor(ids, device=DEVICE), torch.tensor(seconds, device=DEVICE)
        self.relations = torch.tensor([pair[2] for pair in pairs], device=DEVICE)
        self.weights = np.array([pair[4] for pair in pairs], np.float32)

    def of(self, some: Any) -> tuple[Tensor, Tensor, Tensor]:
        """Tokens of some pairs, which are of the second sentence, and which are there."""
        width, rows = int(self.sizes[some].max()), torch.as_tensor(some, device=DEVICE)
        sizes = torch.as_tensor(self.sizes[some], device=DEVICE)
        there = torch.arange(width, device=DEVICE) < sizes[:, None]
        return self.ids[rows, :width], self.seconds[rows, :width], there


def batches(some: Any, sizes: Any, chance: np.random.Generator) -> list[Any]:
    """Pairs in an order by lot, those of about the same length together."""
    chance.shuffle(some)
    found = []
    for at in range(0, len(some), TOGETHER * 20):
        part = some[at : at + TOGETHER * 20]
        part = part[np.argsort(sizes[part], kind="stable")]
        found += [part[n : n + TOGETHER] for n in range(0, len(part), TOGETHER)]
    return [found[n] for n in chance.permutation(len(found))]


def train(rows: Rows, some: Any, relations: int) -> Reader:
    """In each round a pair takes part as often as its weight says."""
    torch.manual_seed(1)
    chance = np.random.default_rng(1)
    model = Reader(relations).to(DEVICE)
    head = {id(value) for value in model.head.parameters()}
    others = [value for value in model.parameters() if id(value) not in head]
    groups = [{"params": others, "lr": RATE}, {"params": model.head.parameters(), "lr": 1e-3}]
    optimiser = torch.optim.AdamW(groups, weight_decay=0.01)
    steps = int(EPOCHS * rows.weights[some].sum() / TOGETHER)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda step: min(1.0, (step + 1) / (0.08 * steps)) * max(0.01, 1 - step / steps)
    )
    model.train()
    for _ in range(EPOCHS):
        for part in batches(some[chance.random(len(some)) < rows.weights[some]], rows.sizes, chance):
            with torch.autocast(DEVICE, torch.bfloat16):
                sums = model(*rows.of(part))
            wanted = rows.relations[torch.as_tensor(part, device=DEVICE)]
            loss = functional.cross_entropy(sums.float(), wanted, label_smoothing=SMOOTHED)
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(others, 1.0)
            optimiser.step()
            schedule.step()
    return model.eval()


@torch.no_grad()
def read(model: Reader, rows: Rows, some: Any, relations: int) -> Any:
    """What the model says of some pairs."""
    sums = np.zeros((len(some), relations), np.float32)
    order = np.argsort(rows.sizes[some], kind="stable")
    for at in range(0, len(order), 512):
        part = order[at : at + 512]
        sums[part] = model(*rows.of(some[part])).float().cpu().numpy()
    return sums


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pairs", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--fold", type=int, nargs="*", default=[])
    given = parser.parse_args()
    with gzip.open(given.pairs, "rt", encoding="utf-8") as file:
        pairs = json.load(file)  # older, newer, relation, fold, weight
    rows, folds = Rows(pairs), np.array([pair[3] for pair in pairs])
    relations = 1 + max(pair[2] for pair in pairs)
    for fold in given.fold:
        judged = np.flatnonzero(folds == fold)
        sums = read(train(rows, np.flatnonzero(folds != fold), relations), rows, judged, relations)
        np.savez_compressed(given.out / f"readings-{fold}.npz", rows=judged, sums=sums.astype(np.float16))
    if not given.fold:
        model = train(rows, np.arange(len(pairs)), relations)
        np.savez(given.out / "learned.npz", **model.learned())
        some = np.arange(0, len(pairs), 97)
        np.savez_compressed(given.out / "control.npz", rows=some, sums=read(model, rows, some, relations))


if __name__ == "__main__":
    main()
