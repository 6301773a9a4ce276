"""What all embedders behind HTTP share: batches, input that every service accepts, and checks of the answers.

The module of a provider says how its service is asked (``Ask``); ``RemoteEmbedder`` does the rest. A vector of the
wrong length, with a NaN or of zeros only cannot be compared with others, so it is a ``ContractError``.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ricordo.errors import ContractError, Unavailable
from ricordo.frozen import frozen
from ricordo.models.http import TOTAL_SECONDS, Remote, bearer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ricordo.config.settings import EmbeddingSettings
    from ricordo.models.base import Vectors

LONGEST_TEXT = 8_000
"""The most bytes of a text that are sent. A text never has more tokens than bytes, so this fits the window of every
service. Passages are far shorter."""
LARGEST_REQUEST = 240_000
"""The most bytes of all texts of a request, because services also limit the tokens of a whole batch."""
QUERY_SECONDS = 10.0
"""How long a search waits for its vector, with all attempts; then it goes on by words alone."""
WITHOUT = "To go on without it: ‹:config set embedding.provider local›"
"""The end of every hint: vectors can always be made by the model inside the package."""
SMALL_BATCH, SMALL_BATCH_SECONDS = 8, 30.0
"""Up to this many texts are probably what somebody just saved and waits for, so they get less time."""

Ask = Callable[[Sequence[str], bool, float], Any]
"""Takes texts, whether they are queries, and the seconds it has; returns one list of numbers per text."""


@frozen
class ModelShape:
    """Everything that decides the vectors of a model, and how many texts go into one request.

    ``dimensions`` is None for a model that is neither known here nor described by a setting.
    """

    provider: str
    model: str
    dimensions: int | None
    batch: int
    max_tokens: int
    pooling: str = "own"
    document_prefix: str = ""
    query_prefix: str = ""
    cuts: bool = False
    """Whether longer vectors are cut to ``dimensions``; in some models the first numbers matter most."""

    def marks(self) -> str:
        """A short name for the prefixes, for the fingerprint."""
        return prefix_mark(self.document_prefix, self.query_prefix)


def prefix_mark(document: str, query: str) -> str:
    """A short name for a pair of prefixes."""
    if not document and not query:
        return "plain"
    return hashlib.sha256(f"{document}\0{query}".encode()).hexdigest()[:8]


class RemoteEmbedder:
    """An embedder whose model runs elsewhere. Nothing is sent before the first text."""

    is_remote = True
    """So that a search does not ask the service several times: every call takes time and may cost money."""

    def __init__(self, shape: ModelShape, ask: Ask) -> None:
        self.shape = shape
        self._ask = ask

    @property
    def fingerprint(self) -> str:
        shape = self.shape
        return f"{shape.provider}/{shape.model}/{self.dimensions}/{shape.pooling}/{shape.marks()}"

    @property
    def dimensions(self) -> int:
        if self.shape.dimensions is None:
            provider, model = self.shape.provider, self.shape.model
            raise Unavailable(
                f"{provider}: the length of the vectors of {model} is not known",
                hint=f"‹:models use {provider} --model {model}› finds it out. Or set embedding.dimensions.",
            )
        return self.shape.dimensions

    @property
    def max_tokens(self) -> int:
        return self.shape.max_tokens

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        seconds = TOTAL_SECONDS if len(texts) > SMALL_BATCH else SMALL_BATCH_SECONDS
        rows = [self._vectors(part, query=False, seconds=seconds) for part in self._batches(texts)]
        return np.concatenate(rows) if rows else np.zeros((0, self.dimensions), np.float32)

    def embed_query(self, text: str) -> Vectors:
        vector: Vectors = self._vectors([_sendable(text)], query=True, seconds=QUERY_SECONDS)[0]
        return vector

    def _batches(self, texts: Sequence[str]) -> Iterator[list[str]]:
        batch: list[str] = []
        size = 0
        for text in map(_sendable, texts):
            length = len(text.encode())
            if batch and (len(batch) == self.shape.batch or size + length > LARGEST_REQUEST):
                yield batch
                batch, size = [], 0
            batch.append(text)
            size += length
        if batch:
            yield batch

    def _vectors(self, texts: list[str], *, query: bool, seconds: float) -> Vectors:
        prefix = self.shape.query_prefix if query else self.shape.document_prefix
        found = self._ask([prefix + text for text in texts], query, seconds)
        return unit_vectors(found, len(texts), self.shape)


def unit_vectors(found: Any, count: int, shape: ModelShape) -> Vectors:
    """One unit vector per text; raises an error for anything else that a service may answer."""
    import numpy as np

    try:
        vectors = np.asarray(found, np.float32)
    except (TypeError, ValueError):
        raise _broken(shape, "its vectors are not lists of numbers of one length") from None
    given = len(vectors) if vectors.ndim else 0
    if given != count:
        raise _broken(shape, f"it gave {given} vectors for {count} texts")
    if vectors.ndim != 2 or not vectors.shape[1]:
        raise _broken(shape, "its vectors are not lists of numbers of one length")
    wanted = shape.dimensions
    if wanted is not None and shape.cuts and vectors.shape[1] > wanted:
        vectors = vectors[:, :wanted]
    if wanted is not None and vectors.shape[1] != wanted:
        raise _broken(
            shape,
            f"its vectors have {vectors.shape[1]} numbers, {wanted} expected",
            f"Set embedding.dimensions to {vectors.shape[1]}, then run ‹:embed again›.",
        )
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1)
    if not np.isfinite(lengths).all():
        raise _broken(shape, "its vectors contain NaN or infinite numbers")
    if not lengths.all():
        raise _broken(shape, "it gave a vector of zeros, which cannot be compared")
    unit: Vectors = (vectors / lengths[:, None]).astype(np.float32)
    return unit


def by_index(data: Any, name: str) -> list[Any]:
    """The vectors of ``[{"index": …, "embedding": …}]`` in the order of the texts; the format of OpenAI and Voyage."""
    try:
        rows = {int(entry["index"]): entry["embedding"] for entry in data["data"]}
        return [rows[at] for at in range(len(data["data"]))]
    except (KeyError, TypeError, ValueError):
        raise unexpected(name, data) from None


def unexpected(name: str, data: Any) -> ContractError:
    """The error for an answer that does not have the expected form."""
    return ContractError(
        f"{name}: its answer is not of the expected form: {str(data)[:120]}",
        hint="Nothing was stored. Check that embedding.base_url is the right service.",
    )


def _broken(shape: ModelShape, what: str, hint: str = "") -> ContractError:
    usual = "Nothing was stored. Check the [embedding] settings, then run ‹:embed›."
    return ContractError(f"{shape.provider} ({shape.model}): {what}", hint=hint or usual)


def _sendable(text: str) -> str:
    """The text in a form that every service accepts: valid UTF-8, not too long, not empty."""
    data = text.encode("utf-8", "replace")
    if len(data) > LONGEST_TEXT:
        data = data[:LONGEST_TEXT]
    return data.decode("utf-8", "ignore") if data.strip() else "."


def service(
    name: str,
    settings: EmbeddingSettings,
    base_url: str,
    *,
    key_variable: str = "",
    needs_key: bool = True,
    headers: Callable[[str], Mapping[str, str]] = bearer,
) -> Remote:
    """The service that the settings describe; keys come from the settings or the provider's environment variable."""
    given = settings.api_keys or tuple(os.environ.get(key_variable, "").split(",") if key_variable else ())
    return Remote(
        name,
        settings.base_url or base_url,
        keys=tuple(key.strip() for key in given if key.strip()),
        key_variable=key_variable,
        needs_key=needs_key,
        seconds=settings.seconds,
        without=WITHOUT,
        headers=headers,
    )
