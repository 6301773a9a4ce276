"""Which search engine a store uses beside its server, as the settings say."""

from __future__ import annotations

import os
from pathlib import Path

from ricordo.errors import MissingExtra
from ricordo.frozen import frozen
from ricordo.masking import masked
from ricordo.store.qdrant.points import PointEngine

ANSWER_SECONDS = 10
"""How long an answer may take; it is far less than a feeder's lease."""


@frozen
class IndexChoice:
    """Where the engine is (the address of a server, or a folder for the one in this process), and how it is split."""

    address: str
    key_env: str = "QDRANT_API_KEY"
    """The environment variable that holds the server's key."""
    shards: int = 1
    replicas: int = 1

    @property
    def shown(self) -> str:
        """The address without its secrets."""
        return masked(self.address)

    def open(self) -> PointEngine:
        """Open it; a server is asked only when it is needed."""
        try:
            if self.address.startswith(("http://", "https://")):
                from ricordo.store.qdrant.client import ClientEngine, connected

                client = connected(self.address, os.environ.get(self.key_env, ""), ANSWER_SECONDS)
                return ClientEngine(client, self.shown, shards=self.shards, replicas=self.replicas)
            from ricordo.store.qdrant.edge import EdgeEngine

            return EdgeEngine(Path(self.address).expanduser(), shards=self.shards)
        except ImportError as error:
            raise MissingExtra("qdrant", "search engines beside a server") from error
