"""All embedders and rerankers by name: the built-in providers, and those of plugins.

A plugin is a package with an entry point in the group ``ricordo.embedders`` or ``ricordo.rerankers``: a function that
takes the settings and the folder where models are kept, and returns an embedder or a reranker. Nothing is loaded before
it is asked for by name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
    from ricordo.models import sentence_model
    from ricordo.models.http_embedder import PROVIDERS

    about = {"openai": "and any compatible embedding.base_url", "ollama": "a server that you run"}
    rows = (
        EmbeddingProvider("local", "all-MiniLM-L6-v2", 384, None, about="inside the package; no network, no key"),
        EmbeddingProvider(
            "hub", sentence_model.DEFAULT_MODEL, None, None, extra="hub", about="any ONNX model, run here"
        ),
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
        from ricordo.models import sentence_model

        return sentence_model.make(settings, kept_in)
    from ricordo.models import http_embedder

    if name in http_embedder.PROVIDERS:
        return http_embedder.make(name, settings)
    plugin = _plugin(EMBEDDERS, name)
    if plugin is None:
        known = ", ".join((*built_in(), *plugin_names(EMBEDDERS)))
        raise Unavailable(
            f"there is no embedding provider '{name}'",
            hint=f"One of: {known}. For example: ‹:config set embedding.provider local›",
        )
    return _checked(plugin(settings, kept_in), name)


def fallback_settings(settings: EmbeddingSettings) -> EmbeddingSettings | None:
    """The settings of the fallback, ``NAME`` or ``NAME:MODEL``, without what belongs to the first provider."""
    name, _, model = settings.fallback.partition(":")
    if not name or name == "none":
        return None
    return replace(
        settings,
        provider=name,
        model=model,
        api_keys=(),
        base_url="",
        batch_size=0,
        input_type="",
        dimensions=0,
        fallback="",
    )


def plugin_names(group: str) -> list[str]:
    """The names that installed plugins bring."""
    from importlib.metadata import entry_points

    return sorted(point.name for point in entry_points(group=group))


def plugged_reranker(kind: str, config: Any, kept_in: Path) -> Any:
    """A plugin's reranker of a kind, or None."""
    plugin = _plugin(RERANKERS, kind)
    return plugin(config, kept_in) if plugin is not None else None


def _plugin(group: str, name: str) -> Callable[[Any, Path], Any] | None:
    from importlib.metadata import entry_points

    for point in entry_points(group=group, name=name):
        hint = f"Reinstall {point.value.partition(':')[0]}, or choose another provider."
        make: Callable[[Any, Path], Any] = call_plugin(
            point.load, f"the plugin '{name}' cannot be loaded", hint=hint, kind=Unavailable
        )
        return partial(_made_by_plugin, make, name, hint)
    return None


def _made_by_plugin(make: Callable[[Any, Path], Any], name: str, hint: str, settings: Any, kept_in: Path) -> Any:
    return call_plugin(lambda: make(settings, kept_in), f"the plugin '{name}' failed", hint=hint)


def _checked(made: Any, name: str) -> Embedder:
    """A plugin's embedder, checked to have everything that an embedder must have."""
    wanted = ("fingerprint", "dimensions", "max_tokens", "embed_documents", "embed_query")
    missing = [part for part in wanted if not hasattr(type(made), part) and part not in getattr(made, "__dict__", {})]
    if missing:
        raise ContractError(
            f"the plugin '{name}' did not return an embedder: it lacks {', '.join(missing)}",
            hint="ricordo.models.base.Embedder says what an embedder must have.",
        )
    embedder: Embedder = made
    return embedder
