"""BERT-like encoders in PyTorch, from tensors by name: the teachers, and the student that learns.

``grouped`` puts texts of one length together, so that nothing is padded and no mask
is needed; ``encode`` gives one vector per text. Written out rather than taken from a library, because the student must
compute exactly what ``tools/model_graph.py`` builds for the product.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

WINDOW = 256


class Layer(nn.Module):
    """One transformer layer."""

    def __init__(self, hidden: int, wide: int, heads: int, epsilon: float) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(hidden, 3 * hidden)
        self.out = nn.Linear(hidden, hidden)
        self.norm_middle = nn.LayerNorm(hidden, epsilon)
        self.wide = nn.Linear(hidden, wide)
        self.narrow = nn.Linear(wide, hidden)
        self.norm = nn.LayerNorm(hidden, epsilon)

    def forward(self, rows: Tensor, bias: Tensor | None = None) -> Tensor:
        texts, tokens, hidden = rows.shape
        parts = self.qkv(rows).view(texts, tokens, 3, self.heads, hidden // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(query, key, value, attn_mask=bias)
        mixed = mixed.transpose(1, 2).reshape(texts, tokens, hidden)
        rows = self.norm_middle(rows + self.out(mixed))
        return self.norm(rows + self.narrow(functional.gelu(self.wide(rows))))


class Encoder(nn.Module):
    """Tokens to a vector. ``pooling`` is mean or cls; a head, if there is one, turns the pooled vector."""

    def __init__(
        self, *, layers: int, hidden: int, wide: int, heads: int, words: int, pooling: str = "mean", head: int = 0,
        relative: bool = False, epsilon: float = 1e-12,
    ) -> None:  # fmt: skip
        super().__init__()
        self.pooling = pooling
        self.words = nn.Embedding(words, hidden)
        self.positions = nn.Embedding(WINDOW, hidden)
        self.norm = nn.LayerNorm(hidden, epsilon)
        self.layers = nn.ModuleList(Layer(hidden, wide, heads, epsilon) for _ in range(layers))
        self.head = nn.Linear(hidden, head, bias=False) if head else None
        self.relative = nn.Embedding(32, heads) if relative else None

    def forward(self, ids: Tensor) -> Tensor:
        rows = self.norm(self.words(ids) + self.positions.weight[: ids.shape[1]])
        bias = self._bias(ids.shape[1], rows) if self.relative is not None else None
        for layer in self.layers:
            rows = layer(rows, bias)
        pooled = (rows[:, 0] if self.pooling == "cls" else rows.mean(dim=1)).float()
        if self.head is not None:
            pooled = functional.linear(pooled, self.head.weight.float())
        return functional.normalize(pooled, dim=-1)

    def _bias(self, tokens: int, rows: Tensor) -> Tensor:
        """MPNet's bias of attention by distance, in the buckets of T5."""
        assert self.relative is not None
        place = torch.arange(tokens, device=rows.device)
        away = place[None, :] - place[:, None]
        side = (away > 0).long() * 16
        size = away.abs()
        far = 8 + (torch.log(size.clamp(min=1).float() / 8) / math.log(128 / 8) * 8).long()
        bucket = side + torch.where(size < 8, size, far.clamp(max=15))
        dtype = torch.get_autocast_dtype("cuda") if torch.is_autocast_enabled("cuda") else rows.dtype
        return self.relative(bucket).permute(2, 0, 1)[None].to(dtype)


def from_tensors(
    tensors: Mapping[str, npt.NDArray[np.float32]], *, heads: int = 12, pooling: str = "mean", head: int = 0
) -> Encoder:
    """An encoder with the weights of BERT or MPNet, told apart by their names."""
    tensors = {name.removeprefix("bert.").removeprefix("mpnet."): value for name, value in tensors.items()}
    is_mpnet = "encoder.relative_attention_bias.weight" in tensors
    layers = 1 + max(int(name.split(".")[2]) for name in tensors if name.startswith("encoder.layer."))
    words = tensors["embeddings.word_embeddings.weight"]
    wide = tensors["encoder.layer.0.intermediate.dense.weight"].shape[0]
    made = Encoder(
        layers=layers, hidden=words.shape[1], wide=wide, heads=heads, words=len(words), pooling=pooling, head=head,
        relative=is_mpnet, epsilon=1e-5 if is_mpnet else 1e-12,
    )  # fmt: skip
    positions = tensors["embeddings.position_embeddings.weight"]
    if is_mpnet:
        positions = positions[2 : WINDOW + 2]  # it counts from 2
        made.relative.weight.data = torch.from_numpy(tensors["encoder.relative_attention_bias.weight"])  # type: ignore[union-attr]
    else:
        types = tensors.get("embeddings.token_type_embeddings.weight")
        positions = positions[:WINDOW] if types is None else positions[:WINDOW] + types[0]  # a student's are summed
    _put(made.words, weight=words)
    _put(made.positions, weight=positions)
    _put(made.norm, weight=tensors["embeddings.LayerNorm.weight"], bias=tensors["embeddings.LayerNorm.bias"])
    attention = (
        ("attn.q", "attn.k", "attn.v", "attn.o")
        if is_mpnet
        else ("self.query", "self.key", "self.value", "output.dense")
    )
    norm = "attention.LayerNorm" if is_mpnet else "attention.output.LayerNorm"
    for number, layer in enumerate(made.layers):

        def get(name: str, number: int = number) -> npt.NDArray[np.float32]:
            return tensors[f"encoder.layer.{number}.{name}"]

        *qkv, out = (f"attention.{name}" for name in attention)
        _put(
            layer.qkv,
            weight=np.concatenate([get(f"{name}.weight") for name in qkv]),
            bias=np.concatenate([get(f"{name}.bias") for name in qkv]),
        )  # type: ignore[arg-type]
        for module, name in (
            (layer.out, out),
            (layer.norm_middle, norm),
            (layer.wide, "intermediate.dense"),
            (layer.narrow, "output.dense"),
            (layer.norm, "output.LayerNorm"),
        ):
            _put(module, weight=get(f"{name}.weight"), bias=get(f"{name}.bias"))  # type: ignore[arg-type]
    return made


