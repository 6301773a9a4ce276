"""Seals what lies outside an encrypted store and holds words of it, such as the log of what hooks told.

It is sealed with a key that follows from the store's, so that whoever can open the store can read it, and nobody else.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from pathlib import Path
from typing import Any

from ricordo.errors import Error
from ricordo.keys.finding import find_key, opened_with, sealed_with
from ricordo.keys.note import is_encrypted
from ricordo.values.store_addresses import is_address


class Seal:
    """Seals and opens for one store."""

    def __init__(self, key: bytes) -> None:
        self._key = hmac.new(key, b"ricordo: beside the store", hashlib.sha256).digest()

    def sealed(self, value: Any) -> str:
        """A value of JSON that only the store's key opens."""
        return base64.b64encode(sealed_with(self._key, json.dumps(value).encode())).decode()

    def opened(self, text: str) -> Any:
        """The value; None if it was sealed by another key, or is damaged."""
        try:
            found = opened_with(self._key, base64.b64decode(text))
        except ValueError:
            return None
        return None if found is None else json.loads(found)


def seal_of(store: str) -> Seal | None:
    """What seals for a store, by its path; None if it is not encrypted. An error if its key cannot be had."""
    if not store or is_address(store):
        return None
    key = find_key(Path(store))
    return None if key is None else Seal(key.key)


def seal_at_hand(store: str) -> Seal | None:
    """The same for a reader, who does without what cannot be opened."""
    try:
        return seal_of(store)
    except Error:
        return None


def holds_secrets(store: str) -> bool:
    """Whether nothing of a store may lie about readable, by its path."""
    return bool(store) and not is_address(store) and is_encrypted(Path(store))
