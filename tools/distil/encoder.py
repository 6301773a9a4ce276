"""BERT-like encoders in PyTorch, from tensors by name: the teachers, and the student that learns.

``grouped`` puts texts of one length together, so that nothing is padded and no mask
is needed; ``encode`` gives one vector per text. Written out rather than taken from a library, because the student must
compute exactly what ``tools/model_graph.py`` builds for the product.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

WINDOW = 256
EPSILON = 1e-12

# cuDNN's attention plans anew for every shape, and lengths vary: reading 92M tokens took 45 s with it, 16 s without.
torch.backends.cuda.enable_cudnn_sdp(False)


class Layer(nn.Module):
    """One transformer layer."""

    def __init__(self, hidden: int, wide: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(hidden, 3 * hidden)
        self.out = nn.Linear(hidden, hidden)
        self.norm_middle = nn.LayerNorm(hidden, EPSILON)
        self.wide = nn.Linear(hidden, wide)
        self.narrow = nn.Linear(wide, hidden)
        self.norm = nn.LayerNorm(hidden, EPSILON)

    def forward(self, rows: Tensor) -> Tensor:
        texts, tokens, hidden = rows.shape
        parts = self.qkv(rows).view(texts, tokens, 3, self.heads, hidden // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(query, key, value)
        mixed = mixed.transpose(1, 2).reshape(texts, tokens, hidden)
        rows = self.norm_middle(rows + self.out(mixed))
        return self.norm(rows + self.narrow(functional.gelu(self.wide(rows))))


class Encoder(nn.Module):
    """Tokens to a vector. ``pooling`` is mean or cls; a head, if there is one, turns the pooled vector."""

    def __init__(
        self, *, layers: int, hidden: int, wide: int, heads: int, words: int, pooling: str = "mean", head: int = 0
    ) -> None:
        super().__init__()
        self.pooling = pooling
        self.words = nn.Embedding(words, hidden)
        self.positions = nn.Embedding(WINDOW, hidden)
        self.norm = nn.LayerNorm(hidden, EPSILON)
        self.layers = nn.ModuleList(Layer(hidden, wide, heads) for _ in range(layers))
        self.head = nn.Linear(hidden, head, bias=False) if head else None

    def forward(self, ids: Tensor) -> Tensor:
        rows = self.norm(self.words(ids) + self.positions.weight[: ids.shape[1]])
        for layer in self.layers:
            rows = layer(rows)
        pooled = (rows[:, 0] if self.pooling == "cls" else rows.mean(dim=1)).float()
        if self.head is not None:
            pooled = functional.linear(pooled, self.head.weight.float())
        return functional.normalize(pooled, dim=-1)


def from_tensors(
    tensors: Mapping[str, npt.NDArray[np.float32]], *, heads: int = 12, pooling: str = "mean", head: int = 0
) -> Encoder:
    """An encoder with weights under BERT's names."""
    tensors = {name.removeprefix("bert."): value for name, value in tensors.items()}
    layers = 1 + max(int(name.split(".")[2]) for name in tensors if name.startswith("encoder.layer."))
    words = tensors["embeddings.word_embeddings.weight"]
    wide = tensors["encoder.layer.0.intermediate.dense.weight"].shape[0]
    made = Encoder(
        layers=layers, hidden=words.shape[1], wide=wide, heads=heads, words=len(words), pooling=pooling, head=head
    )  # fmt: skip
    positions = tensors["embeddings.position_embeddings.weight"][:WINDOW]
    types = tensors.get("embeddings.token_type_embeddings.weight")
    positions = positions if types is None else positions + types[0]  # a student's are summed
    _put(made.words, weight=words)
    _put(made.positions, weight=positions)
    _put(made.norm, weight=tensors["embeddings.LayerNorm.weight"], bias=tensors["embeddings.LayerNorm.bias"])
    for number, layer in enumerate(made.layers):

        def get(name: str, number: int = number) -> npt.NDArray[np.float32]:
            return tensors[f"encoder.layer.{number}.{name}"]

        qkv = [f"attention.self.{name}" for name in ("query", "key", "value")]
        _put(
            layer.qkv,
            weight=np.concatenate([get(f"{name}.weight") for name in qkv]),
            bias=np.concatenate([get(f"{name}.bias") for name in qkv]),
        )  # type: ignore[arg-type]
        for module, name in (
            (layer.out, "attention.output.dense"),
            (layer.norm_middle, "attention.output.LayerNorm"),
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

    def ids(self, rows: Tensor, length: int) -> Tensor:
        """The ids of some texts, all of one length."""
        place = torch.arange(length, device=self.device)
        return self.flat[self.starts[rows][:, None] + place].long()


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
        there = torch.from_numpy(rows).to(texts.device)
        ids = texts.ids(there, int(texts.lengths[rows[0]]))
        with torch.autocast(texts.device, torch.bfloat16, enabled=texts.device == "cuda"):  # on a CPU it is far slower
            vectors = model(ids)
        found[there] = vectors.half()
    return found
