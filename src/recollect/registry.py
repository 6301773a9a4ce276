"""Where names become things: stores, sources and models are imported here, when they are first needed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from recollect.errors import Error, Unavailable, UsageError
from recollect.values import Ref

if TYPE_CHECKING:
    from recollect.config import Config, StoreLocation
    from recollect.models.base import LLM, Embedder, Reranker, TokenCounter
    from recollect.search.profile import Profile
    from recollect.store.base import Store


def open_store(location: StoreLocation, config: Config, *, create: bool) -> Store:
    """Open the store at a location."""
    from recollect.store.sqlite.store import SqliteStore

    return SqliteStore(
        location.path,
        language=config.lexical.language,
        busy_seconds=config.store.busy_seconds,
        keep_versions=config.store.keep_versions,
        create=create,
    )


def unopened_store(error: Error) -> Store:
    """What stands for a store that could not be opened, where others can answer."""
    from recollect.store.unopened import UnopenedStore

    return cast("Store", UnopenedStore(error))


def token_counter() -> TokenCounter:
    """What counts tokens for the chunker: the shipped model's tokenizer."""
    from recollect.models.local_onnx import WordPieceCounter

    return WordPieceCounter()


def embedder(config: Config) -> Embedder | None:
    """The embedder that is set, not loaded yet; None when vectors are switched off."""
    provider = config.embedding.provider
    if provider == "none":
        return None
    if provider == "local":
        from recollect.models.local_onnx import LocalEmbedder

        return LocalEmbedder(threads=config.embedding.threads or None)
    raise Unavailable(
        f"the embedding provider '{provider}' is not known to this version",
        hint="Set embedding.provider to local or none.",
    )


def llm(config: Config, *, unset: str = "none") -> LLM:
    """The language model that is set, not asked yet; an error says what it lacks.

    ``unset`` is the provider where nobody said anything: for what is itself a wish for a language model.
    """
    from recollect.models.llm_providers import provided

    if config.source("llm.provider") == "default":
        return provided(replace(config.llm, provider=unset))
    return provided(config.llm)


def reranker(kind: str, config: Config, language_model: Callable[[], LLM]) -> Reranker:
    """The reranker of a kind, not loaded yet."""
    if kind == "cross-encoder":
        from recollect.models.cross_encoder import CrossEncoder

        if not config.rerank.model:
            raise Unavailable(
                "no cross-encoder is set", hint="Set rerank.model to a folder with model.onnx and tokenizer.json."
            )
        return CrossEncoder(Path(config.rerank.model).expanduser(), config.embedding.threads or None)
    if kind == "llm":
        from recollect.models.base import Message
        from recollect.models.listwise import ListwiseReranker

        model, seconds = language_model(), config.rerank.llm_budget_ms / 1000
        return ListwiseReranker(lambda prompt: model.complete([Message("user", prompt)], seconds=seconds).text)
    raise UsageError(f"there is no reranker '{kind}'", hint="One of: cross-encoder, llm, none.")


def profiles(config: Config) -> dict[str, Profile]:
    """The ways to rank, by name; for this no store is needed."""
    from recollect.search.profile import profiles

    return profiles(config)


def profile(name: str, config: Config) -> Profile:
    """One way to rank; others may be broken."""
    from recollect.search.profile import find_profile

    return find_profile(config, name)


def worker_name() -> str:
    """How this process signs its leases."""
    from recollect.store.sqlite.jobs import worker_name

    return worker_name()


def disk_ref(path: Path) -> Ref:
    """The ref of a file."""
    from recollect.sources.disk import disk_ref

    return disk_ref(path)


def url_ref(url: str) -> Ref:
    """The ref of a page."""
    raise Unavailable(
        f"pages cannot be added yet: {url}", hint="Save the page as a file and add that; adding by URL comes later."
    )