def _put(module: nn.Module, **tensors: npt.NDArray[np.float32]) -> None:
    for name, value in tensors.items():
        held = getattr(module, name)
        assert tuple(held.shape) == value.shape, (held.shape, value.shape)
        held.data = torch.from_numpy(np.ascontiguousarray(value, np.float32))


def to_tensors(student: Encoder) -> dict[str, npt.NDArray[np.float32]]:
    """BERT's names again, as ``tools/build_model.py`` reads them; the head is ``head.weight``."""

    def array(value: Tensor) -> npt.NDArray[np.float32]:
        return value.detach().float().cpu().numpy()

    found = {
        "embeddings.word_embeddings.weight": array(student.words.weight),
        "embeddings.position_embeddings.weight": array(student.positions.weight),
        "embeddings.LayerNorm.weight": array(student.norm.weight),
        "embeddings.LayerNorm.bias": array(student.norm.bias),
    }
    if student.head is not None:
        found["head.weight"] = array(student.head.weight)
    for number, layer in enumerate(student.layers):
        for part in ("weight", "bias"):
            for name, value in zip(
                ("query", "key", "value"),
                array(getattr(layer.qkv, part)).reshape(3, -1, *array(getattr(layer.qkv, part)).shape[1:]),
                strict=True,
            ):  # type: ignore[arg-type]
                found[f"encoder.layer.{number}.attention.self.{name}.{part}"] = value
            for module, name in (
                (layer.out, "attention.output.dense"),
                (layer.norm_middle, "attention.output.LayerNorm"),
                (layer.wide, "intermediate.dense"),
                (layer.narrow, "output.dense"),
                (layer.norm, "output.LayerNorm"),
            ):
                found[f"encoder.layer.{number}.{name}.{part}"] = array(getattr(module, part))  # type: ignore[arg-type]
    return found


class Texts:
    """Token ids of many texts in one row on the device, so that a batch is one look-up."""

    def __init__(self, texts: Sequence[Sequence[int]], device: str) -> None:
        self.lengths = np.array([len(one) for one in texts], np.int64)
        self.flat = torch.from_numpy(np.fromiter(chain.from_iterable(texts), np.int32, int(self.lengths.sum()))).to(
            device
        )
        self.starts = torch.from_numpy(np.concatenate(([0], np.cumsum(self.lengths)[:-1]))).to(device)
        self.device = device

    def __len__(self) -> int:
        return len(self.lengths)

    def ids(self, rows: npt.NDArray[np.int64]) -> Tensor:
        """The ids of some texts, all of one length."""
        place = torch.arange(int(self.lengths[rows[0]]), device=self.device)
        return self.flat[self.starts[torch.from_numpy(rows).to(self.device)][:, None] + place].long()


def mpnet_ids(ids: Tensor) -> Tensor:
    """BERT's token ids as MPNet numbers the same words."""
    return torch.where(ids == 101, 0, torch.where(ids == 102, 2, ids + 4))


def grouped(lengths: npt.NDArray[np.int64], tokens: int) -> Iterator[npt.NDArray[np.int64]]:
    """Rows of one length, at most ``tokens`` of them together."""
    order = np.argsort(lengths, kind="stable")
    edges = np.flatnonzero(np.diff(lengths[order])) + 1
    for rows in np.split(order, edges):
        many = max(1, tokens // int(lengths[rows[0]]))
        for at in range(0, len(rows), many):
            yield rows[at : at + many]


@torch.no_grad()
def encode(model: Encoder, texts: Texts, *, tokens: int = 262_144) -> Tensor:
    """Unit vectors of many texts, as half floats on the device."""
    width = model.head.out_features if model.head is not None else model.words.embedding_dim
    found = torch.empty(len(texts), width, dtype=torch.float16, device=texts.device)
    for rows in grouped(texts.lengths, tokens):
        ids = texts.ids(rows)
        with torch.autocast(texts.device, torch.bfloat16, enabled=texts.device == "cuda"):  # on a CPU it is far slower
            vectors = model(mpnet_ids(ids) if model.relative is not None else ids)
        found[torch.from_numpy(rows).to(texts.device)] = vectors.half()
    return found
