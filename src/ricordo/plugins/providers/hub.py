"""Models in ONNX format, from a hub or from a folder: their files, and running them to embed or to rerank.

A model from a hub is kept in a folder of its own, with a card that says which revision it is. After that the hub is not
asked again. A folder that the user names is only read. The files of a sentence model say which pooling, window and
prefixes it needs. Only embedding documents waits for a download; a query raises an error, and the search goes on by
words. A cross-encoder is downloaded by ``ricordo models use cross-encoder`` alone.
"""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import re
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from ricordo.bounded import call_within
from ricordo.config.files import read_json, write_json
from ricordo.errors import ContractError, Error, MissingExtra, Unavailable
from ricordo.frozen import frozen
from ricordo.models.http import REACH_SECONDS
from ricordo.models.onnx import CHARACTERS_PER_TOKEN, load_session, load_tokenizer, run_session
from ricordo.plugins.providers.embeddings import WITHOUT, known_prompts, prefix_mark, unit_vectors

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Encoding

    from ricordo.config.settings import Config, EmbeddingSettings
    from ricordo.models.base import Vectors
    from ricordo.values.reports import ModelState

CARD = "ricordo-model.json"
GET_ANEW = "The file is damaged: delete it and download it again."
DESCRIPTIONS = (
    "config.json",
    "modules.json",
    "1_Pooling/config.json",
    "sentence_bert_config.json",
    "config_sentence_transformers.json",
    "tokenizer_config.json",
)
"""Small files that say how a model is used."""
PREFERRED = (
    "onnx/model.onnx",
    "model.onnx",
    "onnx/model_quantized.onnx",
    "onnx/model_int8.onnx",
    "model_quantized.onnx",
)
TOKENIZER = "tokenizer.json"
SAMPLED = 65_536
"""How many bytes at the start, middle and end identify a file, so that it need not be read in full."""
REMEMBERED_SECONDS = 30.0
"""After a failure, the hub is not asked again for this long."""

_DISK_ERRORS = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.EROFS, errno.EIO, errno.ENOTDIR, errno.EISDIR}
)
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(/[\w.-]+)?")


@frozen
class Card:
    """Which model a folder holds: the file to run, all files that are needed, and the revision."""

    file: str
    files: tuple[str, ...]
    revision: str


