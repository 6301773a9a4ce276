"""Models in ONNX format, from a hub or from a folder: which files they consist of, and how they are downloaded.

A model from a hub is kept in a folder of its own, with a card that says which revision it is. After that the hub is not
asked again. A folder that the user names is only read. This module does not run models.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from ricordo.bounded import call_within
from ricordo.config.files import read_json, write_json
from ricordo.errors import Error, MissingExtra, Unavailable
from ricordo.frozen import frozen
from ricordo.models.http import REACH_SECONDS

CARD = "ricordo-model.json"
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
        """Download what is missing; afterwards ``model_file`` and ``tokenizer_file`` exist."""
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
