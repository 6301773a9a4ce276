"""ONNX Runtime and the tokenizers library: loading and running a model file, with our errors instead of theirs.

A package that is missing, a file that is damaged and a run that fails are three different errors. ``verify`` checks
that a file is the one that was published; results are remembered in the user's cache folder by the file's path, size
and time of change, and if that is lost, the file is read once more (about 20 ms for the shipped one).
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ricordo.config.files import read_json, write_json
from ricordo.config.state import user_folder
from ricordo.errors import Unavailable

if TYPE_CHECKING:
    from onnxruntime import InferenceSession, SessionOptions
    from tokenizers import Tokenizer

_RESTORE = "Reinstall ricordo (pip install --force-reinstall ricordo), or restore the file."
CHARACTERS_PER_TOKEN = 64
"""A text is cut to this many characters for each token of the window before it is tokenised, so that a huge file costs
no time. Prose has four or five to a token; only a text made of words of hundreds of letters loses anything."""


def runtime() -> Any:
    """The package ``onnxruntime``; an error that says how to install it where it is missing."""
    import numpy as np  # noqa: F401 - see below

    # Its native part imports a module inside NumPy without waiting for a thread that is still importing NumPy itself.
    try:
        import onnxruntime
    except ImportError as error:
        raise _missing("onnxruntime", error) from error
    return onnxruntime


def load_session(file: Path, options: SessionOptions | None = None, *, hint: str) -> InferenceSession:
    """A model file, ready to run on the CPU, with as many threads as there are cores unless the options say otherwise;
    ``hint`` says how to get a file that is whole.
    """
    onnxruntime = runtime()
    if options is None:
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
    try:
        session: InferenceSession = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
    except _failures() as error:
        raise Unavailable(f"the model {file} cannot be loaded: {error}", hint=hint) from error
    return session


def run_session(session: InferenceSession, inputs: dict[str, Any], what: str, *, hint: str) -> list[Any]:
    """The outputs of a model; ``what`` names it in the error."""
    try:
        outputs: list[Any] = session.run(None, inputs)
    except _failures() as error:
        raise Unavailable(f"{what} failed to run: {error}", hint=hint) from error
    return outputs


def load_tokenizer(file: Path, *, hint: str) -> Tokenizer:
    """A tokenizer from its file; ``hint`` says how to get a file that is whole."""
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise _missing("tokenizers", error) from error
    try:
        return Tokenizer.from_buffer(file.read_bytes())  # ``from_file`` raises a plain ``Exception``
    except (OSError, ValueError) as error:
        raise Unavailable(f"the tokenizer {file} cannot be read: {error}", hint=hint) from error


def _failures() -> tuple[type[Exception], ...]:
    """What ONNX Runtime raises: classes of its own that share no base, and those that C++ errors become."""
    from onnxruntime.capi import onnxruntime_pybind11_state as state

    own = [kind for kind in vars(state).values() if isinstance(kind, type) and issubclass(kind, Exception)]
    return (*own, RuntimeError, ValueError, MemoryError)


def _missing(package: str, error: ImportError) -> Unavailable:
    return Unavailable(f"local models need {package}: {error}", hint=f"pip install --force-reinstall {package}")


def verify(file: Path, sha256: str, cache: Path | None = None, *, hint: str = _RESTORE) -> None:
    """Raise ``Unavailable`` unless the file has that SHA-256. ``cache`` is the folder where results are kept."""
    try:
        state = file.stat()
        identity = [state.st_size, state.st_mtime_ns, sha256]
        results = (cache or user_cache()) / "verified-models.json"
        verified = read_json(results)
        verified = verified if isinstance(verified, dict) else {}
        if verified.get(str(file)) == identity:
            return
        import hashlib

        with file.open("rb") as content:
            digest = hashlib.file_digest(content, "sha256").hexdigest()
    except OSError as error:
        raise Unavailable(f"the model file {file} cannot be read: {error}", hint=hint) from error
    if digest != sha256:
        raise Unavailable(f"the model file {file} is damaged: its SHA-256 is {digest}, not {sha256}", hint=hint)
    with contextlib.suppress(Unavailable):
        write_json(results, {**verified, str(file): identity})


def user_cache() -> Path:
    """The folder for what can be made again."""
    return Path(user_folder("cache", os.environ))


def cores() -> int:
    """How many cores of the machine this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
