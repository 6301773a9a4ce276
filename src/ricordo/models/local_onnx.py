"""The sentence model inside the package: it turns texts into vectors on this machine's CPU, without network or key.

``LocalEmbedder`` embeds; ``WordPieceCounter`` counts tokens and needs only the tokenizer. Both load on first use and
may be shared between threads. Other models are in ``hub``.

The model is given texts of equal length only, so that nothing is padded, and it quantises each token by itself. So a
text has the same vector alone and in a batch, as a document and as a query.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from functools import cache, cached_property, partial
from itertools import chain, filterfalse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ricordo.errors import Unavailable
from ricordo.models.onnx import CHARACTERS_PER_TOKEN, cores, load_session, load_tokenizer, run_session, runtime, verify
from ricordo.patterns import late

if TYPE_CHECKING:
    from onnxruntime import InferenceSession, SessionOptions
    from tokenizers import Encoding, Tokenizer

    from ricordo.models.base import Vectors

SHIPPED = Path(__file__).parent / "minilm"

# Texts of equal length run together up to this many tokens. One text of 64 tokens or more already keeps a core busy;
# only shorter ones gain (8 tokens: 0.38 ms a token alone, 0.25 ms in a batch of 16).
TOKENS_PER_RUN = 256

# Texts tokenised at a time: their tokens take some 10 kB a text until they are embedded.
TEXTS_PER_SLICE = 1024

# How many words' token counts are remembered (about 30 MB); when there are more, all are forgotten.
MOST_WORDS = 300_000
# Printable ASCII, typographic signs and Latin letters with accents: the tokenizer cuts such text at white space and at
# every sign, so its words can be counted one by one. Not so if it names a special token; and words of over 100 letters
# are not worth remembering.
_SIGNS = "“”‘’–—…•·«»‹›§¶¿¡"
_ACCENTED = "À-ÖØ-öø-ɏ"
_PLAIN = late(rf"[\t\n\r\xa0\x20-~{_SIGNS}{_ACCENTED}]*")
_WORD = late(rf"[A-Za-z0-9{_ACCENTED}]+|[!-/:-@\[-`{{-~{_SIGNS}]")
_SPECIAL = late(r"\[(?:CLS|MASK|PAD|SEP|UNK)]")
_LONGEST_WORD = 100
_FEW, _SHORT = 2, 2_000
"""Loading the tokenizer takes five times as long as reading its vocabulary. So up to so many texts of up to so many
characters are cut into tokens here, if they are plain ASCII; more are faster in the library.
"""
# The same for ASCII as tables for ``bytes.translate``, which is several times as fast as an expression.
_ASCII_SIGNS = bytes(code for code in range(0x21, 0x7F) if not chr(code).isalnum())
_PRINTABLE = b"\t\n\r" + bytes(range(0x20, 0x7F))
_WORDS_ALONE = bytes(code if code < 0x80 and chr(code).isalnum() else ord(" ") for code in range(256))

REINSTALL = "Reinstall ricordo: pip install --force-reinstall ricordo"


class WordPieceCounter:
    """Counts tokens with the shipped tokenizer: ``WordPieceCounter().count_tokens(["two words"]) == [2]``."""

    def __init__(self, folder: Path = SHIPPED) -> None:
        self._file = folder / "tokenizer.json"
        self._lock = threading.Lock()
        self._loaded: Tokenizer | None = None
        self._sizes: dict[str, int] = {}

    def load(self) -> Tokenizer:
        if self._loaded is None:
            with self._lock:
                if self._loaded is None:
                    self._loaded = load_tokenizer(self._file, hint=REINSTALL)
        return self._loaded

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        cut = [_words_and_signs(text) for text in texts]
        if len(self._sizes) > MOST_WORDS:
            self._sizes = {}  # a new one, as other threads may be reading the old
        sizes = self._sizes
        fresh = set(filterfalse(sizes.__contains__, chain.from_iterable([parts[0] for parts in cut if parts])))
        if too_long := {word for word in fresh if len(word) > _LONGEST_WORD}:
            cut = [parts if parts and too_long.isdisjoint(parts[0]) else None for parts in cut]
        self._learn(sizes, fresh - too_long)
        others = iter(self._count([text for text, parts in zip(texts, cut, strict=True) if parts is None]))
        return [next(others) if parts is None else sum(map(sizes.__getitem__, parts[0]), parts[1]) for parts in cut]

    def _learn(self, sizes: dict[str, int], words: Collection[str]) -> None:
        """Note how many tokens each word has; a plain text has as many as its words and signs together."""
        sizes.update((word, len(self._pieces(word.lower()))) for word in words if word.isascii())
        others = [word for word in words if word not in sizes]
        sizes.update(zip(others, self._count_words(others), strict=True))

    def _count_words(self, words: Sequence[str]) -> list[int]:
        """The tokens of each word, all in one text: a batch would wake other threads for a few words each time."""
        if not words:
            return []
        counts = Counter(self.load().encode(" ".join(words), add_special_tokens=False).word_ids)
        if len(counts) != len(words):  # some sign is no word of its own to the tokenizer
            return self._count(words)
        return [counts[place] for place in range(len(words))]

    def is_whole(self, word: str) -> bool:
        """Whether a folded word is one token."""
        return word in self._vocabulary

    @cached_property
    def _vocabulary(self) -> dict[str, int]:
        """The tokens with their numbers."""
        try:
            vocabulary: dict[str, int] = json.loads(self._file.read_bytes())["model"]["vocab"]
            _ = [vocabulary[token] for token in ("[CLS]", "[SEP]", "[UNK]")]  # which every text may need
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise Unavailable(f"the tokenizer {self._file} cannot be read: {error}", hint=REINSTALL) from error
        return vocabulary

    def _pieces(self, word: str) -> list[int]:
        """The tokens of a word of small ASCII letters and digits, or of a sign: always the longest that fits next."""
        if (whole := self._vocabulary.get(word)) is not None:
            return [whole]
        if len(word) > _LONGEST_WORD:
            return [self._vocabulary["[UNK]"]]
        pieces, start, begin = [], 0, ""
        while start < len(word):
            end = len(word)
            while (piece := self._vocabulary.get(begin + word[start:end])) is None:
                end -= 1
                if end == start:
                    return [self._vocabulary["[UNK]"]]
            pieces.append(piece)
            start, begin = end, "##"
        return pieces

    def _count(self, texts: Sequence[str]) -> list[int]:
        slices = (texts[at : at + TEXTS_PER_SLICE] for at in range(0, len(texts), TEXTS_PER_SLICE))
        return [len(encoding) for part in slices for encoding in self._encode(part, add_special_tokens=False)]

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Tokens of each text with those that open and close it, neither cut nor padded."""
        if len(texts) <= _FEW and all(
            len(text) <= _SHORT and text.isascii() and _words_and_signs(text) for text in texts
        ):
            first, last = self._vocabulary["[CLS]"], self._vocabulary["[SEP]"]
            words = (_WORD.findall(text.lower()) for text in texts)
            return [[first, *chain.from_iterable(map(self._pieces, some)), last] for some in words]
        return [encoding.ids for encoding in self._encode(texts)]

    def _encode(self, texts: Sequence[str], *, add_special_tokens: bool = True) -> list[Encoding]:
        tokenizer = self.load()
        try:
            return tokenizer.encode_batch_fast(list(texts), add_special_tokens=add_special_tokens)
        except TypeError:
            # The library refuses half a surrogate pair this way, because it cannot be written as UTF-8.
            whole = [text.encode("utf-8", "replace").decode("utf-8") for text in texts]
            return tokenizer.encode_batch_fast(whole, add_special_tokens=add_special_tokens)