class ModelFolder:
    """A model by name or folder. Nothing is read or fetched before it is needed.

    >>> ModelFolder("BAAI/bge-small-en-v1.5", Path("models")).folder.as_posix()
    'models/BAAI--bge-small-en-v1.5'
    """

    def __init__(self, name: str, kept_in: Path, *, endpoint: str = "", without: str = "") -> None:
        self.without = without
        self._endpoint = endpoint or os.environ.get("HF_ENDPOINT", "")
        self._failed: tuple[float, Error] | None = None
        self._lock = threading.RLock()
        self._card: Card | None = None
        given = Path(name).expanduser()
        self.is_local = given.is_dir()
        if not self.is_local and not _NAME.fullmatch(name):
            raise Unavailable(
                f"there is no folder {name}, and it cannot be the name of a model on a hub",
                hint=f"Give a folder, or a name such as BAAI/bge-small-en-v1.5. {without}".strip(),
            )
        self.name = given.resolve().name if self.is_local else name
        self.folder = given.resolve() if self.is_local else kept_in / name.replace("/", "--")

    def card(self) -> Card:
        """What the folder holds, or will hold. The hub is asked for it once, and its answer kept in the folder."""
        if self._card is None:
            with self._lock:
                if self.is_local:
                    self._card = _card_of(self.folder, self.without)
                else:
                    self._card = _read_card(self.folder) or self._fetch_card()
        return self._card

    @property
    def is_complete(self) -> bool:
        """Whether the model can run without a hub."""
        if self.is_local:
            return True
        card = _read_card(self.folder)
        return card is not None and all((self.folder / name).is_file() for name in card.files)

    def described(self, name: str) -> Any:
        """The content of one of the small files that say how the model is used; empty if there is no such file."""
        self.card()
        try:
            return json.loads((self.folder / name).read_text("utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise self._unusable(f"{name} cannot be read: {error}") from error

    def complete(self) -> ModelFolder:
        if not self.is_complete:
            with self._lock:
                self._fetch([name for name in self.card().files if not (self.folder / name).is_file()])
        return self

    def require_complete(self, provider: str = "hub") -> None:
        """Raise an error if something is missing, for callers that cannot wait for a download. The hint names what
        ``models use`` takes to fetch it.
        """
        if not self.is_complete:
            raise Unavailable(
                f"the model {self.name} is not downloaded yet",
                hint=f"‹:models use {provider}› downloads it. {self.without}".strip(),
            )

    @property
    def model_file(self) -> Path:
        return self.folder / self.card().file

    @property
    def tokenizer_file(self) -> Path:
        path = self.folder / TOKENIZER
        if not path.is_file():
            raise self._unusable(f"there is no {TOKENIZER}")
        return path

    def _unusable(self, what: str) -> Unavailable:
        return Unavailable(f"the model in {self.folder} cannot be used: {what}", hint=self.without)

    def _fetch_card(self) -> Card:
        if self._failed is not None and time.monotonic() - self._failed[0] < REMEMBERED_SECONDS:
            raise self._failed[1]
        try:
            about = self._ask_hub()
            names = [entry.rfilename for entry in about.siblings or ()]
            file = _chosen(names)
            if file is None:
                raise Unavailable(
                    f"the model {self.name} has no ONNX file",
                    hint=f"Others publish it converted: look for onnx-community/… or Xenova/…. {self.without}".strip(),
                )
            # Large weights are in files of their own, whose names begin like the model's.
            beside = [name for name in names if name.startswith(file) and name != file]
            self._fetch([name for name in DESCRIPTIONS if name in names], str(about.sha))
        except Error as error:
            self._failed = time.monotonic(), error
            raise
        card = Card(file, (file, *beside, TOKENIZER), str(about.sha))
        plain = {"model": self.name, "revision": card.revision, "file": card.file, "files": list(card.files)}
        write_json(self.folder / CARD, plain, mode=0o644)
        return card

    def _ask_hub(self) -> Any:
        """What the hub says about the model. The library is imported first, with its reports off; its own time limit
        leaves out looking up names, and it retries.
        """
        os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
        try:
            from huggingface_hub import HfApi
        except ImportError:
            raise MissingExtra("hub", "models from a hub") from None
        ask = partial(HfApi(endpoint=self._endpoint or None).model_info, self.name, timeout=REACH_SECONDS)
        try:
            return call_within(REACH_SECONDS, ask, "ricordo-hub")
        except _hub_failures() as error:
            self._give_up(error)

    def _fetch(self, names: Sequence[str], revision: str = "") -> None:
        from huggingface_hub import hf_hub_download

        revision = revision or self.card().revision
        for name in names:
            try:
                hf_hub_download(
                    self.name,
                    name,
                    revision=revision,
                    local_dir=self.folder,
                    etag_timeout=REACH_SECONDS,
                    endpoint=self._endpoint or None,
                )
            except _hub_failures() as error:
                self._give_up(error)

    def _give_up(self, error: BaseException) -> NoReturn:
        """Say in one line why there is no model: the disk, the name, or the network."""
        kind = type(error).__name__
        if isinstance(error, OSError) and error.errno in _DISK_ERRORS:
            raise Unavailable(
                f"the model {self.name} cannot be kept in {self.folder}: {error.strerror}",
                hint=f"Check the folder's permissions and free space. {self.without}".strip(),
            ) from error
        if kind in ("RepositoryNotFoundError", "GatedRepoError", "RevisionNotFoundError", "DisabledRepoError"):
            what = f"the hub has no model {self.name} for you"
            hint = "Check the name; a model that asks for consent needs HF_TOKEN."
        elif kind == "TimeoutError":
            what, hint = f"the hub cannot be reached within {REACH_SECONDS:g} s", "Check the network."
        else:
            said = " ".join(str(error).split())[:160] or kind
            what, hint = f"the hub cannot be reached ({said})", "Check the network."
        raise Unavailable(
            f"the model {self.name} is needed, and {what}",
            hint=f"{hint} A folder with its files works too (embedding.model). {self.without}".strip(),
        ) from error


def _hub_failures() -> tuple[type[Exception], ...]:
    """What the hub's library raises: its own errors, its HTTP client's, and those of the disk and the network."""
    from importlib import import_module

    from huggingface_hub import errors

    http_error = next(kind for kind in errors.HfHubHTTPError.__mro__ if kind.__name__ == "HTTPError")
    client = import_module(http_error.__module__.partition(".")[0])  # which HTTP client it uses differs by version
    named = ((errors, "EntryNotFoundError"), (errors, "XetDownloadError"), (client, "InvalidURL"))
    found = [kind for module, name in named if (kind := getattr(module, name, None)) is not None]
    return (*found, http_error, OSError, ValueError)


def _chosen(names: Sequence[str]) -> str | None:
    """The file to run: the full model if there is one, else a smaller copy, else any ONNX file."""
    known = next((name for name in PREFERRED if name in names), None)
    return known or min((name for name in names if name.endswith(".onnx")), default=None)


def _card_of(folder: Path, without: str) -> Card:
    """The card of a folder that the user made; samples of the model's bytes stand for a revision."""
    names = [path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*.onnx"))]
    file = _chosen(names)
    if file is None:
        raise Unavailable(
            f"there is no ONNX model in {folder}",
            hint=f"It belongs there as model.onnx, with tokenizer.json beside it. {without}".strip(),
        )
    digest = hashlib.sha256()
    path = folder / file
    size = path.stat().st_size
    digest.update(str(size).encode())
    with path.open("rb") as content:
        for start in (0, max(0, size // 2), max(0, size - SAMPLED)):
            content.seek(start)
            digest.update(content.read(SAMPLED))
    return Card(file, (file, TOKENIZER), digest.hexdigest())


def _read_card(folder: Path) -> Card | None:
    with suppress(KeyError, TypeError):
        plain = read_json(folder / CARD)
        return Card(str(plain["file"]), tuple(map(str, plain["files"])), str(plain["revision"]))
    return None


DEFAULT_MODEL = "BAAI/bge-small-en-v1.5"
BATCH = 16
"""How many texts of equal length run together."""
LONGEST_WINDOW = 8_192
_DOCUMENT_NAMES = ("document", "passage", "search_document", "Retrieval-document")
_QUERY_NAMES = ("query", "search_query", "Retrieval-query")
_POOLINGS = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_lasttoken": "last",
}


class SentenceModel:
    """Embeds with the model of a folder, or of a hub, that the settings name; nothing is read or fetched yet."""

    def __init__(self, settings: EmbeddingSettings, folder: Path) -> None:
        name = settings.model or DEFAULT_MODEL
        self.files = ModelFolder(name, folder, endpoint=settings.base_url, without=WITHOUT)
        self._asked_dimensions = settings.dimensions
        self._prefixes = settings.input_type != "none"
        self._lock = threading.Lock()
        self._loaded: tuple[Any, Any] | None = None

    @classmethod
    def describe(cls, state: ModelState, settings: EmbeddingSettings, folder: Path) -> ModelState:
        """The state with the model's name, the length of its vectors if it is here, and what it lacks if not."""
        state = replace(state, model=settings.model or DEFAULT_MODEL, about="any ONNX model, run here")
        lacks = "" if find_spec("huggingface_hub") else "the extra: pip install 'ricordo[hub]'"
        try:
            model = cls(settings, folder)
            if model.files.is_complete:
                return replace(state, dimensions=model.dimensions, lacks=lacks)
        except Error as error:
            return replace(state, lacks=error.message)
        return replace(state, lacks=lacks or "a download (ricordo models use hub)")

    @property
    def is_remote(self) -> bool:
        """Whether it is still to be downloaded: no search and no save waits for that."""
        return not self.files.is_complete

    @property
    def fingerprint(self) -> str:
        card = self.files.card()
        return (
            f"hub/{self.files.name}/{card.file}-{card.revision[:8]}/{self.dimensions}/{self.pooling}/{self.max_tokens}"
            f"/{prefix_mark(*self.prompts)}"
        )

    @cached_property
    def dimensions(self) -> int:
        """What is set, else what the model's files say."""
        own = self._pooling_config.get("word_embedding_dimension")
        own = own or self.files.described("config.json").get("hidden_size")
        is_said = isinstance(own, int) and own >= 1
        asked = self._asked_dimensions
        if asked and (not is_said or asked <= own):
            return asked
        if not is_said:
            raise Unavailable(
                f"the files of {self.files.name} do not say how long its vectors are",
                hint=f"Set embedding.dimensions. {WITHOUT}",
            )
        if asked:
            raise Unavailable(
                f"{self.files.name} makes vectors of {own} numbers, not {asked}",
                hint="‹:config unset embedding.dimensions› goes back to those of the model.",
            )
        return int(own)

    @cached_property
    def max_tokens(self) -> int:
        """The smallest of the window sizes that the files name."""
        sentence = self.files.described("sentence_bert_config.json").get("max_seq_length")
        tokenizer = self.files.described("tokenizer_config.json").get("model_max_length")
        positions = self.files.described("config.json").get("max_position_embeddings")
        if isinstance(positions, int) and positions % 2**6 == 2:
            positions -= 2  # models of RoBERTa's kind count from 2
        known = [int(size) for size in (sentence, tokenizer, positions) if isinstance(size, (int, float)) and size > 2]
        return min([*known, LONGEST_WINDOW])

    @cached_property
    def pooling(self) -> str:
        """How one vector is made from those of the tokens: as the model's files say, else as its family does it."""
        about = self._pooling_config
        named = about.get("pooling_mode")
        modes = [mode for mode in about if mode.startswith("pooling_mode_") and about[mode] is True]
        found = [named] if isinstance(named, str) else [_POOLINGS.get(mode, mode) for mode in modes]
        if not found:
            last = self.files.name.rpartition("/")[2].lower()
            return "cls" if re.search(r"^bge-|mxbai-embed|snowflake-arctic-embed", last) else "mean"
        if len(found) > 1 or found[0] not in _POOLINGS.values():
            raise Unavailable(
                f"the pooling of {self.files.name} is not supported: {', '.join(found)}",
                hint=f"Choose another model. {WITHOUT}",
            )
        return found[0]

    @cached_property
    def prompts(self) -> tuple[str, str]:
        """The words in front of documents and of queries."""
        if not self._prefixes:
            return "", ""
        prompts = self.files.described("config_sentence_transformers.json").get("prompts")
        listed = prompts.items() if isinstance(prompts, dict) else ()
        texts = {name: text for name, text in listed if isinstance(text, str)}
        document = next((texts[name] for name in _DOCUMENT_NAMES if name in texts), "")
        query = next((texts[name] for name in _QUERY_NAMES if name in texts), "")
        return (document, query) if document or query else known_prompts(self.files.name)

    @cached_property
    def _pooling_config(self) -> dict[str, Any]:
        found: dict[str, Any] = self.files.described("1_Pooling/config.json")
        return found

    def embed_query(self, text: str) -> Vectors:
        self.files.require_complete()
        vector: Vectors = self._embed([self.prompts[1] + text])[0]
        return vector

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        self.files.complete()
        return self._embed([self.prompts[0] + text for text in texts])

    def _embed(self, texts: list[str]) -> Vectors:
        import numpy as np

        session, tokenizer = self._load()
        longest = self.max_tokens * CHARACTERS_PER_TOKEN
        encoded = tokenizer.encode_batch([text[:longest].encode("utf-8", "replace").decode() for text in texts])
        vectors = np.empty((len(texts), self.dimensions), np.float32)
        for rows in _of_one_length([len(text.ids) for text in encoded]):
            found = self._run(session, [encoded[row] for row in rows])
            model, cuts = f"hub ({self.files.name})", bool(self._asked_dimensions)
            vectors[rows] = unit_vectors(found, len(rows), model, self.dimensions, cuts=cuts)
        return vectors

    def _run(self, session: Any, encoded: Sequence[Any]) -> Any:
        """One vector per row of tokens, pooled here unless the model does it. Rows have one length: none is padded."""
        what = f"the model {self.files.name}"
        outputs = run_session(session, token_arrays(session, encoded, what), what, hint=WITHOUT)
        names = [node.name for node in session.get_outputs()]
        if "sentence_embedding" in names:
            return outputs[names.index("sentence_embedding")]
        if outputs[0].ndim != 3:
            return outputs[0]
        modules = self.files.described("modules.json")
        if isinstance(modules, list) and any(str(module.get("type", "")).endswith(".Dense") for module in modules):
            raise ContractError(
                f"the ONNX file of {self.files.name} lacks the layer behind its pooling",
                hint=f"Choose a conversion that gives sentence_embedding. {WITHOUT}",
            )
        tokens, pooling = outputs[0], self.pooling
        if pooling == "cls":
            return tokens[:, 0]
        if pooling == "last":
            return tokens[:, -1]
        return tokens.max(axis=1) if pooling == "max" else tokens.mean(axis=1)

    def _load(self) -> tuple[Any, Any]:
        with self._lock:
            if self._loaded is None:
                session = load_session(self.files.model_file, hint=GET_ANEW)
                tokenizer = load_tokenizer(self.files.tokenizer_file, hint=GET_ANEW)
                tokenizer.enable_truncation(self.max_tokens)
                tokenizer.no_padding()
                self._loaded = session, tokenizer
            return self._loaded


def _of_one_length(lengths: Sequence[int]) -> list[list[int]]:
    """Groups of rows of equal length, so that a text's vector does not depend on its neighbours."""
    groups: list[list[int]] = []
    for row in sorted(range(len(lengths)), key=lambda row: lengths[row]):
        last = groups[-1] if groups else []
        if last and lengths[last[0]] == lengths[row] and len(last) < BATCH:
            last.append(row)
        else:
            groups.append([row])
    return groups


def token_arrays(session: InferenceSession, encoded: Sequence[Encoding], what: str) -> dict[str, Any]:
    """Tokens of texts, all of one length, as the inputs that a model wants; ``what`` names it in the error."""
    import numpy as np

    known = {"input_ids": "ids", "attention_mask": "attention_mask", "token_type_ids": "type_ids"}
    wanted = [node.name for node in session.get_inputs()]
    if unknown := set(wanted) - known.keys():
        raise ContractError(
            f"{what} needs inputs that are not supported: {', '.join(sorted(unknown))}", hint="Choose another model."
        )
    return {name: np.array([getattr(text, known[name]) for text in encoded], np.int64) for name in wanted}


RERANKED_TOKENS = 512
CHARACTERS_PER_QUERY_TOKEN = 8
"""Queries longer than this per token are cut before they are tokenised; no language has words so long on average."""


class CrossEncoder:
    """Scores how well texts answer a query. The model is loaded when it is first used."""

    def __init__(self, config: Config, folder: Path, models: object = None) -> None:
        if not config.rerank.model:
            raise Unavailable(
                "no cross-encoder is set",
                hint="Set rerank.model to a folder with model.onnx and tokenizer.json, or to a name on a hub.",
            )
        self.files = ModelFolder(config.rerank.model, folder, without="Or set rerank.kind to none.")

    @classmethod
    def describe(cls, state: ModelState, config: Config, folder: Path) -> ModelState:
        """The state with what the model lacks."""
        try:
            is_complete = cls(config, folder).files.is_complete
        except Error as error:
            return replace(state, lacks=error.message)
        return state if is_complete else replace(state, lacks="a download (ricordo models use cross-encoder)")

    @classmethod
    def complete(cls, config: Config, folder: Path) -> None:
        cls(config, folder).files.complete()

    @cached_property
    def _loaded(self) -> tuple[Any, Any]:
        session = load_session(self.files.model_file, hint=GET_ANEW)
        tokenizer = load_tokenizer(self.files.tokenizer_file, hint=GET_ANEW)
        tokenizer.enable_truncation(RERANKED_TOKENS)
        tokenizer.enable_padding()
        return session, tokenizer

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """One score between 0 and 1 per text."""
        import numpy as np

        if not texts:
            return []
        self.files.require_complete("cross-encoder")
        session, tokenizer = self._loaded
        query = query[: RERANKED_TOKENS * CHARACTERS_PER_QUERY_TOKEN]
        encoded = tokenizer.encode_batch([(query, text) for text in texts])
        what = "the cross-encoder"
        inputs = token_arrays(session, encoded, what)
        logits = run_session(session, inputs, what, hint="Set rerank.kind to none.")[0]
        if logits.size not in (len(texts), 2 * len(texts)) or not np.isfinite(logits).all():
            raise ContractError(
                f"the model {self.files.name} gave no usable score per text",
                hint="Set rerank.model to a cross-encoder with one score per pair.",
            )
        return [
            1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, float(row[-1])))))
            for row in np.reshape(logits, (len(texts), -1))
        ]
