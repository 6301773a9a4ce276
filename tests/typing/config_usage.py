"""Typed uses of the settings, read by mypy and never run: what callers may rely on."""

from __future__ import annotations

from pathlib import Path
from typing import assert_type

from ricordo.config.loading import (
    Config,
    ConfigProvider,
    StoreLocation,
    init_project,
    load_config,
    locate_store,
    unset_value,
)

assert_type(load_config({"search.limit": 5}), Config)
provider = ConfigProvider({"search.profile": "rrf"}, env={}, start=Path())
config = provider()
assert_type(config, Config)
assert_type(config.search.limit, int)
assert_type(config.store.location, str | None)
assert_type(config.retrieval.vector_weight, float | None)
assert_type(config.embedding.api_keys, tuple[str, ...])
assert_type(config.untrusted, tuple[str, ...])
assert_type(locate_store(None, config, Path()), StoreLocation)
assert_type(locate_store("notes.db", config, Path()).path, Path)
assert_type(init_project(Path()), Path)
assert_type(unset_value("search.limit", scope="project"), bool)
