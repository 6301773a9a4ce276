"""Makes stores, sources and models by their names, and imports each when it is first needed.

Embedders and rerankers come from plugins, or from packages of others by an entry point in the group
``ricordo.embedders`` or ``ricordo.rerankers``: a function that takes the settings and the folder where models are kept.
"""

from __future__ import annotations

import os
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ricordo.bounded import call_plugin
from ricordo.errors import ContractError, Unavailable, UsageError
from ricordo.plugin import brought_as, names_of
from ricordo.values.items import FileRefs, Item
from ricordo.values.store_addresses import parse

if TYPE_CHECKING:
    from collections.abc import Mapping
    from importlib.metadata import EntryPoint

    from ricordo.config.loading import Config, StoreLocation
    from ricordo.config.settings import EmbeddingSettings
    from ricordo.models.base import Embedder, Reranker, TokenCounter
    from ricordo.search.profiles import Profile
    from ricordo.store.base import Store

BUSY_SECONDS = 30.0
"""How long a writer waits for another process: longer than any single write takes."""


def open_store(location: StoreLocation, config: Config, *, create: bool, busy_seconds: float | None = None) -> Store:
    """Open the store at a location: a file, or one on a server."""
    busy_seconds = BUSY_SECONDS if busy_seconds is None else busy_seconds
    if location.address:
        store: Store = parse(location.address).open(config, create=create, busy_seconds=busy_seconds)
        return store
    from ricordo.store.sqlite.store import SqliteStore

    return SqliteStore(
        location.path,
        language=config.lexical.language,
        busy_seconds=busy_seconds,
        keep_versions=config.store.keep_versions,
        create=create,
    )


def token_counter() -> TokenCounter:
    """The tokenizer of the shipped model, which counts tokens for the chunker."""
    from ricordo.models.local_onnx import shipped_counter

    return shipped_counter()


def make_embedder(settings: EmbeddingSettings, folder: Path) -> Embedder | None:
    """The embedder that the settings name, not loaded yet; None if vectors are switched off."""
    name = settings.provider
    if name == "none":
        return None
    if name == "local":
        from ricordo.models.local_onnx import LocalEmbedder, check_name

        check_name(settings.model)
        return LocalEmbedder()
    embedder = _made("embedders", name, settings, folder)
    if embedder is None:
        raise Unavailable(
            f"there is no embedding provider '{name}'",
            hint=f"One of: {', '.join(embedder_names())}. For example: ‹:config set embedding.provider local›",
        )
    parts = ("fingerprint", "dimensions", "max_tokens", "embed_documents", "embed_query")
    attributes = getattr(embedder, "__dict__", {})
    missing = [part for part in parts if not hasattr(type(embedder), part) and part not in attributes]
    if missing:
        raise ContractError(
            f"the plugin '{name}' did not return an embedder: it lacks {', '.join(missing)}",
            hint="ricordo.models.base.Embedder says what an embedder must have.",
        )
    if not hasattr(embedder, "is_remote"):
        embedder.is_remote = True  # who does not say that it runs here may hang
    return cast("Embedder", embedder)


def embedder_names() -> list[str]:
    """The names that ``embedding.provider`` can have."""
    return [*_entry_points("embedders"), "local", *names_of("embedders"), "none"]


def embedder(config: Config) -> Embedder | None:
    """The embedder that is set, not loaded yet; None if vectors are switched off."""
    return make_embedder(config.embedding, models_folder(config))


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


def _made(seam: str, name: str, settings: Any, folder: Path, *for_plugins: Any) -> Any:
    """What a plugin, or an entry point of somebody else, makes by this name; None if there is none."""
    make, more = brought_as(seam, name), for_plugins
    hint = "Reinstall it, or choose another provider."
    if make is None:
        point = _entry_points(seam).get(name)
        if point is None:
            return None
        more = ()
        hint = f"Reinstall {point.value.partition(':')[0]}, or choose another provider."
        make = call_plugin(point.load, f"the plugin '{name}' cannot be loaded", hint=hint, kind=Unavailable)
    return call_plugin(lambda: make(settings, folder, *more), f"the plugin '{name}' failed", hint=hint)


def _entry_points(seam: str) -> Mapping[str, EntryPoint]:
    return _installed(seam, tuple(sys.path))


@cache
def _installed(seam: str, path: tuple[str, ...]) -> Mapping[str, EntryPoint]:
    """What the packages on a path bring: to look through all of them takes twenty milliseconds."""
    from importlib.metadata import entry_points

    return {point.name: point for point in sorted(entry_points(group=f"ricordo.{seam}"), key=lambda point: point.name)}


def models_folder(config: Config) -> Path:
    """Where models from a hub are kept."""
    if config.embedding.folder:
        return Path(config.embedding.folder)
    from ricordo.config.files import data_home

    return data_home(os.environ) / "models"


def reranker(kind: str, config: Config, models: object) -> Reranker:
    """The reranker of a kind, not loaded yet; ``models`` is the engine's ``ModelsInUse``."""
    reranker = _made("rerankers", kind, config, models_folder(config), models)
    if reranker is None:
        kinds = ", ".join((*sorted(names_of("rerankers")), "none", *_entry_points("rerankers")))
        raise UsageError(f"there is no reranker '{kind}'", hint=f"One of: {kinds}.")
    return cast("Reranker", reranker)


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