@cache
def shipped_counter() -> WordPieceCounter:
    """The counter that all parts of a process share: reading the tokenizer takes 25 ms."""
    return WordPieceCounter()


def check_name(model: str) -> None:
    """Raise ``Unavailable`` if ``embedding.model`` names a model that is not inside the package."""
    if model not in ("", "minilm", "all-MiniLM-L6-v2"):
        raise Unavailable(
            f"there is no model '{model}' inside the package",
            hint="Use ‹:models use local --model minilm›; 'hub' runs other models.",
        )


UNREAD = frozenset(
    {"ar", "bg", "bn", "el", "fa", "he", "hi", "hy", "ja", "ka", "km", "ko", "lo", "my", "ru", "ta", "th", "uk", "zh"}
)
"""The languages that the tokenizer takes to pieces of one letter, or knows no letter of: vectors would say nothing."""


class LocalEmbedder:
    """Embeds with the packaged model, or with another folder made by ``tools/build_model.py``.

    >>> embedder = LocalEmbedder()  # loads nothing yet
    >>> notes = embedder.embed_documents(["Getting things done", "A recipe for bread"])
    >>> (notes @ embedder.embed_query("notes about productivity")).argmax()
    np.int64(0)

    ``threads`` is how many texts are embedded at a time (default: one per available core). ``cache`` is the folder
    that remembers which model files were verified (default: the user's cache folder).
    """

    unread = UNREAD
    is_remote = False

    def __init__(self, folder: Path = SHIPPED, *, threads: int | None = None, cache: Path | None = None) -> None:
        self.tokenizer = shipped_counter() if folder == SHIPPED else WordPieceCounter(folder)
        self._folder = folder
        self._cache = cache
        self._threads = threads
        self._lock = threading.Lock()
        self._loaded: InferenceSession | None = None

    @cached_property
    def _about(self) -> dict[str, Any]:
        try:
            about: dict[str, Any] = json.loads((self._folder / "checksums.json").read_text("utf-8"))
        except (OSError, ValueError) as error:
            raise Unavailable(f"the model in {self._folder} cannot be read: {error}", hint=REINSTALL) from error
        return about

    @property
    def fingerprint(self) -> str:
        about = self._about
        form = f"{about['form']}-{about['sha256']['model.onnx'][:8]}"
        return f"local/{about['model']}/{form}/{self.dimensions}/{about['pooling']}/{self.max_tokens}"

    @property
    def dimensions(self) -> int:
        return int(self._about["dimensions"])

    @property
    def max_tokens(self) -> int:
        return int(self._about["max_tokens"])

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return self.tokenizer.count_tokens(texts)

    def is_whole(self, word: str) -> bool:
        """Whether a folded word is one token: English texts, of which the tokenizer was made, have it often."""
        return self.tokenizer.is_whole(word)

    def load(self) -> InferenceSession:
        if self._loaded is None:
            with self._lock:
                if self._loaded is None:
                    self._loaded = self._open()
        return self._loaded

    def load_ahead(self) -> None:
        """Load the model now, so that the first query need not wait; if that fails, the query reports it."""
        with suppress(Unavailable):
            self.load()

    def embed_query(self, text: str) -> Vectors:
        [tokens] = self._tokens([text])  # before the model is asked for, which another thread may be loading
        vector: Vectors = self._run(self.load(), [tokens])[0]
        return vector

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        session = self.load()
        vectors = np.empty((len(texts), self.dimensions), np.float32)

        def fill(start: int, tokens: list[list[int]], rows: list[int]) -> None:
            vectors[[start + row for row in rows]] = self._run(session, [tokens[row] for row in rows])

        for start in range(0, len(texts), TEXTS_PER_SLICE):
            tokens = self._tokens(texts[start : start + TEXTS_PER_SLICE])
            _spread(partial(fill, start, tokens), _runs(list(map(len, tokens))), self._threads or cores())
        return vectors

    def _tokens(self, texts: Sequence[str]) -> list[list[int]]:
        """Token ids of each text, cut to the window; the closing token stays."""
        longest = self.max_tokens * CHARACTERS_PER_TOKEN
        near = [text if len(text) <= longest else text.lstrip()[:longest] for text in texts]
        tokens = self.tokenizer.ids(near)
        window = self.max_tokens
        return [ids if len(ids) <= window else [*ids[: window - 1], ids[-1]] for ids in tokens]

    def _run(self, session: InferenceSession, tokens: list[list[int]]) -> Vectors:
        import numpy as np

        inputs = {"input_ids": np.array(tokens, np.int64)}
        vectors: Vectors = run_session(session, inputs, "the model", hint="Run ‹:doctor›.")[0]
        return vectors

    def _open(self) -> InferenceSession:
        model = self._folder / "model.onnx"
        verify(model, self._about["sha256"]["model.onnx"], self._cache)
        return load_session(model, session_options(), hint=REINSTALL)


