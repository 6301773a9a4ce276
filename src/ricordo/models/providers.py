"""All embedders and rerankers by name: the built-in providers, and those of plugins.

A plugin is a package with an entry point in the group ``ricordo.embedders`` or ``ricordo.rerankers``: a function that
takes the settings and the folder where models are kept, and returns an embedder or a reranker. Nothing is loaded before
it is asked for by name.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ricordo.bounded import call_plugin
from ricordo.errors import ContractError, Unavailable
from ricordo.frozen import frozen

if TYPE_CHECKING:
    from ricordo.config.settings import EmbeddingSettings
    from ricordo.models.base import Embedder

EMBEDDERS = "ricordo.embedders"
RERANKERS = "ricordo.rerankers"


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


def built_in() -> dict[str, EmbeddingProvider]:
    """The providers that come with the package."""
    from ricordo.models import hub_models
    from ricordo.models.http_embedder import PROVIDERS

    about = {"openai": "and any compatible embedding.base_url", "ollama": "a server that you run"}
    rows = (
        EmbeddingProvider("local", "all-MiniLM-L6-v2", 384, None, about="inside the package; no network, no key"),
        EmbeddingProvider("hub", hub_models.DEFAULT_MODEL, None, None, extra="hub", about="any ONNX model, run here"),
        *(
            EmbeddingProvider(
                name, row.model, row.dimensions[row.model], row.batch, row.key_variable, about=about.get(name, "")
            )
            for name, row in PROVIDERS.items()
        ),
        EmbeddingProvider("none", "", None, None, about="words alone"),
    )
    return {row.name: row for row in rows}


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
        from ricordo.models.hub_models import SentenceModel

        return SentenceModel(settings, kept_in)
    from ricordo.models.http_embedder import PROVIDERS, HttpEmbedder

    if name in PROVIDERS:
        return HttpEmbedder(name, settings)
    made = made_by_plugin(EMBEDDERS, name, settings, kept_in)
    if made is None:
        known = ", ".join((*built_in(), *plugin_names(EMBEDDERS)))
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


def fallback_settings(settings: EmbeddingSettings) -> EmbeddingSettings | None:
    """The settings of the fallback, ``NAME`` or ``NAME:MODEL``, without what belongs to the first provider."""
    name, _, model = settings.fallback.partition(":")
    if not name or name == "none":
        return None
    from ricordo.config.settings import EmbeddingSettings

    return EmbeddingSettings(provider=name, model=model, folder=settings.folder)


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
