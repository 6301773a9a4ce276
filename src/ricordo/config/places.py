"""Which stores are searched together (those of the agent, the project and the team), and where their files are.

The settings ``tiers.agent``, ``tiers.project`` and ``tiers.team`` name them. The store that a call is about (the one
named, the project's, or the user's own) is one of them. The user's own store, if there is one, is searched together
with a project's, whether other tiers are set or not.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from ricordo.config.files import PROJECT_FOLDER, data_home, nearest_project
from ricordo.config.loading import STORE_NAME, Config, StoreLocation, is_of_outer_project, locate_store
from ricordo.errors import UsageError
from ricordo.frozen import frozen
from ricordo.values.store_addresses import shown

TIERS = ("agent", "project", "team")
KNOWLEDGE_FOLDER = "knowledge"


@frozen
class TierPlace:
    """A tier: its name, where its store is, and the factor of its scores."""

    name: str
    store: str
    weight: float
    address: str = ""
    """What opens the store, if that is more than its name: an address with a password."""
    origin: str = "default"
    """Who named it, as in ``StoreLocation``."""


@frozen
class Located:
    """The store that a call is about, and its tier. ``alone`` if no other tier is searched.

    If nobody named the store (``is_implicit``), it is no failure that it does not exist yet.
    """

    tier: str
    location: StoreLocation
    alone: bool
    is_implicit: bool


def locate(flag: str | None, config: Config, start: Path, tier: str | None = None) -> Located:
    """The store that is read and written: that of a tier, or the one that ``locate_store`` finds.

    A setting for the agent tier or the project tier takes precedence over the store that was found.
    """
    location = locate_store(flag, config, start)
    name = _tier_of(location, config)
    store, source = configured(config).get(name), config.source(f"tiers.{name}")
    # A setting of the tier comes before a store that no flag and no project's own file named.
    is_nearer = location.origin == "project" and (source.startswith("user:") or is_of_outer_project(source, start))
    if store is not None and location.origin in ("default", "project") and not is_nearer:
        location = _set_store(name, store, config, start)
    if tier is not None and tier != name:
        location = _store_of(tier, config, start)
        name = tier
    implicit = location.origin in ("default", "project") and name not in configured(config)
    return Located(name, location, tier is not None, implicit)


def configured(config: Config) -> dict[str, str]:
    """The stores that settings name, by tier."""
    stores = {name: place for name in TIERS if (place := getattr(config.tiers, name)) is not None}
    # A folder means the store in it; an address is left as it is.
    return {n: p if "://" in p else str(locate_store(p, config, Path(p).parent).path) for n, p in stores.items()}


def places(located: Located, config: Config) -> tuple[TierPlace, ...]:
    """All tiers to search, the highest first."""
    stores = {} if located.alone else configured(config)
    location = located.location
    own = _users_own(located, config)
    if not stores and not located.alone:  # nobody set a weight, so none counts
        beside = [TierPlace("agent", str(own), 1.0)] if own is not None else []
        return TierPlace(
            name=located.tier, store=location.name, weight=1.0, address=location.address, origin=location.origin
        ), *beside
    if own is not None:
        stores.setdefault("agent", str(own))
    if not stores or not located.is_implicit or location.is_there:
        stores[located.tier] = location.address or location.name
    origins = {name: config.source(f"tiers.{name}") for name in configured(config)}
    if stores.get(located.tier) == (location.address or location.name):
        origins[located.tier] = location.origin
    others = [
        TierPlace(
            name=name,
            store=shown(store),
            weight=getattr(config.tiers, f"{name}_weight"),
            address=store,
            origin=origins.get(name, "default"),
        )
        for name, store in stores.items()
    ]
    return tuple(sorted(others, key=lambda place: (-place.weight, TIERS.index(place.name))))


def _users_own(located: Located, config: Config) -> Path | None:
    """The user's own store, if it is searched together with a project's although no setting says so.

    Where no tier is set, the project's store comes first, and both have the same weight.
    """
    location = located.location
    if located.alone or not comes_with_project(location.origin) or not config.tiers.automatic:
        return None
    if comes_with_project(config.source("store.location")):  # it names the project's store, not the user's
        own = data_home(os.environ) / STORE_NAME
    else:
        own = locate_store(None, config, Path(location.path.anchor)).path
    return own if own != location.path and own.exists() else None


def comes_with_project(origin: str) -> bool:
    """Whether a store may have come with a repository, by who named it (``StoreLocation.origin``): it was found in a
    project's folder, or a project's settings name it. What the user names is the user's.
    """
    return origin.partition(":")[0] == "project"


def is_projects(location: StoreLocation) -> bool:
    """Whether a store belongs to a project, whoever named it."""
    return not location.address and (location.path.parent.name == PROJECT_FOLDER or comes_with_project(location.origin))


def knowledge_place(location: StoreLocation, config: Config) -> Path | None:
    """The folder of a store's knowledge files; None if memories, notes and articles are only in the store.

    It depends on where the store is, not on how it was named. A folder in the user's settings does not apply to
    projects.
    """
    if not config.knowledge.enabled:
        return None
    path = location.path
    if location.address:
        return None  # many machines write to this store, and files on one machine would not reach the others
    is_project = path.parent.name == PROJECT_FOLDER and path.name == STORE_NAME
    folder = config.knowledge.folder
    if folder is not None and not (is_project and config.source("knowledge.folder").startswith("user:")):
        return Path(folder).expanduser().absolute()
    is_own = location.origin == "default" or location.origin.startswith("user:")
    if not (is_project or is_own) and path.name == STORE_NAME:
        is_own = path == data_home(os.environ) / STORE_NAME
    return path.parent / KNOWLEDGE_FOLDER if is_project or is_own else None


def is_shared(location: StoreLocation, config: Config) -> bool:
    """Whether others may have filled a knowledge folder: a project's, unless the user's own settings name it."""
    if config.knowledge.folder is not None:
        return config.source("knowledge.folder").startswith("project:")
    return location.path.parent.name == PROJECT_FOLDER


def _tier_of(location: StoreLocation, config: Config) -> str:
    for name, store in configured(config).items():
        if shown(store) == location.name:
            return name
    if location.address:
        return "team"
    return "project" if location.path.parent.name == PROJECT_FOLDER else "agent"


def _set_store(tier: str, store: str, config: Config, start: Path) -> StoreLocation:
    location, source = locate_store(store, config, start), config.source(f"tiers.{tier}")
    return replace(location, origin=source) if comes_with_project(source) else location


def _store_of(tier: str, config: Config, start: Path) -> StoreLocation:
    """The store of one tier: as it is set, else the project around here, or the user's own for the agent."""
    if tier not in TIERS:
        raise UsageError(f"there is no tier '{tier}'", hint=f"One of: {', '.join(TIERS)}.")
    store = configured(config).get(tier)
    is_outer = tier == "project" and is_of_outer_project(config.source("tiers.project"), start)
    if store is not None and not is_outer:
        return _set_store(tier, store, config, start)
    project = nearest_project(start)
    if tier == "project" and project is not None:
        return StoreLocation(project / STORE_NAME, "project")
    if tier == "agent":
        return locate_store(None, config, Path(start.absolute().anchor))
    raise UsageError(f"the tier '{tier}' has no store here", hint=f"Say where it is: ‹:config set tiers.{tier} PATH›")