def session_options() -> SessionOptions:
    """How the models in the package run."""
    onnxruntime = runtime()
    options: SessionOptions = onnxruntime.SessionOptions()
    # One thread per run, and as many runs at a time as there are cores: no core waits for another within a run.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    # The graph is built as it should run. Planning reuse of buffers takes quadratic time, 90 ms here, and saves
    # no memory: the arena hands freed buffers out again.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.enable_mem_reuse = False
    options.enable_mem_pattern = False
    options.log_severity_level = 3
    return options


def _words_and_signs(text: str) -> tuple[list[str], int] | None:
    """The words of a plain text and how many ASCII signs it has, cut as the tokenizer does; None for other texts."""
    signs = 0
    if text.isascii():
        data = text.encode("ascii")
        if data.translate(None, _PRINTABLE):
            return None
        words = data.translate(_WORDS_ALONE).decode("ascii").split()
        signs = len(data) - len(data.translate(None, _ASCII_SIGNS))
    elif _PLAIN.fullmatch(text):
        words = _WORD.findall(text)
    else:
        return None
    return None if "[" in text and _SPECIAL.search(text) else (words, signs)


def _runs(lengths: Sequence[int]) -> list[list[int]]:
    """Groups of rows that run together: of equal length, and the longest first so that threads end together."""
    order = sorted(range(len(lengths)), key=lambda row: -lengths[row])
    runs: list[list[int]] = []
    for row in order:
        run = runs[-1] if runs else []
        if run and lengths[run[0]] == lengths[row] and (len(run) + 1) * lengths[row] <= TOKENS_PER_RUN:
            run.append(row)
        else:
            runs.append([row])
    return runs


def _spread(work: Callable[[list[int]], None], parts: list[list[int]], threads: int) -> None:
    """Call ``work`` on every part, on this thread or on several."""
    threads = min(threads, len(parts))
    if threads <= 1:
        for part in parts:
            work(part)
        return
    from concurrent.futures import ThreadPoolExecutor

    pool = ThreadPoolExecutor(threads, "embed")
    try:
        for _ in pool.map(work, parts):
            pass  # the first error, if any, is raised here
    finally:
        # After Ctrl-C or an error, parts not begun are not worth waiting for.
        pool.shutdown(cancel_futures=True)
