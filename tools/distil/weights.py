"""The weights of teachers and beginning, read from their packages, checked by hash, and packed small.

    python tools/distil/weights.py --packages DIR --out DIR

Matrices are kept as bytes with one scale per row, so that three models fit into 90 MB and travel to a rented machine in
little time. All are of BERT's kind, with its names.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import tarfile
import tomllib
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

HERE = Path(__file__).parent
Tensors = dict[str, npt.NDArray[np.float32]]
_DENSE = re.compile(r"/(?:auto_model/|bert/)?(encoder/layer\.\d+/.+?)/MatMul(?:_quant)?$")


def from_onnx(raw: bytes) -> Tensors:
    """BERT's tensors under their names, from a graph in plain or in dynamically quantised operators."""
    import onnx
    from onnx import numpy_helper

    graph = onnx.load_from_string(raw).graph
    held = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    tensors = {name: held[name] for name in held if name.endswith((".weight", ".bias"))}
    for name in {name.removesuffix("_quantized") for name in held if name.endswith(".weight_quantized")}:
        tensors[name] = _unscaled(held, name)
    for node in graph.node:
        match = _DENSE.search(node.name)
        if match is None or node.op_type not in ("MatMul", "MatMulInteger"):
            continue
        label = f"{match[1].replace('/', '.')}.weight"
        if node.op_type == "MatMul" and node.input[1] in held:
            tensors[label] = held[node.input[1]].T
        elif node.op_type == "MatMulInteger":
            tensors[label] = _unscaled(held, node.input[1].removesuffix("_quantized")).T
    return {name: np.ascontiguousarray(value, np.float32) for name, value in tensors.items()}


def _unscaled(held: Mapping[str, npt.NDArray[np.generic]], name: str) -> npt.NDArray[np.float32]:
    zero = held[f"{name}_zero_point"].astype(np.float32)
    found: npt.NDArray[np.float32] = (held[f"{name}_quantized"].astype(np.float32) - zero) * held[f"{name}_scale"]
    return found


def from_safetensors(raw: bytes) -> Tensors:
    from safetensors.numpy import load

    return {name: value.astype(np.float32) for name, value in load(raw).items() if value.dtype.kind == "f"}


def packed(tensors: Tensors) -> dict[str, npt.NDArray[np.generic]]:
    """Matrices as bytes with a scale per row, vectors as half floats."""
    small: dict[str, npt.NDArray[np.generic]] = {}
    for name, value in tensors.items():
        if value.ndim == 2 and value.shape[0] > 2:
            scale = np.maximum(np.abs(value).max(axis=1), 1e-9) / 127
            small[f"{name}|bytes"] = np.round(value / scale[:, None]).astype(np.int8)
            small[f"{name}|scale"] = scale.astype(np.float32)
        else:
            small[name] = value.astype(np.float32)
    return small


def unpacked(file: Path) -> Tensors:
    """What ``packed`` wrote, as float32 again."""
    tensors: Tensors = {}
    with np.load(file) as held:
        for name in held.files:
            if name.endswith("|bytes"):
                label = name.removesuffix("|bytes")
                tensors[label] = held[name].astype(np.float32) * held[f"{label}|scale"][:, None]
            elif not name.endswith("|scale"):
                tensors[name] = held[name].astype(np.float32)
    return tensors


def read_model(source: Mapping[str, object], packages: Path) -> tuple[Tensors, bytes]:
    """One model of ``sources.toml``: its tensors and its tokenizer file."""
    files: dict[str, bytes] = {}
    archives = [packages / str(name) for name in source["files"]]  # type: ignore[attr-defined]
    for archive in archives:
        if archive.suffix == ".whl":
            with zipfile.ZipFile(archive) as wheel:
                files |= {name: wheel.read(name) for name in wheel.namelist() if _is_wanted(name, source)}
        else:
            with tarfile.open(archive) as tar:
                files |= {one.name: tar.extractfile(one).read() for one in tar if _is_wanted(one.name, source)}  # type: ignore[union-attr]
    weights = next(name for name in files if name.endswith(str(source["weights"])))
    tokenizer = next(name for name in files if name.endswith("tokenizer.json"))
    if hashlib.sha256(files[weights]).hexdigest() != source["sha256"]:
        raise SystemExit(f"{source['name']}: the weights are not those that were used")
    read = from_onnx if weights.endswith(".onnx") else from_safetensors
    return read(files[weights]), files[tokenizer]


def _is_wanted(name: str, source: Mapping[str, object]) -> bool:
    return name.endswith((str(source["weights"]), "tokenizer.json")) and str(source.get("within", "")) in name


def main() -> None:
    """Pack every model that ``sources.toml`` names."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--packages", type=Path, required=True, help="the folder that fetch.py filled")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for source in tomllib.loads((HERE / "sources.toml").read_text("utf-8"))["model"]:
        tensors, tokenizer = read_model(source, options.packages)
        np.savez(options.out / f"{source['name']}.npz", **packed(tensors))
        (options.out / f"{source['name']}.tokenizer.json").write_bytes(tokenizer)
        size = sum(value.size for value in tensors.values()) / 1e6
        print(f"{source['name']}: {len(tensors)} tensors, {size:.1f}M numbers", flush=True)


if __name__ == "__main__":
    main()
