"""Makes stores, sources and models by their names, and imports each when it is first needed.

Packages of others bring embedders and rerankers by an entry point in the group ``ricordo.embedders`` or
``ricordo.rerankers``: a function that takes the settings and the folder where models are kept.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ricordo.bounded import call_plugin
from ricordo.errors import ContractError, Unavailable, UsageError
from ricordo.frozen import frozen
from ricordo.values.file_refs import FileRefs
from ricordo.values.items import Item

if TYPE_CHECKING:
    from ricordo.config.loading import Config, StoreLocation
    from ricordo.config.settings import EmbeddingSettings
    from ricordo.models.base import Embedder, Reranker, TokenCounter
    from ricordo.models.hub import ModelFolder
    from ricordo.models.llm import LLM
    from ricordo.search.profiles import Profile
    from ricordo.sources.base import Loader
    from ricordo.store.base import Store
    from ricordo.store.qdrant.feed import IndexChoice

EMBEDDERS = "ricordo.embedders"
RERANKERS = "ricordo.rerankers"
BUSY_SECONDS = 30.0
"""How long a writer waits for another process: longer than any single write takes."""


def open_store(location: StoreLocation, config: Config, *, create: bool, busy_seconds: float | None = None) -> Store:
    """Open the store at a location: a file, or a workspace on a PostgreSQL server."""
    busy_seconds = BUSY_SECONDS if busy_seconds is None else busy_seconds
    if location.address:
        return _server_store(location.address, config, create=create, busy_seconds=busy_seconds)
    from ricordo.store.sqlite.store import SqliteStore

    return SqliteStore(
        location.path,
        language=config.lexical.language,
        busy_seconds=busy_seconds,
        keep_versions=config.store.keep_versions,
        create=create,
    )


def change_key(path: Path, before: bytes | None, after: bytes | None, seconds: float = 5.0) -> None:
    """Encrypt or decrypt the file of a store in place; nobody may have it open."""
    from ricordo.store.sqlite.connection import change_key

    change_key(path, before, after, seconds)


def _server_store(address: str, config: Config, *, create: bool, busy_seconds: float) -> Store:
    try:
        from ricordo.store.postgres.store import PostgresStore
    except ImportError as error:
        raise Unavailable(
            "stores in PostgreSQL need the extra 'postgres'", hint="Install it: pip install 'ricordo[postgres]'"
        ) from error
    return PostgresStore(
        address,
        language=config.lexical.language,
        busy_seconds=busy_seconds,
        keep_versions=config.store.keep_versions,
        create=create,
        index=_index_choice(config),
    )


def _index_choice(config: Config) -> IndexChoice | None:
    """The search engine beside the server, if the settings name one."""
    if not config.store.index_address:
        return None
    from ricordo.store.qdrant.feed import IndexChoice

    return IndexChoice(config.store.index_address)


@frozen
class EmbeddingProvider:
    """A provider of embeddings; ``dimensions`` is None if it depends on the model."""

    name: str
    model: str
    dimensions: int | None
    batch: int | None
    key_variable: str = ""
    extra: str = ""
    about: str = ""


def token_counter() -> TokenCounter:
    """The tokenizer of the shipped model, which counts tokens for the chunker."""
    from ricordo.models.local_onnx import shipped_counter

    return shipped_counter()


def make_embedder(settings: EmbeddingSettings, kept_in: Path) -> Embedder | None:
    """The embedder that the settings name, not loaded yet; None if vectors are switched off."""
    name = settings.provider
    if name == "none":
        return None
    if name == "local":
        from ricordo.models.local_onnx import LocalEmbedder, check_name

        check_name(settings.model)
        return LocalEmbedder()
    if name == "hub":
        from ricordo.models.hub import SentenceModel

        return SentenceModel(settings, kept_in)
    from ricordo.models.http_embedder import PROVIDERS, HttpEmbedder

    if name in PROVIDERS:
        return HttpEmbedder(name, settings)
    made = made_by_plugin(EMBEDDERS, name, settings, kept_in)
    if made is None:
        known = ", ".join(embedding_providers())
        raise Unavailable(
            f"there is no embedding provider '{name}'",
            hint=f"One of: {known}. For example: ‹:config set embedding.provider local›",
        )
    wanted = ("fingerprint", "dimensions", "max_tokens", "embed_documents", "embed_query")
    missing = [part for part in wanted if not hasattr(type(made), part) and part not in getattr(made, "__dict__", {})]
    if missing:
        raise ContractError(
            f"the plugin '{name}' did not return an embedder: it lacks {', '.join(missing)}",
            hint="ricordo.models.base.Embedder says what an embedder must have.",
        )
    return cast("Embedder", made)


def embedder(config: Config) -> Embedder | None:
    """The embedder that is set, not loaded yet; None if vectors are switched off."""
    return make_embedder(config.embedding, models_folder(config))


def with_keys_of_llm(config: Config) -> Config:
    """The settings with ``llm.api_keys`` for embeddings that have none of their own, if both ask the same provider.

    A key in the provider's own variable comes first. Another address is another provider, whatever its name.
    """
    mine, other = config.embedding, config.llm
    if mine.api_keys or not other.api_keys or (mine.provider, mine.base_url) != (other.provider, other.base_url):
        return config
    row = embedding_providers().get(mine.provider)
    if row is None or not row.key_variable or os.environ.get(row.key_variable, "").strip():
        return config
    return replace(config, embedding=replace(mine, api_keys=other.api_keys))


def embedder_ahead(config: Config) -> Embedder | None:
    """The local embedder if it is set, already loading; others are made where they are used."""
    if config.embedding.provider != "local":
        return None
    import threading

    from ricordo.models.local_onnx import LocalEmbedder

    made = embedder(config)
    if isinstance(made, LocalEmbedder):
        threading.Thread(target=made.load_ahead, name="ricordo-model").start()
    return made


def fallback_embedder(config: Config) -> Embedder | None:
    """The embedder to use if the first cannot be used, not loaded yet; None if none is set."""
    name, _, model = config.embedding.fallback.partition(":")
    if not name:
        return None
    from ricordo.config.settings import EmbeddingSettings

    return make_embedder(EmbeddingSettings(provider=name, model=model), models_folder(config))


def embedding_providers() -> dict[str, EmbeddingProvider]:
    """The providers that come with the package, by name, and those of plugins."""
    from ricordo.models.http_embedder import PROVIDERS
    from ricordo.models.hub import DEFAULT_MODEL

    about = {"openai": "and any compatible embedding.base_url", "ollama": "a server that you run"}
    rows = (
        *(EmbeddingProvider(name, "", None, None, about="a plugin") for name in plugin_names(EMBEDDERS)),
        EmbeddingProvider("local", "all-MiniLM-L6-v2", 384, None, about="inside the package; no network, no key"),
        EmbeddingProvider("hub", DEFAULT_MODEL, None, None, extra="hub", about="any ONNX model, run here"),
        *(
            EmbeddingProvider(
                name, row.model, row.dimensions[row.model], row.batch, row.key_variable, about=about.get(name, "")
            )
            for name, row in PROVIDERS.items()
        ),
        EmbeddingProvider("none", "", None, None, about="words alone"),
    )
    return {row.name: row for row in rows}


def plugin_names(group: str) -> list[str]:
    """The names that installed plugins bring."""
    from importlib.metadata import entry_points

    return sorted(point.name for point in entry_points(group=group))


def made_by_plugin(group: str, name: str, settings: Any, kept_in: Path) -> Any:
    """What the plugin of this name makes; None if there is none."""
    from importlib.metadata import entry_points

    point = next(iter(entry_points(group=group, name=name)), None)
    if point is None:
        return None
    hint = f"Reinstall {point.value.partition(':')[0]}, or choose another provider."
    make = call_plugin(point.load, f"the plugin '{name}' cannot be loaded", hint=hint, kind=Unavailable)
    return call_plugin(lambda: make(settings, kept_in), f"the plugin '{name}' failed", hint=hint)


def models_folder(config: Config) -> Path:
    """Where models from a hub are kept."""
    if config.embedding.folder:
        return Path(config.embedding.folder)
    from ricordo.config.files import data_home

    return data_home(os.environ) / "models"


def llm(config: Config, *, unset: str = "none") -> LLM:
    """The language model that is set, not called yet; an error says what is missing.

    ``unset`` is the provider to use if none is set, for functions that cannot do without a language model.
    """
    from ricordo.models.llm import provided

    if config.source("llm.provider") == "default":
        return provided(replace(config.llm, provider=unset))
    return provided(config.llm)


def rerank_files(config: Config) -> ModelFolder:
    """The files of the cross-encoder that is set, here or on a hub."""
    from ricordo.models.hub import ModelFolder

    if not config.rerank.model:
        raise Unavailable(
            "no cross-encoder is set",
            hint="Set rerank.model to a folder with model.onnx and tokenizer.json, or to a name on a hub.",
        )
    return ModelFolder(config.rerank.model, models_folder(config), without="Or set rerank.kind to none.")


def reranker(kind: str, config: Config, language_model: Callable[[], LLM]) -> Reranker:
    """The reranker of a kind, not loaded yet."""
    if kind == "cross-encoder":
        from ricordo.models.hub import CrossEncoder

        return CrossEncoder(rerank_files(config))
    if kind == "llm":
        from ricordo.models.llm import ListwiseReranker, Message
        from ricordo.search.rerank import LLM_SECONDS

        model = language_model()
        return ListwiseReranker(lambda prompt: model.complete([Message("user", prompt)], seconds=LLM_SECONDS).text)
    plugged = made_by_plugin(RERANKERS, kind, config, models_folder(config))
    if plugged is None:
        known = ", ".join(("cross-encoder", "llm", "none", *plugin_names(RERANKERS)))
        raise UsageError(f"there is no reranker '{kind}'", hint=f"One of: {known}.")
    return cast("Reranker", plugged)


def loader(
    config: Config, language_model: Callable[[], LLM], start: Path, transcript: Callable[[str], None] | None
) -> Loader:
    """What loads pages with a language model and the user's MCP servers; nothing is started yet."""
    from ricordo.sources.loading_agent import LoadingAgent
    from ricordo.sources.mcp_config import mcp_servers

    return LoadingAgent(
        language_model,
        lambda: mcp_servers(start),
        max_bytes=int(config.ingest.max_file_mb * 1_000_000),
        transcript=transcript,
    )


def same_bytes(item: Item, refs: FileRefs) -> bytes | None:
    """The bytes of an item's file, if it is on this machine and still the file that was added."""
    from ricordo.sources.disk import bytes_like, ref_path

    digest = item.fields.metadata.get("sha256")
    is_file = item.ref.drive == "disk" and refs.is_here(item.ref)
    return bytes_like(ref_path(item.ref, refs), str(digest)) if is_file and digest else None


class Profiles(dict[str, "Profile"]):
    """The ways to rank, by name; ``default`` is the one in use."""

    def __init__(self, known: dict[str, Profile], default: str) -> None:
        super().__init__(known)
        self.default = default

    def to_dict(self) -> dict[str, Any]:
        return {"profiles": [one.to_dict() for one in self.values()], "default": self.default}


def profiles(config: Config) -> Profiles:
    """The ranking profiles by name; no store is needed for this."""
    from ricordo.search.profiles import profiles

    return Profiles(profiles(config), config.search.profile)


def profile(name: str, config: Config) -> Profile:
    """One ranking profile; that another one is broken does not matter."""
    from ricordo.search.profiles import find_profile

    return find_profile(config, name)
