"""Keeps the model for other languages unpacked in the user's cache folder, so that it loads in a tenth of the time.

The package holds its weights compressed, and a list of word pieces from which a table of all their beginnings is made
at every start. Both are kept as they are in memory: the large table of weights is read from the file where it is needed
(``mmap``), so that a question touches a few pages of it. What is kept gives the same vectors; where nothing can be
written, or what was kept cannot be read, the package's own files are loaded as before.
"""

from __future__ import annotations

import io
import struct
from array import array
from contextlib import suppress
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from ricordo.config.files import replace_file
from ricordo.errors import Unavailable

TABLE, REST = "table.npy", "rest.npz"
_NOT_KEPT = ("sp", "threads", "_threadpool")
"""What belongs to a process: the tokenizer, and how many threads compute."""


def opened(backend: Any, tokens: Any, resources: Path, kept: Path, threads: int) -> Any:
    """The model. ``backend`` and ``tokens`` are the package's modules, ``resources`` the folder with its files, and
    ``kept`` the one for what is kept of them.
    """
    try:
        return _restored(backend, tokens, kept, threads)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, BadZipFile):
        tokenizer = tokens.UsePureTokenizer(str(resources / "sp.model"))
        made = backend.NumpyBackend(str(resources / "weights.npz"), tokenizer, threads)
        with suppress(Unavailable, OSError, AttributeError):
            _keep(made, kept)
        return made


def _keep(made: Any, kept: Path) -> None:
    rest: dict[str, Any] = {}
    for name, value in vars(made).items():
        if name in _NOT_KEPT or name == "table":
            continue
        if isinstance(value, list):
            rest |= {f"{name}.{at}": one for at, one in enumerate(value)}
        else:
            rest[name] = value
    words, marks = made.sp, made.sp._normalizer  # the package is pinned, and a test compares the tokens
    rest |= {
        "words/beginnings": np.frombuffer("\n".join(words._prefixes).encode(), np.uint8),
        "words/numbers": np.fromiter(words._prefixes.values(), np.int32),
        "words/scores": np.asarray(words._scores, np.float32),
        "words/longest": words._max_len,
        "marks/units": np.asarray(marks._units, np.uint32),
        "marks/texts": np.frombuffer(marks._normalized, np.uint8),
    }
    table, others = io.BytesIO(), io.BytesIO()
    np.save(table, made.table)
    np.savez(others, **rest)
    for name, content in ((TABLE, table), (REST, others)):
        replace_file(kept / name, content.getvalue())


def _restored(backend: Any, tokens: Any, kept: Path, threads: int) -> Any:
    with (kept / REST).open("rb") as whole, np.load(whole, allow_pickle=False) as file:
        rest = {name: file[name] for name in file.files}
    table = np.load(kept / TABLE, mmap_mode="r", allow_pickle=False)
    words = {name: rest.pop(name) for name in list(rest) if "/" in name}
    made = object.__new__(backend.NumpyBackend)
    made.table, made.threads, made._threadpool = table, threads, None
    for name, value in rest.items():
        listed, _, at = name.partition(".")
        if at:
            made.__dict__.setdefault(listed, []).append(value)
        else:
            setattr(made, name, value if value.ndim else value.item())
    made.sp = _tokenizer(tokens, words)
    return made


def _tokenizer(tokens: Any, words: dict[str, Any]) -> Any:
    made = object.__new__(tokens.UsePureTokenizer)
    beginnings = words["words/beginnings"].tobytes().decode().split("\n")
    numbers = words["words/numbers"].tolist()
    units = words["marks/units"].astype("<u4").tobytes()
    vars(made).update(
        _pieces=(),  # only asked for by who wants the pieces as texts
        _scores=array("f", words["words/scores"].tobytes()),
        _unk_id=0,
        _bos_id=1,
        _eos_id=2,
        _unk_score=float(words["words/scores"].min()) - 10.0,
        _max_len=int(words["words/longest"]),
        _prefixes=dict(zip(beginnings, numbers, strict=True)),
        _normalizer=tokens._Normalizer(struct.pack("<I", len(units)) + units + words["marks/texts"].tobytes()),
    )
    return made
