"""Which profiles there are, built in and the user's, and which one a name means."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from ricordo.config.settings import Config
from ricordo.errors import UsageError
from ricordo.search.profile import Profile
from ricordo.search.profile_tables import read_profile, user_profile


@lru_cache(maxsize=1)
def built_in() -> Mapping[str, Profile]:
    """The profiles that come with Ricordo."""
    text = Path(__file__).with_name("profiles.toml").read_text("utf-8")
    return {name: read_profile(name, table) for name, table in tomllib.loads(text).items()}


def profiles(config: Config) -> dict[str, Profile]:
    """All profiles, the user's included."""
    return {name: find_profile(config, name) for name in (*built_in(), *config.profiles)}


def find_profile(config: Config, name: str) -> Profile:
    """A profile by name, as the settings have it, or a usage error that names the ones there are.

    Only this profile is made, so that a mistake in another one does no harm.
    """
    return _found(config, name, ())


def _found(config: Config, name: str, asking: tuple[str, ...]) -> Profile:
    on_its_own_name = asking[-1:] == (name,)  # which then is the built-in one
    table = None if on_its_own_name else config.profiles.get(name)
    if table is None:
        if name not in built_in():
            known = dict.fromkeys((*built_in(), *config.profiles))
            raise UsageError(f"there is no profile '{name}'", hint=f"One of: {', '.join(known)}.")
        return _as_set(config, built_in()[name])
    if name in asking:
        raise UsageError(
            f"the profile '{name}' builds on itself ({' → '.join((*asking, name))})", hint="Give it another base."
        )
    return _as_set(config, user_profile(name, table, lambda base: _found(config, base, (*asking, name))))


def _as_set(config: Config, profile: Profile) -> Profile:
    """The profiles ``brain`` and ``knowledge`` have settings of their own for their weights."""
    retrieval, knowledge = config.retrieval, config.knowledge
    changes: dict[str, dict[str, float | None]] = {
        "brain": {
            "vector": retrieval.vector_weight,
            "fts": retrieval.fts_weight,
            "recency": retrieval.recency_weight,
            "importance": retrieval.importance_weight,
        },
        "knowledge": {"vector": knowledge.hybrid_vector_weight, "text": knowledge.hybrid_text_weight},
    }
    given = {label: weight for label, weight in changes.get(profile.name, {}).items() if weight is not None}
    return replace(profile.with_weights(given), source="settings") if given else profile
